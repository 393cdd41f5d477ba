"""How deployments stand, read from the journal and judged anew by the same judges; nothing is asked of any process."""

from collections.abc import Mapping, Sequence
from typing import Final

from buildeye.deploy.explain import limit_text
from buildeye.deploy.journal import Journal
from buildeye.deploy.judges import boundary, next_canary, next_probe
from buildeye.deploy.spec import ServiceSpec, spec_of
from buildeye.deploy.standing import Condition, ProcessFacts, SignalStanding, Standing
from buildeye.deploy.states import BEFORE_CUTOVER, TERMINAL
from buildeye.deploy.supervisor.evidence import canaries_of, closing, probes_of, verdicts
from buildeye.deploy.supervisor.limits import Limits, kept_samples, limits_of
from buildeye.deploy.supervisor.seen import Seen
from buildeye.model.boundary import RateBoundary
from buildeye.model.deployments import (
    Deployment,
    HealthSample,
    HealthVerdict,
    Moment,
    ProcessRun,
    SignalKind,
    SignalStatus,
)
from buildeye.model.spans import lasting

_HOUR: Final = 3600.0
_KNOWN: Final = 60


def standing(
    journal: Journal, deployment: Deployment, now: Moment, ci: str = "", green: bool | None = None
) -> Standing:
    """How one deployment stands at `now`; `ci` is what is known of its commit."""
    spec = spec_of(deployment.spec)
    samples = _by_signal(journal.last_samples([deployment.id], kept_samples(spec)).get(deployment.id, []))
    runs = journal.runs(deployment.id)
    before = journal.deployment(deployment.previous) if deployment.previous else None
    warm = bool(before and any(each.ended is None and each.pid for each in journal.runs(before.id, 1)))
    holder, row = journal.held_by(deployment.service), journal.service(deployment.service)
    begun = deployment.cutover or deployment.created
    until = deployment.closed or now
    seen = Seen(samples, runs, alive=_alive(runs) or _was_stopped(deployment, runs), watched_seconds=_watched(samples))
    judged = deployment.cutover is not None
    said = verdicts(deployment, seen, limits_of(spec), until) if judged else {}
    return Standing(
        deployment,
        elapsed=until.since(begun),
        window=spec.window.hours * _HOUR,
        deadline=spec.window.deadline_hours * _HOUR,
        previous_version=before.version if before is not None else "",
        previous_warm=warm,
        signals=[_signal(deployment, kind, verdict, samples, spec, until) for kind, verdict in said.items()],
        conditions=_conditions(deployment, seen, said, limits_of(spec), until) if judged else (),
        boundary=_boundary(deployment, said.get(SignalKind.RATE), spec),
        process=_process(runs, now),
        ci=ci,
        ci_green=green,
        supervisor=f"process {holder.pid} on {holder.host}" if holder is not None else "",
        stopped=deployment.cutover is not None
        and deployment.state in TERMINAL
        and row is not None
        and not row.in_service,
        warnings=_warnings(deployment, holder is not None),
    )


def standings(journal: Journal, now: Moment) -> list[Standing]:
    """How the deployment that counts of each service stands: the one on its way or under watch, else the last."""
    found = []
    for service in journal.services():
        known = journal.deployments(service.name, _KNOWN)
        counts = next((each for each in known if each.state not in TERMINAL), known[0] if known else None)
        if counts is not None:
            found.append(standing(journal, counts, now))
    return found


def _by_signal(samples: Sequence[HealthSample]) -> dict[SignalKind, list[HealthSample]]:
    found: dict[SignalKind, list[HealthSample]] = {kind: [] for kind in SignalKind}
    for sample in samples:
        found[sample.signal].append(sample)
    return found


def _signal(
    deployment: Deployment,
    kind: SignalKind,
    verdict: HealthVerdict,
    samples: Mapping[SignalKind, Sequence[HealthSample]],
    spec: ServiceSpec,
    now: Moment,
) -> SignalStanding:
    return SignalStanding(
        kind,
        verdict.status,
        verdict.says or verdict.reason,
        verdict.reason,
        verdict.numbers,
        fails_when=limit_text(kind, deployment.spec, deployment.profile),
        next_look=None if deployment.state in TERMINAL else _next(kind, samples[kind], spec, now),
    )


def _next(kind: SignalKind, samples: Sequence[HealthSample], spec: ServiceSpec, now: Moment) -> float:
    """Seconds until a signal is looked at again."""
    if not samples:
        return 0.0
    limits = limits_of(spec)
    match kind:
        case SignalKind.PROCESS:
            wait: float = spec.health.interval_seconds
        case SignalKind.HTTP:
            wait = next_probe(probes_of(samples), spec.health.interval_seconds, limits.http)
        case SignalKind.CANARY:
            runs, interval = canaries_of(samples), spec.canary.interval_seconds
            wait = next_canary(runs, interval, limits.canary)[0] if limits.canary is not None else interval
        case SignalKind.RATE:
            wait = spec.rate.interval_seconds
    return max(0.0, wait - now.since(samples[-1].at))


def _conditions(
    deployment: Deployment, seen: Seen, said: Mapping[SignalKind, HealthVerdict], limits: Limits, now: Moment
) -> list[Condition]:
    """What must hold for the window to close clean."""
    verdict = closing(deployment, seen, said, limits, now)
    missing, clean = verdict.numbers.get("missing"), limits.clean
    lacks = {str(each) for each in missing} if isinstance(missing, list) else set()
    judged, passed = verdict.numbers.get("judged", 0), verdict.numbers.get("canaries_passed", 0)
    found = [Condition(f"{lasting(clean.window_seconds)} passed", "time" not in lacks)]
    if clean.needs_rate:
        met = not lacks & {"tasks", "rate"}
        found.append(Condition(f"enough judged tasks ({judged} now)", met))
    if clean.needs_canary:
        found.append(Condition(f"canary >= {clean.canaries} ({passed})", "canaries" not in lacks))
    found.append(Condition("http good", "http" not in lacks))
    return [*found, Condition("process good", "process" not in lacks)]


def _boundary(deployment: Deployment, verdict: HealthVerdict | None, spec: ServiceSpec) -> RateBoundary | None:
    base = deployment.baseline
    if verdict is None or base is None or "c" not in verdict.numbers:
        return None
    numbers = verdict.numbers
    p_value, good, judged = numbers.get("p_value"), numbers.get("approved", 0), numbers.get("judged", 0)
    return RateBoundary(
        boundary(base.good, base.total, spec.rate.fail, spec.rate.tasks, spec.rate.margin),
        good if isinstance(good, int) else 0,
        judged if isinstance(judged, int) else 0,
        p_value if isinstance(p_value, float) else None,
        spec.rate.fail,
    )


def _process(runs: Sequence[ProcessRun], now: Moment) -> ProcessFacts:
    living = next((run for run in reversed(runs) if run.ended is None and run.pid), None)
    exits = sum(1 for run in runs if run.ended is not None and not run.expected)
    if living is None:
        return ProcessFacts(exits=exits)
    return ProcessFacts(living.pid, now.since(living.started) if living.started is not None else None, exits)


def _alive(runs: Sequence[ProcessRun]) -> bool:
    return any(run.ended is None and run.pid for run in runs)


def _was_stopped(deployment: Deployment, runs: Sequence[ProcessRun]) -> bool:
    """Whether a version that is no longer watched was ended on purpose: that says nothing against it."""
    return deployment.state in TERMINAL and bool(runs) and runs[-1].ended is not None and runs[-1].expected


def _watched(samples: Mapping[SignalKind, Sequence[HealthSample]]) -> float:
    last = samples[SignalKind.HTTP][-1] if samples[SignalKind.HTTP] else None
    watched = last.numbers.get("watched") if last is not None else None
    return float(watched) if isinstance(watched, int | float) else 0.0


def _warnings(deployment: Deployment, supervised: bool) -> list[str]:
    found = []
    if not supervised and deployment.state not in TERMINAL:
        found.append(
            f"nobody supervises {deployment.service} now: start it with `build-eye deploy watch {deployment.service}`"
        )
    if deployment.paused:
        where = "does not cut over" if deployment.state in BEFORE_CUTOVER else "does not close"
        found.append(f"paused: it {where} until `build-eye deploy resume {deployment.service}`")
    return found


def worst(standing: Standing) -> SignalStatus:
    """The worst status among the signals of a deployment; OK when there is none."""
    order = (SignalStatus.FAIL, SignalStatus.ERROR, SignalStatus.INSUFFICIENT, SignalStatus.OK)
    said = {each.status for each in standing.signals}
    return next((status for status in order if status in said), SignalStatus.OK)
