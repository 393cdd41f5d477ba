"""What was sampled of a deployment, as its judges read it, and what follows: a pure decision.

The same code judges in the supervisor, in `build-eye deploy status` and in `explain`: all read the journal's samples.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from buildeye.deploy.judges import (
    CanaryRun,
    Exit,
    Probe,
    RateReading,
    Standing,
    judge_canary,
    judge_clean,
    judge_errors,
    judge_http,
    judge_process,
    judge_rate,
)
from buildeye.deploy.states import Happening
from buildeye.deploy.supervisor.decision import NOTHING, Decision
from buildeye.deploy.supervisor.held import SEQ, Held, after_held
from buildeye.deploy.supervisor.limits import Limits
from buildeye.deploy.supervisor.seen import Seen
from buildeye.model.deployments import (
    Deployment,
    HealthSample,
    HealthVerdict,
    Moment,
    ProcessRun,
    SignalKind,
    SignalStatus,
    State,
)

HELD: frozenset[str] = frozenset({"both-fail", "environment"})
"""Reasons of a judge that mean: not this version's doing; hold, and tell a person."""

NO_EARLIER_RATE: frozenset[str] = frozenset({"no-baseline", "small-baseline"})
"""Reasons of the rate's judge that mean: there is nothing to compare with."""


def exits_of(runs: Sequence[ProcessRun]) -> list[Exit]:
    """The ends of a version's processes, in order."""
    return [Exit(run.ended, run.exit_code, run.expected) for run in runs if run.ended is not None]


def probes_of(samples: Sequence[HealthSample]) -> list[Probe]:
    """Health probes of the version itself."""
    return [
        Probe(each.status is SignalStatus.OK, each.at, each.status is SignalStatus.ERROR, each.detail)
        for each in samples
    ]


def control_of(samples: Sequence[HealthSample]) -> list[Probe]:
    """Health probes of the version before it, taken beside failures of the new one."""
    asked = [each for each in samples if each.numbers.get("control") is not None]
    return [Probe(bool(each.numbers["control"]), each.at) for each in asked]


def canaries_of(samples: Sequence[HealthSample]) -> list[CanaryRun]:
    """Canary tasks with what their control said."""
    return [
        CanaryRun(
            each.status is SignalStatus.OK,
            each.at,
            None if (control := each.numbers.get("control")) is None else bool(control),
            each.status is SignalStatus.ERROR,
            each.detail,
            bool(each.numbers.get("confirms")),
        )
        for each in samples
    ]


def reading_of(samples: Sequence[HealthSample]) -> RateReading | None:
    """The rate as the samples of it tell: one look each; None when none says anything."""
    read = [each for each in samples if "judged" in each.numbers]
    if not read:
        return None
    looks = tuple(dict.fromkeys((_count(each, "approved"), _count(each, "judged")) for each in read))
    return RateReading(looks, _count(read[-1], "unjudged"))


def verdicts(deployment: Deployment, seen: Seen, limits: Limits, now: Moment) -> dict[SignalKind, HealthVerdict]:
    """What each signal that is sampled says now, in the order of sampling."""
    said = {SignalKind.PROCESS: judge_process(exits_of(seen.runs), seen.alive, limits.process, now)}
    http = seen.samples.get(SignalKind.HTTP, ())
    said[SignalKind.HTTP] = judge_http(probes_of(http), control_of(http), limits.http, now)
    if limits.canary is not None:
        runs = canaries_of(seen.samples.get(SignalKind.CANARY, ()))
        said[SignalKind.CANARY] = judge_canary(runs, limits.canary, now)
    if limits.rate is not None:
        reading = seen.reading or reading_of(seen.samples.get(SignalKind.RATE, ()))
        said[SignalKind.RATE] = judge_rate(reading or RateReading((), 0), deployment.baseline, limits.rate)
    return said


def closing(
    deployment: Deployment, seen: Seen, said: Mapping[SignalKind, HealthVerdict], limits: Limits, now: Moment
) -> HealthVerdict:
    """Whether the window may close clean, must close without enough evidence, or stays open, with what is missing."""
    since = now.since(deployment.cutover) if deployment.cutover is not None else 0.0
    reading = seen.reading or reading_of(seen.samples.get(SignalKind.RATE, ()))
    good, judged = reading.looks[-1] if reading is not None and reading.looks else (0, 0)
    passed = sum(each.status is SignalStatus.OK for each in seen.samples.get(SignalKind.CANARY, ()))
    standing = Standing(
        elapsed_seconds=since,
        good=good,
        judged=judged,
        baseline=deployment.baseline,
        canaries_passed=passed,
        http_good=said[SignalKind.HTTP].status is SignalStatus.OK,
        process_good=said[SignalKind.PROCESS].status is SignalStatus.OK,
        rate_good=_rate_is_good(said.get(SignalKind.RATE), reading, limits),
        watched_seconds=seen.watched_seconds,
    )
    return judge_clean(standing, limits.clean)


def _rate_is_good(verdict: HealthVerdict | None, reading: RateReading | None, limits: Limits) -> bool:
    """Whether nothing is held against the rate; without an earlier one (the first version) enough verdicts are all."""
    if verdict is None or limits.rate is None or verdict.status is SignalStatus.OK:
        return True
    if verdict.reason not in NO_EARLIER_RATE or reading is None:
        return False
    return reading.unjudged <= limits.rate.most_unjudged * (reading.judged + reading.unjudged)


def decide(
    deployment: Deployment,
    seen: Seen,
    limits: Limits,
    now: Moment,
    answered: frozenset[str] = frozenset(),
    held: Mapping[SignalKind, Held] = MappingProxyType({}),
) -> Decision:
    """What follows from what was seen. `answered` are keys of evidence a person was already asked about, `held` the
    breaches that did not roll back by themselves.

    A breach comes first, also while a person is waited for. What is no version's doing, and checks that cannot be made,
    ask a person; that ends by itself when the evidence does. Only time and evidence together close a window.
    """
    seen, same = after_held(seen, held)
    said = verdicts(deployment, seen, limits, now)
    for kind, verdict in said.items():
        if verdict.status is SignalStatus.FAIL and kind not in same:
            numbers = dict(verdict.numbers) | {SEQ: _last(seen, kind)}
            return Decision(Happening.ANOMALY, kind, verdict.says or verdict.reason, "", numbers)
    asks = _asks(said, seen, limits, now)
    fresh = [ask for ask in asks if ask.key not in answered]
    waiting = deployment.state is State.NEEDS_ATTENTION
    if fresh and not waiting:
        return fresh[0]
    end = closing(deployment, seen, said, limits, now)
    if end.reason == "deadline" and not deployment.paused:
        return Decision(Happening.DEADLINE, None, end.says, "deadline", end.numbers)
    if waiting and not asks and not same:
        return Decision(Happening.RESUME, None, "what a person was asked about has passed", "passed")
    if end.status is SignalStatus.OK and not waiting and not same and not deployment.paused:
        return Decision(Happening.CLEAN, None, end.says, "clean", end.numbers)
    return NOTHING


def _asks(said: Mapping[SignalKind, HealthVerdict], seen: Seen, limits: Limits, now: Moment) -> list[Decision]:
    """The reasons to ask a person that hold now."""
    found = []
    for kind, verdict in said.items():
        if verdict.reason in HELD:
            key = _streak_key(kind, verdict.reason, seen)
            found.append(Decision(Happening.ASK, kind, verdict.says or verdict.reason, key, verdict.numbers))
            continue
        wrong = judge_errors(seen.samples.get(kind, ()), limits.errors, now)
        if wrong.reason == "ask":
            found.append(
                Decision(Happening.ASK, kind, wrong.says, _streak_key(kind, wrong.reason, seen), wrong.numbers)
            )
    return found


def _last(seen: Seen, kind: SignalKind) -> int:
    samples = seen.samples.get(kind, ())
    return samples[-1].seq if samples else 0


def _streak_key(kind: SignalKind, reason: str, seen: Seen) -> str:
    """A name for what a person is asked about: the sample with which the present streak began."""
    first = 0
    for sample in reversed(seen.samples.get(kind, ())):
        if sample.status is SignalStatus.OK:
            break
        first = sample.seq
    return f"{kind}:{reason}:{first}"


def _count(sample: HealthSample, key: str) -> int:
    value = sample.numbers.get(key, 0)
    return value if isinstance(value, int) else 0
