-- Asked by triage: what is known of these runs?
-- Parameters: repository (owner/name), runs (a list of ids).
-- id, run_attempt, run_number, workflow_id  GitHub's numbers
-- repository_full_name         owner/name
-- name, path                   of the workflow and its file
-- status, conclusion           conclusion is '' until completed
-- event, actor, triggering_actor  what started the run and who; actors as (login)
-- head_sha, head_branch        what was built
-- created_at, run_started_at, updated_at  UTC; 1970 for none
-- display_title, html_url      as GitHub shows it
-- pull_requests                numbers, each as (number)
SELECT id, run_attempt, run_number, workflow_id, repository_full_name, name, path, status, conclusion, event, actor,
    triggering_actor, head_sha, head_branch, created_at, run_started_at, updated_at, display_title, html_url, pull_requests
FROM default.workflow_run_latest
WHERE repository_full_name = {repository:String} AND id IN {runs:Array(Int64)}
ORDER BY id
