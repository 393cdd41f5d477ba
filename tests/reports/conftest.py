"""Findings of every kind to write reports of: made up, but shaped like real ones."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from buildeye.model import (
    WHOLE_RUN,
    Cause,
    Cost,
    Determinism,
    Diagnosis,
    Evidence,
    Finding,
    Job,
    JobFinding,
    KeyLine,
    Level,
    LogLine,
    PersonVerdict,
    PullRequest,
    Reason,
    Run,
    Suggestion,
    Verdict,
)
from buildeye.triage.people import overruled

REPO = "vllm-project/vllm-ascend"
WEB = f"https://github.com/{REPO}"
NOON = datetime(2026, 5, 28, 12, 0, tzinfo=UTC)
HOSTILE = "---\npr: 1\n# Owned\n```\n<script>x</script> @octocat [x](https://evil.example) ~~~ \x1b[31m|a|"


def _level(confidence: float) -> Level:
    bars = ((0.9, Level.HIGH), (0.7, Level.MEDIUM), (0.5, Level.LOW))
    return next((level for bar, level in bars if confidence >= bar), Level.NONE)


def make_job(
    name: str = "e2e / singlecard", job_id: int = 71, run_id: int = 501, runner: str | None = "a3-4-07", **fields: Any
) -> JobFinding:
    """A failed job; `fields` are of the diagnosis, `reasons` and `lines` are taken out first."""
    reasons, lines = fields.pop("reasons", ()), fields.pop("lines", ())
    fields.setdefault("confidence", 0.94)
    fields.setdefault("signature", f"{fields.get('category', 'unknown')}|{name}")
    diagnosis = Diagnosis(log=f"{job_id}.log", rule_set="r1a2b3", **fields)
    verdict = Verdict(
        run_id, job_id, diagnosis.cause, diagnosis.category, diagnosis.confidence, _level(diagnosis.confidence),
        diagnosis.determinism, reasons, diagnosis.signature, "r1a2b3", NOON,
    )  # fmt: skip
    url = f"{WEB}/actions/runs/{run_id}/job/{job_id}"
    job = Job(job_id, run_id, name, "completed", "failure", runner_name=runner, html_url=url)
    return JobFinding(job, diagnosis, verdict, lines)


def make_finding(*jobs: JobFinding, pr: int | None = 9829, run_id: int = 501, **fields: Any) -> Finding:
    """A failed run of a pull request (or none); `fields` are of the run, `suggestions` and `related` are taken out."""
    suggestions, related = fields.pop("suggestions", ()), fields.pop("related", ())
    defaults: dict[str, Any] = {
        "name": "E2E-Full",
        "head_sha": "3d91e02c55aa",
        "updated_at": NOON,
        "conclusion": "failure",
    }
    url = f"{WEB}/actions/runs/{run_id}"
    run = Run(run_id, status="completed", html_url=url, repository_full_name=REPO, **(defaults | fields))
    pull = pr and PullRequest(pr, "Speed up", base_ref="main", html_url=f"{WEB}/pull/{pr}", repository_full_name=REPO)
    verdict = jobs[0].verdict if jobs else Verdict(run_id, 0, Cause.UNKNOWN, "unknown", 0.0, Level.NONE)
    kind = "pull_request" if pr else "nightly"
    return Finding(run, kind, verdict, jobs, pull or None, suggestions, related)


def log_lines(first: int, *texts: str) -> tuple[LogLine, ...]:
    """Lines numbered from `first` on."""
    return tuple(LogLine(number, text) for number, text in enumerate(texts, first))


def _code() -> list[Finding]:
    error = "E   TypeError: Sampler.__init__() got an unexpected keyword argument 'logprobs_mode'"
    test = "tests/ut/sample/test_sampler.py::test_topk"
    job = make_job(
        "unit tests",
        cause=Cause.CODE,
        category="test-failure",
        determinism=Determinism.DETERMINISTIC,
        summary="Three tests stop with a TypeError: `Sampler.__init__()` does not know `logprobs_mode`.",
        key_line=KeyLine(1875, error),
        evidence=(
            Evidence("step", "Run unit tests", "exit code 1", "this step failed, the steps before it passed"),
            Evidence("rule", "python.type-error.unexpected-kwarg", error, "a call does not fit its function", 1875),
        ),
        files=("tests/ut/sample/test_sampler.py", "vllm_ascend/sample/sampler.py"),
        tests=(test, test + "_zero", test + "_one"),
        retry_helps=False,
        reasons=(
            Reason("history", "change.touches", "vllm_ascend/sample/sampler.py",
                     "the change touches a file of the traceback (+2.1)"),
            Reason("history", "seen-before", "1 of 400", "against it: the signature was seen once before (-0.4)"),
        ),
        lines=log_lines(
            1873, "tests/ut/sample/test_sampler.py:41: in test_topk", '    sampler = Sampler(logprobs_mode="raw")',
            error, "========== 3 failed, 212 passed in 98.41s ==========",
        ),
    )  # fmt: skip
    advice = (
        Suggestion("Run it alone", Cost.LOW, ("check out the branch", "run the first failing test"), f"pytest {test}"),
        Suggestion("Guard `logprobs_mode` by the vLLM version", Cost.MEDIUM, ("the argument is new in vLLM main",)),
    )
    return [make_finding(job, pr=9822, suggestions=advice)]


def _configuration() -> list[Finding]:
    job = make_job(
        "build image",
        cause=Cause.CONFIGURATION,
        category="dependency",
        confidence=0.74,
        summary="pip cannot resolve numpy: two packages ask for versions that exclude each other.",
        key_line=KeyLine(88, "ERROR: ResolutionImpossible"),
        evidence=(
            Evidence("rule", "pip.resolution-impossible", "ResolutionImpossible", "no set of versions fits", 88),
        ),
        lines=log_lines(86, "The conflict is caused by:", "    numpy<2.4 and numpy==2.4.0"),
        suggestions=(Suggestion("Pin `numpy<2.4`", Cost.LOW, ("the resolver asked for 2.4.0",)),),
        retry_helps=False,
    )
    return [make_finding(job, pr=9840)]


def _infrastructure() -> list[Finding]:
    jobs = [
        make_job(
            f"e2e / shard {number}",
            70 + number,
            cause=Cause.INFRASTRUCTURE,
            category="runner-lost",
            confidence=0.92,
            signature="runner-lost|a3-4-07",
            summary="The runner stopped answering; no step of the job ended.",
            reasons=(Reason("infrastructure", "runner.sick", "a3-4-07", "3 unrelated jobs failed on this runner"),),
            retry_helps=True,
        )
        for number in (1, 2, 3)
    ]
    again = Suggestion("Run the failed jobs again", Cost.LOW, (), "gh run rerun --failed 501")
    return [make_finding(*jobs, pr=9830, suggestions=(again,))]


def _interference() -> list[Finding]:
    job = make_job(
        cause=Cause.INTERFERENCE,
        category="broken-trunk",
        confidence=0.96,
        determinism=Determinism.DETERMINISTIC,
        summary="`test_dflash_spec` fails with a ValueError.",
        key_line=KeyLine(9120, "E   ValueError: draft length 5 > 4"),
        tests=("tests/e2e/test_spec.py::test_dflash_spec",),
        reasons=(
            Reason("history", "base-branch", "3d91e02", "it fails the same on main from 3d91e02 on (+3.0)"),
            Reason("history", "culprit", "#9771", "the first failing commit on main merged this (+1.2)"),
            Reason("history", "other-pull-requests", "4", "four other pull requests fail the same (+1.5)"),
        ),
        lines=log_lines(9119, ">   raise ValueError(msg)", "E   ValueError: draft length 5 > 4"),
        retry_helps=False,
    )
    revert = Suggestion("Revert or fix #9771 on main", Cost.MEDIUM, ("tell its author", "re-run after the merge"))
    return [make_finding(job, suggestions=(revert,), related=(9771, 9816, 9820))]


def _matrix() -> list[Finding]:
    job = make_job(
        "ut (v0.20.2)",
        cause=Cause.INTERFERENCE,
        category="version-matrix",
        confidence=0.71,
        summary="Only the leg with vLLM v0.20.2 fails.",
        reasons=(Reason("history", "matrix.leg", "v0.20.2", "the legs with main pass"),),
    )
    other = make_job("lint", 72, cause=Cause.UNKNOWN, confidence=0.0, runner=None)
    return [make_finding(job, other)]


def _flaky() -> list[Finding]:
    job = make_job(
        cause=Cause.CODE,
        category="test-failure",
        confidence=0.75,
        determinism=Determinism.FLAKY,
        summary="`test_stream` timed out.",
        tests=("tests/test_stream.py::test_stream",),
        reasons=(Reason("history", "same-commit", "attempt 1", "the same commit passed in attempt 1"),),
        retry_helps=True,
    )
    return [make_finding(job, pr=9850, run_attempt=2)]


def _person() -> list[Finding]:
    """What Build-Eye took for interference, judged again by a person who looked."""
    [ours] = _interference()
    word = PersonVerdict(
        REPO, ours.run.id, WHOLE_RUN, Cause.INFRASTRUCTURE, "accelerator", "card 3 of `a3-4-07` fell off the bus",
        "octocat", NOON + timedelta(minutes=20),
    )  # fmt: skip
    jobs = tuple(dataclasses.replace(job, verdict=overruled(job.verdict, word)) for job in ours.jobs)
    return [dataclasses.replace(ours, verdict=jobs[0].verdict, jobs=jobs, suggestions=(), related_pull_requests=())]


def _low() -> list[Finding]:
    job = make_job("csrc", cause=Cause.CODE, category="compile", confidence=0.55, summary="One file did not compile.")
    return [make_finding(job, pr=9851)]


def _cancelled() -> list[Finding]:
    job = make_job(cause=Cause.CANCELLED, category="superseded", confidence=0.99, summary="A newer run replaced it.")
    return [make_finding(job, pr=9852, conclusion="cancelled")]


def _none() -> list[Finding]:
    return [make_finding(make_job(cause=Cause.NONE, category="none", summary="All steps passed."), pr=9853)]


def _unknown() -> list[Finding]:
    job = make_job(
        "nightly-a2 / multi-node",
        run_id=26690112009,
        confidence=0.2,
        key_line=KeyLine(4402, "RuntimeError: NPU returned 507899"),
        evidence=(Evidence("baseline", "new-lines", "14 lines", "not in the last passing log of this job"),),
        lines=log_lines(4400, "step 17", "step 18", "RuntimeError: NPU returned 507899"),
    )
    return [make_finding(job, pr=None, name="Nightly-A2", run_id=26690112009)]


def _several() -> list[Finding]:
    (code,), (infra,) = _code(), _infrastructure()
    older = dataclasses.replace(
        infra,
        run=dataclasses.replace(
            infra.run,
            id=500,
            head_sha="0ld5ha",
            updated_at=NOON - timedelta(hours=5),
            html_url=f"{WEB}/actions/runs/500",
        ),
        pull_request=code.pull_request,
    )
    return [older, code]


def _hostile() -> list[Finding]:
    advice = Suggestion(HOSTILE, Cost.LOW, (HOSTILE, "see https://docs.example/x or `a`b`"), "echo ```\n```\n# x")
    job = make_job(
        HOSTILE,
        cause=Cause.CODE,
        category="test-failure",
        summary=HOSTILE,
        signature=HOSTILE,
        key_line=KeyLine(2, HOSTILE),
        evidence=(Evidence("rule", HOSTILE, HOSTILE, HOSTILE, 2),),
        tests=(HOSTILE,),
        files=(HOSTILE,),
        lines=log_lines(1, "````", HOSTILE, "~~~", "---", "\u202e\u2028x"),
        suggestions=(advice,),
        runner=HOSTILE,
    )
    return [make_finding(job, make_job(job_id=72), name=HOSTILE, head_sha=HOSTILE)]


_SAMPLES = {
    "code": _code,
    "configuration": _configuration,
    "infrastructure": _infrastructure,
    "interference": _interference,
    "interference-medium": _matrix,
    "flaky": _flaky,
    "person": _person,
    "code-low": _low,
    "cancelled": _cancelled,
    "none": _none,
    "unknown": _unknown,
    "several-runs": _several,
    "hostile": _hostile,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that ask for `sample_name` once a sample."""
    if "sample_name" in metafunc.fixturenames:
        metafunc.parametrize("sample_name", list(_SAMPLES))


@pytest.fixture(scope="session")
def samples() -> dict[str, list[Finding]]:
    """The findings of one report for every kind of failure."""
    return {name: make() for name, make in _SAMPLES.items()}


@pytest.fixture(scope="session")
def finding_of() -> Callable[..., Finding]:
    """`make_finding`, for tests that shape their own."""
    return make_finding


@pytest.fixture(scope="session")
def job_of() -> Callable[..., JobFinding]:
    """`make_job`, for tests that shape their own."""
    return make_job


@pytest.fixture(scope="session")
def noon() -> datetime:
    """The time the sample runs finished."""
    return NOON
