"""What the keys of a deploy.yaml must be together: each complaint names the key to mend."""

import re
from collections.abc import Iterator
from typing import Final

from buildeye.config.complaints import dotted
from buildeye.config.secrets import MASK, masked
from buildeye.config.yamlfile import KeyPath
from buildeye.deploy.spec.model import Handover, Profile, RateSource, ServiceSpec

Problem = tuple[KeyPath, str]

_WAYS: Final = ("port", "socket", "switch_command", "switch_file")
_OURS: Final = frozenset({"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "BUILD_EYE_NONCE"})
_VARIABLE: Final = re.compile(r"\$\{[^}]*\}")
_PASSWORD: Final = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_NEEDED: Final = {
    RateSource.NONE: (),
    RateSource.TABLES: ("dsn", "project"),
    RateSource.QUERY: ("dsn", "query"),
    RateSource.PROMETHEUS: ("url", "good", "total"),
    RateSource.ENDPOINT: ("url",),
}
_UNREAD_BY_CLASSIC: Final = {
    "health": ("retry_seconds", "window_minutes", "window_share", "window_probes"),
    "canary": ("confirm_seconds", "least"),
    "rate": (
        "interval_seconds",
        "fail",
        "warn",
        "tasks",
        "margin",
        "least_baseline",
        "most_unjudged",
        "baseline_tasks",
    ),
    "process": ("slow_exits", "slow_hours"),
}


def problems(spec: ServiceSpec) -> Iterator[Problem]:
    """Each key that does not fit the others, with the sentence that follows its name."""
    yield from _starting(spec)
    yield from _listening(spec)
    yield from _canary(spec)
    yield from _rate(spec)
    yield from _durations(spec)
    yield from _classic(spec)
    yield from _secrets(spec)


def holds_secret(text: str) -> bool:
    """Whether a text has a password in an address, or the look of a token, that is no ${NAME}."""
    plain = _VARIABLE.sub("", text)
    return bool(_PASSWORD.search(plain)) or MASK in masked(re.sub(r"://[^/\s]*@", "://", plain))


def _starting(spec: ServiceSpec) -> Iterator[Problem]:
    if not spec.service:
        yield ("service",), "is missing; a name of letters, digits, . _ and -"
    if not spec.command or not spec.command[0].strip():
        yield ("command",), "is empty; a list of words such as [./run, --port, '{port}']"
    for name in sorted(_OURS & spec.environment.keys()):
        yield ("environment", name), "is set by the supervisor; leave it out"


def _listening(spec: ServiceSpec) -> Iterator[Problem]:
    listen = spec.listen
    switched = bool(listen.switch_command or listen.switch_file)
    ways = [way for way in _WAYS if getattr(listen, way) and not (way == "port" and switched)]
    if not ways:
        yield ("listen",), f"says no way to be reached; set one of {_either(_WAYS)}"
    for way in ways[1:]:
        yield ("listen", way), f"is a second way to be reached beside listen.{ways[0]}; keep one of them"
    if listen.switch_command and not listen.current_command:
        yield ("listen", "switch_command"), "needs listen.current_command, which tells after a crash where traffic goes"
    if not switched and listen.handover is not Handover.SOCKET:
        yield ("listen", "handover"), "is only used with listen.switch_command or listen.switch_file; leave it out"
    if listen.current_command and not listen.switch_command:
        yield ("listen", "current_command"), "is only used with listen.switch_command; set both or none"


def _canary(spec: ServiceSpec) -> Iterator[Problem]:
    canary = spec.canary
    if canary.path and canary.command:
        yield ("canary", "command"), "is a second canary beside canary.path; keep one of them"
    if canary.body and not canary.path:
        yield ("canary", "body"), "is only sent with canary.path; set it or leave the body out"


def _rate(spec: ServiceSpec) -> Iterator[Problem]:
    rate = spec.rate
    needed = _NEEDED[rate.source]
    for key in needed:
        if not getattr(rate, key):
            yield ("rate", "source"), f"is {rate.source} and needs rate.{key}, which is not set"
    known = {key for keys in _NEEDED.values() for key in keys}
    for key in sorted(known - set(needed)):
        if getattr(rate, key):
            yield ("rate", key), f"is not read with rate.source {rate.source}; leave it out or change the source"
    if rate.warn < rate.fail:
        yield ("rate", "warn"), f"is below rate.fail ({rate.fail:g}); a warning comes first"


def _durations(spec: ServiceSpec) -> Iterator[Problem]:
    window, health, process = spec.window, spec.health, spec.process
    if window.deadline_hours < window.hours:
        yield (
            ("window", "deadline_hours"),
            f"is below window.hours ({window.hours:g}); the window ends first",
        )
    if health.deadline_seconds <= health.minimum_uptime_seconds:
        least = f"{health.minimum_uptime_seconds:g}"
        yield (
            ("health", "deadline_seconds"),
            f"must be above health.minimum_uptime_seconds ({least}); no start could pass",
        )
    if health.deadline_seconds < (health.successes - 1) * health.start_interval_seconds:
        yield ("health", "deadline_seconds"), "is too short for health.successes probes; no start could pass"
    if process.restart_most_seconds < process.restart_seconds:
        yield ("process", "restart_most_seconds"), f"is below process.restart_seconds ({process.restart_seconds:g})"
    if process.slow_hours * 3600 < process.window_seconds:
        yield ("process", "slow_hours"), f"is below process.window_seconds ({process.window_seconds:g})"


def _classic(spec: ServiceSpec) -> Iterator[Problem]:
    if spec.profile is not Profile.CLASSIC:
        return
    for name, keys in _UNREAD_BY_CLASSIC.items():
        for key in keys:
            if key in getattr(spec, name).model_fields_set:
                yield (name, key), "is not read in profile classic, which decides as the first monitor; leave it out"
    if spec.rate.source not in {RateSource.NONE, RateSource.TABLES}:
        yield ("rate", "source"), f"is {spec.rate.source}; profile classic reads none or tables"


def _secrets(spec: ServiceSpec) -> Iterator[Problem]:
    given: list[tuple[KeyPath, str]] = [(("environment", name), text) for name, text in spec.environment.items()]
    given += [(("rate", "dsn"), spec.rate.dsn), (("rate", "url"), spec.rate.url)]
    for path, text in given:
        if holds_secret(text):
            name = path[-1] if path[0] == "environment" else dotted(path).upper().replace(".", "_")
            yield path, f"holds a secret as text; write ${{{name}}} for it and set that where the supervisor runs"


def _either(words: tuple[str, ...]) -> str:
    return f"{', '.join(f'listen.{word}' for word in words[:-1])} and listen.{words[-1]}"
