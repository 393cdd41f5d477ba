"""How verdicts look on a terminal: what counts first, then our judgement with what was weighed for and against it."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from buildeye.cli.face import advice, show_lines
from buildeye.cli.tables import WIDTH, table
from buildeye.cli.terminal import Look, cells, cut, wrapped
from buildeye.logs.diagnose import LogReading
from buildeye.logs.secrets import strip_controls
from buildeye.model import Cause, Determinism, Reason, Verdict, VerdictChange
from buildeye.pipeline.verdicts import JobVerdict, RunVerdicts
from buildeye.reports.headline import GRAVITY
from buildeye.reports.words import percent

NAME = 9
"""Cells that the name of a block takes, with the space after it."""
MOST = 8
FACTS = 3
"""Reasons of one kind, jobs alike, and changes that are shown; JSON has all."""
QUOTE = 160
"""Cells of a quote that are shown."""
SHA = 10

_BOLD, _DIM, _GREEN, _RED = 1, 2, 32, 31
_COLOUR = {
    Cause.CODE: 31, Cause.CONFIGURATION: 33, Cause.INFRASTRUCTURE: 35, Cause.INTERFERENCE: 34, Cause.CANCELLED: 36,
    Cause.NONE: 32, Cause.UNKNOWN: 33,
}  # fmt: skip


def named(cause: str, category: str) -> str:
    """A cause and category in one word."""
    return cause if cause == category else f"{cause} / {_plain(category)}"


def show_run(
    run: RunVerdicts, jobs: Sequence[JobVerdict], look: Look, readings: Mapping[int, LogReading] = MappingProxyType({})
) -> str:
    """The verdicts on jobs of a run, equal ones once; with `readings` (by job) also what logs say and what to do."""
    look = dataclasses.replace(look, width=min(look.width, WIDTH))
    workflow = next((each.job.workflow_name for each in jobs if each.job.workflow_name), "")
    head = " · ".join(filter(None, (f"{run.repository} run {run.run_id}", _plain(workflow))))
    blocks = [[look.paint(cut(head, look.width), _BOLD)]]
    if not jobs:
        blocks[0] += wrapped(
            "No failed job of it was judged: `build-eye monitor` judges what failed lately.", look.width
        )
        for said in run.said:
            blocks[0] += _said(
                said.person, said.said_at, f"{named(said.cause, said.category or said.cause)}: {said.why}", look
            )
    attempts = len({each.job.run_attempt for each in jobs}) > 1
    blocks += [_group(alike, look, _first(alike, readings), attempts=attempts) for alike in _alike(jobs)]
    return "\n\n".join("\n".join(block) for block in blocks)


def _alike(jobs: Sequence[JobVerdict]) -> list[list[JobVerdict]]:
    """Jobs judged alike together: of the last attempt first, then the gravest, then the surest."""
    groups: dict[object, list[JobVerdict]] = {}
    for each in sorted(jobs, key=lambda each: each.job.id):
        ours = each.ours
        groups.setdefault((each.job.run_attempt, ours.cause, ours.category, ours.signature, each.said), []).append(each)
    return sorted(groups.values(), key=lambda group: _rank(group[0]))


def _rank(each: JobVerdict) -> tuple[int, int, float, int]:
    counts = each.counts
    return (-each.job.run_attempt, GRAVITY.index(counts.cause), -counts.confidence, each.job.id)


def _first(alike: Sequence[JobVerdict], readings: Mapping[int, LogReading]) -> LogReading | None:
    """What the log of the job that is shown says, or of one judged alike."""
    return next((readings[each.job.id] for each in alike if each.job.id in readings), None)


def _group(alike: Sequence[JobVerdict], look: Look, reading: LogReading | None, *, attempts: bool) -> list[str]:
    first, others = alike[0], alike[1:]
    job = first.job
    number = f"job {job.id}" + (f", attempt {job.run_attempt}" if attempts and job.run_attempt else "")
    name = cut(_plain(job.name) or "the run as a whole", look.width - cells(number) - 8)
    rule = "─" * max(2, look.width - cells(name) - cells(number) - 5)
    lines = [look.paint(f"── {name} {rule} ", _DIM) + look.paint(number, _DIM)]
    if first.said:
        counts = first.counts
        said = f"{named(counts.cause, counts.category)} · says {_plain(first.said.person)}"
        lines += [look.paint(line, _BOLD, _COLOUR[counts.cause]) for line in wrapped(said, look.width)]
        lines += _said(first.said.person, first.said.said_at, first.said.why, look)
        lines += ["", *wrapped(f"Build-Eye judged: {_judged(first.ours)}", look.width)]
    else:
        verdict = wrapped(_judged(first.ours), look.width)
        lines += [look.paint(line, _BOLD, _COLOUR[first.ours.cause]) for line in verdict]
    lines += [*show_lines(reading, look), ""] if reading else []
    lines += [*_weighed(first.ours, look), *_origin(first.ours, look), *_judging(first, look)]
    if others:
        names = [_plain(each.job.name) or str(each.job.id) for each in others[:MOST]]
        more = f" and {len(others) - MOST} more" if len(others) > MOST else ""
        lines += _block("Alike", [", ".join(names) + more], look)
    if reading:
        lines += _labelled("Do", advice(reading.diagnosis.suggestions, look, look.width - NAME), look)
    return lines


def _judged(ours: Verdict) -> str:
    sure = f"{percent(ours.confidence)} % sure"
    how = [] if ours.determinism is Determinism.UNKNOWN else [ours.determinism.value]
    return " · ".join([named(ours.cause, ours.category), *how, f"{sure} ({ours.level})"])


def _said(person: str, said_at: datetime, why: str, look: Look) -> list[str]:
    return _block("Said", [f"{_plain(why)} ({_plain(person)}, {_when(said_at)})"], look)


def _weighed(ours: Verdict, look: Look) -> Iterator[str]:
    against = [reason for reason in ours.reasons if reason.weight < 0]
    speaking = [reason for reason in ours.reasons if reason.weight > 0]
    telling = [reason for reason in ours.reasons if reason.weight == 0 and reason.id != "context"]
    for name, reasons, colour in (("For", speaking, _GREEN), ("Against", against, _RED), ("Facts", telling, _DIM)):
        ordered = sorted(reasons, key=lambda reason: -abs(reason.weight))
        yield from _reasons(name, ordered if reasons is not telling else ordered[:FACTS], colour, look)
    rest = [f"{cause} {percent(probability)} %" for cause, probability in ours.otherwise]
    yield from _block("Else", [", ".join(rest)] if rest else [], look)


def _reasons(name: str, reasons: Sequence[Reason], colour: int, look: Look) -> list[str]:
    """One reason a paragraph, its weight before it; numbers stand below each other."""
    lines: list[str] = []
    weighed = any(reason.weight for reason in reasons)
    for reason in reasons[:MOST]:
        weight = f"{reason.weight:+.1f}" if reason.weight else ""
        first = f"{weight:>4}  " if weighed else ""
        shown = wrapped(_told(reason), look.width - NAME, first=first, rest=" " * len(first))
        if weight and shown:
            shown[0] = look.paint(shown[0][: len(first)], colour) + shown[0][len(first) :]
        lines += shown
    if len(reasons) > MOST:
        lines.append(look.paint(f"and {len(reasons) - MOST} more: -o json", _DIM))
    return _labelled(name, lines, look)


def _told(reason: Reason) -> str:
    why = _plain(reason.why).rstrip(".")
    quote = "" if _plain(reason.quote) in why else cut(_plain(reason.quote), QUOTE)
    where = f"line {reason.line}, {_plain(reason.id)}" if reason.line is not None else _plain(reason.id)
    return f"{': '.join(filter(None, (why, quote)))} ({where})"


def _origin(ours: Verdict, look: Look) -> Iterator[str]:
    """Where interference came from, and who else is hit."""
    merges = ours.merge_range
    if merges:
        count = f", {merges.merges} {'commit' if merges.merges == 1 else 'commits'}" if merges.merges else ""
        good = f"after {merges.good[:SHA]} (passed) " if merges.good else "no passing commit known, "
        yield from _block("Range", [f"{good}up to {merges.bad[:SHA]} (failed){count}"], look)
    culprits = [
        f"{percent(each.probability)} %  {f'#{each.pull_request} ' if each.pull_request else ''}{each.sha[:SHA]}: "
        f"{_plain(each.why)}"
        for each in ours.culprits[:MOST]
    ]
    yield from _block("Culprits", culprits, look)
    hit = ", ".join(f"#{number}" for number in ours.related_pull_requests)
    yield from _block("Hit too", [hit] if hit else [], look)


def _judging(each: JobVerdict, look: Look) -> Iterator[str]:
    ours = each.ours
    by = f" by rule set {_plain(ours.rule_set)}" if ours.rule_set else ""
    if ours.judged_at or by:
        yield from _block("Judged", [f"{_when(ours.judged_at) if ours.judged_at else ''}{by}".strip()], look)
    shown = each.changes[-MOST:]
    yield from _block("Changed", [f"{_when(change.changed_at)}: {_changed(change)}" for change in shown], look)


def _changed(change: VerdictChange) -> str:
    was = f"{named(change.cause_before, change.category_before)} {percent(change.confidence_before)} %"
    became = f"{named(change.cause, change.category)} {percent(change.confidence)} %"
    return f"{was} → {became}" + (f", {_plain(change.why)}" if change.why else "")


def _block(name: str, texts: Sequence[str], look: Look) -> list[str]:
    return _labelled(name, [line for text in texts for line in wrapped(text, look.width - NAME)], look)


def _labelled(name: str, lines: Sequence[str], look: Look) -> list[str]:
    return [
        (look.paint(name, _BOLD) + " " * (NAME - len(name)) if i == 0 else " " * NAME) + line
        for i, line in enumerate(lines)
    ]


def list_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """What people said, a row each, from rows of `person_verdicts_since`."""
    shown = []
    for row in rows:
        jobs = row["jobs"]
        ours = list(dict.fromkeys(named(each["cause"], each["category"]) for each in jobs if each["cause"]))
        job = next((each["name"] for each in jobs if each["name"]), str(row["job_id"])) if row["job_id"] else "all"
        what = named(row["cause"], row["category"] or row["cause"])
        who = f"{row['person']}, {row['said_at']:%Y-%m-%d %H:%M}"
        shown.append([str(row["run_id"]), *map(_plain, (job, what, ", ".join(ours) or "-", who, row["why"]))])
    return table(("run", "job", "verdict", "ours", "who, when (UTC)", "why"), shown)


def change_table(changes: Sequence[tuple[str, VerdictChange]]) -> str:
    """Changes of our judgement, each with the name of its job."""
    rows = [
        (
            f"{change.changed_at:%Y-%m-%d %H:%M}",
            _plain(name),
            f"{named(change.cause_before, change.category_before)} {percent(change.confidence_before)} %",
            f"{named(change.cause, change.category)} {percent(change.confidence)} %",
            _plain(change.why),
            _plain(", ".join(change.reasons)),
        )
        for name, change in changes
    ]
    return table(("when (UTC)", "job", "was", "became", "why", "new reasons"), rows)


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _plain(text: str) -> str:
    return " ".join(strip_controls(text.replace("\t", " ")).split())
