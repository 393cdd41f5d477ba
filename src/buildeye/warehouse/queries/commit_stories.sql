-- Asked by `build-eye deploy`: how did the runs of some commits end, and what failed in them? The newest run of each workflow
-- and event counts, in its latest attempt; of a failed job both our judgement and the word of a person are told.
-- Parameters: repository (owner/name), commits (names, whole or their beginnings).
-- id, run_attempt        GitHub's numbers
-- head_sha               the whole name of the commit
-- name, event            of the workflow, and what started the run
-- status, conclusion     conclusion is '' until completed
-- updated_at             UTC
-- html_url               the run's page
-- said_cause, said_category, said_why, said_by  a person's word about the run as a whole; '' when there is none
-- failed_jobs            job_id, name, html_url; cause and category as we judged, '' when not judged; said_cause,
--                        said_category, said_why and said_by: the person's word that counts for it, '' when there is none
WITH run AS
(
    SELECT id, run_attempt, head_sha, name, event, status, conclusion, run_started_at, updated_at, html_url
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String} AND arrayExists(each -> startsWith(head_sha, each), {commits:Array(String)})
    ORDER BY created_at DESC, id DESC
    LIMIT 1 BY head_sha, workflow_id, name, event
),
word AS
(
    SELECT run_id, job_id, cause, category, why, person, said_at
    FROM buildeye.person_verdict_latest
    WHERE repository_full_name = {repository:String} AND NOT withdrawn AND run_id IN (SELECT id FROM run)
),
job AS
(
    SELECT id, run_id, name, html_url, started_at
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND conclusion IN ('failure', 'timed_out', 'startup_failure')
        AND head_sha IN (SELECT head_sha FROM run)
        AND (run_id, run_attempt) IN (SELECT id, run_attempt FROM run)
),
failed AS
(
    SELECT
        job.run_id AS run_id,
        alone.person != '' AS by_itself,
        of_run.person != '' AND job.started_at <= of_run.said_at AS by_run,
        (
            job.id, job.name, job.html_url, toString(ours.cause), toString(ours.category),
            multiIf(by_itself, toString(alone.cause), by_run, toString(of_run.cause), ''),
            multiIf(by_itself, toString(alone.category), by_run, toString(of_run.category), ''),
            multiIf(by_itself, alone.why, by_run, of_run.why, ''),
            multiIf(by_itself, alone.person, by_run, of_run.person, '')
        )::Tuple(job_id Int64, name String, html_url String, cause String, category String, said_cause String, said_category String, said_why String, said_by String) AS told
    FROM job
    LEFT JOIN
    (
        SELECT job_id, cause, category
        FROM buildeye.verdict_latest
        WHERE repository_full_name = {repository:String} AND run_id IN (SELECT id FROM run)
    ) AS ours ON ours.job_id = job.id
    LEFT JOIN (SELECT * FROM word WHERE job_id != 0) AS alone ON alone.job_id = job.id
    LEFT JOIN (SELECT * FROM word WHERE job_id = 0) AS of_run ON of_run.run_id = job.run_id
)
SELECT
    run.id AS id,
    run.run_attempt AS run_attempt,
    run.head_sha AS head_sha,
    run.name AS name,
    run.event AS event,
    run.status AS status,
    run.conclusion AS conclusion,
    run.updated_at AS updated_at,
    run.html_url AS html_url,
    if(run.run_started_at <= whole.said_at, toString(whole.cause), '') AS said_cause,
    if(run.run_started_at <= whole.said_at, toString(whole.category), '') AS said_category,
    if(run.run_started_at <= whole.said_at, whole.why, '') AS said_why,
    if(run.run_started_at <= whole.said_at, whole.person, '') AS said_by,
    jobs.failed_jobs AS failed_jobs
FROM run
LEFT JOIN (SELECT * FROM word WHERE job_id = 0) AS whole ON whole.run_id = run.id
LEFT JOIN
(
    SELECT run_id, arraySort(each -> each.1, groupArray(told)) AS failed_jobs
    FROM failed
    GROUP BY run_id
) AS jobs ON jobs.run_id = run.id
ORDER BY head_sha, name, event, id
