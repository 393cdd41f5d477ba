-- Asked by `build-eye failures`: as what did jobs of these names fail on a branch? One row a name, cause and signature.
-- Of a failure the word of a person counts, for the job before that for the whole run, else our judgement.
-- The failures are looked up once, as a value, and not by each part that asks for them.
-- Of verdicts and diagnoses the highest version counts, as in their `_latest` views; without FINAL only these rows are read.
-- Parameters: repository (owner/name), branch, since, until (completed from the one up to the other, UTC), names (of jobs).
-- name        of the job
-- cause       whose problem; '' when nobody judged
-- signature   of our verdict, else of our diagnosis; '' when there is neither
-- failures    jobs that ended so
-- flaky       of these, how many our verdict holds to be flaky
-- newest      when the newest of them completed, UTC
-- run_id, id  the newest of them
WITH
(
    SELECT groupArray((id, run_id, name, ended))
    FROM
    (
        SELECT id, run_id, name, max(completed_at) AS ended
        FROM default.workflow_job
        WHERE conclusion = 'failure'
            AND completed_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
            AND repository_full_name = {repository:String}
            AND head_branch = {branch:String}
            AND name IN {names:Array(String)}
        GROUP BY id, run_id, name
    )
) AS once,
failed AS
(
    SELECT each.1 AS id, each.2 AS run_id, each.3 AS name, each.4 AS ended
    FROM (SELECT arrayJoin(once) AS each)
),
word AS
(
    SELECT run_id, job_id, cause, person, said_at
    FROM buildeye.person_verdict_latest
    WHERE repository_full_name = {repository:String} AND NOT withdrawn
)
SELECT
    failed.name AS name,
    multiIf(
        alone.person != '', toString(alone.cause),
        of_run.person != '' AND failed.ended <= of_run.said_at, toString(of_run.cause),
        toString(ours.cause)) AS cause,
    if(ours.signature != '', ours.signature, told.signature) AS signature,
    count() AS failures,
    countIf(ours.determinism = 'flaky') AS flaky,
    max(failed.ended) AS newest,
    argMax(failed.run_id, (failed.ended, failed.id)) AS run_id,
    argMax(failed.id, (failed.ended, failed.id)) AS id
FROM failed
LEFT JOIN
(
    SELECT job_id, last.1 AS cause, last.2 AS signature, last.3 AS determinism
    FROM
    (
        SELECT job_id, argMax((toString(cause), signature, toString(determinism)), _version) AS last
        FROM buildeye.verdict
        WHERE repository_full_name = {repository:String} AND (run_id, job_id) IN (SELECT run_id, id FROM failed)
        GROUP BY job_id
    )
) AS ours ON ours.job_id = failed.id
LEFT JOIN
(
    SELECT job_id, argMax(signature, _version) AS signature
    FROM buildeye.diagnosis
    WHERE repository_full_name = {repository:String} AND job_id IN (SELECT id FROM failed)
    GROUP BY job_id
) AS told ON told.job_id = failed.id
LEFT JOIN (SELECT * FROM word WHERE job_id != 0) AS alone ON alone.job_id = failed.id
LEFT JOIN (SELECT * FROM word WHERE job_id = 0) AS of_run ON of_run.run_id = failed.run_id
GROUP BY name, cause, signature
ORDER BY name, failures DESC, cause, signature
