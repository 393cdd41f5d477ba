-- Asked by `GET /api/hud/...`: which commits are on one page of a branch, newest first? Those pushed, built or merged there.
-- Parameters: repository (owner/name), branch, until and until_sha (no commit after this moment, nor after this name in
-- it), limit and offset (commits).
-- sha           the whole name
-- at            when it came, UTC: the first push, run or merge that names it
-- pull_request  that was merged with it; 0 when none is known
-- title         of the pull request, else of what was built; '' when not known
-- author        of the pull request, else of the commit, else who had it built; '' when not known
WITH named AS
(
    SELECT head_sha AS sha, created_at AS at, toInt64(0) AS number, display_title AS title, actor.login AS login, 1 AS weight
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String}
        AND head_branch = {branch:String}
        AND event NOT IN ('pull_request', 'pull_request_target')
    UNION ALL
    SELECT after AS sha, pushed_at AS at, toInt64(0) AS number, head_commit.message AS title,
        if(head_commit.author.username = '', head_commit.author.name, head_commit.author.username) AS login, 2 AS weight
    FROM default.push_latest
    WHERE repository_full_name = {repository:String} AND ref = concat('refs/heads/', {branch:String}) AND NOT deleted
    UNION ALL
    SELECT merge_commit_sha AS sha, merged_at AS at, number, title, user.login AS login, 3 AS weight
    FROM default.pull_request_latest
    WHERE repository_full_name = {repository:String}
        AND base.ref = {branch:String}
        AND merge_commit_sha != ''
        AND merged_at > toDateTime64(0, 3, 'UTC')
)
SELECT
    sha,
    minIf(named.at, named.at > toDateTime64(0, 3, 'UTC')) AS at,
    max(number) AS pull_request,
    argMax(title, (number, title)) AS title,
    argMax(login, (login != '', weight, login)) AS author
FROM named
WHERE sha != ''
GROUP BY sha
HAVING (at, sha) <= ({until:DateTime64(6, 'UTC')}, {until_sha:String})
ORDER BY at DESC, sha DESC
LIMIT {limit:UInt32} OFFSET {offset:UInt32}
