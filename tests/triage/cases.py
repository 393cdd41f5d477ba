"""A failed job and what happened around it, with everything that a test does not speak of filled in.

Hours count from the moment the run to judge was created.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from buildeye.model import Cause, Diagnosis, Incident, Job, PoolLoad, PullRequest, Run, Step, Thing, Verdict
from buildeye.triage.evidence import Judge, Piece, Window
from buildeye.triage.history import History
from buildeye.triage.judge import judge
from buildeye.triage.results import Merge, Result, Said, Subject, subject_of
from buildeye.triage.thresholds import Thresholds

NOW = datetime(2026, 5, 28, 12, 0, tzinfo=UTC)
BEGAN = NOW - timedelta(hours=6)
SIGNATURE = "pytest.assertion|tests/test_a.py::test_b"
OTHER = "pytest.assertion|tests/test_z.py::test_z"
OWN = 100
POOL = "linux,npu"
MINUTE = timedelta(minutes=1)


def at(hours: float) -> datetime:
    """So many hours after the run to judge was created."""
    return BEGAN + timedelta(hours=hours)


def run(**given: object) -> Run:
    """A failed run of a pull request that began at `BEGAN`."""
    facts: dict[str, object] = {
        "id": 1, "name": "E2E", "status": "completed", "conclusion": "failure", "event": "pull_request",
        "workflow_id": 9, "head_sha": "a" * 40, "head_branch": "topic", "run_started_at": BEGAN, "created_at": BEGAN,
        "actor": "dev-own",
    }  # fmt: skip
    return Run(**(facts | given))  # type: ignore[arg-type]  # a table of fields


def job(**given: object) -> Job:
    """A failed job of that run with one failed step."""
    facts: dict[str, object] = {
        "id": 11, "run_id": 1, "name": "unit", "status": "completed", "conclusion": "failure", "head_sha": "a" * 40,
        "runner_name": "runner-1", "steps": (Step("Run tests", 1, "completed", "failure"),), "labels": ("npu", "linux"),
        "created_at": BEGAN, "started_at": BEGAN + MINUTE, "completed_at": BEGAN + 20 * MINUTE,
    }  # fmt: skip
    return Job(**(facts | given))  # type: ignore[arg-type]  # a table of fields


def diagnosis(**given: object) -> Diagnosis:
    """A test that fails for sure by the code."""
    facts: dict[str, object] = {
        "log": "job 11", "cause": Cause.CODE, "category": "test-failure", "confidence": 0.86, "signature": SIGNATURE,
    }  # fmt: skip
    return Diagnosis(**(facts | given))  # type: ignore[arg-type]  # a table of fields


def pull(**given: object) -> PullRequest:
    """The pull request under test."""
    facts: dict[str, object] = {"number": OWN, "author": "dev-own", "base_ref": "main"}
    return PullRequest(**(facts | given))  # type: ignore[arg-type]  # a table of fields


def subject(of: Diagnosis | None = None, change: PullRequest | None = None, **of_job: Any) -> Subject:
    """The failed job of a pull request, to be judged."""
    return subject_of(run(), job(**of_job), of or diagnosis(), change or pull(), "main")


def on_main(of: Diagnosis | None = None, sha: str = "a" * 40, **of_job: Any) -> Subject:
    """The same job of a push to the base branch."""
    pushed = run(event="push", head_branch="main", head_sha=sha)
    return subject_of(pushed, job(head_sha=sha, **of_job), of or diagnosis(), None, "main")


def result(number: int, hours: float = 0, **given: Any) -> Result:
    """How the job ended in a run created `hours` later: it failed alike."""
    built = at(hours)
    facts: dict[str, Any] = {
        "job_id": number, "run_id": number, "attempt": 1, "workflow": "E2E", "name": "unit", "conclusion": "failure",
        "head_sha": sha_of(number), "built": built, "started": built + MINUTE, "ended": built + 20 * MINUTE,
        "signature": SIGNATURE, "cause": "code", "category": "test-failure", "runner": f"runner-of-{number}",
        "pool": POOL, "waited": MINUTE,
    }  # fmt: skip
    return Result(**(facts | given))


def sha_of(number: int) -> str:
    """The commit that a number stands for."""
    return f"{number:040}"


def on_base(number: int = 50, hours: float = -3, **given: Any) -> Result:
    """The same failure on the base branch."""
    return result(number, hours, on_base=True, author="bot", branch="main", **given)


def in_pull(number: int, hours: float = -1, **given: Any) -> Result:
    """The same failure in another pull request, by somebody else."""
    facts = {"pull_request": number, "author": f"dev-{number}", "branch": f"topic-{number}"} | given
    return result(1000 + number, hours, **facts)


def again(number: int = 12, attempt: int = 2, **given: Any) -> Result:
    """The job itself in another attempt of its run: it failed alike."""
    facts: dict[str, Any] = {
        "run_id": 1, "attempt": attempt, "head_sha": "a" * 40, "pull_request": OWN, "author": "dev-own",
        "runner": "runner-1",
    }  # fmt: skip
    return result(number, 0, **(facts | given))


def passed(each: Result) -> Result:
    """The same, but it passed."""
    return replace(each, conclusion="success", signature="", cause="", category="", tests=())


def merge(number: int, hours: float, *files: str, **given: Any) -> Merge:
    """A pull request that was merged, as the commit its number stands for."""
    facts: dict[str, Any] = {
        "pull_request": number, "author": f"dev-{number}", "head_sha": f"head-of-{number}", "files": files,
    }  # fmt: skip
    return Merge(sha_of(number), at(hours), **(facts | given))


def thing(name: str, value: str, kind: str = "package") -> Thing:
    """Something a job ran in or with."""
    return Thing(kind, name, value)  # type: ignore[arg-type]  # a table of words


def load(hours: float, waiting: float) -> PoolLoad:
    """How many jobs waited for a runner while eight ran."""
    return PoolLoad(POOL, at(hours), waiting, 8)


def incident(began: float, resolved: float | None, updated: float = 0) -> Incident:
    """What GitHub declared of itself."""
    ended = None if resolved is None else at(resolved)
    return Incident("a1", "Actions is slow", at(began), ended or at(updated), resolved_at=ended)


def said(cause: Cause, hours: float = -5, run_id: int = 70, person: str = "alice") -> Said:
    """What a person held to be true of an equal failure."""
    return Said(cause, "", person, at(hours), run_id)


def history(results: Iterable[Result] = (), **more: Any) -> History:
    """What is known; it covers what its results span."""
    known = list(results)
    ended = [each.ended for each in known]
    return History(**({"results": known, "since": min(ended, default=None), "until": max(ended, default=None)} | more))


def pieces(
    by: Judge, of: Subject, results: Iterable[Result] = (), window: Window | None = None, **more: Any
) -> dict[str, Piece]:
    """What one judge finds, by id."""
    known = history(results, **more)
    found = list(by(of, known, window or Window(), known.alike(of)))
    assert len({piece.id for piece in found}) == len(found)
    return {piece.id: piece for piece in found}


def judged(
    *results: Result,
    of: Diagnosis | None = None,
    change: PullRequest | None = None,
    thresholds: Thresholds | None = None,
    **more: Any,
) -> Verdict:
    """The verdict on the failed job of a pull request, by the packaged weights."""
    return judge(subject(of, change), history(results, **more), thresholds or Thresholds(), NOW)


def reasons(verdict: Verdict) -> Sequence[str]:
    """The ids of what history said."""
    return [reason.id for reason in verdict.reasons if reason.kind == "history"]
