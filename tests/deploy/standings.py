"""Deployments as they stand at some moments, for tests of what people see."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from buildeye.deploy.standing import (
    Condition,
    PastDeployment,
    ProcessFacts,
    SignalStanding,
    Standing,
)
from buildeye.model.boundary import RateBoundary
from buildeye.model.deployments import Baseline, DeployEvent, Deployment, Moment, SignalKind, SignalStatus, State

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
BOUNDARY = ((3, 0), (4, 0), (5, 1), (6, 2), (7, 2), (8, 3), (9, 4), (10, 4), (15, 7), (20, 11), (30, 18), (50, 32))


def at(seconds: float) -> Moment:
    """So many seconds after noon, in one boot."""
    return Moment(NOON + timedelta(seconds=seconds), "boot", 1000 + seconds)


def a_deployment(state: State = State.MONITORING, **changes: object) -> Deployment:
    """Version v142 of `web`, cut over at noon."""
    made = Deployment(
        id="d-142", service="web", version="v142", state=state, epoch=6, created=at(-60), commit="3d91e02c55aa9b20",
        repository="octo/widgets", cutover=at(0), baseline=Baseline(45, 50, "c0ffee"), slot=1, previous="d-141",
        spec={"rate": {"source": "tables"}},
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]  # fields by name


def watched(**changes: object) -> Standing:
    """Six hours into its window, as design/faces.md shows it."""
    standing = Standing(
        deployment=a_deployment(),
        elapsed=22320,
        window=86400,
        deadline=172800,
        previous_version="v141",
        previous_warm=True,
        signals=(
            SignalStanding(SignalKind.PROCESS, SignalStatus.OK, "up 6 h 12 min, 0 exits", "alive",
                           {"exits": 0, "within_seconds": 600}),
            SignalStanding(SignalKind.HTTP, SignalStatus.OK, "741 of 742 ok, longest run of failures 1", "good",
                           {"failures_in_row": 0}, next_look=12),
            SignalStanding(SignalKind.CANARY, SignalStatus.OK, "7 of 7, control 7 of 7", "passed", next_look=2880),
            SignalStanding(SignalKind.RATE, SignalStatus.INSUFFICIENT, "8 of 9 approved, was 45 of 50", "few-judged",
                           {"good": 8, "judged": 9, "share": 8 / 9}, needs="1 more judged task", next_look=12),
        ),
        conditions=(
            Condition("24 h passed (6 h 12 min now)", False),
            Condition(">= 10 judged (9 now)", False),
            Condition("canary >= 3 (7)", True),
            Condition("http good", True),
        ),
        boundary=RateBoundary(BOUNDARY, 8, 9, 0.6514, 0.01),
        process=ProcessFacts(4711, 22320, 0),
        next_look=12,
        ci="1 of 3 runs failed: unit (3.12), overruled as infrastructure by ops",
        ci_green=False,
        supervisor="web-1, PID 4242",
    )  # fmt: skip
    return replace(standing, **changes)  # type: ignore[arg-type]  # fields by name


def rolled_back() -> Standing:
    """Back on v141 after three failed checks."""
    reason = '{"signal_type": "http_health", "status": "fail", "detail": "3 checks in a row failed: 503"}'
    deployment = a_deployment(State.ROLLED_BACK, closed=at(95), rollback_reason=reason, epoch=9)
    return Standing(deployment, 95, 86400, 172800, "v141", True, ci="3 of 3 runs green", ci_green=True)


def past() -> list[PastDeployment]:
    """Three deployments, newest first."""
    return [
        PastDeployment(a_deployment(), None, watched().ci, False, ("unit (3.12) as infrastructure by ops",)),
        PastDeployment(replace(rolled_back().deployment, version="v141"), 155, "3 of 3 runs green", True),
        PastDeployment(
            a_deployment(State.MONITORING_WINDOW_CLEAN, version="v140", closed=at(90000), forced=True), 90060
        ),
    ]


def an_event(**changes: object) -> DeployEvent:
    """The anomaly of v142."""
    event = DeployEvent(
        "d-142", "anomaly", State.MONITORING, State.ANOMALY_DETECTED, 7, at(90), "in-a-row",
        {"says": "http: 3 checks in a row failed: 503"}, seq=12,
    )  # fmt: skip
    return replace(event, **changes)  # type: ignore[arg-type]  # fields by name
