-- Asked by the comment on a pull request: what is held to be true of the failed jobs of these runs?
-- Parameters: repository (owner/name), runs (GitHub's numbers).
-- run_id, job_id              GitHub's numbers; job_id is the run's where no failed job is known
-- cause, category             whose problem, and which
-- confidence, level           probability from 0 to 1, and in words
-- determinism                 would the same commit fail again
-- reasons, weights            kind, id, line, quote, why of each piece of evidence, and the log-odds it adds
-- signature                   equal for equal failures
-- rule_set                    the rules it was judged by
-- judged_at                   UTC; NULL when not known
-- otherwise                   cause and probability of what was next
-- good_sha, bad_sha, merges   where the base branch broke; '' when not known
-- culprits                    sha, probability, why, pull_request of changes that may have brought it
-- related_pull_requests       who else is hit
-- person                      who said so; '' for our own judgement
SELECT run_id, job_id, cause, category, confidence, level, determinism, reasons, weights, signature, rule_set, judged_at,
    otherwise, good_sha, bad_sha, merges, culprits, related_pull_requests, person
FROM buildeye.verdict_latest
WHERE repository_full_name = {repository:String} AND run_id IN {runs:Array(Int64)}
ORDER BY run_id, job_id
