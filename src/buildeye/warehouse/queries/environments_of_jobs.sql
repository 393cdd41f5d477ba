-- Asked by triage when a job passed before and fails now: what did the two run in and with?
-- Parameters: repository (owner/name), jobs (GitHub's numbers). One row a job whose log has been read for it.
-- run_id, job_id    GitHub's numbers
-- things            kind (image, runner-image, package, tool), name, value (digest or version) of each, sorted
-- read_at           UTC
SELECT run_id, job_id, things, read_at
FROM buildeye.job_environment_latest
WHERE repository_full_name = {repository:String}
    AND job_id IN {jobs:Array(Int64)}
ORDER BY job_id
