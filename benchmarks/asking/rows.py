"""A warehouse as large as PyTorch's, made by the engine itself: the same rows whenever it is made.

Test runs: 5,000 jobs over 56 days; a job is one of ten shards of a suite of 200,000 cases in 1,500 files of uneven size
(the largest has 17,000 cases, most have about 70). 15 % of the cases are skipped wherever they run, one run in 2,000
fails. Jobs: 5 million over 60 days under 2,000 names, of which 15 % on main; 6 % fail and are diagnosed and judged. A
second repository has 100 commits x 400 jobs on main, for streaks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from buildeye.warehouse import Warehouse

TEST_ROWS: Final = 100_000_000
CI_JOBS: Final = 5_000_000
REPOSITORY: Final = "big/project"
STREAKS_OF: Final = "big/streaks"
COMMITS: Final = 100
JOBS_A_COMMIT: Final = 400
USUAL_FILE: Final = "group_0/test_file_750.py"
LARGEST_FILE: Final = "group_0/test_file_0.py"
_CHUNK: Final = 5_000_000
_CASES_A_JOB: Final = 20_000
_SUITE: Final = 200_000
_TEST_DAYS: Final = 56
_JOB_DAYS: Final = 60


@dataclass(frozen=True, slots=True)
class Part:
    """One INSERT: what it is about, and its statement with native parameters."""

    told: str
    sql: str
    parameters: dict[str, Any]


def fill(warehouse: "Warehouse", until: datetime, test_rows: int, jobs: int, tell: Callable[[str], None]) -> None:
    """Put all rows into an empty warehouse; the newest are of `until`."""
    for part in _parts(until, test_rows, jobs):
        tell(part.told)
        warehouse.query(part.sql, part.parameters)


def _parts(until: datetime, test_rows: int, jobs: int) -> Iterator[Part]:
    span = {"until": until, "repository": REPOSITORY}
    for first in range(0, test_rows, _CHUNK):
        many = min(_CHUNK, test_rows - first)
        of = {"first": first, "many": many, "total": test_rows}
        yield Part(f"test runs {first + many:,} of {test_rows:,}", _TEST_RUNS, span | of)
    for first in range(0, jobs, _CHUNK // 5):
        many = min(_CHUNK // 5, jobs - first)
        yield Part(f"jobs {first + many:,} of {jobs:,}", _JOBS, span | {"first": first, "many": many, "total": jobs})
    for table, sql in (("diagnoses", _DIAGNOSES), ("verdicts", _VERDICTS)):
        yield Part(table, sql, {"repository": REPOSITORY})
    streaks = {"until": until, "repository": STREAKS_OF}
    yield Part("commits for streaks", _STREAK_RUNS, streaks)
    yield Part("jobs for streaks", _STREAK_JOBS, streaks)
    yield Part("diagnoses for streaks", _DIAGNOSES, {"repository": STREAKS_OF})


def week(until: datetime) -> tuple[datetime, datetime]:
    """The seven days that end at `until`."""
    return until - timedelta(days=7), until


_TEST_RUNS: Final = f"""
INSERT INTO tests.all_test_runs (
    repository_full_name, job_id, workflow_id, workflow_run_attempt, file, classname, name, invoking_file, ordinal,
    time, status, result, line, failure, skipped, report_id, time_inserted, _version)
WITH
    intDiv(number, {_CASES_A_JOB}) AS job,
    (job % {_SUITE // _CASES_A_JOB}) * {_CASES_A_JOB} + number % {_CASES_A_JOB} AS case,
    toUInt32(1500 * pow(case / {_SUITE}, 3)) AS file_number,
    cityHash64(case) % 100 < 15 AS is_skipped,
    NOT is_skipped AND cityHash64(case, job, 'fails') % 2000 = 0 AS is_failed,
    intDiv({{total:UInt64}}, {_CASES_A_JOB}) AS jobs
SELECT
    {{repository:String}},
    90000000000 + job,
    40000000000 + intDiv(job, 10),
    1,
    concat('group_', toString(file_number % 25), '/test_file_', toString(file_number), '.py'),
    concat('TestPart', toString(intDiv(case, 24))),
    concat('test_', ['add', 'matmul', 'conv2d', 'norm', 'sort', 'scatter', 'view', 'cumsum'][case % 8 + 1], '_',
        toString(case), '_cpu_', ['float32', 'float64', 'int64', 'bfloat16'][intDiv(case, 8) % 4 + 1]),
    concat('test-reports-', toString(job % 10)),
    case % 24,
    (cityHash64(case, job) % 4000) / 1000,
    '',
    multiIf(is_skipped, 'skipped', is_failed, 'failed', 'passed'),
    cityHash64(case) % 3000,
    if(is_failed, [('AssertionError: not close', repeat('  File "test.py", line 12\\n', 20), '')], []),
    if(is_skipped, [('only runs with an accelerator', '', '')], []),
    cityHash64(job),
    {{until:DateTime64(3, 'UTC')}} - toIntervalSecond(intDiv((jobs - 1 - job) * {_TEST_DAYS * 86_400}, jobs)),
    toUInt256(job)
FROM numbers({{first:UInt64}}, {{many:UInt64}})
"""

_JOBS: Final = f"""
INSERT INTO default.workflow_job (
    id, run_id, repository_full_name, name, workflow_name, status, conclusion, run_attempt, head_sha, head_branch,
    created_at, started_at, completed_at, runner_id, runner_name, labels, html_url, _version)
WITH
    cityHash64(number, 'job') AS chance,
    number % 2000 AS kind,
    {{until:DateTime64(3, 'UTC')}} - toIntervalMillisecond(
        intDiv(({{total:UInt64}} - number) * {_JOB_DAYS * 86_400_000}, {{total:UInt64}})) AS began
SELECT
    80000000000 + number,
    50000000000 + intDiv(number, 40),
    {{repository:String}},
    concat('linux-build-', toString(intDiv(kind, 40)), ' / test (default, ', toString(kind % 5 + 1), ', 5, pool-',
        toString(intDiv(kind, 5) % 16), ')'),
    ['pull', 'trunk', 'periodic', 'inductor'][kind % 4 + 1],
    'completed',
    multiIf(chance % 100 < 6, 'failure', chance % 100 < 12, 'skipped', chance % 100 < 15, 'cancelled', 'success'),
    1,
    lower(hex(MD5(toString(intDiv(number, 2000))))),
    if(intDiv(chance, 100) % 100 < 15, 'main', concat('change-', toString(intDiv(number, 2000)))),
    began,
    began + toIntervalSecond(chance % 900),
    began + toIntervalSecond(chance % 900 + 300 + chance % 4000),
    intDiv(number, 7) % 3000,
    concat('runner-', toString(intDiv(number, 7) % 3000)),
    [concat('pool-', toString(intDiv(kind, 5) % 16))],
    concat('https://github.com/big/project/actions/runs/1/job/', toString(number)),
    toUInt256(1)
FROM numbers({{first:UInt64}}, {{many:UInt64}})
"""

_DIAGNOSES: Final = """
INSERT INTO buildeye.diagnosis (
    repository_full_name, run_id, job_id, log, cause, category, determinism, confidence, summary, key_line_number,
    key_line_text, signature, rule_set, diagnosed_at, _version)
SELECT
    repository_full_name, run_id, id, 'log', 'code', 'test-failure', 'deterministic', 0.9, 'a test failed', 12,
    'AssertionError', concat('pytest.failed|tests/a.py::test_', toString(cityHash64(name, id % 7) % 300), '|E'), 'r',
    completed_at, toUInt128(1)
FROM default.workflow_job
WHERE repository_full_name = {repository:String} AND conclusion = 'failure'
"""

_VERDICTS: Final = """
INSERT INTO buildeye.verdict (
    repository_full_name, run_id, job_id, cause, category, confidence, level, determinism, signature, rule_set,
    judged_at, _version)
SELECT
    repository_full_name, run_id, id, ['code', 'infrastructure', 'interference', 'flakiness', 'unknown'][id % 5 + 1],
    'test-failure', 0.9, 'high', 'deterministic',
    concat('pytest.failed|tests/a.py::test_', toString(cityHash64(name, id % 7) % 300), '|E'), 'r',
    completed_at, toUInt256(1)
FROM default.workflow_job
WHERE repository_full_name = {repository:String} AND conclusion = 'failure'
"""

_STREAK_RUNS: Final = f"""
INSERT INTO default.workflow_run (
    id, repository_full_name, name, status, conclusion, event, workflow_id, path, head_sha, head_branch, run_attempt,
    run_number, created_at, run_started_at, updated_at, display_title, _version)
WITH intDiv(number, 4) AS commit, number % 4 AS kind,
    {{until:DateTime64(3, 'UTC')}} - toIntervalHour({COMMITS} - 1 - commit) AS at
SELECT
    60000000000 + number, {{repository:String}}, ['pull', 'trunk', 'periodic', 'inductor'][kind + 1], 'completed',
    'failure', 'push', kind + 1, concat('.github/workflows/', toString(kind), '.yml'),
    lower(hex(MD5(toString(commit)))), 'main', 1, commit, at, at, at + toIntervalMinute(50),
    concat('Change ', toString(commit), ' (#', toString(1000 + commit), ')'), toUInt256(1)
FROM numbers({COMMITS * 4})
"""

_STREAK_JOBS: Final = f"""
INSERT INTO default.workflow_job (
    id, run_id, repository_full_name, name, workflow_name, status, conclusion, run_attempt, head_sha, head_branch,
    created_at, started_at, completed_at, html_url, _version)
WITH intDiv(number, {JOBS_A_COMMIT}) AS commit, number % {JOBS_A_COMMIT} AS job,
    {{until:DateTime64(3, 'UTC')}} - toIntervalHour({COMMITS} - 1 - commit) AS at,
    cityHash64(number, 'streak') % 1000 AS chance
SELECT
    70000000000 + number, 60000000000 + commit * 4 + job % 4, {{repository:String}},
    if(job < 300, concat('build-', toString(job)),
        concat('test-', toString(intDiv(job, 20)), ' (default, ', toString(intDiv(job, 4) % 5 + 1), ', 5, linux)')),
    ['pull', 'trunk', 'periodic', 'inductor'][job % 4 + 1], 'completed',
    multiIf(job % 40 = 7 AND commit >= 60 + job % 30, 'failure', chance < 30, 'failure', chance < 90, 'skipped',
        chance < 120, 'cancelled', 'success'),
    1, lower(hex(MD5(toString(commit)))), 'main', at, at + toIntervalMinute(1), at + toIntervalMinute(30),
    concat('https://github.com/big/streaks/actions/runs/1/job/', toString(number)), toUInt256(1)
FROM numbers({COMMITS * JOBS_A_COMMIT})
"""
