"""What is known of a deployment under watch, as its judges are shown it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from buildeye.deploy.judges import RateReading
from buildeye.model.deployments import HealthSample, ProcessRun, SignalKind


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a deployment under watch. `samples` are in order; `reading` is the last one of the rate."""

    samples: Mapping[SignalKind, Sequence[HealthSample]]
    runs: Sequence[ProcessRun] = ()
    alive: bool = True
    reading: RateReading | None = None
    watched_seconds: float = 0.0
