"""A failed job and what was seen elsewhere, with everything that a test does not speak of filled in."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from buildeye.model import Cause, Diagnosis, Job, PullRequest, Run, Step, Verdict
from buildeye.triage.judge import Case, Sighting, Thresholds, judge

NOW = datetime(2026, 5, 28, 12, 0, tzinfo=UTC)
BEGAN = NOW - timedelta(hours=6)
SIGNATURE = "pytest.assertion|tests/test_a.py::test_b"
OWN = 100


def run(**given: object) -> Run:
    """A failed run of a pull request that began at `BEGAN`."""
    facts: dict[str, object] = {
        "id": 1, "name": "E2E", "status": "completed", "conclusion": "failure", "event": "pull_request",
        "workflow_id": 9, "head_sha": "a" * 40, "head_branch": "topic", "run_started_at": BEGAN, "created_at": BEGAN,
    }  # fmt: skip
    return Run(**(facts | given))  # type: ignore[arg-type]  # a table of fields


def job(**given: object) -> Job:
    """A failed job of that run with one failed step."""
    facts: dict[str, object] = {
        "id": 11, "run_id": 1, "name": "unit", "status": "completed", "conclusion": "failure", "head_sha": "a" * 40,
        "runner_name": "runner-1", "steps": (Step("Run tests", 1, "completed", "failure"),),
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


def on_base(run_id: int = 50, hours: float = -3, sha: str = "b" * 40, signature: str = SIGNATURE) -> Sighting:
    """The same failure on the base branch, `hours` after the run began."""
    return Sighting(signature, run_id, sha, BEGAN + timedelta(hours=hours), on_base=True)


def in_pull(number: int, hours: float = -1, author: str = "", signature: str = SIGNATURE) -> Sighting:
    """The same failure in another pull request, `hours` after the run began."""
    return Sighting(
        signature, 1000 + number, "c" * 40, BEGAN + timedelta(hours=hours), number, author or f"dev-{number}"
    )


def judged(
    *seen: Sighting,
    of: Diagnosis | None = None,
    change: PullRequest | None = None,
    passed: bool = False,
    thresholds: Thresholds | None = None,
) -> Verdict:
    """The verdict on the failed job of a pull request."""
    case = Case(run(), job(), of or diagnosis(), change or pull(), list[Sighting](seen), passed)
    return judge(case, thresholds or Thresholds(), NOW)


def reasons(verdict: Verdict) -> Sequence[str]:
    """The ids of what history said."""
    return [reason.id for reason in verdict.reasons if reason.kind == "history"]
