-- Asked by `GET /metrics`: how many jobs has each pool of runners been given, and how many does a runner work on now?
-- Parameters: at (now, UTC), since (jobs created before it are not looked at, UTC).
-- repository  owner/name
-- pool        what the jobs ask for below runs-on: all labels, sorted and joined by commas
-- assigned    jobs that wait for a runner of the pool or run on one, as Actions Runner Controller counts them
-- running     those of them that run; both are 0 of a pool that has nothing to do
-- Ghosts, which GitHub forgot to end, are not counted: their run is over or was begun again; and of jobs that wait those of
-- which steps ran, before which a job created ten minutes later has started, or in whose run nothing happened for 6 hours.
WITH pool AS
(
    SELECT repository_full_name, arraySort(labels) AS asked,
        maxIf(created_at, (status = 'in_progress' OR (status = 'completed' AND runner_name != ''))
            AND started_at <= {at:DateTime64(6, 'UTC')}) AS newest_begun
    FROM default.workflow_job
    WHERE created_at BETWEEN {since:DateTime64(6, 'UTC')} AND {at:DateTime64(6, 'UTC')} AND notEmpty(labels)
    GROUP BY repository_full_name, asked
),
open_job AS
(
    SELECT repository_full_name, run_id, run_attempt, status, arraySort(labels) AS asked, created_at,
        notEmpty(steps) AS has_steps
    FROM default.workflow_job_latest
    WHERE created_at BETWEEN {since:DateTime64(6, 'UTC')} AND {at:DateTime64(6, 'UTC')}
        AND status IN ('queued', 'in_progress')
        AND notEmpty(labels)
        AND id IN
        (
            SELECT id
            FROM default.workflow_job
            WHERE created_at >= {since:DateTime64(6, 'UTC')} AND status IN ('queued', 'in_progress')
        )
),
run AS
(
    SELECT repository_full_name, id, status, run_attempt, updated_at
    FROM default.workflow_run_latest
    WHERE (repository_full_name, id) IN (SELECT repository_full_name, run_id FROM open_job)
),
moved AS
(
    SELECT repository_full_name, run_id, max(greatest(created_at, started_at, completed_at)) AS last
    FROM default.workflow_job
    WHERE created_at >= {since:DateTime64(6, 'UTC')}
        AND (repository_full_name, run_id) IN (SELECT repository_full_name, run_id FROM open_job)
    GROUP BY repository_full_name, run_id
),
alive AS
(
    SELECT open_job.repository_full_name AS repository_full_name, open_job.asked AS asked, count() AS assigned,
        countIf(open_job.status = 'in_progress') AS running
    FROM open_job
    LEFT JOIN run ON run.repository_full_name = open_job.repository_full_name AND run.id = open_job.run_id
    LEFT JOIN moved ON moved.repository_full_name = open_job.repository_full_name AND moved.run_id = open_job.run_id
    LEFT JOIN pool ON pool.repository_full_name = open_job.repository_full_name AND pool.asked = open_job.asked
    WHERE NOT (run.status = 'completed' AND run.run_attempt >= open_job.run_attempt)
        AND run.run_attempt <= open_job.run_attempt
        AND
        (
            open_job.status = 'in_progress'
            OR
            (
                NOT open_job.has_steps
                AND pool.newest_begun <= open_job.created_at + INTERVAL 10 MINUTE
                AND greatest(run.updated_at, moved.last) >= {at:DateTime64(6, 'UTC')} - INTERVAL 6 HOUR
            )
        )
    GROUP BY repository_full_name, asked
)
SELECT pool.repository_full_name AS repository, arrayStringConcat(pool.asked, ',') AS pool, alive.assigned AS assigned,
    alive.running AS running
FROM pool
LEFT JOIN alive ON alive.repository_full_name = pool.repository_full_name AND alive.asked = pool.asked
ORDER BY repository, pool
