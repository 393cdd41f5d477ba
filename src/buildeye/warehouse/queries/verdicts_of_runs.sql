-- Asked by `build-eye verdict`: what is our own judgement of the jobs of runs?
-- Parameters: repository (owner/name), runs (GitHub's numbers, a list).
-- run_id, job_id                GitHub's numbers
-- name, workflow_name           of the job and its workflow; '' when the job is not known
-- run_attempt, html_url         of the job; 0 and '' when it is not known
-- started_at                    UTC; 1970 when it is not known
-- cause, category               whose problem, and which
-- confidence, level             probability from 0 to 1, and in words
-- determinism                   would the same commit fail again
-- reasons, weights              kind, id, line, quote, why of each piece of evidence; the log-odds of each, none when not weighed
-- signature                     equal for equal failures
-- rule_set, judged_at           the rules it was judged by, and when, UTC
-- otherwise                     cause and probability of those that were next
-- good_sha, bad_sha, merges     interference: last commit that passed, first that failed, how many commits after the one up to the other
-- culprits                      sha, probability, why, pull_request (0: none), likeliest first
-- related_pull_requests         who else is hit
-- person                        ''
SELECT
    verdict.run_id AS run_id,
    verdict.job_id AS job_id,
    job.name AS name,
    job.workflow_name AS workflow_name,
    job.run_attempt AS run_attempt,
    job.html_url AS html_url,
    job.started_at AS started_at,
    verdict.* EXCEPT (repository_full_name, run_id, job_id, _version)
FROM
(
    SELECT *
    FROM buildeye.verdict_latest
    WHERE repository_full_name = {repository:String} AND run_id IN {runs:Array(Int64)}
) AS verdict
LEFT JOIN
(
    SELECT id, name, workflow_name, run_attempt, html_url, started_at
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String} AND run_id IN {runs:Array(Int64)}
) AS job ON job.id = verdict.job_id
ORDER BY run_id, job_id
