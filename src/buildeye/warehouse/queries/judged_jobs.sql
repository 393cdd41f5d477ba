-- Asked by triage: which jobs failed or were stopped in a time span?
-- Parameters: repository (owner/name), since and until (the job ended between, both included, UTC).
-- id, run_id, run_attempt      GitHub's numbers
-- repository_full_name         owner/name
-- name, workflow_name          of the job and its workflow
-- status, conclusion           failure, timed_out or cancelled
-- head_sha, head_branch        what was built
-- created_at, started_at, completed_at  UTC; 1970 for none
-- runner_id, runner_name, runner_group_name  0 and '' when no runner took the job
-- labels                       what the job asked of a runner
-- steps                        with name, number, status, conclusion and times
-- html_url                     the job's page
SELECT id, run_id, run_attempt, repository_full_name, name, workflow_name, status, conclusion, head_sha, head_branch,
    created_at, started_at, completed_at, runner_id, runner_name, runner_group_name, labels, steps, html_url
FROM default.workflow_job_latest
WHERE repository_full_name = {repository:String}
    AND status = 'completed'
    AND conclusion IN ('failure', 'timed_out', 'cancelled')
    AND completed_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
ORDER BY id
