-- Asked by commands and tools whose answer is empty: of which repositories are there facts at all?
-- Parameters: none.
-- repository_full_name  owner/name
-- newest                when its newest job was created, UTC
SELECT repository_full_name, max(created_at) AS newest
FROM default.workflow_job
GROUP BY repository_full_name
ORDER BY newest DESC, repository_full_name
