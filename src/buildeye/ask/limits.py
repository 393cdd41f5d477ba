"""A query that went over a limit, in one sentence: which limit, its value, what raises it, and what to narrow."""

import re
from collections.abc import Mapping
from typing import Final

from buildeye.model import UsageError

_MIB: Final = 1024**2


class OverLimit(UsageError):
    """A query cost more than it may (exit 2); `setting` is ClickHouse's name of the limit, `remedy` how to raise it."""

    def __init__(self, message: str, setting: str, remedy: str = "") -> None:
        super().__init__(f"{message}, {remedy}" if remedy else message)
        self._message = message
        self.setting = setting

    def of_the_query(self) -> "OverLimit":
        """The same for a limit that the query has set itself, lower than that of the settings."""
        return OverLimit(self._message, self.setting, _in_the_query(self.setting))


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
    remedy = f"or raise {key}" if key else _in_the_query(setting)
    return OverLimit(f"the query {what.format(_amount(setting, value))} ({setting}); {narrow}", setting, remedy)


def _in_the_query(setting: str) -> str:
    return f"or raise {setting} in the SETTINGS of the query"


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
