"""Every key of deploy.yaml with its default, its unit, what it means and what it may be: the one place to look up.

Docs, the file that `build-eye deploy init` writes, and complaints are made from what the fields say. What keys mean
together is checked in `checks`.
"""

import json
import signal
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, model_validator
from pydantic.types import StringConstraints

from buildeye.config.fields import Count, Number, Section, counted, lowered, section, setting
from buildeye.deploy.judges import (
    AttentionSettings,
    CanarySettings,
    CleanSettings,
    HttpSettings,
    ProcessSettings,
    RateSettings,
)

CLASSIC_INTERVAL = 300
"""Seconds between two passes of the seed's monitor."""
CLASSIC_FAILURES = 3
"""Failed probes in a row at which the seed's monitor rolls back."""
_HOUR, _MINUTE = 3600, 60
_HTTP, _CANARY, _RATE, _PROCESS = HttpSettings(), CanarySettings(), RateSettings(), ProcessSettings()
_CLEAN, _ERRORS = CleanSettings(), AttentionSettings()
"""The judges' own limits: what a deploy.yaml says nothing of is judged by them."""
_COMMAND = "a list of words, or [] for none"
_FOLDER = "a folder"


def _worded(value: Any) -> Any:
    """A number as text; yes and no are left to be refused, as nobody knows which text was meant."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _signal_name(value: str) -> str:
    """A signal's name without SIG; empty stays empty."""
    name = value.strip().upper().removeprefix("SIG")
    if name and f"SIG{name}" not in signal.Signals.__members__:
        raise ValueError("not a signal")
    return name


def _json_text(value: Any) -> Any:
    """A mapping or list, as YAML reads JSON, as the JSON text it stands for."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


Word = Annotated[str, BeforeValidator(_worded)]
Words = tuple[Word, ...]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
SignalName = Annotated[str, AfterValidator(_signal_name)]


class Profile(StrEnum):
    """Which rules judge a deployment."""

    DEFAULT = "default"
    CLASSIC = "classic"


class Handover(StrEnum):
    """What a version that is not on the public port gets to listen on."""

    SOCKET = "socket"
    PORT = "port"


class Promote(StrEnum):
    """Who lets a candidate that is ready take over."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"


class RateSource(StrEnum):
    """Where verdicts on the service's tasks are read."""

    NONE = "none"
    TABLES = "tables"
    QUERY = "query"
    PROMETHEUS = "prometheus"
    ENDPOINT = "endpoint"


class Listen(Section):
    """How the service is reached: by port, socket, switch_command or switch_file; port may be the proxy's."""

    host: str = setting("127.0.0.1", "a host name or address of this machine", "the address to listen at", min_length=1)
    port: Count | None = setting(
        None,
        "a port, 1 to 65535",
        "the public port, handed to the service as a socket; beside switch_command or switch_file the proxy's",
        ge=1,
        le=65535,
    )
    socket: str = setting("", "a path, or empty", "the public unix socket, handed to the service")
    switch_command: Words = setting(
        (), _COMMAND, "sends all traffic to BUILD_EYE_ADDRESS, and ends with 0 when that is so"
    )
    current_command: Words = setting((), _COMMAND, "prints the address or port that gets traffic now")
    switch_file: str = setting("", "a path, or empty", "a file that names the address in service")
    switch_text: str = setting("{address}\n", "a text with {address}, {host} or {port}", "what that file holds")
    handover: Handover = setting(
        Handover.SOCKET,
        "socket or port",
        "beside switch_command or switch_file: a socket is handed over, or only {port}",
    )


class Stop(Section):
    """How a process is ended."""

    signal: SignalName = setting("TERM", "a signal such as TERM", "asks a process to end", min_length=1)
    seconds: Number = counted(30, "seconds", 0, 3600, "seconds from asking it to end until it is killed")


class Drain(Section):
    """How the old version finishes what it has begun."""

    seconds: Number = counted(
        30, "seconds", 0, 3600, "seconds after the cutover until connections of the old version are cut"
    )
    signal: SignalName = setting("", "a signal such as USR1, or empty", "tells the old version that it drains")
    undrain_signal: SignalName = setting("", "a signal such as USR2, or empty", "tells it that it serves again")


class Health(Section):
    """The health address, before and after the cutover."""

    path: str = setting("/health", "a path that begins with /", "asked with GET; 2xx is healthy", pattern=r"^/")
    interval_seconds: Number = counted(30, "seconds", 1, 3600, "seconds between two probes; 300 in profile classic")
    timeout_seconds: Number = counted(
        5, "seconds", 0.1, 300, "seconds one answer may take, from connecting to its last byte"
    )
    retry_seconds: Number = counted(
        _HTTP.retry_seconds, "seconds", 0.1, 3600, "seconds until the next probe after a failed one"
    )
    failures: Count = counted(
        _HTTP.failures, "probes", 1, 100, "failed probes in a row that roll back; 3 in profile classic"
    )
    window_minutes: Number = counted(
        _HTTP.window_seconds // _MINUTE, "minutes", 1, 1440, "the window that flapping is looked for in"
    )
    window_share: Number = setting(
        _HTTP.window_share, "a share, 0.01 to 1", "share of failed probes in the window that rolls back", ge=0.01, le=1
    )
    window_probes: Count = counted(
        _HTTP.window_probes, "probes", 2, 1000, "fewer probes in the window say nothing of flapping"
    )
    successes: Count = counted(3, "probes", 1, 100, "good probes in a row that a candidate needs before the cutover")
    minimum_uptime_seconds: Number = counted(
        10, "seconds", 0, 3600, "seconds a candidate must have run before the cutover"
    )
    deadline_seconds: Number = counted(120, "seconds", 1, 86400, "seconds a candidate may take until it is healthy")
    start_interval_seconds: Number = counted(1, "seconds", 0.05, 300, "seconds between two probes before the cutover")


class Canary(Section):
    """A task that is tried on the service now and then; none without path and command."""

    path: str = setting("", "a path that begins with /, or empty", "where the task is sent", pattern=r"^(/|$)")
    method: str = setting("POST", "GET, POST or PUT", "how it is sent", pattern=r"^(GET|POST|PUT)$")
    body: Annotated[str, BeforeValidator(_json_text)] = setting("", "a text, or JSON", "the task")
    command: Words = setting((), _COMMAND, "run instead of sending; BUILD_EYE_ADDRESS names the version, and 0 is good")
    interval_seconds: Number = counted(3600, "seconds", 1, 86400, "seconds between two tasks")
    timeout_seconds: Number = counted(60, "seconds", 0.1, 3600, "seconds one task may take")
    confirm_seconds: Number = counted(
        _CANARY.confirm_seconds, "seconds", 0, 3600, "seconds until a failed task is tried once more"
    )
    least: Count = counted(_CLEAN.canaries, "tasks", 0, 1000, "good tasks that a clean window needs")

    @property
    def given(self) -> bool:
        """Whether the service has one."""
        return bool(self.path or self.command)


class Rate(Section):
    """The share of the service's tasks that are approved, and the test of it against the time before the cutover."""

    source: Annotated[RateSource, BeforeValidator(lowered)] = setting(
        RateSource.NONE, "none, tables, query, prometheus or endpoint", "where verdicts are read"
    )
    interval_seconds: Number = counted(30, "seconds", 1, 3600, "seconds between two looks")
    dsn: str = setting(
        "", "an address of a database, ${NAME} for its password", "tables, query: the database", repr=False
    )
    project: str = setting("", "a text", "tables: the project_id of the service's tasks")
    query: str = setting("", "a query", "query: tells the tasks with their verdicts")
    url: str = setting(
        "", "an http(s) address, ${NAME} for its password", "prometheus, endpoint: the server", repr=False
    )
    good: str = setting("", "a PromQL expression", "prometheus: how many tasks were approved")
    total: str = setting("", "a PromQL expression", "prometheus: how many tasks were judged")
    fail: Number = setting(
        _RATE.fail,
        "a probability, 0.0001 to 0.5",
        "the most probable a false rollback by this test may be",
        ge=0.0001,
        le=0.5,
    )
    warn: Number = setting(
        _RATE.warn, "a probability, 0.0001 to 0.5", "the most probable a false warning by it may be", ge=0.0001, le=0.5
    )
    tasks: Count = counted(_RATE.tasks, "tasks", 5, 500, "judged tasks that the test looks at")
    margin: Number = setting(
        _RATE.margin, "a share, 0 to 0.9", "a drop of the rate that is smaller never rolls back", ge=0, le=0.9
    )
    least_baseline: Count = counted(
        _RATE.least_baseline, "tasks", 1, 10000, "fewer tasks before the cutover are no baseline"
    )
    most_unjudged: Number = setting(
        _RATE.most_unjudged, "a share, 0 to 1", "with more tasks unjudged nothing is said", ge=0, le=1
    )
    baseline_tasks: Count = counted(200, "tasks", 1, 10000, "newest tasks before the cutover that are the baseline")

    @property
    def given(self) -> bool:
        """Whether the service has one."""
        return self.source is not RateSource.NONE


class Process(Section):
    """What exits of the process say, and whether it is started again."""

    exits: Count = counted(_PROCESS.exits, "exits", 1, 100, "exits in the window that roll back")
    window_seconds: Number = counted(_PROCESS.window_seconds, "seconds", 1, 86400, "the window exits are counted in")
    slow_exits: Count = counted(_PROCESS.slow_exits, "exits", 1, 1000, "exits in the long window that roll back")
    slow_hours: Number = counted(
        _PROCESS.slow_seconds // _HOUR, "hours", 0.01, 720, "the long window, for slow crash loops"
    )
    restart: bool = setting(True, "true or false", "start a process that exited again")
    restart_seconds: Number = counted(
        1, "seconds", 0, 3600, "seconds until it is started again; twice as long each time"
    )
    restart_most_seconds: Number = counted(60, "seconds", 0, 86400, "seconds until it is started again, at most")


class Window(Section):
    """How long a deployment is watched after the cutover."""

    hours: Number = counted(
        _CLEAN.window_seconds // _HOUR, "hours", 0.001, 720, "hours a deployment is watched at least"
    )
    deadline_hours: Number = counted(
        _CLEAN.deadline_seconds // _HOUR,
        "hours",
        0.001,
        2160,
        "hours after which it is closed as insufficient data when it is not clean",
    )
    error_minutes: Number = counted(
        _ERRORS.error_seconds // _MINUTE,
        "minutes",
        0.1,
        1440,
        "minutes of checks that cannot be made, after which a person is asked",
    )


class Rollback(Section):
    """When the supervisor goes back by itself."""

    automatic: bool = setting(True, "true or false", "go back by itself; false: ask a person")
    per_hour: Count = counted(
        3, "rollbacks", 1, 100, "rollbacks by itself in an hour; instead of more it asks a person"
    )
    schema_command: Words = setting(
        (), _COMMAND, "prints the schema version; when the candidate moved it, nothing goes back by itself"
    )


class Hooks(Section):
    """Commands that are run at steps of a deployment; one that fails before the cutover stops it."""

    before_start: Words = setting((), _COMMAND, "before the candidate is started")
    before_cutover: Words = setting((), _COMMAND, "when it is healthy, before it gets traffic")
    after_cutover: Words = setting((), _COMMAND, "when it gets all traffic")
    after_rollback: Words = setting((), _COMMAND, "when the old version gets all traffic again")
    on_anomaly: Words = setting((), _COMMAND, "when an anomaly is found")
    timeout_seconds: Number = counted(60, "seconds", 0.1, 3600, "seconds one hook may take")


class ServiceSpec(Section):
    """A deploy.yaml: how one service is started, checked, cut over and watched."""

    service: str = setting(
        "",
        "a name of letters, digits, . _ and -",
        "the service's name",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,99})?$",
    )
    repository: str = setting(
        "", "OWNER/REPO, or empty", "its repository, to link deployments with CI", pattern=r"^([\w.-]+/[\w.-]+)?$"
    )
    command: Words = setting((), "a list of words such as [./run, --port, '{port}']", "starts the service")
    directory: str = setting("", _FOLDER, "where it is started; relative to the file's own folder")
    environment: Mapping[Name, Word] = setting(
        {}, "names with texts; yes, no, on and off need quotes", "its environment beside the supervisor's", repr=False
    )
    listen: Listen = section(Listen, "how the service is reached")
    profile: Annotated[Profile, BeforeValidator(lowered)] = setting(
        Profile.DEFAULT, "default or classic", "the rules that judge; classic: those of the first monitor"
    )
    promote: Annotated[Promote, BeforeValidator(lowered)] = setting(
        Promote.AUTOMATIC,
        "automatic or manual",
        "who lets a healthy candidate take over; manual: a person, with deploy promote",
    )
    retain: Count = counted(2, "versions", 1, 20, "ended versions whose run folders stay on disk")
    stop: Stop = section(Stop, "how a process is ended")
    drain: Drain = section(Drain, "how the old version finishes")
    health: Health = section(Health, "the health address")
    canary: Canary = section(Canary, "a task that is tried now and then")
    rate: Rate = section(Rate, "the share of approved tasks")
    process: Process = section(Process, "what exits say")
    window: Window = section(Window, "how long a deployment is watched")
    rollback: Rollback = section(Rollback, "when the supervisor goes back by itself")
    hooks: Hooks = section(Hooks, "commands at steps of a deployment")
    notify: Words = setting((), "a list of apprise addresses, ${NAME} for what is secret", "who is told", repr=False)

    @model_validator(mode="before")
    @classmethod
    def _classic_pace(cls, given: Any) -> Any:
        """Profile classic probes as often, and forgives as many failures, as the first monitor, unless told else."""
        if not isinstance(given, dict) or lowered(given.get("profile")) != Profile.CLASSIC:
            return given
        health = given.get("health", {})
        if not isinstance(health, dict):
            return given
        usual = {"interval_seconds": CLASSIC_INTERVAL, "failures": CLASSIC_FAILURES}
        return given | {"health": usual | health}
