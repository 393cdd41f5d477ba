"""What is known of one failed job, in the words that advice asks for: conditions, and values for placeholders."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from buildeye.model import Cause, Culprit, Determinism, Diagnosis, Evidence, Job, PullRequest, Run, Verdict
from buildeye.model.labels import plain

SHORT = 12
"""Characters of a commit that a person reads."""
MOST_NAMED = 6
"""Pull requests that a sentence lists."""

_SHA = re.compile(r"[0-9a-f]{7,64}")
_HOSTED_LABEL = re.compile(r"(?:ubuntu|windows|macos)-[\w.-]+", re.ASCII)
_FAILED = ("failure", "timed_out", "cancelled")
_LATER = frozenset({"runner-contention", "shared-resource"})
"""Kinds of interference that pass by themselves, so that a re-run helps later."""
_OF_A_PULL_REQUEST = ("", "pull_request", "pull_request_target")

PLACES = frozenset({
    "run_id", "attempt", "repository", "workflow", "workflow_file", "event", "url", "branch", "head_sha",
    "job", "job_id", "step", "runner", "runner_id", "pool", "pull_request", "author", "base", "test", "tests", "file",
    "files", "category", "cause", "key_line", "culprit", "culprit_sha", "culprit_why", "other_culprit", "culprits",
    "good", "bad", "merges", "related", "people_say",
})  # fmt: skip
"""All placeholders that may be known of a failure, besides those that a reason fills."""


class Retry(StrEnum):
    """Can a re-run pass without a change?"""

    HELPS = "helps"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Situation:
    """One failed job with all that is held to be true of it; `leading` when it speaks for its run.

    `base_branch` is the branch that is watched, for runs that belong to no pull request; empty when it is not known.
    """

    run: Run
    verdict: Verdict
    job: Job | None = None
    diagnosis: Diagnosis | None = None
    pull_request: PullRequest | None = None
    base_branch: str = ""
    leading: bool = True

    @property
    def on_base(self) -> bool:
        """Did the run build the base branch itself?"""
        if self.pull_request is not None or self.run.event in _OF_A_PULL_REQUEST:
            return False
        return not self.base_branch or self.run.head_branch == self.base_branch

    @property
    def hosted(self) -> bool | None:
        """Is the runner one of GitHub's own? None when the job does not tell."""
        if self.job is None or not (self.job.labels or self.job.runner_name):
            return None
        labels = [label.lower() for label in self.job.labels]
        named = (self.job.runner_name or "").startswith("GitHub Actions")
        return named or ("self-hosted" not in labels and any(map(_HOSTED_LABEL.fullmatch, labels)))

    @property
    def retry(self) -> Retry:
        """Whether a re-run can help: what was seen of this failure goes before what its kind is known for."""
        verdict, diagnosis = self.verdict, self.diagnosis
        if verdict.cause in (Cause.CANCELLED, Cause.NONE):
            return Retry.UNKNOWN
        if verdict.determinism is Determinism.FLAKY:
            return Retry.HELPS
        if verdict.cause is Cause.INTERFERENCE:
            return Retry.HELPS if verdict.category in _LATER else Retry.NO
        own = diagnosis.retry_helps if diagnosis and diagnosis.cause is verdict.cause else None
        if own and (verdict.determinism is not Determinism.DETERMINISTIC or verdict.cause is Cause.INFRASTRUCTURE):
            return Retry.HELPS
        if own is False or verdict.determinism is Determinism.DETERMINISTIC:
            return Retry.NO
        return Retry.UNKNOWN

    @property
    def rule(self) -> str:
        """The id of the rule that decided; empty when none did."""
        first = next(iter(self.diagnosis.evidence), None) if self.diagnosis else None
        return first.id if first and first.kind == "rule" else ""

    def reasons(self) -> Iterable[Evidence]:
        """All that was weighed or told, the verdict's first."""
        return (*self.verdict.reasons, *(self.diagnosis.evidence if self.diagnosis else ()))

    def values(self) -> dict[str, str]:
        """What placeholders are filled with; what is not known is not in it."""
        every = self._of_run() | self._of_job() | self._of_log() | self._of_change()
        return {name: value for name, value in every.items() if value}

    def _of_run(self) -> dict[str, str]:
        run, pull = self.run, self.pull_request
        repository = run.repository_full_name or _repository(run.html_url)
        base = (pull.base_ref if pull else "") or self.base_branch or (run.head_branch if self.on_base else "")
        return {
            "run_id": str(run.id),
            "attempt": str(run.run_attempt),
            "repository": repository,
            "workflow": run.name,
            "workflow_file": run.path.partition("@")[0],
            "event": run.event,
            "url": run.html_url,
            "branch": (pull.head_ref if pull else "") or run.head_branch,
            "head_sha": _sha(run.head_sha),
            "pull_request": str(pull.number) if pull else "",
            "author": pull.author if pull else "",
            "base": base,
            "cause": str(self.verdict.cause),
            "category": plain(self.verdict.category),
            "people_say": self.verdict.person,
        }

    def _of_job(self) -> dict[str, str]:
        job = self.job
        if job is None:
            return {}
        whole = job.id == self.run.id  # a run in the form of a job: there is no job to ask GitHub for
        return {
            "job": "" if whole else job.name,
            "job_id": "" if whole else str(job.id),
            "step": next((step.name for step in job.steps if step.conclusion in _FAILED), ""),
            "runner": job.runner_name or "",
            "runner_id": str(job.runner_id) if job.runner_id else "",
            "pool": ",".join(sorted(job.labels)),
        }

    def _of_log(self) -> dict[str, str]:
        diagnosis = self.diagnosis
        if diagnosis is None:
            return {}
        return {
            "test": next(iter(diagnosis.tests), ""),
            "tests": str(len(diagnosis.tests)) if len(diagnosis.tests) > 1 else "",
            "file": next(iter(diagnosis.files), ""),
            "files": ", ".join(diagnosis.files[:MOST_NAMED]),
            "key_line": diagnosis.key_line.text if diagnosis.key_line else "",
        }

    def _of_change(self) -> dict[str, str]:
        verdict = self.verdict
        first, second = (*verdict.culprits[:2], None, None)[:2]
        merges = verdict.merge_range
        return {
            "culprit": _name(first),
            "culprit_sha": _sha(first.sha)[:SHORT] if first else "",
            "culprit_why": first.why if first else "",
            "other_culprit": _name(second),
            "culprits": _listed(_name(culprit) for culprit in verdict.culprits),
            "good": _sha(merges.good)[:SHORT] if merges else "",
            "bad": _sha(merges.bad)[:SHORT] if merges else "",
            "merges": str(merges.merges) if merges and merges.merges > 1 else "",
            "related": _listed(f"#{number}" for number in verdict.related_pull_requests),
        }


def _sha(text: str) -> str:
    return text if _SHA.fullmatch(text) else ""


def _name(culprit: Culprit | None) -> str:
    if culprit is None:
        return ""
    return f"#{culprit.pull_request}" if culprit.pull_request else _sha(culprit.sha)[:SHORT]


def _listed(names: Iterable[str]) -> str:
    known = list(filter(None, names))
    more = [f"{len(known) - MOST_NAMED} more"] if len(known) > MOST_NAMED else []
    return ", ".join([*known[:MOST_NAMED], *more])


def _repository(url: str) -> str:
    """OWNER/REPO of a run's web address; empty when it is none."""
    found = re.match(r"https?://[^/]+/([\w.-]+/[\w.-]+)/actions/", url, re.ASCII)
    return found.group(1) if found else ""
