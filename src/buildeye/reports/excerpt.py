"""The lines of a log that a report shows: around the key line, with their numbers, in a block nothing can break."""

from collections.abc import Iterable, Mapping

from buildeye.model import JobFinding, KeyLine, LogLine
from buildeye.reports.markdown import code, fence

LONGEST_LINE = 400
_GAP = -1


def excerpt(job: JobFinding, max_lines: int, say: Mapping[str, str]) -> list[str]:
    """A title and a fenced block of at most `max_lines` rows; a sentence when there is nothing to show."""
    return log_excerpt(job.job.name, job.diagnosis.key_line, job.lines, max_lines, say)


def log_excerpt(
    name: str, key: KeyLine | None, given: Iterable[LogLine], max_lines: int, say: Mapping[str, str]
) -> list[str]:
    """The same for lines of any log, cleaned and masked; `name` is whose log it is."""
    lines = {line.number: line.text for line in given}
    if key is not None:
        lines.setdefault(key.number, key.text)
    shown = _choose(sorted(lines), key.number if key else None, max_lines)
    if not shown:
        return [say["excerpt.none"].format(job=code(name))] if max_lines > 0 else []
    numbers = [number for number in shown if number != _GAP]
    title = say["excerpt.title.key" if key and key.number in numbers else "excerpt.title"].format(
        job=code(name), first=numbers[0], last=numbers[-1], key=key.number if key else ""
    )
    width = len(str(numbers[-1]))
    rows = [
        f"{'':{width + 2}} ⋮" if n == _GAP else _row(LogLine(n, lines[n]), width, key is not None and n == key.number)
        for n in shown
    ]
    return [say["colon"].format(label=title), "", *fence(rows, "text")]


def _row(line: LogLine, width: int, is_key: bool) -> str:
    text = line.text.rstrip("\r\n")
    text = text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + "…"
    return f"{'▶' if is_key else ' '} {line.number:>{width}} │ {text}"


def _choose(numbers: list[int], key: int | None, most: int) -> list[int]:
    """At most `most` rows around the key line, two thirds of them before it, with a gap row where lines are left out.

    Without a key line the last lines are shown: a log fails at its end.
    """
    size = min(most, len(numbers))
    while size > 0:
        at = numbers.index(key) if key is not None else len(numbers)
        first = max(0, min(at - size * 2 // 3, len(numbers) - size))
        rows = _with_gaps(numbers[first : first + size])
        if len(rows) <= most:
            return rows
        size -= 1
    return []


def _with_gaps(numbers: list[int]) -> list[int]:
    rows: list[int] = []
    for number in numbers:
        if rows and number != rows[-1] + 1:
            rows.append(_GAP)
        rows.append(number)
    return rows
