-- Asked by sync: of which failed jobs of a time window is the log neither kept nor known to be gone, newest first?
-- Jobs no step of which ran have none. All attempts count: what failed and then passed tells of flaky tests.
-- Parameters: repository (owner/name), since and until (completed between, both included, UTC).
-- job_id, run_id, run_attempt  GitHub's numbers
-- name                         of the job
-- completed_at                 UTC
SELECT id AS job_id, run_id, run_attempt, name, completed_at
FROM default.workflow_job_latest
WHERE repository_full_name = {repository:String}
    AND completed_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
    AND conclusion IN ('failure', 'timed_out')
    AND notEmpty(steps)
    AND id NOT IN
    (
        SELECT job_id
        FROM buildeye.log_latest
        WHERE repository_full_name = {repository:String} AND (place != '' OR expired)
    )
ORDER BY completed_at DESC, job_id DESC
