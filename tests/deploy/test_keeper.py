"""The keeper: what it gives its command, what it holds, what it leaves on disk, and when it goes."""

import os
import resource
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from buildeye.deploy.processes.applog import bound, open_log
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.processes.identity import is_alive
from buildeye.deploy.processes.launch import adopt, launch, reap
from buildeye.deploy.processes.statefile import read_state
from buildeye.model import OutsideError

from .running import CLOCK, Running, eventually, python

INTERNAL = 1 << 31 | 1 << 32  # signals 32 and 33 belong to the C library
HOLDS_CONNECTIONS = """
import socket, time
door = socket.socket(fileno=3)
held = []
while True:
    held.append(door.accept()[0])
    print("accepted", flush=True)
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    under = Running(tmp_path)
    try:
        yield under
    finally:
        under.end()


@pytest.fixture
def doors() -> Iterator[list[socket.socket]]:
    with ExitStack() as opened:
        yield [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]


def finished(running: Running, nonce: str) -> None:
    eventually(lambda: read_state(running.folder(nonce) / "exit.json")[0] is not None, "exit.json")


def port(door: socket.socket) -> int:
    return int(door.getsockname()[1])


def test_a_command_gets_its_slots_socket_as_descriptor_3_and_nothing_else(
    running: Running, doors: list[socket.socket]
) -> None:
    script = (
        "import os, socket\n"
        "s = socket.socket(fileno=3)\n"
        "fds = sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1]\n"
        "e = os.environ\n"
        "print(s.getsockname()[1], e['LISTEN_FDS'], int(e['LISTEN_PID']) == os.getpid(), fds)\n"
        "print(os.getpgrp() == os.getpid(), os.getcwd(), e['BUILD_EYE_NONCE'], e['COLOR'], 'BUILD_EYE_KEEPER' in e)\n"
    )
    stray = os.pipe()
    for fd in stray:
        os.set_inheritable(fd, True)
    try:
        running.start("n", python(script), [each.fileno() for each in doors], {"COLOR": "blue"}, slot=2)
        finished(running, "n")
    finally:
        for fd in stray:
            os.close(fd)
    first, second = running.log("n").splitlines()
    assert first == f"{port(doors[2])} 1 True [0, 1, 2, 3]"
    assert second == f"True {running.root} n blue False"


def test_a_command_without_a_socket_gets_no_listen_variables(running: Running) -> None:
    running.start("n", python("import os; print([n for n in os.environ if n.startswith('LISTEN')])"))
    finished(running, "n")
    assert running.log("n") == "[]\n"


def test_a_secret_of_the_environment_stands_in_no_file_and_no_argument(running: Running) -> None:
    run = running.start("n", environment={"TOKEN": "s3cr3t-value"})
    for folder, _, names in os.walk(running.root):
        for name in names:
            path = Path(folder, name)
            if stat.S_ISREG(path.stat().st_mode):
                assert b"s3cr3t-value" not in path.read_bytes(), path
    for pid in (run.process.pid, run.keeper.pid):
        assert b"s3cr3t-value" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert b"s3cr3t-value" not in Path(f"/proc/{run.keeper.pid}/environ").read_bytes()
    assert b"s3cr3t-value" in Path(f"/proc/{run.process.pid}/environ").read_bytes()


def test_a_command_has_the_default_signal_handling_whatever_its_supervisor_ignores(running: Running) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        run = running.start("n", ["sleep", "600"])
    finally:
        signal.signal(signal.SIGCHLD, before)
    fields = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{run.process.pid}/status").read_text().splitlines()
        if ":\t" in line
    )
    assert int(fields["SigIgn"], 16) & ~INTERNAL == 0
    assert int(fields["SigBlk"], 16) == 0
    KeeperClient(running.folder("n")).stop(signal.SIGTERM, 30)
    finished(running, "n")
    adopted = adopt(running.folder("n"), "n", CLOCK)
    assert adopted is not None
    assert adopted.exit is not None
    assert adopted.exit.code == -signal.SIGTERM


def test_names_and_values_that_are_no_text_reach_the_command(running: Running, tmp_path: Path) -> None:
    running.root = tmp_path / os.fsdecode(b"gr\xc3\xb6\xc3\x9fe \xff")
    running.root.mkdir()
    script = "import os; os.write(1, os.environb[b'ODD'] + b' ' + os.getcwdb())"
    running.start("n", python(script), environment={"ODD": os.fsdecode(b"\xfe\xe4=x\n")})
    finished(running, "n")
    assert (running.root / "n.log").read_bytes() == b"\xfe\xe4=x\n " + os.fsencode(running.root)


@pytest.mark.parametrize(
    ("script", "code", "core"),
    [
        ("pass", 0, False),
        ("import os; os._exit(7)", 7, False),
        ("import os; os._exit(255)", 255, False),
        ("import os; os.kill(os.getpid(), 9)", -9, False),
        ("import os; os.kill(os.getpid(), 15)", -15, False),
    ],
)
def test_the_exit_code_stands_in_exit_json(running: Running, script: str, code: int, core: bool) -> None:
    running.start("n", python(script))
    finished(running, "n")
    run = adopt(running.folder("n"), "n", CLOCK)
    assert run is not None
    assert run.exit is not None
    assert (run.exit.code, run.exit.core, run.exit.start_error, run.exit.stopped) == (code, core, "", False)
    assert run.exit.at is not None
    assert run.exit.at.since(run.started) >= 0
    assert run.exit.at.ticks >= run.started.ticks


def test_a_keeper_without_sockets_leaves_when_its_command_has_ended(running: Running) -> None:
    run = running.start("n", python("pass"))
    eventually(lambda: reap(run.keeper), "the keeper's end")
    assert running.living() == []


def test_a_program_that_cannot_run_is_a_sentence(running: Running, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, (command, says) in enumerate(
        [
            ("no-such-program", "does not exist"),
            (str(plain), "may not be run"),
            (str(script), "interpreter"),
            (str(folder), "may not be run"),
        ]
    ):
        run = running.start(f"n{number}", [command])
        assert run.exit is not None
        assert run.exit.code == 127
        assert command in run.exit.start_error
        assert says in run.exit.start_error
        eventually(lambda keeper=run.keeper: reap(keeper), "the keeper's end")  # type: ignore[misc]
        assert adopt(running.folder(f"n{number}"), f"n{number}", CLOCK) == run
    assert running.living() == []


def test_a_missing_directory_is_a_sentence(running: Running, tmp_path: Path) -> None:
    running.root = tmp_path / "gone"
    running.root.mkdir()
    log = tmp_path / "log"
    run = launch(["true"], tmp_path / "nowhere", {}, running.folder("n"), [], "n", log, CLOCK)
    assert run.exit is not None
    assert "directory" in run.exit.start_error
    assert "nowhere" in run.exit.start_error


def test_nothing_runs_when_the_disk_takes_no_file(running: Running) -> None:
    """No disk: the limit of 0 bytes a file makes every write fail as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    held = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(OutsideError, match="no process"):
            running.start("n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, held)
    assert running.living() == []
    assert adopt(running.folder("n"), "n", CLOCK) is None


def test_its_sockets_outlive_the_command_and_the_one_who_started_it(
    running: Running, doors: list[socket.socket]
) -> None:
    run = running.start("n", python("pass"), [each.fileno() for each in doors])
    finished(running, "n")
    ports = [port(door) for door in doors]
    for door in doors:
        door.close()
    client = KeeperClient(running.folder("n"))
    for number in ports:
        socket.create_connection(("127.0.0.1", number), timeout=10).close()
    taken = [socket.socket(fileno=fd) for fd in client.sockets()]
    assert [port(each) for each in taken] == ports
    assert not any(each.get_inheritable() for each in taken)
    assert client.leave()
    eventually(lambda: reap(run.keeper), "the keeper's end")
    socket.create_connection(("127.0.0.1", ports[0]), timeout=10).close()
    for each in taken:
        each.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ports[0]), timeout=10)


def test_a_keeper_does_not_leave_a_living_command(running: Running, doors: list[socket.socket]) -> None:
    run = running.start("n", sockets=[doors[0].fileno()])
    client = KeeperClient(running.folder("n"))
    assert not client.leave()
    os.kill(run.keeper.pid, signal.SIGTERM)
    os.kill(run.keeper.pid, signal.SIGHUP)
    os.kill(run.keeper.pid, signal.SIGINT)
    status = client.status()
    assert status.exit is None
    assert status.left == 1
    assert status.facts["pid"] == run.process.pid


def test_a_keeper_that_nobody_asks_leaves_in_the_end(running: Running, doors: list[socket.socket]) -> None:
    run = running.start("n", python("pass"), [doors[0].fileno()], linger_seconds=0.2)
    eventually(lambda: reap(run.keeper), "the keeper's end")
    assert adopt(running.folder("n"), "n", CLOCK) is not None


def test_a_long_run_folder_is_no_trouble_for_the_socket(tmp_path: Path) -> None:
    running = Running(tmp_path / ("long" * 40))
    running.root.mkdir()
    try:
        running.start("n")
        assert KeeperClient(running.folder("n")).status().left == 1
        mode = (running.folder("n") / "keeper.sock").stat().st_mode
        assert stat.S_IMODE(mode) == 0o600
    finally:
        running.end()


def test_a_silent_or_talkative_stranger_does_not_hold_up_the_keeper(running: Running) -> None:
    running.start("n")
    client = KeeperClient(running.folder("n"))
    with ExitStack() as opened:
        for _ in range(100):
            opened.enter_context(client._connect())
        talker = opened.enter_context(client._connect())
        for text in (b"{", b"[]", b'{"do": "cut", "ports": ["x"]}', b'{"do": "stop"}', b'{"do": "nothing"}'):
            with client._connect() as each:
                each.send(text)
        talker.send(b"\xff")
        assert client.status().left == 1


def test_what_a_command_leaves_behind_is_ended_with_it(running: Running) -> None:
    script = (
        "import os, signal, time\n"
        "for kind in range(3):\n"
        "    if os.fork() == 0:\n"
        "        if kind > 0: os.setsid()\n"
        "        if kind > 1:\n"
        "            if os.fork(): os._exit(0)\n"
        "            os.execve('/bin/sleep', ['sleep', '601'], {})\n"
        "        print('left', flush=True)\n"
        "        time.sleep(600)\n"
        "time.sleep(0.2)\n"
        "os._exit(3)\n"
    )
    run = running.start("n", python(script))
    eventually(lambda: reap(run.keeper), "the keeper's end")
    assert running.living() == []
    adopted = adopt(running.folder("n"), "n", CLOCK)
    assert adopted is not None
    assert adopted.exit is not None
    assert adopted.exit.code == 3


def test_connections_are_counted_and_cut_on_the_ports_that_are_meant(
    running: Running, doors: list[socket.socket]
) -> None:
    """Scenario 33: what the end of a drain needs."""
    running.start("a", python(HOLDS_CONNECTIONS), [each.fileno() for each in doors], slot=0)
    running.start("b", python(HOLDS_CONNECTIONS), [each.fileno() for each in doors], slot=1)
    client = KeeperClient(running.folder("a"))
    with ExitStack() as opened:
        clients = [
            opened.enter_context(socket.create_connection(door.getsockname(), timeout=30))
            for door in (doors[0], doors[0], doors[1])
        ]
        eventually(lambda: running.log("a").count("accepted") == 2 and running.log("b").count("accepted") == 1)
        assert client.connections([port(doors[0])]) == 2
        assert client.connections([port(doors[1]), port(doors[2])]) == 0
        assert client.cut([port(doors[1])]) == (0, 0)
        assert client.cut([port(doors[0]), port(doors[1])]) == (2, 0)
        assert [each.recv(1) for each in clients[:2]] == [b"", b""]
        clients[2].settimeout(0.05)
        with pytest.raises(TimeoutError):
            clients[2].recv(1)
        assert client.connections([port(doors[0])]) == 0


def test_connections_on_a_unix_socket_are_counted_and_cut(running: Running, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(path)
        door.listen()
        running.start("n", python(HOLDS_CONNECTIONS), [door.fileno()])
        client = KeeperClient(running.folder("n"))
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(path)
            eventually(lambda: running.log("n").count("accepted") == 1)
            assert client.connections(paths=[path]) == 1
            assert client.cut(paths=[path]) == (1, 0)
            assert connection.recv(1) == b""


def test_a_log_that_grows_too_long_starts_anew_with_one_previous(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    log = open_log(path)
    try:
        os.write(log, b"old" * 10)
        assert not bound(log, path, 30)
        os.write(log, b"!")
        assert bound(log, path, 30)
        os.write(log, b"new")
        assert Path(path).read_bytes() == b"new"
        assert Path(path + ".1").read_bytes() == b"old" * 10 + b"!"
    finally:
        os.close(log)


def test_the_keeper_bounds_the_log_of_a_living_command(running: Running) -> None:
    running.start(
        "n", python("import time\nwhile True: print('x' * 999, flush=True); time.sleep(0.01)"), log_bytes=1000
    )
    kept = running.root / "n.log.1"
    eventually(lambda: KeeperClient(running.folder("n")).answers() and kept.exists(), "the previous log")
    assert running.commands("n")


def test_a_keeper_that_is_gone_is_a_sentence(running: Running) -> None:
    run = running.start("n", python("pass"))
    eventually(lambda: reap(run.keeper), "the keeper's end")
    client = KeeperClient(running.folder("n"))
    assert not client.answers()
    with pytest.raises(OutsideError, match="does not answer"):
        client.status()
    assert not is_alive(run.keeper)
