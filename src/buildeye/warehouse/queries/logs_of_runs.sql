-- Asked by `build-eye explain` of a run: where are the logs of its jobs that we kept?
-- Parameters: repository (owner/name), runs (GitHub's numbers).
-- run_id, job_id  GitHub's numbers
-- place           where our copy of the log is
SELECT run_id, job_id, place
FROM buildeye.log_latest
WHERE repository_full_name = {repository:String} AND run_id IN {runs:Array(Int64)} AND place != ''
ORDER BY run_id, job_id
