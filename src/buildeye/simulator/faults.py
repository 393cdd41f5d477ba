"""Faults to order, so that tests can meet what GitHub does on bad days; none of them happens unasked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from buildeye.simulator.chance import chance


class Cut(Enum):
    """How an answer ends before its time: the connection breaks, or the body is short and says it is whole."""

    CONNECTION = "connection"
    BODY = "body"


@dataclass(frozen=True, slots=True)
class Fault:
    """One bad answer: an HTTP status, or 0 for the right answer that is `cut`.

    `retry_after` (seconds) is sent as the header of that name; `message` is GitHub's sentence in the body.
    """

    status: int
    message: str = ""
    retry_after: int | None = None
    cut: Cut = Cut.CONNECTION


def bad_gateway() -> Fault:
    """A 502 as GitHub's edge answers when overloaded."""
    return Fault(502, "Server Error")


def secondary_limit(retry_after: int = 60) -> Fault:
    """A 403 for asking too much at once; `retry_after` in seconds."""
    message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return Fault(403, message, retry_after)


def unavailable(retry_after: int = 1) -> Fault:
    """A 503 that asks to come back; `retry_after` in seconds."""
    return Fault(503, "Service unavailable. Please wait a few minutes before you try again.", retry_after)


def cut() -> Fault:
    """The connection ends before the body does."""
    return Fault(0)


def truncated() -> Fault:
    """The JSON of an answer ends in the middle, and its length says that is all."""
    return Fault(0, cut=Cut.BODY)


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong and when.

    `at` maps the number of a request (1 is the first one the app sees) to its fault; `denied` names areas of a
    repository (`actions`, `pulls`, `commits` ...) for which the token lacks the permission. Besides, of all requests a
    share meets one of `kinds`, chosen by `seed`. `arriving` says from which request on a run is in lists,
    `leaving` from which on it is no more: so pages move while they are read. `no_job_logs` are jobs of which only the
    archive of the run has the log.
    """

    at: Mapping[int, Fault] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    share: float = 0.0
    kinds: Sequence[Fault] = ()
    seed: int = 0
    arriving: Mapping[int, int] = field(default_factory=dict)
    leaving: Mapping[int, int] = field(default_factory=dict)
    no_job_logs: frozenset[int] = frozenset()

    def of_request(self, number: int) -> Fault | None:
        """What goes wrong with a request, by its number."""
        if number in self.at or not self.kinds:
            return self.at.get(number)
        rng = chance(self.seed, "fault", number)
        return rng.choice(self.kinds) if rng.random() < self.share else None

    def listed(self, run_id: int, number: int) -> bool:
        """Is a run in the lists that a request of this number sees?"""
        return self.arriving.get(run_id, 0) <= number < self.leaving.get(run_id, number + 1)
