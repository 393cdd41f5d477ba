-- Asked by `build-eye tests history ID`: when did one test last pass, and last fail?
-- Parameters: repository (owner/name), since and until (time_inserted, UTC), file, classname, case (its name).
-- passed              whether it is the last pass, else the last failure; at most one row of each
-- at                  when the report was made, UTC
-- run_id, attempt     GitHub's numbers
-- job_id              0 when it is not known
-- head_sha, branch    what was built; '' when the run is not known
-- html_url            the job's page, else the run's; '' when neither is known
WITH last AS
(
    SELECT
        skipped_count = 0 AND failure_count = 0 AND error_count = 0 AS passed,
        max(time_inserted) AS at,
        argMax((workflow_id, workflow_run_attempt, job_id), (time_inserted, job_id, workflow_id, report_id)) AS of
    FROM tests.all_test_runs_latest
    WHERE repository_full_name = {repository:String}
        AND time_inserted >= {since:DateTime64(6, 'UTC')}
        AND time_inserted < {until:DateTime64(6, 'UTC')}
        AND file = {file:String} AND classname = {classname:String} AND name = {case:String}
        AND (skipped_count = 0 OR failure_count > 0 OR error_count > 0)
    GROUP BY passed
)
SELECT
    toBool(last.passed) AS passed, last.at AS at, last.of.1 AS run_id, last.of.2 AS attempt, last.of.3 AS job_id,
    run.head_sha AS head_sha, run.head_branch AS branch, if(job.html_url = '', run.html_url, job.html_url) AS html_url
FROM last
LEFT ANY JOIN
(
    SELECT id, head_sha, head_branch, html_url
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String} AND id IN (SELECT of.1 FROM last)
) AS run ON run.id = last.of.1
LEFT ANY JOIN
(
    SELECT id, html_url
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String} AND id IN (SELECT of.3 FROM last)
) AS job ON job.id = last.of.3
ORDER BY passed DESC
