-- Asked by `build-eye queue --since`: how many jobs waited for a runner and how many ran, by label, in each stretch of time?
-- A job counts in every bucket its wait touches. What a wait is, and which jobs are ghosts, is as in queue_now; a job that
-- is a ghost at `until` counts in no bucket.
-- Parameters: repository (owner/name), label (jobs that ask for it among others; '' all), since, until (UTC), bucket
-- (seconds).
-- label           the labels a job asks for, sorted, joined by commas
-- bucket          number of the stretch from `since` on, from 0; only stretches in which something waited, ran or started.
--                 -1: the line that tells `ghosts`
-- ghosts          jobs that wait in name only
-- queued          jobs whose wait touches the bucket
-- waited_seconds  their waits within the bucket, summed
-- ran_seconds     the runs of jobs within the bucket, summed
-- waiting         jobs that still wait at its end
-- waits           seconds these have waited by then: percentiles 50, 90, 99 and the longest
-- started         jobs that started in it
-- started_waits   seconds these had waited: percentiles 50, 90, 99 and the longest
WITH near AS
(
    SELECT id, run_id
    FROM default.workflow_job
    WHERE repository_full_name = {repository:String}
        AND created_at BETWEEN {since:DateTime64(3, 'UTC')} - INTERVAL 6 DAY AND {until:DateTime64(3, 'UTC')}
        AND (status IN ('queued', 'in_progress')
            OR completed_at >= least({since:DateTime64(3, 'UTC')}, {until:DateTime64(3, 'UTC')} - INTERVAL 6 HOUR))
),
job AS
(
    SELECT
        arrayStringConcat(arraySort(labels), ',') AS label,
        {label:String} = '' OR has(labels, {label:String}) AS asked, run_id, run_attempt, created_at, started_at, completed_at, notEmpty(steps) AS has_steps,
        status = 'queued' AS open, status = 'in_progress' AS still, still OR (status = 'completed' AND runner_name != '') AS begun,
        maxIf(created_at, begun AND started_at <= {until:DateTime64(3, 'UTC')}) OVER (PARTITION BY label) AS overtaken_by,
        max(greatest(created_at, started_at, completed_at)) OVER (PARTITION BY run_id) AS moved_at
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND id IN (SELECT id FROM near)
        AND created_at BETWEEN {since:DateTime64(3, 'UTC')} - INTERVAL 6 DAY AND {until:DateTime64(3, 'UTC')}
        AND status IN ('queued', 'in_progress', 'completed')
        AND conclusion != 'skipped'
),
run AS
(
    SELECT id, run_attempt, status, updated_at
    FROM default.workflow_run_latest
    WHERE repository_full_name = {repository:String} AND id IN (SELECT run_id FROM near)
),
span AS
(
    SELECT
        job.label AS label,
        (run.status = 'completed' AND run.run_attempt >= job.run_attempt) OR run.run_attempt > job.run_attempt AS run_over,
        job.open AND
        (
            run_over OR job.has_steps OR job.overtaken_by > job.created_at + INTERVAL 10 MINUTE
            OR greatest(run.updated_at, job.moved_at) < {until:DateTime64(3, 'UTC')} - INTERVAL 6 HOUR
        ) AS is_ghost,
        dateDiff('millisecond', {since:DateTime64(3, 'UTC')}, {until:DateTime64(3, 'UTC')}) AS all,
        dateDiff('millisecond', {since:DateTime64(3, 'UTC')}, job.created_at) AS created,
        dateDiff('millisecond', {since:DateTime64(3, 'UTC')}, job.started_at) AS begin,
        dateDiff('millisecond', {since:DateTime64(3, 'UTC')}, job.completed_at) AS end,
        multiIf(is_ghost, created, job.open, all, job.begun, begin, end) AS waited_until,
        multiIf(NOT job.begun, begin, NOT job.still, end, run_over, begin, all) AS ran_until,
        greatest(0, created) AS wait_from, least(all, waited_until) AS wait_to,
        greatest(0, begin) AS run_from, least(all, ran_until) AS run_to,
        job.begun AND begin >= 0 AND begin < all AS starts
    FROM job
    LEFT JOIN run ON run.id = job.run_id
    WHERE job.asked
),
told AS
(
    SELECT
        *,
        {bucket:UInt32} * 1000 AS long,
        if(wait_to > wait_from, range(intDiv(wait_from, long), intDiv(wait_to - 1, long) + 1), []) AS wait_in,
        if(run_to > run_from, range(intDiv(run_from, long), intDiv(run_to - 1, long) + 1), []) AS run_in,
        if(starts, [intDiv(begin, long)], []) AS start_in
    FROM span
),
counted AS
(
    SELECT
        label, bucket, is_ghost, created, begin,
        bucket >= 0 AND has(wait_in, bucket) AS is_queued,
        has(start_in, bucket) AS has_started,
        least((bucket + 1) * long, all) AS bucket_end,
        if(is_queued, least(wait_to, bucket_end) - greatest(wait_from, bucket * long), 0) AS waited,
        if(has(run_in, bucket), least(run_to, bucket_end) - greatest(run_from, bucket * long), 0) AS ran,
        is_queued AND waited_until >= bucket_end AND (waited_until > bucket_end OR bucket_end = all) AS is_left
    FROM told
    ARRAY JOIN if(is_ghost, [-1], arrayMap(each -> toInt64(each), arrayDistinct(arrayConcat(wait_in, run_in, start_in)))) AS bucket
)
SELECT
    label,
    bucket,
    countIf(is_ghost) AS ghosts,
    countIf(is_queued) AS queued,
    sum(waited) / 1000 AS waited_seconds,
    sum(ran) / 1000 AS ran_seconds,
    countIf(is_left) AS waiting,
    arrayPushBack(quantilesExactInclusiveIf(0.5, 0.9, 0.99)((bucket_end - created) / 1000, is_left), maxIf((bucket_end - created) / 1000, is_left)) AS waits,
    countIf(has_started) AS started,
    arrayPushBack(quantilesExactInclusiveIf(0.5, 0.9, 0.99)(greatest(0, begin - created) / 1000, has_started), maxIf(greatest(0, begin - created) / 1000, has_started)) AS started_waits
FROM counted
GROUP BY label, bucket
ORDER BY label, bucket
