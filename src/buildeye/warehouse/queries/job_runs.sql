-- Asked by triage and the streaks page: how did one job fare on a branch, newest first?
-- Parameters: repository (owner/name), job_name, branch, since (created at or after, UTC), limit (rows).
-- job_id, run_id, run_attempt  GitHub's numbers
-- workflow_name                of the job's workflow
-- status, conclusion           conclusion is '' until completed
-- head_sha                     what was built
-- event                        what started the run; '' when the run is not known
-- runner_name                  '' when no runner took the job
-- created_at, started_at, completed_at  UTC; 1970 for none
-- signature                    of the newest diagnosis; '' when there is none
-- html_url                     the job's page
WITH job AS
(
    SELECT id AS job_id, run_id, run_attempt, workflow_name, status, conclusion, head_sha, runner_name,
        created_at, started_at, completed_at, html_url
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND name = {job_name:String}
        AND head_branch = {branch:String}
        AND created_at >= {since:DateTime64(6, 'UTC')}
    ORDER BY created_at DESC, id DESC
    LIMIT {limit:UInt32}
)
SELECT
    job.job_id AS job_id,
    job.run_id AS run_id,
    job.run_attempt AS run_attempt,
    job.workflow_name AS workflow_name,
    job.status AS status,
    job.conclusion AS conclusion,
    job.head_sha AS head_sha,
    run.event AS event,
    job.runner_name AS runner_name,
    job.created_at AS created_at,
    job.started_at AS started_at,
    job.completed_at AS completed_at,
    diagnosis.signature AS signature,
    job.html_url AS html_url
FROM job
LEFT JOIN
(
    SELECT id, event
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String} AND id IN (SELECT run_id FROM job)
) AS run ON run.id = job.run_id
LEFT JOIN
(
    SELECT job_id, signature
    FROM buildeye.diagnosis_latest
    WHERE repository_full_name = {repository:String} AND job_id IN (SELECT job_id FROM job)
) AS diagnosis ON diagnosis.job_id = job.job_id
ORDER BY created_at DESC, job_id DESC
