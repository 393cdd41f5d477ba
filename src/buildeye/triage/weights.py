"""What each piece of evidence weighs: data, read from `knowledge/tables/weights.toml`."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from buildeye import knowledge
from buildeye.model import Cause, UsageError

Row = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Prior:
    """What is probable before history is asked, each a share from 0 to 1; rows by group of categories, "" for others.

    `causes` where the log names none; `elsewhere` what is somebody else's; `chance` what of code another try would
    pass; `kinds` what brought that which is somebody else's, `kinds_of` the same for groups in which it differs.
    """

    causes: Row
    elsewhere: Row
    chance: Row
    kinds: Row
    kinds_of: Mapping[str, Row]


@dataclass(frozen=True)
class Weights:
    """The tables of the file. An explanation is a key of `causes`; weights are log-odds for a strength of 1."""

    causes: Mapping[str, Cause]
    prior: Prior
    evidence: Mapping[str, Row]
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    mute: Mapping[str, frozenset[str]] = field(default_factory=dict)
    calibration: tuple[tuple[float, float], ...] = ()
    digest: str = ""

    @cached_property
    def _group_of(self) -> Mapping[str, str]:
        return {category: group for group, members in self.groups.items() for category in members}

    def group_of(self, category: str) -> str:
        """The group of categories that behave alike; empty for one that is in none."""
        return self._group_of.get(category, "")

    def is_mute(self, evidence: str, category: str) -> bool:
        """Does this evidence say nothing of failures of this category?"""
        return evidence in self.mute.get(self.group_of(category), frozenset())


@lru_cache(maxsize=1)
def packaged_weights() -> Weights:
    """The weights that come with the package."""
    return read_weights((knowledge.FOLDER / "tables" / "weights.toml").read_text(encoding="utf-8"))


def read_weights(text: str) -> Weights:
    """Weights from TOML text. UsageError names a table that is missing or an explanation nobody knows."""
    try:
        data = tomllib.loads(text)
        causes = {name: Cause(cause) for name, cause in data["causes"].items()}
        tables = Weights(
            causes=causes,
            prior=_prior(data["prior"]),
            evidence=data["evidence"],
            groups={name: frozenset(members) for name, members in data["groups"].items()},
            mute={name: frozenset(members) for name, members in data["mute"].items()},
            calibration=tuple((low, high) for low, high in data.get("calibration", {}).get("points", ())),
            digest=hashlib.sha256(text.encode()).hexdigest()[:12],
        )
    except (tomllib.TOMLDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"weights cannot be read: {error}.") from None
    rows = (tables.prior.kinds, *tables.prior.kinds_of.values(), *tables.evidence.values())
    unknown = {name for row in rows for name in row} - causes.keys()
    if unknown:
        raise UsageError(f"weights name explanations that are not in [causes]: {', '.join(sorted(unknown))}.")
    return tables


def _prior(data: Mapping[str, Any]) -> Prior:
    for table in ("elsewhere", "chance"):
        if "" not in data[table]:
            raise ValueError(f'[prior.{table}] has no row "" for all other groups')
    return Prior(data["causes"], data["elsewhere"], data["chance"], data["kinds"], data["kinds-of"])
