"""What makes jobs fail: where, since when, until when, how often, with which text, and the truth behind it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from buildeye.model import Determinism
from buildeye.simulator.chance import chance
from buildeye.simulator.facts import Truth
from buildeye.simulator.more_failures import failure_of
from buildeye.simulator.shapes import JobShape

JobKey = tuple[str, str]
"""Key of a workflow and name of a job."""


@dataclass(frozen=True, slots=True)
class Blow:
    """One way in which a hazard shows: a key of the failures, the words of its text, its truth when it has its own."""

    failure: str
    words: Mapping[str, str] = field(default_factory=dict)
    truth: Truth | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One job about to run: what hazards look at. `base` is when its run's commit was merged with main."""

    workflow: str
    shape: JobShape
    event: str
    base: datetime
    start: datetime
    runner: str
    sha: str
    pull: str
    push: int
    run: int
    attempt: int
    waited: float

    @property
    def key(self) -> JobKey:
        """Which job of which workflow it is."""
        return self.workflow, self.shape.name


@dataclass(slots=True)
class Hazard:
    """Something that makes jobs fail between `since` and `until` (None: it lasts).

    `clock` is what must lie between: the `base` of the run for what is in the code of main, the `start` of the job for
    what is in the world. `jobs` None: any that has the failing step. `rate` is the part of those jobs that fail,
    `by_pull` makes it the part of pull requests. Runs on a base of `mended` or later are healed, whatever the clock;
    `steady` ones fail alike each time. `spared` pull requests (keys) do not fail, `only` restricts it to one
    pull request and its pushes `pushes`. `truth_of` says the truth of a trial.
    """

    name: str
    blows: tuple[Blow, ...]
    truth: Truth
    since: datetime
    until: datetime | None = None
    jobs: frozenset[JobKey] | None = None
    clock: Literal["base", "start"] = "base"
    rate: float = 1.0
    by_pull: bool = False
    pools: frozenset[str] = frozenset()
    runner: str = ""
    spared: set[str] = field(default_factory=set)
    only: str = ""
    pushes: range = range(1_000)
    waited: float = 0.0
    mended: datetime | None = None
    steady: bool = True
    truth_of: Callable[[Trial], Truth] | None = None

    def strikes(self, trial: Trial) -> tuple[int, str, Blow, Truth] | None:
        """How it hits a job: the step's place (-1: before any), the failure, its words and truth; None: not at all."""
        if not self._meets(trial):
            return None
        rng = (
            chance(self.name, trial.pull or trial.sha)
            if self.by_pull
            else chance(self.name, trial.run, trial.attempt, trial.shape.name)
        )
        if rng.random() >= self.rate:
            return None
        fitting = [blow for blow in self.blows if _place(blow, trial.shape) is not None]
        if not fitting:
            return None
        blow = fitting[0] if self.steady else rng.choice(fitting)
        place = _place(blow, trial.shape)
        assert place is not None
        truth = blow.truth or (self.truth_of(trial) if self.truth_of else self.truth)
        return place, blow.failure, blow, truth

    def _meets(self, trial: Trial) -> bool:
        when = trial.base if self.clock == "base" else trial.start
        return (
            self.since <= when
            and (self.until is None or when < self.until)
            and (self.mended is None or trial.base < self.mended)
            and (
                not self.only
                or (self.only == trial.pull and trial.event == "pull_request" and trial.push in self.pushes)
            )
            and (self.jobs is None or trial.key in self.jobs)
            and (not self.pools or trial.shape.pool in self.pools)
            and (not self.runner or self.runner == trial.runner)
            and not (trial.pull in self.spared and trial.event == "pull_request")
            and trial.waited >= self.waited
        )


def _place(blow: Blow, shape: JobShape) -> int | None:
    """The first step that can fail so, counted from 0; -1 when none ran; None when the job has no such step."""
    failure = failure_of(blow.failure)
    assert failure is not None
    if not failure.at:
        return -1
    return next((place for place, step in enumerate(shape.steps) if step.kind == failure.at), None)


def natural(failure: str, story: str, culprits: tuple[int, ...] = ()) -> Truth:
    """The truth of a failure that is what it looks like."""
    found = failure_of(failure)
    assert found is not None
    return replace(found.truth, story=story, culprits=culprits)


def flaky(truth: Truth) -> Truth:
    """The same truth, of something that comes and goes."""
    return replace(truth, determinism=Determinism.FLAKY)
