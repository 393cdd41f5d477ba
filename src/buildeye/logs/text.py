"""What a tool printed, freed from what its runner put around it.

One place for timestamps, colour, progress lines and the prefixes of runners, so that rules see bare lines.
"""

import re

MAX_LINE = 4000
"""Characters of one line that are looked at and quoted; a longer line is cut here."""

CARETS = 1 << 16
"""Bytes from the start of a block in which terminal sequences as `cat -v` writes them are looked for."""
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]_P^X][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|[@-Z\\-_=>NOc78])")
_WRITTEN_ANSI = re.compile(rb"\^\[\[[0-9;]{0,20}[mK]")
_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_PREFIX = re.compile(
    "(?:"
    "\ufeff|ï»¿"
    rf"|{_STAMP} [0-9a-f]{{2}}[OE][+ ]?"
    rf"|{_STAMP} \| [\w.-]{{1,60}} \| ?"
    rf"|{_STAMP}[ \t]?"
    rf"|\[(?:[a-z]{{1,12}} )?{_STAMP}\][ \t]?"
    r"|\[\d\d:\d\d:\d\d(?:\.\d+)?\][ \t]"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?[ \t]{1,3}"
    r"|_bk;t=\d+\x07?"
    r"|#\d+ \d+\.\d* "
    r"|\[\d\d:\d\d:\d\d\]: (?:▸ )?"
    r"|▸ "
    rf"|\[(?:RUNNER|WORKER) {_STAMP} \w{{3,5}} +\w+\] "
    r"|\((?:[A-Za-z_][\w-]{0,40} )?(?:pid|ip|rank)=[\w.-]{1,40}(?:, [^)]{0,40})?\) ?"
    r"|\[rank ?\d+\]:? ?"
    r"|\[gw\d+\] (?:\[ *\d+%\] )?"
    r"|@[\w.-]{1,60}/[\w.-]{1,60}(?::[\w:-]{1,40})?: "
    r"|[a-z][\w-]{0,40}-\d+ {1,12}\| "
    r"|section_(?:start|end):\d+:[\w-]+"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d "
    r"|\(\d\d:\d\d:\d\d\) "
    r"|\d{1,4}\.\d{2,3} (?=\S)"
    r")"
)
_GH_COLUMNS = re.compile(rf"[^\t]{{1,300}}\t[^\t]{{1,300}}\t(?=\ufeff?{_STAMP})")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def strip_ansi(data: bytes) -> bytes:
    """Terminal sequences removed; newlines stay where they are, so line numbers do not move.

    Those that `cat -v` wrote are removed when the beginning has some: a log is written in one of both ways.
    """
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    return _WRITTEN_ANSI.sub(b"", data) if data.find(b"^[[", 0, CARETS) >= 0 else data


def clean(raw: bytes) -> str:
    """One line as the tool printed it: decoded, without colour, control characters, stamps and runner prefixes."""
    text = strip_ansi(raw[: MAX_LINE * 4]).decode("utf-8", "replace")[:MAX_LINE]
    text = text.rstrip("\r\n \t")
    if "\r" in text:
        text = text.rsplit("\r", 1)[1]
    if "\t" in text and (columns := _GH_COLUMNS.match(text)):
        text = text[columns.end() :]
    for _ in range(5):
        if not (found := _PREFIX.match(text)):
            break
        text = text[found.end() :]
    return _CONTROLS.sub("", text) if _CONTROLS.search(text) else text


_COMMAND = re.compile(
    r"^(?:##\[(?:error|warning|notice|debug)\](?:Error: )?|\s*Error: (?=[A-Z])"
    r"|::(?:error|warning|notice)(?: [^:]{0,300})?::)"
)
_LOGGED = re.compile(
    r"^(?:\[[\w-]{1,20}\] )?(?:ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? \[?[\w./-]{1,80}:\d+\] ?"
    r"|^\[?[EF]\d{3,8} \d\d:\d\d:\d\d\.\d+ +(?:\d+ )?[\w./-]{1,80}:\d+\] ?"
)
"""What the loggers of vLLM and of Google's glog (PyTorch, Mooncake) put before an error."""


def bare(line: str) -> str:
    """A cleaned line without the runner's annotation mark, and without what a logger puts before an error."""
    return _LOGGED.sub("", _COMMAND.sub("", line))


def looks_binary(sample: bytes) -> bool:
    """Is this no text at all? Stray NUL bytes and broken UTF-8 are text still; a tenth of the bytes is not."""
    if not sample:
        return False
    odd = sum(sample.count(bytes([b])) for b in range(32) if b not in (7, 8, 9, 10, 12, 13, 27))
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    return odd > len(sample) * 0.1 or broken > len(sample) * 0.1
