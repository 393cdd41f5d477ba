"""How good verdicts are, on a generated history of 60 days whose truth the judges never see; and how fast they come.

    python benchmarks/triage.py [--seed N] [--runs N] [--days N] [--out FILE] [--show]

Prints the numbers, the confusion of causes and the same for the rules of the original system on the same logs, and
writes the numbers into benchmarks/triage.json. See docs/benchmarks.md.
"""

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks.judging.loading import Loaded, load, logs_of, spans, without_log  # noqa: E402 - found by the path set above
from benchmarks.judging.recorded import recorded_agreement  # noqa: E402
from benchmarks.judging.scoring import Judged, by_story, confusion, scores, share  # noqa: E402
from benchmarks.kept import keep  # noqa: E402
from benchmarks.peers.first_pattern import cause_of  # noqa: E402

from buildeye.model import Cause  # noqa: E402
from buildeye.pipeline.history import history_around, subjects_between, thresholds_of, window_of  # noqa: E402
from buildeye.simulator.facts import Past  # noqa: E402
from buildeye.simulator.histories import build_history  # noqa: E402
from buildeye.triage.history import History  # noqa: E402
from buildeye.triage.judge import judge  # noqa: E402
from buildeye.triage.results import Subject  # noqa: E402
from buildeye.warehouse import Warehouse, open_warehouse  # noqa: E402

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SEED = 2611
"""A seed that no one looked at while rules or weights were made; those used then are in benchmarks/weights.py."""


def main() -> None:
    """Measure, print, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--days", type=float, default=60)
    parser.add_argument("--out", type=Path, default=HERE / "triage.json")
    parser.add_argument("--show", action="store_true", help="also what is wrong, by kind of story")
    given = parser.parse_args()
    began = time.monotonic()
    past = build_history(given.seed, NOW, days=given.days, runs=given.runs)
    print(f"history of {given.days:g} days made in {time.monotonic() - began:.0f} s")
    with tempfile.TemporaryDirectory() as folder, open_warehouse(f"chdb://{folder}/warehouse") as warehouse:
        began = time.monotonic()
        loaded = load(past, warehouse)
        print(
            f"{loaded.runs:,} runs, {loaded.jobs:,} jobs, {loaded.logs:,} logs read in {time.monotonic() - began:.0f} s"
        )
        numbers = measure(past, warehouse, loaded, show=given.show)
    keep(given.out, {"seed": given.seed, **numbers})
    for name, value in numbers.items():
        print(f"  {name:34}{value:>12}")


def measure(past: Past, warehouse: Warehouse, loaded: Loaded, *, show: bool) -> dict[str, float]:
    """Verdicts with hindsight, verdicts at first sight, speed, and the original's rules beside them."""
    final, seconds = at_the_end(past, warehouse, loaded)
    print(f"\nverdicts on {len(final):,} failed or stopped jobs, all of the history known\n")
    print(confusion((str(j.truth.cause), str(j.verdict.cause)) for j in final))
    if show:
        print("\n" + by_story(final))
    first = at_first_sight(past, warehouse, loaded)
    print("\nverdicts of the first pass after the failure, a pass every 6 hours\n")
    print(confusion((str(j.truth.cause), str(j.verdict.cause)) for j in first))
    if show:
        print("\n" + by_story(first))
    logs = logs_of(past)
    told = [(str(j.truth.cause), cause_of(logs.get(j.verdict.job_id, ""))) for j in final]
    print("\nthe original's rules on the same jobs: the first word wins, infrastructure where there is none\n")
    print(confusion(told))
    numbers = scores(final)
    numbers |= {f"first_{name}": value for name, value in scores(first).items()}
    numbers["jobs_judged"] = len(final)
    numbers["jobs_per_s"] = round(len(final) / seconds)
    numbers["seconds_for_10000"] = round(10_000 * seconds / len(final), 1)
    numbers |= growth(past, warehouse, loaded)
    numbers |= with_less(past, warehouse, loaded)
    numbers["original_cause_accuracy"] = share(sum(truth == said for truth, said in told), len(told))
    agreement = recorded_agreement()
    if agreement is not None:
        numbers["recorded_cause_agreement"] = agreement
    return numbers


def at_the_end(past: Past, warehouse: Warehouse, loaded: Loaded) -> tuple[list[Judged], float]:
    """Everything judged in one go, and the seconds that took."""
    since, until = next(spans(past))[0], past.now
    began = time.monotonic()
    found = judged_between(past, warehouse, loaded, since, until, until)
    return found, time.monotonic() - began


def at_first_sight(past: Past, warehouse: Warehouse, loaded: Loaded) -> list[Judged]:
    """What a monitor said that came by every 6 hours and knew nothing of what came later."""
    return [
        each
        for since, until in spans(past)
        for each in judged_between(past, warehouse, loaded, since, until, until)
    ]  # fmt: skip


def with_less(past: Past, warehouse: Warehouse, loaded: Loaded) -> dict[str, float]:
    """Wrong ones among the sure where less is known: no history, a warehouse that is a day behind, no logs."""
    thresholds, window = thresholds_of(loaded.settings), window_of(loaded.settings)
    numbers: dict[str, list[Judged]] = {"no_history": [], "day_behind": [], "no_logs": []}
    whole = history_around(warehouse, loaded.settings, next(spans(past))[0], past.now, past.now)
    for since, until in spans(past, hours=24):
        subjects = [s for s in subjects_between(warehouse, loaded.settings, since, until) if _counts(s, past)]
        behind = history_around(warehouse, loaded.settings, since, until, since)
        for subject in subjects:
            truth, bare = past.truth(subject.job.id), without_log(subject)
            for name, each, history in (
                ("no_history", subject, History()), ("day_behind", subject, behind), ("no_logs", bare, whole),
            ):  # fmt: skip
                numbers[name].append(Judged(judge(each, history, thresholds, until, window=window), truth))
    told = ("cause_accuracy", "sure_share", "sure_and_wrong")
    return {f"{name}_{measure}": scores(judged)[measure] for name, judged in numbers.items() for measure in told}


def _counts(subject: Subject, past: Past) -> bool:
    return past.truth(subject.job.id).cause is not Cause.NONE


def judged_between(
    past: Past, warehouse: Warehouse, loaded: Loaded, since: datetime, until: datetime, now: datetime
) -> list[Judged]:
    """Verdicts on the jobs that ended in a span, as of `now`."""
    subjects = subjects_between(warehouse, loaded.settings, since, until)
    history = history_around(warehouse, loaded.settings, since, until, now)
    window, thresholds = window_of(loaded.settings), thresholds_of(loaded.settings)
    return [
        Judged(judge(subject, history, thresholds, now, window=window), past.truth(subject.job.id))
        for subject in subjects
        if _counts(subject, past)
    ]


def growth(past: Past, warehouse: Warehouse, loaded: Loaded) -> dict[str, float]:
    """Milliseconds a job to judge the last day, with so many days of history before it known."""
    numbers = {}
    until = past.now
    for days in (1, 10, 60):
        settings = loaded.settings.model_copy(deep=True)
        object.__setattr__(settings.classification, "known_flaky_window_days", days)
        began = time.monotonic()
        count = 0
        for _ in range(3):
            subjects = subjects_between(warehouse, settings, until - timedelta(days=1), until)
            history = history_around(warehouse, settings, until - timedelta(days=1), until, until)
            for subject in subjects:
                judge(subject, history, thresholds_of(settings), until, window=window_of(settings))
            count += len(subjects)
        numbers[f"ms_a_job_{days}_days"] = round((time.monotonic() - began) / max(count, 1) * 1000, 2)
    return numbers


if __name__ == "__main__":
    main()
