-- Asked by the digest and the status page: how did the runs of a repository end since a moment?
-- Parameters: repository (owner/name), since (created at or after, UTC).
-- status      completed, in_progress, queued ...
-- conclusion  '' until completed
-- runs        how many, each run counted once with its newest attempt
SELECT status, conclusion, count() AS runs
FROM default.workflow_run_latest
WHERE repository_full_name = {repository:String}
    AND created_at >= {since:DateTime64(6, 'UTC')}
GROUP BY status, conclusion
ORDER BY runs DESC, status, conclusion
