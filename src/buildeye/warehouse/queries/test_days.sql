-- Asked by `build-eye tests history ID`: how did one test fare, by day and job?
-- Parameters: repository (owner/name), since and until (time_inserted, UTC), file, classname, case (its name).
-- day                 UTC
-- workflow_name, job  the job that reported it; '' when that is not known
-- runs, successful, fails, skipped, flaky  as in test_file_week
-- seconds             all of them together, of those not skipped
WITH run AS
(
    SELECT job_id, time_inserted, time, failure_count + error_count AS bad, skipped_count, result
    FROM tests.all_test_runs_latest
    WHERE repository_full_name = {repository:String}
        AND time_inserted >= {since:DateTime64(6, 'UTC')}
        AND time_inserted < {until:DateTime64(6, 'UTC')}
        AND file = {file:String} AND classname = {classname:String} AND name = {case:String}
)
SELECT
    toDate(run.time_inserted, 'UTC') AS day,
    job.workflow_name AS workflow_name,
    job.name AS job,
    count() AS runs,
    countIf(run.bad = 0 AND run.skipped_count = 0) AS successful,
    countIf(run.bad > 0) AS fails,
    countIf(run.skipped_count > 0) AS skipped,
    countIf(run.result = 'flaky') AS flaky,
    sumIf(run.time, run.skipped_count = 0) AS seconds
FROM run
LEFT ANY JOIN
(
    SELECT id, workflow_name, name
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String} AND id IN (SELECT job_id FROM run)
) AS job ON job.id = run.job_id
GROUP BY day, workflow_name, job
ORDER BY day, workflow_name, job
