"""`build-eye deploy`: start a version, check it, cut over, watch it, and be back when it is bad."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.rules import FORM, Form
from buildeye.cli.stages import CONFIG

if TYPE_CHECKING:
    from buildeye.model.deployments import Deployment

app = typer.Typer(
    help="Start a version, check it, cut over, watch it, and be back when it is bad.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="Exit codes: 0 the version serves or the question is answered, 1 it does not or is bad, 2 wrong use or "
    "configuration, 3 an outside system failed.",
)

SERVICE = typer.Argument(..., metavar="SERVICE", help="The name of the service, as its deploy.yaml says it.")
SOME_SERVICE = typer.Argument(None, metavar="[SERVICE]", help="The name of a service; all when it is left out.")
WHY = typer.Option("", "--why", help="What you know, in a sentence; the history shows it.")
BY = typer.Option("", "--by", metavar="WHO", help="Who says so; default you.")
FILE = typer.Option(Path("deploy.yaml"), "--file", help="The service's deploy.yaml.")


@app.command()
def init(
    service: str = SERVICE,
    port: int = typer.Option(8080, "--port", min=1, max=65535, help="The port the service is to be found at."),
    file: Path = FILE,
    force: bool = typer.Option(False, "--force", help="Write over a file that is there."),
) -> None:
    """Write a deploy.yaml with every setting, its default and what it means.

    \b
    Examples:
      build-eye deploy init web --port 8080
      build-eye deploy init web --file services/web.yaml
    """
    from buildeye.deploy.spec import starter
    from buildeye.model import OutsideError, UsageError

    if file.exists() and not force:
        raise UsageError(f"{file} is there already; name another with --file, or write over it with --force")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(starter(service, port), encoding="utf-8")
    except OSError as e:
        raise OutsideError(f"{file}: cannot be written ({e.strerror})") from e
    typer.echo(f"{file}: written; set `command`, then: build-eye deploy start {service} --version V")


@app.command()
def start(
    service: str = SERVICE,
    version: str = typer.Option(..., "--version", help="The version to deploy."),
    commit: str = typer.Option("", "--commit", metavar="SHA", help="The commit it was built from; links it to its CI."),
    file: Path = FILE,
    force: bool = typer.Option(False, "--force", help="Deploy a version that was marked bad."),
    until_closed: bool = typer.Option(
        False, "--until-closed", help="Wait until its window has closed, not only until it serves."
    ),
    detach: bool = typer.Option(False, "--detach", help="Do not wait for the outcome."),
    form: Form = FORM,
    by: str = BY,
    config: Path | None = CONFIG,
) -> None:
    """Deploy a version: start it beside the old one, check it, cut over, and go on watching it.

    Shows each step as it happens. Ends with 0 once the version serves, with 1 when it does not come into service, with
    --until-closed also when it is rolled back later. Ctrl-C ends only this command; the supervisor goes on.

    \b
    Examples:
      build-eye deploy start web --version v142
      build-eye deploy start web --version v142 --commit "$(git rev-parse HEAD)"
      build-eye deploy start web --version v142 --until-closed
    """
    from buildeye.cli.deploydesk import desk
    from buildeye.cli.voice import tell
    from buildeye.deploy.asking import in_service_or_over, serves
    from buildeye.deploy.states import TERMINAL

    with desk(config) as at:
        spec = at.spec(file, service)
        deployment = at.deploy(spec, str(file.absolute()), version, at.who(by), commit=commit, forced=force)
        if detach:
            typer.echo(_json(at.deployment_json(deployment)) if form is Form.JSON else _asked_for(deployment))
            return
        until = (lambda each: each.state in TERMINAL) if until_closed else in_service_or_over
        try:
            last = at.follow(deployment, until, quiet=form is Form.JSON)
        except KeyboardInterrupt:
            tell(f"{service} {version} goes on without you: build-eye deploy status {service}, or abort it")
            raise typer.Exit(130) from None
        at.say_outcome(last, form is Form.JSON)
        raise typer.Exit(0 if serves(last) else 1)


@app.command()
def status(service: str | None = SOME_SERVICE, form: Form = FORM, config: Path | None = CONFIG) -> None:
    """Show how a service stands: its version, each signal, and what its window waits for. Ends with 1 when it is bad.

    \b
    Examples:
      build-eye deploy status
      build-eye deploy status web
      build-eye deploy status web -o json | jq -r .state
    """
    from buildeye.cli.deploydesk import desk, look
    from buildeye.cli.deployface import status_table, status_text
    from buildeye.deploy.asjson import services_json, status_json

    with desk(config) as at:
        if service is None:
            every = at.standings()
            typer.echo(_json(services_json(every)) if form is Form.JSON else status_table(every))
            raise typer.Exit(0)
        stands = at.standing(service)
        typer.echo(_json(status_json(stands)) if form is Form.JSON else status_text(stands, look()))
        raise typer.Exit(1 if at.is_bad(stands) else 0)


@app.command()
def watch(
    service: str | None = SOME_SERVICE,
    background: bool = typer.Option(False, "--background", hidden=True),
    speed: float = typer.Option(1.0, "--speed", hidden=True, min=0.001),
    config: Path | None = CONFIG,
) -> None:
    """Supervise: start, check, cut over, watch and roll back what was asked for, until it is told to end.

    Only one supervisor acts for a service. With a service that another one has, this shows what that one does, and
    takes over when it ends. Ended with Ctrl-C or SIGTERM it leaves everything running, and the next one goes on.

    \b
    Examples:
      build-eye deploy watch
      build-eye deploy watch web
    """
    from buildeye.cli.deploydesk import desk

    with desk(config, speed) as at:
        at.watch(service, background=background)


@app.command()
def explain(service: str = SERVICE, form: Form = FORM, config: Path | None = CONFIG) -> None:
    """Explain how a service is judged: the numbers, the boundary at which it rolls back, and the next look.

    \b
    Examples:
      build-eye deploy explain web
      build-eye deploy explain web -o json | jq .boundary
    """
    from buildeye.cli.deploydesk import desk, look
    from buildeye.cli.deployface import explain_text
    from buildeye.deploy.asjson import status_json

    with desk(config) as at:
        stands = at.standing(service)
        typer.echo(_json(status_json(stands)) if form is Form.JSON else explain_text(stands, look()))


@app.command()
def pause(service: str = SERVICE, why: str = WHY, by: str = BY, config: Path | None = CONFIG) -> None:
    """Take no step forward with a deployment until it is resumed: no cutover, no closing. A breach still rolls back.

    \b
    Example:
      build-eye deploy pause web --why "load test until 4 pm"
    """
    _ask(service, "pause", why, by, config)


@app.command()
def resume(service: str = SERVICE, why: str = WHY, by: str = BY, config: Path | None = CONFIG) -> None:
    """Go on with a paused deployment, or with one that asked for attention; it does not ask again for the same.

    \b
    Example:
      build-eye deploy resume web
    """
    _ask(service, "resume", why, by, config)


@app.command()
def promote(service: str = SERVICE, why: str = WHY, by: str = BY, config: Path | None = CONFIG) -> None:
    """Say that a version is good: one that is ready takes over, one that is watched closes as clean.

    \b
    Example:
      build-eye deploy promote web --why "checked by hand"
    """
    _ask(service, "promote", why, by, config)


@app.command()
def abort(service: str = SERVICE, why: str = WHY, by: str = BY, config: Path | None = CONFIG) -> None:
    """Give a deployment up: a candidate is stopped, one that took over already is rolled back.

    \b
    Example:
      build-eye deploy abort web --why "wrong branch"
    """
    _ask(service, "abort", why, by, config)


@app.command()
def rollback(
    service: str = SERVICE,
    to: str = typer.Option(
        "", "--to", metavar="VERSION", help="The version to go back to; default the last clean one."
    ),
    why: str = WHY,
    by: str = BY,
    config: Path | None = CONFIG,
) -> None:
    """Go back: at once while the deployment is watched, else by deploying the earlier version again.

    Ends with 0 once the earlier version serves.

    \b
    Examples:
      build-eye deploy rollback web --why "customers see errors"
      build-eye deploy rollback web --to v140
    """
    from buildeye.cli.deploydesk import desk

    with desk(config) as at:
        raise typer.Exit(at.roll_back(service, to, why, at.who(by)))


@app.command()
def stop(
    service: str = SERVICE,
    yes: bool = typer.Option(False, "--yes", help="Do not ask whether you mean it."),
    why: str = WHY,
    by: str = BY,
    config: Path | None = CONFIG,
) -> None:
    """End a service for good: all of its processes, its public address, and what is on its way or watched.

    Nothing of it is started again until build-eye deploy start deploys a version.

    \b
    Example:
      build-eye deploy stop web --yes --why "moved to another machine"
    """
    from buildeye.cli.deploydesk import desk
    from buildeye.model import UsageError

    with desk(config) as at:
        at.standing(service)
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError(f"to stop {service} ends it for its users; say --yes if that is meant")
            typer.confirm(f"{service} ends for its users. Stop it?", abort=True)
        at.stop(service, why, at.who(by))


@app.command()
def history(
    service: str = SERVICE,
    limit: int = typer.Option(20, "--limit", min=1, max=1000, help="How many, newest first."),
    form: Form = FORM,
    config: Path | None = CONFIG,
) -> None:
    """List the deployments of a service: how each ended, what CI said of its commit, which failures were overruled.

    \b
    Examples:
      build-eye deploy history web
      build-eye deploy history web --limit 5 -o json
    """
    from buildeye.cli.deploydesk import desk
    from buildeye.cli.deployface import history_table
    from buildeye.deploy.asjson import history_json

    with desk(config) as at:
        past = at.history(service, limit)
        typer.echo(_json(history_json(past)) if form is Form.JSON else history_table(past))


@app.command()
def simulate(
    file: Path | None = typer.Option(None, "--file", help="A deploy.yaml whose limits are tried; default the usual."),
    rate: float = typer.Option(0.9, "--rate", min=0.0, max=1.0, help="Share of tasks approved before and after."),
    drop_to: float = typer.Option(0.5, "--drop-to", min=0.0, max=1.0, help="What a bad release's share falls to."),
    canary_flake: float = typer.Option(0.005, "--canary-flake", min=0.0, max=1.0, help="Canaries that fail by chance."),
    http_flake: float = typer.Option(0.01, "--http-flake", min=0.0, max=1.0, help="Health checks that do."),
    deployments: int = typer.Option(2000, "--deployments", min=10, max=1_000_000, help="How many of each kind."),
    seed: int = typer.Option(7, "--seed", help="Another seed is other luck."),
    form: Form = FORM,
) -> None:
    """Tell how often limits would roll back a healthy release, and how soon they find a bad one. Deploys nothing.

    \b
    Examples:
      build-eye deploy simulate
      build-eye deploy simulate --file deploy.yaml --rate 0.7 --drop-to 0.4
    """
    import os

    from buildeye.cli.deploysimulate import Luck, rows, simulation_json, simulation_text
    from buildeye.cli.voice import listen, tell, warn
    from buildeye.deploy.spec import load_spec

    listen()
    spec = load_spec(file, os.environ, warn) if file is not None else None
    luck = Luck(rate, drop_to, canary_flake, http_flake)
    found = list(rows(spec, luck, deployments, seed, tell))
    if form is Form.JSON:
        typer.echo(_json(simulation_json(found, luck, deployments, seed)))
    else:
        typer.echo(simulation_text(found, luck, deployments, seed))


@app.command()
def demo(
    folder: Path = typer.Option(Path("demo/deploy"), "--folder", help="Where journal, runs and reports of it go."),
) -> None:
    """Deploy a good version, a better one, and a bad one that is rolled back by itself; all of it on this machine.

    Takes about a minute: its clock runs 60 times as fast. Users ask all the while, and at the end nothing runs.

    \b
    Example:
      build-eye deploy demo
    """
    from buildeye.cli.deploydemo import play

    play(folder)


def _ask(service: str, kind: str, why: str, by: str, config: Path | None) -> None:
    from buildeye.cli.deploydesk import desk

    with desk(config) as at:
        typer.echo(f"{service}: {at.ask(service, kind, why, at.who(by))}")


def _asked_for(deployment: "Deployment") -> str:
    return f"{deployment.service} {deployment.version}: asked for; see build-eye deploy status {deployment.service}"


def _json(value: object) -> str:
    utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    return json.dumps(value, default=datetime.isoformat, ensure_ascii=not utf8)
