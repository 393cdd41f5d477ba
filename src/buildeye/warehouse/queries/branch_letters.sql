-- Asked by `build-eye streaks`: what became of every job at these commits of a branch? One row a job, one letter a commit.
-- Several runs of one job at one commit are one letter, as insight/grid.py merges them.
-- Parameters: repository (owner/name), branch, commits (whole names, newest first), since (jobs created a day before it or
-- later, UTC).
-- workflow_name, name  of the job
-- letters              one a commit, in the order of `commits`: O success, X failure, T timed out, F both, Q queued, ? not
--                      over, N neutral, S skipped, C cancelled, ~ no run; those at the end are left out
-- failed               each run that failed: place of its commit from 0, letter (X or T), id, signature of our diagnosis (''
--                      when there is none), and its page
WITH job AS
(
    SELECT
        transform(head_sha, {commits:Array(String)}, range(toUInt64(length({commits:Array(String)}))), 65535) AS place,
        workflow_name, name, id,
        multiIf(
            status != 'completed', if(status = 'queued', 3, 4),
            conclusion = 'success', 0,
            conclusion IN ('failure', 'startup_failure'), 1,
            conclusion = 'timed_out', 2,
            conclusion = 'skipped', 6,
            conclusion IN ('cancelled', 'stale'), 7,
            5) AS rank,
        rank IN (1, 2) AS has_failed,
        if(has_failed, html_url, '') AS page
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND head_branch = {branch:String}
        AND created_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 1 DAY
        AND head_sha IN {commits:Array(String)}
        AND run_id NOT IN
        (
            SELECT id
            FROM default.workflow_run_latest
            WHERE repository_full_name = {repository:String}
                AND head_sha IN {commits:Array(String)}
                AND event IN ('pull_request', 'pull_request_target')
        )
),
cell AS
(
    SELECT
        job.workflow_name AS workflow_name, job.name AS name, job.place AS place,
        min(job.rank) AS best,
        if(best = 0 AND countIf(job.has_failed) > 0, 'F', substring('OXTQ?NSC', best + 1, 1)) AS letter,
        groupArrayIf((job.place, if(job.rank = 1, 'X', 'T'), job.id, told.signature, job.page), job.has_failed) AS failed
    FROM job
    LEFT JOIN
    (
        SELECT job_id, signature
        FROM buildeye.diagnosis_latest
        WHERE repository_full_name = {repository:String}
            AND job_id IN
            (
                SELECT id
                FROM default.workflow_job
                WHERE repository_full_name = {repository:String}
                    AND head_branch = {branch:String}
                    AND conclusion IN ('failure', 'timed_out', 'startup_failure')
                    AND completed_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 1 DAY
            )
    ) AS told ON told.job_id = job.id
    GROUP BY workflow_name, name, place
)
SELECT
    workflow_name,
    name,
    arrayStringConcat(groupArrayInsertAt('~')(letter, toUInt32(place))) AS letters,
    arraySort(groupArrayArray(failed)) AS failed
FROM cell
GROUP BY workflow_name, name
ORDER BY workflow_name, name
