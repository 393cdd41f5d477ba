-- Asked by triage: what was merged into the base branch in a time span, oldest first?
-- Parameters: repository (owner/name), base_branch, since and until (merged between, both included, UTC).
-- number, title, author       of the pull request
-- merge_commit_sha, merged_at the commit it became, and when
-- head_sha                    the last commit of its branch
-- changed_files               repository paths; empty when not asked for
SELECT number, title, user.login AS author, merge_commit_sha, merged_at, head.sha AS head_sha, changed_files
FROM default.pull_request_latest
WHERE repository_full_name = {repository:String}
    AND base.ref = {base_branch:String}
    AND merged_at BETWEEN {since:DateTime64(6, 'UTC')} AND {until:DateTime64(6, 'UTC')}
    AND merge_commit_sha != ''
ORDER BY merged_at, number
