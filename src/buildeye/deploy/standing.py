"""How a deployment stands at one moment: what the faces show and the pages print. Pure data, made by the supervisor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from buildeye.model.boundary import RateBoundary
from buildeye.model.deployments import Deployment, SignalKind, SignalStatus


@dataclass(frozen=True, slots=True)
class SignalStanding:
    """One signal as it was judged last.

    `says` is the judge's sentence, `numbers` what it rests on. `fails_when` and `needs` say in plain words what would
    make it fail, and what it lacks to let the window close. `next_look` is in seconds of the supervisor's clock.
    """

    signal: SignalKind
    status: SignalStatus
    says: str
    reason: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)
    fails_when: str = ""
    needs: str = ""
    next_look: float | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must hold before the window closes clean, with how far it is: `>= 10 judged (9 now)`."""

    says: str
    met: bool


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """The process of a version: `up` in seconds, `exits` that nobody asked for since it was deployed."""

    pid: int | None = None
    up: float | None = None
    exits: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """A deployment with all that a person asks about it. Durations are in seconds of the supervisor's clock.

    `elapsed` counts from the cutover, before it from the creation; `window` is how long it is watched at least,
    `deadline` at most, 0 when not known. `ci` is `CommitStory.sentence`; `supervisor` is who watches it, '' nobody;
    `report` is the path of its report, '' while it has none; `stopped`: a person stopped the service, nothing serves.
    """

    deployment: Deployment
    elapsed: float = 0.0
    window: float = 0.0
    deadline: float = 0.0
    previous_version: str = ""
    previous_warm: bool = False
    signals: Sequence[SignalStanding] = ()
    conditions: Sequence[Condition] = ()
    boundary: RateBoundary | None = None
    process: ProcessFacts = ProcessFacts()
    next_look: float | None = None
    ci: str = ""
    ci_green: bool | None = None
    supervisor: str = ""
    report: str = ""
    stopped: bool = False
    warnings: Sequence[str] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """What the window still waits for."""
        return tuple(each.says for each in self.conditions if not each.met)


@dataclass(frozen=True, slots=True)
class PastDeployment:
    """A row of `deploy history`: `lasted` is from creation to close in seconds, None while it is open.

    `overruled` are failures of its commit that a person judged otherwise: `unit (3.12) as infrastructure by ops`.
    """

    deployment: Deployment
    lasted: float | None = None
    ci: str = ""
    ci_green: bool | None = None
    overruled: Sequence[str] = ()
    report: str = ""
