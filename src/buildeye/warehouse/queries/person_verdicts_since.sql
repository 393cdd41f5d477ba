-- Asked by triage and `build-eye verdict list`: what did people say since a moment, and of which failures, oldest first?
-- A job that a person judged by itself is not among those of its run; neither is one that began after it was said.
-- Parameters: repository (owner/name), since (said at or after, UTC).
-- repository_full_name  owner/name
-- run_id, job_id        GitHub's numbers; job_id 0: all failed jobs of the run
-- cause, category       whose problem, and which; category '' when the person named a cause only
-- why                   in the person's words
-- person                who said so
-- said_at               UTC
-- withdrawn             false: what was taken back is left out
-- jobs                  the judged jobs it speaks of: job_id, name ('' when not known), signature, and our own cause and category ('' when not judged)
WITH said AS
(
    SELECT repository_full_name, run_id, job_id, cause, category, why, person, said_at, withdrawn
    FROM buildeye.person_verdict_latest
    WHERE repository_full_name = {repository:String} AND NOT withdrawn AND said_at >= {since:DateTime64(6, 'UTC')}
),
failed AS
(
    SELECT run_id, job_id, argMax(signature, rank) AS signature, max(cause) AS cause, max(category) AS category
    FROM
    (
        SELECT run_id, job_id, signature, toString(cause) AS cause, toString(category) AS category, 1 AS rank
        FROM buildeye.verdict_latest
        WHERE repository_full_name = {repository:String} AND run_id IN (SELECT run_id FROM said)
        UNION ALL
        SELECT run_id, job_id, signature, '' AS cause, '' AS category, 0 AS rank
        FROM buildeye.diagnosis_latest
        WHERE repository_full_name = {repository:String} AND run_id IN (SELECT run_id FROM said)
    )
    GROUP BY run_id, job_id
),
spoken AS
(
    SELECT
        failed.run_id AS run_id,
        if(alone.job_id = 0, 0, failed.job_id) AS said_of,
        job.started_at AS started_at,
        (failed.job_id, job.name, failed.signature, failed.cause, failed.category)::Tuple(job_id Int64, name String, signature String, cause String, category String) AS each
    FROM failed
    LEFT JOIN
    (
        SELECT run_id, job_id
        FROM buildeye.person_verdict_latest
        WHERE repository_full_name = {repository:String} AND NOT withdrawn AND job_id != 0 AND run_id IN (SELECT run_id FROM said)
    ) AS alone ON alone.run_id = failed.run_id AND alone.job_id = failed.job_id
    LEFT JOIN
    (
        SELECT id, name, started_at
        FROM default.workflow_job_latest
        WHERE repository_full_name = {repository:String} AND id IN (SELECT job_id FROM failed)
    ) AS job ON job.id = failed.job_id
)
SELECT
    said.repository_full_name AS repository_full_name,
    said.run_id AS run_id,
    said.job_id AS job_id,
    said.cause AS cause,
    said.category AS category,
    said.why AS why,
    said.person AS person,
    said.said_at AS said_at,
    said.withdrawn AS withdrawn,
    arraySort(each -> each.1, groupArrayIf(spoken.each, spoken.each.1 != 0 AND (said.job_id != 0 OR spoken.started_at <= said.said_at))) AS jobs
FROM said
LEFT JOIN spoken ON spoken.run_id = said.run_id AND spoken.said_of = said.job_id
GROUP BY ALL
ORDER BY said_at, run_id, job_id
