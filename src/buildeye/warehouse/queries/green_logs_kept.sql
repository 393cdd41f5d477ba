-- Asked by whoever makes baselines: the newest kept log of a green job per job name and branch, unless it is one already.
-- Parameters: repository (owner/name), since (completed at or after, UTC).
-- job_id, run_id       GitHub's numbers
-- name, branch         of the job, and what it built
-- head_sha             the commit
-- completed_at         UTC
-- place                where our copy of its log is
SELECT
    argMax(job.id, (job.completed_at, job.id)) AS job_id,
    argMax(job.run_id, (job.completed_at, job.id)) AS run_id,
    job.name AS name,
    job.head_branch AS branch,
    argMax(job.head_sha, (job.completed_at, job.id)) AS head_sha,
    max(job.completed_at) AS completed_at,
    argMax(log.place, (job.completed_at, job.id)) AS place
FROM
(
    SELECT id, run_id, name, head_branch, head_sha, completed_at
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND conclusion = 'success'
        AND completed_at >= {since:DateTime64(6, 'UTC')}
) AS job
INNER JOIN
(
    SELECT job_id, place
    FROM buildeye.log_latest
    WHERE repository_full_name = {repository:String} AND place != ''
) AS log ON log.job_id = job.id
LEFT JOIN
(
    SELECT job_name, branch, completed_at AS kept_until
    FROM buildeye.job_baseline_latest
    WHERE repository_full_name = {repository:String}
) AS baseline ON baseline.job_name = job.name AND baseline.branch = job.head_branch
GROUP BY name, branch
HAVING completed_at > max(baseline.kept_until)
ORDER BY name, branch
