"""What a source of approval rates is, whichever it is: who served when, what is read, and how a failure is told."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from buildeye.model import BuildEyeError, OutsideError
from buildeye.model.deployments import Baseline

if TYPE_CHECKING:
    from buildeye.deploy.judges.rate import RateReading


class SourceError(OutsideError):
    """A source of rates cannot be read, or what it says makes no sense: an error of the check, never a verdict."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A deployment, its version, and the time in which it served (aware; `until` None: it still does)."""

    deployment_id: str
    since: datetime
    until: datetime | None = None
    version: str = ""

    def served(self, said: str, at: datetime) -> bool:
        """Whether a task that entered validation `at` a moment was served by this deployment.

        `said` is what the application says served it: the deployment's id; or its version, from the cutover on; or
        nothing (''), and then the time decides. Said beats time, so a late task of the old version stays with it.
        """
        if said:
            return said == self.deployment_id or (said == self.version and at >= self.since)
        return self.since <= at and (self.until is None or at < self.until)


class RateSource(Protocol):
    """Where verdicts on a service's tasks are read. Methods block, and raise SourceError for all that goes wrong."""

    def read(self, serving: Serving, now: datetime) -> "RateReading":
        """The verdicts on the tasks that a deployment served, in the order in which they entered validation.

        At most as many of the oldest tasks as the judge can use; `now` ends the time that is looked at.
        """

    def baseline(self, clean: Sequence[Serving], known: Sequence[Serving], before: datetime) -> Baseline | None:
        """The newest judged tasks before a cutover that `clean` deployments served; None where there is no task.

        Where no deployment is clean yet: those that no deployment of `known` served, so that a bad one never counts.
        """

    def close(self) -> None:
        """Let go of connections."""


@contextmanager
def source_failures(place: str) -> Iterator[None]:
    """What goes wrong while `place` is read, as a SourceError that names it; `place` holds no password."""
    try:
        yield
    except SourceError:
        raise
    except BuildEyeError as error:
        raise SourceError(f"the rate source {place} cannot be read: {error}") from None
    except ValueError as error:
        raise SourceError(f"the rate source {place} gives what cannot be read: {error}") from None
