"""How many jobs each pool of runners has been given and how many run, as Actions Runner Controller counts them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from buildeye.warehouse import Warehouse

KNOWN: Final = timedelta(days=6)
"""GitHub ends a job that waits for a day and one that runs for five; what is older was forgotten to be ended."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The jobs of one repository that ask for the same labels; `name` is these, sorted and joined by commas.

    `assigned` wait for a runner or run on one, `running` of them run.
    """

    repository: str
    name: str
    assigned: int
    running: int


def pools_now(warehouse: Warehouse, at: datetime) -> Sequence[Pool]:
    """Every pool that jobs of the last six days asked for, also those with nothing to do; `at` is now (aware).

    One question. Raises what `Warehouse.ask` raises.
    """
    rows = warehouse.ask("pool_jobs", at=at, since=at - KNOWN)
    return [Pool(row["repository"], row["pool"], row["assigned"], row["running"]) for row in rows]
