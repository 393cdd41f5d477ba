"""One log in, one Diagnosis out.

Order of evidence: what the job says (conclusion, failed step), then rules, then the difference from a passing log, then
words that sound like failure, then unknown. The path taken is in the evidence.
"""

from collections.abc import Set
from dataclasses import dataclass, replace

from buildeye.logs import baseline as baselines
from buildeye.logs import evidence, reruns, wording, words
from buildeye.logs.calibration import calibrated
from buildeye.logs.choose import Hit, weigh
from buildeye.logs.engine import Log
from buildeye.logs.likeness import AROUND, Likeness, likeness
from buildeye.logs.lines import Lines
from buildeye.logs.marks import Mark
from buildeye.logs.reading import Reading
from buildeye.logs.rules import Tier
from buildeye.logs.ruleset import RuleSet
from buildeye.logs.secrets import Masker, strip_controls
from buildeye.logs.stepnames import StepKind, kind_of
from buildeye.logs.structure import read_structure
from buildeye.logs.text import looks_binary
from buildeye.model import Cause, Diagnosis, Evidence, Job, KeyLine, LogLine

SAMPLE = 65536
"""Bytes from the start of a log by which text is told from binary."""
LIKE = 0.5
"""From this probability on a likeness to known failures is said; below, the failure is unknown."""
MARGIN = 0.1
"""By so much a likeness must be surer than the name of the step where they name different causes: a step is a fact."""
KNOWN = 0.5
"""Below this probability `unknown` is the better answer."""
NO_FAILURE = ("success", "skipped", "neutral")


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
    if job is not None and job.conclusion in NO_FAILURE:
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
    diagnosis = _decide(Reading(log.name, rules.hash, found.lines, structure, ranked, new, job))
    if cut := getattr(log, "truncated", None):
        diagnosis = replace(diagnosis, summary=f"{diagnosis.summary} The log ends early: {cut}.".strip())
    return LogReading(diagnosis, _shown(found.lines, diagnosis, show))


def _shown(lines: Lines, diagnosis: Diagnosis, show: int) -> tuple[LogLine, ...]:
    key = diagnosis.key_line.number if diagnosis.key_line else 0
    wanted = {n for e in diagnosis.excerpts for n in range(e.start, min(e.end, e.start + show) + 1)}
    masker = Masker()
    kept = sorted(sorted(wanted, key=lambda n: (abs(n - key), n))[:show])
    return tuple(LogLine(n, masker.line(strip_controls(lines[n]))) for n in kept)


def _decide(reading: Reading) -> Diagnosis:
    known_failed = reading.job is not None
    if not known_failed and _ended_well(reading):
        why = "every step ran and none of them is marked as failed"
        return _nothing_failed(reading.name, why, reading.rule_set)
    if speaking := reading.speaking():
        return _by_rule(reading, speaking[0])
    if not known_failed and _looks_green(reading):
        return _nothing_failed(reading.name, "the log ends as a successful job does", reading.rule_set)
    return _without_rule(reading)


def _nothing_failed(name: str, why: str, rule_set: str) -> Diagnosis:
    said = f"Nothing failed: {why}."
    return Diagnosis(
        name, Cause.NONE, "none", confidence=0.97, summary=said, rule_set=rule_set, retry_helps=False
    )  # fmt: skip


def _ended_well(reading: Reading) -> bool:
    """Does the log go from steps to the runner's cleaning up without one mark of a failed step?"""
    whole = bool(reading.structure.sections) and reading.structure.post_start is not None
    return whole and not reading.marks.get(Mark.EXIT) and not reading.marks.get(Mark.ANNOTATION)


def _looks_green(reading: Reading) -> bool:
    if any(reading.marks.get(mark) for mark in (Mark.EXIT, Mark.ANNOTATION, Mark.TALLY)):
        return False
    return bool(reading.marks.get(Mark.GREEN) or reading.marks.get(Mark.POST)) and not reading.new


def _by_rule(reading: Reading, key: Hit) -> Diagnosis:
    rule = key.rule
    confidence = _confidence(reading, key)
    known = confidence >= KNOWN
    tests, captured = reading.tests(), reading.captured(key)
    own_test = captured.get("test", "")
    test = own_test or next(iter(tests or reading.tests(all_tries=True)), "")
    determinism, again, why = reruns.seen(key, test, reading.lines, reading.structure)
    if tests and not own_test:
        captured["test"] = tests[0]
    title = wording.fill(rule.title, captured)
    what = wording.kind(rule) if known else ""
    return Diagnosis(
        log=reading.name,
        cause=rule.cause if known else Cause.UNKNOWN,
        category=rule.category if known else "unknown",
        determinism=determinism,
        confidence=round(confidence, 3),
        summary=wording.summary(title, tests, own_test, reading.say(reading.failed_step), what),
        key_line=KeyLine(key.line, reading.say(key.text)),
        excerpts=evidence.excerpts(reading, key.line),
        evidence=evidence.of_rule(reading, key, again, why),
        files=evidence.files(reading, key.line),
        tests=tuple(tests),
        signature=wording.signature(rule, captured, tests),
        suggestions=wording.advice(rule, captured),
        retry_helps=rule.retryable,
        rule_set=reading.rule_set,
    )


def _confidence(reading: Reading, key: Hit) -> float:
    """The rule's own probability, less for what speaks against it (a demoted hit, a rival of another cause), as
    measured."""
    value = key.rule.confidence
    if key.demoted:
        value *= 0.6
    near = [h for h in reading.ranked if key.score - h.score < 10 and not h.demoted]
    if any(h.rule.cause != key.rule.cause for h in near):
        value *= 0.85
    return calibrated(value) if value >= KNOWN else value


def _without_rule(reading: Reading) -> Diagnosis:
    """No rule knows it: what else says what kind of failure it is, and the line to read first."""
    diff = words.diff_at_end(reading.lines, reading.structure)
    line = diff or _best_line(reading)
    named = kind_of(reading.failed_step, reading.structure.job_name) or (kind_of("diff") if diff else None)
    if line is None and named is None:
        said = "Nothing in this log says that or why something failed."
        return Diagnosis(reading.name, summary=said, rule_set=reading.rule_set)
    quote = reading.quote(line, evidence.MAX_QUOTE) if line else ""
    like = _likeness(reading, line) if line and not diff else None
    if like and (named is None or _outweighs(like, named[0])):
        title, known = _by_likeness(reading, like, line, quote)
    elif named:
        title, known = _by_step(reading, *named, quote)
    else:
        title = f"No rule knows this failure; read first: {quote[:160]}"
        known = Diagnosis(reading.name, confidence=0.15, signature=_unknown(quote))
    reasons = evidence.of_line(reading, line) if line else ()
    return replace(
        known,
        summary=wording.summary(title, [], "", reading.say(reading.failed_step)),
        key_line=KeyLine(line, quote) if line else None,
        excerpts=evidence.excerpts(reading, line) if line else (),
        evidence=(
            *(reasons + known.evidence if reading.new else known.evidence + reasons),
            *evidence.ending(reading),
        ),
        files=evidence.files(reading, line) if line else (),
        suggestions=wording.LOOK,
        rule_set=reading.rule_set,
    )


def _outweighs(like: Likeness, step: StepKind) -> bool:
    return like.cause is not step.cause and like.probability > step.confidence + MARGIN


def _unknown(quote: str) -> str:
    """The signature of a failure that no rule knows."""
    return f"unknown|{baselines.mask(quote)[:160]}"


def _by_step(reading: Reading, kind: StepKind, name: str, quote: str) -> tuple[str, Diagnosis]:
    """What the name of the step says, as a title and what is known."""
    said = reading.say(name)[:80]
    why = "what this step does says what its failure is"
    signature = f"step.{kind.category}|{baselines.mask(said)}|{baselines.mask(quote)[:160]}"
    known = Diagnosis(
        reading.name, kind.cause, kind.category, confidence=kind.confidence, signature=signature,
        evidence=(Evidence("step", f"step.{kind.category}", said, why),),
    )  # fmt: skip
    return wording.fill(kind.title, {"step": said}), known


def _by_likeness(reading: Reading, like: Likeness, line: int | None, quote: str) -> tuple[str, Diagnosis]:
    """What the words of the line are like, as a title and what is known."""
    why = ", ".join(like.words)
    known = Diagnosis(
        reading.name, like.cause, like.category, confidence=round(like.probability, 3), signature=_unknown(quote),
        evidence=(Evidence("words", f"like.{like.category}", quote, why, line),),
    )  # fmt: skip
    return f"No rule knows this failure; its words are most like {like.category}: {quote[:160]}", known


def _likeness(reading: Reading, line: int) -> Likeness | None:
    """What known failures a line is like; None when the likeness is too little, or nothing says that it failed."""
    failed = reading.job is not None or reading.structure.exit_line is not None
    if not failed and not words.weight(reading.lines[line]):
        return None
    around = reading.lines.between(line - AROUND, line + AROUND)
    like = likeness([text for _, text in around], [n for n, _ in around].index(line))
    return like if like.probability >= LIKE else None


def _best_line(reading: Reading) -> int | None:
    """The line to read first when no rule speaks: strong words, else the last line said before the failure was."""
    found = words.spots(reading.lines, reading.structure, reading.new or None)
    if found and found[0].weight >= words.CLEAR:
        return found[0].line
    if noted := words.noted(reading.lines, reading.structure):
        return noted
    if reading.new:
        return found[0].line if found else reading.new[0]
    wrapper = next((h.line for h in reading.ranked if h.rule.tier is not Tier.CAUSE), None)
    said = words.last_said(reading.lines, reading.structure)
    return said or (found[0].line if found else wrapper or reading.structure.exit_line)
