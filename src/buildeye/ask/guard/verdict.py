"""What the guard answers: a statement that may run with the settings to run it under, or a reason why not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from buildeye.model import UsageError

_READONLY: Final = 1


class Reason(StrEnum):
    """Why a statement is refused; the text of a refusal says more, this is for programs and tests."""

    EMPTY = "empty"
    TOO_LONG = "too-long"
    SEVERAL_STATEMENTS = "several-statements"
    NOT_A_READ = "not-a-read"
    STRANGE_TEXT = "strange-text"
    UNREADABLE = "unreadable"
    UNKNOWN_TABLE = "unknown-table"
    SYSTEM_TABLE = "system-table"
    PARTIAL_TABLE = "partial-table"
    TABLE_FUNCTION = "table-function"
    UNKNOWN_FUNCTION = "unknown-function"
    FILE = "file"
    NETWORK = "network"
    SECRET = "secret"  # noqa: S105  the name of a reason
    STALL = "stall"
    INDIRECT = "indirect"
    OUTPUT = "output"
    FORMAT = "format"
    SETTING = "setting"
    PARAMETER = "parameter"
    NO_TIME_BOUND = "no-time-bound"
    NO_EQUALITY = "no-equality"
    HUGE_JOIN = "huge-join"


class Refused(UsageError):
    """A statement the guard does not let through: `reason` for programs, `hint` says what to write instead."""

    def __init__(self, reason: Reason, what: str, hint: str) -> None:
        super().__init__(f"query refused ({reason}): {what}; {hint}.")
        self.reason = reason
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may cost. A query over a limit ends with the engine's error; nothing is cut silently."""

    seconds: int = 30
    memory_bytes: int = 2 * 1024**3
    result_rows: int = 100_000
    result_bytes: int = 100 * 1024**2
    threads: int | None = None

    def settings(self) -> dict[str, int | str]:
        """The limits as ClickHouse settings, read-only among them."""
        chosen: dict[str, int | str] = {
            "readonly": _READONLY,
            "max_execution_time": self.seconds,
            "timeout_overflow_mode": "throw",
            "max_memory_usage": self.memory_bytes,
            "max_result_rows": self.result_rows,
            "max_result_bytes": self.result_bytes,
            "result_overflow_mode": "throw",
        }
        if self.threads is not None:
            chosen["max_threads"] = self.threads
        return chosen


@dataclass(frozen=True, slots=True)
class Allowed:
    """A statement that may run.

    `statement` is the query as asked, without comments, the FORMAT and SETTINGS at its end, and the semicolon.
    `format` is the output format asked for, None when none was. `settings` must be applied to this query: limits,
    `readonly`, and the harmless settings the query asked for. `warnings` are sentences for the person who asked.
    """

    statement: str
    warnings: tuple[str, ...] = ()
    settings: Mapping[str, int | str] = field(default_factory=dict)
    format: str | None = None
    is_union: bool = False

    @property
    def bounded(self) -> str:
        """The statement with its settings as a clause: chDB keeps a `readonly` set any other way for ever.

        A UNION is put into a sub-query, because the engine applies the clause's row limit to no union.
        """
        statement = f"SELECT * FROM (\n{self.statement}\n)" if self.is_union else self.statement  # noqa: S608  checked
        if not self.settings:
            return statement
        clause = ", ".join(f"{name} = {_literal(value)}" for name, value in self.settings.items())
        return f"{statement}\nSETTINGS {clause}"


def _literal(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
