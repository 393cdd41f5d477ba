"""What GitHub is asked for, and what a kill loses: a simulated day of 1,000 runs, one in ten of which fails.

    python benchmarks/github.py [--only requests|kills] [--kills N] [--out FILE]

Prints the numbers and writes them into benchmarks/github.json beside those that other benchmarks have put there.
See docs/benchmarks.md.
"""

import argparse
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks import killing, processes  # noqa: E402 - found by the path set above
from benchmarks.kept import keep  # noqa: E402 - found by the path set above

from buildeye.github import GitHub  # noqa: E402
from buildeye.logstore import open_log_store  # noqa: E402
from buildeye.pipeline.sync import Scope, sync  # noqa: E402
from buildeye.pipeline.sync.runs import has_jobs  # noqa: E402
from buildeye.pipeline.sync.scope import Silence  # noqa: E402
from buildeye.simulator import Past, build_busy_day  # noqa: E402
from buildeye.simulator.app import create_app  # noqa: E402
from buildeye.simulator.server import serving  # noqa: E402
from buildeye.warehouse import open_warehouse  # noqa: E402

PULLS = 240  # pull requests that begin in the day: 1,001 runs
KILLS = 120


def main() -> None:
    """Measure, print, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("requests", "kills"), help="one part alone")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"how many times a sync is killed ({KILLS})")
    parser.add_argument("--out", type=Path, default=HERE / "github.json", help="where to put the numbers")
    wanted = parser.parse_args()
    numbers: dict[str, float] = {}
    if wanted.only != "kills":
        numbers |= requests()
    if wanted.only != "requests":
        numbers |= killing.measure(wanted.kills)
    report(numbers, wanted.out)


def requests() -> dict[str, float]:
    """Requests of a first sync, and of a second one with nothing new."""
    now = datetime.now(UTC).replace(microsecond=0)
    past = build_busy_day(7, now, PULLS)
    with tempfile.TemporaryDirectory() as name, serving(create_app(past, limit=10**9)) as address:
        folder = Path(name)
        with open_warehouse(f"chdb://{folder / 'warehouse'}") as warehouse:
            passes = []
            for minutes in (0, 10):
                with GitHub(address, "token", cache_dir=folder / "cache") as github:
                    start = time.process_time()
                    moment = now + timedelta(minutes=minutes)
                    scope = Scope(
                        github, warehouse, open_log_store("", folder), past.owner, past.name, "main", (), 10**6, 365, 8,
                        moment, Silence(), tell,
                    )  # fmt: skip
                    done = sync(scope, moment - timedelta(hours=24))
                    passes.append((github.stats, time.process_time() - start, done))
    (first, seconds, done), (second, again, _) = passes
    runs = {run.id: run for run in past.attempts}
    with_jobs = sum(has_jobs(run) for run in runs.values())
    return {
        "runs": len(runs),
        "runs_failed": sum(run.conclusion == "failure" for run in runs.values()),
        "runs_without_jobs": len(runs) - with_jobs,
        "jobs_failed": sum(job.conclusion == "failure" for job in past.jobs),
        "logs_kept": done.logs.kept,
        "requests_first": first.requests,
        "requests_per_run_first": round(first.requests / len(runs), 3),
        "requests_per_run_with_jobs_first": round(first.requests / with_jobs, 3),
        "requests_second_pass": second.requests,
        "requests_second_pass_not_modified": second.not_modified,
        "requests_per_run_original": round(original(past) / len(runs), 3),
        "requests_second_pass_original": original(past),
        "cpu_seconds_first": round(seconds, 1),
        "cpu_seconds_second_pass": round(again, 2),
    }


def original(past: Past) -> int:
    """Requests of one pass of the original, which asks for everything each time.

    Pages of runs; for each run its jobs; for each of a pull request also that and its commits; for each failed job its
    log.
    """
    runs = {run.id: run for run in past.attempts}.values()
    of_pull_requests = sum(run.event.startswith("pull_request") for run in runs)
    latest = {run.id: run.run_attempt for run in runs}
    failed = sum(job.conclusion == "failure" and job.run_attempt == latest[job.run_id] for job in past.jobs)
    return -(-len(runs) // 100) + len(runs) + 2 * of_pull_requests + failed


def tell(what: str) -> None:
    """A warning of the sync."""
    print(what, file=sys.stderr)


def report(numbers: dict[str, float], out: Path) -> None:
    """Print the numbers, and write them beside those the file has from other benchmarks."""
    for name, value in numbers.items():
        print(f"{name:40} {value:>12,.4g}")
    facts = {
        "machine": f"{platform.machine()}, {processes.machine()}, Python {platform.python_version()}",
        "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
    }
    keep(out, numbers | facts)
    print(f"written: {out.name}")


if __name__ == "__main__":
    main()
