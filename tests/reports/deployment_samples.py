"""Deployments that went bad, one of each kind, for the golden files of their reports."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from buildeye.insight.commits import CommitStory, FailedJob, RunOfCommit
from buildeye.logs.diagnose import LogReading
from buildeye.model import Cause, Diagnosis, KeyLine, LogLine
from buildeye.model.boundary import RateBoundary
from buildeye.model.deployments import (
    Baseline,
    DeployEvent,
    Deployment,
    HealthVerdict,
    Moment,
    SignalKind,
    SignalStatus,
    State,
)
from buildeye.reports.deploymentclaim import DeploymentTold

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECRET = "ghp_" + "a1B2" * 9
WEB = "https://github.com/octo/widgets/actions"
HOSTILE = f"x`` | <b>@octocat</b>\n# h #7 [a](http://evil.example) \x1b[31m\u202e $& token={SECRET}"
P, H, C, R = SignalKind
OK, FAIL, WAIT, ERROR = SignalStatus


def at(seconds: float) -> Moment:
    """So many seconds after noon."""
    return Moment(NOON + timedelta(seconds=seconds), "boot", 1000 + seconds)


def a_deployment(state: State, **changes: object) -> Deployment:
    """Version v142 of `web`."""
    made = Deployment(
        id="4f1c2ab0-7d1e", service="web", version="v142", state=state, epoch=9, created=at(-60), cutover=at(0),
        closed=at(95), commit="3d91e02c55aa9b20", repository="octo/widgets", baseline=Baseline(45, 50),
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]  # fields by name


def steps(*given: tuple[float, str, State, str]) -> tuple[DeployEvent, ...]:
    """Events of (seconds, what happened, state after, what is said)."""
    before, made = State.CREATED, []
    for number, (seconds, event, after, says) in enumerate(given, 1):
        made.append(DeployEvent("4f1c2ab0-7d1e", event, before, after, number, at(seconds), says, seq=number))
        before = after
    return tuple(made)


BEGUN = (
    (-60.0, "start", State.STARTING, ""),
    (-59.5, "started", State.HEALTH_CHECKING, "PID 4711 in slot 1"),
    (-48.0, "healthy", State.READY, "3 of 3 probes in a row"),
    (-47.9, "cut_over", State.CUTTING_OVER, ""),
    (0.0, "switched", State.MONITORING, ""),
)
DOWN = HealthVerdict(
    FAIL, "http-down", "3 probes in a row failed within 20 s (503); the old version answers",
    {"in_a_row": 3, "failed": 3, "shared": 0, "probes": 6},
)  # fmt: skip
ALIVE = HealthVerdict(OK, "alive", "runs, and never ended by itself", {"exits": 0})
STORY = CommitStory(
    "octo/widgets", "3d91e02c55aa9b20",
    (
        RunOfCommit(501, "CI", "push", "completed", "failure", 1, f"{WEB}/runs/501", (
            FailedJob("unit (3.12)", f"{WEB}/runs/501/job/71", 71, "code", "test-failure", "infrastructure",
                      "runner-host", "node 7 lost its disk", "ops"),
        )),
        RunOfCommit(502, "lint", "push", "completed", "success", 1, f"{WEB}/runs/502"),
        RunOfCommit(503, "docs", "push", "completed", "success", 1, f"{WEB}/runs/503"),
    ),
)  # fmt: skip
GREEN = replace(STORY, runs=STORY.runs[1:])
LOG = LogReading(
    Diagnosis(
        "v142.log", Cause.CODE, "import", confidence=0.93, summary="The module `widgets.cache` is not there.",
        key_line=KeyLine(412, "ModuleNotFoundError: No module named 'widgets.cache'"), signature="import|widgets.cache",
    ),
    (
        LogLine(410, "Traceback (most recent call last):"),
        LogLine(411, f"  connect(token={SECRET})"),
        LogLine(412, "ModuleNotFoundError: No module named 'widgets.cache'"),
    ),
)  # fmt: skip


def rolled_back() -> DeploymentTold:
    """Three failed checks, back on v141; CI had failed and was overruled."""
    events = steps(
        *BEGUN, (90, "anomaly", State.ANOMALY_DETECTED, DOWN.says), (90.1, "roll_back", State.ROLLING_BACK, ""),
        (95, "returned", State.ROLLED_BACK, "v141 answers at the public address"),
    )  # fmt: skip
    told = ("Alert to json://hooks.example.org failed: answered 500",)
    return DeploymentTold(a_deployment(State.ROLLED_BACK), "v141", {P: ALIVE, H: DOWN}, None, events, STORY, LOG, told)


def rate_fell() -> DeploymentTold:
    """A drop of the approval rate; the return is under way."""
    fell = HealthVerdict(
        FAIL, "rate-fell", "3 of 8 approved, was 45 of 50; fails at 3 of 8",
        {"approved": 3, "judged": 8, "unjudged": 1, "baseline_good": 45, "baseline_total": 50, "p": 0.00068},
    )  # fmt: skip
    boundary = RateBoundary(((3, 0), (4, 0), (5, 1), (8, 3), (10, 4), (20, 11), (50, 32)), 3, 8, 0.00068, 0.01)
    deployment = a_deployment(State.ROLLING_BACK, closed=None, forced=True)
    up = HealthVerdict(OK, "http-answers", "answers; 0 of the last 20 probes failed", {"probes": 20})
    events = steps(
        *BEGUN, (4000, "anomaly", State.ANOMALY_DETECTED, fell.says), (4001, "roll_back", State.ROLLING_BACK, "")
    )
    return DeploymentTold(deployment, "v141", {P: ALIVE, H: up, R: fell}, boundary, events, GREEN)


def health_failed() -> DeploymentTold:
    """It never became healthy; nobody gave a commit."""
    deployment = a_deployment(
        State.HEALTH_FAILED, cutover=None, commit="", closed=at(60), note="it ended with code 1 after 0.4 s",
    )  # fmt: skip
    events = steps(*BEGUN[:2], (60, "unhealthy", State.HEALTH_FAILED, "it ended with code 1 after 0.4 s"))
    return DeploymentTold(deployment, "v141", {}, None, events, None, LOG)


def rollback_failed() -> DeploymentTold:
    """It crashes, and the old version does not come up."""
    crashes = HealthVerdict(
        FAIL, "crashes", "the process ended 2 times within 101 s, last by signal 11",
        {"exits": 2, "within": 2, "seconds": 101.0, "codes": [-11, -11]},
    )  # fmt: skip
    events = steps(
        *BEGUN, (200, "anomaly", State.ANOMALY_DETECTED, crashes.says), (201, "roll_back", State.ROLLING_BACK, ""),
        (230, "return_failed", State.ROLLBACK_FAILED, "v141 did not become healthy within 120 s"),
    )  # fmt: skip
    story = CommitStory("octo/widgets", "3d91e02c55aa9b20")
    return DeploymentTold(
        a_deployment(State.ROLLBACK_FAILED, closed=at(230)), "v141", {P: crashes}, None, events, story
    )


def insufficient() -> DeploymentTold:
    """Nothing bad, and too few tasks."""
    deployment = a_deployment(
        State.CLOSED_INSUFFICIENT_DATA, closed=at(172800), note="48 h are over and this is still missing: 4 more tasks",
    )  # fmt: skip
    few = HealthVerdict(WAIT, "no-tasks", "6 of 6 approved, was 45 of 50", {"approved": 6, "judged": 6})
    events = steps(*BEGUN, (172800, "deadline", State.CLOSED_INSUFFICIENT_DATA, deployment.note))
    return DeploymentTold(deployment, "v141", {P: ALIVE, R: few}, None, events, GREEN)


def needs_attention() -> DeploymentTold:
    """Both versions fail: a person must look."""
    both = HealthVerdict(
        WAIT, "both-fail", "4 probes in a row failed within 24 s (503); the old version fails as well", {}
    )
    deployment = a_deployment(State.NEEDS_ATTENTION, closed=None)
    events = steps(*BEGUN, (90, "ask", State.NEEDS_ATTENTION, both.says))
    return DeploymentTold(deployment, "v141", {P: ALIVE, H: both}, None, events, GREEN)


def hostile() -> DeploymentTold:
    """Everything that others wrote tries to be more than text, and holds a secret."""
    deployment = a_deployment(
        State.ROLLED_BACK, service=HOSTILE, version=HOSTILE, commit=HOSTILE, repository=HOSTILE, note=HOSTILE,
        rollback_reason=HOSTILE, profile=HOSTILE,
    )  # fmt: skip
    bad = HealthVerdict(FAIL, HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    jobs = (FailedJob(HOSTILE, HOSTILE, 1, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),)
    story = CommitStory(HOSTILE, HOSTILE, (RunOfCommit(1, HOSTILE, HOSTILE, "completed", "failure", 1, HOSTILE, jobs),))
    events = tuple(replace(event, reason=HOSTILE, by=HOSTILE) for event in steps(*BEGUN))
    diagnosis = replace(LOG.diagnosis, category=HOSTILE, summary=HOSTILE, signature=HOSTILE)
    log = LogReading(diagnosis, (LogLine(411, "````"), LogLine(413, HOSTILE)))
    return DeploymentTold(deployment, HOSTILE, {H: bad}, None, events, story, log, (HOSTILE,))


SAMPLES = {
    "rolled-back": rolled_back,
    "rate-fell": rate_fell,
    "health-failed": health_failed,
    "rollback-failed": rollback_failed,
    "insufficient": insufficient,
    "needs-attention": needs_attention,
    "hostile": hostile,
}
