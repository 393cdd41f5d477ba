"""A query that went over a limit, in one sentence: which limit, its value, what raises it, and what to narrow."""

import re
from collections.abc import Mapping
from typing import Final

from buildeye.model import UsageError

_MIB: Final = 1024**2


class OverLimit(UsageError):
    """A query cost more than it may (exit 2); `setting` is ClickHouse's name of the limit."""

    def __init__(self, message: str, setting: str) -> None:
        super().__init__(message)
        self.setting = setting


def over_limit(code: int, reason: str, settings: Mapping[str, int | str]) -> OverLimit | None:
    """What ClickHouse's error `code` with its `reason` means for a query that ran under `settings`.

    None: it is about no limit of the query, but about the server, such as too many queries at once.
    """
    match code:
        case 159 | 160:
            return _told("max_execution_time", settings, reason)
        case 241 if "for query" in reason.lower() or "(total)" not in reason.lower():
            return _told("max_memory_usage", settings, reason)
        case 396:
            return _told(
                "max_result_bytes" if re.search(r"bytes|[KMGT]i?B", reason) else "max_result_rows", settings, reason
            )
        case 158:
            return _told("max_rows_to_read", settings, reason)
        case 307:
            return _told("max_bytes_to_read", settings, reason)
    return None


def _told(setting: str, settings: Mapping[str, int | str], reason: str) -> OverLimit:
    what, key, narrow = _WORDS[setting]
    value = settings.get(setting)
    if not isinstance(value, int):
        return OverLimit(f"the query went over a limit of the server ({reason}); {narrow}", setting)
    raised = f"or raise {key}" if key else f"or raise {setting} in the SETTINGS of the query"
    return OverLimit(f"the query {what.format(_amount(setting, value))} ({setting}); {narrow}, {raised}", setting)


def _amount(setting: str, value: int) -> str:
    match setting:
        case "max_memory_usage" | "max_result_bytes" | "max_bytes_to_read":
            return f"{value / _MIB:,.0f} MiB" if value >= _MIB else f"{value:,} bytes"
        case "max_execution_time":
            return f"{value} second{'' if value == 1 else 's'}"
    return f"{value:,} rows"


_WORDS: Final = {
    "max_execution_time": (
        "took longer than {}", "ask.max_seconds", "ask for a shorter time, or bound it by repository, file or job",
    ),
    "max_memory_usage": (
        "needed more memory than {}", "ask.max_memory_mib", "ask for a shorter time, or group by fewer columns",
    ),
    "max_result_rows": ("answers more than {}", "ask.max_rows", "add a LIMIT, or count them with GROUP BY"),
    "max_result_bytes": ("answers more than {}", "ask.max_result_mib", "add a LIMIT, or ask for fewer columns"),
    "max_rows_to_read": ("reads more than {}", "", "ask for a shorter time"),
    "max_bytes_to_read": ("reads more than {}", "", "ask for a shorter time or fewer columns"),
}  # fmt: skip
