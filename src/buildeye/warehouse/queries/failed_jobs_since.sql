-- Asked by the monitor: which jobs of a repository failed since a moment, oldest first, and were they judged?
-- Cancelled and skipped jobs are no failures.
-- Parameters: repository (owner/name), since (completed at or after, UTC).
-- job_id, run_id, run_attempt  GitHub's numbers
-- name, workflow_name          of the job and its workflow
-- conclusion                   failure, timed_out or startup_failure
-- head_sha, head_branch        what was built
-- event                        what started the run; '' when the run is not known
-- pull_requests                numbers GitHub names for the run
-- runner_name                  '' when no runner took the job
-- completed_at                 UTC
-- html_url                     the job's page
-- judged_by                    rule set of the newest verdict on the job; '' when there is none
WITH job AS
(
    SELECT id AS job_id, run_id, run_attempt, name, workflow_name, conclusion, head_sha, head_branch, runner_name, completed_at, html_url
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND completed_at >= {since:DateTime64(6, 'UTC')}
        AND conclusion IN ('failure', 'timed_out', 'startup_failure')
)
SELECT
    job.job_id AS job_id,
    job.run_id AS run_id,
    job.run_attempt AS run_attempt,
    job.name AS name,
    job.workflow_name AS workflow_name,
    job.conclusion AS conclusion,
    job.head_sha AS head_sha,
    job.head_branch AS head_branch,
    run.event AS event,
    run.pull_requests.number AS pull_requests,
    job.runner_name AS runner_name,
    job.completed_at AS completed_at,
    job.html_url AS html_url,
    verdict.rule_set AS judged_by
FROM job
LEFT JOIN
(
    SELECT id, event, pull_requests
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String} AND id IN (SELECT run_id FROM job)
) AS run ON run.id = job.run_id
LEFT JOIN
(
    SELECT job_id, rule_set
    FROM buildeye.verdict_latest
    WHERE repository_full_name = {repository:String} AND job_id IN (SELECT job_id FROM job)
) AS verdict ON verdict.job_id = job.job_id
ORDER BY completed_at, job_id
