-- Asked by `build-eye failures`: which jobs failed most on a branch? Ranked as PyTorch's guide ranks them: by the number of
-- jobs that ended with `failure`, each id once. Every column stands in the projection ended_on_branch, and what failed is
-- counted before anything else is read: keep it so. Without FINAL: a job that completed does not end otherwise later.
-- Parameters: repository (owner/name), branch, since, until (completed from the one up to the other, UTC), limit (jobs).
-- name          of the job
-- workflows     that have a job of this name, sorted
-- failures      jobs that ended with failure
-- timed_out     jobs that timed out or could not start; they are no part of `failures`
-- runs          jobs that passed, failed, timed out or could not start
-- last_failure  when the newest of the failures completed, UTC
WITH top AS
(
    SELECT name
    FROM default.workflow_job
    WHERE conclusion = 'failure'
        AND completed_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
        AND repository_full_name = {repository:String}
        AND head_branch = {branch:String}
    GROUP BY name
    ORDER BY uniqExact(id) DESC, name
    LIMIT {limit:UInt32}
)
SELECT
    name,
    arraySort(groupUniqArray(toString(workflow_name))) AS workflows,
    uniqExactIf(id, conclusion = 'failure') AS failures,
    uniqExactIf(id, conclusion IN ('timed_out', 'startup_failure')) AS timed_out,
    uniqExact(id) AS runs,
    maxIf(completed_at, conclusion = 'failure') AS last_failure
FROM default.workflow_job
WHERE conclusion IN ('success', 'failure', 'timed_out', 'startup_failure')
    AND completed_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
    AND repository_full_name = {repository:String}
    AND head_branch = {branch:String}
    AND name IN (SELECT name FROM top)
GROUP BY name
ORDER BY failures DESC, name
