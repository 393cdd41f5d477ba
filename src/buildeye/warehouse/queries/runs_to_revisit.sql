-- Asked by sync at the end of a pass: which runs are not over yet, or are over and their jobs are not here?
-- Parameters: repository (owner/name), since (created at or after, UTC).
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
FROM default.workflow_run_latest AS run
LEFT JOIN
(
    SELECT run_id, run_attempt AS synced_attempt, gone
    FROM buildeye.synced_run_latest
    WHERE repository_full_name = {repository:String}
) AS synced ON synced.run_id = run.id
WHERE repository_full_name = {repository:String}
    AND created_at >= {since:DateTime64(6, 'UTC')}
    AND NOT gone
    AND (status != 'completed'
        OR (conclusion NOT IN ('skipped', 'neutral', 'action_required', 'stale') AND synced_attempt < run_attempt))
ORDER BY id DESC
