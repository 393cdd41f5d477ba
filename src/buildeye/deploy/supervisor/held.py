"""A breach that may not roll back by itself: a person was asked once, and only what comes after it counts again.

Judges say FAIL for as long as the samples of a breach are among those they are shown. So after a breach was held they
are shown only what came after: probes and canaries from the first good ones on, exits after that moment. Until there
are good ones it is the same trouble, which neither asks again nor passes for well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from buildeye.deploy.supervisor.seen import Seen
from buildeye.model.deployments import DeployEvent, HealthSample, Moment, SignalKind, SignalStatus

SEQ: Final = "seq"
"""Where the event of a breach keeps the number of the last sample it rests on."""
SIGNAL: Final = "signal"
_GOOD: Final = {SignalKind.HTTP: 3, SignalKind.CANARY: 1}
"""Good samples in a row that end a held breach."""


@dataclass(frozen=True, slots=True)
class Held:
    """When a breach was held, and the last sample it rests on."""

    seq: int
    at: Moment


def held_by(event: DeployEvent) -> tuple[SignalKind, Held] | None:
    """The breach that an event held; None where it names no signal."""
    named, seq = event.numbers.get(SIGNAL), event.numbers.get(SEQ, 0)
    if named not in set(SignalKind):
        return None
    return SignalKind(str(named)), Held(seq if isinstance(seq, int) else 0, event.at)


def after_held(seen: Seen, held: Mapping[SignalKind, Held]) -> tuple[Seen, frozenset[SignalKind]]:
    """What was seen after the held breaches, and the signals whose trouble is still the same."""
    samples, same = dict(seen.samples), set()
    for kind, least in _GOOD.items():
        if kind in held:
            samples[kind] = _from_good(seen.samples.get(kind, ()), held[kind].seq, least)
            if not samples[kind]:
                same.add(kind)
    runs = seen.runs
    if SignalKind.PROCESS in held:
        at = held[SignalKind.PROCESS].at
        runs = [run for run in runs if run.ended is None or run.ended.since(at) > 0]
    if SignalKind.RATE in held:
        same.add(SignalKind.RATE)  # verdicts add up: what crossed the boundary stays across it
    return replace(seen, samples=samples, runs=runs), frozenset(same)


def _from_good(samples: Sequence[HealthSample], seq: int, least: int) -> Sequence[HealthSample]:
    """The samples after `seq` from the first so many good ones in a row on; none while there are not so many."""
    good = 0
    for place, sample in enumerate(samples):
        if sample.seq <= seq:
            continue
        good = good + 1 if sample.status is SignalStatus.OK else 0
        if good == least:
            return list(samples)[place + 1 - least :]
    return ()
