-- Asked by triage: how did jobs end that say something of the failures of a time span? One question for all of them.
-- These are: all jobs near in time; the same jobs on the base branch; jobs on the same commits and of the same branches;
-- and failures of any time with the same signature or a failing test in common.
-- Parameters: repository (owner/name), base_branch; judged_since and judged_until (failures that ended between are judged),
-- near_since and near_until (jobs that ended between are all given), known_since and known_until (nothing outside counts);
-- all included, UTC.
-- job_id, run_id, attempt      GitHub's numbers
-- workflow, name               what makes jobs of different runs the same job
-- head_sha, branch, conclusion what was built and how it ended
-- built                        when the run was created, UTC
-- ended                        when the job ended, UTC
-- on_base                      the run built the base branch itself; false for a fork's branch that has the same name
-- pull_request                 as GitHub names it, or whose branch and author fit; 0 when the run belongs to none
-- author                       of the pull request; else who started the run
-- signature, cause, category   of the newest diagnosis; '' when there is none
-- tests                        failing tests, at most 20
-- runner, pool                 '' when no runner took the job; the labels it asked for, sorted, joined by commas
-- waited_seconds               from its creation to its start
-- started                      UTC; 1970 when it never did
WITH
run AS
(
    SELECT id, event, head_branch, created_at, actor.login AS actor, pull_requests.number AS numbers
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String}
),
judged AS
(
    SELECT id, name, workflow_name, head_sha, head_branch
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND conclusion IN ('failure', 'timed_out', 'cancelled')
        AND completed_at BETWEEN {judged_since:DateTime64(6, 'UTC')} AND {judged_until:DateTime64(6, 'UTC')}
),
said AS
(
    SELECT job_id, signature, cause, category, arraySlice(tests, 1, 20) AS tests
    FROM buildeye.diagnosis_latest
    WHERE repository_full_name = {repository:String}
),
asked AS
(
    SELECT signature, tests FROM said WHERE job_id IN (SELECT id FROM judged)
),
alike AS
(
    SELECT job_id FROM said WHERE signature IN (SELECT signature FROM asked WHERE position(signature, '|') > 0)
    UNION DISTINCT
    SELECT job_id FROM said WHERE hasAny(tests, (SELECT groupUniqArrayArray(tests) FROM asked))
),
job AS
(
    SELECT id, run_id, run_attempt, workflow_name, name, head_sha, head_branch, conclusion, created_at, started_at, completed_at,
        runner_name, arrayStringConcat(arraySort(labels), ',') AS pool
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND status = 'completed'
        AND conclusion IN ('success', 'failure', 'timed_out', 'cancelled')
        AND completed_at BETWEEN {known_since:DateTime64(6, 'UTC')} AND {known_until:DateTime64(6, 'UTC')}
        AND
        (
            completed_at BETWEEN {near_since:DateTime64(6, 'UTC')} AND {near_until:DateTime64(6, 'UTC')}
            OR (head_branch = {base_branch:String} AND (workflow_name, name) IN (SELECT workflow_name, name FROM judged))
            OR head_sha IN (SELECT head_sha FROM judged)
            OR (head_branch != {base_branch:String} AND head_branch IN (SELECT head_branch FROM judged)
                AND (workflow_name, name) IN (SELECT workflow_name, name FROM judged))
            OR id IN (SELECT job_id FROM alike)
        )
)
SELECT
    job.id AS job_id,
    job.run_id AS run_id,
    job.run_attempt AS attempt,
    job.workflow_name AS workflow,
    job.name AS name,
    job.head_sha AS head_sha,
    job.head_branch AS branch,
    job.conclusion AS conclusion,
    if(run.created_at > toDateTime64(0, 3, 'UTC'), run.created_at, job.created_at) AS built,
    job.started_at AS started,
    job.completed_at AS ended,
    job.head_branch = {base_branch:String} AND run.event NOT IN ('', 'pull_request', 'pull_request_target') AS on_base,
    if(run.numbers[1] > 0, run.numbers[1], if(run.event LIKE 'pull_request%', owned.number, 0)) AS pull_request,
    if(pull.author = '', run.actor, pull.author) AS author,
    said.signature AS signature,
    said.cause AS cause,
    said.category AS category,
    said.tests AS tests,
    job.runner_name AS runner,
    job.pool AS pool,
    if(job.started_at > job.created_at AND job.created_at > toDateTime64(0, 3, 'UTC'),
        dateDiff('second', job.created_at, job.started_at), 0) AS waited_seconds
FROM job
LEFT JOIN run ON run.id = job.run_id
LEFT JOIN said ON said.job_id = job.id
LEFT JOIN
(
    SELECT number, user.login AS author
    FROM default.pull_request_latest
    WHERE repository_full_name = {repository:String}
) AS pull ON pull.number = run.numbers[1]
LEFT JOIN
(
    SELECT head.ref AS ref, user.login AS login, argMax(number, created_at) AS number
    FROM default.pull_request_latest
    WHERE repository_full_name = {repository:String}
    GROUP BY ref, login
) AS owned ON owned.ref = run.head_branch AND owned.login = run.actor
ORDER BY ended, job_id
