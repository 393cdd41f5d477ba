"""Did the ground move? Images and versions that changed between the last pass and the failure."""

import re
from collections.abc import Iterator, Sequence

from buildeye.logs.environment import Change, changed
from buildeye.model import Thing
from buildeye.triage.evidence.piece import Piece, Window
from buildeye.triage.files import is_machinery, is_manifest
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject

MOVING = {"image": "image-moved", "runner-image": "image-moved", "package": "package-moved", "tool": "tool-moved"}
SHOWN = 4


def judge_ground(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """What ran in this job compared with the same job's last pass that is known; moves this change made are its own."""
    own = subject.own
    here = history.things.get(own.job_id)
    if here:
        good = last_pass_with_things(subject, history, alike)
        if good is not None:
            yield from _moved(subject, history.things[good.job_id], here, good)
    if own.on_base:
        same = [r for r in history.on_commit(own.head_sha, own.key) if r.run_id != own.run_id]
        passed = [r for r in same if r.conclusion == "success" and r.built < own.built]
        if passed and not any(r.conclusion == "success" and r.built > own.built for r in same):
            yield Piece(
                "same-commit-passed-before", 1.0, f"run {passed[-1].run_id}",
                f"the same commit of the base branch passed this job before, in run {passed[-1].run_id}",
            )  # fmt: skip


def last_pass_with_things(subject: Subject, history: History, alike: Sequence[Result]) -> Result | None:
    """The last passing run of the job, before the failures nearby began, of which is known what it ran in."""
    own = subject.own
    onset = min([own.built, *(r.built for r in alike if r.key == own.key and r.built <= own.built)])
    rows = history.of_job(own.key, own.built - Window().known, own.ended)
    passed = [r for r in rows if r.conclusion == "success" and r.job_id in history.things]
    before = [r for r in passed if r.ended <= onset]
    return before[-1] if before else None


def _moved(subject: Subject, before: Sequence[Thing], after: Sequence[Thing], good: Result) -> Iterator[Piece]:
    files = subject.pull_request.changed_files if subject.pull_request else ()
    pins = any(is_manifest(path) or is_machinery(path) for path in files)
    said = _said(subject)
    found: dict[str, list[Change]] = {}
    for move in changed(before, after):
        if move.before and move.after:
            found.setdefault(MOVING[move.kind], []).append(move)
    for identity, moves in found.items():
        named = [move for move in moves if identity != "image-moved" and _names(said, move.name)]
        told = ", ".join(_told(move) for move in (named or moves)[:SHOWN])
        yield Piece(
            f"{identity}-by-change" if pins else identity, 1.0, told,
            f"since run {good.run_id} passed, these moved: {told}",
        )  # fmt: skip
        if named:
            yield Piece("moved-is-named", 1.0, _told(named[0]), f"the failure names {named[0].name}, which moved")


def _told(move: Change) -> str:
    return f"{move.name} {_short(move.before)} -> {_short(move.after)}"


def _short(value: str) -> str:
    return value[:19] if value.startswith("sha256:") else value[:24]


def _said(subject: Subject) -> str:
    diagnosis = subject.diagnosis
    quotes = (e.quote for e in diagnosis.evidence)
    key = diagnosis.key_line.text if diagnosis.key_line else ""
    return " ".join((key, diagnosis.summary, *quotes, *diagnosis.files)).lower()


def _names(said: str, name: str) -> bool:
    """Is the package named as a word, maybe with its version? It is imported with underscores for its dashes."""
    plain = re.escape(name.lower()).replace(r"\-", "[-_]")
    return len(name) > 2 and re.search(rf"(?<![a-z0-9_-]){plain}(?![a-z0-9_]|-(?!\d))", said) is not None
