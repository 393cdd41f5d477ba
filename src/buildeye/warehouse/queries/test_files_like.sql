-- Asked by `build-eye tests FILE` when the file has no runs: which files or classes were meant?
-- Parameters: repository (owner/name), since and until (time_inserted, UTC), base (the last part of the name asked for).
-- file       a file of that name in any folder, or with that name in it
-- classname  where reports say no file: the class; else ''
-- runs       reports of its tests, of one read twice maybe twice
SELECT file, if(file = '', toString(classname), '') AS classname, count() AS runs
FROM tests.all_test_runs
WHERE repository_full_name = {repository:String}
    AND time_inserted >= {since:DateTime64(6, 'UTC')}
    AND time_inserted < {until:DateTime64(6, 'UTC')}
    AND positionCaseInsensitive(if(file = '', classname, file), {base:String}) > 0
GROUP BY ALL
ORDER BY runs DESC, file, classname
LIMIT 50
