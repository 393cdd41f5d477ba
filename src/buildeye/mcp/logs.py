"""The tool that says why a job failed, from its log alone."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Final

from mcp_types import CallToolResult
from pydantic import Field

from buildeye.logs.brief import brief, lines_for
from buildeye.logs.diagnose import LogReading, read_log
from buildeye.logs.ruleset import RuleSet, load_ruleset
from buildeye.logs.source import LogFile, open_logs
from buildeye.mcp.desk import Desk
from buildeye.mcp.quoting import LONGEST_TOLD, QUOTED, fitting, plain_text, quoted, told
from buildeye.mcp.tooling import ReadingTool, Shape, answer, tool
from buildeye.model import Diagnosis, Job, UsageError

LONGEST_LOG: Final = 4_000_000
"""Characters of a log that is given as text."""
MOST_LOGS: Final = 20
"""Logs of one archive that are read."""
CHARACTERS: Final = 4
"""Of a token, about; the bars before lines are some."""
_ABOUT: Final = """Say why a CI job failed, from its log alone: cause (code, configuration, infrastructure,
interference, cancelled, none, unknown), category, confidence (probability from 0 to 1 that the cause is right; below
0.5 the cause is unknown), the key line to read first, failing tests and files, what to do (cheapest first), and whether
a re-run can help.

Give the whole log: what stands at its end decides. No model is asked, the same log gives the same answer. Secrets are
masked. `signature` is equal for equal failures."""
_EITHER: Final = " Give `path` or `text`, not both; a path is cheaper, and may be an archive of several logs."

LogText = Annotated[
    str, Field(max_length=LONGEST_LOG, description=f"The log itself, at most {LONGEST_LOG:,} characters.")
]
LogPath = Annotated[
    str, Field(description="Path of a log on this machine: plain, .gz, .zst, or GitHub's .zip of several logs.")
]
Tokens = Annotated[
    int, Field(ge=50, le=8_000, description="Tokens that the text on one log may take: the lines worth reading.")
]


class LogAnswer(Shape):
    """What the logs say; texts in it come from the logs."""

    diagnoses: list[Diagnosis]
    left_out: int = Field(description="Logs of an archive that were not read, or not told for want of room.")


class LogTools:
    """Reads logs that are handed in."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def tools(self) -> list[ReadingTool]:
        """The tool, which takes a path only where files are the caller's own."""
        if self._desk.local:
            return [tool(self.explain_log_or_file, "explain_log", "Why did this job fail?", _ABOUT + _EITHER)]
        return [tool(self.explain_log, "explain_log", "Why did this job fail?", _ABOUT)]

    def explain_log(self, text: LogText, tokens: Tokens = 1_200) -> Annotated[CallToolResult, LogAnswer]:
        """Explain a log that is given as text."""
        return self._read([_as_log(text)], tokens)

    def explain_log_or_file(
        self, text: LogText = "", path: LogPath = "", tokens: Tokens = 1_200
    ) -> Annotated[CallToolResult, LogAnswer]:
        """Explain a log that is given as text, or a file of logs."""
        if bool(text) == bool(path):
            raise UsageError("explain_log takes one of text and path: the log itself, or where it lies on this machine")
        if path == "-":
            raise UsageError(
                "explain_log reads no standard input, which carries the protocol; name a file, or give text"
            )
        return self._read(open_logs(path) if path else [_as_log(text)], tokens)

    def _read(self, logs: Iterable[LogFile], tokens: int) -> CallToolResult:
        found: list[Diagnosis] = []
        lines, unread = [QUOTED], 0
        for log in logs:
            with log:
                if len(found) == MOST_LOGS:
                    unread += 1
                    continue
                diagnosis, text = explained(log, self._desk, tokens)
            found.append(diagnosis)
            lines += [quoted(f"log {plain_text(log.name)}"), *quoted(text).split("\n")]
        kept, cut = fitting(each.to_dict() for each in found)
        room = max(LONGEST_TOLD, tokens * CHARACTERS)
        return answer({"diagnoses": kept, "left_out": cut + unread}, told(lines, room))


def explained(log: LogFile, desk: Desk, tokens: int) -> tuple[Diagnosis, str]:
    """What a log says, and the text of `build-eye explain --context-for-agent`."""
    reading = read(log, desk, tokens)
    return reading.diagnosis, brief(reading, tokens)


def read(log: LogFile, desk: Desk, tokens: int, job: Job | None = None) -> LogReading:
    """What a log says by the rules of the settings, with as many lines as `tokens` may need."""
    rules = _rules(tuple(desk.settings.storage.knowledge_dirs))
    return read_log(log, rules, job=job, show=lines_for(tokens))


@cache
def _rules(folders: tuple[Path, ...]) -> RuleSet:
    return load_ruleset(folders)


def _as_log(text: str) -> LogFile:
    return LogFile.of("log", text.encode("utf-8", "replace"))
