-- Asked by sync: one green job per job name, of the newest day on which the name passed, unless one of that day is kept.
-- A run of the base branch comes before others, an earlier one before a later one: so the choice stays what it is.
-- Parameters: repository (owner/name), base_branch, since and until (completed between, both included, UTC).
-- job_id, run_id, run_attempt  GitHub's numbers
-- name                         of the job
-- completed_at                 UTC
WITH green AS
(
    SELECT id, run_id, run_attempt, name, workflow_name, head_branch, completed_at, toDate(completed_at) AS day
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND completed_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
        AND conclusion = 'success'
        AND notEmpty(steps)
),
kept AS
(
    SELECT job_id
    FROM buildeye.log_latest
    WHERE repository_full_name = {repository:String} AND (place != '' OR expired)
),
base AS
(
    SELECT id
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String}
        AND head_branch = {base_branch:String}
        AND event NOT IN ('', 'pull_request', 'pull_request_target')
)
SELECT
    chosen.1 AS job_id, chosen.2 AS run_id, chosen.3 AS run_attempt, name, chosen.4 AS completed_at
FROM
(
    SELECT
        name,
        argMin((id, run_id, run_attempt, completed_at), (run_id NOT IN (SELECT id FROM base), completed_at, id)) AS chosen
    FROM green
    WHERE (workflow_name, name, day) IN (SELECT workflow_name, name, max(day) FROM green GROUP BY workflow_name, name)
        AND (workflow_name, name, day) NOT IN
        (
            SELECT workflow_name, name, day FROM green WHERE id IN (SELECT job_id FROM kept)
        )
    GROUP BY workflow_name, name
)
ORDER BY completed_at DESC, job_id DESC
