"""What a simulated service is like, how it is watched, and how its deployments ended."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

from buildeye.deploy.judges import (
    AttentionSettings,
    CanarySettings,
    CleanSettings,
    HttpSettings,
    ProcessSettings,
    RateSettings,
)
from buildeye.model.deployments import SignalKind


@dataclass(frozen=True, slots=True)
class Scenario:
    """An artificial service and what its new version does. Times are seconds from the cutover; shares are 0 to 1.

    The baseline are `baseline_tasks` tasks approved at `rate_before`; after the cutover tasks come as a Poisson process
    and are approved at `rate_after`, `verdict_seconds` after they enter validation. With `rho` above 0 each group of
    `rho_tasks` tasks in a row shares a rate drawn from a beta distribution with that correlation within a group.
    Flakes are the chance that one probe or canary of a healthy version fails, each by itself.
    From `outage_at` on for `outage_seconds` nothing answers; with `shared` the old version does not either. From
    `flap_at` on it is down for the first `flap_share` of each `flap_seconds`. From `canary_down_at` on canaries fail.
    `crashes` are exits, each restarted at once. From `source_down_at` on the rate cannot be read.
    """

    name: str = "healthy"
    rate_before: float = 0.9
    rate_after: float = 0.9
    baseline_tasks: int = 50
    tasks_per_hour: float = 4.0
    verdict_seconds: float = 0.0
    rho: float = 0.0
    rho_tasks: int = 10
    canary_flake: float = 0.0
    http_flake: float = 0.0
    outage_at: float | None = None
    outage_seconds: float = float("inf")
    shared: bool = False
    flap_at: float | None = None
    flap_seconds: float = 300.0
    flap_share: float = 0.5
    canary_down_at: float | None = None
    crashes: tuple[float, ...] = ()
    source_down_at: float | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """How the default profile watches: the intervals in seconds, and the settings of its judges."""

    http_interval: float = 30.0
    rate_interval: float = 30.0
    canary_interval: float = 3600.0
    rate: RateSettings = field(default_factory=RateSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    canary: CanarySettings = field(default_factory=CanarySettings)
    process: ProcessSettings = field(default_factory=ProcessSettings)
    clean: CleanSettings = field(default_factory=CleanSettings)
    attention: AttentionSettings = field(default_factory=AttentionSettings)


class Outcome(StrEnum):
    """How a simulated deployment ended."""

    CLEAN = "clean"
    ROLLED_BACK = "rolled_back"
    INSUFFICIENT = "insufficient"
    ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class Ending:
    """One deployment's end: by which signal, when, and how many tasks had a verdict then. `held`: both versions failed
    at some time, and nothing was done."""

    outcome: Outcome
    seconds: float
    tasks: int
    signal: SignalKind | None = None
    held: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """The ends of all deployments of a scenario under a profile."""

    scenario: Scenario
    profile: str
    endings: tuple[Ending, ...]

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """How many ended how."""
        return Counter(each.outcome for each in self.endings)

    @property
    def signals(self) -> Mapping[SignalKind, int]:
        """How many were rolled back by which signal."""
        return Counter(e.signal for e in self.endings if e.signal is not None and e.outcome is Outcome.ROLLED_BACK)

    @property
    def held(self) -> int:
        """How many met trouble that both versions shared."""
        return sum(each.held for each in self.endings)

    def share(self, outcome: Outcome) -> float:
        """The share of deployments that ended like this."""
        return self.outcomes.get(outcome, 0) / len(self.endings) if self.endings else 0.0

    def found(self, signal: SignalKind, tasks: int | None = None) -> float:
        """The share of deployments rolled back by a signal, of at most so many judged tasks."""
        hits = [e for e in self._by(signal) if tasks is None or e.tasks <= tasks]
        return len(hits) / len(self.endings) if self.endings else 0.0

    def median_tasks(self, signal: SignalKind) -> float | None:
        """Judged tasks at a rollback by a signal; a deployment that it did not find counts as endlessly many."""
        counts = [float(e.tasks) for e in self._by(signal)]
        return _median(counts, len(self.endings))

    def seconds(self, signal: SignalKind, since: float = 0.0) -> list[float]:
        """Seconds from `since` to each rollback by a signal, ascending."""
        return sorted(each.seconds - since for each in self._by(signal))

    def _by(self, signal: SignalKind) -> list[Ending]:
        return [e for e in self.endings if e.signal is signal and e.outcome is Outcome.ROLLED_BACK]


def _median(values: list[float], of: int) -> float | None:
    """The median of `of` values, those not given being endless; None where it is endless itself."""
    if not of or 2 * len(values) <= of:
        return None
    return median([*values, *[float("inf")] * (of - len(values))])
