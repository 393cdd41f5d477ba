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
    Culprit,
    Determinism,
    Diagnosis,
    Evidence,
    Finding,
    Job,
    JobFinding,
    KeyLine,
    Level,
    LogLine,
    MergeRange,
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
    """A failed job; `fields` are of the diagnosis; `reasons`, `told` (both of the verdict) and `lines` are not."""
    reasons, lines, told = fields.pop("reasons", ()), fields.pop("lines", ()), fields.pop("told", {})
    fields.setdefault("confidence", 0.94)
    fields.setdefault("signature", f"{fields.get('category', 'unknown')}|{name}")
    diagnosis = Diagnosis(log=f"{job_id}.log", rule_set="r1a2b3", **fields)
    verdict = Verdict(
        run_id, job_id, diagnosis.cause, diagnosis.category, diagnosis.confidence, _level(diagnosis.confidence),
        diagnosis.determinism, reasons, diagnosis.signature, "r1a2b3", NOON,
    )  # fmt: skip
    url = f"{WEB}/actions/runs/{run_id}/job/{job_id}"
    job = Job(job_id, run_id, name, "completed", "failure", runner_name=runner, html_url=url)
    return JobFinding(job, diagnosis, dataclasses.replace(verdict, **told), lines)


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


def history(name: str, quote: str, why: str, weight: float) -> Reason:
    """A piece of evidence as it stands in a verdict."""
    return Reason("history", name, quote, why, weight=weight)


def machine(name: str, quote: str, why: str, weight: float) -> Reason:
    """The same of the machines."""
    return Reason("infrastructure", name, quote, why, weight=weight)


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
            history("own-files", "vllm_ascend/sample/sampler.py",
                    "this change touches a file that the failure names", 2.4),
            history("others-pass", "5", "the same job passed in 5 other places around the same time", 1.03),
            history("seen-before", "1", "seen before in 1 other place on 1 day of the last 21", -0.5),
            history("mended-by-push", "0a1b2c3d4e5f", "the next commit of this pull request passed (run 533)", 0.2),
        ),
        told={"otherwise": ((Cause.INTERFERENCE, 0.058),)},
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
            reasons=(
                Reason("job", "job.no-step-ran", "a3-4-07", "no step of the job ran on runner a3-4-07."),
                machine(
                    "runner-sick",
                    "a3-4-07",
                    "3 other jobs of 3 failed on runner a3-4-07 within 8 h, and not elsewhere",
                    2.7,
                ),
                machine(
                    "outage",
                    "2",
                    "services failed for 2 other changes in 1 jobs of 1 workflow around the same time",
                    0.79,
                ),
                history(
                    "base-passes",
                    "e854288d8aed",
                    "the same job passed on the base branch last before this was built (run 488)",
                    -0.3,
                ),
            ),
            told={"determinism": Determinism.FLAKY},
            retry_helps=True,
        )
        for number in (1, 2, 3)
    ]
    again = Suggestion("Run the failed jobs again", Cost.LOW, (), "gh run rerun --failed 501")
    return [make_finding(*jobs, pr=9830, suggestions=(again,))]


_BROKEN = (
    history("base-broken", "3d91e02c55aa",
            "the base branch failed alike before this was built: 2 runs, first in run 480", 3.2),
    history("others-fail-alike", "#9816, #9820", "2 other pull requests fail alike around the same time", 0.95),
    history("others-failed-first", "3d91e02c55aa",
            "somebody else failed so before this change did (run 480)", 0.4),
    history("foreign-files", "tests/e2e/test_spec.py",
            "this change touches none of the files the failure names", 1.0),
    history("base-passes-next", "b7c1d2e3f4a5",
            "the next run of this job on the base branch passed (run 530)", -1.5),
    history("mended-by-push", "0a1b2c3d4e5f", "the next commit of this pull request passed (run 533)", -0.2),
)  # fmt: skip
_ORIGIN = {
    "merge_range": MergeRange("e854288d8aeda518", "3d91e02c55aa9b20", 2),
    "culprits": (
        Culprit("3d91e02c55aa9b20", 0.93, "it changes what the failing test is about", 9771),
        Culprit("77aa0b1c2d3e4f50", 0.07, "it was merged in the range", 9765),
    ),
    "otherwise": ((Cause.CODE, 0.081),),
    "related_pull_requests": (9816, 9820),
}


def _interference() -> list[Finding]:
    job = make_job(
        cause=Cause.INTERFERENCE,
        category="broken-trunk",
        confidence=0.91,
        determinism=Determinism.DETERMINISTIC,
        summary="`test_dflash_spec` fails with a ValueError.",
        key_line=KeyLine(9120, "E   ValueError: draft length 5 > 4"),
        tests=("tests/e2e/test_spec.py::test_dflash_spec",),
        reasons=_BROKEN,
        told=_ORIGIN,
        lines=log_lines(9119, ">   raise ValueError(msg)", "E   ValueError: draft length 5 > 4"),
        retry_helps=False,
    )
    revert = Suggestion("Revert or fix #9771 on main", Cost.MEDIUM, ("tell its author", "re-run after the merge"))
    return [make_finding(job, suggestions=(revert,), related=(9816, 9820))]


def _matrix() -> list[Finding]:
    job = make_job(
        "ut (v0.20.2)",
        cause=Cause.INTERFERENCE,
        category="version-matrix",
        confidence=0.71,
        summary="`vllm.model_executor.layers` has no `FusedRouter`.",
        reasons=(
            history("leg-only", "v0.20.2", "only the legs with v0.20.2 failed; 2 legs without it passed", 1.2),
            history(
                "leg-fails-elsewhere", "v0.20.2", "the leg v0.20.2, and no other, fails alike in 2 other places", 2.06
            ),
        ),
        told={"otherwise": ((Cause.CODE, 0.21), (Cause.INFRASTRUCTURE, 0.06)), "related_pull_requests": (9816,)},
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
        reasons=(
            history("same-run-passed", "attempt 1", "the same job passed in attempt 1 of the same run", 4.0),
            history(
                "known-flaky",
                "7 of 9",
                "of 9 commits that failed so and were tried again, 7 passed: at least 49% do, by Wilson's bound",
                2.55,
            ),
        ),
        told={"otherwise": ((Cause.INFRASTRUCTURE, 0.12),)},
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
    job = make_job(
        "csrc", cause=Cause.CODE, category="compile", confidence=0.55, summary="One file did not compile.",
        told={"otherwise": ((Cause.INTERFERENCE, 0.31), (Cause.INFRASTRUCTURE, 0.08))},
        reasons=(
            history("own-area", "csrc/kernel.cpp", "this change touches what the failing test is about", 1.1),
            history("others-fail-alike", "#9840", "1 other pull request fails alike around the same time", -1.7),
        ),
    )  # fmt: skip
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
        reasons=(
            history(
                "job-passes-elsewhere",
                "4 of 5",
                "the same job passed in 4 of 5 other places around the same time",
                0.55,
            ),
            machine("runner-well", "a3-4-07", "2 of 2 other jobs passed on runner a3-4-07 around the same time", -0.48),
        ),
        told={"otherwise": ((Cause.CODE, 0.42), (Cause.INFRASTRUCTURE, 0.38), (Cause.CONFIGURATION, 0.11))},
        lines=log_lines(4400, "step 17", "step 18", "RuntimeError: NPU returned 507899"),
    )
    return [make_finding(job, pr=None, name="Nightly-A2", run_id=26690112009)]


def _foreign(
    category: str, summary: str, *reasons: Reason, pr: int | None, confidence: float = 0.93, **told: Any
) -> Finding:
    """Interference of another kind than a broken trunk."""
    job = make_job(
        "e2e / multicard", cause=Cause.INTERFERENCE, category=category, confidence=confidence, summary=summary,
        reasons=reasons, told=told,
    )  # fmt: skip
    return make_finding(
        job, pr=pr, head_branch="main" if pr is None else "faster", related=told.get("related_pull_requests", ())
    )


def _range() -> list[Finding]:
    broken: dict[str, Any] = {
        **_ORIGIN,
        "merge_range": MergeRange("e854288d8aeda518", "3d91e02c55aa9b20", 4),
        "culprits": tuple(
            Culprit(f"{number}d91e02c55aa9b20", share, "it was merged in the range", number)
            for number, share in ((9771, 0.4), (9765, 0.2), (9764, 0.2), (9763, 0.2))
        ),
    }
    return [_foreign("broken-trunk", "`test_dflash_spec` fails.", *_BROKEN[:2], pr=9831, **broken)]


def _pair() -> list[Finding]:
    origin: dict[str, Any] = {
        "merge_range": MergeRange("e854288d8aeda518", "3d91e02c55aa9b20", 2),
        "culprits": (
            Culprit("3d91e02c55aa9b20", 0.58, "it is the first commit that failed", 9771),
            Culprit("77aa0b1c2d3e4f50", 0.42, "it passed this job before it was merged", 9765),
        ),
    }
    return [
        _foreign(
            "concurrent-merge", "`ascend_forward` got an argument that was renamed.",
            history("passed-before-merge", "#9771", "this job passed in #9771 before it was merged (run 470)", 1.2),
            history("merged-meanwhile", "#9765",
                    "1 other change was merged between that run and its merge", 1.2),
            pr=None, **origin,
        )
    ]  # fmt: skip


def _image() -> list[Finding]:
    moved = "quay.io/ascend/cann sha256:0a1b2c3d4e5f -> sha256:99887766554"
    return [
        _foreign(
            "image-update", "`libascendcl.so` cannot be loaded.",
            history("image-moved", moved, f"since run 433 passed, these moved: {moved}", 2.6),
            history("fails-everywhere", "5 of 5",
                    "5 of 5 runs of this job failed alike between the first and the last of them", 1.3),
            pr=9860, related_pull_requests=(9816, 9855),
        )
    ]  # fmt: skip


def _upstream() -> list[Finding]:
    return [
        _foreign(
            "upstream-change", "`numpy.trapz` is gone.",
            history("moved-is-named", "numpy 2.3.5 -> 2.4.0", "the failure names numpy, which moved", 1.6),
            history("package-moved", "numpy 2.3.5 -> 2.4.0",
                    "since run 433 passed, these moved: numpy 2.3.5 -> 2.4.0", 0.5),
            pr=None, confidence=0.77, otherwise=((Cause.CONFIGURATION, 0.15),),
        )
    ]  # fmt: skip


def _contention() -> list[Finding]:
    return [
        _foreign(
            "runner-contention", "The server did not start within 600 s.",
            machine("queue-deep", "linux-aarch64-a3-4",
                    "jobs waited 48 min for a runner of linux-aarch64-a3-4; usual are 90 s", 3.6),
            machine("pool-loaded", "linux-aarch64-a3-4",
                    "31 jobs waited for linux-aarch64-a3-4 at that time while 8 ran; usually 2 wait", 2.4),
            pr=9861, determinism=Determinism.FLAKY,
        )
    ]  # fmt: skip


def _merged() -> list[Finding]:
    """A run of the base branch that fails first with the change that brought it."""
    job = make_job(
        "ut", cause=Cause.CODE, category="test-failure", confidence=0.82, determinism=Determinism.DETERMINISTIC,
        summary="`test_dflash_spec` fails with a ValueError.", tests=("tests/e2e/test_spec.py::test_dflash_spec",),
        reasons=(
            history("own-merge-likely", "3d91e02c55aa",
                    "the commit itself is likely: it changes what the failing test is about", 1.4),
            history("first-on-base", "3d91e02c55aa",
                    "the base branch passed last in run 479 (e854288d8aed); 1 change was merged since", 1.2),
            history("untested-before-merge", "#9771", "#9771 was merged without this job", 0.8),
            history("others-fail-alike", "#9816, #9820",
                    "2 other pull requests fail alike around the same time", -2.69),
        ),
        told={"otherwise": ((Cause.INTERFERENCE, 0.193),)},
    )  # fmt: skip
    return [make_finding(job, pr=None, head_branch="main")]


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
    "range": _range,
    "concurrent-merge": _pair,
    "image-update": _image,
    "upstream-change": _upstream,
    "runner-contention": _contention,
    "merged": _merged,
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
