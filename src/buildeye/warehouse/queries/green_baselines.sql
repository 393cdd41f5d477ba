-- Asked by classify before it reads the logs of failed jobs: what did the last green run of each job print?
-- Parameters: repository (owner/name), job_names, branch. One row a job of which a green run is known.
-- job_name          as GitHub shows it, with the matrix
-- job_id, head_sha  the green job and what it built
-- completed_at      UTC
-- line_hashes       sorted hashes of its masked lines
SELECT job_name, job_id, head_sha, completed_at, line_hashes
FROM buildeye.job_baseline_latest
WHERE repository_full_name = {repository:String}
    AND branch = {branch:String}
    AND job_name IN {job_names:Array(String)}
ORDER BY job_name
