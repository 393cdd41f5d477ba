"""Whole deployments of artificial services, simulated in virtual time and judged by the real judges.

For `build-eye deploy simulate` and the benchmark: what a profile costs in false rollbacks, and what it finds how soon.
The original rule (`classic`) stands beside the default profile. Seeded: the same numbers at every run.
"""

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Final

from buildeye.deploy.simulation.scenario import Ending, Outcome, Rules, Scenario, Tally
from buildeye.deploy.simulation.seed_rule import watch_by_seed
from buildeye.deploy.simulation.watching import watch
from buildeye.model import UsageError

__all__ = ["PROFILES", "Ending", "Outcome", "Rules", "Scenario", "Tally", "simulate"]

_Watch = Callable[[Scenario, Rules, Random], Ending]

PROFILES: Final[Mapping[str, _Watch]] = MappingProxyType(
    {"default": watch, "classic": lambda scenario, _, rng: watch_by_seed(scenario, rng)}
)
"""The profiles that can be simulated."""


def simulate(
    scenario: Scenario, deployments: int, seed: int, profile: str = "default", rules: Rules | None = None
) -> Tally:
    """So many deployments of a scenario under a profile; about a millisecond each. `rules` are the default profile's.

    The same arguments give the same tally. Deployments draw from one stream named by the seed, the profile and the
    scenario's name, so that cells do not share their luck.
    """
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r} to simulate: it is one of {', '.join(PROFILES)}")
    if deployments < 1:
        raise UsageError(f"{deployments} deployments cannot be simulated: give at least 1")
    rng = Random(f"{seed} {profile} {scenario.name}")  # noqa: S311 - luck, no secret
    used = rules if rules is not None else Rules()
    return Tally(scenario, profile, tuple(PROFILES[profile](scenario, used, rng) for _ in range(deployments)))
