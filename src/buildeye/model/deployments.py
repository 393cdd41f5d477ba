"""The words of a deployment: its states, its signals, what was sampled and how that was judged.

States, signal names and signal statuses are those of the seed's monitor, with what its own text admits is missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class State(StrEnum):
    """Where a deployment stands; `deploy.states` says which follows which."""

    CREATED = "created"
    STARTING = "starting"
    HEALTH_CHECKING = "health_checking"
    READY = "ready"
    CUTTING_OVER = "cutting_over"
    MONITORING = "monitoring"
    MONITORING_WINDOW_CLEAN = "monitoring_window_clean"
    HEALTH_FAILED = "health_failed"
    ANOMALY_DETECTED = "anomaly_detected"
    ROLLING_BACK = "rolling_back"
    ROLLED_BACK = "rolled_back"
    ROLLBACK_FAILED = "rollback_failed"
    CLOSED_INSUFFICIENT_DATA = "closed_insufficient_data"
    NEEDS_ATTENTION = "needs_attention"
    SUPERSEDED = "superseded"
    ABORTED = "aborted"


class SignalKind(StrEnum):
    """What is sampled, in the order in which one pass samples it."""

    PROCESS = "process_alive"
    HTTP = "http_health"
    CANARY = "canary_task"
    RATE = "validator_approval_rate"


class SignalStatus(StrEnum):
    """What a sample or a judgement says. ERROR is a check that could not be made: it never rolls back by itself."""

    OK = "ok"
    FAIL = "fail"
    INSUFFICIENT = "insufficient"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Moment:
    """A time: `wall` (aware, UTC) is for people; `ticks` are seconds of the monotonic clock of the boot `boot`."""

    wall: datetime
    boot: str
    ticks: float

    def since(self, earlier: "Moment") -> float:
        """Seconds since an earlier moment, at least 0: by ticks within one boot, by wall time across two."""
        if self.boot == earlier.boot:
            return max(0.0, self.ticks - earlier.ticks)
        return max(0.0, (self.wall - earlier.wall).total_seconds())


@dataclass(frozen=True, slots=True)
class HealthSample:
    """One sample of one signal. `seq` orders samples (never their times do); 0 until it is stored."""

    deployment_id: str
    signal: SignalKind
    status: SignalStatus
    at: Moment
    detail: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)
    seq: int = 0


@dataclass(frozen=True, slots=True)
class HealthVerdict:
    """What a judge says of a signal: a status, a machine-readable `reason`, a sentence, the numbers it rests on."""

    status: SignalStatus
    reason: str
    says: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """One run of a version's process. `exit_code` None while it runs or when nobody knows; negative: by signal.

    `expected` is set where the supervisor stopped it. `start_time` are clock ticks since boot as /proc says them.
    """

    deployment_id: str
    number: int
    nonce: str
    boot: str
    pid: int = 0
    start_time: int = 0
    keeper_pid: int = 0
    keeper_start_time: int = 0
    started: Moment | None = None
    ended: Moment | None = None
    exit_code: int | None = None
    expected: bool = False


@dataclass(frozen=True, slots=True)
class Baseline:
    """The rate before a cutover, frozen with it: `good` of `total` tasks; `ids` is a hash of which tasks."""

    good: int
    total: int
    ids: str = ""


@dataclass(frozen=True, slots=True)
class Deployment:
    """One deployment of one version of a service, as the journal keeps it.

    `epoch` grows with each transition. `spec` is the `deploy.yaml` it was made with, as JSON values. `previous` is the
    deployment that was in service before. `slot` is the listening socket it was given, None before.
    """

    id: str
    service: str
    version: str
    state: State
    epoch: int
    created: Moment
    commit: str = ""
    repository: str = ""
    profile: str = "default"
    kind: str = "release"
    spec: Mapping[str, object] = field(default_factory=dict)
    previous: str = ""
    slot: int | None = None
    baseline: Baseline | None = None
    cutover: Moment | None = None
    closed: Moment | None = None
    rollback_reason: str = ""
    note: str = ""
    paused: bool = False
    forced: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True)
class DeployEvent:
    """One transition or note of a deployment's journal; `before` equals `after` where nothing moved."""

    deployment_id: str
    event: str
    before: State
    after: State
    epoch: int
    at: Moment
    reason: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)
    by: str = "supervisor"
    seq: int = 0
