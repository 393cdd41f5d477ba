-- Asked by `GET /api/hud/...` for a commit: on which branch is it, and since when? The branch with most commits, if several.
-- Parameters: repository (owner/name), sha (the first 7 characters of its name or more).
-- sha     the whole name
-- branch  to which it was pushed or merged, or on which it was built
-- at      when it came there, UTC
WITH named AS
(
    SELECT head_sha AS sha, head_branch AS branch, created_at AS at
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String} AND event NOT IN ('pull_request', 'pull_request_target')
    UNION ALL
    SELECT after AS sha, replaceRegexpOne(ref, '^refs/heads/', '') AS branch, pushed_at AS at
    FROM default.push_latest
    WHERE repository_full_name = {repository:String} AND startsWith(ref, 'refs/heads/') AND NOT deleted
    UNION ALL
    SELECT merge_commit_sha AS sha, base.ref AS branch, merged_at AS at
    FROM default.pull_request_latest
    WHERE repository_full_name = {repository:String} AND merged_at > toDateTime64(0, 3, 'UTC')
)
SELECT found.sha AS sha, found.branch AS branch, found.at AS at
FROM
(
    SELECT sha, branch, minIf(named.at, named.at > toDateTime64(0, 3, 'UTC')) AS at
    FROM named
    WHERE startsWith(sha, {sha:String})
    GROUP BY sha, branch
) AS found
INNER JOIN (SELECT branch, uniqExact(sha) AS commits FROM named GROUP BY branch) AS sized ON sized.branch = found.branch
ORDER BY sized.commits DESC, at, branch, sha
LIMIT 1
