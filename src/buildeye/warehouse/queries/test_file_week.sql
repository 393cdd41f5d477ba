-- Asked by `build-eye tests FILE`: how did each test of a file fare?
-- Parameters: repository (owner/name), file, module ('' for a file that reports name; with file '' the Python module
-- that classes begin with, as pytest writes it when it leaves the file out), since and until (time_inserted, UTC).
-- file, classname, name  the test
-- runs                   reports of it; what follows counts as PyTorch's guide does
-- successful, fails, skipped  neither failed nor skipped (flaky among them); failed or error; skipped
-- flaky                  failed first and passed when run again in the same job
-- seconds                mean, of those not skipped; 0 for none
-- last_failed            when the last report of a failure was made, UTC; 1970 for none
-- A report read twice counts once. It keeps its time, so neither months nor what is outside of the window is merged.
SELECT
    file,
    classname,
    name,
    count() AS runs,
    countIf(failure_count = 0 AND error_count = 0 AND skipped_count = 0) AS successful,
    countIf(failure_count > 0 OR error_count > 0) AS fails,
    countIf(skipped_count > 0) AS skipped,
    countIf(rerun_count > 0 AND failure_count = 0 AND error_count = 0) AS flaky,
    ifNotFinite(avgIf(time, skipped_count = 0), 0) AS seconds,
    maxIf(time_inserted, failure_count > 0 OR error_count > 0) AS last_failed
FROM tests.all_test_runs FINAL
PREWHERE time_inserted >= {since:DateTime64(6, 'UTC')}
    AND time_inserted < {until:DateTime64(6, 'UTC')}
    AND repository_full_name = {repository:String}
    AND file = {file:String}
    AND ({module:String} = '' OR classname = {module:String} OR startsWith(classname, concat({module:String}, '.')))
GROUP BY file, classname, name
ORDER BY fails DESC, flaky DESC, runs DESC, classname, name
SETTINGS do_not_merge_across_partitions_select_final = 1
