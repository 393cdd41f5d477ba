"""What watching a deployment costs and finds: thousands of simulated deployments through the real judges, seeded.

    python -m benchmarks.deploying.simulation [--seed N] [--deployments N]

Beside the default profile stands the original rule on the same services. See docs/benchmarks.md.
"""

import argparse
import time
from dataclasses import replace

from buildeye.deploy.simulation import Outcome, Scenario, Tally, simulate
from buildeye.model.deployments import SignalKind

SEED = 6
DEPLOYMENTS = 10_000
RATES = (0.5, 0.7, 0.8, 0.9, 0.95)
CANARY_FLAKE = 0.005
HTTP_FLAKE = 0.01
HOUR = 3600.0
DROP = Scenario("drop", 0.9, 0.5, canary_flake=CANARY_FLAKE, http_flake=HTTP_FLAKE)
OUTAGE = Scenario("outage", http_flake=HTTP_FLAKE, outage_at=2 * HOUR)
FLAPPING = {
    "in 5 min": Scenario("flapping 300", http_flake=HTTP_FLAKE, flap_at=2 * HOUR, flap_seconds=300),
    "in 1 min": Scenario("flapping 60", http_flake=HTTP_FLAKE, flap_at=2 * HOUR, flap_seconds=60),
    "in 20 s": Scenario("flapping 20", http_flake=HTTP_FLAKE, flap_at=2 * HOUR, flap_seconds=20),
}
SHARED = replace(OUTAGE, name="shared outage", outage_seconds=1800, shared=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--deployments", type=int, default=DEPLOYMENTS)
    given = parser.parse_args()
    began = time.monotonic()
    for name, value in measure(given.seed, given.deployments).items():
        print(f"  {name:44}{value:>12}")
    print(f"in {time.monotonic() - began:.0f} s")


def measure(seed: int = SEED, deployments: int = DEPLOYMENTS) -> dict[str, float]:
    """The numbers of all cells. Healthy ones are given `deployments`, the others a fifth of it.

    `false_rollback_at_R` is the share of healthy deployments that are rolled back, by any signal; `seed_` is the
    original rule; `overdispersed_` has verdicts in groups of ten that share a drawn rate (beta-binomial, rho .05).
    Times are seconds from the beginning of the trouble to the verdict, at the slowest of all simulated.
    """
    some = max(1, deployments // 5)
    numbers: dict[str, float] = {}
    numbers |= _healthy(seed, deployments, some)
    numbers |= _drop(seed, some)
    numbers |= _trouble(seed, some)
    return numbers


def healthy(rate: float, rho: float = 0.0, group: int = 10) -> Scenario:
    """A new version as good as the old one, with the flakes of any network."""
    name = f"healthy {rate:g}" + (f" rho {rho:g} in {group}" if rho else "")
    return Scenario(name, rate, rate, canary_flake=CANARY_FLAKE, http_flake=HTTP_FLAKE, rho=rho, rho_tasks=group)


def _healthy(seed: int, deployments: int, some: int) -> dict[str, float]:
    numbers: dict[str, float] = {}
    tallies = {rate: simulate(healthy(rate), deployments, seed) for rate in RATES}
    for rate, tally in tallies.items():
        numbers[f"false_rollback_at_{rate:g}"] = _share(tally)
        numbers[f"clean_at_{rate:g}"] = round(tally.share(Outcome.CLEAN), 4)
    numbers["false_rollback_max"] = max(_share(tally) for tally in tallies.values())
    for kind in (SignalKind.RATE, SignalKind.CANARY, SignalKind.HTTP):
        most = max(tally.found(kind) for tally in tallies.values())
        numbers[f"false_rollback_max_by_{kind}"] = round(most, 5)
    for rate in RATES:
        numbers[f"seed_false_rollback_at_{rate:g}"] = _share(simulate(healthy(rate), some, seed, "classic"))
    for rate in RATES:
        numbers[f"overdispersed_false_rollback_at_{rate:g}"] = _share(simulate(healthy(rate, 0.05), some, seed))
    whole = healthy(0.9, 0.05, group=50)
    numbers["overdispersed_whole_false_rollback_at_0.9"] = _share(simulate(whole, some, seed))
    numbers["overdispersed_seed_false_rollback_at_0.9"] = _share(simulate(healthy(0.9, 0.05), some, seed, "classic"))
    return numbers


def _drop(seed: int, some: int) -> dict[str, float]:
    tally = simulate(DROP, some, seed)
    small = simulate(replace(DROP, name="small drop", rate_after=0.7), some, seed)
    median = tally.median_tasks(SignalKind.RATE)
    return {
        "drop_median_tasks": median if median is not None else float("inf"),
        "drop_found_share": round(tally.found(SignalKind.RATE, tasks=50), 4),
        "drop_to_0.7_found_share": round(small.found(SignalKind.RATE, tasks=50), 4),
    }


def _trouble(seed: int, some: int) -> dict[str, float]:
    numbers: dict[str, float] = {}
    outage = simulate(OUTAGE, some, seed)
    since = OUTAGE.outage_at or 0.0
    seen = outage.seconds(SignalKind.HTTP, since)
    numbers["outage_seen_s"] = round(seen[-1], 1)
    numbers["outage_seen_median_s"] = round(seen[len(seen) // 2], 1)
    numbers["outage_found_share"] = round(len(seen) / some, 4)
    worst = 0.0
    for name, scenario in FLAPPING.items():
        seen = simulate(scenario, some, seed).seconds(SignalKind.HTTP, scenario.flap_at or 0.0)
        numbers[f"flapping_seen_s {name}"] = round(seen[-1], 1)
        numbers[f"flapping_found_share {name}"] = round(len(seen) / some, 4)
        worst = max(worst, seen[-1])
    numbers["flapping_seen_s"] = round(worst, 1)
    shared = simulate(SHARED, min(some, 100), seed)
    numbers["shared_outage_rolled_back"] = round(shared.found(SignalKind.HTTP), 4)
    numbers["shared_outage_held"] = round(shared.held / min(some, 100), 4)
    return numbers


def _share(tally: Tally) -> float:
    return round(tally.share(Outcome.ROLLED_BACK), 5)


if __name__ == "__main__":
    main()
