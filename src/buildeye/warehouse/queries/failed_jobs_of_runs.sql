-- Asked by the comment on a pull request: which jobs failed in the latest attempt of these runs?
-- Parameters: repository (owner/name), runs (GitHub's numbers).
-- id, run_id, run_attempt      GitHub's numbers
-- repository_full_name         owner/name
-- name, workflow_name          of the job and its workflow
-- status, conclusion           failure or timed_out
-- head_sha, head_branch        what was built
-- created_at, started_at, completed_at  UTC; 1970 for none
-- runner_id, runner_name, runner_group_name  0 and '' when no runner took the job
-- labels                       what the job asked of a runner
-- steps                        of the job
-- html_url                     the job's page
SELECT id, run_id, run_attempt, repository_full_name, name, workflow_name, status, conclusion, head_sha, head_branch,
    created_at, started_at, completed_at, runner_id, runner_name, runner_group_name, labels, steps, html_url
FROM default.workflow_job_latest
WHERE repository_full_name = {repository:String}
    AND conclusion IN ('failure', 'timed_out')
    AND (run_id, run_attempt) IN
    (
        SELECT id, run_attempt
        FROM default.workflow_run_latest
        WHERE repository_full_name = {repository:String} AND id IN {runs:Array(Int64)}
    )
ORDER BY run_id, id
