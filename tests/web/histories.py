"""Histories of jobs as GitHub tells them: attempts of a run, jobs that wait, start, go through steps and end."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.github.shapes import job_json, run_json

START = datetime(2026, 5, 28, 9, tzinfo=UTC)
NAMES = ("unit (3.12)", "lint", "e2e / npu (8, a3)")
STEPS = ("Set up job", "Checkout", "Run tests", "Complete job")


@dataclass(frozen=True)
class Event:
    """One event: what it is of, the state it tells, and the object in its payload, without the repository."""

    kind: str
    number: int
    status: str
    data: dict[str, Any]

    def __hash__(self) -> int:
        return hash((self.kind, self.number, self.status))


def payload(event: Event, repository: str) -> dict[str, Any]:
    """The payload of an event of this repository."""
    named = {"id": 5, "full_name": repository}
    data = event.data | {"repository": named} if event.kind == "workflow_run" else event.data
    return {"action": event.status, event.kind: data, "repository": named}


@st.composite
def a_history(draw: st.DrawFn) -> list[Event]:
    """Up to three attempts of one run with up to two jobs each, the last of them perhaps unfinished; in its order."""
    events: list[Event] = []
    at = START
    attempts = draw(st.integers(1, 3))
    for attempt in range(1, attempts + 1):
        begun, jobs, ended = at, draw(st.integers(1, 2)), True
        events.append(_run(attempt, "queued", None, begun, at))
        for number in range(jobs):
            told = draw(_job(100 * attempt + number, attempt, NAMES[number], at, last=attempt == attempts))
            events += told
            ended = ended and told[-1].status == "completed"
        events.append(_run(attempt, "in_progress", None, begun, at + timedelta(seconds=8)))
        at += timedelta(hours=1)
        if ended:
            events.append(_run(attempt, "completed", draw(st.sampled_from(["success", "failure"])), begun, at))
        at += timedelta(minutes=5)
    return events


@st.composite
def _job(draw: st.DrawFn, number: int, attempt: int, name: str, at: datetime, *, last: bool) -> list[Event]:
    """The life of one job: perhaps waiting, then queued, its steps one after the other, and its end."""
    states = draw(st.sampled_from([("queued",), ("queued", "waiting"), ("waiting", "queued")]))
    before: dict[str, Any] = {"conclusion": None, "started_at": _text(at), "completed_at": None, "steps": []}
    nobody = {"runner_id": 0, "runner_name": "", "runner_group_name": None}
    told: list[dict[str, Any]] = [{"status": status, **before, **nobody} for status in states]
    count = draw(st.integers(1, len(STEPS)))
    conclusion = draw(st.sampled_from(["success", "failure", "cancelled"]))
    started = at + timedelta(seconds=draw(st.integers(1, 90)))
    for done in range(count):
        steps = [_step(i, started, "completed" if i < done else "in_progress", conclusion) for i in range(done + 1)]
        told.append({"status": "in_progress", "conclusion": None, "completed_at": None, "steps": steps})
    steps = [_step(i, started, "completed", conclusion) for i in range(count)]
    ended = started + timedelta(minutes=count)
    told.append({"status": "completed", "conclusion": conclusion, "completed_at": _text(ended), "steps": steps})
    if last:
        told = told[: draw(st.integers(1, len(told)))]
    common = {"name": name, "run_attempt": attempt, "created_at": _text(at), "started_at": _text(started)}
    jobs = [job_json(number, **(common | each)) for each in told]
    return [event for job in jobs for event in _job_events(number, job)]


def _job_events(number: int, job: dict[str, Any]) -> list[Event]:
    events = [Event("workflow_job", number, job["status"], job)]
    if job["status"] in ("queued", "completed"):
        check = {
            key: job[key] for key in ("id", "name", "status", "conclusion", "head_sha", "started_at", "completed_at")
        }
        events.append(Event("check_run", number, job["status"], check | {"app": {"slug": "github-actions"}}))
    return events


def _run(attempt: int, status: str, conclusion: str | None, begun: datetime, at: datetime) -> Event:
    data = run_json(
        7,
        _text(START),
        run_attempt=attempt,
        status=status,
        conclusion=conclusion,
        run_started_at=_text(begun),
        updated_at=_text(at),
    )
    return Event("workflow_run", 7, status, data)


def _step(number: int, started: datetime, status: str, conclusion: str) -> dict[str, Any]:
    done = status == "completed"
    return {
        "name": STEPS[number],
        "number": number + 1,
        "status": status,
        "conclusion": conclusion if done else None,
        "started_at": _text(started + timedelta(minutes=number)),
        "completed_at": _text(started + timedelta(minutes=number + 1)) if done else None,
    }


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
