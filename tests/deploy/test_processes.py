"""Who a process is, how it is held and stopped, and that a killed supervisor leaves no orphan and no second start."""

import contextlib
import itertools
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from buildeye.deploy.clock import Clock
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.processes.identity import Identity, identity_of, is_alive
from buildeye.deploy.processes.launch import adopt, is_free, reap
from buildeye.deploy.processes.pidfd import open_process
from buildeye.deploy.processes.statefile import read_state, write_state
from buildeye.deploy.processes.stop import Stopped, clear, stop
from buildeye.model import OutsideError, UsageError

from .running import CLOCK, SLEEPS, Running, eventually, python

IGNORES_TERM = python(
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)
LAUNCHER = """
import os, signal, sys, time
from pathlib import Path
from buildeye.deploy.clock import Clock
from buildeye.deploy.processes import launch as module

root = Path(sys.argv[1])
left = 0
seen = set()

def trace(frame, event, _):
    global left
    if frame.f_code.co_filename != module.__file__:
        return None
    if event == "line" and frame.f_lineno not in seen:
        seen.add(frame.f_lineno)
        left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return trace

for line in sys.stdin:
    nonce, step = line.split()
    pid = os.fork()
    if pid == 0:
        mark = root / (nonce + ".starts")
        command = ["sh", "-c", 'echo $$ >> "$0"; exec sleep 600', str(mark)]
        path = {"PATH": os.environ["PATH"]}
        left = int(step)
        sys.settrace(trace if left else None)
        module.launch(command, root, path, root / "runs" / nonce, [], nonce, root / (nonce + ".log"), Clock())
        sys.settrace(None)
        if left:
            os._exit(0)
        time.sleep(600)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Launcher:
    """A process that forks one supervisor after another, each of which launches a run."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def fork(self, nonce: str, step: int = 0) -> int:
        """The pid of a supervisor that launches, and is killed at that line of the launch (0: lives on)."""
        assert self.process.stdin is not None
        print(nonce, step, file=self.process.stdin, flush=True)
        return self._number()

    def ended(self) -> int:
        """The exit code of the last one, negative by signal."""
        return self._number()

    def _number(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


@pytest.fixture
def launcher(tmp_path: Path, running: "Running") -> Iterator[Launcher]:
    under = Launcher(tmp_path)
    try:
        yield under
    finally:
        under.process.kill()
        under.process.communicate()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    under = Running(tmp_path)
    try:
        yield under
    finally:
        under.end()


def child(code: int = 7) -> int:
    """A child of this process that ends at once, not reaped."""
    return os.posix_spawn("/bin/sh", ["sh", "-c", f"exit {code}"], dict(os.environ))


def mine() -> Identity:
    identity = identity_of(os.getpid())
    assert identity is not None
    return identity


def test_a_living_process_is_known_by_all_it_is(running: Running) -> None:
    run = running.start("n")
    assert identity_of(run.process.pid) == run.process
    assert run.process.nonce == "n"
    assert is_alive(run.process)
    assert is_alive(run.keeper)


def test_a_zombie_is_dead() -> None:
    """Scenario 16: kill(pid, 0) calls it alive."""
    pid = child()
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        os.kill(pid, 0)
        start = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        zombie = Identity(pid, start, mine().boot)
        assert not is_alive(zombie)
        assert identity_of(pid) is None
        assert open_process(zombie) is None
    finally:
        os.waitpid(pid, 0)


@pytest.mark.parametrize(
    "change", [{"start_time": 1}, {"boot": "another"}, {"nonce": "another"}, {"pid": 0}, {"pid": 2**30}]
)
def test_a_pid_reused_by_a_stranger_is_dead(running: Running, change: dict[str, int | str]) -> None:
    """Scenario 16."""
    run = running.start("n")
    other = replace(run.process, **change)  # type: ignore[arg-type]
    assert not is_alive(other)
    assert open_process(other) is None
    assert is_alive(run.process)


def test_a_stranger_with_a_reused_pid_gets_no_signal(running: Running) -> None:
    """Scenario 16: a run folder from before, whose pids now belong to others, is stopped and cleared."""
    stranger = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        running.folder("n").mkdir(parents=True)
        other = running.start("other")
        facts, _ = read_state(running.folder("other") / "process.json")
        assert isinstance(facts, dict)
        pids = {"pid": stranger.pid, "start_time": 1, "keeper_pid": stranger.pid, "keeper_start_time": 1, "nonce": "n"}
        write_state(running.folder("n") / "process.json", facts | pids)
        run = adopt(running.folder("n"), "n", CLOCK)
        assert run is not None
        assert run.exit is not None
        assert run.exit.code is None
        assert stop(running.folder("n"), "n", CLOCK) == Stopped(None, False)
        assert clear(running.folder("n"), "n", CLOCK) == Stopped(None, False)
        assert stranger.poll() is None
        assert is_alive(other.process)
    finally:
        stranger.kill()
        stranger.wait()


def test_the_end_of_a_process_that_is_no_child_wakes_a_poll(running: Running) -> None:
    run = running.start("n", python("import sys; sys.stdin.read(); import time; time.sleep(0.1)"))
    held = open_process(run.process)
    assert held is not None
    with held:
        poll = select.poll()
        poll.register(held, select.POLLIN)
        assert poll.poll(60_000)
        assert held.ended()
        assert not held.signal(signal.SIGTERM)
        assert held.reap() is None


def test_the_exit_code_of_a_child_reaped_elsewhere_is_unknown_and_never_0() -> None:
    """Scenario 15: `Popen.poll` calls it 0."""
    with subprocess.Popen(["sh", "-c", "read line; exit 7"], stdin=subprocess.PIPE) as child_process:
        identity = identity_of(child_process.pid)
        assert identity is not None
        held = open_process(identity)
        assert held is not None
        with held:
            assert child_process.stdin is not None
            child_process.stdin.close()
            assert os.waitstatus_to_exitcode(os.waitpid(child_process.pid, 0)[1]) == 7
            assert held.ended()
            assert held.reap() is None
            assert child_process.poll() == 0


def test_the_exit_code_of_a_child_is_its_own() -> None:
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 0.5; exit 7"], dict(os.environ))
    identity = identity_of(pid)
    assert identity is not None
    held = open_process(identity)
    assert held is not None
    with held:
        assert held.wait(60)
        assert held.reap() == 7
        assert held.reap() is None


def test_the_exit_code_is_unknown_when_the_keeper_died_before(running: Running) -> None:
    """Scenario 15: the command is reaped by init then."""
    run = running.start("n", python("import time; time.sleep(0.3); import os; os._exit(7)"))
    os.kill(run.keeper.pid, signal.SIGKILL)
    eventually(lambda: reap(run.keeper))
    again = adopt(running.folder("n"), "n", CLOCK)
    assert again is not None
    eventually(lambda: not is_alive(run.process))
    again = adopt(running.folder("n"), "n", CLOCK)
    assert again is not None
    assert again.exit is not None
    assert again.exit.code is None


def test_a_crash_and_a_restart_between_two_looks_are_two_runs_with_their_exits(running: Running) -> None:
    """Scenario 14: an exit is on disk, whenever somebody looks."""
    for number in (1, 2):
        run = running.start(f"n{number}", python(f"import os; os._exit({number})"))
        eventually(lambda keeper=run.keeper: reap(keeper))  # type: ignore[misc]
    running.start("n3")
    exits = []
    for number in (1, 2, 3):
        found = adopt(running.folder(f"n{number}"), f"n{number}", CLOCK)
        assert found is not None
        exits.append(found.exit.code if found.exit else "runs")
    assert exits == [1, 2, "runs"]


def test_a_running_process_is_adopted_as_it_was_started(running: Running) -> None:
    run = running.start("n")
    assert adopt(running.folder("n"), "n", CLOCK) == run


@pytest.mark.parametrize("file_lost", [False, True])
def test_the_slot_is_known_after_a_restart_also_without_sockets(running: Running, file_lost: bool) -> None:
    run = running.start("n", slot=2)
    if file_lost:
        os.kill(run.keeper.pid, signal.SIGKILL)
        eventually(lambda: reap(run.keeper))
        (running.folder("n") / "process.json").unlink()
    again = adopt(running.folder("n"), "n", CLOCK)
    assert again is not None
    assert (again.process, again.slot) == (run.process, 2)


def test_a_slot_without_a_socket_is_refused_when_others_have_one(running: Running) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door, pytest.raises(UsageError, match="slot 1"):
        running.start("n", sockets=[door.fileno()], slot=1)
    assert running.living() == []


def test_a_run_of_a_fast_clock_has_ticks_of_that_clock(running: Running) -> None:
    run = running.start("n")
    fast = adopt(running.folder("n"), "n", Clock(speed=60))
    assert fast is not None
    assert fast.started.ticks == pytest.approx(run.started.ticks * 60)


def test_what_was_never_started_is_none(running: Running) -> None:
    assert adopt(running.folder("n"), "n", CLOCK) is None
    running.folder("n").mkdir(parents=True)
    assert adopt(running.folder("n"), "n", CLOCK) is None
    (running.folder("n") / "lock").touch()
    assert adopt(running.folder("n"), "n", CLOCK) is None
    assert stop(running.folder("n"), "n", CLOCK) == Stopped(None, False)


def test_a_run_folder_starts_one_process_once(running: Running) -> None:
    """Scenario 17."""
    running.start("n")
    with pytest.raises(UsageError, match="already"):
        running.start("n")
    clear(running.folder("n"), "n", CLOCK)
    with pytest.raises(UsageError, match="already"):
        running.start("n")
    assert running.living() == []


def test_a_run_folder_of_another_nonce_is_refused(running: Running) -> None:
    running.start("n")
    with pytest.raises(OutsideError, match="another run"):
        adopt(running.folder("n"), "m", CLOCK)
    assert running.commands("n")


@pytest.mark.parametrize("keeper_lives", [True, False])
def test_a_run_whose_file_is_torn_is_found_all_the_same(running: Running, keeper_lives: bool) -> None:
    """Scenario 29: by its keeper, or by its environment."""
    run = running.start("n")
    (running.folder("n") / "process.json").write_bytes(b'{"pid": 1')
    if not keeper_lives:
        os.kill(run.keeper.pid, signal.SIGKILL)
        eventually(lambda: reap(run.keeper))
    again = adopt(running.folder("n"), "n", CLOCK)
    assert again is not None
    assert again.process == run.process
    assert "torn" in again.warning
    assert stop(running.folder("n"), "n", CLOCK).killed is False
    assert running.commands() == []


@pytest.mark.parametrize(
    ("keeper_lives", "command", "killed", "code"),
    [
        (True, SLEEPS, False, -15),
        (True, IGNORES_TERM, True, -9),
        (False, SLEEPS, False, None),
        (False, IGNORES_TERM, True, None),
    ],
)
def test_a_stop_asks_and_then_kills(
    running: Running, keeper_lives: bool, command: list[str], killed: bool, code: int | None
) -> None:
    run = running.start("n", command)
    if killed:
        eventually(lambda: "up" in running.log("n"))
    if not keeper_lives:
        os.kill(run.keeper.pid, signal.SIGKILL)
        eventually(lambda: reap(run.keeper))
    stopped = stop(running.folder("n"), "n", CLOCK, seconds=0.3 if killed else 30)
    assert stopped == Stopped(code, killed)
    assert running.commands() == []
    assert stop(running.folder("n"), "n", CLOCK).code == code


def test_a_keeper_that_hangs_does_not_hold_up_a_stop(running: Running) -> None:
    run = running.start("n")
    os.kill(run.keeper.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        stopping = threads.submit(stop, running.folder("n"), "n", CLOCK)
        eventually(lambda: not is_alive(run.process), "the end of the command")
        os.kill(run.keeper.pid, signal.SIGCONT)
        assert stopping.result() == Stopped(-15, False)


@pytest.mark.parametrize("keeper_lives", [True, False])
def test_a_stop_ends_the_whole_family(running: Running, keeper_lives: bool) -> None:
    script = (
        "import os, signal, time\n"
        "if os.fork() == 0:\n"
        "    signal.signal(15, signal.SIG_IGN)\n"
        "    if os.fork() == 0: os.setsid()\n"
        "    print('up', flush=True); time.sleep(600)\n"
        "time.sleep(600)\n"
    )
    run = running.start("n", python(script))
    eventually(lambda: running.log("n").count("up") == 2)
    assert len(running.commands()) == 3
    if not keeper_lives:
        os.kill(run.keeper.pid, signal.SIGKILL)
        eventually(lambda: reap(run.keeper))
    stopped = stop(running.folder("n"), "n", CLOCK, seconds=20)
    assert stopped.killed is False
    assert running.commands() == []


def test_a_stop_is_seen_through_when_the_one_who_asked_is_gone(running: Running) -> None:
    """Scenario 17."""
    run = running.start("n", IGNORES_TERM)
    eventually(lambda: "up" in running.log("n"))
    assert KeeperClient(running.folder("n")).stop(signal.SIGTERM, 0.2)
    eventually(lambda: reap(run.keeper))
    again = adopt(running.folder("n"), "n", CLOCK)
    assert again is not None
    assert again.exit is not None
    assert (again.exit.code, again.exit.stopped, again.exit.killed) == (-9, True, True)


def test_a_graceful_exit_code_survives_a_stop(running: Running) -> None:
    script = (
        "import signal, sys, time\nsignal.signal(15, lambda *_: sys.exit(5))\nprint('up', flush=True)\ntime.sleep(600)"
    )
    running.start("n", python(script))
    eventually(lambda: "up" in running.log("n"))
    assert stop(running.folder("n"), "n", CLOCK) == Stopped(5, False)


def test_a_lock_left_by_an_aborted_deploy_is_cleared_by_identity(running: Running) -> None:
    """Scenario 34."""
    bystander = running.start("m")
    running.start("n")
    assert not is_free(running.folder("n"))
    assert clear(running.folder("n"), "n", CLOCK) == Stopped(-15, False)
    assert is_free(running.folder("n"))
    assert running.living("n") == []
    assert is_alive(bystander.process)
    assert is_alive(bystander.keeper)


def test_a_lock_file_left_by_a_dead_supervisor_holds_up_nobody(running: Running) -> None:
    """Scenario 34."""
    running.folder("n").mkdir(parents=True)
    (running.folder("n") / "lock").write_text("12345")
    assert running.start("n").exit is None


def test_a_lock_held_by_a_stranger_is_left_alone(running: Running) -> None:
    """Scenario 34: the stranger is told of, never signalled."""
    running.folder("n").mkdir(parents=True)
    lock = running.folder("n") / "lock"
    stranger = subprocess.Popen(["flock", str(lock), "sleep", "600"], start_new_session=True)
    try:
        eventually(lambda: not is_free(running.folder("n")))
        with pytest.raises(OutsideError, match="another process"):
            running.start("n", patience_seconds=0.1)
        with pytest.raises(OutsideError, match="nothing is heard"):
            adopt(running.folder("n"), "n", CLOCK, patience_seconds=0.1)
        assert stranger.poll() is None
    finally:
        os.killpg(stranger.pid, signal.SIGKILL)
        stranger.wait()


def settle(running: Running, nonce: str) -> None:
    """What a restarted supervisor does: adopt, else start."""
    run = adopt(running.folder(nonce), nonce, CLOCK)
    mark = running.root / f"{nonce}.starts"
    if run is None:
        assert running.living(nonce) == []
        assert not mark.exists()
        command = ["sh", "-c", 'echo $$ >> "$0"; exec sleep 600', str(mark)]
        run = running.start(nonce, command)
    assert run.exit is None
    eventually(lambda: mark.exists() and mark.read_text().count("\n") >= 1, "the start")
    assert mark.read_text().split() == [str(run.process.pid)]
    assert running.commands(nonce) == [run.process.pid]
    assert len(running.living(nonce)) == 2
    clear(running.folder(nonce), nonce, CLOCK)
    assert running.living(nonce) == []
    assert mark.read_text().split() == [str(run.process.pid)]


def test_a_supervisor_killed_at_any_instant_of_a_launch_leaves_no_orphan_and_no_second_start(
    running: Running, launcher: Launcher
) -> None:
    """Scenario 17."""
    chance = random.Random(17)
    for number in range(30):
        nonce = f"k{number}"
        victim = launcher.fork(nonce)
        time.sleep(chance.uniform(0, 0.045))
        os.kill(victim, signal.SIGKILL)
        assert launcher.ended() == -signal.SIGKILL
        settle(running, nonce)


def test_a_supervisor_killed_at_each_line_of_a_launch_leaves_no_orphan_and_no_second_start(
    running: Running, launcher: Launcher
) -> None:
    """Scenario 17."""
    for step in itertools.count(1):
        nonce = f"k{step}"
        launcher.fork(nonce, step)
        code = launcher.ended()
        settle(running, nonce)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert step > 30


def test_a_keeper_killed_at_any_instant_of_a_launch_leaves_nothing_that_no_file_tells_of(running: Running) -> None:
    """Scenario 17: a launch whose keeper dies is an error, or a run that can be adopted and stopped."""
    chance = random.Random(18)

    def kill_keeper(nonce: str, after: float) -> None:
        eventually(lambda: bool(running.living(nonce)))
        time.sleep(after)
        for each in running.living(nonce):
            if each.keeper and (held := open_process(each.identity)) is not None:
                with held:
                    held.signal(signal.SIGKILL)

    with ThreadPoolExecutor(1) as threads:
        for number in range(30):
            nonce = f"k{number}"
            killing = threads.submit(kill_keeper, nonce, chance.uniform(0, 0.03))
            with contextlib.suppress(OutsideError):
                running.start(nonce)
            killing.result()
            for each in running.living(nonce):
                if each.keeper:
                    eventually(lambda keeper=each.identity: not is_alive(keeper))  # type: ignore[misc]
            run = adopt(running.folder(nonce), nonce, CLOCK)
            commands = running.commands(nonce)
            assert commands == ([run.process.pid] if run is not None and run.exit is None else [])
            clear(running.folder(nonce), nonce, CLOCK)
            assert running.living(nonce) == []
