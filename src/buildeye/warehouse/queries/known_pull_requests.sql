-- Asked by sync and the monitor: what is known of pull requests, by their numbers or by the branches they come from?
-- Parameters: repository (owner/name), numbers (a list), head_refs (names of branches, a list).
-- repository_full_name, number  whose and which
-- title, user, state           user as (login)
-- base, head                   ref and sha of each
-- created_at, updated_at, merged_at  UTC; 1970 for none
-- merge_commit_sha, merge_base_sha  empty when not known
-- html_url                     its page
-- changed_files                repository paths; empty when not asked for
SELECT repository_full_name, number, title, user, state, base, head, created_at, updated_at, merged_at,
    merge_commit_sha, merge_base_sha, html_url, changed_files
FROM default.pull_request_latest
WHERE repository_full_name = {repository:String}
    AND (number IN {numbers:Array(Int64)} OR head.ref IN {head_refs:Array(String)})
ORDER BY number
