"""One log in, one Diagnosis out.

Order of evidence: what the job says (conclusion, failed step), then rules, then the difference from a passing log, then
words that sound like failure, then unknown. The path taken is in the evidence.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from buildeye.logs import baseline as baselines
from buildeye.logs import quotes, words
from buildeye.logs.choose import LEAST, Hit, weigh
from buildeye.logs.engine import Lines, Log
from buildeye.logs.marks import Mark
from buildeye.logs.rules import Rule, Tier
from buildeye.logs.ruleset import RuleSet
from buildeye.logs.secrets import Masker, mask, strip_controls
from buildeye.logs.stepnames import kind_of
from buildeye.logs.structure import Structure, read_structure
from buildeye.logs.testids import tidy
from buildeye.logs.text import looks_binary
from buildeye.model import (
    Cause,
    Cost,
    Diagnosis,
    Evidence,
    Excerpt,
    Job,
    KeyLine,
    LogLine,
    Suggestion,
)
from buildeye.model.labels import plain

SAMPLE = 65536
MAX_QUOTE = 400
MAX_OTHERS = 8
MAX_ALIKE = 5
MAX_TESTS = 50
MAX_FILES = 20
TOOLS = frozenset({"pytest", "git", "kubernetes"})
"""Packs that are named after the tool whose words they know."""


@dataclass(frozen=True, slots=True)
class LogReading:
    """A diagnosis, and the lines of its excerpts to show beside it, in log order."""

    diagnosis: Diagnosis
    lines: tuple[LogLine, ...] = ()


def diagnose(log: Log, rules: RuleSet, *, baseline: Set[int] | None = None, job: Job | None = None) -> Diagnosis:
    """Say why the job of this log failed.

    `baseline` is the line set of a passing log of the same job (`baseline.line_set`); `job` what GitHub says of it.
    """
    return read_log(log, rules, baseline=baseline, job=job).diagnosis


def read_log(
    log: Log, rules: RuleSet, *, baseline: Set[int] | None = None, job: Job | None = None, show: int = 0
) -> LogReading:
    """As `diagnose`, with up to `show` lines that are worth reading, masked; those nearest to the key line are kept."""
    if job is not None and job.conclusion in ("success", "skipped", "neutral"):
        return LogReading(_nothing_failed(log.name, f"the job ended as {job.conclusion}", rules.hash))
    if log.size == 0:
        said = "The log is empty; nothing can be said from it."
        return LogReading(Diagnosis(log.name, summary=said, rule_set=rules.hash))
    if looks_binary(log.read(0, SAMPLE)):
        said = "This is no text log: most of it is binary. Give the log itself, or an archive of it (.gz, .zst, .zip)."
        return LogReading(Diagnosis(log.name, summary=said, rule_set=rules.hash))
    found = rules.find(log)
    structure = read_structure(found.lines, found.marks, job)
    ranked = weigh(found.hits, structure, found.lines)
    new = baselines.new_lines(log, baseline) if baseline is not None else None
    diagnosis = _Reading(log.name, rules.hash, found.lines, structure, ranked, new, job is not None).diagnosis()
    if cut := getattr(log, "truncated", None):
        diagnosis = replace(diagnosis, summary=f"{diagnosis.summary} The log ends early: {cut}.".strip())
    return LogReading(diagnosis, _shown(found.lines, diagnosis, show))


def _shown(lines: Lines, diagnosis: Diagnosis, show: int) -> tuple[LogLine, ...]:
    key = diagnosis.key_line.number if diagnosis.key_line else 0
    wanted = {n for e in diagnosis.excerpts for n in range(e.start, min(e.end, e.start + show) + 1)}
    masker = Masker()
    kept = sorted(sorted(wanted, key=lambda n: (abs(n - key), n))[:show])
    return tuple(LogLine(n, masker.line(strip_controls(lines[n]))) for n in kept)


def _nothing_failed(name: str, why: str, rule_set: str) -> Diagnosis:
    return Diagnosis(
        name,
        Cause.NONE,
        "none",
        confidence=0.97,
        summary=f"Nothing failed: {why}.",
        rule_set=rule_set,
        retry_helps=False,
    )


@dataclass(frozen=True)
class _Reading:
    """Everything known of one log while its diagnosis is put together."""

    name: str
    rule_set: str
    lines: Lines
    structure: Structure
    ranked: Sequence[Hit]
    new: Sequence[int] | None
    known_failed: bool

    def diagnosis(self) -> Diagnosis:
        if not self.known_failed and self._ended_well():
            return _nothing_failed(self.name, "every step ran and none of them is marked as failed", self.rule_set)
        real = [h for h in self.ranked if h.rule.tier in (Tier.CAUSE, Tier.SYMPTOM) and h.score >= LEAST]
        if real:
            return self._by_rule(real[0])
        if not self.known_failed and self._looks_green():
            return _nothing_failed(self.name, "the log ends as a successful job does", self.rule_set)
        return self._without_rule()

    def _ended_well(self) -> bool:
        """Does the log go from steps to the runner's cleaning up without one mark of a failed step?"""
        structure = self.structure
        marks = structure.marks
        whole = bool(structure.sections) and structure.post_start is not None
        return whole and not marks.get(Mark.EXIT) and not marks.get(Mark.ANNOTATION)

    def _looks_green(self) -> bool:
        marks = self.structure.marks
        if marks.get(Mark.EXIT) or marks.get(Mark.ANNOTATION) or marks.get(Mark.TALLY):
            return False
        return bool(marks.get(Mark.GREEN) or marks.get(Mark.POST)) and not self.new

    def _by_rule(self, key: Hit) -> Diagnosis:
        rule = key.rule
        confidence = self._confidence(key)
        tests = self._tests()
        known = confidence >= 0.5
        captured = {k: self._say(_named(k, v)) for k, v in key.captures.items()}
        own_test = captured.get("test", "")
        if tests and not own_test:
            captured["test"] = tests[0]
        return Diagnosis(
            log=self.name,
            cause=rule.cause if known else Cause.UNKNOWN,
            category=rule.category if known else "unknown",
            determinism=rule.determinism,
            confidence=round(confidence, 3),
            summary=self._summary(fill(rule.title, captured), tests, own_test, _kind(rule) if known else ""),
            key_line=KeyLine(key.line, self._say(key.text)),
            excerpts=self._excerpts(key.line),
            evidence=self._evidence(key, captured),
            files=self._files(key),
            tests=tuple(tests),
            signature=_signature(key, captured, tests),
            suggestions=tuple(_filled(a, captured) for a in rule.advice),
            retry_helps=rule.retryable,
            rule_set=self.rule_set,
        )

    def _confidence(self, key: Hit) -> float:
        value = key.rule.confidence
        if key.demoted:
            value *= 0.6
        rivals = [
            h for h in self.ranked if h.rule.cause != key.rule.cause and key.score - h.score < 10 and not h.demoted
        ]
        if rivals:
            value *= 0.85
        return value

    def _without_rule(self) -> Diagnosis:
        line = self._best_line()
        named = kind_of(self.structure.failed.name if self.structure.failed else "", self.structure.job_name)
        if line is None and named is None:
            said = "Nothing in this log says that or why something failed."
            return Diagnosis(self.name, summary=said, rule_set=self.rule_set)
        quote = self._say(self.lines[line]) if line else ""
        evidence = self._found(line, quote) if line else []
        if named is None:
            title = f"No rule knows this failure; read first: {quote[:160]}"
            known = Diagnosis(self.name, confidence=0.3, signature=f"unknown|{baselines.mask(quote)[:160]}")
        else:
            kind, name = named
            said = self._say(name)[:80]
            title = fill(kind.title, {"step": said})
            evidence.insert(
                0, Evidence("step", f"step.{kind.category}", said, "what this step does says what its failure is")
            )
            signature = f"step.{kind.category}|{baselines.mask(said)}|{baselines.mask(quote)[:160]}"
            known = Diagnosis(self.name, kind.cause, kind.category, confidence=kind.confidence, signature=signature)
        return replace(
            known,
            summary=self._summary(title, [], ""),
            key_line=KeyLine(line, quote) if line else None,
            excerpts=self._excerpts(line) if line else (),
            evidence=(*evidence, *self._marks()),
            files=tuple(quotes.files_in([quote]))[:MAX_FILES],
            suggestions=_LOOK,
            rule_set=self.rule_set,
        )

    def _best_line(self) -> int | None:
        """The line to read first when no rule speaks: strong words, else the last line said before the failure was."""
        found = words.spots(self.lines, self.structure, self.new or None)
        if found and found[0].weight >= words.CLEAR:
            return found[0].line
        if noted := words.noted(self.lines, self.structure):
            return noted
        if self.new:
            return found[0].line if found else self.new[0]
        wrapper = next((h.line for h in self.ranked if h.rule.tier is not Tier.CAUSE), None)
        said = words.last_said(self.lines, self.structure)
        return said or (found[0].line if found else wrapper or self.structure.exit_line)

    def _found(self, line: int, quote: str) -> list[Evidence]:
        if self.new:
            first = Evidence("baseline", "baseline", quote[:MAX_QUOTE], "not in the passing log of this job", line)
        else:
            first = Evidence("words", "words", quote[:MAX_QUOTE], "what was said last and loudest before the end", line)
        return [first, *self._context(line)]

    def _summary(self, title: str, tests: Sequence[str], named: str, kind: str = "") -> str:
        title = title.rstrip(".")
        if tests and not named:
            named = tests[0]
        if named and named not in title:
            title = f"{named}: {title[:1].lower() if title[1:2].islower() else title[:1]}{title[1:]}"
        more = len([t for t in tests if t != named])
        also = f" (and {more} more {'tests' if more > 1 else 'test'})" if named and more else ""
        failed = self.structure.failed
        where = f'Step "{self._say(failed.name)[:80]}" failed' if failed and failed.name else ""
        ending = f" {where}: {kind}." if where and kind else f" {where or kind.capitalize()}." if where or kind else ""
        return f"{title}{also}.{ending}"

    def _tests(self) -> list[str]:
        named = (
            tidy(self._say(h.captures["test"]))
            for h in sorted(self.ranked, key=lambda h: h.line)
            if "test" in h.captures and not h.demoted
        )
        return list(dict.fromkeys(t for t in named if t))[:MAX_TESTS]

    def _files(self, key: Hit) -> tuple[str, ...]:
        start, end = quotes.window(self.lines, key.line, self.structure)
        captured = [h.captures["file"] for h in self.ranked if "file" in h.captures and not h.demoted]
        named = [quotes.source_file(self._say(f)) for f in captured]
        places = [self.lines[n] for n in self.structure.marks.get(Mark.PLACE, ())]
        named += quotes.files_in(self._say(text) for text in [*(t for _, t in self.lines.between(start, end)), *places])
        return tuple(dict.fromkeys(f for f in named if f))[:MAX_FILES]

    def _evidence(self, key: Hit, captured: dict[str, str]) -> tuple[Evidence, ...]:
        first = Evidence(
            "rule", key.rule.id, self._say(key.text)[:MAX_QUOTE], fill(key.rule.explanation, captured), key.line
        )
        return (first, *self._context(key.line), *self._others(key), *self._marks())

    def _context(self, line: int) -> list[Evidence]:
        start, end = quotes.window(self.lines, line, self.structure)
        return [
            Evidence("words", "context", self._say(self.lines[n])[:240], "beside the key line", n)
            for n in quotes.telling(self.lines, start, end, line, 8)
        ]

    def _others(self, key: Hit) -> list[Evidence]:
        others = [h for h in self._distinct() if h.line != key.line and h.rule.id != key.rule.id and h.score > 0]
        return [
            Evidence(
                "rule", h.rule.id, self._say(h.text)[:240], h.demoted or fill(h.rule.title, dict(h.captures)), h.line
            )
            for h in others[:MAX_OTHERS]
        ]

    def _distinct(self) -> list[Hit]:
        """The hits that say something of their own, best first: one of a cause, several of what failed alike."""
        kept: dict[tuple[str, ...], Hit] = {}
        count: dict[str, int] = {}
        for hit in self.ranked:
            several = hit.rule.tier is Tier.SYMPTOM and not hit.demoted
            name = (hit.rule.id, *(hit.captures.values() if several else ()))
            if name not in kept and count.get(hit.rule.id, 0) < (MAX_ALIKE if several else 1):
                kept[name] = hit
                count[hit.rule.id] = count.get(hit.rule.id, 0) + 1
        return list(kept.values())

    def _marks(self) -> list[Evidence]:
        structure = self.structure
        said = [
            Evidence("step", mark.value, self._say(self.lines[n])[:240], why, n)
            for mark, why in ((Mark.TALLY, "how many failed"), (Mark.PLACE, "where in the file"))
            for n in list(structure.marks.get(mark, ()))[-2:]
        ]
        if structure.job_name:
            said.append(Evidence("job", "job", self._say(structure.job_name)[:120], "the job", structure.job_name_line))
        if structure.failed:
            said.append(
                Evidence(
                    "step",
                    "step",
                    self._say(structure.failed.name)[:200],
                    "the step that failed",
                    structure.failed.start,
                )
            )
        if structure.exit_line:
            said.append(
                Evidence(
                    "step",
                    "exit",
                    self._say(self.lines[structure.exit_line])[:200],
                    "how it ended",
                    structure.exit_line,
                )
            )
        return said

    def _excerpts(self, key: int) -> tuple[Excerpt, ...]:
        if self.new:
            return self._new_excerpts(key)
        start, end = quotes.block_around(self.lines, key, self.structure.end, 4, 10)
        wanted = [(start, end, "the key line and what belongs to it")]
        wanted += [(e.line, e.line, e.why) for e in self._marks() if e.line]
        wanted += [
            (h.line, h.line + 1, fill(h.rule.title, dict(h.captures))[:120])
            for h in self._distinct()
            if h.score > LEAST
        ]
        wanted += [(e.line, e.line, e.why) for e in self._context(key) if e.line]
        return quotes.excerpts(wanted, self.lines.count)

    def _new_excerpts(self, key: int) -> tuple[Excerpt, ...]:
        """The new parts that tell of the failure: the key line's first, then those with the loudest words."""
        assert self.new is not None
        named = {h.line for h in self.ranked if h.score >= LEAST and not h.demoted} | {key}
        parts = baselines.findings(self.new, self.lines.__getitem__, words.weight, named)

        def rank(span: baselines.Span) -> tuple[bool, float, int]:
            loudest = max(words.weight(self.lines[n]) for n in range(span.start, min(span.end, span.start + 200) + 1))
            return (not span.start <= key <= span.end, -loudest, span.start)

        return tuple(Excerpt(s.start, s.end, "not in the passing log") for s in sorted(parts, key=rank))

    def _say(self, text: str) -> str:
        return mask(strip_controls(text))


def _kind(rule: Rule) -> str:
    """What kind of failure it is, with the tool that says so where the rule belongs to one."""
    tool = rule.id.partition(".")[0]
    return f"{plain(rule.category)} ({tool})" if tool in TOOLS else plain(rule.category)


def _named(group: str, value: str) -> str:
    """A captured value as a reader knows it: files by their path in the repository."""
    return quotes.source_file(value) or value if group == "file" else value


_PLACE = re.compile(r"\{(\w+)\}")


def fill(text: str, captured: dict[str, str]) -> str:
    """A sentence with its placeholders filled; one that was not captured is named in words."""
    return _PLACE.sub(lambda m: captured.get(m.group(1)) or f"the {m.group(1)}", text)


def _filled(advice: Suggestion, captured: dict[str, str]) -> Suggestion:
    command = advice.command
    if any(name not in captured for name in _PLACE.findall(command)):
        command = ""
    return Suggestion(
        fill(advice.title, captured),
        advice.cost,
        tuple(fill(s, captured) for s in advice.steps),
        fill(command, captured),
    )


def _signature(key: Hit, captured: dict[str, str], tests: Sequence[str]) -> str:
    names = key.rule.signature if key.rule.signature is not None else tuple(key.captures)
    values = [baselines.mask(captured[n])[:120] if n != "test" else captured[n] for n in names if captured.get(n)]
    if tests and "test" not in names:
        values.insert(0, tests[0])
    return "|".join([key.rule.id, *values])


_LOOK = (
    Suggestion(
        "Read the quoted lines; no rule knows this failure yet",
        Cost.LOW,
        (
            "Open the log at the key line.",
            "If the cause is clear, write a rule for it (docs/rules.md) so that it is known next time.",
        ),
    ),
)
