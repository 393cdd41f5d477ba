-- Asked by the comment on a pull request: which runs built the newest of its commits that ran, newest first?
-- A fork's run that passed names no pull request: it counts when a run that does, or the pull request, has its commit.
-- Parameters: repository (owner/name), number (of the pull request).
-- id, run_attempt, run_number, workflow_id  GitHub's numbers; each run in its latest attempt
-- repository_full_name         owner/name
-- name, path                   of the workflow and its file
-- status, conclusion           conclusion is '' until completed
-- event, actor, triggering_actor  what started the run and who; actors as (login)
-- head_sha, head_branch        what was built
-- created_at, run_started_at, updated_at  UTC; 1970 for none
-- display_title, html_url      as GitHub shows it
-- pull_requests                numbers, each as (number)
WITH named AS
(
    SELECT head_sha, created_at, id
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String}
        AND has(pull_requests.number, {number:Int64})
),
own AS
(
    SELECT head_sha FROM named
    UNION DISTINCT
    SELECT head.sha AS head_sha
    FROM default.pull_request_latest
    WHERE repository_full_name = {repository:String} AND number = {number:Int64}
),
run AS
(
    SELECT id, run_attempt, run_number, workflow_id, repository_full_name, name, path, status, conclusion, event, actor,
        triggering_actor, head_sha, head_branch, created_at, run_started_at, updated_at, display_title, html_url, pull_requests
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String}
        AND head_sha IN (SELECT head_sha FROM own)
        AND (has(pull_requests.number, {number:Int64}) OR (empty(pull_requests) AND startsWith(event, 'pull_request')))
)
SELECT *
FROM run
WHERE head_sha = (SELECT argMax(head_sha, (created_at, id)) FROM run)
ORDER BY created_at DESC, id DESC
