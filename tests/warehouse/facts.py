"""Facts the tests are about: one repository on one day."""

from datetime import UTC, datetime, timedelta

from buildeye.model import (
    Cause,
    Determinism,
    Diagnosis,
    Evidence,
    Excerpt,
    Incident,
    Job,
    KeyLine,
    Level,
    PersonVerdict,
    PullRequest,
    Reason,
    Run,
    Step,
    Suggestion,
    Verdict,
    VerdictChange,
)
from buildeye.warehouse import JobDiagnosis

REPOSITORY = "octo/widgets"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SIGNATURE = "pytest.failed|tests/test_a.py::test_b|AssertionError"


def at(minutes: float) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=minutes)


def a_run(
    number: int = 100,
    *,
    status: str = "completed",
    conclusion: str | None = "failure",
    event: str = "pull_request",
    branch: str = "feature",
    attempt: int = 1,
    updated: float = 30,
    pulls: tuple[int, ...] = (7,),
    repository: str = REPOSITORY,
) -> Run:
    return Run(
        id=number,
        name="CI",
        status=status,
        conclusion=conclusion,
        event=event,
        workflow_id=5,
        path=".github/workflows/ci.yml",
        head_sha="a" * 40,
        head_branch=branch,
        run_attempt=attempt,
        run_number=12,
        created_at=at(0),
        run_started_at=at(1),
        updated_at=at(updated),
        actor="octocat",
        triggering_actor="octocat",
        display_title="Turn the widget\tleft 'twice' \\ 向左",
        html_url=f"https://example.test/runs/{number}",
        pull_requests=pulls,
        repository_full_name=repository,
    )


def a_job(
    number: int = 1000,
    *,
    run: int = 100,
    name: str = "unit (3.12)",
    status: str = "completed",
    conclusion: str | None = "failure",
    branch: str = "feature",
    completed: float | None = 20,
    steps: tuple[Step, ...] = (Step("build", 1, "completed", "failure", at(2), at(19)),),
    repository: str = REPOSITORY,
) -> Job:
    return Job(
        id=number,
        run_id=run,
        name=name,
        status=status,
        conclusion=conclusion,
        workflow_name="CI",
        head_sha="a" * 40,
        head_branch=branch,
        created_at=at(0),
        started_at=at(2),
        completed_at=None if completed is None else at(completed),
        runner_id=3,
        runner_name="runner-3",
        runner_group_name="default",
        labels=("linux", "npu"),
        steps=steps,
        html_url=f"https://example.test/jobs/{number}",
        repository_full_name=repository,
    )


def a_diagnosis(
    job: int = 1000, *, minutes: float = 40, signature: str = SIGNATURE, line: str = "E assert 1 == 2"
) -> JobDiagnosis:
    diagnosis = Diagnosis(
        log="log.txt",
        cause=Cause.CODE,
        category="test-failure",
        determinism=Determinism.DETERMINISTIC,
        confidence=0.9,
        summary="test_b fails.",
        key_line=KeyLine(812, line),
        excerpts=(Excerpt(806, 815, "the assertion"),),
        evidence=(
            Evidence("step", "build", "failed", "the step that failed"),
            Evidence("rule", "pytest.failed", line, "", 812),
        ),
        files=("tests/test_a.py",),
        tests=("tests/test_a.py::test_b",),
        signature=signature,
        suggestions=(Suggestion("Run it here", steps=("check out", "run"), command="pytest tests/test_a.py"),),
        retry_helps=False,
        rule_set="rules-1",
    )
    return JobDiagnosis(REPOSITORY, 100, job, diagnosis, at(minutes))


def a_verdict(
    job: int = 1000, *, run: int = 100, minutes: float | None = 41, cause: Cause = Cause.CODE, rule_set: str = "rules-1"
) -> Verdict:
    return Verdict(
        run_id=run,
        job_id=job,
        cause=cause,
        category="test-failure",
        confidence=0.9,
        level=Level.HIGH,
        reasons=(Reason("rule", "pytest.failed", "E assert", "a test failed", 812, 1.5),),
        signature=SIGNATURE,
        rule_set=rule_set,
        judged_at=None if minutes is None else at(minutes),
    )


def a_saying(
    job: int = 0,
    *,
    run: int = 100,
    said: float = 50,
    cause: Cause = Cause.INFRASTRUCTURE,
    category: str = "runner-host",
    why: str = "the host lost its disk",
    person: str = "octocat",
    withdrawn: bool = False,
) -> PersonVerdict:
    return PersonVerdict(REPOSITORY, run, job, cause, category, why, person, at(said), withdrawn)


def a_change(job: int = 1000, *, minutes: float = 45) -> VerdictChange:
    return VerdictChange(
        REPOSITORY, 100, job, at(minutes), Cause.UNKNOWN, "unknown", 0.2, Cause.CODE, "test-failure", 0.9, ("base",),
        "the base branch passes",
    )  # fmt: skip


def a_pull(
    number: int = 7,
    *,
    updated: float = 3,
    title: str = "Turn",
    files: tuple[str, ...] = (),
    head: str = "feature",
    merged: float | None = None,
) -> PullRequest:
    return PullRequest(
        number=number,
        title=title,
        author="octocat",
        state="open" if merged is None else "closed",
        base_ref="main",
        base_sha="b" * 40,
        head_ref=head,
        head_sha="a" * 40,
        created_at=at(-60),
        updated_at=at(updated),
        merged_at=None if merged is None else at(merged),
        merge_commit_sha=None if merged is None else f"{number:040}",
        html_url=f"https://example.test/pull/{number}",
        changed_files=files,
        repository_full_name=REPOSITORY,
    )


def an_incident(
    number: str = "a1", *, began: float = 0, updated: float = 60, resolved: float | None = 60, status: str = "resolved"
) -> Incident:
    return Incident(
        id=number,
        name="Actions is slow",
        started_at=at(began),
        updated_at=at(updated),
        impact="major",
        status=status,
        components=("Actions", "Packages"),
        resolved_at=None if resolved is None else at(resolved),
        html_url=f"https://stspg.example/{number}",
    )
