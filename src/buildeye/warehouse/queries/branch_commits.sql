-- Asked by `build-eye streaks`: which are the newest commits of a branch? Those that were pushed, built or merged there.
-- Parameters: repository (owner/name), branch, limit (commits), ending (the name of the newest wanted, or its beginning;
-- '' none: the newest there is).
-- sha           the whole name
-- at            when it came, UTC: the first push, run or merge that names it
-- pull_request  that was merged with it; 0 when none is known
-- title         of the pull request, else of what was built; '' when not known
-- before        what was newest on the branch before the push that brought it; '' when not known, or history was rewritten
WITH named AS
(
    SELECT head_sha AS sha, created_at AS at, toInt64(0) AS number, display_title AS title, '' AS before
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String}
        AND head_branch = {branch:String}
        AND event NOT IN ('pull_request', 'pull_request_target')
    UNION ALL
    SELECT after AS sha, pushed_at AS at, toInt64(0) AS number, head_commit.message AS title, if(forced, '', before) AS before
    FROM default.push_latest
    WHERE repository_full_name = {repository:String} AND ref = concat('refs/heads/', {branch:String}) AND NOT deleted
    UNION ALL
    SELECT merge_commit_sha AS sha, merged_at AS at, number, title, '' AS before
    FROM default.pull_request_latest
    WHERE repository_full_name = {repository:String}
        AND base.ref = {branch:String}
        AND merge_commit_sha != ''
        AND merged_at > toDateTime64(0, 3, 'UTC')
),
commit AS
(
    SELECT
        sha,
        minIf(named.at, named.at > toDateTime64(0, 3, 'UTC')) AS at,
        max(number) AS pull_request,
        argMax(title, (number, title)) AS title,
        max(before) AS before
    FROM named
    WHERE sha != ''
    GROUP BY sha
)
SELECT sha, at, pull_request, title, before
FROM commit
WHERE {ending:String} = '' OR (at, sha) <= (SELECT (max(at), argMax(sha, at)) FROM commit WHERE startsWith(sha, {ending:String}))
ORDER BY at DESC, sha DESC
LIMIT {limit:UInt32}
