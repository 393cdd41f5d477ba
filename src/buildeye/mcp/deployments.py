"""The tool that tells how deployments stand and how past ones ended, from the journal; it asks no process."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

from mcp_types import CallToolResult
from pydantic import ConfigDict, Field

from buildeye.deploy.asjson import history_json, services_json, status_json
from buildeye.deploy.asking import current
from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import open_journal
from buildeye.deploy.looking import standing, standings
from buildeye.deploy.standing import PastDeployment
from buildeye.mcp.desk import Desk
from buildeye.mcp.quoting import QUOTED, fitting, quoted, told
from buildeye.mcp.tooling import ReadingTool, Shape, answer, tool
from buildeye.model.deployments import Deployment, State
from buildeye.model.spans import lasting

_FILE: Final = "sqlite:///"


class DeploymentFacts(Shape):
    """A deployment, with all that `build-eye deploy status -o json`, or `history`, tells beside it."""

    model_config = ConfigDict(extra="allow")

    service: str
    version: str
    deployment_id: str
    state: State
    paused: bool
    created: datetime | None
    cutover: datetime | None
    closed: datetime | None
    rollback_reason: str
    note: str


class DeploymentsAnswer(Shape):
    """How services stand now, and the past of the one that was named, newest first. Durations are in seconds."""

    standing: list[DeploymentFacts]
    history: list[DeploymentFacts]
    left_out: int


class DeploymentTools:
    """Tells of deployments."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def tools(self) -> list[ReadingTool]:
        """The tool."""
        return [tool(self.deployments, "deployments", "Is what we deployed healthy?")]

    def deployments(
        self,
        service: Annotated[
            str, Field(max_length=200, description="One service, with its past; '' tells how all stand.")
        ] = "",
        limit: Annotated[int, Field(ge=1, le=100, description="Past deployments told at most.")] = 10,
    ) -> Annotated[CallToolResult, DeploymentsAnswer]:
        """Say how the services that Build-Eye deploys stand, and with `service` how its past deployments ended: state,
        what each signal (process, http, canary, approval rate) says, when it would roll back, why one was rolled back.

        Read from the journal of this machine and judged anew; nothing is asked of the services and nothing changed.
        Durations are seconds, moments UTC. What CI says of a deployed commit: ask streaks, explain_run or sql.
        """
        address = self._desk.settings.deploy_journal
        if address.startswith(_FILE) and not Path(address.removeprefix(_FILE)).exists():
            return answer({"standing": [], "history": [], "left_out": 0}, "Nothing was deployed from here: no journal.")
        journal = open_journal(address)
        try:
            now = Clock().now()
            if service:
                now_standing = [standing(journal, current(journal, service), now)]
                past = [_past(each) for each in journal.deployments(service, limit)]
            else:
                now_standing, past = standings(journal, now), []
        finally:
            journal.close()
        kept, cut = fitting([status_json(each) for each in now_standing] if service else services_json(now_standing))
        ended, more = fitting(history_json(past))
        lines = [
            f"{len(kept)} {'service' if len(kept) == 1 else 'services'}, {len(ended)} past deployments told.",
            QUOTED,
        ]
        lines += [quoted(_line(each)) for each in (*kept, *ended)]
        return answer({"standing": kept, "history": ended, "left_out": cut + more}, told(lines))


def _past(deployment: Deployment) -> PastDeployment:
    lasted = deployment.closed.since(deployment.created) if deployment.closed is not None else None
    return PastDeployment(deployment, lasted)


def _line(facts: Mapping[str, Any]) -> str:
    """One deployment in a line, whether it stands or is past."""
    said = f"{facts['service']} {facts['version']}: {facts['state']}"
    if facts.get("stopped"):
        said += ", stopped by a person"
    if "elapsed_seconds" in facts:
        said += f", {lasting(facts['elapsed_seconds'])} of {lasting(facts['window_seconds'])}"
        said += "".join(f"; {each['signal']} {each['status']}: {each['says']}" for each in facts["signals"])
    elif facts["closed"]:
        said += f", closed {facts['closed']}"
    return said + (f"; {facts['rollback_reason']}" if facts["rollback_reason"] else "")
