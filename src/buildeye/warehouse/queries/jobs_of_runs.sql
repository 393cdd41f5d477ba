-- Asked by a pass when it reads artifacts: which jobs may have made them?
-- Parameters: repository (owner/name), runs (GitHub's numbers).
-- run_id, job_id, run_attempt  GitHub's numbers
-- name                         of the job
-- started_at, completed_at     UTC; 1970 for none
SELECT run_id, id AS job_id, run_attempt, name, started_at, completed_at
FROM default.workflow_job_latest
WHERE repository_full_name = {repository:String} AND run_id IN {runs:Array(Int64)}
ORDER BY run_id, job_id
