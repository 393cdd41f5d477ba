"""How many webhook events a second `build-eye serve` takes in, and what kill -9 does to them.

    python benchmarks/webhooks.py [--rate N] [--seconds N] [--kills N] [--only load|kills] [--out FILE]

The load comes from a process of its own (webhook_load.py). Prints the numbers and puts them into benchmarks/github.json
beside those that are there. A run that is not whole (--only, or less than 1,500 events/s, 30 s, 100 kills) writes
nothing unless --out names a file. See docs/benchmarks.md.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks import processes, webhook_kills, webhook_load  # noqa: E402 - found by the path set above
from benchmarks.kept import keep  # noqa: E402 - found by the path set above

from buildeye.github.events import fact_of  # noqa: E402
from buildeye.model import CheckRun, Job, PullRequest, Push, Run  # noqa: E402
from buildeye.warehouse import open_warehouse  # noqa: E402

RATE, SECONDS, KILLS = 1_550, 30, 110
TABLES = {
    Run: ("default.workflow_run", "id"),
    Job: ("default.workflow_job", "id"),
    PullRequest: ("default.pull_request", "number"),
    Push: ("default.push", "after"),
    CheckRun: ("buildeye.check_run", "id"),
}


def main() -> None:
    """Measure, print, and write the numbers."""
    arguments = parsed()
    numbers: dict[str, float] = {}
    if arguments.only != "kills":
        with tempfile.TemporaryDirectory() as name:
            numbers |= take_load(Path(name), arguments.rate, arguments.seconds)
    if arguments.only != "load":
        with tempfile.TemporaryDirectory() as name:
            outcome = webhook_kills.kill_often(Path(name), arguments.kills, seed=arguments.kills)
            numbers |= {
                "kills_webhooks": outcome.kills,
                "acknowledged_webhooks": outcome.acknowledged,
                "lost_webhooks": outcome.lost,
                "doubled_webhooks": outcome.doubled,
            }
    for key, value in numbers.items():
        print(f"{key:34} {value:>12,.4g}")
    whole = not arguments.only and arguments.rate >= 1_500 and arguments.seconds >= 30 and arguments.kills >= 100
    if out := arguments.out or (HERE / "github.json" if whole else None):
        write(out, numbers)


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=RATE, help=f"events a second ({RATE})")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"how long ({SECONDS})")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"how often the server is killed ({KILLS})")
    parser.add_argument("--only", choices=("load", "kills"), help="one part alone")
    parser.add_argument("--out", type=Path, help="where to write the numbers")
    return parser.parse_args()


def take_load(folder: Path, rate: int, seconds: int) -> dict[str, float]:
    """A server under load until its spool is empty; an error when a row is missing afterwards."""
    port = webhook_kills.free_port()
    server = webhook_kills.start(folder, port)
    try:
        webhook_kills.wait_until(lambda: bool(webhook_kills.health(port)), server)
        command = [sys.executable, str(HERE / "webhook_load.py"), str(port), str(rate), str(seconds)]
        environ = os.environ | {webhook_load.SECRET_VARIABLE: webhook_kills.SECRET}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    finally:
        server.kill()
        server.wait()
    said = json.loads(done.stdout)
    webhook_kills.drained(folder, port)
    assert said["accepted"] == said["sent"], f"{said['sent'] - said['accepted']} deliveries were not accepted"
    missing = missing_rows(folder, rate * seconds)
    return {
        "webhook_events_per_s": said["sent"] / said["seconds"],
        "webhook_p50_ms": said["p50_ms"],
        "webhook_p99_ms": said["p99_ms"],
        "webhook_max_ms": said["max_ms"],
        "webhook_rows_missing": missing,
    }


def missing_rows(folder: Path, count: int) -> int:
    """How many things were told of and are not in the warehouse."""
    told: dict[type, set[tuple[str, object]]] = {kind: set() for kind in TABLES}
    for sent in webhook_load.story_deliveries(count, webhook_kills.SECRET):
        fact = fact_of(sent.headers["x-github-event"], sent.body)
        assert fact is not None
        told[type(fact)].add((fact.repository_full_name, getattr(fact, TABLES[type(fact)][1])))
    missing = 0
    with open_warehouse(f"chdb://{folder / 'warehouse'}") as warehouse:
        for kind, (table, key) in TABLES.items():
            rows = warehouse.query(f"SELECT repository_full_name, {key} FROM {table}_latest").rows
            assert len(rows) == len(set(rows)), f"{table}_latest has rows twice"
            missing += len(told[kind] - set(rows))
    return missing


def write(out: Path, numbers: dict[str, float]) -> None:
    """Put the numbers into a file beside what it holds."""
    facts = {
        "webhook_machine": f"{platform.machine()}, {processes.machine()}, Python {platform.python_version()}",
        "webhook_when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
    }
    keep(out, numbers | facts)
    print(f"written: {out.name}")


if __name__ == "__main__":
    main()
