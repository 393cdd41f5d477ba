"""Does a real task still go through? A failure is confirmed by one more run, with the old version as control."""

from collections.abc import Sequence
from dataclasses import dataclass

from buildeye.model.deployments import HealthVerdict, Moment, SignalStatus


@dataclass(frozen=True, slots=True)
class CanaryRun:
    """One canary task. `control` is how the same task went on the old version, None where it was not or could not be
    run there. `error`: the task could not be sent. `confirms`: made because the run before failed."""

    ok: bool
    at: Moment
    control: bool | None = None
    error: bool = False
    detail: str = ""
    confirms: bool = False


@dataclass(frozen=True, slots=True)
class CanarySettings:
    """Seconds from a failed run to the one that confirms it."""

    confirm_seconds: float = 10


def judge_canary(runs: Sequence[CanaryRun], settings: CanarySettings, now: Moment) -> HealthVerdict:
    """What the runs say, oldest first; FAIL when any failure of them was confirmed and the old version did better.

    Reasons: no-runs, confirm (run it once more, on both versions), environment (both fail: hold; all INSUFFICIENT);
    canary-failed (FAIL); canary-passed, not-confirmed (OK); canary-unknown (ERROR, the last run could not be made).
    Numbers: passed, failed.
    """
    verdict = HealthVerdict(SignalStatus.INSUFFICIENT, "no-runs", "no canary was run yet")
    passed = failed = 0
    before: CanaryRun | None = None
    for run in runs:
        if run.error:
            continue
        passed, failed = passed + run.ok, failed + (not run.ok)
        numbers: dict[str, object] = {"passed": passed, "failed": failed}
        confirms = run.confirms and before is not None and not before.ok
        verdict = _at(run, confirms, numbers)
        if verdict.status is SignalStatus.FAIL:
            return verdict
        before = run
    if runs and runs[-1].error:
        says = f"the canary could not be run: {runs[-1].detail or 'no reason known'}"
        return HealthVerdict(SignalStatus.ERROR, "canary-unknown", says, verdict.numbers)
    return verdict


def next_canary(runs: Sequence[CanaryRun], interval: float, settings: CanarySettings) -> tuple[float, bool]:
    """(seconds from the last run to the next, does that one confirm?)

    After a run that could not be made the next is as soon, and confirms if a failure still waits to be confirmed.
    """
    made = [run for run in runs if not run.error]
    waits = bool(made) and not made[-1].ok and not made[-1].confirms
    hurried = waits or (bool(runs) and runs[-1].error)
    return (min(interval, settings.confirm_seconds) if hurried else interval), waits


def _at(run: CanaryRun, confirms: bool, numbers: dict[str, object]) -> HealthVerdict:
    """The verdict at one run that was made; `confirms`: the one before failed and this one is its confirmation."""
    told = f" ({run.detail})" if run.detail else ""
    if run.ok:
        if confirms:
            return HealthVerdict(SignalStatus.OK, "not-confirmed", "one canary failed, the next passed", numbers)
        return HealthVerdict(SignalStatus.OK, "canary-passed", f"{numbers['passed']} canaries passed", numbers)
    if not confirms:
        says = f"a canary failed{told}; one more run confirms or clears it"
        return HealthVerdict(SignalStatus.INSUFFICIENT, "confirm", says, numbers)
    match run.control:
        case False:
            says = f"the canary failed twice{told}, and on the old version too: not the new version's trouble alone"
            return HealthVerdict(SignalStatus.INSUFFICIENT, "environment", says, numbers)
        case True:
            says = f"the canary failed twice{told}; the old version passes it"
        case None:
            says = f"the canary failed twice{told}; there is no old version to compare with"
    return HealthVerdict(SignalStatus.FAIL, "canary-failed", says, numbers)
