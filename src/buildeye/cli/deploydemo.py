"""`build-eye deploy demo`: a good release, a better one, and a bad one that is rolled back, in about a minute."""

import asyncio
import contextlib
import os
import shutil
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from buildeye.cli.demoload import Users
from buildeye.cli.deployannounce import announcer
from buildeye.cli.deploydesk import Desk, look
from buildeye.cli.deployface import explain_text, history_table, status_text
from buildeye.cli.deployfollow import show_deployment
from buildeye.cli.deploywords import BOLD
from buildeye.cli.setup import settings_for
from buildeye.deploy.asking import ask, start
from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Journal, SampleWriter, open_journal, this_holder
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.processes.orphans import find
from buildeye.deploy.processes.pidfd import open_process
from buildeye.deploy.spec import load_spec
from buildeye.deploy.states import TERMINAL
from buildeye.deploy.supervisor.supervisor import Supervisor
from buildeye.deploy.supervisor.world import World
from buildeye.model import BuildEyeError, OutsideError
from buildeye.model.deployments import Deployment, State

SPEED: Final = 60.0
"""A minute of the demo's clock passes in a second."""
_SERVICE: Final = "example"
_FIRST_TASKS: Final = 110  # requests before v1 is promoted: half of them are tasks, the next version's baseline
_LOOK_ON_SECONDS: Final = 4.0
_PATIENCE_SECONDS: Final = 60.0
_SPEC: Final = """\
# The service of `build-eye deploy demo`. Its clock runs {speed:g} times as fast as yours: 12 minutes are 12 seconds.
service: {service}
command: [{python}, -m, buildeye.simulator.service, --version, "{{version}}", --state, {tasks}, {more}]
listen: {{port: {port}}}
environment: {{PYTHONPATH: {path}}}
health: {{timeout_seconds: 120, deadline_seconds: 1200, start_interval_seconds: 10, minimum_uptime_seconds: 20}}
rate: {{source: endpoint, url: "http://127.0.0.1:{port}/tasks", interval_seconds: 15}}
window: {{hours: 0.2, deadline_hours: 2}}
drain: {{seconds: 60}}
stop: {{seconds: 300}}
"""


class DemoFailed(BuildEyeError):
    """The demo did not go as it should (exit 1)."""

    exit_code = 1


@dataclass(frozen=True)
class _Stage:
    """Where the demo happens."""

    folder: Path
    port: int
    desk: Desk

    def deploy(self, version: str, *more: str) -> Deployment:
        """Ask for a version that behaves as the words say."""
        quoted = ", ".join(f'"{word}"' for word in more) or '"--behaviour", "good"'
        file = self.folder / "deploy.yaml"
        path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
        file.write_text(
            _SPEC.format(
                speed=SPEED, service=_SERVICE, python=sys.executable, tasks=self.folder.absolute() / "tasks.sqlite",
                more=quoted, port=self.port, path=path,
            )
        )  # fmt: skip
        spec = load_spec(file, os.environ, lambda sentence: None)
        return start(self.desk.journal, spec, str(file.absolute()), version, self.desk.clock, "demo")

    def until(self, deployment: Deployment, holds: Callable[[Deployment], bool]) -> Deployment:
        """Show what happens to a deployment until something holds."""
        after = max((each.seq for each in self.desk.journal.events(deployment.id)), default=0)
        seen = after if deployment.cutover is not None else 0
        return show_deployment(self.desk.journal, deployment, holds, look(), self.desk.run_root, seen)


def play(folder: Path) -> None:
    """Play it in a folder. DemoFailed: it did not go as it should. OutsideError: the folder cannot be used."""
    run_root = folder / "run"
    _begin_anew(folder, run_root)
    settings = settings_for(None, {"storage.data_dir": folder, "report.output_dir": folder / "reports"})
    dsn = f"sqlite:///{folder.absolute() / 'deploy.sqlite'}"
    settings = settings.model_copy(
        update={"deploy": settings.deploy.model_copy(update={"journal": dsn, "directory": str(run_root.absolute())})}
    )
    journal = open_journal(dsn)
    clock = Clock(SPEED)
    try:
        stage = _Stage(folder, _free_port(), Desk(settings, None, journal, clock, SPEED))
        with _supervised(dsn, stage.desk):
            _tell(stage)
    finally:
        journal.close()
        _end_processes(run_root)


def _tell(stage: _Stage) -> None:
    desk, clock = stage.desk, stage.desk.clock
    _say(f"v1: the first release, at http://127.0.0.1:{stage.port}. Its clock runs {SPEED:g} times as fast as yours.")
    first = stage.until(stage.deploy("v1"), _decided)
    _must(first, State.MONITORING)
    with Users(stage.port).asking() as users:
        _wait(lambda: users.asked >= _FIRST_TASKS, "users get answers")
        typer.echo(f"  users ask all the while: {users.asked} requests so far, {users.failed} failed")
        typer.echo(f"  a person says that it is good: {ask(desk.journal, first, 'promote', {}, clock, 'demo')}")

        _say("v2: a good release. It takes over; after its window of 12 minutes (12 s here) it counts as clean.")
        second = stage.until(stage.deploy("v2"), _decided)
        _must(second, State.MONITORING)
        time.sleep(_LOOK_ON_SECONDS)
        typer.echo(f"\n$ build-eye deploy status {_SERVICE}\n{status_text(desk.standing(_SERVICE), look())}\n")
        _must(stage.until(second, _over), State.MONITORING_WINDOW_CLEAN)

        _say("v3: a bad release. It is healthy; but soon half of its work is rejected, where a tenth was before.")
        degrading = ("--behaviour", "degrade", "--after", "1", "--canary-failures", "0")
        third = stage.until(stage.deploy("v3", *degrading), _over)
        _must(third, State.ROLLED_BACK)
        _wait(lambda: desk.report_of(third), "its report is written")
        typer.echo(f"\n$ build-eye deploy explain {_SERVICE}\n{explain_text(desk.standing(_SERVICE), look())}\n")
    typer.echo(f"$ build-eye deploy history {_SERVICE}\n{history_table(desk.history(_SERVICE, 10))}")
    _say("The end: the service is stopped.")
    ask(desk.journal, third, "stop", {"why": "the demo is over"}, clock, "demo")
    _wait(lambda: not find(desk.run_root), "all processes end")
    typer.echo(
        f"{users.asked} requests were made through two cutovers and a rollback, {users.failed} failed. "
        f"Nothing runs any more.\nThe report on v3: {desk.report_of(third)}"
    )
    if users.failed:
        raise DemoFailed(f"{users.failed} of {users.asked} requests failed; see {stage.folder}")


def _decided(deployment: Deployment) -> bool:
    return deployment.state is State.MONITORING or deployment.state in TERMINAL


def _over(deployment: Deployment) -> bool:
    return deployment.state in TERMINAL or deployment.state is State.NEEDS_ATTENTION


def _say(text: str) -> None:
    typer.echo("\n" + look().paint(text, BOLD))


def _must(deployment: Deployment, state: State) -> None:
    if deployment.state is not state:
        wanted, is_now = state.replace("_", " "), deployment.state.replace("_", " ")
        raise DemoFailed(f"{deployment.version} should be {wanted} and is {is_now}; its log is below its run folder")


def _wait(holds: Callable[[], Any], what: str) -> None:
    ends = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > ends:
            raise DemoFailed(f"within {_PATIENCE_SECONDS:g} s it did not come about that {what}")
        time.sleep(0.05)


def _begin_anew(folder: Path, run_root: Path) -> None:
    """A folder without what an earlier demo left there; a process that an interrupted one left is ended."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _end_processes(run_root)
        for name in ("deploy.sqlite", "tasks.sqlite"):
            for each in folder.glob(f"{name}*"):
                each.unlink()
        for old in (run_root, folder / "reports"):
            if old.is_dir():
                shutil.rmtree(old)
    except OSError as e:
        raise OutsideError(f"{folder}: cannot be used ({e.strerror}); choose another place with --folder") from e


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _supervised(dsn: str, desk: Desk) -> Iterator[None]:
    """A supervisor in a thread of this process, with a journal of its own."""
    journal: Journal = open_journal(dsn)
    writer = SampleWriter(journal)
    announce = announcer(desk.settings, journal, desk.run_root, desk.clock)
    log = (desk.run_root.parent / "supervisor.log").open("a", encoding="utf-8")
    world = World(journal, writer, desk.clock, desk.run_root, os.environ, announce, lambda text: _write(log, text))
    loop = asyncio.new_event_loop()
    task = loop.create_task(Supervisor(world, this_holder(uuid.uuid4().hex)).run())
    thread = threading.Thread(target=_run, args=(loop, task), name="supervisor", daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(_PATIENCE_SECONDS)
        writer.close()
        world.close()
        journal.close()
        loop.close()
        log.close()


def _write(log: Any, text: str) -> None:
    log.write(text + "\n")


def _run(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None]") -> None:
    with contextlib.suppress(asyncio.CancelledError):
        loop.run_until_complete(task)


def _end_processes(run_root: Path) -> None:
    """End whatever of the demo still runs, by identity."""
    if not run_root.is_dir():
        return
    for each in find(run_root):
        if each.keeper:
            with contextlib.suppress(BuildEyeError, OSError):
                KeeperClient(each.run_folder).leave()
        held = open_process(each.identity)
        if held is not None:
            with held:
                held.signal(9)
                held.wait(5.0)
