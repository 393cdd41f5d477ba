-- Asked by `build-eye tests history ID`: which tests may be meant?
-- Parameters: repository (owner/name), since and until (time_inserted, UTC), names (of the test), file ('' for any),
-- module (the Python module of the file, for reports that say no file; '' for none).
-- file, classname, name  the test
-- runs                   reports of it, of one read twice maybe twice
SELECT file, classname, name, count() AS runs
FROM tests.all_test_runs
WHERE repository_full_name = {repository:String}
    AND time_inserted >= {since:DateTime64(6, 'UTC')}
    AND time_inserted < {until:DateTime64(6, 'UTC')}
    AND name IN {names:Array(String)}
    AND
    (
        {file:String} = ''
        OR file = {file:String}
        OR (file = '' AND (classname = {module:String} OR startsWith(classname, concat({module:String}, '.'))))
    )
GROUP BY file, classname, name
ORDER BY runs DESC, file, classname, name
LIMIT 1000
