"""The tool that says why a run failed and whose problem it is: from the warehouse, else from GitHub."""

from collections.abc import Sequence
from typing import Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from buildeye.github.client import GitHub
from buildeye.github.runaddress import RunAddress, run_address
from buildeye.mcp.desk import Desk
from buildeye.mcp.logs import Tokens, read
from buildeye.mcp.quoting import QUOTED, fitting, plain_text, quoted, told
from buildeye.mcp.tooling import ReadingTool, Shape, answer, tool
from buildeye.model import Diagnosis, Job, UsageError, Verdict
from buildeye.pipeline.explainrun import Pick, Sources, explain_run, github_of, log_store_of
from buildeye.pipeline.runwords import head_of, words_of
from buildeye.pipeline.verdictjson import job_json


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
        given = bool(address.repository or repository.strip())
        found = explain_run(
            self._sources(named, address.run_id, tokens), named, address.run_id, _one(address), named=given
        )
        warnings = [plain_text(f"there is no verdict, for {each}") for each in found.troubles]
        kept, cut = fitting(map(job_json, found.jobs))
        lines = [plain_text(head_of(found)), *(f"warning: {each}" for each in warnings), QUOTED]
        for each in found.jobs[: len(kept)]:
            lines += quoted(words_of(each, tokens)).split("\n")
        structured = {
            "repository": found.repository, "run_id": found.run_id, "source": found.source, "jobs": kept,
            "left_out": cut, "warnings": warnings,
        }  # fmt: skip
        return answer(structured, told(lines))

    def _sources(self, repository: str, run_id: int, tokens: int) -> Sources:
        """A laptop without a warehouse still has GitHub, of which a token for the tools reads one repository."""
        desk = self._desk
        settings = desk.settings

        def github() -> GitHub:
            if not desk.local and repository.lower() != settings.target_repository.full_name.lower():
                raise UsageError(f"the warehouse does not know run {run_id} of {repository}, and here only runs of "
                                 f"{settings.target_repository.full_name} are read from GitHub")  # fmt: skip
            return github_of(settings)

        return Sources(
            desk.warehouse, lambda: log_store_of(settings), github,
            lambda log, job: read(log, desk, tokens, job), forgiving=desk.local,
        )  # fmt: skip


def _one(address: RunAddress) -> Pick:
    """The job that the address names. UsageError: the run has none of that number."""

    def pick(jobs: Sequence[Job]) -> Job | None:
        if address.job_id is None:
            return None
        found = next((job for job in jobs if job.id == address.job_id), None)
        if found is None:
            raise UsageError(f"run {address.run_id} has no job {address.job_id}; leave the job out of its address")
        return found

    return pick
