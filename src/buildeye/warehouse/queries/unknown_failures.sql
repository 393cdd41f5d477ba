-- Asked by `build-eye unknown`: which failures could nobody explain? Failed jobs of which our verdict is unknown and no
-- person said otherwise, grouped by what they look like: same signature and same job. Most failures first, then the newest.
-- Parameters: repository (owner/name), since, until (completed from the one up to the other, UTC), limit (groups).
-- name          of the job
-- workflow_name of its workflow
-- signature     of the verdict, else of the diagnosis; '' when the log said nothing known
-- failures      jobs that failed so
-- branches      how many branches they were on
-- first, newest when the first and the newest of them completed, UTC
-- run_id, id    the newest of them
-- html_url      its page
-- summary       what our diagnosis says of it; '' when there is none
WITH judged AS
(
    SELECT run_id, job_id, signature
    FROM buildeye.verdict_latest
    WHERE repository_full_name = {repository:String} AND cause = 'unknown' AND judged_at >= {since:DateTime64(6, 'UTC')}
),
job AS
(
    SELECT id, run_id, name, workflow_name, head_branch, completed_at, html_url
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND id IN (SELECT job_id FROM judged)
        AND conclusion IN ('failure', 'timed_out', 'startup_failure')
        AND completed_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
),
word AS
(
    SELECT run_id, job_id, cause, person, said_at
    FROM buildeye.person_verdict_latest
    WHERE repository_full_name = {repository:String} AND NOT withdrawn
)
SELECT
    job.name AS name,
    job.workflow_name AS workflow_name,
    if(judged.signature != '', judged.signature, told.signature) AS signature,
    count() AS failures,
    uniqExact(job.head_branch) AS branches,
    min(job.completed_at) AS first,
    max(job.completed_at) AS newest,
    argMax(job.run_id, (job.completed_at, job.id)) AS run_id,
    argMax(job.id, (job.completed_at, job.id)) AS id,
    argMax(job.html_url, (job.completed_at, job.id)) AS html_url,
    argMax(told.summary, (job.completed_at, job.id)) AS summary
FROM job
INNER JOIN judged ON judged.job_id = job.id
LEFT JOIN
(
    SELECT job_id, signature, summary
    FROM buildeye.diagnosis_latest
    WHERE repository_full_name = {repository:String} AND job_id IN (SELECT job_id FROM judged)
) AS told ON told.job_id = job.id
LEFT JOIN (SELECT * FROM word WHERE job_id != 0) AS alone ON alone.job_id = job.id
LEFT JOIN (SELECT * FROM word WHERE job_id = 0) AS of_run ON of_run.run_id = job.run_id
WHERE multiIf(
    alone.person != '', toString(alone.cause),
    of_run.person != '' AND job.completed_at <= of_run.said_at, toString(of_run.cause),
    'unknown') = 'unknown'
GROUP BY name, workflow_name, signature
ORDER BY failures DESC, newest DESC, name, signature
LIMIT {limit:UInt32}
