-- Asked by triage: what did the failures of a time span run in and with, and what the passes of the same jobs before?
-- Parameters: repository (owner/name); judged_since and judged_until (failures that ended between), known_since and
-- known_until (passes that ended between); all included, UTC. One row a job whose log has been read for it.
-- run_id, job_id    GitHub's numbers
-- things            kind (image, runner-image, package, tool), name, value (digest or version) of each, sorted
WITH judged AS
(
    SELECT id, workflow_name, name
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND conclusion IN ('failure', 'timed_out', 'cancelled')
        AND completed_at BETWEEN {judged_since:DateTime64(6, 'UTC')} AND {judged_until:DateTime64(6, 'UTC')}
)
SELECT run_id, job_id, things
FROM buildeye.job_environment_latest
WHERE repository_full_name = {repository:String}
    AND
    (
        job_id IN (SELECT id FROM judged)
        OR job_id IN
        (
            SELECT id
            FROM default.workflow_job_latest
            WHERE repository_full_name = {repository:String}
                AND conclusion = 'success'
                AND completed_at BETWEEN {known_since:DateTime64(6, 'UTC')} AND {known_until:DateTime64(6, 'UTC')}
                AND (workflow_name, name) IN (SELECT workflow_name, name FROM judged)
        )
    )
ORDER BY job_id
