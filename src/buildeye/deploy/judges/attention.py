"""When to ask a person: a check that cannot be made for long, and nothing that was answered already."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from buildeye.model.deployments import HealthSample, HealthVerdict, Moment, SignalStatus


@dataclass(frozen=True, slots=True)
class AttentionSettings:
    """Seconds of nothing but errors of one signal after which a person is asked."""

    error_seconds: float = 600


def judge_errors(
    samples: Sequence[HealthSample], settings: AttentionSettings, now: Moment, answered_seq: int = 0
) -> HealthVerdict:
    """Of one signal's samples, oldest first: ERROR "ask" once all its checks of so long could not be made; else OK.

    The time is from the first such sample of the row to the last, so that a supervisor that slept asks nobody. It never
    is FAIL: an error of the check does not roll back. Samples up to `answered_seq` were put before a person and
    answered; they do not count again. Reasons: ask, retry (ERROR), checked (OK). Numbers: errors, seconds.
    """
    row: list[HealthSample] = []
    for sample in samples:
        if sample.seq and sample.seq <= answered_seq:
            continue
        if sample.status is SignalStatus.ERROR:
            row.append(sample)
        else:
            row.clear()
    if not row:
        return HealthVerdict(SignalStatus.OK, "checked", "its last check was made", {"errors": 0, "seconds": 0.0})
    seconds = row[-1].at.since(row[0].at)
    numbers: dict[str, object] = {"errors": len(row), "seconds": seconds}
    says = f"{row[-1].signal} could not be checked {len(row)} times in {seconds / 60:.0f} min: {row[-1].detail}"
    reason = "ask" if seconds >= settings.error_seconds else "retry"
    return HealthVerdict(SignalStatus.ERROR, reason, says.rstrip(": "), numbers)


def fingerprint(verdict: HealthVerdict) -> str:
    """A name for the evidence of a verdict: two with the same reason and numbers have the same, whatever the time."""
    numbers = {name: value for name, value in verdict.numbers.items() if not name.endswith("seconds")}
    text = json.dumps([str(verdict.status), verdict.reason, numbers], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
