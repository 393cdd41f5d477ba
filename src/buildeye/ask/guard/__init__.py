"""The query guard: what SQL of people and agents may run, on every path. `check(sql)` allows or refuses.

It knows nothing of connections. docs/query-guard.md tells its rules to the people who meet them.
"""

from buildeye.ask.guard.checking import check
from buildeye.ask.guard.tables import OURS, Tables
from buildeye.ask.guard.tail import check_format, settings_beside
from buildeye.ask.guard.verdict import Allowed, Limits, Reason, Refused

__all__ = ["OURS", "Allowed", "Limits", "Reason", "Refused", "Tables", "check", "check_format", "settings_beside"]
