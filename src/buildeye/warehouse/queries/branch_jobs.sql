-- Asked by `build-eye streaks`: what became of every job at these commits of a branch, every attempt a row?
-- Parameters: repository (owner/name), branch, commits (whole names), since (jobs created a day before it or later, UTC).
-- sha, workflow_name, name  what was built, and by which job
-- id                        GitHub's number of the job in this attempt
-- status, conclusion        conclusion is '' until completed
-- signature                 of our diagnosis; '' when there is none
-- html_url                  the job's page, of a job that failed; else ''
WITH job AS
(
    SELECT id, head_sha, workflow_name, name, status, conclusion,
        if(conclusion IN ('failure', 'timed_out', 'startup_failure'), html_url, '') AS page
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
)
SELECT
    job.head_sha AS sha, job.workflow_name AS workflow_name, job.name AS name, job.id AS id, job.status AS status,
    job.conclusion AS conclusion, told.signature AS signature, job.page AS html_url
FROM job
LEFT JOIN
(
    SELECT job_id, signature
    FROM buildeye.diagnosis_latest
    WHERE repository_full_name = {repository:String} AND job_id IN (SELECT id FROM job WHERE page != '')
) AS told ON told.job_id = job.id
ORDER BY sha, workflow_name, name, id
