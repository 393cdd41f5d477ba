-- Asked by reports and the digest: what was judged since a moment, newest verdict of each job, oldest first?
-- Parameters: repository (owner/name), since (judged at or after, UTC).
-- run_id, job_id              GitHub's numbers
-- name, workflow_name         of the job and its workflow; '' when the job is not known
-- head_sha, head_branch       what was built
-- cause, category             whose problem, and which
-- confidence, level           probability from 0 to 1, and in words
-- determinism                 would the same commit fail again
-- signature                   equal for equal failures
-- reasons                     kind, id, line, quote, why of each piece of evidence
-- rule_set                    the rules it was judged by
-- judged_at                   UTC
-- html_url                    the job's page
WITH verdict AS
(
    SELECT *
    FROM buildeye.verdict_latest
    WHERE repository_full_name = {repository:String}
        AND judged_at >= {since:DateTime64(6, 'UTC')}
)
SELECT
    verdict.run_id AS run_id,
    verdict.job_id AS job_id,
    job.name AS name,
    job.workflow_name AS workflow_name,
    job.head_sha AS head_sha,
    job.head_branch AS head_branch,
    verdict.cause AS cause,
    verdict.category AS category,
    verdict.confidence AS confidence,
    verdict.level AS level,
    verdict.determinism AS determinism,
    verdict.signature AS signature,
    verdict.reasons AS reasons,
    verdict.rule_set AS rule_set,
    verdict.judged_at AS judged_at,
    job.html_url AS html_url
FROM verdict
LEFT JOIN
(
    SELECT id, name, workflow_name, head_sha, head_branch, html_url
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String} AND id IN (SELECT job_id FROM verdict)
) AS job ON job.id = verdict.job_id
ORDER BY judged_at, job_id
