"""Where in a log one is: its steps, which of them failed, what is echoed script, and where the tail begins."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from buildeye.logs.lines import Lines
from buildeye.logs.marks import Mark
from buildeye.model import Job, Step

NEAR_END = 300
"""Lines before the end of a failed step in which its reason is usually told."""


@dataclass(frozen=True, slots=True)
class Section:
    """One step of a log: lines `start` to `end`; `failed` when the runner or the job says so."""

    name: str
    start: int
    end: int
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """What the marks of a log say about it; all line numbers are 1-based, ranges include both ends."""

    lines: int
    sections: tuple[Section, ...] = ()
    echoes: tuple[tuple[int, int], ...] = ()
    exit_line: int | None = None
    post_start: int | None = None
    job_name: str = ""
    job_name_line: int | None = None
    marks: Mapping[Mark, Sequence[int]] = field(default_factory=dict)

    @property
    def failed(self) -> Section | None:
        """The first step that failed."""
        return next((s for s in self.sections if s.failed), None)

    def section_at(self, line: int) -> Section | None:
        """The step a line belongs to."""
        i = bisect_right(self.sections, line, key=lambda s: s.start) - 1
        return self.sections[i] if i >= 0 and self.sections[i].end >= line else None

    def is_echo(self, line: int) -> bool:
        """Is this line a script or its settings, printed by the runner before it runs?"""
        i = bisect_right(self.echoes, line, key=lambda e: e[0]) - 1
        return i >= 0 and self.echoes[i][0] <= line <= self.echoes[i][1]

    def echo_of(self, line: int) -> tuple[int, int] | None:
        """The first and last line of the echoed script that a line belongs to."""
        i = bisect_right(self.echoes, line, key=lambda e: e[0]) - 1
        return self.echoes[i] if self.is_echo(line) else None

    def is_tail(self, line: int) -> bool:
        """Is this line behind the last step, where the runner cleans up?"""
        return self.post_start is not None and line >= self.post_start

    @property
    def end(self) -> int:
        """The line at which the failure ends: the exit mark, or the last line before the tail."""
        if self.exit_line is not None:
            return self.exit_line
        return (self.post_start - 1) if self.post_start and self.post_start > 1 else self.lines

    def next_mark(self, mark: Mark, start: int, end: int) -> int | None:
        """The first line from `start` to `end` that bears a mark."""
        lines = self.marks.get(mark, ())
        i = bisect_left(lines, start)
        return lines[i] if i < len(lines) and lines[i] <= end else None


def read_structure(lines: Lines, marks: Mapping[Mark, Sequence[int]], job: Job | None = None) -> Structure:
    """Put the marks of a log together; `job` (with its steps' times) names steps where the log does not."""
    exits = marks.get(Mark.EXIT, ())
    posts = marks.get(Mark.POST, ())
    first_exit = exits[0] if exits else None
    post = _tail_start(posts, exits, marks.get(Mark.GROUP, ()))
    sections = _sections(lines, marks, post)
    if job is not None and job.steps:
        sections = _named_by_job(lines, sections, job)
    exit_line = (
        _exit_of_failed(sections, exits) or _exit_of_failed(sections, marks.get(Mark.ANNOTATION, ())) or first_exit
    )
    name_line = next(iter(marks.get(Mark.JOB_NAME, ())), None)
    return Structure(
        lines=lines.count,
        sections=sections,
        echoes=_echoes(lines, marks),
        exit_line=exit_line,
        post_start=post,
        job_name=job.name if job else lines[name_line].removeprefix("Complete job name: ") if name_line else "",
        job_name_line=name_line,
        marks=marks,
    )


def _tail_start(posts: Sequence[int], exits: Sequence[int], groups: Sequence[int]) -> int | None:
    """The first clean-up line behind the last step that can have failed."""
    last_exit = exits[-1] if exits else 0
    return next((p for p in posts if p > last_exit), None)


def _is_step(text: str) -> bool:
    return text.startswith("##[group]Run ") and not text.startswith("##[group]Run '/home/runner/k8s/")


def _sections(lines: Lines, marks: Mapping[Mark, Sequence[int]], post: int | None) -> tuple[Section, ...]:
    starts = [n for n in marks.get(Mark.GROUP, ()) if _is_step(lines[n])]
    last = (post - 1) if post else lines.count
    starts = [n for n in starts if n <= last]
    if not starts:
        return ()
    annotations, exits = marks.get(Mark.ANNOTATION, ()), marks.get(Mark.EXIT, ())
    sections = [Section("Set up job", 1, starts[0] - 1)] if starts[0] > 1 else []
    for start, following in zip(starts, [*starts[1:], last + 1], strict=True):
        sections.append(Section(_script_name(lines, start), start, following - 1))
    ended = {i for n in exits if (i := _index(sections, n)) is not None}
    noted = {i for n in annotations if (i := _index(sections, n)) is not None}
    failed = ended or noted
    return tuple(Section(s.name, s.start, s.end, i in failed) for i, s in enumerate(sections))


_PREPARES = re.compile(r"^(?:set [-+]|export |source |\. |cd |ulimit |shopt )")


def _script_name(lines: Lines, start: int) -> str:
    """A step by the first line of its script that does something; lines that only prepare the shell name nothing."""
    first = lines[start].removeprefix("##[group]Run ")
    if not _PREPARES.search(first):
        return first
    for n in range(start + 1, start + 6):
        if lines[n].startswith(("shell:", "env:", "##[")):
            break
        if lines[n].strip() and not _PREPARES.search(lines[n]):
            return lines[n].strip()
    return first


def _index(sections: Sequence[Section], line: int) -> int | None:
    i = bisect_right(sections, line, key=lambda s: s.start) - 1
    return i if i >= 0 and sections[i].end >= line else None


_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z")


def _stamp(lines: Lines, number: int) -> datetime | None:
    found = _STAMP.search(lines.raw(number)[:400])
    return datetime.fromisoformat(found.group(1).decode() + "+00:00") if found else None


def _named_by_job(lines: Lines, sections: tuple[Section, ...], job: Job) -> tuple[Section, ...]:
    """Steps as the job tells them, cut by their times; GitHub's times are whole seconds, so a
    boundary may be off by a few lines.

    Where the log marks its own steps those boundaries stay, and each is named after the job's step that ran then.
    """
    if not sections:
        return _cut_by_times(lines, job)
    named: list[Section] = []
    for section in sections:
        step = _step_at(job.steps, _stamp(lines, section.start))
        if step is None:
            named.append(section)
        else:
            named.append(Section(step.name, section.start, section.end, step.conclusion == "failure"))
    if not any(s.failed for s in named):
        named = [Section(n.name, n.start, n.end, s.failed) for n, s in zip(named, sections, strict=True)]
    return tuple(named)


def _step_at(steps: Sequence[Step], at: datetime | None) -> Step | None:
    ran = [s for s in steps if s.conclusion != "skipped" and s.started_at and s.completed_at]
    if at is None:
        return None
    return next(
        (s for s in reversed(ran) if s.started_at and s.completed_at and s.started_at <= at <= s.completed_at), None
    )


def _cut_by_times(lines: Lines, job: Job) -> tuple[Section, ...]:
    if lines.count == 0 or _stamp(lines, 1) is None:
        return ()
    cut: list[Section] = []
    start = 1
    ran = [s for s in job.steps if s.conclusion != "skipped" and s.completed_at]
    for step in ran:
        assert step.completed_at is not None
        end = _last_line_until(lines, step.completed_at, start)
        if end >= start:
            cut.append(Section(step.name, start, end, step.conclusion == "failure"))
            start = end + 1
    return tuple(cut)


def _last_line_until(lines: Lines, until: datetime, low: int) -> int:
    """Binary search over stamps, which grow; lines without a stamp go with the one before them."""
    first, last = low, lines.count
    while first <= last:
        middle = (first + last) // 2
        at = next((s for n in range(middle, max(low - 1, middle - 50), -1) if (s := _stamp(lines, n))), None)
        if at is None or at <= until:
            first = middle + 1
        else:
            last = middle - 1
    return last


def _exit_of_failed(sections: Sequence[Section], exits: Sequence[int]) -> int | None:
    failed = next((s for s in sections if s.failed), None)
    return next((n for n in exits if failed and failed.start <= n <= failed.end), None)


def _echoes(lines: Lines, marks: Mapping[Mark, Sequence[int]]) -> tuple[tuple[int, int], ...]:
    ends = marks.get(Mark.ENDGROUP, ())
    echoes: list[tuple[int, int]] = []
    for n in marks.get(Mark.GROUP, ()):
        if _is_step(lines[n]):
            i = bisect_left(ends, n)
            if i < len(ends):
                echoes.append((n, ends[i]))
    return tuple(echoes)
