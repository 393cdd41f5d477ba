"""Tell people of a deployment that went bad or waits for them: a report in the folder of reports, and a message.

What cannot be had (the warehouse, the log, a service of messages) makes the report shorter and never stops a rollback.
"""

import contextlib
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from buildeye.alerts import notify
from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Journal
from buildeye.deploy.looking import standing
from buildeye.deploy.spec import filled, load_spec, spec_of
from buildeye.insight.commits import CommitStory
from buildeye.model import BuildEyeError
from buildeye.model.deployments import Deployment, HealthVerdict, State
from buildeye.reports.deployment import REPORTED, write_deployment_report
from buildeye.reports.deploymentclaim import DeploymentTold, speaking_signal
from buildeye.reports.words import Language

if TYPE_CHECKING:
    from buildeye.logs.diagnose import LogReading

LOG: Final = "output.log"
"""The file in a deployment's folder that holds what its processes printed."""
_LOG_BYTES: Final = 4 * 1024 * 1024  # of the end of a version's log that are read

Story = Callable[[str, str], CommitStory | None]
"""(repository, commit) -> what CI says of it; None when that cannot be told now."""


@dataclass(frozen=True)
class Announcer:
    """Writes reports below `reports` and sends messages to the addresses of each service's `deploy.yaml`."""

    journal: Journal
    run_root: Path
    reports: Path
    environ: Mapping[str, str]
    clock: Clock
    story: Story
    language: Language = "en"
    max_log_lines: int = 50

    def __call__(self, deployment: Deployment, headline: str) -> list[str]:
        """Tell of a deployment as it stands; gives a sentence for each way of telling that failed. Never raises."""
        remarks: list[str] = []
        report = self._report(deployment, remarks) if deployment.state in REPORTED else ""
        addresses = self._addresses(deployment, remarks)
        if addresses:
            title = f"{deployment.service} {deployment.version}: {deployment.state.replace('_', ' ')}"
            body = "\n".join(part for part in (headline, f"report: {report}" if report else "") if part)
            remarks += notify(addresses, title, body or title)
        return remarks

    def _report(self, deployment: Deployment, remarks: list[str]) -> str:
        """Write the report; gives where it is, '' where it could not be, and then a remark says why."""
        try:
            path, _ = write_deployment_report(
                self._told(deployment),
                self.reports,
                language=self.language,
                now=self.clock.now().wall,
                max_log_lines=self.max_log_lines,
            )
        except (BuildEyeError, OSError, ValueError) as e:
            remarks.append(f"no report was written: {e}")
            return ""
        return str(self.reports / path)

    def _told(self, deployment: Deployment) -> DeploymentTold:
        stands = standing(self.journal, deployment, self.clock.now())
        events = self.journal.events(deployment.id)
        returned = next((each for each in reversed(events) if each.numbers.get("version")), None)
        previous = str(returned.numbers["version"]) if returned is not None else stands.previous_version
        signals = {
            each.signal: HealthVerdict(each.status, each.reason, each.says, each.numbers) for each in stands.signals
        }
        story = self.story(deployment.repository, deployment.commit) if deployment.commit else None
        told = DeploymentTold(deployment, previous, signals, stands.boundary, events, story)
        return replace(told, log=self._log(deployment)) if _says_why(told) else told

    def _log(self, deployment: Deployment) -> "LogReading | None":
        """The end of a version's own log, read as any log is; None when it has none."""
        from buildeye.logs.diagnose import read_log
        from buildeye.logs.ruleset import load_ruleset
        from buildeye.logs.source import open_logs

        path = self.run_root / deployment.service / deployment.id / LOG
        with contextlib.suppress(BuildEyeError, OSError), path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_BYTES))
            end = file.read(_LOG_BYTES)
            for log in open_logs("-", stdin=io.BytesIO(end)) if end else ():
                with log:
                    return read_log(log, load_ruleset(()), show=self.max_log_lines)
        return None

    def _addresses(self, deployment: Deployment, remarks: list[str]) -> list[str]:
        """Where messages go: as the file says now, else as it was when the deployment was asked for."""
        spec = spec_of(deployment.spec)
        row = self.journal.service(deployment.service)
        with contextlib.suppress(BuildEyeError):
            if row is not None and row.spec_path:
                spec = load_spec(Path(row.spec_path), self.environ, lambda sentence: None)
        try:
            return list(filled(spec, self.environ).notify)
        except BuildEyeError as e:
            remarks.append(f"nobody was notified: {e}")
            return []


def _says_why(told: DeploymentTold) -> bool:
    """Whether the version's own log may say why: it did not come up, or one of its signals is not well."""
    return told.deployment.state is State.HEALTH_FAILED or speaking_signal(told) is not None
