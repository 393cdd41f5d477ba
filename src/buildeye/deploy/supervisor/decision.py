"""What a watch decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from buildeye.deploy.states import Happening
from buildeye.model.deployments import SignalKind


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to happen, if anything, and why. `key` names the evidence, so that nobody is asked twice for the same."""

    happening: Happening | None = None
    signal: SignalKind | None = None
    reason: str = ""
    key: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)


NOTHING: Final = Decision()
