"""The words and colours in which deployments are shown on a terminal: one place for all of `build-eye deploy`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from buildeye.cli.terminal import Look, cells, cut
from buildeye.deploy.states import BAD
from buildeye.logs.secrets import mask, strip_controls
from buildeye.model.deployments import Deployment, SignalStatus, State

BOLD, DIM, RED, GREEN, YELLOW, BLUE = 1, 2, 31, 32, 33, 34
STATUS_COLOUR: Final = {
    SignalStatus.OK: GREEN, SignalStatus.FAIL: RED, SignalStatus.INSUFFICIENT: YELLOW, SignalStatus.ERROR: YELLOW,
}  # fmt: skip
_ASKS: Final = (State.NEEDS_ATTENTION, State.CLOSED_INSUFFICIENT_DATA)


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


def outcome_words(deployment: Deployment) -> str:
    """How a deployment stands, as the end of a sentence: `closed as clean`, `rolled back`."""
    return _OUTCOMES.get(deployment.state, deployment.state.replace("_", " "))


_OUTCOMES: Final = {
    State.MONITORING_WINDOW_CLEAN: "its window is closed as clean",
    State.CLOSED_INSUFFICIENT_DATA: "its window is closed with too little seen to call it clean",
    State.NEEDS_ATTENTION: "a person must look",
    State.HEALTH_FAILED: "given up: it did not become healthy",
    State.ROLLBACK_FAILED: "bad, and the earlier version could not take over",
    State.SUPERSEDED: "superseded by a later deployment",
}
