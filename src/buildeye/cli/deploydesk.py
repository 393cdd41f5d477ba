"""What the deploy commands stand on: the journal of this place, its clock, its supervisor, and who asks."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import typer

from buildeye.cli.deployfollow import ends_quietly, show, show_deployment, show_service
from buildeye.cli.deploywords import outcome_words
from buildeye.cli.setup import settings_for
from buildeye.cli.terminal import Look, look_of
from buildeye.cli.voice import tell, warn
from buildeye.config import Settings
from buildeye.deploy.asjson import deployment_json
from buildeye.deploy.asking import Refused, ask, current, in_service_or_over, serves
from buildeye.deploy.asking import start as ask_to_start
from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Journal, open_journal
from buildeye.deploy.looking import standing, standings
from buildeye.deploy.spec import ServiceSpec, load_spec, spec_of
from buildeye.deploy.standing import PastDeployment, Standing
from buildeye.deploy.states import BAD, TERMINAL, WATCHED, Happening
from buildeye.insight.commits import CommitStory
from buildeye.model import BuildEyeError, OutsideError, UsageError
from buildeye.model.deployments import Deployment, State
from buildeye.model.spans import lasting

_LOOK_SECONDS: Final = 0.1


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

    def ensure_supervisor(self, service: str) -> None:
        """See to it that somebody supervises; a supervisor is started in the background when nobody does."""
        from buildeye.deploy.supervisor.running import LOG, start_in_background, supervisor_pid

        command = ["deploy", "watch", "--background"]
        command += ["--config", str(self.config)] if self.config is not None else []
        command += ["--speed", str(self.speed)] if self.speed != 1.0 else []
        root = self.run_root
        started = start_in_background(
            command, root, lambda: supervisor_pid(root) is not None or self.journal.held_by(service) is not None
        )
        if started is not None:
            tell(f"supervised in the background by process {started}, log {os.path.relpath(root / LOG)}")

    def deploy(self, spec: ServiceSpec, spec_path: str, version: str, who: str, **more: Any) -> Deployment:
        """Ask for a deployment, with somebody there to make it. OutsideError: nobody is; then it is given up."""
        deployment = ask_to_start(self.journal, spec, spec_path, version, self.clock, who, **more)
        try:
            self.ensure_supervisor(spec.service)
        except OutsideError as e:
            self.journal.move(None, deployment.id, deployment.epoch, Happening.ABORT, self.clock.now(), str(e))
            raise
        return deployment

    def ask(self, service: str, kind: str, why: str, who: str) -> str:
        """Ask the supervisor for something about the deployment that counts; its answer. Refused: it does not do it."""
        deployment = current(self.journal, service)
        if deployment.state not in TERMINAL:
            self.ensure_supervisor(service)
        return ask(self.journal, deployment, kind, {"why": why}, self.clock, who)

    def follow(
        self, deployment: Deployment, until: Callable[[Deployment], bool], *, quiet: bool, after: int = 0
    ) -> Deployment:
        """Show what happens to a deployment until its state is what is waited for; gives what it is then."""
        shown = None if quiet else look()
        return show_deployment(self.journal, deployment, until, shown, self.run_root, after)

    def say_outcome(self, deployment: Deployment, as_json: bool) -> None:
        """The last word of `start`."""
        if as_json:
            import json

            typer.echo(json.dumps(deployment_json(deployment), ensure_ascii=False))
            return
        name, service = f"{deployment.service} {deployment.version}", deployment.service
        if deployment.state in WATCHED:
            hours = spec_of(deployment.spec).window.hours
            typer.echo(f"{name} serves and is watched for {lasting(hours * 3600)}: build-eye deploy status {service}")
        elif serves(deployment):
            typer.echo(f"{name} serves; {outcome_words(deployment)}")
        else:
            row = self.journal.service(service)
            serving = self.journal.deployment(row.in_service) if row is not None and row.in_service else None
            still = f"{serving.version} serves" if serving is not None else "nothing serves"
            typer.echo(f"{name} does not serve; it is {outcome_words(deployment)}, and {still}")

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
        stands = standing(self.journal, deployment, self.clock.now(), *said)
        return replace(stands, report=self.report_of(deployment))

    def report_of(self, deployment: Deployment) -> str:
        """The path of the report on a deployment, as seen from here; '' where it has none."""
        found = sorted(self.settings.report.output_dir.glob(f"*/*/*/deployment-*{deployment.id}.md"))
        return os.path.relpath(found[-1]) if found else ""

    def is_bad(self, stands: Standing) -> bool:
        """Whether the thing asked about is bad: its version is, a person is needed, or nothing of it serves."""
        bad = BAD | {State.NEEDS_ATTENTION, State.CLOSED_INSUFFICIENT_DATA}
        return stands.stopped or stands.deployment.state in bad

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
            seen = max((each.seq for each in self.journal.events(deployment.id)), default=0)
            self.ask(service, "rollback", why, who)
            last = self.follow(deployment, lambda each: each.state in TERMINAL, quiet=False, after=seen)
            back = last.state is State.ROLLED_BACK
            typer.echo(f"{service} {last.version} is {outcome_words(last)}" + ("" if back else ": it still serves"))
            return 0 if back else 1
        target = self._earlier(service, to)
        row = self.journal.service(service)
        path = row.spec_path if row is not None else ""
        again = self.deploy(
            spec_of(target.spec), path, target.version, who, commit=target.commit, forced=bool(to), kind="rollback"
        )
        last = self.follow(again, in_service_or_over, quiet=False)
        self.say_outcome(last, as_json=False)
        return 0 if serves(last) else 1

    def stop(self, service: str, why: str, who: str) -> None:
        """End a service: give back when nothing of it runs. Refused: it cannot be now."""
        deployment = current(self.journal, service)
        row = self.journal.service(service)
        runs = self.journal.open_runs(service)
        if row is not None and not row.in_service and not runs and deployment.state in TERMINAL:
            typer.echo(f"{service} does not run")
            return
        self.ensure_supervisor(service)
        typer.echo(f"{service} {ask(self.journal, deployment, 'stop', {'why': why}, self.clock, who)}")
        while self.journal.open_runs(service) or self.journal.held_by(service) is not None:
            if self.journal.held_by(service) is None:
                self.ensure_supervisor(service)
            time.sleep(_LOOK_SECONDS)
        typer.echo(f"{service} is stopped, nothing of it runs; build-eye deploy start {service} --version V starts it")

    def watch(self, service: str | None, *, background: bool) -> None:
        """Supervise in this process; where another one does, show what it does until that is gone."""
        from buildeye.deploy.supervisor.running import only_supervisor, supervisor_pid

        if service is not None:
            current(self.journal, service)
            holder = self.journal.held_by(service)
            pid = holder.pid if holder is not None else supervisor_pid(self.run_root)
            if pid is not None:
                host = f" on {holder.host}" if holder is not None else ""
                tell(f"{service}: process {pid}{host} supervises; this shows what it does, and takes over when it ends")
                with ends_quietly():
                    show_service(self.journal, service, self.run_root, look())
                    self._supervise(service, background=background)
                return
            self._supervise(service, background=background)
            return
        with only_supervisor(self.run_root) as alone:
            if alone:
                self._supervise(None, background=background)
            elif not background:
                raise Refused(
                    f"process {supervisor_pid(self.run_root)} supervises all services of this machine already; "
                    "`build-eye deploy watch SERVICE` shows what it does with one"
                )

    def _supervise(self, service: str | None, *, background: bool) -> None:
        from buildeye.cli.deployannounce import announcer
        from buildeye.cli.voice import listen
        from buildeye.deploy.supervisor.running import supervise

        listen(self.settings, times=True)
        announce = announcer(self.settings, self.journal, self.run_root, self.clock)
        if background:
            supervise(
                self.journal, self.run_root, os.environ, self.clock, announce, tell, service,
                keep_days=self.settings.storage.retention_days,
            )  # fmt: skip
            return
        tell(f"supervises {service or 'all services of this machine'}; Ctrl-C ends this, and everything runs on")
        seen = look()
        supervise(
            self.journal, self.run_root, os.environ, self.clock, announce, tell, service,
            show=lambda event, deployment: show(event, deployment, seen),
            keep_days=self.settings.storage.retention_days,
        )  # fmt: skip

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
            raise Refused(f"{service} has no other version that closed clean; name one with --to")
        return other

    def _stories(self, deployments: Sequence[Deployment]) -> dict[str, CommitStory]:
        """What CI says of the commits of deployments, by deployment id; empty where the warehouse cannot tell now."""
        from buildeye.insight.commits import story_of
        from buildeye.warehouse import open_to_ask

        linked = [each for each in deployments if each.commit and each.repository]
        if not linked:
            return {}
        stories: dict[str, CommitStory] = {}
        store = self.settings.storage
        with contextlib.suppress(BuildEyeError), open_to_ask(store.warehouse_dsn, store.data_dir) as warehouse:
            for commit in dict.fromkeys((each.repository, each.commit) for each in linked):
                story = story_of(warehouse, *commit)
                stories |= {each.id: story for each in linked if (each.repository, each.commit) == commit}
        return stories

    def _past(self, deployment: Deployment, story: CommitStory | None) -> PastDeployment:
        lasted = deployment.closed.since(deployment.created) if deployment.closed is not None else None
        if story is None:
            return PastDeployment(deployment, lasted, report=self.report_of(deployment))
        overruled = [job.told for job in story.overruled]
        return PastDeployment(deployment, lasted, story.sentence, story.green, overruled, self.report_of(deployment))
