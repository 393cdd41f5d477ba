-- Asked by sync of each page of runs: what is known of them, and are their jobs here?
-- Parameters: repository (owner/name), runs (GitHub's numbers, a list).
-- run_id, run_attempt  GitHub's numbers
-- status, conclusion   conclusion is '' until completed
-- updated_at           UTC
-- synced_attempt       jobs of attempts up to this one are here; 0 for none
SELECT run.id AS run_id, run.run_attempt AS run_attempt, run.status AS status, run.conclusion AS conclusion,
    run.updated_at AS updated_at, synced.run_attempt AS synced_attempt
FROM
(
    SELECT id, run_attempt, status, conclusion, updated_at
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String} AND id IN {runs:Array(Int64)}
) AS run
LEFT JOIN
(
    SELECT run_id, run_attempt
    FROM buildeye.synced_run_latest
    WHERE repository_full_name = {repository:String} AND run_id IN {runs:Array(Int64)}
) AS synced ON synced.run_id = run.id
ORDER BY run_id
