"""The tool that says why a run failed and whose problem it is: from the warehouse, else from GitHub."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from mcp_types import CallToolResult
from pydantic import Field

from buildeye.github.client import GitHub
from buildeye.github.facts import LogState
from buildeye.github.runaddress import RunAddress, run_address
from buildeye.logs.source import open_logs
from buildeye.mcp.desk import Desk
from buildeye.mcp.logs import Tokens, explained
from buildeye.mcp.quoting import QUOTED, fitting, plain_text, quoted, told
from buildeye.mcp.tooling import ReadingTool, Shape, answer, tool
from buildeye.model import Diagnosis, Job, OutsideError, UsageError, Verdict
from buildeye.pipeline.verdicts import JobVerdict, verdicts_of
from buildeye.warehouse import Warehouse
from buildeye.warehouse.reading import diagnosis_of

MOST_FETCHED: Final = 5
"""Logs of one run that are fetched from GitHub."""
PATIENCE_SECONDS: Final = 20
"""How long an agent waits for GitHub's rate limit."""
_FAILED: Final = ("failure", "timed_out", "startup_failure")


class RunJob(Shape):
    """A failed job: `verdict` is what counts (a person's word wins), `ours` our own where a person overruled it."""

    job_id: int
    name: str
    html_url: str
    run_attempt: int
    verdict: Verdict | None = Field(description="Whose problem; null when the run was read from GitHub just now.")
    ours: Verdict | None
    diagnosis: Diagnosis | None = Field(description="What its log alone says; null when there is no log.")
    note: str = Field(description="Why something is missing; '' when nothing is.")


class RunAnswer(Shape):
    """What is known of a run; texts in it come from logs."""

    repository: str
    run_id: int
    source: Literal["warehouse", "github"]
    jobs: list[RunJob]
    left_out: int = Field(description="Failed jobs that are not in `jobs`.")
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class _Told:
    """A failed job with all that is said of it; `text` is for the agent to read."""

    job: Job
    verdict: JobVerdict | None = None
    diagnosis: Diagnosis | None = None
    text: str = ""
    note: str = ""


class RunTools:
    """Explains runs."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def tools(self) -> list[ReadingTool]:
        """The tool."""
        return [tool(self.explain_run, "explain_run", "Why did this run fail, whose problem is it?", open_world=True)]

    def explain_run(
        self,
        run: Annotated[
            str,
            Field(
                min_length=1, max_length=500,
                description="The number of a run, or the address of its page or of a job's page: "
                "https://github.com/OWNER/REPO/actions/runs/NUMBER[/job/NUMBER].",
            ),
        ],
        repository: Annotated[
            str, Field(max_length=200, description="OWNER/REPO; '' is that of the address, else of the settings.")
        ] = "",
        tokens: Tokens = 600,
    ) -> Annotated[CallToolResult, RunAnswer]:  # fmt: skip
        """Say of a GitHub Actions run which jobs failed, why, and whose problem each is: code (of the change),
        configuration, infrastructure, interference (somebody else's change, a broken trunk, a flaky test), cancelled.

        A verdict weighs the log, history, other runs and people: `reasons` have log-odds in `weight`, `level` is high,
        medium, low or none, `confidence` a probability from 0 to 1. What the warehouse does not hold is read from
        GitHub: then there is a diagnosis of up to 5 logs and no verdict, and `source` is github.
        """
        address = run_address(run)
        named = self._desk.repository(address.repository or repository)
        found, warnings = self._known(named, address)
        source = "warehouse" if found is not None else "github"
        if found is None:
            found = self._fetched(named, address, tokens)
        kept, cut = fitting(_entry(each) for each in found)
        lines = [_head(named, address, found, source), *(f"warning: {each}" for each in warnings), QUOTED]
        for each in found[: len(kept)]:
            lines += quoted(_words(each)).split("\n")
        structured = {
            "repository": named, "run_id": address.run_id, "source": source, "jobs": kept, "left_out": cut,
            "warnings": warnings,
        }  # fmt: skip
        return answer(structured, told(lines))

    def _known(self, repository: str, address: RunAddress) -> tuple[list[_Told] | None, list[str]]:
        """The failed jobs the warehouse knows, None when it does not know the run or its jobs; and what to tell."""
        try:
            with self._desk.warehouse() as warehouse:
                return _from_warehouse(warehouse, repository, address), []
        except OutsideError as error:
            if self._desk.local:  # a laptop without a warehouse still has GitHub
                return None, [plain_text(f"there is no verdict, for {error}")]
            raise

    def _fetched(self, repository: str, address: RunAddress, tokens: int) -> list[_Told]:
        """The failed jobs as GitHub tells, with what their logs say."""
        settings = self._desk.settings
        if not self._desk.local and repository.lower() != settings.target_repository.full_name.lower():
            raise UsageError(f"the warehouse does not know run {address.run_id} of {repository}, and here only runs of "
                             f"{settings.target_repository.full_name} are read from GitHub")  # fmt: skip
        owner, slash, name = repository.partition("/")
        if not (owner and slash and name) or "/" in name:
            raise UsageError(f"repository is {plain_text(repository)[:100]!r}; write OWNER/REPO")
        impatient = settings.model_copy(
            update={"api": settings.api.model_copy(update={"rate_limit_wait_seconds": PATIENCE_SECONDS})}
        )
        with GitHub.of(impatient) as github, tempfile.TemporaryDirectory(prefix="build-eye-") as folder:
            jobs = [job for job in github.jobs(owner, name, address.run_id) if _is_meant(job, address)]
            read = [job.id for job in jobs[:MOST_FETCHED]]
            logs = {each.job_id: each for each in github.download_job_logs(owner, name, read, Path(folder))}
            return [self._explained(job, logs.get(job.id), tokens) for job in jobs]

    def _explained(self, job: Job, download: Any, tokens: int) -> _Told:
        if download is None:
            return _Told(job, note=f"its log was not fetched: only {MOST_FETCHED} are")
        if download.state is not LogState.SAVED:
            return _Told(job, note=download.error or "GitHub no longer has its log")
        for log in open_logs(str(download.path)):
            with log:
                diagnosis, text = explained(log, self._desk, tokens, job)
            return _Told(job, diagnosis=diagnosis, text=text)
        return _Told(job, note="its log is empty")


def _from_warehouse(warehouse: Warehouse, repository: str, address: RunAddress) -> list[_Told] | None:
    known = verdicts_of(warehouse, repository, address.run_id)
    if known is None or not known.known:
        return None
    asked = {"repository": repository, "runs": [address.run_id]}
    read = {row["job_id"]: diagnosis_of(row) for row in warehouse.ask("diagnoses_of_runs", **asked)}
    judged = {each.job.id: each for each in known.jobs}
    failed = {row["id"]: row for row in warehouse.ask("failed_jobs_of_runs", **asked)}
    names = {job.id: job for job in known.known}
    wanted = [number for number in sorted({*failed, *judged}) if address.job_id in (None, number)]
    found = []
    for number in wanted:
        job = judged[number].job if number in judged else names.get(number) or Job(number, address.run_id, "", "")
        note = "" if number in judged else "not judged yet: `build-eye monitor` judges what failed lately"
        found.append(_Told(job, judged.get(number), read.get(number), note=note))
    return found


def _is_meant(job: Job, address: RunAddress) -> bool:
    return job.id == address.job_id if address.job_id is not None else job.conclusion in _FAILED


def _entry(each: _Told) -> dict[str, Any]:
    judged, job = each.verdict, each.job
    return {
        "job_id": job.id,
        "name": job.name,
        "html_url": job.html_url,
        "run_attempt": job.run_attempt,
        "verdict": asdict(judged.counts) if judged else None,
        "ours": asdict(judged.ours) if judged and judged.said else None,
        "diagnosis": each.diagnosis.to_dict() if each.diagnosis else None,
        "note": each.note,
    }


def _head(repository: str, address: RunAddress, found: Sequence[_Told], source: str) -> str:
    where = "the warehouse" if source == "warehouse" else "GitHub, read just now"
    failed = f"{len(found)} failed {'job' if len(found) == 1 else 'jobs'}" if found else "no failed job"
    return f"{plain_text(repository)} run {address.run_id}: {failed} (from {where})."


def _words(each: _Told) -> str:
    """One failed job in a few lines."""
    lines = [f"job {each.job.id} {each.job.name}".rstrip()]
    if each.verdict:
        verdict = each.verdict.counts
        who = f", says {verdict.person}" if verdict.person else ""
        lines.append(f"{verdict.cause} / {verdict.category}, {verdict.confidence:.0%} sure ({verdict.level}){who}")
        lines += [
            f"- {reason.why or reason.quote} ({reason.id}, {reason.weight:+.1f})" for reason in verdict.reasons[:5]
        ]
    if each.text:
        lines.append(each.text)
    elif each.diagnosis:
        lines.append(each.diagnosis.summary)
        if key := each.diagnosis.key_line:
            lines.append(f"{key.number}: {key.text}")
    if each.note:
        lines.append(f"note: {each.note}")
    return "\n".join(lines)
