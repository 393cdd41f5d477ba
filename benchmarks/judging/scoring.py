"""Verdicts beside the truth: the numbers that are asked for, and the confusion of causes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from buildeye.model import Cause, Determinism, Verdict
from buildeye.simulator.facts import Truth

SURE = 0.9
BINS = 10
BRANCH_WIDE = frozenset({"broken-trunk", "concurrent-merge"})


@dataclass(frozen=True, slots=True)
class Judged:
    """One job: what was held of it and what is true."""

    verdict: Verdict
    truth: Truth

    @property
    def right(self) -> bool:
        """Is the cause right?"""
        return self.verdict.cause is self.truth.cause


def scores(judged: Sequence[Judged]) -> dict[str, float]:
    """The measures of the benchmark, each from 0 to 1."""
    said = [j for j in judged if j.verdict.cause is Cause.INTERFERENCE]
    is_so = [j for j in judged if j.truth.cause is Cause.INTERFERENCE]
    flaky = [j for j in judged if j.verdict.cause is Cause.CODE and j.verdict.determinism is Determinism.FLAKY]
    flaky_tests = [j for j in judged if j.truth.cause is Cause.CODE and j.truth.determinism is Determinism.FLAKY]
    any_flaky = [j for j in judged if j.verdict.determinism is Determinism.FLAKY]
    brought = [j for j in said if j.truth.category in BRANCH_WIDE and j.truth.culprits]
    named = [j for j in brought if {c.pull_request for c in j.verdict.culprits[:2]} & set(j.truth.culprits)]
    sure = [j for j in judged if j.verdict.confidence >= SURE and j.verdict.cause is not Cause.UNKNOWN]
    known = [j for j in judged if j.verdict.cause is not Cause.UNKNOWN]
    return {
        "cause_accuracy": share(sum(j.right for j in judged), len(judged)),
        "category_accuracy": share(
            sum(j.right and j.verdict.category == j.truth.category for j in judged), len(judged)
        ),
        "interference_precision": share(sum(j.right for j in said), len(said)),
        "interference_recall": share(sum(j.right for j in is_so), len(is_so)),
        "flaky_precision": share(sum(j.truth.determinism is Determinism.FLAKY for j in flaky), len(flaky)),
        "flaky_recall": share(
            sum(j.verdict.determinism is Determinism.FLAKY and j.right for j in flaky_tests), len(flaky_tests)
        ),
        "any_flaky_precision": share(sum(j.truth.determinism is Determinism.FLAKY for j in any_flaky), len(any_flaky)),
        "culprit_top2": share(len(named), len(brought)),
        "ece": calibration_error(known),
        "sure_share": share(len(sure), len(judged)),
        "sure_and_wrong": share(sum(not j.right for j in sure), len(sure)),
        "unknown_share": share(len(judged) - len(known), len(judged)),
    }


def share(part: float, whole: float) -> float:
    """A part of a whole, to four places; 0 of nothing."""
    return round(part / whole, 4) if whole else 0.0


def calibration_error(judged: Sequence[Judged]) -> float:
    """Expected calibration error over ten bins (Naeini, Cooper and Hauskrecht 2015): stated against right."""
    total = 0.0
    for number in range(BINS):
        here = [j for j in judged if number == min(int(j.verdict.confidence * BINS), BINS - 1)]
        if here:
            stated = sum(j.verdict.confidence for j in here) / len(here)
            total += abs(stated - sum(j.right for j in here) / len(here)) * len(here)
    return share(total, len(judged))


def confusion(pairs: Iterable[tuple[str, str]]) -> str:
    """A table of true causes (rows) and told ones (columns)."""
    counts = Counter(pairs)
    causes = [c.value for c in Cause if any(c.value in pair for pair in counts)]
    lines = [f"{'truth / told':16}" + "".join(f"{cause[:14]:>15}" for cause in causes)]
    for truth in causes:
        row = [counts[truth, told] for told in causes]
        if sum(row):
            lines.append(f"{truth:16}" + "".join(f"{count:15}" if count else f"{'.':>15}" for count in row))
    return "\n".join(lines)


def by_story(judged: Sequence[Judged]) -> str:
    """Right causes by kind of story."""
    stories = sorted({j.truth.story for j in judged})
    lines = [f"{'story':20}{'jobs':>7}{'right':>8}{'most often told else':>34}"]
    for story in stories:
        here = [j for j in judged if j.truth.story == story]
        wrong = Counter(f"{j.verdict.cause}/{j.verdict.category}" for j in here if not j.right)
        told = ", ".join(f"{name} {count}" for name, count in wrong.most_common(2))
        lines.append(f"{story:20}{len(here):7}{share(sum(j.right for j in here), len(here)):8.3f}  {told:>32}")
    return "\n".join(lines)
