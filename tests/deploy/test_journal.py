"""The journal of deployments, on a file and on PostgreSQL: what it keeps, in which order, and what has no effect."""

import json
import sqlite3
import stat
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from buildeye.deploy.journal import Journal, SampleWriter, open_journal, schema
from buildeye.deploy.journal.rows import wall_of, wall_text
from buildeye.deploy.journal.schema import NEWEST, VERSION_TABLE
from buildeye.deploy.journal.tables import SERVICE
from buildeye.deploy.states import TERMINAL, TRANSITIONS, Happening, following
from buildeye.model import OutsideError, UsageError
from buildeye.model.deployments import Baseline, Deployment, ProcessRun, SignalKind, SignalStatus, State
from tests.deploy.stores import BOOT, START, deployment, moment, sample, taken

Open = Callable[[str], Journal]
TO_MONITORING = (Happening.START, Happening.STARTED, Happening.HEALTHY, Happening.CUT_OVER, Happening.SWITCHED)
TO_CLEAN = (*TO_MONITORING, Happening.CLEAN)
TO_ROLLED_BACK = (*TO_MONITORING, Happening.ANOMALY, Happening.ROLL_BACK, Happening.RETURNED)


def walk(journal: Journal, name: str, happenings: tuple[Happening, ...], by: str = "supervisor") -> Deployment:
    """Create a deployment and let all this happen to it, a minute apart."""
    here = journal.create(deployment(name, version=name.split("/")[-1]))
    for minute, happening in enumerate(happenings):
        moved = journal.move(None, name, here.epoch, happening, moment(60 * minute), by=by)
        assert moved is not None
        here = moved
    return here


def test_a_deployment_comes_back_as_it_was_put(journal: Journal) -> None:
    full = replace(
        deployment("d1"), commit="abc", repository="o/r", profile="classic", kind="rollback",
        spec={"a": [1, {"b": None}]},
        previous="d0", slot=2, baseline=Baseline(45, 50, "hash"), cutover=moment(1), closed=moment(2),
        rollback_reason='{"x": 1}', note="größer", paused=True, forced=True, by="someone",
    )  # fmt: skip
    assert journal.create(full) == full
    assert journal.deployment("d1") == full
    assert journal.deployment("another") is None


def test_a_deployment_is_created_once(journal: Journal) -> None:
    journal.create(deployment("d1", version="1"))
    assert journal.create(deployment("d1", version="2")).version == "1"
    assert [event.event for event in journal.events("d1")] == ["create"]


def test_a_move_is_one_transition_with_its_event_and_columns(journal: Journal) -> None:
    fence = taken(journal)
    journal.create(deployment("d1"))
    moved = journal.move(
        fence, "d1", 0, Happening.START, moment(5), "asked", {"n": 1}, by="me", slot=1, baseline=Baseline(9, 10, "h")
    )
    assert moved is not None
    assert (moved.state, moved.epoch, moved.slot, moved.baseline) == (State.STARTING, 1, 1, Baseline(9, 10, "h"))
    assert journal.deployment("d1") == moved
    event = journal.events("d1")[-1]
    assert (event.event, event.before, event.after, event.epoch) == ("start", State.CREATED, State.STARTING, 1)
    assert (event.at, event.reason, event.numbers, event.by) == (moment(5), "asked", {"n": 1}, "me")


@pytest.mark.parametrize("terminal", sorted(TERMINAL))
def test_a_late_cycle_after_a_final_state_is_a_no_op(journal: Journal, terminal: State) -> None:
    journal.create(replace(deployment("d1"), state=terminal, epoch=7))
    before = (journal.deployment("d1"), journal.events("d1"))
    late = [journal.move(None, "d1", epoch, happening, moment(9)) for happening in Happening for epoch in (6, 7)]
    assert set(late) == {None}
    assert (journal.deployment("d1"), journal.events("d1")) == before


def test_a_move_of_an_earlier_epoch_or_of_nothing_is_a_no_op(journal: Journal) -> None:
    here = walk(journal, "d1", TO_MONITORING)
    assert journal.move(None, "d1", here.epoch - 1, Happening.CLEAN, moment()) is None
    assert journal.move(None, "d2", 0, Happening.START, moment()) is None
    assert journal.deployment("d1") == here


def test_a_final_state_says_when_it_was_reached_unless_told(journal: Journal) -> None:
    assert walk(journal, "d1", TO_CLEAN).closed == moment(300)
    here = walk(journal, "d2", TO_MONITORING)
    closed = journal.move(None, "d2", here.epoch, Happening.CLEAN, moment(400), closed=moment(399))
    assert closed is not None and closed.closed == moment(399)


@pytest.mark.parametrize("columns", [{"state": State.MONITORING}, {"epoch": 3}, {"nothing": 1}, {"baseline": 5}])
def test_a_column_that_may_not_be_changed_is_refused(journal: Journal, columns: dict[str, object]) -> None:
    journal.create(deployment("d1"))
    with pytest.raises(TypeError, match="cannot be"):
        journal.amend(None, "d1", **columns)


def test_fields_beside_the_state_can_be_amended(journal: Journal) -> None:
    journal.create(deployment("d1"))
    amended = journal.amend(None, "d1", paused=True, note="wait", by="me", spec={"x": 1})
    assert amended == replace(deployment("d1"), paused=True, note="wait", by="me", spec={"x": 1})
    assert journal.deployment("d1") == amended
    assert journal.amend(None, "d2", paused=True) is None


def test_a_note_moves_nothing_and_is_written_once(journal: Journal) -> None:
    here = walk(journal, "d1", TO_MONITORING)
    for _ in range(2):
        journal.note(None, "d1", "hook", "before_cutover ended with 1", {"code": 1}, moment(8))
    journal.note(None, "d1", "hook", "before_cutover ended with 1", {"code": 1}, moment(9))
    notes = [event for event in journal.events("d1") if event.event == "hook"]
    assert [(note.before, note.after, note.epoch, note.at) for note in notes] == [
        (State.MONITORING, State.MONITORING, here.epoch, moment(8)),
        (State.MONITORING, State.MONITORING, here.epoch, moment(9)),
    ]
    with pytest.raises(UsageError, match="there is no deployment d9"):
        journal.note(None, "d9", "hook", "", {}, moment())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(list(Happening)), st.integers(0, 2)), max_size=25))
def test_any_moves_leave_what_the_table_of_states_says(one_file: Journal, moves: list[tuple[Happening, int]]) -> None:
    name = uuid.uuid4().hex
    one_file.create(deployment(name))
    state, epoch, events = State.CREATED, 0, 1
    for happening, behind in moves:
        after = following(state, happening) if behind == 0 or epoch == 0 else None
        moved = one_file.move(None, name, max(0, epoch - behind), happening, moment())
        assert (moved.state if moved else None) == after
        if after is not None:
            state, epoch, events = after, epoch + 1, events + 1
    kept = one_file.deployment(name)
    assert kept is not None and (kept.state, kept.epoch) == (state, epoch)
    assert [event.epoch for event in one_file.events(name)] == list(range(events))


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return open_journal(f"sqlite:///{tmp_path_factory.mktemp('one')}/journal.sqlite")


def test_of_many_threads_one_moves_a_deployment(journal: Journal) -> None:
    journal.create(deployment("d1"))
    ready = threading.Barrier(8)

    def race(number: int) -> int:
        won = 0
        for epoch, happening in enumerate(TO_ROLLED_BACK):
            ready.wait(60)
            won += journal.move(None, "d1", epoch, happening, moment(), by=str(number)) is not None
        return won

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(race, range(8))) == len(TO_ROLLED_BACK)
    assert [event.epoch for event in journal.events("d1")] == list(range(len(TO_ROLLED_BACK) + 1))


def test_deployments_are_listed_newest_first_by_order_not_by_time(journal: Journal) -> None:
    for number in range(5):
        journal.create(replace(deployment(f"d{number}"), created=moment(-100 * number)))
    journal.create(deployment("other", service="api"))
    assert [d.id for d in journal.deployments("web", 3)] == ["d4", "d3", "d2"]
    assert [d.id for d in journal.deployments(None, 2)] == ["other", "d4"]
    walk(journal, "moved", TO_CLEAN)
    assert [d.id for d in journal.deployments("web", 9, {State.MONITORING_WINDOW_CLEAN})] == ["moved"]


def test_open_deployments_are_those_in_no_final_state(journal: Journal) -> None:
    walk(journal, "clean", TO_CLEAN)
    walk(journal, "watched", TO_MONITORING)
    journal.create(deployment("new", service="api"))
    journal.create(deployment("foreign", service="db"))
    assert [d.id for d in journal.open_deployments({"web", "api"})] == ["watched", "new"]
    assert journal.open_deployments([]) == []


def test_the_target_of_a_rollback_is_the_last_clean_version_through_three_bad_ones(journal: Journal) -> None:
    walk(journal, "a/1", TO_CLEAN)
    walk(journal, "b/2", TO_CLEAN)
    for name in ("c/3", "d/4", "e/5"):
        walk(journal, name, TO_ROLLED_BACK)
    walk(journal, "f/6", TO_MONITORING)
    clean = journal.latest_clean("web")
    assert clean is not None and clean.id == "b/2"
    before = journal.latest_clean("web", before="b/2")
    assert before is not None and before.id == "a/1"
    assert journal.latest_clean("web", before="a/1") is None
    assert journal.latest_clean("api") is None


def test_a_version_found_bad_later_is_no_target_until_it_is_clean_again(journal: Journal) -> None:
    walk(journal, "a/1", TO_CLEAN)
    walk(journal, "b/2", TO_CLEAN)
    walk(journal, "c/2", TO_ROLLED_BACK)
    clean, bad = journal.latest_clean("web"), journal.marked_bad("web", "2")
    assert clean is not None and clean.id == "a/1"
    assert bad is not None and bad.id == "c/2"
    walk(journal, "d/2", TO_CLEAN)
    clean = journal.latest_clean("web")
    assert clean is not None and clean.id == "d/2"
    assert journal.marked_bad("web", "2") is None
    assert journal.marked_bad("web", "1") is None


def test_only_rollbacks_the_supervisor_began_are_counted(journal: Journal) -> None:
    walk(journal, "a/1", TO_ROLLED_BACK)  # the rollback began after 360 s
    walk(journal, "b/2", (*TO_MONITORING, Happening.ROLL_BACK), by="someone")
    walk(journal, "c/3", (*TO_MONITORING[:-1], Happening.SWITCH_FAILED))  # after 240 s
    assert journal.rollbacks_since("web", moment(0)) == 2
    assert journal.rollbacks_since("web", moment(300)) == 1
    assert journal.rollbacks_since("web", moment(361)) == 0
    assert journal.rollbacks_since("web", START + timedelta(seconds=300)) == 1
    assert journal.rollbacks_since("api", moment(0)) == 0


def test_rollbacks_of_this_boot_are_counted_by_ticks_though_wall_time_jumped(journal: Journal) -> None:
    walk(journal, "a/1", TO_ROLLED_BACK)
    jumped = replace(moment(400), wall=START + timedelta(days=1))
    assert journal.rollbacks_since("web", replace(jumped, ticks=jumped.ticks - 100)) == 1
    assert journal.rollbacks_since("web", jumped) == 0
    assert journal.rollbacks_since("web", replace(moment(0), boot="another", ticks=0.0)) == 1


def test_samples_get_numbers_in_their_order_and_come_back_oldest_first(journal: Journal) -> None:
    journal.create(deployment("d1"))
    given_samples = [sample("d1", 30 - n, SignalKind.HTTP if n % 2 else SignalKind.PROCESS) for n in range(10)]
    stored = journal.add_samples(None, given_samples)
    assert [replace(s, seq=0) for s in stored] == given_samples
    seqs = [s.seq for s in stored]
    assert seqs == sorted(set(seqs))
    assert journal.samples("d1") == stored
    assert journal.samples("d1", SignalKind.HTTP) == stored[1::2]
    assert journal.samples("d1", limit=3) == stored[-3:]
    assert journal.samples("d1", since_seq=stored[5].seq) == stored[6:]


def test_a_sample_that_is_stored_again_is_the_one_there_is(journal: Journal) -> None:
    first = [sample("d1", 0), sample("d1", 0), sample("d1", 1)]
    stored = journal.add_samples(None, first)
    assert len({s.seq for s in stored}) == 3
    assert journal.add_samples(None, first) == stored
    assert journal.samples("d1") == stored
    changed = journal.add_samples(None, [replace(first[0], detail="other")])
    assert changed[0].seq > stored[-1].seq


@pytest.mark.parametrize("per_signal", [1, 3, 100])
def test_the_last_samples_of_many_deployments_are_those_of_each_alone(journal: Journal, per_signal: int) -> None:
    names = [f"d{n}" for n in range(6)]
    for name in names:
        journal.create(deployment(name))
    kinds = list(SignalKind)
    journal.add_samples(None, [sample(names[n % 5], n, kinds[n * n % 3]) for n in range(120)])
    found = journal.last_samples(names, per_signal)
    for name in names:
        alone = [s for kind in kinds for s in journal.samples(name, kind, per_signal)]
        assert found[name] == sorted(alone, key=lambda s: s.seq)
    assert journal.last_samples([], 3) == {}


def test_old_samples_of_closed_deployments_are_forgotten_and_no_others(journal: Journal) -> None:
    for name, happenings in {"old": TO_CLEAN, "watched": TO_MONITORING}.items():
        walk(journal, name, happenings)
        journal.add_samples(None, [sample(name, n) for n in range(20)])
    assert journal.prune(START) == 0
    assert journal.prune(START + timedelta(days=1)) == 20
    assert (len(journal.samples("old")), len(journal.samples("watched"))) == (0, 20)
    assert journal.events("old") != []


@pytest.mark.parametrize("said, kept", [
    ("plain", "plain"), ("größer 漢", "größer 漢"), ("nul \0 here", "nul \ufffd here"),
    ("half \udcff", "half \ufffd\ufffd\ufffd"),
])  # fmt: skip
def test_whatever_a_program_says_can_be_kept(journal: Journal, said: str, kept: str) -> None:
    journal.create(replace(deployment("d1"), note=said))
    journal.add_samples(None, [sample("d1", detail=said)])
    journal.note(None, "d1", "hook", said, {"said": said}, moment())
    here = journal.deployment("d1")
    assert here is not None and here.note == kept
    assert [s.detail for s in journal.samples("d1")] == [kept]
    assert [(e.reason, e.numbers) for e in journal.events("d1")][1:] == [
        (kept, {"said": said})
    ]  # JSON has escapes for it


def test_numbers_that_are_none_are_kept_as_null(journal: Journal) -> None:
    numbers = {"a": float("nan"), "b": [float("inf"), {"c": 1.5}], "d": Path("x"), "e": (1, None)}
    journal.add_samples(None, [replace(sample("d1"), numbers=numbers)])
    assert journal.samples("d1")[0].numbers == {"a": None, "b": [None, {"c": 1.5}], "d": "x", "e": [1, None]}


RUN = ProcessRun("d1", 1, "nonce", BOOT, 4242, 777, 4241, 770, started=moment(1))


def test_a_run_is_known_before_it_is_started_and_open_until_it_ended(journal: Journal) -> None:
    journal.create(deployment("d1"))
    planned = ProcessRun("d1", 1, "nonce", BOOT)
    for _ in range(2):
        journal.plan_run(None, planned)
    assert (journal.runs("d1"), journal.open_runs("web"), journal.open_runs("api")) == ([planned], [planned], [])
    for _ in range(2):
        journal.run_started(None, RUN)
    journal.plan_run(None, planned)
    assert journal.open_runs("web") == [RUN]
    for _ in range(2):
        journal.run_ended(None, replace(RUN, ended=moment(9), exit_code=-9, expected=True))
    assert journal.runs("d1") == [replace(RUN, ended=moment(9), exit_code=-9, expected=True)]
    assert journal.open_runs("web") == []


def test_how_a_run_ended_stays_but_a_code_that_becomes_known_is_added(journal: Journal) -> None:
    journal.run_started(None, RUN)
    journal.run_ended(None, replace(RUN, ended=moment(5)))
    journal.run_ended(None, replace(RUN, ended=moment(6), exit_code=7, expected=True))
    journal.run_ended(None, replace(RUN, ended=moment(7), exit_code=0))
    assert journal.runs("d1") == [replace(RUN, ended=moment(5), exit_code=7)]


def test_a_run_that_ended_before_it_was_written_down_is_ended(journal: Journal) -> None:
    journal.run_ended(None, replace(RUN, ended=moment(5), exit_code=1))
    journal.run_started(None, RUN)
    assert journal.runs("d1") == [replace(RUN, ended=moment(5), exit_code=1)]


def test_requests_are_seen_by_the_supervisor_of_their_service_until_answered(journal: Journal) -> None:
    first = journal.ask("web", "d1", "pause", {"why": "lunch"}, "me", moment(1))
    second = journal.ask("api", "", "deploy", {}, "you", moment(2))
    third = journal.ask("web", "d1", "resume", {}, "me", moment(3))
    assert first < second < third
    assert [r.seq for r in journal.requests({"web"}, 0)] == [first, third]
    assert [r.seq for r in journal.requests(["web", "api"], first)] == [second, third]
    journal.answer(None, first, "paused", True)
    journal.answer(None, first, "no", False)
    assert [r.seq for r in journal.requests({"web"}, 0)] == [third]
    answered = journal.request(first)
    assert answered is not None
    assert (answered.kind, answered.arguments, answered.by, answered.at) == ("pause", {"why": "lunch"}, "me", moment(1))
    assert (answered.answer, answered.ok) == ("paused", True)
    assert journal.request(999) is None


def test_what_many_clients_ask_at_once_is_seen_in_the_order_of_numbers(journal: Journal) -> None:
    """A poll that saw a number has seen all below it."""
    seen: list[int] = []

    def asking(number: int) -> list[int]:
        return [journal.ask("web", "", "deploy", {"n": number}, "me", moment()) for _ in range(10)]

    with ThreadPoolExecutor(5) as pool:
        asked = [pool.submit(asking, number) for number in range(4)]
        while len(seen) < 40:
            seen += [r.seq for r in journal.requests({"web"}, max(seen, default=0))]
    assert seen == sorted(seq for numbers in asked for seq in numbers.result())


def test_the_writer_stores_what_many_put_and_tells_each_their_numbers(journal: Journal) -> None:
    journal.create(deployment("d1"))
    writer = SampleWriter(journal)
    futures = [writer.put(None, [sample("d1", n), sample("d1", n + 0.5)]) for n in range(200)]
    writer.close()
    stored = [s for future in futures for s in future.result(60)]
    assert journal.samples("d1") == stored
    with pytest.raises(OutsideError, match="closed"):
        writer.put(None, [sample("d1", 999)]).result(60)


def test_all_is_there_after_the_journal_is_opened_anew(dsn: str, opened: Callable[[str], Journal]) -> None:
    first = opened(dsn)
    fence = taken(first)
    first.put_service("web", {"a": 1}, "/srv/deploy.yaml", "here")
    first.set_in_service(fence, "web", "d1")
    here = walk(first, "d1", TO_MONITORING)
    stored = first.add_samples(fence, [sample("d1")])
    first.close()
    again = opened(dsn)
    assert again.deployment("d1") == here
    assert again.samples("d1") == stored
    assert [(s.name, s.spec, s.spec_path, s.in_service) for s in again.services("here")] == [
        ("web", {"a": 1}, "/srv/deploy.yaml", "d1")
    ]
    assert again.services("there") == []


def test_a_service_that_is_put_again_keeps_its_lease_and_what_serves(journal: Journal) -> None:
    fence = taken(journal)
    journal.set_in_service(fence, "web", "d1")
    journal.put_service("web", {"b": 2}, "/x", "here")
    (service,) = journal.services()
    assert (service.spec, service.in_service) == ({"b": 2}, "d1")
    assert journal.renew([fence], 10) == set()


def test_the_statements_of_the_seed_work_on_the_file(tmp_path: Path) -> None:
    journal = open_journal(f"sqlite:///{tmp_path}/journal.sqlite")
    here = walk(journal, "d1", TO_MONITORING)
    connection = sqlite3.connect(tmp_path / "journal.sqlite")
    for number, status in enumerate(["ok", "fail"]):
        connection.execute(
            "INSERT INTO deploy_health_signal (signal_id, deployment_id, sampled_at, signal_type, status, detail) "
            "VALUES (?, ?, CURRENT_TIMESTAMP, ?, ?, ?)",
            (f"s{number}", "d1", "http_health", status, None),
        )
    newest = connection.execute("SELECT status FROM deploy_health_signal ORDER BY rowid DESC LIMIT 1").fetchone()
    reason = json.dumps({"signal_type": "http_health"})
    connection.execute(
        "UPDATE deployment SET status = 'anomaly_detected', rollback_reason = ? WHERE deployment_id = ?", (reason, "d1")
    )
    connection.commit()
    connection.close()
    assert newest == ("fail",)
    assert [(s.signal, s.status, s.detail, s.numbers) for s in journal.samples("d1")] == [
        (SignalKind.HTTP, SignalStatus.OK, "", {}),
        (SignalKind.HTTP, SignalStatus.FAIL, "", {}),
    ]
    assert abs(journal.samples("d1")[0].at.wall - datetime.now(UTC)) < timedelta(minutes=10)
    assert journal.deployment("d1") == replace(here, state=State.ANOMALY_DETECTED, rollback_reason=reason)
    assert journal.move(None, "d1", here.epoch, Happening.ROLL_BACK, moment()) is not None
    journal.close()


def test_the_file_is_written_through_to_the_disk(tmp_path: Path) -> None:
    journal = open_journal(f"sqlite:///{tmp_path}/sub/folder/journal.sqlite")
    with journal._engine.connect() as connection:
        pragmas = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    assert pragmas == ["wal", 2]
    journal.close()
    assert stat.S_IMODE((tmp_path / "sub/folder/journal.sqlite").stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("text, wall", [
    ("2026-03-01 12:00:00.250", START),
    ("2026-03-01 12:00:00", START.replace(microsecond=0)),
    ("2026-03-01T12:00:00.250Z", START),
    ("2026-03-01T13:00:00.250+01:00", START),
])  # fmt: skip
def test_times_of_all_writers_are_read(text: str, wall: datetime) -> None:
    assert wall_of(text) == wall
    assert wall_of(wall_text(wall)) == wall


@given(st.lists(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)), max_size=20))
def test_times_sort_as_text_as_they_do_as_times(walls: list[datetime]) -> None:
    aware = sorted(wall.replace(tzinfo=UTC, microsecond=wall.microsecond // 1000 * 1000) for wall in walls)
    assert sorted(map(wall_text, aware)) == list(map(wall_text, aware))
    assert [wall_of(wall_text(wall)) for wall in aware] == aware


@pytest.mark.parametrize("dsn, says", [
    ("nothing", "cannot be read"),
    ("sqlite://", "none that is known"),
    ("sqlite:///:memory:", "none that is known"),
    ("mysql://u:hush@h/db", "none that is known"),
    ("postgresql://u:hush@h", "none that is known"),
])  # fmt: skip
def test_an_address_of_no_journal_is_wrong_use(dsn: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        open_journal(dsn)
    assert "hush" not in str(caught.value)
    assert "sqlite:///FILE or postgresql://" in str(caught.value)


def test_a_file_that_is_no_journal_is_told_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(OutsideError, match=r"the journal .*journal\.sqlite cannot be used \(file is not a database\)"):
        open_journal(f"sqlite:///{tmp_path}/journal.sqlite")


def test_a_journal_of_a_newer_version_is_left_alone(dsn: str, opened: Callable[[str], Journal]) -> None:
    first = opened(dsn)
    with first._engine.begin() as connection:
        connection.execute(sa.text("UPDATE deploy_journal_version SET version_num = '9999'"))
    with pytest.raises(OutsideError, match="newer Build-Eye"):
        open_journal(dsn)


def test_an_open_journal_has_the_newest_revision_that_is_shipped(journal: Journal) -> None:
    with journal._engine.connect() as connection:
        revision = connection.scalar(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))
    shipped = max(path.name[:4] for path in Path(schema.__file__).parent.glob("versions/0*.py"))
    assert revision == NEWEST == shipped


def test_what_migrations_make_is_what_statements_see(journal: Journal) -> None:
    made = sa.inspect(journal._engine)
    for table in SERVICE.metadata.sorted_tables:
        assert [c["name"] for c in made.get_columns(table.name)] == [c.name for c in table.columns]


def test_every_state_and_happening_of_the_table_can_be_kept(journal: Journal) -> None:
    for number, ((before, happening), after) in enumerate(TRANSITIONS.items()):
        journal.create(replace(deployment(f"d{number}"), state=before))
        moved = journal.move(None, f"d{number}", 0, happening, moment())
        assert moved is not None and moved.state is after


def test_old_requests_are_forgotten_once_they_were_answered(journal: Journal) -> None:
    answered = journal.ask("web", "d1", "pause", {}, "me", moment(1))
    waiting = journal.ask("web", "d1", "resume", {}, "me", moment(2))
    journal.answer(None, answered, "paused", True)
    assert journal.prune(START) == 0
    assert journal.prune(START + timedelta(days=1)) == 1
    assert journal.request(answered) is None and journal.request(waiting) is not None
