"""Who brought it: the range of merges between the last pass and the first equal failure, and the likeliest of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp
from pathlib import PurePosixPath

from buildeye.model import Culprit
from buildeye.triage.files import named_files, overlap
from buildeye.triage.history import History
from buildeye.triage.results import Merge, Result, Subject

FILE_NAMED, FILE_RELATED, SAME_FOLDER = 2.6, 1.6, 0.6
FAILED_BEFORE, FIRST_FAILING, ONLY_DOCS, PASSED_BEFORE = 3.0, 0.7, -2.5, -0.5
"""Log-odds of each sign that a merge brought a failure."""
NOBODY = 0.25
"""That no merge of the range brought it, beside 1 for a merge that fits nothing."""
MOST = 5
_BACK = timedelta(days=4)
_DOCS = (".md", ".rst", ".txt", ".png", ".svg")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a failure of the base branch began: the last commit that passed, the first that failed, those between.

    `keys` are the jobs that failed.
    """

    good: str
    bad: str
    merges: tuple[Merge, ...]
    keys: frozenset[tuple[str, str]]


def origin_of(subject: Subject, history: History, alike: Sequence[Result]) -> Origin | None:
    """The range in which it began; None when no pass before it is known, so that it has no beginning.

    A pull request is built with the base branch of its moment, so one that passes shows that the base was good then,
    and one that fails alike, when several do, that it was bad.
    """
    own = subject.own
    failures = sorted((r for r in (*alike, own)), key=lambda r: (r.built, r.run_id))
    streak = _last_streak(failures, own, history)
    first = streak[0]
    keys = frozenset(r.key for r in streak)
    passes = [r for key in keys for r in history.of_job(key, first.built - _BACK, first.ended + _BACK)
              if r.conclusion == "success" and r.built < first.built]  # fmt: skip
    good = max(passes, key=lambda r: r.built, default=None)
    if good is None:
        return None
    start, end = _moment(good, history), _moment(first, history)
    merges = tuple(m for m in history.merged(start, end) if m.sha != good.head_sha)
    last_good = good.head_sha if good.on_base else _base_at(start, history)
    bad = merges[-1].sha if merges else _base_at(end, history)
    return Origin(last_good, bad, merges, keys)


def _moment(result: Result, history: History) -> datetime:
    """When the base branch was as this result shows it."""
    merge = history.merge_of.get(result.head_sha) if result.on_base else None
    return merge.at if merge else result.built


def _base_at(moment: datetime, history: History) -> str:
    before = history.merged(moment - _BACK, moment)
    return before[-1].sha if before else ""


def _last_streak(failures: Sequence[Result], own: Result, history: History) -> list[Result]:
    """The equal failures of the base branch, or built with it, since the last pass of the base branch before this one.

    There is at least one: the failure itself, or one of the base branch. Failures of a pull request before it was
    merged itself show nothing of the base.
    """
    base = [r for r in failures if r.on_base and r.built <= max(own.built, own.ended)]
    shown = [r for r in failures if r.on_base or not _is_of_later_merge(r, base, history)]
    if base:
        keys = {r.key for r in base}
        passes = [
            r.built for key in keys for r in history.on_base(key) if r.conclusion == "success" and r.built < own.built
        ]
        edge = max((p for p in passes if any(r.built > p for r in base)), default=None)
        return [r for r in shown if edge is None or r.built > edge]
    return [r for r in shown if abs(r.built - own.built) <= _BACK / 2]


def _is_of_later_merge(result: Result, base: Sequence[Result], history: History) -> bool:
    merge = history.merge_of_pull.get(result.pull_request) if result.pull_request is not None else None
    return merge is not None and merge.at > result.built and bool(base) and base[0].built >= merge.at


@dataclass(frozen=True, slots=True)
class Suspect:
    """A merge of the range: `score` in log-odds, `fit` from 0 (nothing speaks for it) to 1, and why."""

    merge: Merge
    score: float
    fit: float
    why: str

    @property
    def name(self) -> str:
        """Its pull request, or else its commit."""
        return f"#{self.merge.pull_request}" if self.merge.pull_request else self.merge.sha[:12]


def suspects_of(subject: Subject, history: History, origin: Origin) -> list[Suspect]:
    """The merges of the range, likeliest first; of equals the later one."""
    named = named_files(subject)
    found = [_suspect(merge, origin, named, history, subject) for merge in origin.merges]
    return sorted(found, key=lambda suspect: (-suspect.score, -suspect.merge.at.timestamp()))


def probabilities(suspects: Sequence[Suspect]) -> list[float]:
    """How probable each is. They sum to less than 1: what nobody merged may have brought it too."""
    raised = [exp(suspect.score) for suspect in suspects]
    return [each / (NOBODY + sum(raised)) for each in raised]


def rank(subject: Subject, history: History, origin: Origin) -> tuple[Culprit, ...]:
    """The merges of the range, likeliest first, at most five; probabilities are among all of the range."""
    suspects = suspects_of(subject, history, origin)
    return tuple(
        Culprit(suspect.merge.sha, round(share, 3), suspect.why, suspect.merge.pull_request)
        for suspect, share in zip(suspects[:MOST], probabilities(suspects), strict=False)
    )


def _suspect(merge: Merge, origin: Origin, named: set[str], history: History, subject: Subject) -> Suspect:
    score, fit, whys = 0.0, 0.0, []
    close = overlap(merge.files, named)
    if close == 2:
        score, fit, whys = FILE_NAMED, 1.0, ["it changes a file that the failure names"]
    elif close == 1:
        score, fit, whys = FILE_RELATED, 0.7, ["it changes what the failing test is about"]
    elif _same_folder(merge.files, named):
        score, fit, whys = SAME_FOLDER, 0.3, ["it changes files beside those that the failure names"]
    mine = [r for key in origin.keys for r in history.before_merge(merge, key)]
    if any(r.failed and _same(r, subject.own) for r in mine):
        score, fit, whys = score + FAILED_BEFORE, 1.0, [*whys, "it failed alike before it was merged"]
    elif mine and mine[-1].conclusion == "success":
        score, whys = score + PASSED_BEFORE, [*whys, "it passed this job before it was merged"]
    if merge.sha == origin.bad and len(origin.merges) > 1:
        score, whys = score + FIRST_FAILING, [*whys, "it is the first commit that failed"]
    if merge.files and all(path.endswith(_DOCS) or path.startswith("docs/") for path in merge.files):
        score, fit, whys = score + ONLY_DOCS, 0.0, [*whys, "it changes documents only"]
    return Suspect(merge, score, fit, "; ".join(whys) or "it was merged in the range")


def _same(result: Result, own: Result) -> bool:
    return result.signature == own.signature or bool(set(result.tests) & set(own.tests))


def _same_folder(files: Iterable[str], named: set[str]) -> bool:
    folders = {str(PurePosixPath(path).parent) for path in named if "/" in path}
    return any(str(PurePosixPath(path).parent) in folders for path in files if "/" in path)
