"""The words and colours in which deployments are shown on a terminal: one place for all of `build-eye deploy`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from buildeye.cli.terminal import Look, cells, cut
from buildeye.deploy.states import BAD, Happening
from buildeye.logs.secrets import mask, strip_controls
from buildeye.model.deployments import Deployment, SignalKind, SignalStatus, State

NAMES: Final = {
    SignalKind.PROCESS: "process",
    SignalKind.HTTP: "http",
    SignalKind.CANARY: "canary",
    SignalKind.RATE: "rate",
}
"""Signals as people say them."""

BOLD, DIM, RED, GREEN, YELLOW, BLUE = 1, 2, 31, 32, 33, 34
STATUS_COLOUR: Final = {
    SignalStatus.OK: GREEN, SignalStatus.FAIL: RED, SignalStatus.INSUFFICIENT: YELLOW, SignalStatus.ERROR: YELLOW,
}  # fmt: skip
_ASKS: Final = (State.NEEDS_ATTENTION, State.CLOSED_INSUFFICIENT_DATA)

HAPPENED: Final = {
    Happening.START: "its process is being started",
    Happening.STARTED: "its process runs; waiting until it is healthy",
    Happening.START_FAILED: "its process did not start",
    Happening.HEALTHY: "it is healthy",
    Happening.UNHEALTHY: "it did not become healthy; the old version still serves",
    Happening.CUT_OVER: "requests are being sent to it",
    Happening.SWITCHED: "requests go to it; the previous version stays warm",
    Happening.SWITCH_FAILED: "requests could not be sent to it",
    Happening.ANOMALY: "a signal failed",
    Happening.ROLL_BACK: "requests go back to the previous version",
    Happening.HOLD: "held: a person must look",
    Happening.RETURNED: "the previous version serves again",
    Happening.RETURN_FAILED: "the previous version could not take over; this one still serves",
    Happening.CLEAN: "watched to the end, nothing bad was seen",
    Happening.DEADLINE: "too little was seen to call it clean; it stays in service",
    Happening.ASK: "a person must look",
    Happening.RESUME: "watched again",
    Happening.PROMOTE: "promoted by a person",
    Happening.SUPERSEDE: "a later deployment took over",
    Happening.ABORT: "aborted; it got no requests",
}
"""What an event says that gives no reason of its own."""


def state_colour(state: State) -> int:
    """Green when it is known to be good, red when known to be bad, yellow when a person must look."""
    if state in BAD:
        return RED
    if state in _ASKS:
        return YELLOW
    return GREEN if state is State.MONITORING_WINDOW_CLEAN else BLUE


def plain(text: str) -> str:
    """Text from outside as one line without controls and secrets: a version, a judge's sentence, a person's reason."""
    return mask(" ".join(strip_controls(text.replace("\t", " ")).split()))


def when(moment: datetime) -> str:
    """A moment for people, in UTC."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def title(deployment: Deployment) -> str:
    """`web  v142`."""
    return f"{plain(deployment.service)}  {plain(deployment.version)}"


def commit_text(deployment: Deployment) -> str:
    """The commit and its repository, '' when none was given."""
    commit = plain(deployment.commit)[:10]
    return f"{commit} of {plain(deployment.repository)}" if commit and deployment.repository else commit


def ends(left: str, right: str, look: Look, *codes: int) -> list[str]:
    """Two texts at both ends of a line, on two lines when they do not fit; the left one in colour."""
    gap = look.width - cells(left) - cells(right)
    painted = look.paint(cut(left, look.width), *codes)
    if not right:
        return [painted]
    return [painted + " " * gap + right] if gap >= 2 else [painted, " " + cut(right, look.width - 1)]


def facts(parts: Sequence[str]) -> str:
    """Short facts on one line."""
    return " · ".join(filter(None, parts))
