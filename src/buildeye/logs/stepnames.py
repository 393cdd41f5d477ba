"""What the name of a failed step says when no line of the log does: a check that failed found something to mend."""

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache

from buildeye import knowledge
from buildeye.model import Cause, home_cause


@dataclass(frozen=True, slots=True)
class StepKind:
    """A kind of step by its name, and what its failure means most often."""

    names: re.Pattern[str]
    category: str
    cause: Cause
    confidence: float
    title: str


@lru_cache(maxsize=1)
def step_kinds() -> tuple[StepKind, ...]:
    """The table `knowledge/tables/steps.toml`, in order."""
    table = tomllib.loads((knowledge.FOLDER / "tables" / "steps.toml").read_text(encoding="utf-8"))
    return tuple(
        StepKind(
            re.compile(row["names"]),
            row["category"],
            Cause(row["cause"]) if "cause" in row else home_cause(row["category"]) or Cause.UNKNOWN,
            row["confidence"],
            row["title"],
        )
        for row in table["step"]
    )


def kind_of(*names: str) -> tuple[StepKind, str] | None:
    """The first kind that one of the names has (the step's name first, then the job's), and that name."""
    for name in names:
        for kind in step_kinds():
            if name and kind.names.search(name):
                return kind, name
    return None
