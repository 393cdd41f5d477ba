-- Asked by triage before it reads a log that no rule knows: which lines did the last green run of this job print?
-- Parameters: repository (owner/name), job_name, branch. One row, or none when no green run is known.
-- job_id, head_sha  the green job and what it built
-- completed_at      UTC
-- line_hashes       sorted hashes of its masked lines
SELECT job_id, head_sha, completed_at, line_hashes
FROM buildeye.job_baseline_latest
WHERE repository_full_name = {repository:String}
    AND branch = {branch:String}
    AND job_name = {job_name:String}
