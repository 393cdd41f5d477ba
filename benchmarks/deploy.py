"""What deployments cost: healthy ones taken back, trouble found late, requests lost, kills survived; and how many fit.

    python benchmarks/deploy.py [--seed N] [--only PART,PART] [--out FILE]

Parts: simulation, rates, troubles, cutovers, load, kills, many. Prints the numbers beside the goals and writes them
into benchmarks/deploy.json; a run of some parts writes only where --out names a file. See docs/benchmarks.md.
"""

import argparse
import platform
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

from benchmarks import processes  # noqa: E402 - found by the path set above
from benchmarks.deploying import cutovers, kills, load, many, rates, simulation, troubles  # noqa: E402
from benchmarks.kept import keep  # noqa: E402

SEED = 6
Numbers = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Goal:
    """A number that is asked for: at most, or at least, so much."""

    bar: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        """Whether a value is as good as asked for."""
        return value >= self.bar if self.at_least else value <= self.bar

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bar:g}"


GOALS: Mapping[str, Goal] = {
    "false_rollback_max": Goal(0.012),
    "drop_median_tasks": Goal(11),
    "drop_found_share": Goal(0.95, at_least=True),
    "death_seen_s": Goal(1),
    "outage_seen_s": Goal(60),
    "flapping_seen_s": Goal(600),
    "requests_lost": Goal(0),
    "requests_sent": Goal(10_000, at_least=True),
    "kills": Goal(300, at_least=True),
    "wrong_final_states": Goal(0),
    "rate_speedup_vs_seed": Goal(50, at_least=True),
    "watched_per_core": Goal(1_000, at_least=True),
    "watched_latest_s": Goal(many.LATE),
}


def main() -> None:
    """Measure, print, and write the numbers."""
    given = _parsed()
    _allow_many_files()
    numbers: Numbers = {}
    for name, part in PARTS.items():
        if given.only and name not in given.only.split(","):
            continue
        began = time.monotonic()
        numbers |= part(given.seed)
        numbers.setdefault("seconds_of_parts", {})[name] = round(time.monotonic() - began)
        print(f"{name} took {time.monotonic() - began:.0f} s", flush=True)
    report(numbers)
    facts = {
        "seed": given.seed,
        "machine": f"{platform.machine()}, {processes.machine()}, Python {platform.python_version()}",
        "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
    }
    if out := given.out or (None if given.only else HERE / "deploy.json"):
        keep(out, numbers | facts)
        print(f"written: {out.name}")


def report(numbers: Numbers) -> None:
    """Print every number, with its goal where it has one; a goal that is missed stands out."""
    for name, value in numbers.items():
        if isinstance(value, Mapping):
            print(f"{name}: " + ", ".join(f"{key} {each}" for key, each in value.items()))
        elif (goal := GOALS.get(name)) is not None:
            print(f"{name:40} {value:>12,.5g}   goal {goal}{'' if goal.met(value) else '   MISSED'}")
        else:
            print(f"{name:40} {value:>12,.5g}" if isinstance(value, int | float) else f"{name}: {value}")


def _simulation(seed: int) -> Numbers:
    """Healthy deployments and troubles through the judges; what real processes measure better is kept as detail."""
    found: Numbers = dict(simulation.measure(seed))
    found["simulated_outage_seen_s"] = found.pop("outage_seen_s")
    found["seed_false_rollback_at_.9"] = found["seed_false_rollback_at_0.9"]
    return found


def _rates(seed: int) -> Numbers:
    return dict(rates.measure())


def _troubles(seed: int) -> Numbers:
    return dict(troubles.measure(seed))


def _cutovers(seed: int) -> Numbers:
    found = cutovers.measure()
    sent = sum(int(str(told["sent"])) for told in found.values() if isinstance(told, Mapping))
    return {"requests_sent": sent, **found}


def _load(seed: int) -> Numbers:
    """The route without a supervisor, beside simpler ways; what it loses counts as the supervisor's does."""
    found = dict(load.measure())
    return {"route_requests_lost": found.pop("requests_lost"), **found}


def _kills(seed: int) -> Numbers:
    found = dict(kills.measure(seed=seed))
    for story in found.pop("wrong"):  # type: ignore[attr-defined]
        print(story)
    return found


def _many(seed: int) -> Numbers:
    return dict(many.measure())


PARTS: Mapping[str, Callable[[int], Numbers]] = {
    "simulation": _simulation,
    "rates": _rates,
    "troubles": _troubles,
    "cutovers": _cutovers,
    "load": _load,
    "kills": _kills,
    "many": _many,
}


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if unknown := set(filter(None, given.only.split(","))) - set(PARTS):
        parser.error(f"--only {', '.join(sorted(unknown))}: known are {', '.join(PARTS)}")
    return given


def _allow_many_files() -> None:
    """A thousand services need some thousand descriptors in the process that answers for them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    main()
