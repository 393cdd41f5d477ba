"""Fits the weights of evidence to generated histories: `make weights`. It prints what it found; --write keeps it.

It begins with benchmarks/judging/weights_by_hand.toml and writes knowledge/tables/weights.toml.

Cases are taken as a monitor meets them: with all that came later, at first sight, with a warehouse that is a day
behind, without any history, and without a log; so that verdicts are weaker where less is known.
"""

import argparse
import multiprocessing
import random
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks.judging.fitting import Example, balanced, explanation_of, fit, isotonic, rewritten  # noqa: E402
from benchmarks.judging.loading import Loaded, load, spans, without_log  # noqa: E402

from buildeye import knowledge  # noqa: E402
from buildeye.pipeline.history import history_around, subjects_between, window_of  # noqa: E402
from buildeye.simulator.facts import Past  # noqa: E402
from buildeye.simulator.histories import build_history  # noqa: E402
from buildeye.triage.evidence import gather  # noqa: E402
from buildeye.triage.fusion import believe  # noqa: E402
from buildeye.triage.history import History  # noqa: E402
from buildeye.triage.results import Subject  # noqa: E402
from buildeye.triage.weights import Weights, read_weights  # noqa: E402
from buildeye.warehouse import Warehouse, open_warehouse  # noqa: E402

BY_HAND = HERE / "judging" / "weights_by_hand.toml"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FITTED, CALIBRATED = (1, 2, 3), (4,)
"""Seeds of the histories that weights are fitted on, and of those that what they say is measured on."""
POINTS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.995, 1.0)
HEAD = "# What was right where so much was stated, measured on histories that the weights were not fitted on.\n"


def main() -> None:
    """Fit, measure, print; with --write change the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--pull", type=float, default=20.0, help="how much a weight is drawn to where it began")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    text = BY_HAND.read_text(encoding="utf-8")
    weights = read_weights(text)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        seeds = (*FITTED, *CALIBRATED)
        found = dict(zip(seeds, pool.map(examples_of, seeds, [given.runs] * len(seeds)), strict=True))
    learnt = [example for seed in FITTED for example in found[seed]]
    told("before", learnt, weights)
    text = rewritten(text, fit(balanced(learnt), weights, pull=given.pull))
    weights = read_weights(text)
    told("after", learnt, weights)
    held = [example for seed in CALIBRATED for example in found[seed]]
    told("held out", held, weights)
    points = isotonic(*outcomes(held, weights), POINTS)
    text += f"\n{HEAD}[calibration]\npoints = {[list(point) for point in points]}\n"
    print(points)
    if given.write:
        (knowledge.FOLDER / "tables" / "weights.toml").write_text(text, encoding="utf-8")


def examples_of(seed: int, runs: int) -> list[Example]:
    """Cases of one history, in every state of knowledge."""
    weights = read_weights(BY_HAND.read_text(encoding="utf-8"))
    past = build_history(seed, NOW, runs=runs)
    with tempfile.TemporaryDirectory() as folder, open_warehouse(f"chdb://{folder}/warehouse") as warehouse:
        loaded = load(past, warehouse)
        found = list(_examples(past, warehouse, loaded, weights, random.Random(seed)))
    print(f"seed {seed}: {len(found):,} cases")
    return found


def _examples(
    past: Past, warehouse: Warehouse, loaded: Loaded, weights: Weights, rng: random.Random
) -> Iterator[Example]:
    settings, window = loaded.settings, window_of(loaded.settings)
    steps = list(spans(past))
    whole = history_around(warehouse, settings, steps[0][0], past.now, past.now)
    day = timedelta(days=1)
    for since, until in steps:
        subjects = [s for s in subjects_between(warehouse, settings, since, until) if _counts(s, past, weights)]
        if not subjects:
            continue
        fresh = history_around(warehouse, settings, since, until, until)
        stale = history_around(warehouse, settings, since, until, since - day)
        for subject in subjects:
            truth = explanation_of(past.truth(subject.job.id), weights)
            yield Example(subject.diagnosis, gather(subject, whole, window), truth)
            yield Example(subject.diagnosis, gather(subject, fresh, window), truth, 0.7)
            if rng.random() < 0.3:
                yield Example(subject.diagnosis, gather(subject, stale, window), truth)
            if rng.random() < 0.3:
                yield Example(subject.diagnosis, gather(subject, History(), window), truth)
            if rng.random() < 0.2:
                bare = without_log(subject)
                yield Example(bare.diagnosis, gather(bare, whole, window), truth)


def _counts(subject: Subject, past: Past, weights: Weights) -> bool:
    stopped = subject.own.conclusion == "cancelled"
    return not stopped and bool(explanation_of(past.truth(subject.job.id), weights))


def outcomes(examples: list[Example], weights: Weights) -> tuple[list[float], list[bool]]:
    """What was stated of the likeliest cause of each case, and whether it was right."""
    stated, right = [], []
    for example in examples:
        belief = believe(example.diagnosis, example.pieces, weights)
        cause = weights.causes[belief.best]
        stated.append(belief.of_cause(cause))
        right.append(cause is weights.causes[example.truth])
    return stated, right


def told(name: str, examples: list[Example], weights: Weights) -> None:
    """One line: how often the likeliest cause is right, and how often where nine in ten or more was stated."""
    stated, right = outcomes(examples, weights)
    sure = [r for s, r in zip(stated, right, strict=True) if s >= 0.9]
    print(f"{name:10} right {sum(right) / len(right):.4f} of {len(right)}; wrong where sure "
          f"{sum(not r for r in sure) / max(len(sure), 1):.4f} of {len(sure)}")  # fmt: skip


if __name__ == "__main__":
    main()
