-- Asked by `build-eye tests history ID`: as what did one test fail?
-- Parameters: repository (owner/name), since and until (time_inserted, UTC), file, classname, case (its name), limit (rows).
-- message            the first line of what it said, at most 300 characters; '' when it said nothing
-- fails              reports of it that failed with this
-- flaky              those that failed with this and passed when run again in the same job
-- first_at, last_at  when the first and the last of these reports was made, UTC
-- run_id, job_id     of the last; job_id is 0 when it is not known
SELECT
    substringUTF8(splitByChar('\n', trimBoth(if(told.1 = '', told.2, told.1)))[1], 1, 300) AS message,
    countIf(result != 'flaky') AS fails,
    countIf(result = 'flaky') AS flaky,
    min(time_inserted) AS first_at,
    max(time_inserted) AS last_at,
    argMax(workflow_id, (time_inserted, of_job, workflow_id)) AS run_id,
    argMax(of_job, (time_inserted, of_job, workflow_id)) AS job_id
FROM
(
    SELECT
        job_id AS of_job, workflow_id, result, time_inserted,
        multiIf(
            error_count > 0, (error[1].1, error[1].2),
            failure_count > 0, (failure[1].1, failure[1].2),
            (rerun[1].1, rerun[1].2)) AS told
    FROM tests.all_test_runs_latest
    WHERE repository_full_name = {repository:String}
        AND time_inserted >= {since:DateTime64(6, 'UTC')}
        AND time_inserted < {until:DateTime64(6, 'UTC')}
        AND file = {file:String} AND classname = {classname:String} AND name = {case:String}
        AND (failure_count > 0 OR error_count > 0 OR result = 'flaky')
)
GROUP BY message
ORDER BY fails + flaky DESC, last_at DESC, message
LIMIT {limit:UInt32}
