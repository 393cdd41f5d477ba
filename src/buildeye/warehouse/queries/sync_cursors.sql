-- Asked by sync before it asks GitHub: how far has each stream of a repository been read?
-- Parameters: repository (owner/name).
-- stream          runs, pull requests, branch main ...
-- since, reached  everything between them has been read, UTC
-- seen            what was newest then, in the stream's own words
SELECT stream, since, reached, seen
FROM buildeye.sync_cursor_latest
WHERE repository_full_name = {repository:String}
ORDER BY stream
