"""What all peers share: a command that reads logs and prints the contract's smallest object for each.

    python PEER.py --json [--baseline GOOD] LOG...      one JSON object a line
    python PEER.py --time [--baseline GOOD] LOG...      seconds that the tool itself took, without start and reading

A peer is given what helps it: lines without colour and without GitHub's timestamps. Standard library only, because it
runs in the peers' environment.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONTEXT = 5
"""Lines shown before and behind a line that a tool found: what buildlog-consultant's own command shows."""
MAX_QUOTES = 40
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TIME = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z ")


@dataclass(frozen=True)
class Found:
    """What a tool says of a log: the line to read first and the spans worth reading, best first (1-based)."""

    key: int
    spans: Sequence[tuple[int, int]]
    cause: str = "unknown"
    category: str = "unknown"
    summary: str = ""


Tool = Callable[[list[str], list[str] | None], Found | None]


def around(line: int, count: int) -> list[tuple[int, int]]:
    """The span of a found line with its context."""
    return [(max(1, line - CONTEXT), min(count, line + CONTEXT))]


def plain_lines(path: Path) -> list[str]:
    """The lines of a log as a person sees them."""
    text = path.read_bytes().decode("utf-8", "replace")
    return [_TIME.sub("", _COLOUR.sub("", line)).rstrip("\r") for line in text.split("\n")]


def answer(tool: Tool) -> None:
    """Run a tool over the logs of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--baseline", type=Path)
    parser.add_argument("logs", nargs="+", type=Path)
    arguments = parser.parse_args()
    good = plain_lines(arguments.baseline) if arguments.baseline else None
    seconds = 0.0
    for path in arguments.logs:
        lines = plain_lines(path)
        start = time.perf_counter()
        found = tool(lines, good)
        seconds += time.perf_counter() - start
        if arguments.json:
            print(json.dumps(as_contract(str(path), lines, found)))
    if arguments.time:
        print(f"{seconds:.4f}")
    sys.stdout.flush()


def as_contract(name: str, lines: list[str], found: Found | None) -> dict[str, Any]:
    """The smallest object of the diagnosis contract that the scorer reads."""
    if found is None:
        return {"log": name, "cause": "unknown", "category": "unknown", "confidence": 0.0, "key_line": None}
    numbers = [found.key] + [n for start, end in found.spans for n in range(start, end + 1) if n != found.key]
    quotes = [(n, lines[n - 1]) for n in numbers[:MAX_QUOTES] if lines[n - 1].strip()]
    return {
        "log": name,
        "cause": found.cause,
        "category": found.category,
        "confidence": 0.6,
        "summary": found.summary,
        "key_line": {"number": found.key, "text": lines[found.key - 1]},
        "excerpts": [{"start": start, "end": end, "why": "found"} for start, end in found.spans],
        "evidence": [{"kind": "words", "id": "peer", "line": n, "quote": text[:400], "why": ""} for n, text in quotes],
    }
