"""A failed job of a pull request to give advice about, with everything that a test does not speak of filled in."""

from buildeye.model import Cause, Diagnosis, Job, PullRequest, Run, Step

OWN = 100


def run(**given: object) -> Run:
    """A failed run of a pull request."""
    facts: dict[str, object] = {
        "id": 1, "name": "E2E", "status": "completed", "conclusion": "failure", "event": "pull_request",
        "head_sha": "a" * 40, "head_branch": "topic",
    }  # fmt: skip
    return Run(**(facts | given))  # type: ignore[arg-type]  # a table of fields


def job(**given: object) -> Job:
    """A failed job of that run with one failed step."""
    facts: dict[str, object] = {
        "id": 11, "run_id": 1, "name": "unit", "status": "completed", "conclusion": "failure",
        "runner_name": "runner-1", "steps": (Step("Run tests", 1, "completed", "failure"),),
    }  # fmt: skip
    return Job(**(facts | given))  # type: ignore[arg-type]  # a table of fields


def diagnosis(**given: object) -> Diagnosis:
    """A test that fails for sure by the code."""
    facts: dict[str, object] = {
        "log": "job 11", "cause": Cause.CODE, "category": "test-failure", "confidence": 0.86,
        "signature": "pytest.assertion|tests/test_a.py::test_b",
    }  # fmt: skip
    return Diagnosis(**(facts | given))  # type: ignore[arg-type]  # a table of fields


def pull(**given: object) -> PullRequest:
    """The pull request under test."""
    facts: dict[str, object] = {"number": OWN, "author": "dev-own", "base_ref": "main"}
    return PullRequest(**(facts | given))  # type: ignore[arg-type]  # a table of fields
