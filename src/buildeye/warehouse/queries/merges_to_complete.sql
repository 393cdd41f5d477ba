-- Asked by sync: of which pull requests that were merged shortly before the base branch failed are the files not known?
-- Parameters: repository (owner/name), base_branch, since and until (the failing run was created between, both included,
-- UTC), hours (so long before it a merge counts), limit (rows; the latest merges).
-- number                       of the pull request
WITH failed AS
(
    SELECT created_at
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String}
        AND head_branch = {base_branch:String}
        AND event NOT IN ('', 'pull_request', 'pull_request_target')
        AND conclusion IN ('failure', 'timed_out')
        AND created_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
)
SELECT number
FROM default.pull_request_latest
WHERE repository_full_name = {repository:String}
    AND base.ref = {base_branch:String}
    AND merge_commit_sha != ''
    AND empty(changed_files)
    AND merge_base_sha = ''
    AND merged_at > toDateTime64(0, 3, 'UTC')
    AND arrayExists(
        at -> merged_at <= at AND merged_at > at - toIntervalHour({hours:UInt32}),
        (SELECT groupArray(created_at) FROM failed))
ORDER BY merged_at DESC, number DESC
LIMIT {limit:UInt32}
