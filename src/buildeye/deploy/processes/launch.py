"""Start a run of a version under its keeper, and find it again after the supervisor was restarted or killed.

A run folder is for one run. Its file `lock` is locked (flock(2)) before the keeper is spawned, and the keeper inherits
the open file, so the lock is held as long as either lives. Whoever gets the lock and finds no `process.json` knows that
nothing was started; whoever does not get it knows that a keeper is there or is coming. The command itself waits for
`process.json`. So a supervisor may be killed between any two instructions: nothing is orphaned, nothing started twice.

The keeper is a child of the one that launched it. `reap` collects it when it has ended; nobody else waits for it.
"""

import contextlib
import fcntl
import json
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from buildeye.deploy.clock import Clock, boot_id
from buildeye.deploy.processes.applog import MOST_BYTES
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.processes.identity import Identity, identity_of, is_alive
from buildeye.deploy.processes.orphans import find
from buildeye.deploy.processes.pidfd import open_process
from buildeye.deploy.processes.proctable import KEEPER, NONCE, RUN, SLOT
from buildeye.deploy.processes.statefile import read_state
from buildeye.model import OutsideError, UsageError
from buildeye.model.deployments import Moment

LINGER_SECONDS: Final = 24 * 3600.0
"""How long a keeper whose command has ended holds the sockets without being asked anything; true seconds."""
PATIENCE_SECONDS: Final = 30.0
"""How long to wait for a keeper that is coming; true seconds."""
_LOOK_SECONDS: Final = 0.005
_KEEPER: Final = str(Path(__file__).with_name("keeper.py"))


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended. `code` negative: by that signal; None: nobody knows, and it is never taken for 0.

    `start_error` is a sentence when it never ran. `stopped`: its keeper was asked to; `killed`: it had to be.
    """

    code: int | None
    at: Moment | None = None
    core: bool = False
    start_error: str = ""
    stopped: bool = False
    killed: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its folder tells it: the process, its keeper (may be dead), and its exit, None while it runs.

    `slot` is that of `launch`, also without sockets; None: not known any more. `warning` is a sentence when
    a file of it was torn.
    """

    process: Identity
    keeper: Identity
    started: Moment
    slot: int | None
    exit: Exit | None = None
    warning: str = ""


def launch(
    command: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    run_folder: Path,
    sockets: Sequence[int],
    nonce: str,
    log: Path,
    clock: Clock,
    *,
    slot: int = 0,
    check: Callable[[], None] | None = None,
    log_bytes: int = MOST_BYTES,
    linger_seconds: float = LINGER_SECONDS,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Run:
    """Start a command under a keeper; back once it runs, or could not be run (`exit.start_error`).

    `environment` is its whole environment; it travels in anonymous memory, never in arguments or files. `sockets` are
    the listening sockets of all slots, held by the keeper; that of `slot` becomes descriptor 3 of the command. Without
    sockets the keeper leaves when the command has ended. A folder in which a run was started already is a UsageError;
    `adopt` that. OutsideError: the keeper could not be started or the disk is full; then nothing runs. `check` is
    called under the folder's lock: what it raises keeps the run from being started, and whoever found the lock free
    before may be sure of that.
    """
    _check(command, nonce, sockets, slot)
    try:
        run_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = run_folder.resolve()
        with _locked(folder, patience_seconds) as lock:
            if (folder / "process.json").exists():
                raise UsageError(f"a run was started in {folder} already: adopt it, or take a new run folder")
            if check is not None:
                check()
            plan = {
                "command": list(command),
                "directory": str(directory.resolve()),
                "environment": {**environment, NONCE: nonce, RUN: str(folder), SLOT: str(slot)},
                "folder": str(folder),
                "nonce": nonce,
                "log": str(log.resolve()),
                "log_bytes": log_bytes,
                "linger_seconds": linger_seconds,
                "slot": slot,
            }
            return _spawn(plan, lock, sockets, clock, patience_seconds)
    except OSError as error:
        raise OutsideError(
            f"no process can be started in {run_folder} ({error.strerror or error}): check rights and free space"
        ) from error


def adopt(run_folder: Path, nonce: str, clock: Clock, *, patience_seconds: float = PATIENCE_SECONDS) -> Run | None:
    """The run of this folder as it stands now; None: it never started, and nothing of it is left.

    Waits while a keeper is still coming. OutsideError: it did not come in time, or the folder holds another run.
    """
    until = time.monotonic() + patience_seconds
    while True:
        free = is_free(run_folder)  # asked first: what a keeper wrote before it let go is then seen
        run, warning = read_run(run_folder, clock)
        if run is None and free:
            return _hidden(run_folder, nonce, clock, warning)
        if run is None and warning:
            run = _told(run_folder, clock, warning)
        if run is not None:
            if run.process.nonce != nonce:
                raise OutsideError(f"{run_folder} holds another run than the one looked for: move that folder away")
            if run.exit is not None or is_alive(run.process):
                return run
            if free:
                return replace(run, exit=Exit(None))  # its keeper died before it, and nobody saw its end
            told = _told(run_folder, clock, warning)
            if told is not None and told.exit is not None:
                return told  # on a full disk there is no exit.json
        if time.monotonic() > until:
            raise OutsideError(
                f"a process is being started in {run_folder} and nothing is heard of it: look at keeper.log there"
            )
        time.sleep(_LOOK_SECONDS)


def reap(keeper: Identity) -> bool:
    """Collect an ended keeper that this process launched; False when it runs or is none of ours. Harmless to repeat."""
    try:
        opened = os.pidfd_open(keeper.pid)
    except OSError:
        return False
    try:
        return os.waitid(os.P_PIDFD, opened, os.WEXITED | os.WNOHANG) is not None
    except ChildProcessError:
        return False
    finally:
        os.close(opened)


def read_run(run_folder: Path, clock: Clock) -> tuple[Run | None, str]:
    """What the files of a run folder say, without a look at any process, and a warning; (None, "") without files."""
    facts, torn = read_state(run_folder / "process.json")
    ended, torn_exit = read_state(run_folder / "exit.json")
    warning = "; ".join(each for each in (torn, torn_exit) if each)
    if not isinstance(facts, dict):
        return None, warning
    return _run(facts, ended if isinstance(ended, dict) else None, clock, warning), warning


def _check(command: Sequence[str], nonce: str, sockets: Sequence[int], slot: int) -> None:
    if not sys.platform.startswith("linux"):
        raise OutsideError("deployments need Linux: this system has no pidfd_open")
    if not command or not nonce:
        raise UsageError("a run needs a command and a nonce: state `command` in deploy.yaml")
    if slot < 0 or (sockets and slot >= len(sockets)):
        raise UsageError(f"slot {slot} has no socket: {len(sockets)} were given, and all slots need one, or none")


def _spawn(plan: dict[str, Any], lock: int, sockets: Sequence[int], clock: Clock, patience: float) -> Run:
    with contextlib.ExitStack() as opened:
        heard, report = os.pipe()
        opened.callback(os.close, heard)
        with contextlib.ExitStack() as passed:
            passed.callback(os.close, report)
            described = os.memfd_create("buildeye-run")
            passed.callback(os.close, described)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            errors = os.open(f"{plan['folder']}/keeper.log", flags, 0o600)
            passed.callback(os.close, errors)
            pid = _keeper(plan, [described, lock, report, *sockets], errors)
        return _hear(pid, heard, plan, clock, patience)


def _keeper(plan: dict[str, Any], given: list[int], errors: int) -> int:
    """Spawn the keeper: it alone gets the descriptors, under numbers above all of them, and no environment of ours."""
    first = max(*given, errors, 2) + 1
    numbers = [first + place for place in range(len(given))]
    told = plan | {"lock": numbers[1], "report": numbers[2], "sockets": numbers[3:]}
    with os.fdopen(os.dup(given[0]), "wb") as file:
        file.write(json.dumps(told).encode())
    actions: list[tuple[Any, ...]] = [
        *((os.POSIX_SPAWN_DUP2, fd, number) for fd, number in zip(given, numbers, strict=True)),
        (os.POSIX_SPAWN_DUP2, errors, 1),
        (os.POSIX_SPAWN_DUP2, errors, 2),
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
    ]
    environment = {NONCE: plan["nonce"], RUN: plan["folder"], KEEPER: "1"}
    environment |= {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    arguments = [sys.executable, "-I", "-S", _KEEPER, str(numbers[0])]
    return os.posix_spawn(sys.executable, arguments, environment, file_actions=actions, setsid=True, setsigmask=())


def _hear(pid: int, heard: int, plan: dict[str, Any], clock: Clock, patience: float) -> Run:
    """Wait for the keeper's report; a keeper without one is ended, and with it what it holds at the gate."""
    until = time.monotonic() + patience
    said = b""
    poll = select.poll()
    poll.register(heard, select.POLLIN)
    while poll.poll(max(0.0, until - time.monotonic()) * 1000):
        part = os.read(heard, 65536)
        if not part:
            break
        said += part
    report = json.loads(said) if said else {}
    if "facts" in report:
        return _run(report["facts"], report["exit"], clock, "")
    keeper = identity_of(pid)
    if keeper is not None and (opened := open_process(keeper)) is not None:
        with opened:
            opened.wait(1.0)
            opened.signal(9)
            opened.wait(5.0)
    reap(Identity(pid, 0, boot_id()))
    run, _ = read_run(Path(plan["folder"]), clock)
    if run is not None:  # it died after the command was let go
        return run if run.exit is not None or is_alive(run.process) else replace(run, exit=Exit(None))
    why = report.get("error") or _last_line(Path(plan["folder"]) / "keeper.log") or "it gave no reason"
    raise OutsideError(f"no process was started in {plan['folder']} ({why}): check rights and free space")


def _last_line(path: Path) -> str:
    with contextlib.suppress(OSError):
        lines = path.read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""
    return ""


def _run(facts: Mapping[str, Any], ended: Mapping[str, Any] | None, clock: Clock, warning: str) -> Run:
    boot, nonce = facts["boot"], facts["nonce"]
    run = Run(
        process=Identity(facts["pid"], facts["start_time"], boot, nonce),
        keeper=Identity(facts["keeper_pid"], facts["keeper_start_time"], boot, nonce),
        started=_moment(facts, boot, clock),
        slot=facts["slot"],
        warning=warning,
    )
    if ended is None:
        return run
    code = ended["code"] if ended["signal"] is None else -ended["signal"]
    at = _moment(ended, ended["boot"], clock)
    kept = (ended["core"], ended["start_error"], ended["stopped"], ended["killed"])
    return replace(run, exit=Exit(code, at, *kept))


def _told(run_folder: Path, clock: Clock, warning: str) -> Run | None:
    """The run as its keeper tells of it, where the files do not."""
    try:
        status = KeeperClient(run_folder).status()
    except OutsideError:
        return None
    return _run(status.facts, status.exit, clock, warning)


def _moment(facts: Mapping[str, Any], boot: str, clock: Clock) -> Moment:
    return Moment(datetime.fromtimestamp(facts["wall"], UTC), boot, facts["ticks"] * clock.speed)


def _hidden(run_folder: Path, nonce: str, clock: Clock, warning: str) -> Run | None:
    """A run whose files are lost, found by its environment."""
    found = [each for each in find(run_folder, nonce) if not each.keeper]
    if not found:
        return None
    nobody = Identity(0, 0, boot_id(), nonce)
    lost = warning or f"the files of the run in {run_folder} are lost: it was found by its environment"
    return Run(found[0].identity, nobody, clock.now(), found[0].slot, None, lost)


@contextlib.contextmanager
def _locked(folder: Path, patience: float) -> Iterator[int]:
    """The lock of a run folder; a file left by a dead holder is no lock. The keeper goes on holding it."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + patience
    try:
        while not _take(lock):
            if (folder / "process.json").exists():
                break  # a keeper lives here; launch refuses
            if time.monotonic() > until:
                raise OutsideError(f"another process is starting a run in {folder}: wait for it, or end it")
            time.sleep(_LOOK_SECONDS)
        yield lock
    finally:
        os.close(lock)


def is_free(run_folder: Path) -> bool:
    """Whether neither a launching supervisor nor a keeper lives for this folder."""
    try:
        lock = os.open(run_folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        return _take(lock)
    finally:
        os.close(lock)


def _take(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
