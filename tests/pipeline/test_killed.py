"""A pass that is killed at any moment is finished by the next one, as if nothing had happened."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from buildeye.simulator import Past
from buildeye.simulator.server import running
from tests.pipeline.conftest import Twice
from tests.pipeline.places import LIMIT, Place


def _parts(place: Place, table: str) -> bool:
    """Did the warehouse get rows of this table?"""
    return any((place.folder / "warehouse" / "data" / table).glob("[0-9]*_*/checksums.txt"))


def _any(place: Place, pattern: str) -> bool:
    return next(place.folder.glob(pattern), None) is not None


# In the order in which they come, so that the kill of one leaves the next still to come.
MOMENTS: dict[str, Callable[[Place], bool]] = {
    "after facts are written": lambda place: _parts(place, "default/workflow_job"),
    "while logs come in": lambda place: _any(place, "data/logs/**/*.log.zst"),
    "after verdicts are written, before reports": lambda place: _parts(place, "buildeye/verdict"),
    "while reports are written": lambda place: _any(place, "reports/2*/**/*.md"),
    "before the archive has them": lambda place: (place.folder / "data" / "archive" / ".git").exists(),
}


def test_a_pass_killed_at_any_moment_is_finished_by_the_next(
    tmp_path: Path, past: Past, hours: int, twice: Twice
) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, hours)
        for moment in MOMENTS:
            _kill_at(place, moment)
        done = place.run("monitor")
    assert done.returncode == 0, done.stderr
    assert place.rows() == twice.first.rows
    assert place.report_texts() == twice.first.reports
    assert place.archived() == twice.first.archived


def _kill_at(place: Place, name: str) -> None:
    """Start a pass and kill it, as nothing can be caught, as soon as the moment has come."""
    with place.start("monitor") as child:
        deadline = time.monotonic() + LIMIT
        while not MOMENTS[name](place):
            assert time.monotonic() < deadline, f"{name}: the moment did not come"
            try:
                child.wait(0.002)
            except subprocess.TimeoutExpired:
                continue
            break
        child.kill()
    assert child.returncode == -signal.SIGKILL, f"{name}: the pass was over before that"
