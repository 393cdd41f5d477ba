"""Where a report lies: one file a pull request and day, or a run without one, whatever the input says."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import PurePosixPath

from buildeye.model import Cause, Finding
from buildeye.model.deployments import Deployment

_NO_DAY = date(1970, 1, 1)
STORE = ".findings"


def report_path(finding: Finding) -> PurePosixPath:
    """The path below the reports folder: `YYYY/MM/DD/<cause>-pr-<number>.md`, `<cause>-run-<id>.md` without one."""
    return report_file(day(finding), subject(finding), finding.verdict.cause)


def report_file(when: date, name: str, cause: Cause) -> PurePosixPath:
    """The report of one subject and day when `cause` leads it."""
    return day_folder(when) / f"{_slug(str(cause))}-{name}.md"


def deployment_file(deployment: Deployment) -> PurePosixPath:
    """The report of a deployment, below the day (UTC) it was made: it stays the same whatever becomes of it."""
    name = "-".join(map(_slug, ("deployment", deployment.service, deployment.version, deployment.id)))
    return day_folder(as_utc(deployment.created.wall).date()) / f"{name}.md"


def store_file(when: date, name: str) -> PurePosixPath:
    """The findings a report was made of, kept beside the reports for the next pass."""
    return STORE / day_folder(when) / f"{name}.json"


def day_folder(when: date) -> PurePosixPath:
    """The folder of a day."""
    return PurePosixPath(f"{when.year:04}", f"{when.month:02}", f"{when.day:02}")


def day(finding: Finding) -> date:
    """The day (UTC) the run finished; the best time known when GitHub gave none, 1970-01-01 when there is no time."""
    run = finding.run
    when = run.updated_at or run.run_started_at or run.created_at or finding.verdict.judged_at
    return as_utc(when).date() if when else _NO_DAY


def as_utc(when: datetime) -> datetime:
    """The moment in UTC; a time without a zone is one already."""
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def subject(finding: Finding) -> str:
    """What a report is about, as part of a file name: `pr-9829` or `run-26690112009`."""
    if finding.pull_request is not None:
        return f"pr-{_slug(str(finding.pull_request.number))}"
    return f"run-{_slug(str(finding.run.id))}"


def group(findings: Iterable[Finding]) -> dict[tuple[date, str], list[Finding]]:
    """The findings of each report, in the order first met."""
    groups: dict[tuple[date, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((day(finding), subject(finding)), []).append(finding)
    return groups


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower(), flags=re.ASCII).strip("-")[:64] or "x"
