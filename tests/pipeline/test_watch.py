"""Pass after pass: by a clock that only moves when somebody waits, and as a real process that gets signals."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette

from buildeye.model import OutsideError, UsageError
from buildeye.pipeline.watch import (
    LAST_GOOD,
    LOCK,
    StopAsked,
    StoppingProgress,
    keep_last_good,
    last_good,
    only_watcher,
    reach,
    sleeper,
    watch,
)
from buildeye.simulator import Past
from buildeye.simulator.app import create_app
from buildeye.simulator.server import ledger, running, serving
from tests.pipeline.conftest import Twice
from tests.pipeline.places import LIMIT, Place, environment

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Day:
    """A clock that waiting moves, and a wish to stop that comes at a time; `log` says what happened when."""

    def __init__(self, stop_at: timedelta) -> None:
        self.now = NOON
        self.stop_at = NOON + stop_at
        self.log: list[str] = []
        self.took = timedelta()
        self.jump = timedelta()

    def clock(self) -> datetime:
        return self.now

    def asked(self) -> bool:
        return self.now >= self.stop_at

    def wait(self, seconds: float) -> bool:
        assert 0 < seconds <= 60
        self.now = min(self.now + timedelta(seconds=seconds) + self.jump, max(self.stop_at, self.now))
        self.jump = timedelta()
        return self.asked()

    def note(self, what: str) -> None:
        self.log.append(f"{self.now:%H:%M} {what}")

    def run(self, one_pass: Callable[[], None], every: timedelta = 6 * HOUR) -> list[str]:
        watch(
            one_pass, every, self, clock=self.clock,
            failed=lambda error, due: self.note(f"failed ({error}), next {due:%H:%M}"),
            done=lambda due: self.note(f"done, next {due:%H:%M}"),
        )  # fmt: skip
        return self.log


def test_the_first_pass_is_at_once_and_the_others_at_their_interval() -> None:
    day = Day(stop_at=13 * HOUR)
    assert day.run(lambda: day.note("pass")) == [
        "12:00 pass", "12:00 done, next 18:00", "18:00 pass", "18:00 done, next 00:00", "00:00 pass",
        "00:00 done, next 06:00",
    ]  # fmt: skip
    assert day.now == NOON + 13 * HOUR, "it stops when it is asked to, not at the next pass"


def test_a_pass_that_takes_long_does_not_shift_the_ones_after_it_and_is_not_made_up_for() -> None:
    day = Day(stop_at=14 * HOUR)
    lengths = iter([2 * HOUR, 7 * HOUR, HOUR])

    def slow() -> None:
        day.note("pass")
        day.now += next(lengths)

    assert [line for line in day.run(slow) if line.endswith("pass")] == ["12:00 pass", "18:00 pass", "01:00 pass"]


@pytest.mark.parametrize("error", [OutsideError("GitHub is away"), OSError(28, "No space left"), KeyError("a bug")])
def test_a_pass_that_fails_is_said_and_the_next_one_comes(error: Exception) -> None:
    day = Day(stop_at=7 * HOUR)

    def failing() -> None:
        day.note("pass")
        if day.now == NOON:
            raise error

    assert day.run(failing) == [
        "12:00 pass",
        f"12:00 failed ({error}), next 18:00",
        "18:00 pass",
        "18:00 done, next 00:00",
    ]


def test_wrong_configuration_ends_it() -> None:
    def wrong() -> None:
        raise UsageError("no such thing")

    with pytest.raises(UsageError):
        Day(stop_at=HOUR).run(wrong)


def test_a_clock_that_is_set_back_costs_at_most_one_interval() -> None:
    day = Day(stop_at=12 * HOUR)
    day.jump = -2 * HOUR
    passes = [line for line in day.run(lambda: day.note("pass")) if line.endswith("pass")]
    assert passes[:2] == ["12:00 pass", "16:01 pass"]


def test_a_wish_to_stop_ends_a_pass_between_two_units_of_work() -> None:
    day = Day(stop_at=HOUR)

    class Told:
        def start(self, what: str, total: int) -> Callable[[int], None]:
            day.note(f"{what} of {total}")
            return lambda n: day.note(f"did {n}")

    def working() -> None:
        progress = StoppingProgress(Told(), day)
        step = progress.start("jobs", 3)
        for _ in range(3):
            day.now += HOUR / 2
            step(1)
        raise AssertionError("it went on")

    assert day.run(working) == ["12:00 jobs of 3", "12:30 did 1", "13:00 did 1"]


def test_a_wait_for_github_ends_with_the_wish_to_stop() -> None:
    day = Day(stop_at=timedelta(seconds=30))
    sleeper(day)(20)
    with pytest.raises(StopAsked):
        sleeper(day)(20)


@pytest.mark.parametrize(
    ("lookback", "hours_ago", "reached"),
    [(24, None, 24), (24, 6, 24), (24, 30, 31), (24, 30.5, 32), (1, 6, 7), (24, 90_000, 2160), (24, -5, 24)],
)
def test_a_pass_reaches_back_to_the_last_one_that_went_well(
    lookback: int, hours_ago: float | None, reached: int
) -> None:
    before = None if hours_ago is None else NOON - timedelta(hours=hours_ago)
    assert reach(lookback, before, NOON) == reached


@pytest.mark.parametrize("content", ["", "{", "[]", '{"o/r": 5}', '{"o/r": "soon"}', '{"o/r": "2026-11-30T12:00:00"}'])
def test_what_is_remembered_is_kept_by_repository_and_not_believed_when_it_is_broken(
    tmp_path: Path, content: str
) -> None:
    assert last_good(tmp_path, "o/r") is None
    keep_last_good(tmp_path, "o/r", NOON)
    assert (last_good(tmp_path, "o/r"), last_good(tmp_path, "o/other")) == (NOON, None)
    (tmp_path / LAST_GOOD).write_text(content)
    assert last_good(tmp_path, "o/r") is None


def test_two_watchers_of_one_folder_do_not_fight(tmp_path: Path) -> None:
    with only_watcher(tmp_path / "data"):
        with (
            pytest.raises(OutsideError, match=r"another build-eye watches with .*data \(PID \d+\)"),
            only_watcher(tmp_path / "data"),
        ):
            pass
        with only_watcher(tmp_path / "other"):
            pass
    with only_watcher(tmp_path / "data"):
        assert (tmp_path / "data" / LOCK).exists()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutsideError, match=r"storage\.data_dir"), only_watcher(tmp_path / "file" / "data"):
        pass


class Watcher:
    """A `monitor --watch` that runs, and what it has said so far."""

    def __init__(self, place: Place, process: "subprocess.Popen[str]") -> None:
        self.place, self.process = place, process

    @property
    def said(self) -> str:
        return (self.place.folder / "said.txt").read_text()

    def until(self, text: str) -> None:
        deadline = time.monotonic() + LIMIT
        while text not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.01)

    def until_asked(self, app: Starlette, requests: int) -> None:
        """Wait until the simulated GitHub has been asked so often."""
        deadline = time.monotonic() + LIMIT
        while ledger(app).requests < requests:
            assert time.monotonic() < deadline, self.said
            time.sleep(0.002)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(LIMIT)


@contextmanager
def watching(place: Place, *arguments: str, **variables: str) -> Iterator[Watcher]:
    with (place.folder / "said.txt").open("w") as said:
        process = subprocess.Popen(
            place.command("monitor", "--watch", *arguments, "--config", "config.yaml"),
            cwd=place.folder, env=environment(**variables), stdout=said, stderr=said, text=True,
        )  # fmt: skip
    try:
        yield Watcher(place, process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_passes_waits_and_ends_with_0_when_asked(
    tmp_path: Path, past: Past, hours: int, twice: Twice, number: int
) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, hours)
        with watching(place) as watcher:
            watcher.until("next pass at")
            kept = [len(list(Path(f"/proc/{watcher.process.pid}/{what}").iterdir())) for what in ("task", "fd")]
            second = place.run("monitor", "--watch")
            assert watcher.end(number) == 0
            lines = watcher.said.splitlines()
    assert (second.returncode, f"PID {watcher.process.pid}" in second.stderr) == (3, True)
    assert kept[0] == 1 and kept[1] < 16, "the engine of a pass leaves no threads and no files in the watcher"
    for line in lines:
        datetime.strptime(line.split(" ")[0], "%Y-%m-%dT%H:%M:%SZ")
    assert lines[0].endswith(f"watching {past.full_name}, a pass every 6 h (PID {watcher.process.pid})")
    assert any(f"last {hours} h" in line for line in lines)
    assert lines[-1].endswith("stopped as asked; the next start goes on from here")
    assert place.rows() == twice.first.rows
    assert place.report_texts() == twice.first.reports
    assert place.archived() == twice.first.archived


def test_a_pass_that_is_stopped_midway_is_finished_by_the_next_start(tmp_path: Path, past: Past) -> None:
    app = create_app(past)
    with serving(app) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, 24)
        with watching(place) as watcher:
            watcher.until_asked(app, 5)
            assert watcher.end(signal.SIGTERM) == 0
            assert "next pass at" not in watcher.said
        with watching(place) as watcher:
            watcher.until("next pass at")
            assert watcher.end(signal.SIGTERM) == 0
    assert place.report_texts() and place.commits()


def test_a_watcher_that_was_away_looks_back_to_where_it_was(tmp_path: Path, past: Past, hours: int) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, 1)
        keep_last_good(place.folder / "data", past.full_name, datetime.now(UTC) - timedelta(hours=hours - 1, minutes=5))
        with watching(place, "--dry-run") as watcher:
            watcher.until("next pass at")
            assert watcher.end(signal.SIGTERM) == 0
    assert f"last {hours + 1} h" in watcher.said
    kept = last_good(place.folder / "data", past.full_name)
    assert kept and kept > datetime.now(UTC) - timedelta(seconds=LIMIT)


def test_github_away_is_one_line_and_not_the_end(tmp_path: Path) -> None:
    place = Place.made(tmp_path / "place", "http://127.0.0.1:9", "octo/widgets", 1)
    with watching(place, BUILD_EYE_API__MAX_RETRIES="0") as watcher:
        watcher.until("next pass at")
        assert watcher.process.poll() is None
        assert watcher.end(signal.SIGTERM) == 0
    failures = [line for line in watcher.said.splitlines() if "this pass failed: " in line]
    assert len(failures) == 1 and "127.0.0.1 cannot be reached" in failures[0]
    assert "Traceback" not in watcher.said


def test_a_wait_for_the_rate_limit_does_not_keep_it_from_ending(tmp_path: Path, past: Past) -> None:
    app = create_app(past, limit=3)
    with serving(app) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, 24)
        with watching(place, BUILD_EYE_API__RATE_LIMIT_WAIT_SECONDS="3700") as watcher:
            watcher.until_asked(app, 4)
            assert watcher.end(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        ((), {"BUILD_EYE_MONITORING__POLLING_INTERVAL_HOURS": "0"}),
        (("--target-repo", "nobody"), {}),
        ((), {"BUILD_EYE_STORAGE__WAREHOUSE_DSN": "chdb://"}),
    ],
)
def test_wrong_configuration_ends_with_2(
    tmp_path: Path, past: Past, arguments: tuple[str, ...], variables: dict[str, str]
) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, 1)
        with watching(place, *arguments, **variables) as watcher:
            assert watcher.process.wait(LIMIT) == 2, watcher.said
