"""Kill -9 at random moments of a sync, again and again, and see whether anything was lost or is there twice.

A child process syncs a simulated day into a warehouse and a log archive; it is killed after a random time or when a
random number of requests has come, whichever the draw says. Then a child that is left alone finishes. What it leaves is
compared, row by row and byte by byte, with a sync that nobody disturbed.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from starlette.applications import Starlette

import buildeye
from buildeye.simulator import build_busy_day
from buildeye.simulator.app import create_app
from buildeye.simulator.server import ledger, serving

NOW = datetime(2026, 5, 28, 18, 0, tzinfo=UTC)
LIMIT = 120  # seconds after which a child is given up

CHILD = """
import json, sys
from datetime import datetime, timedelta
from pathlib import Path
from buildeye.github import GitHub
from buildeye.logstore import open_log_store
from buildeye.pipeline.sync import Scope, sync
from buildeye.pipeline.sync.scope import Silence
from buildeye.warehouse import open_warehouse

address, folder, owner, repo, now, back = sys.argv[1:]
now, folder = datetime.fromisoformat(now), Path(folder)

with open_warehouse(f"chdb://{folder / 'warehouse'}") as warehouse:
    if int(back):
        with GitHub(address, None, cache_dir=folder / "cache") as github:
            scope = Scope(github, warehouse, open_log_store("", folder), owner, repo, "main", (), 10**6, 365, 8, now,
                          Silence(), lambda said: print(said, file=sys.stderr))
            sync(scope, now - timedelta(hours=int(back)))
    views = warehouse.query(
        "SELECT database, name FROM system.tables WHERE name LIKE '%\\\\_latest' ORDER BY ALL"
    ).rows
    rows = {f"{d}.{n}": sorted(repr(r) for r in warehouse.query(f"SELECT * EXCEPT (_version) FROM {d}.{n}").rows)
            for d, n in views}
json.dump(rows, sys.stdout)
"""


@dataclass(frozen=True)
class Left:
    """What a place holds: rows by view, logs by name."""

    rows: dict[str, list[str]]
    logs: dict[str, bytes]


@dataclass
class Place:
    """A folder that children sync a simulated repository into."""

    folder: Path
    address: str
    owner: str
    repo: str

    def start(self, hours: int = 24, *, heard: bool = True) -> "subprocess.Popen[str]":
        """A child that syncs so many hours; none: it only tells. One not `heard` never waits for a reader."""
        names = [self.address, str(self.folder), self.owner, self.repo, NOW.isoformat(), str(hours)]
        sources = str(Path(buildeye.__file__).parents[1])
        return subprocess.Popen(
            [sys.executable, "-c", CHILD, *names], stdout=subprocess.PIPE if heard else subprocess.DEVNULL,
            stderr=subprocess.PIPE if heard else subprocess.DEVNULL, text=True,
            env=os.environ | {"PYTHONPATH": sources, "NO_PROXY": "127.0.0.1"},
        )  # fmt: skip

    def finish(self, hours: int = 24) -> Left:
        """Sync undisturbed and tell what is there then."""
        with self.start(hours) as child:
            out, err = child.communicate(timeout=LIMIT)
        if child.returncode or err:
            raise RuntimeError(f"a sync that nobody disturbed ended with {child.returncode}: {err[-2000:]}")
        root = self.folder / "logs"
        logs = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        return Left(json.loads(out), logs)


def measure(kills: int, seed: int = 1) -> dict[str, float]:
    """Kill syncs `kills` times in all, in several places one after the other; what was lost and what is there twice."""
    random = Random(seed)
    past = build_busy_day(3, NOW, 10)
    lost = doubled = done = 0
    with tempfile.TemporaryDirectory() as name:
        app = create_app(past, limit=10**9)
        with serving(app) as address:
            wanted = Place(Path(name) / "calm", address, past.owner, past.name).finish()
            requests = ledger(app).requests
            number = 0
            while done < kills:
                number += 1
                place = Place(Path(name) / f"place-{number}", address, past.owner, past.name)
                done += kill_often(place, app, random, min(12, kills - done), requests)
                found = place.finish()
                lost += missing(wanted, found)
                doubled += missing(found, wanted) + repeated(found)
    return {"kills_sync": done, "lost_sync": lost, "doubled_sync": doubled}


def kill_often(place: Place, app: Starlette, random: Random, times: int, requests: int) -> int:
    """Start syncs and kill each: one half once so many requests have come, the other half some moments after one has.

    Gives how many were killed before they were through.
    """
    killed = 0
    for _ in range(times):
        before = ledger(app).requests
        enough = before + random.randrange(1, max(2, requests // times))
        pause = random.choice((0.0, random.uniform(0, 0.4)))
        with place.start(heard=False) as child:
            deadline = time.monotonic() + LIMIT
            while ledger(app).requests < enough and child.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(pause)
            child.send_signal(signal.SIGKILL)
            child.wait()
        killed += child.returncode == -signal.SIGKILL
    return killed


def missing(wanted: Left, found: Left) -> int:
    """Rows and logs of `wanted` that `found` has not, or has otherwise."""
    rows = sum(len(set(rows) - set(found.rows.get(view, ()))) for view, rows in wanted.rows.items())
    return rows + sum(found.logs.get(name) != log for name, log in wanted.logs.items())


def repeated(found: Left) -> int:
    """Rows that a view holds more than once."""
    return sum(len(rows) - len(set(rows)) for rows in found.rows.values())
