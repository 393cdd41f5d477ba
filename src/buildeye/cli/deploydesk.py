"""What the deploy commands stand on: the journal of this place, its clock, its supervisor, and who asks."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from buildeye.cli.deployface import event_line
from buildeye.cli.deployjson import deployment_json
from buildeye.cli.setup import settings_for
from buildeye.cli.terminal import Look, look_of
from buildeye.cli.voice import tell, warn
from buildeye.config import Settings
from buildeye.deploy.asking import Refused, ask, current, follow, in_service_or_over, serves
from buildeye.deploy.asking import start as ask_to_start
from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Journal, open_journal
from buildeye.deploy.looking import standing, standings
from buildeye.deploy.spec import ServiceSpec, load_spec, spec_of
from buildeye.deploy.standing import PastDeployment, Standing
from buildeye.deploy.states import BAD, TERMINAL, WATCHED
from buildeye.insight.commits import CommitStory
from buildeye.model import BuildEyeError, UsageError
from buildeye.model.deployments import Deployment, State


def look() -> Look:
    """What suits standard output."""
    return look_of(sys.stdout, os.environ)


@contextmanager
def desk(config: Path | None, speed: float = 1.0) -> Iterator["Desk"]:
    """An open desk. UsageError, OutsideError: the settings or the journal are not usable."""
    settings = settings_for(config, {})
    journal = open_journal(settings.deploy_journal)
    try:
        yield Desk(settings, config, journal, Clock(speed), speed)
    finally:
        journal.close()


@dataclass(frozen=True)
class Desk:
    """Where a deploy command asks and is answered."""

    settings: Settings
    config: Path | None
    journal: Journal
    clock: Clock
    speed: float

    @property
    def run_root(self) -> Path:
        """The folder below which each service has its own."""
        return self.settings.deploy_directory.absolute()

    def who(self, by: str) -> str:
        """Who asks."""
        from buildeye.cli.speaker import speaker

        return " ".join(by.split()) or speaker(os.environ)

    def spec(self, file: Path, service: str) -> ServiceSpec:
        """The `deploy.yaml` of a service. UsageError: it is wrong, or it is another service's."""
        spec = load_spec(file, os.environ, warn)
        if spec.service != service:
            raise UsageError(f"{file} is of the service {spec.service}, not {service}; name its file with --file")
        return spec

    def ensure_supervisor(self, service: str, spec: ServiceSpec) -> None:
        """See to it that somebody supervises; a supervisor is started in the background when nobody does."""
        from buildeye.deploy.journal import this_host
        from buildeye.deploy.supervisor.running import start_in_background

        known = {row.name for row in self.journal.services()}
        if service not in known:
            self.journal.put_service(service, spec.model_dump(mode="json"), "", this_host())
        command = ["deploy", "watch", "--background"]
        command += ["--config", str(self.config)] if self.config is not None else []
        command += ["--speed", str(self.speed)] if self.speed != 1.0 else []
        start_in_background(command, self.run_root, lambda: self.journal.held_by(service) is not None)

    def follow(self, deployment: Deployment, until: Callable[[Deployment], bool], *, quiet: bool) -> Deployment:
        """Show what happens to a deployment until its state is what is waited for; gives what it is then."""
        for event in follow(self.journal, deployment.id, until):
            if not quiet:
                now = self.journal.deployment(deployment.id) or deployment
                typer.echo(event_line(event, now, look()))
        return self.journal.deployment(deployment.id) or deployment

    def say_outcome(self, deployment: Deployment, as_json: bool) -> None:
        """The last word of `start`."""
        if as_json:
            import json

            typer.echo(json.dumps(deployment_json(deployment), ensure_ascii=False))
        elif serves(deployment):
            hours = spec_of(deployment.spec).window.hours
            typer.echo(
                f"{deployment.service} {deployment.version} serves and is watched for {hours:g} h: "
                f"build-eye deploy status {deployment.service}"
            )
        else:
            typer.echo(f"{deployment.service} {deployment.version} does not serve: {deployment.state}")

    def deployment_json(self, deployment: Deployment) -> dict[str, Any]:
        """A deployment for programs."""
        return deployment_json(deployment)

    def standings(self) -> Sequence[Standing]:
        """How every service stands."""
        return standings(self.journal, self.clock.now())

    def standing(self, service: str) -> Standing:
        """How a service stands, with what CI says of its commit. UsageError: it is not known."""
        deployment = current(self.journal, service)
        story = self._stories([deployment]).get(deployment.id)
        said = (story.sentence, story.green) if story is not None else ("", None)
        return standing(self.journal, deployment, self.clock.now(), *said)

    def is_bad(self, stands: Standing) -> bool:
        """Whether the thing asked about is bad: its version is, or a person is needed."""
        return stands.deployment.state in BAD | {State.NEEDS_ATTENTION, State.CLOSED_INSUFFICIENT_DATA}

    def history(self, service: str, limit: int) -> list[PastDeployment]:
        """The deployments of a service, newest first. UsageError: it is not known."""
        current(self.journal, service)
        past = self.journal.deployments(service, limit)
        stories = self._stories(past)
        return [self._past(each, stories.get(each.id)) for each in past]

    def roll_back(self, service: str, to: str, why: str, who: str) -> int:
        """Go back to an earlier version; the exit code."""
        deployment = current(self.journal, service)
        if not to and (deployment.state in WATCHED or deployment.state is State.CUTTING_OVER):
            typer.echo(f"{service}: {ask(self.journal, deployment, 'rollback', {'why': why}, self.clock, who)}")
            last = self.follow(deployment, lambda each: each.state in TERMINAL, quiet=False)
            return 0 if last.state is State.ROLLED_BACK else 1
        target = self._earlier(service, to)
        spec = spec_of(target.spec)
        self.ensure_supervisor(service, spec)
        again = ask_to_start(
            self.journal, spec, "", target.version, self.clock, who, commit=target.commit, forced=bool(to),
            kind="rollback",
        )  # fmt: skip
        last = self.follow(again, in_service_or_over, quiet=False)
        self.say_outcome(last, as_json=False)
        return 0 if serves(last) else 1

    def watch(self, service: str | None, *, background: bool) -> None:
        """Supervise in this process; where another one does, show what it does."""
        from buildeye.cli.deployannounce import announcer
        from buildeye.cli.voice import listen
        from buildeye.deploy.supervisor.running import supervise

        holder = self.journal.held_by(service) if service is not None else None
        if service is not None and holder is not None:
            tell(f"{service}: process {holder.pid} on {holder.host} supervises; this shows what it does")
            self.follow(current(self.journal, service), lambda each: each.state in TERMINAL, quiet=False)
            return
        listen(self.settings, times=True)
        if not background:
            tell(f"supervises {service or 'all services of this host'}; ends with Ctrl-C, and everything runs on")
        announce = announcer(self.settings, self.journal, self.run_root, self.clock)
        supervise(self.journal, self.run_root, os.environ, self.clock, announce, tell, service)

    def _earlier(self, service: str, to: str) -> Deployment:
        """The deployment to deploy again. Refused: there is none."""
        known = self.journal.deployments(service, 200)
        serving = next((row.in_service for row in self.journal.services() if row.name == service), "")
        if to:
            found = next((each for each in known if each.version == to and each.cutover is not None), None)
            if found is None:
                raise Refused(f"{service} {to} never served; see build-eye deploy history {service}")
            return found
        serves_now = next((each for each in known if each.id == serving), None)
        clean = [each for each in known if each.state is State.MONITORING_WINDOW_CLEAN and each.id != serving]
        other = next((each for each in clean if serves_now is None or each.version != serves_now.version), None)
        if other is None:
            raise Refused(f"{service} has no earlier clean version; name one with --to")
        return other

    def _stories(self, deployments: Sequence[Deployment]) -> dict[str, CommitStory]:
        """What CI says of the commits of deployments, by deployment id; empty where the warehouse cannot tell now."""
        from buildeye.insight.commits import story_of
        from buildeye.warehouse import open_warehouse

        linked = [each for each in deployments if each.commit and each.repository]
        if not linked:
            return {}
        stories: dict[str, CommitStory] = {}
        store = self.settings.storage
        with contextlib.suppress(BuildEyeError), open_warehouse(store.warehouse_dsn) as warehouse:
            for commit in dict.fromkeys((each.repository, each.commit) for each in linked):
                story = story_of(warehouse, *commit)
                stories |= {each.id: story for each in linked if (each.repository, each.commit) == commit}
        return stories

    def _past(self, deployment: Deployment, story: CommitStory | None) -> PastDeployment:
        lasted = deployment.closed.since(deployment.created) if deployment.closed is not None else None
        if story is None:
            return PastDeployment(deployment, lasted)
        overruled = [job.told for job in story.overruled]
        return PastDeployment(deployment, lasted, story.sentence, story.green, overruled)
