"""The states of a deployment and the one table of what follows what."""

from enum import StrEnum
from types import MappingProxyType
from typing import Final

from buildeye.model.deployments import State


class Happening(StrEnum):
    """What moves a deployment from one state to another."""

    START = "start"
    STARTED = "started"
    START_FAILED = "start_failed"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    CUT_OVER = "cut_over"
    SWITCHED = "switched"
    SWITCH_FAILED = "switch_failed"
    ANOMALY = "anomaly"
    ROLL_BACK = "roll_back"
    HOLD = "hold"
    RETURNED = "returned"
    RETURN_FAILED = "return_failed"
    CLEAN = "clean"
    DEADLINE = "deadline"
    ASK = "ask"
    RESUME = "resume"
    PROMOTE = "promote"
    SUPERSEDE = "supersede"
    ABORT = "abort"


_S, _H = State, Happening

TRANSITIONS: Final = MappingProxyType(
    {
        (_S.CREATED, _H.START): _S.STARTING,
        (_S.CREATED, _H.ABORT): _S.ABORTED,
        (_S.CREATED, _H.SUPERSEDE): _S.SUPERSEDED,
        (_S.STARTING, _H.STARTED): _S.HEALTH_CHECKING,
        (_S.STARTING, _H.START_FAILED): _S.HEALTH_FAILED,
        (_S.STARTING, _H.ABORT): _S.ABORTED,
        (_S.STARTING, _H.SUPERSEDE): _S.SUPERSEDED,
        (_S.HEALTH_CHECKING, _H.HEALTHY): _S.READY,
        (_S.HEALTH_CHECKING, _H.UNHEALTHY): _S.HEALTH_FAILED,
        (_S.HEALTH_CHECKING, _H.ABORT): _S.ABORTED,
        (_S.HEALTH_CHECKING, _H.SUPERSEDE): _S.SUPERSEDED,
        (_S.READY, _H.CUT_OVER): _S.CUTTING_OVER,
        (_S.READY, _H.UNHEALTHY): _S.HEALTH_FAILED,
        (_S.READY, _H.ABORT): _S.ABORTED,
        (_S.READY, _H.SUPERSEDE): _S.SUPERSEDED,
        (_S.CUTTING_OVER, _H.SWITCHED): _S.MONITORING,
        (_S.CUTTING_OVER, _H.SWITCH_FAILED): _S.ROLLING_BACK,
        (_S.CUTTING_OVER, _H.ROLL_BACK): _S.ROLLING_BACK,
        (_S.CUTTING_OVER, _H.ABORT): _S.ABORTED,
        (_S.MONITORING, _H.CLEAN): _S.MONITORING_WINDOW_CLEAN,
        (_S.MONITORING, _H.PROMOTE): _S.MONITORING_WINDOW_CLEAN,
        (_S.MONITORING, _H.DEADLINE): _S.CLOSED_INSUFFICIENT_DATA,
        (_S.MONITORING, _H.ANOMALY): _S.ANOMALY_DETECTED,
        (_S.MONITORING, _H.ASK): _S.NEEDS_ATTENTION,
        (_S.MONITORING, _H.ROLL_BACK): _S.ROLLING_BACK,
        (_S.MONITORING, _H.SUPERSEDE): _S.SUPERSEDED,
        (_S.MONITORING, _H.ABORT): _S.ABORTED,
        (_S.NEEDS_ATTENTION, _H.RESUME): _S.MONITORING,
        (_S.NEEDS_ATTENTION, _H.PROMOTE): _S.MONITORING_WINDOW_CLEAN,
        (_S.NEEDS_ATTENTION, _H.DEADLINE): _S.CLOSED_INSUFFICIENT_DATA,
        (_S.NEEDS_ATTENTION, _H.ANOMALY): _S.ANOMALY_DETECTED,
        (_S.NEEDS_ATTENTION, _H.ROLL_BACK): _S.ROLLING_BACK,
        (_S.NEEDS_ATTENTION, _H.SUPERSEDE): _S.SUPERSEDED,
        (_S.NEEDS_ATTENTION, _H.ABORT): _S.ABORTED,
        (_S.ANOMALY_DETECTED, _H.ROLL_BACK): _S.ROLLING_BACK,
        (_S.ANOMALY_DETECTED, _H.HOLD): _S.NEEDS_ATTENTION,
        (_S.ANOMALY_DETECTED, _H.ABORT): _S.ABORTED,
        (_S.ROLLING_BACK, _H.RETURNED): _S.ROLLED_BACK,
        (_S.ROLLING_BACK, _H.RETURN_FAILED): _S.ROLLBACK_FAILED,
        (_S.ROLLING_BACK, _H.ABORT): _S.ABORTED,
    }
)
"""{(state, what happened): next state}; what is not in it has no effect. After a cutover only the end of the whole
service aborts a deployment."""

TERMINAL: Final = frozenset(State) - {state for state, _ in TRANSITIONS}
"""States that stay."""

BEFORE_CUTOVER: Final = frozenset({State.CREATED, State.STARTING, State.HEALTH_CHECKING, State.READY})
"""States in which the candidate gets no traffic."""

WATCHED: Final = frozenset({State.MONITORING, State.NEEDS_ATTENTION})
"""States in which signals are sampled and a breach still rolls back."""

BAD: Final = frozenset({State.HEALTH_FAILED, State.ANOMALY_DETECTED, State.ROLLING_BACK, State.ROLLED_BACK,
                        State.ROLLBACK_FAILED})  # fmt: skip
"""States that mark their version bad: it is no target of a rollback, and is deployed again only when forced."""

IN_SERVICE: Final = frozenset({State.MONITORING, State.NEEDS_ATTENTION, State.MONITORING_WINDOW_CLEAN,
                               State.CLOSED_INSUFFICIENT_DATA, State.ANOMALY_DETECTED,
                               State.ROLLBACK_FAILED})  # fmt: skip
"""States whose version serves, as long as no later deployment took over."""


def following(state: State, happening: Happening) -> State | None:
    """The state that follows; None where this cannot happen, and then nothing may be done."""
    return TRANSITIONS.get((state, happening))
