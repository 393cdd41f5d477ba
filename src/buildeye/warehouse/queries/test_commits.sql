-- Asked by `build-eye flaky`, `tests history` and `quarantine check`: how did tests fare at each commit?
-- Parameters: repository (owner/name), since and until (time_inserted, UTC), files and names (only tests whose file and
-- name are among these; with no names: all tests that were flaky at a commit).
-- file, classname, name  the test
-- commits                one entry a commit at which it passed or failed:
--   sha, at, branch        what was built (`run N` when the run is not known), when the first report was made, UTC
--   passed, failed, mixed  jobs in which it only passed, only failed, did both or was flaky in one report
--   runs, pulls, people    of reports of a failure: runs, pull requests, who started them
--   jobs                   in which it failed: number, and seconds it took if it failed as a whole, else 0
-- A job is one of its name, in whatever run or attempt; one that is not known is only compared with the same report.
WITH
bad AS
(
    SELECT file, classname, name
    FROM tests.all_test_runs
    WHERE repository_full_name = {repository:String}
        AND time_inserted >= {since:DateTime64(6, 'UTC')}
        AND time_inserted < {until:DateTime64(6, 'UTC')}
        AND (failure_count > 0 OR error_count > 0 OR rerun_count > 0)
        AND empty({names:Array(String)})
    GROUP BY file, classname, name
),
told AS
(
    SELECT
        file, classname, name, workflow_id, job_id, workflow_run_attempt, report_id,
        max(failure_count > 0 OR error_count > 0) AS failed,
        max(rerun_count > 0 AND failure_count = 0 AND error_count = 0) AS flaky,
        min(time_inserted) AS at
    FROM tests.all_test_runs
    WHERE repository_full_name = {repository:String}
        AND time_inserted >= {since:DateTime64(6, 'UTC')}
        AND time_inserted < {until:DateTime64(6, 'UTC')}
        AND (skipped_count = 0 OR failure_count > 0 OR error_count > 0)
        AND
        (
            (file, classname, name) IN bad
            OR (file IN {files:Array(String)} AND name IN {names:Array(String)})
        )
    GROUP BY file, classname, name, workflow_id, job_id, workflow_run_attempt, report_id
),
run AS
(
    SELECT id, head_sha, head_branch, triggering_actor.login AS login, pull_requests.number AS pulls
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String} AND created_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 35 DAY
),
job AS
(
    SELECT
        id, concat(workflow_name, ' / ', name) AS job,
        if(conclusion IN ('failure', 'timed_out'), greatest(0, dateDiff('second', started_at, completed_at)), 0) AS lost
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String} AND created_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 35 DAY
),
by_job AS
(
    SELECT
        file, classname, name,
        if(run.head_sha = '', concat('run ', toString(told.workflow_id)), run.head_sha) AS sha,
        multiIf(
            job_id = 0, concat('report ', toString(report_id)),
            job.job = '', concat('job ', toString(job_id)),
            job.job) AS place,
        min(told.at) AS at,
        any(run.head_branch) AS branch,
        max(failed) AS has_failed,
        min(failed) AS only_failed,
        max(flaky) AS was_flaky,
        groupUniqArrayIf(told.workflow_id, failed OR flaky) AS runs,
        groupUniqArrayArrayIf(run.pulls, failed OR flaky) AS pulls,
        groupUniqArrayIf(run.login, (failed OR flaky) AND run.login != '') AS people,
        groupUniqArrayIf((told.job_id, job.lost), failed AND told.job_id != 0) AS jobs
    FROM told
    LEFT ANY JOIN run ON run.id = told.workflow_id
    LEFT ANY JOIN job ON job.id = told.job_id
    GROUP BY file, classname, name, sha, place
),
by_commit AS
(
    SELECT
        file, classname, name, sha,
        min(at) AS at, any(branch) AS branch,
        countIf(NOT has_failed AND NOT was_flaky) AS passed,
        countIf(only_failed AND NOT was_flaky) AS failed,
        countIf(was_flaky OR (has_failed AND NOT only_failed)) AS mixed,
        groupUniqArrayArray(runs) AS runs,
        groupUniqArrayArray(pulls) AS pulls,
        groupUniqArrayArray(people) AS people,
        groupUniqArrayArray(jobs) AS jobs
    FROM by_job
    GROUP BY file, classname, name, sha
)
SELECT
    file, classname, name,
    groupArray((sha, at, branch, passed, failed, mixed, runs, pulls, people, jobs)) AS commits
FROM by_commit
GROUP BY file, classname, name
HAVING notEmpty({names:Array(String)}) OR max(mixed) > 0
ORDER BY file, classname, name
