"""Verdicts from the application's own tables: explicit ones, for the version that served the task, in one query."""

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from buildeye.deploy.classic.tables import APPLICATION_TABLES
from buildeye.deploy.judges.rate import RateReading, RateSettings, judge_rate
from buildeye.deploy.rates import Serving, SourceError, Words
from buildeye.deploy.rates.tables import READ_MOST, TablesSource, open_tables
from buildeye.deploy.rates.tasks import ids_hash
from buildeye.model import UsageError
from buildeye.model.deployments import Baseline, SignalStatus
from tests.deploy.postgres import fresh_database, running_postgres

CUTOVER = datetime(2026, 5, 28, 6, 30, tzinfo=UTC)
NOW = CUTOVER + timedelta(hours=5)
OLD = Serving("d1", CUTOVER - timedelta(days=2), CUTOVER, "v1")
NEW = Serving("d2", CUTOVER, None, "v2")
FORMS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.000000+00:00", "%Y-%m-%dT%H:%M:%S")


class Application:
    """The tables of an application, and what it writes into them."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.engine = sa.create_engine(dsn.replace("postgresql://", "postgresql+pg8000://"))
        if self.engine.dialect.name == "sqlite":
            sa.event.listen(self.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
        with self.engine.begin() as connection:
            for statement in APPLICATION_TABLES:
                connection.exec_driver_sql(statement)

    def insert(self, table: str, **values: Any) -> None:
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        with self.engine.begin() as connection:
            connection.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)

    def changed(self, task: str, status: str, at: str, by: str | None = None, project: str = "p") -> None:
        payload = {"to_status": status} | ({} if by is None else {"deployment_id": by})
        self.insert("execution_event", project_id=project, task_id=task, event_type="task_status_changed",
                    payload=json.dumps(payload), created_at=at)  # fmt: skip

    def enters(self, task: str, minutes: float, by: str | None = None, form: str = FORMS[0]) -> None:
        self.changed(task, "validating", after(minutes, form), by)

    def closes(self, task: str, minutes: float, status: str = "done") -> None:
        self.changed(task, status, after(minutes))

    def complains(self, task: str, minutes: float, source: str = "validator") -> None:
        self.insert("bug_record", task_id=task, source=source, created_at=after(minutes))

    def judged(self, task: str, minutes: float, approved: bool, by: str | None = None) -> None:
        self.enters(task, minutes, by)
        (self.closes if approved else self.complains)(task, minutes + 0.5)

    def source(self, **given: Any) -> TablesSource:
        return open_tables(self.dsn, "p", **given)


def after(minutes: float, form: str = FORMS[0]) -> str:
    return (CUTOVER + timedelta(minutes=minutes)).strftime(form)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_postgres(tmp_path_factory.mktemp("tables")) as dsn:
        yield dsn


@pytest.fixture(params=["sqlite", "postgresql"])
def application(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Application]:
    if request.param == "sqlite":
        made = Application(f"sqlite:///{tmp_path}/tasks.sqlite")
    else:
        made = Application(fresh_database(request.getfixturevalue("server")))
    yield made
    made.engine.dispose()


@pytest.fixture
def lite(tmp_path: Path) -> Iterator[Application]:
    made = Application(f"sqlite:///{tmp_path}/tasks.sqlite")
    yield made
    made.engine.dispose()


def read(application: Application, serving: Serving = NEW, **given: Any) -> RateReading:
    with closing(application.source(**given)) as source:
        return source.read(serving, NOW)


def test_only_explicit_verdicts_count_in_the_order_of_entering_validation(application: Application) -> None:
    application.judged("b", 2, approved=False)
    application.judged("a", 3, approved=True)
    application.enters("pending", 1)
    application.judged("c", 4, approved=True)
    application.changed("never", "running", after(5))
    application.complains("never", 6)
    application.enters("of another kind", 7)
    application.complains("of another kind", 8, source="person")
    found = read(application)
    assert found.looks == ((0, 1), (1, 2), (2, 3))
    assert found.unjudged == 2
    assert found.task_ids == ("pending", "b", "a", "c", "of another kind")


def test_ten_tasks_in_the_first_minute_none_judged_are_no_evidence(application: Application) -> None:
    """Scenario 5."""
    for number in range(10):
        application.insert("task", task_id=f"t{number}", project_id="p", created_at=after(0.1))
        application.enters(f"t{number}", 0.5)
    found = read(application)
    assert (found.looks, found.unjudged) == ((), 10)


def test_a_reading_of_no_traffic_is_empty(application: Application) -> None:
    """Scenario 6."""
    application.judged("before", -5, approved=True)
    assert read(application) == RateReading((), 0, ())


def test_another_project_is_not_counted(application: Application) -> None:
    application.changed("x", "validating", after(1), project="q")
    application.complains("x", 2)
    assert read(application).task_ids == ()


def test_a_late_task_belongs_to_the_version_that_served_it(application: Application) -> None:
    """Scenario 28: both where the application says it, by id or version, and where only the time does."""
    application.judged("late, says the id", 3, approved=False, by="d1")
    application.judged("late, says the version", 4, approved=False, by="v1")
    application.enters("entered before", -1)
    application.complains("entered before", 5)
    application.judged("new", 6, approved=True, by="d2")
    application.judged("new, says the version", 7, approved=True, by="v2")
    application.judged("new, says nothing", 8, approved=True)
    assert read(application).task_ids == ("new", "new, says the version", "new, says nothing")
    assert read(application, OLD).looks == ((0, 1), (0, 2), (0, 3))


def test_rejections_of_the_old_version_after_the_cutover_are_no_failure_of_the_new_one(lite: Application) -> None:
    """Scenarios 27 and 28, through the judge; the same rejections of the new version are one."""
    for number in range(50):
        lite.judged(f"before{number}", -200 + number, approved=number >= 5, by="d1")
    for number in range(15):
        lite.judged(f"late{number}", 1 + number, approved=False, by="d1")
        lite.judged(f"new{number}", 1 + number, approved=True, by="d2")
        lite.judged(f"bad{number}", 1 + number, approved=False, by="d3")
    with closing(lite.source()) as source:
        baseline = source.baseline([OLD], [OLD], CUTOVER)
        verdicts = [judge_rate(source.read(Serving(name, CUTOVER), NOW), baseline, RateSettings()).status
                    for name in ("d2", "d3")]  # fmt: skip
        assert baseline is not None and (baseline.good, baseline.total) == (45, 50)
        assert verdicts == [SignalStatus.OK, SignalStatus.FAIL]


def test_a_version_that_is_deployed_again_starts_from_nothing(application: Application) -> None:
    for number in range(30):
        application.judged(f"before {number}", -60 + number, approved=True, by="v2")
    application.judged("after", 1, approved=False, by="v2")
    assert read(application, read_most=10).task_ids == ("after",)


def test_a_verdict_belongs_to_the_version_that_validated_last_before_it(application: Application) -> None:
    """Scenario 28."""
    application.enters("again", -10)
    application.complains("again", -9)
    application.enters("again", 10)
    application.closes("again", 11)
    application.enters("handed over", -5)
    application.enters("handed over", 5)
    application.closes("handed over", 6)
    assert read(application, OLD).looks == ((0, 1),)
    assert read(application, OLD).unjudged == 1
    assert read(application, NEW).looks == ((1, 1), (2, 2))


def test_a_complaint_beats_a_closing_of_the_same_second(application: Application) -> None:
    application.enters("t", 1)
    application.closes("t", 1)
    application.complains("t", 1)
    assert read(application).looks == ((0, 1),)


def test_words_of_another_application_are_settings(application: Application) -> None:
    application.changed("t", "review", after(1), None)
    application.insert("execution_event", project_id="p", task_id="u", event_type="task_status_changed",
                       payload='{"to_status": "review", "served": "d1"}', created_at=after(1))  # fmt: skip
    application.closes("t", 2, "merged")
    words = Words(validating="review", approved=("merged",), served_by="served")
    found = read(application, words=words)
    assert (found.looks, found.task_ids) == (((1, 1),), ("t",))
    with pytest.raises(UsageError, match="no key of a payload"):
        Words(served_by="a'b")


def test_mixed_forms_of_time_are_compared_as_moments(application: Application) -> None:
    """Scenario 29: as texts, all times with a T would come after all with a space."""
    order = []
    for number in range(40):
        task = f"t{number}"
        application.enters(task, number, form=FORMS[number % len(FORMS)])
        application.closes(task, number + 0.5)
        order.append(task)
    assert read(application).task_ids == tuple(order)
    assert read(application, read_most=7).task_ids == tuple(order[:7])
    with closing(application.source(baseline_most=5)) as source:
        found = source.baseline([NEW], [NEW], CUTOVER + timedelta(hours=1))
    assert found == Baseline(5, 5, ids_hash(order[-5:]))


@pytest.mark.parametrize("text", ["soon", "now", "2026-13-01 00:00:00", "28.05.2026 06:31"])
def test_a_text_that_is_no_time_is_told(application: Application, text: str) -> None:
    """Scenario 29."""
    application.changed("t1", "validating", text)
    with pytest.raises(SourceError, match=r"tasks.sqlite|postgresql"):
        read(application)


def test_a_payload_that_is_not_json_is_told(application: Application) -> None:
    application.insert("execution_event", project_id="p", task_id="t", event_type="task_status_changed",
                       payload='{"to_status": "validating"', created_at=after(1))  # fmt: skip
    with pytest.raises(SourceError, match=r"(?i)json"):
        read(application)


def test_a_bad_release_does_not_poison_the_next_baseline(application: Application) -> None:
    """Scenario 27: the rolled-back deployment's rejected tasks are nobody's baseline."""
    bad = Serving("d2", CUTOVER, CUTOVER + timedelta(minutes=30), "v2")
    after_it = Serving("d1", CUTOVER - timedelta(days=2), None, "v1")
    good_ids = []
    for number in range(20):
        good_ids.append(f"good{number}")
        application.judged(f"good{number}", -60 + number, approved=number != 3, by="d1")
        application.judged(f"bad{number}", 1 + number, approved=False, by="d2")
        application.judged(f"bad, unsaid {number}", 1 + number, approved=False)
    application.enters("pending", -10, by="d1")
    before = CUTOVER + timedelta(minutes=40)
    with closing(application.source()) as source:
        found = source.baseline([OLD], [OLD, bad], before)
        assert found == Baseline(19, 20, ids_hash(good_ids))
        assert source.baseline([after_it], [after_it, bad], CUTOVER) == found


def test_the_first_baseline_is_of_tasks_that_no_known_deployment_served(application: Application) -> None:
    """Scenario 27, where nothing is clean yet."""
    failed = Serving("d0", CUTOVER - timedelta(hours=1), CUTOVER - timedelta(minutes=30), "v0")
    application.judged("by hand", -300, approved=True)
    application.judged("by hand, said", -290, approved=False, by="someone")
    application.judged("of the failed one", -45, approved=False)
    application.judged("late of the failed one", -5, approved=False, by="d0")
    application.judged("between", -10, approved=True)
    application.judged("after", 5, approved=True)
    with closing(application.source()) as source:
        found = source.baseline([], [failed], CUTOVER)
        assert found == Baseline(2, 3, ids_hash(["by hand", "by hand, said", "between"]))
        assert source.baseline([], [], CUTOVER - timedelta(days=9)) is None


def test_a_baseline_is_of_the_newest_tasks(application: Application) -> None:
    for number in range(12):
        application.judged(f"t{number:02}", -100 + number, approved=number < 10)
    with closing(application.source(baseline_most=5)) as source:
        assert source.baseline([OLD], [OLD], CUTOVER) == Baseline(3, 5, ids_hash(f"t{n:02}" for n in range(7, 12)))


@pytest.mark.parametrize("tasks", [3, 300])
def test_a_reading_and_a_baseline_are_one_query_each(lite: Application, tasks: int) -> None:
    for number in range(tasks):
        lite.judged(f"t{number}", number / 10, approved=True)
    source = lite.source()
    asked: list[str] = []
    sa.event.listen(source._engine, "before_cursor_execute", lambda c, cur, text, *rest: asked.append(text))
    found = source.read(NEW, NOW)
    assert found.judged == min(tasks, READ_MOST) and len(asked) == 1
    source.baseline([NEW], [NEW], NOW)
    assert len(asked) == 2
    source.close()


def test_what_is_read_is_what_a_plain_reading_of_all_rows_gives(lite: Application) -> None:
    """Random histories with mixed times, handovers and few verdicts, against loops over lists."""
    rng = random.Random(28)
    for number in range(60):
        entries, ends = [], []
        project = f"p{number}"
        with closing(sqlite3.connect(lite.dsn.removeprefix("sqlite:///"))) as connection:
            for task in range(rng.choice([3, 30])):
                name = f"{project}-{task}"
                for _ in range(rng.choice([1, 1, 1, 2])):
                    at = CUTOVER + timedelta(seconds=rng.randrange(-90_000, 90_000))
                    by = rng.choice([None, None, None, "d1", "d2", "v2", "other"])
                    entries.append((at, 0, name, by))
                    payload = json.dumps({"to_status": "validating", "deployment_id": by})
                    row = (project, name, "task_status_changed", payload, at.strftime(rng.choice(FORMS)))
                    connection.execute("INSERT INTO execution_event VALUES (?, ?, ?, ?, ?)", row)
                    if rng.random() < 0.8:
                        end = at + timedelta(seconds=rng.randrange(90_000))
                        approved = rng.random() < 0.7
                        ends.append((end, 2 if approved else 1, name, None))
                        text = end.strftime(rng.choice(FORMS))
                        if approved:
                            row = (project, name, "task_status_changed", '{"to_status": "done"}', text)
                            connection.execute("INSERT INTO execution_event VALUES (?, ?, ?, ?, ?)", row)
                        else:
                            connection.execute("INSERT INTO bug_record VALUES (?, 'validator', ?)", (name, text))
            connection.commit()
        with closing(open_tables(lite.dsn, project)) as source:
            found = source.read(NEW, NOW)
        expected = plainly(sorted([*entries, *ends], key=lambda event: (event[0], event[1])))
        assert [(name, verdict) for _, name, verdict in expected] == [
            (name, {n: v for _, n, v in expected}[name]) for name in found.task_ids
        ]
        verdicts = [verdict for _, _, verdict in expected if verdict is not None]
        assert found.looks == tuple((sum(verdicts[: n + 1]), n + 1) for n in range(len(verdicts)))
        assert found.unjudged == len(expected) - len(verdicts)


def plainly(events: list[tuple[datetime, int, str, str | None]]) -> list[tuple[datetime, str, bool | None]]:
    """(entered, task, verdict) of what d2 served, by entry."""
    tasks: dict[str, list[Any]] = {}
    holder: dict[str, bool] = {}
    for at, what, name, by in events:
        if what == 0:
            holder[name] = by in ("d2",) or (by in (None, "v2") and at >= CUTOVER)
            if holder[name] and name not in tasks:
                tasks[name] = [at, name, None]
        elif holder.get(name) and tasks[name][2] is None:
            tasks[name][2] = what == 2
    return sorted(((at, name, verdict) for at, name, verdict in tasks.values()), key=lambda task: task[:2])


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("sqlite:///{folder}/none.sqlite", "unable to open database file"),
        ("sqlite:///{folder}/empty.sqlite", "no such table"),
        ("sqlite:///{folder}/text.sqlite", "file is not a database"),
        ("postgresql://reader:hush-hush@127.0.0.1:1/tasks", "Can't create a connection to host 127.0.0.1 and port 1"),
    ],
)
def test_a_database_that_cannot_be_read_is_a_source_error_without_its_password(
    tmp_path: Path, dsn: str, said: str
) -> None:
    """Scenario 7."""
    (tmp_path / "empty.sqlite").touch()
    (tmp_path / "text.sqlite").write_text("no database at all " * 99)
    with closing(open_tables(dsn.format(folder=tmp_path), "p")) as source:
        for reading in (lambda: source.read(NEW, NOW), lambda: source.baseline([OLD], [], CUTOVER)):
            with pytest.raises(SourceError) as told:
                reading()
            assert said in str(told.value) and "hush" not in str(told.value)
            assert "\n" not in str(told.value)


@pytest.mark.parametrize("dsn", ["", "tasks.sqlite", "sqlite://", "mysql://host/db", "://"])
def test_an_address_that_is_none_is_wrong_use(dsn: str) -> None:
    with pytest.raises(UsageError, match=r"rate\.dsn"):
        open_tables(dsn, "p")


def test_a_file_is_opened_for_reading_only(tmp_path: Path) -> None:
    with closing(open_tables(f"sqlite:///{tmp_path}/no #1.sqlite", "p")) as source, pytest.raises(SourceError):
        source.read(NEW, NOW)
    assert list(tmp_path.iterdir()) == []
    made = Application(f"sqlite:///{tmp_path}/no #1.sqlite")
    made.judged("t", 1, approved=True)
    assert read(made).looks == ((1, 1),)
    made.engine.dispose()
