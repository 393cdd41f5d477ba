-- Asked by triage when it judges again: what was held of these jobs?
-- Parameters: repository (owner/name), jobs (a list of ids).
-- run_id, job_id               GitHub's numbers
-- cause, category, confidence, level, determinism, reasons, weights, otherwise, signature, rule_set, judged_at,
-- good_sha, bad_sha, merges, culprits, related_pull_requests, person   the verdict, as the table has it
SELECT run_id, job_id, cause, category, confidence, level, determinism, reasons, weights, otherwise, signature, rule_set,
    judged_at, good_sha, bad_sha, merges, culprits, related_pull_requests, person
FROM buildeye.verdict_latest
WHERE repository_full_name = {repository:String} AND job_id IN {jobs:Array(Int64)}
ORDER BY job_id
