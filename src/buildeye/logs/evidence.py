"""The reasons of a diagnosis as quotes with line numbers, and the lines of the log worth reading."""

from buildeye.logs import baseline as baselines
from buildeye.logs import quotes, words
from buildeye.logs.choose import LEAST, Hit
from buildeye.logs.marks import Mark
from buildeye.logs.reading import Reading
from buildeye.logs.wording import fill
from buildeye.model import Evidence, Excerpt

MAX_QUOTE = 400
MAX_OTHERS = 8
MAX_FILES = 20


def of_rule(reading: Reading, key: Hit, again: int | None = None, said: str = "") -> tuple[Evidence, ...]:
    """What speaks for a rule's verdict: its line, what stands beside it, other hits, and how the job ended.

    `again` is the line that tells of a further try, `said` what it tells.
    """
    why = fill(key.rule.explanation, reading.captured(key))
    first = Evidence("rule", key.rule.id, reading.say(key.text)[:MAX_QUOTE], why, key.line)
    tried = [Evidence("step", "rerun", reading.quote(again, MAX_QUOTE), said, again)] if again else []
    return (first, *tried, *_beside(reading, key.line), *_others(reading, key), *ending(reading))


def of_line(reading: Reading, line: int) -> tuple[Evidence, ...]:
    """What speaks for a line that no rule knows."""
    if reading.new:
        kind, why = "baseline", "not in the passing log of this job"
        first = Evidence("baseline", kind, reading.quote(line, MAX_QUOTE), why, line)
    else:
        why = "what was said last and loudest before the end"
        first = Evidence("words", "words", reading.quote(line, MAX_QUOTE), why, line)
    return (first, *_beside(reading, line))


def ending(reading: Reading) -> tuple[Evidence, ...]:
    """How many failed, where in which file, in which job and step, and how it ended."""
    structure = reading.structure
    said = [
        Evidence("step", mark.value, reading.quote(n), why, n)
        for mark, why in ((Mark.TALLY, "how many failed"), (Mark.PLACE, "where in the file"))
        for n in list(reading.marks.get(mark, ()))[-2:]
    ]
    if structure.job_name:
        name = reading.say(structure.job_name)[:120]
        said.append(Evidence("job", "job", name, "the job", structure.job_name_line))
    if structure.failed:
        name = reading.say(structure.failed.name)[:200]
        said.append(Evidence("step", "step", name, "the step that failed", structure.failed.start))
    if structure.exit_line:
        said.append(Evidence("step", "exit", reading.quote(structure.exit_line), "how it ended", structure.exit_line))
    return tuple(said)


def _beside(reading: Reading, line: int) -> list[Evidence]:
    start, end = quotes.window(reading.lines, line, reading.structure)
    told = quotes.telling(reading.lines, start, end, line, 8)
    return [Evidence("words", "context", reading.quote(n), "beside the key line", n) for n in told]


def _others(reading: Reading, key: Hit) -> list[Evidence]:
    others: dict[int, Hit] = {}
    for hit in reading.distinct():
        if hit.line != key.line and hit.rule.id != key.rule.id and hit.score > 0:
            others.setdefault(hit.line, hit)
    return [
        Evidence("rule", h.rule.id, reading.say(h.text)[:240], h.demoted or _title(reading, h), h.line)
        for h in list(others.values())[:MAX_OTHERS]
    ]


def _title(reading: Reading, hit: Hit) -> str:
    return fill(hit.rule.title, reading.captured(hit))[:200]


def files(reading: Reading, line: int) -> tuple[str, ...]:
    """Source files of the repository that the failure names: those that rules captured, then those beside the line."""
    start, end = quotes.window(reading.lines, line, reading.structure)
    texts = [text for _, text in reading.lines.between(start, end)]
    texts += [reading.lines[n] for n in reading.marks.get(Mark.PLACE, ())]
    captured = [h.captures["file"] for h in reading.ranked if "file" in h.captures and not h.demoted]
    named = [quotes.source_file(reading.say(f)) for f in captured]
    named += quotes.files_in(reading.say(text) for text in texts)
    return tuple(dict.fromkeys(f for f in named if f))[:MAX_FILES]


def excerpts(reading: Reading, key: int) -> tuple[Excerpt, ...]:
    """The lines worth reading, best first; against a baseline, what is new and tells of the failure."""
    if reading.new:
        return _new_parts(reading, key)
    start, end = reading.structure.echo_of(key) or quotes.block_around(reading.lines, key, reading.structure.end, 4, 10)
    wanted = [(start, end, "the key line and what belongs to it")]
    wanted += [(e.line, e.line, e.why) for e in ending(reading) if e.line]
    wanted += [(h.line, h.line + 1, _title(reading, h)) for h in reading.distinct() if h.score > LEAST]
    wanted += [(e.line, e.line, e.why) for e in _beside(reading, key) if e.line]
    return quotes.excerpts(wanted, reading.lines.count)


def _new_parts(reading: Reading, key: int) -> tuple[Excerpt, ...]:
    """The key line's part first, then those with the loudest words."""
    lines = reading.lines
    named = {h.line for h in reading.ranked if h.score >= LEAST and not h.demoted} | {key}
    parts = baselines.findings(reading.new or (), lines.__getitem__, words.weight, named)

    def rank(span: baselines.Span) -> tuple[bool, float, int]:
        loudest = max(words.weight(lines[n]) for n in range(span.start, min(span.end, span.start + 200) + 1))
        return (not span.start <= key <= span.end, -loudest, span.start)

    return tuple(Excerpt(s.start, s.end, "not in the passing log") for s in sorted(parts, key=rank))
