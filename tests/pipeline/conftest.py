"""One simulated past, one undisturbed place with two passes over it, and one chain of stages, for all workers together.

Whoever comes first makes them, under a lock; the others read what was left.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from buildeye.simulator import Past, build_past
from buildeye.simulator.server import running
from tests.pipeline.places import Place

SEED = 7


@dataclass(frozen=True)
class Passed:
    """What one pass said and left."""

    code: int
    out: str
    err: str
    rows: dict[str, list[str]]
    reports: dict[str, str]
    archived: dict[str, str]
    commits: list[str]


@dataclass(frozen=True)
class Twice:
    """Two passes over the same day, one after the other, and the place they left."""

    place: Place
    first: Passed
    second: Passed


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this session share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared-pipeline"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def past(shared: Path) -> Past:
    """Three weeks up to now, the same for every worker."""
    moment = _once(shared, "now", lambda: datetime.now(UTC).isoformat())
    return build_past(SEED, datetime.fromisoformat(moment))


@pytest.fixture(scope="session")
def hours(past: Past) -> int:
    """About a day, chosen so that no run begins near the edge while tests go on."""
    return _quiet(past, range(24, 29))


@pytest.fixture(scope="session")
def half_day(past: Past) -> int:
    """Hours of about half a day, chosen alike."""
    return _quiet(past, range(12, 18))


def _quiet(past: Past, among: Sequence[int]) -> int:
    begins = [past.now - run.created_at for run in past.attempts if run.created_at]
    quiet = timedelta(minutes=10)
    return next(h for h in among if not any(timedelta() <= timedelta(hours=h) - b < quiet for b in begins))


@pytest.fixture(scope="session")
def twice(shared: Path, past: Past, hours: int) -> Twice:
    """A place after two passes that nothing disturbed."""
    folder = shared / "undisturbed"

    def make() -> str:
        with running(past) as address:
            place = Place.made(folder, address, past.full_name, hours)
            return json.dumps([asdict(_pass(place)) for _ in range(2)])

    first, second = json.loads(_once(shared, "twice", make))
    return Twice(Place(folder), Passed(**first), Passed(**second))


@pytest.fixture(scope="session")
def chain(shared: Path, past: Past, hours: int) -> Path:
    """A folder with the file of every stage, each made by its own command; `said.json` holds what they printed."""
    folder = shared / "chain"

    def make() -> str:
        with running(past) as address:
            place = Place.made(folder, address, past.full_name, hours)
            said = [place.run(*stage, config=stage[0] != "recommend") for stage in STAGES]
        return json.dumps([(done.returncode, done.stdout, done.stderr) for done in said])

    (folder.parent / "chain.json").write_text(_once(shared, "chain-said", make))
    return folder


STAGES = (
    ("fetch-runs", "--output", "data/workflow_runs.json"),
    ("collect-metadata", "--input", "data/workflow_runs.json", "--output", "data/build_metadata.json"),
    ("classify", "--input", "data/build_metadata.json", "--output", "data/classifications.json"),
    ("recommend", "--input", "data/classifications.json", "--output", "data/recommendations.json"),
    ("report", "--input", "data/recommendations.json", "--output", "reports/"),
    ("archive", "--input", "reports/", "--repo", "archive.git", "--dry-run"),
    ("archive", "--input", "reports/", "--repo", "archive.git"),
)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _once(shared: Path, name: str, make: Callable[[], str]) -> str:
    """What `make` gave to the first who asked."""
    kept = shared / f"{name}.txt"
    with _locked(shared / f"{name}.lock"):
        if not kept.exists():
            kept.write_text(make())
    return kept.read_text()


def _pass(place: Place) -> Passed:
    done = place.run("monitor")
    return Passed(
        done.returncode,
        done.stdout,
        done.stderr,
        place.rows(),
        place.report_texts(),
        place.archived(),
        place.commits(),
    )
