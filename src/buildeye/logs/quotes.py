"""What of a log is worth reading: the block around the key line, the lines that tell, and the files they name."""

import re
from collections.abc import Iterable, Sequence

from buildeye.logs.lines import Lines
from buildeye.logs.structure import Structure
from buildeye.logs.words import weight
from buildeye.model import Excerpt

MAX_SHARE = 0.05
"""Share of a log that excerpts may cover."""
MIN_LINES = 12
"""A short log may be quoted this far whatever the share."""
MAX_LINES = 120
"""More than this nobody reads."""

_TELLS = re.compile(
    r"(?i)^\s*(?:E {2,}|[+-] |expected|received|actual|got\b|want|left:|right:|-->|cause|reason|note:|help:|hint)"
    r"|(?i:^\s*caused by)|^(?:\+|\$|>) \w|\bRUN \w|^\[command\]"
    r"|\b(?:expected|to (?:be|equal)|assert)\b|:\d+:\d+|\bline \d+\b|\.\w{1,4}:\d+"
)
_FILE = re.compile(
    r"(?:^|[\s\"'(\[`|>=,])((?:[A-Za-z]:)?[\w@.+/\\-]*[\w-]+\.(?:py|pyi|pyx|js|jsx|ts|tsx|mjs|cjs|go|rs|java|kt|kts|scala|groovy|c|cc|cpp|cxx|h|hpp|cu|cuh|cs|fs|rb|php"
    r"|swift|sh|yml|yaml|toml|json|md|rst|txt|cmake|gradle|proto|sql|vue|svelte|css|scss|html)|Dockerfile(?:\.\w+)?|Makefile|CMakeLists\.txt)"
    r"(?:[\"'`]?,? line \d+|:\d+|\(\d+|[\s\"')\]:,`]|$)"
)
_FOREIGN = re.compile(
    r"site-packages|dist-packages|node_modules|/usr/(?:lib|include|local/lib|share)/|/opt/(?:conda|hostedtoolcache)|hostedtoolcache|\.cargo/registry"
    r"|<frozen|^/rustc/|/python\d\.\d+/|node:internal/|^internal/(?:modules|process|main|bootstrap|streams|timers|util)/|\.m2/repository|/externals/|rustlib|\.pnpm|/go/pkg/mod|/actions/|^node:"
)
_WORKSPACE = re.compile(
    r"^(?:/home/runner/work/[^/]+/[^/]+/|/__w/[^/]+/[^/]+/|/github/workspace/|/builds/workspace/[^/]+/|/Users/runner/work/[^/]+/[^/]+/|/builds/[^/]+/[^/]+/|/(?:var/lib/jenkins|home/jenkins/agent)/workspace/[^/]+/|/home/circleci/project/|/root/project/|/home/travis/build/[^/]+/[^/]+/|/var/lib/buildkite-agent/builds/[^/]+/[^/]+/[^/]+/|/home/vsts/work/\d+/s/|/drone/src/|[A-Z]:\\a\\[^\\]+\\[^\\]+\\|/workspace/|\./)"
)


def source_file(path: str) -> str:
    """A path as the repository names it; empty for a file that belongs to a library or a toolchain."""
    path = path.strip("\"'`()[],:")
    if _FOREIGN.search(path) or len(path) > 300:
        return ""
    return _WORKSPACE.sub("", path).replace("\\", "/")


def files_in(texts: Iterable[str]) -> list[str]:
    """Source files named in lines, in the order named, each once."""
    found = (source_file(m.group(1)) for text in texts for m in _FILE.finditer(text))
    return list(dict.fromkeys(f for f in found if f and not f.startswith("http")))


def block_around(lines: Lines, key: int, stop: int = 0, before: int = 12, after: int = 14) -> tuple[int, int]:
    """The lines that belong to the key line: up to a blank line, within bounds; up to `stop`, the end of the failure,
    where that is near."""
    start = key
    while start > max(1, key - before) and _joins(lines[start - 1]):
        start -= 1
    end = key
    while end < min(lines.count, key + after) and _joins(lines[end + 1]):
        end += 1
    return start, stop if end < stop <= key + after else end


def window(lines: Lines, key: int, structure: Structure, before: int = 10, after: int = 14) -> tuple[int, int]:
    """The lines around the key line in which its failure is told, within its step, blank lines or not."""
    section = structure.section_at(key)
    first = section.start if section else 1
    while structure.is_echo(first) and first < key:
        first += 1
    last = structure.end if structure.end >= key else lines.count
    return max(first, key - before), min(last, key + after)


def _joins(text: str) -> bool:
    return bool(text.strip()) and not text.startswith(("##[group]", "##[endgroup]"))


def telling(lines: Lines, start: int, end: int, key: int, most: int) -> list[int]:
    """The lines of a block that say most beside the key line, in log order."""
    scored = []
    for n in range(start, end + 1):
        text = lines[n]
        if n == key or not text.strip() or text.startswith("##[group]"):
            continue
        value = weight(text) + (0.8 if _TELLS.search(text) else 0.0) - abs(n - key) * 0.02
        value += 0.4 if any(source_file(m.group(1)) for m in _FILE.finditer(text)) else 0.0
        if value > 0.3:
            scored.append((value, n))
    return sorted(n for _, n in sorted(scored, reverse=True)[:most])


def excerpts(wanted: Sequence[tuple[int, int, str]], total: int, share: float = MAX_SHARE) -> tuple[Excerpt, ...]:
    """Spans best first, overlaps joined, within what a reader takes: `share` of the log, never more than MAX_LINES."""
    budget = max(MIN_LINES, min(MAX_LINES, int(total * share)))
    taken: list[Excerpt] = []
    covered: set[int] = set()
    for start, end, why in wanted:
        start, end = max(1, start), min(total, end)
        fresh = [n for n in range(start, end + 1) if n not in covered]
        if not fresh:
            continue
        fresh = _nearest_run(fresh)[:budget]
        if not fresh:
            break
        budget -= len(fresh)
        covered.update(fresh)
        taken.append(Excerpt(fresh[0], fresh[-1], why))
    return _joined(taken)


def _nearest_run(numbers: list[int]) -> list[int]:
    """The first unbroken run of numbers."""
    for i in range(1, len(numbers)):
        if numbers[i] != numbers[i - 1] + 1:
            return numbers[:i]
    return numbers


def _joined(taken: list[Excerpt]) -> tuple[Excerpt, ...]:
    result: list[Excerpt] = []
    for new in taken:
        touching = next((i for i, e in enumerate(result) if new.start <= e.end + 1 and e.start <= new.end + 1), None)
        if touching is None:
            result.append(new)
        else:
            old = result[touching]
            result[touching] = Excerpt(min(old.start, new.start), max(old.end, new.end), old.why)
    return tuple(result)
