-- Asked by a pass before it fetches artifacts: which of these have been read already?
-- Parameters: repository (owner/name), artifacts (GitHub's numbers).
-- artifact_id  one that was read
-- cases        test cases that were read from it
-- troubles     what of it could not be read
SELECT artifact_id, cases, troubles
FROM buildeye.test_artifact_latest
WHERE repository_full_name = {repository:String} AND artifact_id IN {artifacts:Array(Int64)}
ORDER BY artifact_id
