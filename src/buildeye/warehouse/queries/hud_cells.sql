-- Asked by `GET /api/hud/...`: what became of every job at these commits of a branch, all runs of one job as one cell?
-- Parameters: repository (owner/name), branch, commits (whole names), since (jobs created a day before it or later, UTC).
-- sha    one row a commit that has jobs
-- web    the repository's address on GitHub with a slash at its end; '' when no job says it
-- names  "workflow / job", or only the job where the workflow is not known; each once
-- cells  a JSON object for each name: the run that stands for all, as insight/grid.py merges them
WITH job AS
(
    SELECT head_sha, torchci_classification AS failure, substring(html_url, 1, position(html_url, '/actions/')) AS root,
        if(workflow_name = '', name, concat(workflow_name, ' / ', name)) AS named,
        multiIf(
            status != 'completed', if(status = 'queued', 3, 4),
            conclusion = 'success', 0,
            conclusion IN ('failure', 'startup_failure'), 1,
            conclusion = 'timed_out', 2,
            conclusion = 'skipped', 6,
            conclusion IN ('cancelled', 'stale'), 7,
            5) AS rank,
        toInt64(bitShiftLeft(toInt64(rank), 56)) - id AS place,
        toValidUTF8(concat(
            '{"id":', toString(id),
            ',"conclusion":', toJSONString(multiIf(conclusion != '', conclusion, status = 'queued', 'queued', 'pending')),
            ',"status":', toJSONString(status),
            ',"htmlUrl":', toJSONString(html_url),
            if(root = '', '',
                concat(',"logUrl":', toJSONString(concat(root, 'commit/', head_sha, '/checks/', toString(id), '/logs')))),
            if(status = 'completed' AND started_at > toDateTime64(0, 3, 'UTC') AND completed_at >= started_at,
                concat(',"durationS":', toString(dateDiff('second', started_at, completed_at))), ''),
            ',"failureLines":', if(failure.line = '', '[]', concat('[', toJSONString(failure.line), ']')),
            ',"failureLineNumbers":', if(failure.line_num = 0, '[]', concat('[', toString(failure.line_num), ']')),
            ',"failureCaptures":', toJSONString(failure.captures))) AS text
    FROM default.workflow_job_latest
    WHERE repository_full_name = {repository:String}
        AND head_branch = {branch:String}
        AND created_at >= {since:DateTime64(6, 'UTC')} - INTERVAL 1 DAY
        AND head_sha IN {commits:Array(String)}
        AND run_id NOT IN
        (
            SELECT id
            FROM default.workflow_run_latest
            WHERE repository_full_name = {repository:String}
                AND head_sha IN {commits:Array(String)}
                AND event IN ('pull_request', 'pull_request_target')
        )
)
SELECT sha, max(root) AS web, groupArray(named) AS names, groupArray(text) AS cells
FROM
(
    SELECT head_sha AS sha, named, max(job.root) AS root,
        concat(
            argMin(job.text, place),
            if(min(rank) = 0 AND countIf(rank IN (1, 2)) > 0, ',"failedPreviousRun":true}', '}')) AS text
    FROM job
    GROUP BY sha, named
)
GROUP BY sha
ORDER BY sha
