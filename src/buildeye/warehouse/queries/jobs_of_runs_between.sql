-- Asked by the monitor: the jobs of the runs that began in a time window, and where the logs of those that failed are.
-- Parameters: repository (owner/name), since and until (run created between, both included, UTC).
-- id, run_id, run_attempt      GitHub's numbers
-- repository_full_name         owner/name
-- name, workflow_name          of the job and its workflow
-- status, conclusion           conclusion is '' until completed
-- head_sha, head_branch        what was built
-- created_at, started_at, completed_at  UTC; 1970 for none
-- runner_id, runner_name, runner_group_name  0 and '' when no runner took the job
-- labels                       what the job asked of a runner
-- steps                        of jobs that did not pass; of others none
-- html_url                     the job's page
-- log_place, log_expired       where our copy of its log is ('': there is none), and whether GitHub has it no longer
SELECT
    job.id AS id, job.run_id AS run_id, job.run_attempt AS run_attempt, job.repository_full_name AS repository_full_name,
    job.name AS name, job.workflow_name AS workflow_name, job.status AS status, job.conclusion AS conclusion,
    job.head_sha AS head_sha, job.head_branch AS head_branch, job.created_at AS created_at,
    job.started_at AS started_at, job.completed_at AS completed_at, job.runner_id AS runner_id,
    job.runner_name AS runner_name, job.runner_group_name AS runner_group_name, job.labels AS labels,
    job.steps AS steps, job.html_url AS html_url, log.place AS log_place, log.expired AS log_expired
FROM
(
    SELECT id, run_id, run_attempt, repository_full_name, name, workflow_name, status, conclusion, head_sha, head_branch,
        created_at, started_at, completed_at, runner_id, runner_name, runner_group_name, labels,
        if(conclusion IN ('success', 'skipped'), arrayResize(steps, 0), steps) AS steps, html_url
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String} AND run_id IN
    (
        SELECT id
        FROM default.workflow_run_latest
        WHERE repository_full_name = {repository:String}
            AND created_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
    )
) AS job
LEFT JOIN
(
    SELECT job_id, place, expired
    FROM buildeye.log_latest
    WHERE repository_full_name = {repository:String}
) AS log ON log.job_id = job.id
ORDER BY id
