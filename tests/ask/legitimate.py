"""Statements the guard must let through: the guide's own, the shapes PyTorch's HUD asks in, and what people type."""

from typing import Final

GUIDE: Final[tuple[str, ...]] = (
    "SELECT name, count(DISTINCT id) AS failures FROM default.workflow_job WHERE conclusion = 'failure' AND completed_at >= now() - INTERVAL 2 WEEK AND repository_full_name = 'pytorch/pytorch' AND head_branch = 'main' GROUP BY name ORDER BY failures DESC LIMIT 10",  # noqa: E501  verbatim
    "SELECT file, classname, name, count() AS runs, countIf(failure_count = 0 AND error_count = 0 AND skipped_count = 0) AS successful, countIf(failure_count > 0 OR error_count > 0) AS fails, countIf(skipped_count > 0) AS skipped FROM tests.all_test_runs WHERE time_inserted >= now() - INTERVAL 7 DAY AND file = 'lazy/test_ts_opinfo.py' GROUP BY file, classname, name ORDER BY runs DESC",  # noqa: E501  verbatim
)

PARAMETERS: Final = {
    "repo": "a/b",
    "sha": "abc",
    "shas": ["abc", "def"],
    "branch": "main",
    "startTime": "2026-01-01 00:00:00",
    "stopTime": "2026-02-01 00:00:00",
    "granularity": "day",
    "days": 7,
    "limit": 10,
    "ids": [1, 2],
    "file": "a.py",
    "label": "",
}

_JOBS: Final = "default.workflow_job WHERE repository_full_name = 'a/b'"
_RUNS: Final = "tests.all_test_runs WHERE time_inserted >= now() - INTERVAL 7 DAY AND file = 'a.py'"

SHAPES: Final[tuple[str, ...]] = (
    # all jobs of a commit, with those runs that never started
    """WITH job AS (
        SELECT job.started_at AS time, workflow.head_sha AS sha, job.name AS job_name, workflow.name AS workflow_name,
               job.id, if(job.started_at = 0, 0, DATE_DIFF('SECOND', job.created_at, job.started_at)) AS queue_s,
               job.torchci_classification.line AS line, job.torchci_classification.'captures' AS captures,
               concat('https://logs.example/', job.id:: String) AS log_url
        FROM workflow_job job FINAL INNER JOIN workflow_run workflow FINAL ON workflow.id = job.run_id
        WHERE job.name != 'matrix' AND workflow.event != 'workflow_run' -- not of this commit
          AND workflow.head_sha = {sha: String } AND workflow.repository.'full_name' = {repo: String }
        UNION ALL
        SELECT workflow.created_at, workflow.head_sha, workflow.name, 'startup', workflow.id, 0, '', [ ], ''
        FROM workflow_run workflow FINAL
        WHERE workflow.head_sha = {sha: String } AND workflow.repository.full_name = {repo: String }
    )
    SELECT sha, concat(workflow_name, ' / ', job_name) AS name, if(line = '', [ ], [ line ]) AS lines, captures,
    FROM job ORDER BY name, time DESC""",
    """WITH runs AS (SELECT w.id AS id, w.head_commit.'id' AS sha FROM default.workflow_run w
                     WHERE w.head_sha IN {shas: Array(String)} AND w.repository_full_name = {repo: String})
       SELECT j.id AS id, j.name AS jobName, j.conclusion_kg AS conclusion,
              IF(j.torchci_classification_kg.'line' = '', [], [j.torchci_classification_kg.'line']) AS failure_lines
       FROM default.workflow_job j FINAL JOIN runs w ON w.id = j.run_id
       WHERE j.conclusion_kg IN ('failure', 'cancelled')""",
    """WITH day_info AS (
         SELECT toDate(created_at) AS day, lagInFrame(day, 1, day) OVER (ORDER BY day ASC
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS prev_day
         FROM default.workflow_run WHERE repository_full_name = {repo: String} GROUP BY day)
       SELECT d.day, d.prev_day FROM day_info d LEFT JOIN day_info p ON p.day = d.prev_day ORDER BY day""",
    """SELECT DATE_TRUNC({granularity: String}, started_at) AS bucket, count(*) AS n FROM default.workflow_job
       WHERE started_at >= {startTime: DateTime64(3)} AND started_at < {stopTime: DateTime64(3)}
         AND repository_full_name = {repo: String} GROUP BY bucket ORDER BY bucket""",
    """SELECT toStartOfInterval(completed_at, INTERVAL 1 HOUR) AS hour, countIf(conclusion = 'failure') / count() AS red
       FROM default.workflow_job WHERE head_branch = {branch:String} AND repository_full_name = {repo:String}
       GROUP BY hour HAVING count() > 3 ORDER BY hour WITH FILL STEP INTERVAL 1 HOUR""",
    """SELECT label, quantile(0.5)(dateDiff('second', created_at, started_at)) AS p50,
              quantiles(0.9, 0.99)(dateDiff('second', created_at, started_at)) AS rest
       FROM default.workflow_job ARRAY JOIN labels AS label
       WHERE repository_full_name = {repo:String} AND status = 'completed' GROUP BY label ORDER BY p50 DESC""",
    """SELECT steps.name AS step, avg(dateDiff('second', steps.started_at, steps.completed_at)) AS s
       FROM default.workflow_job LEFT ARRAY JOIN steps WHERE repository_full_name = 'a/b' GROUP BY 1""",
    """SELECT p.head_commit.timestamp AS time, p.head_commit.'message' AS title, p.after AS sha,
              p.head_commit.author.'username' AS author
       FROM default.push AS p FINAL WHERE p.ref = concat('refs/heads/', {branch:String})
         AND p.repository.'owner'.'name' = 'a' AND p.repository.full_name = {repo:String} ORDER BY time DESC LIMIT 50""",  # noqa: E501  one line, as typed
    """SELECT pr.number, pr.title, pr.user.login, pr.merged_at FROM default.pull_request pr FINAL
       WHERE pr.base.repo.full_name = {repo:String} AND pr.head.sha = {sha:String} AND pr.merged_at != 0""",
    """SELECT j.name, argMax(j.conclusion, j.run_attempt) AS last, any(j.html_url), groupArray(10)(j.id) AS ids
       FROM default.workflow_job AS j WHERE j.run_id IN (SELECT id FROM default.workflow_run
         WHERE head_sha = {sha:String} AND repository_full_name = {repo:String})
         AND j.repository_full_name = {repo:String} GROUP BY j.name""",
    """SELECT name, conclusion, row_number() OVER (PARTITION BY name ORDER BY completed_at DESC) AS place
       FROM default.workflow_job WHERE repository_full_name = 'a/b' QUALIFY place <= 3""",
    """SELECT name, sum(n) OVER w AS running FROM (SELECT name, toDate(created_at) AS day, count() AS n FROM
       default.workflow_job WHERE repository_full_name = 'a/b' GROUP BY name, day)
       WINDOW w AS (PARTITION BY name ORDER BY day)""",
    """SELECT head_sha, arrayStringConcat(arraySort(groupUniqArray(name)), ', ') AS red FROM default.workflow_job
       PREWHERE repository_full_name = 'a/b' WHERE conclusion = 'failure' GROUP BY head_sha""",
    """SELECT multiIf(name LIKE '%linux%', 'linux', name ILIKE '%win%', 'windows', 'other') AS platform, count()
       FROM default.workflow_job WHERE repository_full_name = 'a/b' GROUP BY platform WITH TOTALS""",
    """SELECT replaceRegexpOne(name, '\\\\(.*', '') AS base, count() FROM default.workflow_job
       WHERE repository_full_name = 'a/b' GROUP BY ROLLUP(base)""",
    """SELECT name FROM default.workflow_job WHERE repository_full_name = 'a/b'
       AND arrayExists(l -> l LIKE concat('%', {label:String}, '%'), labels)""",
    """SELECT name, arrayMap(s -> s.name, arrayFilter(s -> s.conclusion = 'failure', steps)) AS failed
       FROM default.workflow_job WHERE repository_full_name = 'a/b'""",
    """SELECT arrayReduce('sum', [1, 2, 3]), arrayMap(toString, [1, 2]), arrayFold((acc, x) -> acc + x, [1, 2], 0::Int64)""",  # noqa: E501  one line, as typed
    """SELECT * EXCEPT(steps, labels) FROM default.workflow_job WHERE repository_full_name = 'a/b' LIMIT 5""",
    """SELECT name, id FROM default.workflow_job WHERE repository_full_name = 'a/b'
       ORDER BY completed_at DESC LIMIT 1 BY name LIMIT 20""",
    """SELECT DISTINCT ON (name) name, id FROM default.workflow_job WHERE repository_full_name = 'a/b'""",
    """WITH (SELECT max(created_at) FROM default.workflow_run WHERE repository_full_name = 'a/b') AS newest
       SELECT count() FROM default.workflow_run WHERE created_at > newest - INTERVAL 1 DAY AND repository_full_name = 'a/b'""",  # noqa: E501  one line, as typed
    """WITH percentiles AS (SELECT 'p50' AS name, 0.5 AS share UNION ALL SELECT 'p90', 0.9),
            ranked AS (SELECT name AS job, percent_rank() OVER (ORDER BY id) AS place FROM default.workflow_job
                       WHERE repository_full_name = 'a/b')
       SELECT p.name, min(r.job) FROM ranked r CROSS JOIN percentiles p WHERE r.place >= p.share GROUP BY p.name""",
    """SELECT a.name FROM default.workflow_job a LEFT JOIN default.workflow_job b
       ON a.name = b.name AND a.head_sha = b.head_sha AND b.run_attempt = a.run_attempt + 1
       WHERE a.repository_full_name = 'a/b' AND b.id = 0""",
    """SELECT j.name FROM default.workflow_job AS j, default.workflow_run AS r
       WHERE j.run_id = r.id AND j.repository_full_name = 'a/b'""",
    """SELECT name FROM default.workflow_job ANY LEFT JOIN (SELECT id AS run_id, event FROM default.workflow_run
       WHERE repository_full_name = 'a/b') AS r USING (run_id) WHERE repository_full_name = 'a/b'""",
    """SELECT name FROM default.workflow_job WHERE dynamoKey = concat({repo:String}, '/', toString(1))""",
    """SELECT name, countIf(conclusion = 'success') AS `green / all` FROM default.workflow_job
       WHERE repository_full_name = 'a/b' GROUP BY name ORDER BY `green / all` DESC LIMIT {limit:UInt32}""",
    # test runs
    f"SELECT count() FROM {_RUNS}",
    f"SELECT name, uniqExact(job_id) FROM {_RUNS} GROUP BY name ORDER BY 2 DESC LIMIT 10",
    f"SELECT * FROM (SELECT name, status FROM {_RUNS}) WHERE status = 'failed'",
    f"WITH runs AS (SELECT name, time FROM {_RUNS}) SELECT name, avg(time) FROM runs GROUP BY name",
    f"SELECT name, toDate(time_inserted) AS day, any(failure[1].message) FROM {_RUNS} GROUP BY name, day",
    f"EXPLAIN SELECT count() FROM {_RUNS}",
    f"SELECT name FROM default.workflow_job WHERE id IN (SELECT job_id FROM {_RUNS}) AND repository_full_name = 'a/b'",
    "SELECT name FROM tests.all_test_runs FINAL WHERE time_inserted >= today() - 7 AND job_id IN {ids: Array(Int64)}",
    "SELECT name FROM tests.all_test_runs_latest WHERE time_inserted > '2026-11-01' AND classname = 'TestA'",
    "SELECT name FROM tests.all_test_runs WHERE toDate(time_inserted) = '2026-11-01' AND name = 'test_a'",
    "SELECT name FROM tests.all_test_runs WHERE time_inserted BETWEEN now() - INTERVAL 1 DAY AND now() AND 'a.py' = file",  # noqa: E501  one line, as typed
    "SELECT name FROM tests.all_test_runs WHERE now() - INTERVAL {days:Int32} DAY <= time_inserted AND file = {file:String}",  # noqa: E501  one line, as typed
    "SELECT name FROM tests.all_test_runs WHERE time_inserted > today() AND (file = 'a.py' OR file = 'b.py')",
    "SELECT name FROM tests.all_test_runs PREWHERE file IN ('a.py', 'b.py') WHERE time_inserted > yesterday()",
    "SELECT name FROM tests.all_test_runs WHERE time_inserted > toDateTime('2026-11-01 00:00:00') AND (file, name) IN (('a', 'b'))",  # noqa: E501  one line, as typed
    "WITH now() - INTERVAL 3 DAY AS since, 'a.py' AS wanted SELECT name FROM tests.all_test_runs WHERE time_inserted > since AND file = wanted",  # noqa: E501  one line, as typed
    """SELECT t.name, j.name FROM tests.all_test_runs AS t JOIN default.workflow_job AS j ON t.job_id = j.id
       WHERE t.time_inserted >= now() - INTERVAL 1 DAY AND t.file = 'a.py' AND j.repository_full_name = 'a/b'""",
    """SELECT j.name, t.status FROM default.workflow_job AS j JOIN tests.all_test_runs AS t
       ON t.job_id = j.id AND t.time_inserted >= now() - INTERVAL 1 DAY AND t.classname = 'TestA'
       WHERE j.repository_full_name = 'a/b'""",
    f"SELECT 1 AS n FROM {_RUNS} UNION ALL SELECT 2 FROM {_RUNS}",
    # ours
    "SELECT * FROM buildeye.diagnosis_latest LIMIT 10",
    "SELECT * FROM buildeye.verdict_latest LIMIT 10 FORMAT JSON",
    "SELECT count() FROM buildeye.incident",
    "SELECT count() FROM buildeye.schema_version",
    "SELECT d.job_id FROM buildeye.diagnosis_latest AS d JOIN default.workflow_job AS j ON j.id = d.job_id WHERE j.repository_full_name = 'a/b'",  # noqa: E501  one line, as typed
    # what people type
    "SELECT 1",
    "select 1;",
    "  /* hello */ SELECT 'a -- b', \"x\" FROM (SELECT 1 AS x) -- bye",
    "SELECT 'it''s', 'it\\'s', '\\\\', '/*', '--', ';', 'file(\\'x\\')'",
    "SELECT '失败', 1 AS `失败次数`",
    "SELECT `file` AS `the file` FROM tests.all_test_runs WHERE `file` = 'a.py' AND `time_inserted` >= now() - 60",
    "(SELECT 1) UNION ALL (SELECT 2)",
    "SELECT 1 UNION DISTINCT SELECT 2 EXCEPT SELECT 3",
    "SELECT * FROM numbers(10) WHERE number % 2 = 0",
    "SELECT * FROM values('a Int8, b String', (1, 'x'), (2, 'y'))",
    "SELECT toDate('2026-01-01') + n FROM (SELECT arrayJoin(range(7)) AS n)",
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t",
    "SELECT name FROM system.tables WHERE database = 'default'",
    "SELECT name, type FROM system.columns WHERE database = 'tests' AND table = 'all_test_runs'",
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'default'",
    "SELECT extract(name, '([a-z]+)'), trim(BOTH ' ' FROM name), extract(YEAR FROM created_at) FROM " + _JOBS,
    "SELECT CAST(id AS Nullable(String)), id::Float64, CAST('1', 'UInt8'), [1, 2][1], (1, 'a').2 FROM " + _JOBS,
    "SELECT name IS NOT DISTINCT FROM 'a', map('a', 1)['a'] FROM " + _JOBS,
    "SELECT JSONExtractString('{\"a\": \"b\"}', 'a'), formatReadableTimeDelta(60), toJSONString(map('a', 1))",
    "SELECT name, 1 IN (1, 2), name NOT IN ('a'), (id, name) IN ((1, 'a')), name BETWEEN 'a' AND 'b' FROM " + _JOBS,
    "SELECT CASE WHEN id > 1 THEN 'x' ELSE 'y' END, id = 1 ? 'a' : 'b', NOT id, -id, id || 'x' FROM " + _JOBS,
    "SELECT count() AS c, min(id), max(id), sumIf(id, id > 1), uniq(name), topK(3)(name), groupUniqArray(name) FROM "
    + _JOBS,
    "SELECT name FROM " + _JOBS + " ORDER BY name ASC NULLS LAST LIMIT 5 OFFSET 10",
    "SELECT name FROM " + _JOBS + " LIMIT 2, 3",
    "SELECT name FROM " + _JOBS + " SETTINGS max_threads = 1, join_use_nulls = 1 FORMAT JSONEachRow",
    "SELECT name FROM " + _JOBS + " FORMAT CSVWithNames SETTINGS max_execution_time = 5",
    "SELECT count() FROM default.workflow_job",
    "SELECT repository_full_name, count() FROM default.workflow_job GROUP BY repository_full_name",
    "SHOW TABLES",
    "SHOW TABLES FROM tests LIKE 'all%'",
    "SHOW DATABASES",
    "SHOW COLUMNS FROM default.workflow_job",
    "SHOW CREATE TABLE tests.all_test_runs",
    "DESCRIBE TABLE default.workflow_job",
    "DESC tests.all_test_runs",
    "DESCRIBE (SELECT 1 AS a)",
    "EXPLAIN SYNTAX SELECT 1",
    "EXPLAIN indexes = 1, actions = 0 SELECT name FROM " + _JOBS,
    "EXPLAIN PIPELINE SELECT name FROM " + _JOBS,
)

LEGITIMATE: Final = GUIDE + SHAPES
