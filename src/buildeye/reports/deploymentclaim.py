"""What the report of a deployment claims first, and what it is made of. A title never says more than the signals do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from buildeye.insight.commits import CommitStory
from buildeye.logs.diagnose import LogReading
from buildeye.logs.secrets import mask, strip_controls
from buildeye.model.boundary import RateBoundary
from buildeye.model.deployments import DeployEvent, Deployment, HealthVerdict, SignalKind, SignalStatus, State
from buildeye.reports.deploywords import BECAUSE, SIGNAL_NAMES, why_rolled_back
from buildeye.reports.markdown import prose

_GOING_BACK: Final = (State.ANOMALY_DETECTED, State.ROLLING_BACK, State.ROLLED_BACK)
_STAYS: Final = (State.NEEDS_ATTENTION, State.CLOSED_INSUFFICIENT_DATA)
_SPEAKING: Final = (SignalStatus.FAIL, SignalStatus.ERROR, SignalStatus.INSUFFICIENT)


@dataclass(frozen=True, slots=True)
class DeploymentTold:
    """All that a report tells. `signals` holds the last judgement of each signal; `events` are in order of `seq`.

    `previous_version` is what was returned to, or would be; `log` the end of the version's own log as it was read.
    `remarks` are sentences a person should know besides, such as who could not be notified.
    """

    deployment: Deployment
    previous_version: str = ""
    signals: Mapping[SignalKind, HealthVerdict] = field(default_factory=dict)
    boundary: RateBoundary | None = None
    events: Sequence[DeployEvent] = ()
    story: CommitStory | None = None
    log: LogReading | None = None
    remarks: Sequence[str] = ()


def speaking_signal(told: DeploymentTold) -> tuple[SignalKind, HealthVerdict] | None:
    """The signal that speaks for the outcome: the first that failed; of what stays, else one not checked, else one that
    waits. None where none did, as when a person went back."""
    for status in _SPEAKING if told.deployment.state in _STAYS else _SPEAKING[:1]:
        for signal in SignalKind:
            verdict = told.signals.get(signal)
            if verdict is not None and verdict.status is status:
                return signal, verdict
    return None


def deployment_title(told: DeploymentTold, say: Mapping[str, str]) -> str:
    deployment = told.deployment
    previous = safe(told.previous_version) or say["no-previous"]
    claim = say[deployment.state].format(previous=previous)
    return f"{safe(f'{deployment.service} {deployment.version}', 120)}: {claim}{_because(told, say)}"


def _because(told: DeploymentTold, say: Mapping[str, str]) -> str:
    """What stands behind the claim: a phrase of ours where the numbers are known, else the signal's own sentence."""
    speaker, state = speaking_signal(told), told.deployment.state
    because = say["because"]
    if speaker is None or (state is State.CLOSED_INSUFFICIENT_DATA and speaker[1].status is not SignalStatus.FAIL):
        why = why_rolled_back(told.deployment) or told.deployment.note
        return because + safe(why, 160) if why else ""
    signal, verdict = speaker
    if verdict.reason in BECAUSE:
        try:
            filled = say[verdict.reason].format(**_crossing(verdict))
        except (KeyError, IndexError):
            filled = ""
        if filled:
            return (say["after"] if state in _GOING_BACK else because) + filled
    return f"{because}{SIGNAL_NAMES[signal]}: {safe(verdict.says or verdict.reason, 160)}"


def _crossing(verdict: HealthVerdict) -> dict[str, str]:
    """The numbers of a verdict; of a rate those at which it crossed its boundary, not those it went on to."""
    numbers, at = dict(verdict.numbers), verdict.numbers.get("at")
    if isinstance(at, list | tuple) and len(at) == 2:
        numbers |= {"approved": at[0], "judged": at[1]}
    return {name: safe(str(value), 40) for name, value in numbers.items()}


def safe(text: str, limit: int = 600) -> str:
    """Text of others without secrets and without meaning to Markdown."""
    return prose(masked(text), limit)


def masked(text: str) -> str:
    """Text of others without secrets and without terminal sequences."""
    return mask(" ".join(map(strip_controls, text.splitlines())))
