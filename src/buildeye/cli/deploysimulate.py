"""`build-eye deploy simulate`: how often limits would roll back a healthy release, and how soon they find a bad one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from buildeye.cli.tables import table
from buildeye.deploy.simulation import Outcome, Rules, Scenario, Tally, simulate
from buildeye.deploy.spec import ServiceSpec
from buildeye.deploy.supervisor.limits import limits_of
from buildeye.model.deployments import SignalKind
from buildeye.model.spans import lasting

BAD_AT: Final = 3600.0
"""Seconds from the cutover until a simulated release goes bad."""
_MOST_OF_BAD: Final = 500
"""Deployments of each kind of trouble that is found by the clock: they differ little from one another."""
_PROFILES: Final = ("default", "classic")


@dataclass(frozen=True, slots=True)
class Luck:
    """What a simulated service is like: shares from 0 to 1. `drop_to` is what a bad release's rate falls to."""

    rate: float = 0.9
    drop_to: float = 0.5
    canary_flake: float = 0.005
    http_flake: float = 0.01


_LEAST_INTERVAL: Final = 10.0
"""Seconds between two simulated probes at least; with fewer a simulation takes hours and says nothing else."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of release under both rules; `found` is the signal that should find it, None for a healthy one."""

    name: str
    says: str
    found: SignalKind | None
    tallies: Mapping[str, Tally]


def rules_of(spec: ServiceSpec) -> Rules:
    """How a deploy.yaml watches; a signal that it does not name has its usual limits, and nothing to judge."""
    limits, usual = limits_of(spec), Rules()
    return Rules(
        http_interval=max(_LEAST_INTERVAL, spec.health.interval_seconds),
        rate_interval=spec.rate.interval_seconds,
        canary_interval=spec.canary.interval_seconds,
        rate=limits.rate or usual.rate,
        http=limits.http,
        canary=limits.canary or usual.canary,
        process=limits.process,
        clean=limits.clean,
        attention=limits.errors,
    )


def rows(
    spec: ServiceSpec | None, luck: Luck, deployments: int, seed: int, tell: Callable[[str], None]
) -> Iterator[Row]:
    """Simulate each kind of release by the limits of a deploy.yaml (None: the defaults) and by the original rule."""
    rules = rules_of(spec) if spec is not None else Rules()
    if spec is not None and spec.health.interval_seconds < _LEAST_INTERVAL:
        tell(f"health.interval_seconds is {spec.health.interval_seconds:g}; simulated as {_LEAST_INTERVAL:g}")
    for scenario, says, found in _scenarios(spec, luck):
        many = deployments if found in (None, SignalKind.RATE) else min(deployments, _MOST_OF_BAD)
        tell(f"{many} deployments: {says}")
        yield Row(scenario.name, says, found, {each: simulate(scenario, many, seed, each, rules) for each in _PROFILES})


def _scenarios(spec: ServiceSpec | None, luck: Luck) -> Iterator[tuple[Scenario, str, SignalKind | None]]:
    has_rate = spec is None or spec.rate.given
    has_canary = spec is None or spec.canary.given
    healthy = Scenario(
        rate_before=luck.rate, rate_after=luck.rate, http_flake=luck.http_flake,
        canary_flake=luck.canary_flake if has_canary else 0.0,
    )  # fmt: skip
    if not has_rate:  # nobody counts its tasks
        healthy = replace(healthy, tasks_per_hour=0.0)
    yield healthy, "healthy", None
    if has_rate:
        yield (
            replace(healthy, name="rate", rate_after=luck.drop_to),
            f"its rate falls from {luck.rate:g} to {luck.drop_to:g}",
            SignalKind.RATE,
        )
    crashes = (BAD_AT, BAD_AT + 5)
    yield replace(healthy, name="crash", crashes=crashes), "crashes after 1 h, and again 5 s later", SignalKind.PROCESS
    yield replace(healthy, name="outage", outage_at=BAD_AT), "stops answering after 1 h", SignalKind.HTTP
    yield replace(healthy, name="flap", flap_at=BAD_AT), "down half of the time after 1 h", SignalKind.HTTP
    if has_canary:
        yield replace(healthy, name="canary", canary_down_at=BAD_AT), "fails its canary after 1 h", SignalKind.CANARY


def simulation_text(found: list[Row], luck: Luck, deployments: int, seed: int) -> str:
    """A table that says what happens to each kind of release, and how to read it."""
    healthy, bad = found[0], found[1:]
    lines = [
        f"A healthy release, {deployments} times (rate {luck.rate:g}, {luck.http_flake * 100:g} % of health checks and "
        f"{luck.canary_flake * 100:g} % of canary tasks fail for no reason):",
        table(
            ("", "these limits", "the original rule"),
            [(label, *(_percent(healthy.tallies[each].share(outcome)) for each in _PROFILES)) for outcome, label in (
                (Outcome.ROLLED_BACK, "rolled back, though nothing was wrong"), (Outcome.CLEAN, "closed as clean"),
                (Outcome.INSUFFICIENT, "kept, with too little seen"), (Outcome.ATTENTION, "a person was asked"),
            )],
        ),
        "",
        "A bad release:",
        table(
            ("what is bad", "found by these limits", "median", "by the original rule", "median"),
            [(row.says, *(cell for each in _PROFILES for cell in _found(row, row.tallies[each]))) for row in bad],
        ),
        "",
        f"Same numbers at every run with --seed {seed}. One share in {deployments} may be off by "
        f"{_off(deployments) * 100:.1g} points.",
    ]  # fmt: skip
    return "\n".join(lines)


def simulation_json(found: list[Row], luck: Luck, deployments: int, seed: int) -> dict[str, Any]:
    """The same as numbers: shares from 0 to 1, `median_seconds` from when it goes bad, `median_tasks` judged ones."""
    given = {name: getattr(luck, name) for name in Luck.__slots__}
    return {
        "deployments": deployments,
        "seed": seed,
        **given,
        "releases": [
            {
                "release": row.name,
                "found_by": row.found.value if row.found is not None else None,
                **{profile: _numbers(row, tally) for profile, tally in row.tallies.items()},
            }
            for row in found
        ],
    }


def _numbers(row: Row, tally: Tally) -> dict[str, Any]:
    shares = {outcome.value: round(tally.share(outcome), 6) for outcome in Outcome}
    if row.found is None:
        return shares
    return shares | {
        "median_seconds": _median_seconds(row, tally),
        "median_tasks": tally.median_tasks(SignalKind.RATE) if row.found is SignalKind.RATE else None,
    }


def _found(row: Row, tally: Tally) -> tuple[str, str]:
    share = tally.found(row.found) if row.found is not None else 0.0
    if row.found is SignalKind.RATE:
        tasks = tally.median_tasks(SignalKind.RATE)
        return _percent(share), f"{tasks:g} tasks" if tasks is not None else "-"
    seconds = _median_seconds(row, tally)
    return _percent(share), "-" if seconds is None else "at once" if seconds < 1 else lasting(seconds)


def _median_seconds(row: Row, tally: Tally) -> float | None:
    """The median time from when it goes bad to its rollback by the signal that should find it; None: most are not."""
    if row.found is None:
        return None
    since = {"crash": BAD_AT + 5, "rate": 0.0}.get(row.name, BAD_AT)
    seconds = [each for each in tally.seconds(row.found, since) if each >= 0]
    return round(seconds[len(tally.endings) // 2], 3) if 2 * len(seconds) > len(tally.endings) else None


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def _off(deployments: int) -> float:
    """Twice the standard error of a share of one in a hundred."""
    return float(2 * (0.01 * 0.99 / deployments) ** 0.5)
