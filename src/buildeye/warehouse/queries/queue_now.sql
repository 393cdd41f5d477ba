-- Asked by `build-eye queue` and the metrics of `build-eye serve`: which jobs wait for a runner, and which run, by label?
-- A job waits from its creation until a runner has it or it is given up. Jobs that wait for an approval or for their turn in
-- a concurrency group do not wait for a runner. Ghosts wait in name only and are counted apart; docs/questions.md has why.
-- Parameters: repository (owner/name; '' all), label (jobs that ask for it among others; '' all), at (UTC).
-- repository      owner/name
-- label           the labels a job asks for, sorted, joined by commas
-- queued          jobs that wait at that moment, without ghosts
-- running         jobs that run at that moment
-- ghosts_over, ghosts_begun, ghosts_overtaken, ghosts_frozen   queued jobs that are not: their run is over; steps of theirs
--                 ran; a job created ten minutes later has started; nothing happened in their run for 6 hours
-- waiting         seconds that the queued jobs have waited: percentiles 50, 90, 99 and the longest
-- started         jobs that started within the hour before
-- started_waits   seconds these had waited: percentiles 50, 90, 99 and the longest
-- longest_run_id  the run of the job that waits longest; 0 when none does
WITH near AS
(
    SELECT repository_full_name, id, run_id
    FROM default.workflow_job
    WHERE ({repository:String} = '' OR repository_full_name = {repository:String})
        AND created_at BETWEEN {at:DateTime64(3, 'UTC')} - INTERVAL 6 DAY AND {at:DateTime64(3, 'UTC')}
        AND (status IN ('queued', 'in_progress') OR completed_at >= {at:DateTime64(3, 'UTC')} - INTERVAL 6 HOUR)
),
job AS
(
    SELECT
        repository_full_name AS repository, arrayStringConcat(arraySort(labels), ',') AS label,
        {label:String} = '' OR has(labels, {label:String}) AS asked, run_id, run_attempt, created_at, started_at, completed_at, notEmpty(steps) AS has_steps,
        status = 'queued' AS open, status = 'in_progress' AS still, still OR (status = 'completed' AND runner_name != '') AS begun,
        if(begun, started_at, completed_at) AS waited_until,
        maxIf(created_at, begun AND started_at <= {at:DateTime64(3, 'UTC')}) OVER (PARTITION BY repository, label) AS overtaken_by,
        max(greatest(created_at, started_at, completed_at)) OVER (PARTITION BY repository, run_id) AS moved_at
    FROM default.workflow_job_latest
    WHERE (repository_full_name, id) IN (SELECT repository_full_name, id FROM near)
        AND created_at BETWEEN {at:DateTime64(3, 'UTC')} - INTERVAL 6 DAY AND {at:DateTime64(3, 'UTC')}
        AND status IN ('queued', 'in_progress', 'completed')
        AND conclusion != 'skipped'
),
run AS
(
    SELECT repository_full_name AS repository, id, run_attempt, status, updated_at
    FROM default.workflow_run_latest
    WHERE (repository_full_name, id) IN (SELECT repository_full_name, run_id FROM near)
),
told AS
(
    SELECT
        job.repository AS repository, job.label AS label, job.run_id AS run_id, job.created_at AS created_at,
        (run.status = 'completed' AND run.run_attempt >= job.run_attempt) OR run.run_attempt > job.run_attempt AS run_over,
        multiIf(
            NOT job.open, '',
            run_over, 'over',
            job.has_steps, 'begun',
            job.overtaken_by > job.created_at + INTERVAL 10 MINUTE, 'overtaken',
            greatest(run.updated_at, job.moved_at) < {at:DateTime64(3, 'UTC')} - INTERVAL 6 HOUR, 'frozen',
            '') AS ghost,
        ghost = '' AND (job.open OR job.waited_until > {at:DateTime64(3, 'UTC')}) AS is_queued,
        job.begun AND job.started_at <= {at:DateTime64(3, 'UTC')}
            AND if(job.still, NOT run_over, job.completed_at > {at:DateTime64(3, 'UTC')}) AS is_running,
        dateDiff('second', job.created_at, {at:DateTime64(3, 'UTC')}) AS age,
        job.begun AND job.started_at > {at:DateTime64(3, 'UTC')} - INTERVAL 1 HOUR
            AND job.started_at <= {at:DateTime64(3, 'UTC')} AS has_started,
        greatest(0, dateDiff('second', job.created_at, job.started_at)) AS wait
    FROM job
    LEFT JOIN run ON run.repository = job.repository AND run.id = job.run_id
    WHERE job.asked
)
SELECT
    repository,
    label,
    countIf(is_queued) AS queued,
    countIf(is_running) AS running,
    countIf(ghost = 'over') AS ghosts_over,
    countIf(ghost = 'begun') AS ghosts_begun,
    countIf(ghost = 'overtaken') AS ghosts_overtaken,
    countIf(ghost = 'frozen') AS ghosts_frozen,
    arrayPushBack(quantilesExactInclusiveIf(0.5, 0.9, 0.99)(age, is_queued), toFloat64(maxIf(age, is_queued))) AS waiting,
    countIf(has_started) AS started,
    arrayPushBack(quantilesExactInclusiveIf(0.5, 0.9, 0.99)(wait, has_started), toFloat64(maxIf(wait, has_started))) AS started_waits,
    argMinIf(run_id, created_at, is_queued) AS longest_run_id
FROM told
GROUP BY repository, label
HAVING queued + running + started + ghosts_over + ghosts_begun + ghosts_overtaken + ghosts_frozen > 0
ORDER BY queued DESC, running DESC, repository, label
