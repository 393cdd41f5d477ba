"""The other plugs that rates come from, each against the real thing: the warehouse, Prometheus, an HTTP endpoint."""

import json
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from buildeye.ask import Prometheus
from buildeye.deploy.judges.rate import RateReading
from buildeye.deploy.rates import Serving, SourceError, parse_time, rate_source
from buildeye.deploy.rates.counts import growth, looks_of, summed, whole
from buildeye.deploy.rates.endpoint import EndpointSource
from buildeye.deploy.rates.promql import PromqlSource
from buildeye.deploy.rates.query import QuerySource
from buildeye.deploy.rates.tables import TablesSource
from buildeye.deploy.rates.tasks import ids_hash
from buildeye.model import UsageError
from buildeye.model.deployments import Baseline
from buildeye.warehouse import Warehouse, open_warehouse
from tests.ask.server import running

CUTOVER = datetime(2026, 5, 28, 6, 30, tzinfo=UTC)
NOW = CUTOVER + timedelta(hours=1)
OLD = Serving("d1", CUTOVER - timedelta(hours=2), CUTOVER, "v1")
NEW = Serving("d2", CUTOVER, None, "v2")


@dataclass(frozen=True)
class Rate:
    """The section `rate` of a deploy.yaml."""

    source: str = "none"
    interval_seconds: float = 30
    dsn: str = ""
    project: str = "p"
    query: str = ""
    url: str = ""
    good: str = ""
    total: str = ""
    tasks: int = 50
    baseline_tasks: int = 200


# Times -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-28 06:30:00",
        "2026-05-28 06:30",
        "2026-05-28T06:30:00",
        "2026-05-28T06:30:00Z",
        "2026-05-28T06:30:00.000Z",
        "2026-05-28T06:30:00.000000+00:00",
        "2026-05-28T08:30:00+02:00",
        "2026-05-28T14:30:00+0800",
        "2026-05-28 06:30:00+00",
        "2026-05-28 01:00:00-05:30",
        datetime(2026, 5, 28, 6, 30),
        datetime(2026, 5, 28, 8, 30, tzinfo=UTC) - timedelta(hours=2),
    ],
)
def test_iso_and_sqlite_say_the_same_moment(text: object) -> None:
    """Scenario 29."""
    assert parse_time(text) == CUTOVER
    assert parse_time(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-05-28", "20260528T063000", "2026-W22-4", "06:30:00", "2026-02-30 00:00:00", "1780000000",
     "2026-05-28 06:30:00 CET", "2026-05-28 06:30:00 +00:00",
     "2026-05-28 25:00:00", "٢٠٢٦-05-28 06:30:00", None, 1780000000, True],
)  # fmt: skip
def test_what_is_neither_is_told(text: object) -> None:
    """Scenario 29."""
    with pytest.raises(ValueError, match="is no time: write 2026-05-28T06:30:00Z"):
        parse_time(text)


# The warehouse ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def warehouse() -> Iterator[Warehouse]:
    with open_warehouse("chdb://:memory:") as opened:
        opened.query("CREATE TABLE default.tasks (task_id String, entered_at DateTime64(3), approved Nullable(UInt8), "
                     "deployment Nullable(String)) ENGINE = MergeTree ORDER BY entered_at")  # fmt: skip
        opened.query(
            "INSERT INTO default.tasks VALUES"
            " ('a', '2026-05-28 06:00:00', 1, NULL), ('b', '2026-05-28 06:01:00', 0, 'd1'),"
            " ('late', '2026-05-28 06:31:00', 0, 'd1'), ('c', '2026-05-28 06:33:00', NULL, NULL),"
            " ('d', '2026-05-28 06:32:00', 1, 'd2'), ('e', '2026-05-28 06:34:00', 0, 'v2'),"
            " ('f', '2026-05-28 08:00:00', 0, 'd2')"
        )
        yield opened


ALL_TASKS = "SELECT task_id, entered_at, approved, deployment FROM default.tasks"
BETWEEN = " WHERE entered_at >= {since:DateTime64(6)} AND entered_at < {until:DateTime64(6)}"


@pytest.mark.parametrize("query", [ALL_TASKS + BETWEEN, ALL_TASKS + " WHERE task_id != 'f'"])
def test_a_query_of_the_warehouse_gives_tasks_with_their_verdicts(warehouse: Warehouse, query: str) -> None:
    """Scenarios 27 and 28."""
    source = rate_source(Rate("query", query=query), warehouse=warehouse)
    assert isinstance(source, QuerySource)
    assert source.read(NEW, NOW) == RateReading(((1, 1), (1, 2)), 1, ("d", "c", "e"))
    assert source.baseline([OLD], [OLD], CUTOVER) == Baseline(1, 2, ids_hash(["a", "b"]))
    assert source.baseline([], [OLD], CUTOVER) is None
    source.close()
    assert warehouse.query("SELECT 1").rows == ((1,),)


def test_entered_at_may_be_text(warehouse: Warehouse) -> None:
    """Scenario 29."""
    query = "SELECT 1 AS task_id, '2026-05-28T06:31:00Z' AS entered_at, 1 AS approved UNION ALL SELECT 2, {}, 0"
    good = QuerySource(query.format("'2026-05-28 06:30:30'"), "", warehouse)
    assert good.read(NEW, NOW) == RateReading(((0, 1), (1, 2)), 0, ("2", "1"))
    with pytest.raises(SourceError, match="task 2: 'noon' is no time"):
        QuerySource(query.format("'noon'"), "", warehouse).read(NEW, NOW)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT 1 AS task_id, now() AS entered_at", "no column approved"),
        ("SELECT 't' AS task_id, now() AS entered_at, 2 AS approved", "task t has the verdict 2"),
        ("SELECT 't' AS task_id, now() AS entered_at, 'yes' AS approved", "task t has the verdict 'yes'"),
        ("SELECT NULL AS task_id, now() AS entered_at, 1 AS approved", "None is no id of a task"),
        (ALL_TASKS + " UNION ALL " + ALL_TASKS, "task d is told twice"),
        ("SELECT nonsense FROM nowhere", "the query was refused"),
        (ALL_TASKS + " WHERE task_id = {task:String}", "unknown parameter task: since and until are known"),
    ],
)
def test_a_query_that_gives_something_else_is_a_source_error(warehouse: Warehouse, query: str, said: str) -> None:
    """Scenario 7."""
    with pytest.raises(SourceError, match=said):
        QuerySource(query, "", warehouse).read(NEW, NOW)


def test_a_warehouse_that_is_away_is_a_source_error_without_its_password() -> None:
    """Scenario 7."""
    source = rate_source(Rate("query", query=ALL_TASKS, dsn="clickhouse://reader:hush-hush@127.0.0.1:1/"))
    assert source is not None
    with closing(source), pytest.raises(SourceError, match=r"127\.0\.0\.1:1") as told:
        source.read(NEW, NOW)
    assert "hush" not in str(told.value)


# Prometheus ------------------------------------------------------------------------------------------------------


def counter(name: str, version: str, minutes: Mapping[int, int], pod: str = "a") -> tuple[str, list[tuple[Any, float]]]:
    """A counter that holds its value from one minute (after the cutover) to the next that is named."""
    points, value = [], None
    for minute in range(min(minutes), 61):
        value = minutes.get(minute, value)
        if value is not None and value >= 0:
            points.append((CUTOVER + timedelta(minutes=minute), float(value)))
    return f'{name}{{version="{version}",pod="{pod}"}}', points


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    samples = dict(
        [
            counter("approved_total", "v1", {-120: 900, -60: 945, 0: 990}),
            counter("judged_total", "v1", {-120: 1000, -60: 1050, 0: 1100}),
            counter("approved_total", "v2", {1: 0, 5: 1, 20: 2, 30: 0, 40: 1}),
            counter("judged_total", "v2", {1: 0, 5: 1, 10: 2, 20: 4, 30: 0, 40: 3}),
            counter("approved_total", "two pods", {5: 3}),
            counter("approved_total", "two pods", {8: 2}, "b"),
            counter("judged_total", "two pods", {5: 4}),
            counter("judged_total", "two pods", {8: 2}, "b"),
            counter("judged_total", "no good", {5: 4}),
            counter("approved_total", "too good", {5: 5}),
            counter("judged_total", "too good", {5: 4}),
            counter("approved_total", "half", {5: 1}),
        ]
    )
    with running(tmp_path_factory.mktemp("prometheus"), samples) as url:
        yield url


def promql(address: str, good: str = "", total: str = "", **given: Any) -> PromqlSource:
    return PromqlSource(
        Prometheus(address, retries=0),
        good or 'approved_total{version="{version}"}',
        total or 'judged_total{version="{version}"}',
        step=timedelta(minutes=1),
        **given,
    )


def test_a_pair_of_counters_gives_a_look_a_step_also_after_a_restart(address: str) -> None:
    source = promql(address)
    looks = ((1, 1), (1, 2), (2, 4), (3, 7))
    assert source.read(NEW, NOW) == RateReading(looks)
    assert source.read(NEW, CUTOVER + timedelta(minutes=12)) == RateReading(looks[:2])
    later = Serving("d2", CUTOVER + timedelta(minutes=15, microseconds=999_999), None, "v2")
    assert source.read(later, NOW) == RateReading(((1, 2), (2, 5)))
    assert source.read(Serving("d2", CUTOVER, None, "two pods"), NOW) == RateReading(((3, 4), (5, 6)))
    source.close()


def test_a_sum_of_counters_will_do(address: str) -> None:
    source = promql(address, *(f'sum({name}_total{{version="{{version}}"}})' for name in ("approved", "judged")))
    assert source.read(Serving("d2", CUTOVER, None, "two pods"), NOW) == RateReading(((3, 4), (5, 6)))


def test_counters_that_nobody_has_yet_are_no_tasks(address: str) -> None:
    """Scenario 6."""
    assert promql(address).read(Serving("d3", CUTOVER, None, "v3"), NOW) == RateReading(())
    assert promql(address).read(Serving("d3", NOW, None, "v3"), NOW) == RateReading(())
    assert promql(address).read(Serving("d2", CUTOVER, None, "half"), NOW) == RateReading(())


def test_the_baseline_of_counters_is_of_what_clean_deployments_served(address: str) -> None:
    """Scenario 27."""
    everything, newest = promql(address), promql(address, baseline_most=60)
    found = everything.baseline([OLD], [OLD], CUTOVER + timedelta(seconds=1))
    assert found is not None and (found.good, found.total) == (90, 100)
    found = newest.baseline([OLD], [OLD], CUTOVER + timedelta(seconds=1))
    assert found is not None and (found.good, found.total, len(found.ids)) == (45, 50, 64)
    assert everything.baseline([], [OLD], CUTOVER) is None


@pytest.mark.parametrize(
    ("version", "given", "said"),
    [
        ("no good", {}, "rate.good has no series"),
        ("too good", {}, "5 tasks are approved of 4 judged"),
        ("v2", {"good": "approved_total / 2"}, "a counter is .*: a count is meant"),
        ("v2", {"good": "0 * approved_total / 0"}, "a counter is nan: a count is meant"),
        ("v2", {"good": "-approved_total"}, "a counter is -"),
        ("v2", {"good": "sum("}, "does not take the expression"),
    ],
)
def test_half_an_answer_of_prometheus_is_a_source_error(
    address: str, version: str, given: dict[str, str], said: str
) -> None:
    """Scenario 7: never counted as approved, and never as rejected."""
    with pytest.raises(SourceError, match=said):
        promql(address, **given).read(Serving("d2", CUTOVER, None, version), NOW)


def test_a_prometheus_that_is_away_is_a_source_error_without_its_password() -> None:
    """Scenario 7."""
    source = rate_source(Rate("prometheus", url="http://reader:hush-hush@127.0.0.1:1", good="g", total="t"))
    assert isinstance(source, PromqlSource)
    with closing(source), pytest.raises(SourceError, match=r"Prometheus at 127\.0\.0\.1:1 cannot be reached") as told:
        source.read(NEW, NOW)
    assert "hush" not in str(told.value)


def test_a_counter_that_falls_began_at_nought_again() -> None:
    at = [CUTOVER + timedelta(minutes=n) for n in range(5)]
    points = list(zip(at, [7, 9, 2, 2, 5], strict=True))
    assert list(growth(points, CUTOVER).values()) == [0, 2, 4, 4, 7]
    assert list(growth(points[1:], CUTOVER).values()) == [9, 11, 11, 14]
    assert growth([], CUTOVER) == {}


def test_looks_never_fall_and_end_with_all_that_was_judged() -> None:
    rng = random.Random(7)
    for _ in range(200):
        at = [CUTOVER + timedelta(minutes=n) for n in range(rng.randrange(1, 30))]
        judged = [[rng.choice([0, 0, 1, 3]) for _ in at] for _ in range(3)]
        approved = [[rng.randint(0, n) for n in pod] for pod in judged]
        total, good = (
            summed(
                growth([(when, sum(pod[: n + 1])) for n, when in enumerate(at)], at[0] - timedelta(1)) for pod in pods
            )
            for pods in (judged, approved)
        )
        looks = looks_of(good, total)
        assert list(looks) == sorted(set(looks), key=lambda look: look[1])
        everything = (sum(map(sum, approved)), sum(map(sum, judged)))
        assert (looks[-1] if looks else (0, 0)) == everything


@pytest.mark.parametrize("value", [True, -1, 0.5, float("nan"), float("inf"), "3", None, 2**60])
def test_what_is_no_count_is_told(value: Any) -> None:
    with pytest.raises(ValueError, match="a count is meant"):
        whole(value, "good")


# An endpoint -----------------------------------------------------------------------------------------------------

Answering = Callable[[str], tuple[int, bytes]]


@contextmanager
def serving(answers: Answering) -> Iterator[tuple[str, list[str]]]:
    """A server on a free port; gives its address and the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            status, body = answers(self.path)
            self.send_response(status)
            self.send_header("location", "/elsewhere")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def task(name: str, minute: int, approved: object, by: str | None = None) -> dict[str, object]:
    entered = CUTOVER + timedelta(minutes=minute)
    form = "%Y-%m-%dT%H:%M:%SZ" if minute % 2 else "%Y-%m-%d %H:%M:%S"
    return {"id": name, "entered_at": entered.strftime(form), "approved": approved, "deployment": by}


TASKS = [
    task("c", 3, False, "d2"),
    task("late", 1, False, "d1"),
    task("b", 2, True),
    task("pending", 4, None),
    task("a", -3, True),
    task("bad", -2, False, "d0"),
]


def body(value: object) -> Answering:
    said = value if isinstance(value, bytes) else json.dumps(value).encode()
    return lambda path: (200, said)


def test_an_endpoint_gives_tasks_with_their_verdicts() -> None:
    """Scenarios 27, 28 and 29."""
    failed = Serving("d0", CUTOVER - timedelta(minutes=10), CUTOVER - timedelta(minutes=5), "v0")
    with serving(body({"tasks": TASKS})) as (url, asked):
        source = rate_source(Rate("endpoint", url=url + "/tasks?since={since}"))
        assert isinstance(source, EndpointSource)
        assert source.read(NEW, NOW) == RateReading(((1, 1), (1, 2)), 1, ("b", "c", "pending"))
        assert source.baseline([OLD], [OLD, failed], CUTOVER) == Baseline(1, 1, ids_hash(["a"]))
        assert source.baseline([], [failed], CUTOVER) == Baseline(1, 1, ids_hash(["a"]))
        source.close()
    assert asked == [
        "/tasks?since=2026-05-28T06%3A30%3A00Z",
        "/tasks?since=2026-05-28T04%3A30%3A00Z",
        "/tasks?since=2026-04-28T06%3A30%3A00Z",
    ]


def test_tasks_of_an_address_of_one_deployment_need_not_say_who_served_them() -> None:
    """Scenario 28."""
    with serving(body({"tasks": [task("early", -1, True), task("t", 1, False)]})) as (url, asked):
        found = EndpointSource(url + "/{deployment}/{version}").read(NEW, NOW)
    assert found == RateReading(((1, 1), (1, 2)), 0, ("early", "t"))
    assert asked == ["/d2/v2"]


def test_counts_of_an_endpoint_are_a_look_a_poll() -> None:
    counts = {"/d2": [(1, 1), (1, 1), (2, 3), (2, 2)], "/d1": [(45, 50)]}

    def answers(path: str) -> tuple[int, bytes]:
        good, total = counts[path].pop(0)
        return 200, json.dumps({"good": good, "total": total}).encode()

    with serving(answers) as (url, _):
        source = EndpointSource(url + "/{deployment}")
        polls = [source.read(NEW, NOW).looks for _ in range(3)]
        assert polls == [((1, 1),), ((1, 1),), ((1, 1), (2, 3))]
        with pytest.raises(SourceError, match="fell from 2 of 3 to 2 of 2"):
            source.read(NEW, NOW)
        found = source.baseline([OLD], [OLD], CUTOVER)
        assert found == Baseline(45, 50, ids_hash(["d1 45 50"]))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"good": 3, "total": 4}, r"put \{deployment\} or \{version\} into rate.url"),
        ({"tasks": {"id": 1}}, "neither a list of tasks nor good and total"),
        ([], "neither a list of tasks nor good and total"),
        ({"tasks": [*TASKS, 7]}, "7 is no task"),
        ({"tasks": [*TASKS, {"id": "t", "entered_at": "2026-05-28 06:31:00"}]}, "task 't' has no key approved"),
        ({"tasks": [*TASKS, task("t", 9, "true")]}, "task t has the verdict 'true'"),
        ({"tasks": [*TASKS, task("t", 9, 0.5)]}, "task t has the verdict 0.5"),
        ({"tasks": [*TASKS, task("t", 9, True) | {"entered_at": "soon"}]}, "task t: 'soon' is no time"),
        ({"tasks": [*TASKS, task("t", 9, True) | {"id": None}]}, "None is no id of a task"),
        ({"tasks": [*TASKS, task("t", 9, True) | {"deployment": ["d2"]}]}, "a text is meant"),
        ({"tasks": [*TASKS, task("b", 9, True)]}, "task b is told twice"),
        (b'{"tasks": [', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"<html>sign in</html>", "not JSON"),
    ],
)  # fmt: skip
def test_half_an_answer_of_an_endpoint_is_a_source_error(answer: object, said: str) -> None:
    """Scenario 7: nothing of it is counted."""
    with serving(body(answer)) as (url, _), pytest.raises(SourceError, match=said) as told:
        EndpointSource(url).read(NEW, NOW)
    assert "\n" not in str(told.value) and len(str(told.value)) < 300


@pytest.mark.parametrize("counts", [{"good": 4, "total": 3}, {"good": -1, "total": 3}, {"good": "3", "total": 4},
                                    {"good": 1.5, "total": 3}, {"good": None, "total": 3}])  # fmt: skip
def test_counts_that_are_none_are_a_source_error(counts: object) -> None:
    with serving(body(counts)) as (url, _), pytest.raises(SourceError):
        EndpointSource(url + "/{version}").read(NEW, NOW)


@pytest.mark.parametrize("status", [204, 301, 401, 500])
def test_an_endpoint_that_refuses_is_a_source_error_without_its_password(status: int) -> None:
    """Scenario 7."""
    with serving(lambda path: (status, b"")) as (url, _):
        secret = url.replace("http://", "http://reader:hush-hush@") + "/tasks?token=hush"
        with pytest.raises(SourceError) as told:
            EndpointSource(secret).read(NEW, NOW)
    assert "hush" not in str(told.value)
    assert status == 204 or f"answered {status}" in str(told.value)


def test_an_endpoint_that_does_not_answer_in_time_is_a_source_error() -> None:
    """Scenario 7."""
    over = threading.Event()

    def answers(path: str) -> tuple[int, bytes]:
        over.wait(20)
        return 200, b""

    with serving(answers) as (url, _):
        try:
            with pytest.raises(SourceError, match=r"no whole answer within 0\.2 s"):
                EndpointSource(url, seconds=0.2).read(NEW, NOW)
        finally:
            over.set()


# The choice ------------------------------------------------------------------------------------------------------


def test_the_settings_name_the_source(tmp_path: Path) -> None:
    assert rate_source(Rate()) is None
    tables = rate_source(Rate("tables", dsn=f"sqlite:///{tmp_path}/tasks.sqlite"))
    assert isinstance(tables, TablesSource)
    tables.close()
    with pytest.raises(UsageError, match=r"rate\.source is .guess.: none, tables, query, prometheus and endpoint"):
        rate_source(Rate("guess"))
