-- Asked by sync: which runs failed in a time window, or were stopped after a job had failed, newest first?
-- Parameters: repository (owner/name), since and until (last changed between, both included, UTC).
-- id, run_attempt, run_number, workflow_id  GitHub's numbers
-- repository_full_name         owner/name
-- name, path                   of the workflow and its file
-- status, conclusion           conclusion is '' until completed
-- event, actor, triggering_actor  what started the run and who; actors as (login)
-- head_sha, head_branch        what was built
-- created_at, run_started_at, updated_at  UTC; 1970 for none
-- display_title, html_url      as GitHub shows it
-- pull_requests                numbers, each as (number)
-- no_pull_request              GitHub was asked whose pull request it built, and knows none
SELECT id, run_attempt, run_number, workflow_id, repository_full_name, name, path, status, conclusion, event, actor,
    triggering_actor, head_sha, head_branch, created_at, run_started_at, updated_at, display_title, html_url, pull_requests, no_pull_request
FROM default.workflow_run_latest AS run
LEFT JOIN
(
    SELECT run_id, no_pull_request
    FROM buildeye.synced_run_latest
    WHERE repository_full_name = {repository:String}
) AS synced ON synced.run_id = run.id
WHERE repository_full_name = {repository:String}
    AND updated_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
    AND (conclusion IN ('failure', 'timed_out', 'startup_failure')
        OR (conclusion = 'cancelled' AND (id, run_attempt) IN
        (
            SELECT run_id, run_attempt
            FROM default.workflow_job_latest
            WHERE repository_full_name = {repository:String} AND conclusion IN ('failure', 'timed_out')
        )))
ORDER BY created_at DESC, id DESC
