-- Asked by `build-eye explain` of a bare number that the repository of the settings does not have: whose run is it?
-- Parameters: run (GitHub's number).
-- repository_full_name  owner/name
SELECT DISTINCT repository_full_name
FROM default.workflow_run
WHERE id = {run:Int64}
ORDER BY repository_full_name
