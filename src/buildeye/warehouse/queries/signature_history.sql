-- Asked by triage: who else failed in the same ways within a time window, on the base branch or in other pull requests?
-- One question for all failures of a pass. The caller leaves out its own run by run_id and its own pull request by pull_requests.
-- Parameters: repository (owner/name), signatures (a list), base_branch, since and until (completed between, both included, UTC).
-- signature              which of the asked-for ways
-- job_id, run_id         GitHub's numbers
-- name, workflow_name    of the job and its workflow
-- head_sha, head_branch  what was built
-- event                  what started the run; '' when the run is not known
-- actor                  who started the run; '' when the run is not known
-- pull_requests          numbers GitHub names for the run
-- on_base                the run built the base branch itself; false for a fork's branch that has the same name
-- completed_at           UTC
-- passed_at              when a job of the same name next passed on the base branch, UTC; 1970 when it has not
-- html_url               the job's page
WITH seen AS
(
    SELECT DISTINCT job_id, signature
    FROM
    (
        SELECT job_id, signature
        FROM buildeye.diagnosis_latest
        WHERE repository_full_name = {repository:String} AND signature IN {signatures:Array(String)}
        UNION ALL
        SELECT job_id, signature
        FROM buildeye.verdict_latest
        WHERE repository_full_name = {repository:String} AND signature IN {signatures:Array(String)}
    )
),
job AS
(
    SELECT id AS job_id, run_id, name, workflow_name, head_sha, head_branch, completed_at, html_url
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND completed_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
        AND id IN (SELECT job_id FROM seen)
)
SELECT
    seen.signature AS signature,
    job.job_id AS job_id,
    job.run_id AS run_id,
    job.name AS name,
    job.workflow_name AS workflow_name,
    job.head_sha AS head_sha,
    job.head_branch AS head_branch,
    run.event AS event,
    run.actor AS actor,
    run.pull_requests AS pull_requests,
    head_branch = {base_branch:String} AND event NOT IN ('', 'pull_request', 'pull_request_target') AS on_base,
    job.completed_at AS completed_at,
    pass.completed_at AS passed_at,
    job.html_url AS html_url
FROM job
INNER JOIN seen ON seen.job_id = job.job_id
LEFT JOIN
(
    SELECT id, event, actor.login AS actor, pull_requests.number AS pull_requests
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String} AND id IN (SELECT run_id FROM job)
) AS run ON run.id = job.run_id
ASOF LEFT JOIN
(
    SELECT name, completed_at
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND head_branch = {base_branch:String}
        AND conclusion = 'success'
        AND name IN (SELECT name FROM job)
        AND completed_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
        AND run_id IN
        (
            SELECT id
            FROM default.workflow_run_latest
            WHERE repository_full_name = {repository:String}
                AND event NOT IN ('', 'pull_request', 'pull_request_target')
        )
) AS pass ON pass.name = job.name AND pass.completed_at > job.completed_at
ORDER BY completed_at, job_id, signature
