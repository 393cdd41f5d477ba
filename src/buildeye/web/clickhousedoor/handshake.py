"""What clients ask to introduce themselves, and what they get: names and versions, nothing of users or other settings.

The guard refuses some of it for good reasons, so these few texts are known by heart, and each has a harmless stand-in.
"""

import re
from typing import Final

NAME: Final = "Build-Eye"
_SETTINGS: Final = (
    "SELECT name, value, toUInt8(0) AS readonly FROM system.settings WHERE name = 'enable_http_compression'"
)
"""The only setting that clients look for before they use it, and may use."""

_STAND_INS: Final = {
    "select version()": "SELECT version()",
    "select version(), timezone()": "SELECT version(), 'UTC' AS `timezone()`",
    "select timezone()": "SELECT 'UTC' AS `timezone()`",
    "select displayname()": f"SELECT '{NAME}' AS `displayName()`",
    "select displayname(), version(), revision(), timezone()": (
        f"SELECT '{NAME}' AS `displayName()`, version(), revision(), 'UTC' AS `timezone()`"
    ),
    "select currentuser()": "SELECT 'default' AS `currentUser()`",
    "select user()": "SELECT 'default' AS `user()`",
    "select hostname()": f"SELECT '{NAME}' AS `hostName()`",
    "select name, value, readonly from system.settings limit 10000": _SETTINGS,
    "select name, value, readonly as readonly from system.settings limit 10000": _SETTINGS,
}


def stand_in(statement: str) -> str | None:
    """The statement that is run for one of a handshake; None for every other. Without FORMAT at its end."""
    return _STAND_INS.get(re.sub(r"\s+", " ", statement).strip(" ;").lower())
