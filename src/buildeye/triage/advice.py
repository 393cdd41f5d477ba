"""What to do about a failed run: the advice of the rule that decided and that of templates, cheapest first.

Of interference what says whose problem it is leads. A re-run is told with its reason; one that cannot help is not
told, and the first thing to do says why.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from buildeye.logs.filling import fill_command, fill_text
from buildeye.logs.wording import LOOK
from buildeye.model import Cause, Cost, Diagnosis, Finding, Suggestion
from buildeye.triage.situation import Retry, Situation
from buildeye.triage.templates import Template, When

MAX_SUGGESTIONS = 6
RULES_ADVICE = 30
"""Where the advice of rules stands among equal costs (`Template.order`)."""

_COST = {Cost.LOW: 0, Cost.MEDIUM: 1, Cost.HIGH: 2}
RERUN = "rerun"
"""The group of templates that say whether a re-run helps, and why."""
_RERUN = re.compile(r"gh run rerun\b")
_BARE = re.compile(r"(?i)(?:re-run|run it)(?: once)?(?: more)?(?: the failed jobs?| the job)?")
"""A title that says no more than to re-run."""
_FILLERS = frozenset({"Start the job again.", "Re-run the failed jobs.", "A re-run needs no change."})
"""Steps that say again what their title says."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A suggestion with what its place depends on; `source` is the id of its template, empty for a rule's advice."""

    suggestion: Suggestion
    order: int = RULES_ADVICE
    source: str = ""
    group: str = ""
    lead: bool = False
    step: bool = False

    @property
    def rank(self) -> tuple[bool, int, int]:
        return (not self.lead, _COST[self.suggestion.cost], self.order)

    @property
    def reruns(self) -> bool:
        return bool(_RERUN.match(self.suggestion.command))


def advise(finding: Finding, templates: Sequence[Template], base_branch: str = "") -> tuple[Suggestion, ...]:
    """At most `MAX_SUGGESTIONS` things to do about a run, each once: those for the job that speaks for it come first.

    `base_branch` is the branch that is watched, for runs that belong to no pull request.
    """
    kept: list[_Piece] = []
    note = ""
    for situation in _situations(finding, base_branch):
        pieces = sorted(_pieces(situation, templates), key=lambda piece: piece.rank)
        if situation.leading:
            note = next((p.suggestion.title for p in pieces if p.step), "")
        for piece in pieces:
            if not piece.step and len(kept) < MAX_SUGGESTIONS and not _told(piece, kept):
                kept.append(piece if situation.leading else replace(piece, lead=False))
    ordered = [piece.suggestion for piece in sorted(kept, key=lambda piece: piece.rank)]
    if note and ordered:
        ordered[0] = replace(ordered[0], steps=(*ordered[0].steps, note))
    return tuple(ordered)


def _situations(finding: Finding, base_branch: str) -> Iterator[Situation]:
    """The job that speaks for the run, then one job of each other kind of failure."""
    run, pull = finding.run, finding.pull_request
    if not finding.jobs:
        yield Situation(run, finding.verdict, pull_request=pull, base_branch=base_branch)
    speaks = [job for job in finding.jobs if job.verdict.job_id == finding.verdict.job_id]
    rest = [job for job in finding.jobs if job.verdict.job_id != finding.verdict.job_id]
    seen: set[tuple[str, str, str]] = set()
    for number, job in enumerate([*speaks, *rest]):
        kind = (job.verdict.cause, job.verdict.category, job.verdict.signature)
        if kind not in seen:
            seen.add(kind)
            related = job.verdict.related_pull_requests or (finding.related_pull_requests if number == 0 else ())
            yield Situation(
                run, replace(job.verdict, related_pull_requests=related), job.job, job.diagnosis, pull, base_branch,
                leading=number == 0,
            )  # fmt: skip


def _told(piece: _Piece, kept: Sequence[_Piece]) -> bool:
    """Was this said before: by the same template, of the same group, or in the same words?"""
    mine = piece.suggestion
    return any(
        (piece.source and piece.source == other.source)
        or (piece.group and piece.group == other.group)
        or (mine.title, mine.command) == (other.suggestion.title, other.suggestion.command)
        or (mine.command and mine.command == other.suggestion.command)
        for other in kept
    )


def _pieces(situation: Situation, templates: Sequence[Template]) -> list[_Piece]:
    """All that is to be said of one job, in no order."""
    own = _of_rule(situation)
    advised = any(not piece.reruns for piece in own)
    values = situation.values()
    found: list[_Piece] = []
    for template in sorted(templates, key=lambda template: template.fallback):
        if template.fallback and (advised or any(piece.group != RERUN for piece in found)):
            continue
        if template.group and any(template.group == piece.group for piece in found):
            continue
        if (piece := _filled(template, situation, values, advised)) is not None:
            found.append(piece)
    return _joined(own, found)


def _of_rule(situation: Situation) -> list[_Piece]:
    """The advice of the rule that decided, where it is about the cause that is held to be true."""
    diagnosis, verdict = situation.diagnosis, situation.verdict
    if diagnosis is None or not _is_about(diagnosis, situation):
        return []
    pieces = [_Piece(suggestion) for suggestion in diagnosis.suggestions if suggestion not in LOOK]
    if situation.retry is not Retry.NO or verdict.cause is Cause.UNKNOWN:
        return pieces
    return [
        replace(piece, suggestion=replace(piece.suggestion, command="")) if piece.reruns else piece
        for piece in pieces
        if not (piece.reruns and _BARE.match(piece.suggestion.title))
    ]


def _is_about(diagnosis: Diagnosis, situation: Situation) -> bool:
    """Is the rule's advice for the person who reads it? What is somebody else's to mend is for the base branch."""
    cause = situation.verdict.cause
    if cause is Cause.INTERFERENCE and diagnosis.cause is not cause:
        return situation.on_base
    return cause in (diagnosis.cause, Cause.UNKNOWN)


def _joined(own: Sequence[_Piece], found: Sequence[_Piece]) -> list[_Piece]:
    """Both kinds of advice; a re-run that a rule suggests and the reason that a template gives become one."""
    rule = next((piece for piece in own if piece.reruns), None)
    reason = next((piece for piece in found if piece.group == RERUN and not piece.step), None)
    if rule is None or reason is None:
        return [*own, *found]
    if not reason.reruns:  # it says not to re-run
        return [*(p for p in own if not (p.reruns and _BARE.match(p.suggestion.title))), *found]
    said, why = rule.suggestion, reason.suggestion
    title = why.title
    if not _BARE.fullmatch(said.title):
        title = ": ".join(filter(None, (said.title, why.title.partition(": ")[2])))
    steps = tuple(step for step in said.steps if step not in _FILLERS) or why.steps
    both = replace(reason, suggestion=replace(why, title=title, steps=steps))
    return [*(p for p in own if not p.reruns), *(both if p is reason else p for p in found)]


def _filled(template: Template, situation: Situation, known: Mapping[str, str], advised: bool) -> _Piece | None:
    """The template filled; None when it does not apply, or lacks a value for its title or command."""
    values = {**known, **_from_reason(template, situation)}
    if not _applies(template, situation, values, advised):
        return None
    title = fill_text(template.title, values)
    commands = [filled for command in template.command if (filled := fill_command(command, values)) is not None]
    if title is None or (template.command and not commands):
        return None
    steps = tuple(
        filled[:1].upper() + filled[1:] if step.startswith("{why}") else filled
        for step in template.steps
        if (filled := fill_text(step, values)) is not None
    )
    suggestion = Suggestion(title, template.cost, steps, commands[0] if commands else "")
    return _Piece(suggestion, template.order, template.id, template.group, template.lead, step=template.place == "step")


def _from_reason(template: Template, situation: Situation) -> dict[str, str]:
    """What the reason that a template asks for fills; nothing when it is not there or its quote is another."""
    for reason in situation.reasons():
        if reason.id in template.from_reason:
            told = {"quote": reason.quote, "why": reason.why.rstrip(".")}
            if not template.from_quote:
                return told
            if found := re.search(template.from_quote, reason.quote):
                return told | {name: text for name, text in found.groupdict().items() if text}
    return {}


def _applies(template: Template, situation: Situation, values: Mapping[str, str], advised: bool) -> bool:
    when = template.when
    if template.from_reason and "quote" not in values:
        return False
    return (
        _fits_verdict(when, situation)
        and _fits_names(when, situation, values)
        and all(values.get(name) for name in when.has)
        and not any(values.get(name) for name in when.lacks)
        and when.advised in (None, advised)
        and when.on_base in (None, situation.on_base)
        and when.leading in (None, situation.leading)
        and (when.hosted is None or when.hosted == situation.hosted)
        and situation.run.run_attempt >= when.min_attempt
    )


def _fits_verdict(when: When, situation: Situation) -> bool:
    verdict = situation.verdict
    asked = (
        (when.cause, verdict.cause),
        (when.category, verdict.category),
        (when.determinism, verdict.determinism),
        (when.level, verdict.level),
        (when.retry, situation.retry),
        (when.event, situation.run.event),
    )
    return all(not wanted or value in wanted for wanted, value in asked)


def _fits_names(when: When, situation: Situation, values: Mapping[str, str]) -> bool:
    if when.rule and not any(situation.rule == rule or situation.rule.startswith(f"{rule}.") for rule in when.rule):
        return False
    asked = (
        (when.job, "job"), (when.test, "test"), (when.file, "file"), (when.runner, "runner"),
        (when.workflow, "workflow"),
    )  # fmt: skip
    return all(
        not globs or any(fnmatchcase(values.get(name, ""), glob) for glob in globs) for globs, name in asked
    )  # fmt: skip
