"""End a run to its last descendant: the signal to its group, a while, KILL, and a look whether all are gone.

The keeper does it where one lives, so that a stop is seen through when the supervisor dies in the middle; where it is
dead, or does not answer, the same is done from here. Only processes that are ours by identity are signalled: those with
the nonce of the run, and, while the command or its keeper lives, their session and their descendants.
"""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from buildeye.deploy.clock import Clock
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.processes.identity import Identity, is_alive
from buildeye.deploy.processes.launch import Run, adopt, is_free, reap
from buildeye.deploy.processes.orphans import find
from buildeye.deploy.processes.pidfd import open_process
from buildeye.deploy.processes.proctable import Entry, descendants, send, table
from buildeye.model import OutsideError

_LEFTOVER_SECONDS: Final = 5.0
"""How long what a command left behind may take to end by itself; true seconds. Keepers wait as long."""
_GONE_SECONDS: Final = 10.0
"""How long the kernel may take to end what was killed; true seconds."""
_LOOK_SECONDS: Final = 0.01

Members = set[tuple[int, int]]
"""(pid, start time) of processes."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a stopped run ended: its exit code (negative: by signal; None: unknown, or it never started), and whether
    it ended only by KILL."""

    code: int | None
    killed: bool


def stop(run_folder: Path, nonce: str, clock: Clock, *, number: int = signal.SIGTERM, seconds: float = 30.0) -> Stopped:
    """Stop a run, whoever started it; back when nothing of it lives but its keeper. Harmless to repeat.

    `number` is the signal to ask with, `seconds` of this clock what it has before KILL. Blocks for as long: call it
    in a thread. OutsideError: something of it cannot be ended.
    """
    run = adopt(run_folder, nonce, clock)
    if run is None:
        return Stopped(None, False)
    killed = False
    ours = _members(run_folder, run)
    if run.exit is None:
        killed = _end(run_folder, run, ours, number, clock.real(seconds))
    _sweep(run_folder, run, ours)
    run = adopt(run_folder, nonce, clock) or run
    if run.exit is None:
        return Stopped(None, killed)
    return Stopped(run.exit.code, killed or run.exit.killed)


def clear(run_folder: Path, nonce: str, clock: Clock, *, seconds: float = 30.0) -> Stopped:
    """Stop a run and let its keeper go, so that nothing holds its lock or its sockets any more; what an abort leaves.

    The keeper is asked; one that does not answer is killed, by its identity. OutsideError: the lock is held by others.
    """
    stopped = stop(run_folder, nonce, clock, seconds=seconds)
    keepers = [each.identity for each in find(run_folder, nonce) if each.keeper]
    for keeper in keepers:
        held = open_process(keeper)
        if held is None:
            continue
        with held:
            _let_go(run_folder)
            if not held.wait(_LEFTOVER_SECONDS):
                held.signal(signal.SIGKILL)
                held.wait(_GONE_SECONDS)
        reap(keeper)
    until = time.monotonic() + _LEFTOVER_SECONDS
    while not is_free(run_folder):  # a keeper that ends lets go of its files after its environment
        if time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
            continue
        raise OutsideError(f"the lock of {run_folder} is held by a process that is no part of its run: end that first")
    return stopped


def _let_go(run_folder: Path) -> None:
    try:
        KeeperClient(run_folder).leave()
    except OutsideError:
        return  # it left by itself, or hangs


def _end(run_folder: Path, run: Run, ours: Members, number: int, seconds: float) -> bool:
    """End the command; whether it took KILL from here."""
    held = open_process(run.process)
    if held is None:
        return False
    with held:
        if _asked(run_folder, run.keeper, number, seconds):
            seconds += _LEFTOVER_SECONDS  # the keeper kills in time; from here only when it does not
        else:
            _send(_group(run.process, ours), number)
        if held.wait(seconds):
            return False
        ours |= _members(run_folder, run)
        killed = held.signal(signal.SIGKILL)
        if not held.wait(_GONE_SECONDS):
            raise OutsideError(
                f"process {run.process.pid} does not end, not even killed: it hangs in the kernel; look at its disk"
            )
        return killed


def _asked(run_folder: Path, keeper: Identity, number: int, seconds: float) -> bool:
    if not is_alive(keeper):
        return False
    try:
        return KeeperClient(run_folder).stop(number, seconds)
    except OutsideError:
        return False


def _sweep(run_folder: Path, run: Run, ours: Members) -> None:
    """See what the command left behind gone: asked to end, and killed after a while."""
    start = time.monotonic()
    asked: Members = set()
    empty = 0
    while empty < 2:  # one look can miss a process that is born while the table is read
        ours |= _members(run_folder, run)
        living = {each for each in ours if _lives(*each, run)}
        empty = 0 if living else empty + 1
        waited = time.monotonic() - start
        if living and waited > _LEFTOVER_SECONDS + _GONE_SECONDS:
            pids = ", ".join(str(pid) for pid, _ in sorted(living))
            raise OutsideError(f"processes of the run in {run_folder} do not end, not even killed: {pids}")
        if waited > _LEFTOVER_SECONDS:
            _send(living, signal.SIGKILL)
        else:
            _send(living - asked, signal.SIGTERM)
            asked |= living
        time.sleep(_LOOK_SECONDS)


def _lives(pid: int, start_time: int, run: Run) -> bool:
    return is_alive(Identity(pid, start_time, run.process.boot))


def _send(members: Members, number: int) -> None:
    for pid, start_time in members:
        send(pid, start_time, number)


def _group(process: Identity, ours: Members) -> Members:
    among = table()
    return {each for each in ours if (entry := among.get(each[0])) is not None and entry.group == process.pid}


def _members(run_folder: Path, run: Run) -> Members:
    """Living processes of the run but its keeper."""
    found = find(run_folder, run.process.nonce)
    ours = {(each.identity.pid, each.identity.start_time) for each in found if not each.keeper}
    among = table()
    below: list[Entry] = []
    if is_alive(run.process):  # then its session and its group are no stranger's
        below += [entry for entry in among.values() if run.keeper.pid and entry.session == run.keeper.pid]
        below += [entry for entry in among.values() if entry.group == run.process.pid]
        below += descendants(run.process.pid, among)
    if is_alive(run.keeper):
        below += descendants(run.keeper.pid, among)
    ours |= {(entry.pid, entry.start_time) for entry in below if entry.alive}
    return {each for each in ours if each[0] not in (os.getpid(), run.keeper.pid)}
