"""Pull requests to write comments on: the failures of the report samples, put together as they meet in one place."""

import dataclasses
from collections.abc import Mapping, Sequence

from buildeye.model import (
    Cause,
    Culprit,
    Finding,
    JobFinding,
    KeyLine,
    Level,
    MergeRange,
    PullRequest,
    PullRequestFinding,
    Verdict,
)
from tests.reports.conftest import REPO, WEB, make_finding, make_job

HEAD = "3d91e02c55aa"
PULL = PullRequest(
    9829, "Speed up", base_ref="main", head_sha=HEAD, html_url=f"{WEB}/pull/9829", repository_full_name=REPO
)
Samples = Mapping[str, Sequence[Finding]]


def pull_request_finding(
    *findings: Finding, passed: int = 12, pending: int = 0, pull: PullRequest = PULL, head: str = HEAD
) -> PullRequestFinding:
    """All that is told of one pull request; each of `findings` becomes a run of its own."""
    runs = tuple(_moved(finding, number, pull) for number, finding in enumerate(findings, 501))
    return PullRequestFinding(pull, head, runs[0].verdict if runs else None, runs, passed, pending)


def _moved(finding: Finding, number: int, pull: PullRequest) -> Finding:
    url = f"{WEB}/actions/runs/{number}"
    jobs = tuple(_job_moved(job, number, url) for job in finding.jobs)
    return dataclasses.replace(
        finding,
        run=dataclasses.replace(finding.run, id=number, html_url=url, head_sha=HEAD),
        verdict=dataclasses.replace(finding.verdict, run_id=number),
        jobs=jobs,
        pull_request=pull,
    )


def _job_moved(job: JobFinding, run: int, url: str) -> JobFinding:
    return dataclasses.replace(
        job,
        job=dataclasses.replace(job.job, run_id=run, html_url=f"{url}/job/{job.job.id}"),
        verdict=dataclasses.replace(job.verdict, run_id=run),
    )


def with_verdict(job: JobFinding, **changes: object) -> JobFinding:
    """A failed job that is judged otherwise."""
    return dataclasses.replace(job, verdict=dataclasses.replace(job.verdict, **changes))  # type: ignore[arg-type]  # fields


def unjudged(name: str = "ut / shard 3", job_id: int = 81) -> JobFinding:
    """A failed job that nobody has judged yet."""
    job = make_job(name, job_id)
    return dataclasses.replace(job, verdict=Verdict(501, job_id, Cause.UNKNOWN, "unknown", 0.0, Level.NONE))


def broken_trunk() -> JobFinding:
    """A failure of the base branch with all that is known of where it came from."""
    job = make_job(
        "e2e / multicard",
        83,
        cause=Cause.INTERFERENCE,
        category="broken-trunk",
        confidence=0.97,
        summary="`test_dflash_spec` fails.",
        key_line=KeyLine(9120, "E   ValueError: draft length 5 > 4"),
        tests=("tests/e2e/test_spec.py::test_dflash_spec", "tests/e2e/test_spec.py::test_other"),
        signature="trunk",
    )
    return with_verdict(
        job,
        merge_range=MergeRange("aaaaaaaaaaaa1111", "bbbbbbbbbbbb2222", 3),
        culprits=(Culprit("b" * 40, 0.72, "it touches the drafter", 9771), Culprit("c" * 40, 0.2, "it merged between")),
        related_pull_requests=(9771, 9816, 9820, 9829, 9830, 9831, 9832, 9833),
    )


def crowd(number: int) -> list[Finding]:
    """Many different failures of every kind, in runs of five jobs."""
    causes = (Cause.CODE, Cause.INTERFERENCE, Cause.INFRASTRUCTURE, Cause.UNKNOWN, Cause.CONFIGURATION)
    jobs = [
        make_job(
            f"job {n} " + "x" * 60,
            1000 + n,
            cause=causes[n % 5],
            category="test-failure",
            signature=f"signature {n}",
            key_line=KeyLine(n, f"failure {n} " + "y" * 300),
            confidence=0.6 + (n % 40) / 100,
        )
        for n in range(number)
    ]
    return [make_finding(*jobs[start : start + 5]) for start in range(0, number, 5)]


def comment_samples(samples: Samples) -> dict[str, PullRequestFinding]:
    """A pull request for every kind of comment."""
    one = {name: findings[0] for name, findings in samples.items()}
    newer = dataclasses.replace(PULL, head_sha="77777777777777")
    told = with_verdict(
        make_job("lint", 84, cause=Cause.CODE, category="lint", key_line=KeyLine(3, "E501 Line too long (132 > 120)")),
        person="octocat",
    )
    guess = with_verdict(
        make_job("csrc", 85, confidence=0.41, key_line=KeyLine(7, "Segmentation fault")),
        otherwise=((Cause.CODE, 0.41), (Cause.INFRASTRUCTURE, 0.3)),
    )
    return {
        "mixed": pull_request_finding(
            one["code"], one["interference"], one["infrastructure"], one["flaky"], one["unknown"], pending=2
        ),
        "change": pull_request_finding(one["code"], one["configuration"], make_finding(told)),
        "change-low": pull_request_finding(one["code-low"], passed=0),
        "others": pull_request_finding(make_finding(broken_trunk())),
        "others-mixed": pull_request_finding(make_finding(broken_trunk()), one["interference-medium"]),
        "outside": pull_request_finding(one["infrastructure"]),
        "unknown": pull_request_finding(one["unknown"], make_finding(guess), make_finding(unjudged())),
        "waiting": pull_request_finding(make_finding(unjudged(), unjudged("ut / shard 4", 82)), pending=3),
        "stopped": pull_request_finding(one["cancelled"]),
        "passed": pull_request_finding(),
        "so-far": pull_request_finding(passed=4, pending=3),
        "newer-commit": pull_request_finding(one["code"], pull=newer),
        "hostile": pull_request_finding(one["hostile"], one["code"]),
    }
