"""JUnit reports for tests: short words in, XML as pytest writes it out."""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from xml.sax.saxutils import quoteattr

from buildeye.model import Job, Origin, Run
from buildeye.pipeline.testreports import read_files
from buildeye.warehouse import Warehouse
from tests.warehouse.facts import REPOSITORY, a_job, a_run, at

_OUTCOMES = {
    "pass": "",
    "fail": '<failure message="assert 1 == 2&#10;where 1 = f()" type="AssertionError">text</failure>',
    "other": '<failure message="TimeoutError: 30 s">text</failure>',
    "error": '<error message="">E  fixture broke\nmore</error>',
    "skip": '<skipped message="no NPU"/>',
    "flaky": '<rerun message="ConnectionError: reset">first try</rerun>',
}


@dataclass(frozen=True)
class Told:
    """A test case: its name, how it ended, and where it is."""

    name: str
    outcome: str = "pass"
    file: str = "tests/test_a.py"
    classname: str = "tests.test_a.TestB"
    seconds: float = 0.5

    @property
    def xml(self) -> str:
        where = f" file={quoteattr(self.file)}" if self.file else ""
        return (
            f"<testcase classname={quoteattr(self.classname)} name={quoteattr(self.name)}{where} "
            f'time="{self.seconds}">{_OUTCOMES[self.outcome]}</testcase>'
        )


def report(*cases: Told) -> str:
    return f'<testsuites><testsuite name="pytest">{"".join(case.xml for case in cases)}</testsuite></testsuites>'


def ci_run(number: int, sha: str, *, minutes: float = 0, branch: str = "main", actor: str = "octocat",
           pulls: tuple[int, ...] = (), attempt: int = 1) -> Run:  # fmt: skip
    made = a_run(number, branch=branch, pulls=pulls, attempt=attempt)
    return replace(
        made, head_sha=sha, created_at=at(minutes), run_started_at=at(minutes), updated_at=at(minutes + 30),
        actor=actor, triggering_actor=actor,
    )  # fmt: skip


def ci_job(number: int, run: Run, name: str = "unit", *, failed: bool = False, minutes: float = 0,
           workflow: str = "CI") -> Job:  # fmt: skip
    made = a_job(number, run=run.id, name=name, conclusion="failure" if failed else "success")
    return replace(
        made, head_sha=run.head_sha, head_branch=run.head_branch, workflow_name=workflow, created_at=at(minutes),
        started_at=at(minutes), completed_at=at(minutes) + timedelta(minutes=12),
    )  # fmt: skip


def ingest(warehouse: Warehouse, folder: Path, run: int, job: int, *cases: Told, minutes: float = 0, attempt: int = 1,
           name: str = "report.xml", repository: str = REPOSITORY) -> None:  # fmt: skip
    """Read a report with these cases, as `build-eye ingest junit` does."""
    place = folder / name
    place.write_text(report(*cases))
    origin = Origin(repository, run, "", at(minutes), attempt, job)
    assert read_files(warehouse, [place], origin).troubles == []
