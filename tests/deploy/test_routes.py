"""Routes: the public address leads to one slot, each slot can be asked alone, and a switch loses nothing."""

import contextlib
import os
import random
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from buildeye.deploy.address import Address
from buildeye.deploy.routes import Route, route_for
from buildeye.deploy.routes.commands import CommandRoute
from buildeye.deploy.routes.files import FileRoute
from buildeye.deploy.routes.listening import ready
from buildeye.deploy.routes.ports import PortRoute
from buildeye.deploy.routes.privateports import PrivatePorts
from buildeye.deploy.routes.record import read_record, write_record
from buildeye.deploy.routes.unixsockets import UnixRoute
from buildeye.model import OutsideError, UsageError
from tests.deploy.example import connected, rest_of

KINDS = ("port", "unix", "file", "command", "asking command")


@dataclass
class Listening:
    """The `listen` section of a deploy.yaml."""

    host: str = "127.0.0.1"
    port: int | None = None
    socket: str = ""
    switch_command: list[str] = field(default_factory=list)
    current_command: list[str] = field(default_factory=list)
    switch_file: str = ""


def made(kind: str, folder: Path) -> Route:
    run_root = folder / "run"
    run_root.mkdir(exist_ok=True)
    switch = ["sh", "-c", f"echo $BUILD_EYE_PORT > {folder}/proxy"]
    match kind:
        case "port":
            return PortRoute("127.0.0.1", 0, run_root)
        case "unix":
            return UnixRoute(folder / "public.sock", run_root)
        case "file":
            return FileRoute(folder / "upstream", run_root)
        case "command":
            return CommandRoute(switch, run_root)
        case _:
            return CommandRoute(switch, run_root, current_command=["cat", f"{folder}/proxy"])


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.contextmanager
def opened(route: Route, taken: list[int] | None = None) -> Iterator[Route]:
    route.open(taken or ())
    try:
        yield route
    finally:
        route.close()


@contextlib.contextmanager
def answering(route: Route) -> Iterator[None]:
    """A thread that answers each connection with the number of the slot it came in by."""
    doors = [socket.socket(fileno=os.dup(descriptor)) for descriptor in route.sockets()]
    over = threading.Event()

    def answer() -> None:
        while not over.is_set():
            for door in ready(doors, 0.02):
                with door.accept()[0] as one:
                    one.sendall(str(doors.index(door)).encode())

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for door in doors:
            door.close()


def slot_at(address: Address) -> int:
    with connected(address) as one:
        return int(rest_of(one))


def held(route: Route) -> list[int]:
    """What a keeper would hand out."""
    return [os.dup(descriptor) for descriptor in route.sockets()]


def test_the_public_address_leads_to_the_current_slot_and_each_slot_is_asked_alone(kind: str, tmp_path: Path) -> None:
    with opened(made(kind, tmp_path)) as route, answering(route):
        for slot in (0, 2, 2, 3, 1, 0):
            route.switch(slot, "v1")
            assert route.current() == slot
            assert {slot_at(route.public) for _ in range(20)} == {slot}
            assert [slot_at(route.private(one)) for one in route.slots()] == [0, 1, 2, 3]


def test_nothing_is_current_before_the_first_switch(kind: str, tmp_path: Path) -> None:
    if kind == "asking command":
        (tmp_path / "proxy").write_text("nothing yet\n")
    with opened(made(kind, tmp_path)) as route:
        assert route.current() is None


def test_a_route_taken_over_leads_where_it_led_before(kind: str, tmp_path: Path) -> None:
    with opened(made(kind, tmp_path)) as first:
        first.switch(2)
        kept = held(first)
        before = first.private(1), first.public
    with opened(made(kind, tmp_path), kept) as second, answering(second):
        assert second.current() == 2
        assert slot_at(second.public) == 2
        assert (second.private(1), second.public) == before


def test_a_connection_that_waits_when_the_route_is_switched_is_served_by_its_slot(kind: str, tmp_path: Path) -> None:
    with opened(made(kind, tmp_path)) as route:
        route.switch(1)
        with connected(route.public) as waiting:
            route.switch(2)
            with answering(route):
                assert rest_of(waiting) == b"1"
                assert slot_at(route.public) == 2


def test_clients_that_wait_in_a_slot_nobody_serves_are_turned_away(kind: str, tmp_path: Path) -> None:
    with opened(made(kind, tmp_path)) as route:
        route.switch(3)
        with connected(route.public) as one, connected(route.private(3)) as other:
            assert [route.turn_away(slot) for slot in route.slots()] == [0, 0, 0, 2]
            for waiting in (one, other):
                with contextlib.suppress(ConnectionResetError):
                    assert waiting.recv(1) == b""


def test_a_process_gets_a_blocking_socket_whatever_the_one_before_made_of_it(kind: str, tmp_path: Path) -> None:
    with opened(made(kind, tmp_path)) as route:
        os.set_blocking(route.sockets()[2], False)
        assert [os.get_blocking(descriptor) for descriptor in route.sockets_for(2)] == [True]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "::"])
def test_a_port_is_shared_at_every_kind_of_host(host: str, tmp_path: Path) -> None:
    if host == "::" and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with opened(PortRoute(host, 0, tmp_path)) as route, answering(route):
        route.switch(3)
        assert slot_at(route.public) == 3
        assert [slot_at(route.private(one)) for one in route.slots()] == [0, 1, 2, 3]
        if host == "::":
            assert slot_at(Address("::1", route.port(0) or 0, source="::1")) == 3


def test_who_connects_before_the_first_version_waits_in_slot_0(tmp_path: Path) -> None:
    with opened(PortRoute("127.0.0.1", 0, tmp_path)) as route, connected(route.public) as early, answering(route):
        assert rest_of(early) == b"0"


def test_sockets_handed_out_in_another_order_are_put_in_order(tmp_path: Path) -> None:
    with opened(PortRoute("127.0.0.1", 0, tmp_path)) as first:
        first.switch(1)
        one, two, three, four = held(first)
    with opened(PortRoute("127.0.0.1", 0, tmp_path), [three, one, four, two]) as second, answering(second):
        assert [slot_at(second.private(slot)) for slot in second.slots()] == [0, 1, 2, 3]


def test_a_switch_that_a_crash_left_undone_is_done_when_the_route_is_opened_again(tmp_path: Path) -> None:
    with opened(PortRoute("127.0.0.1", 0, tmp_path)) as first:
        first.switch(1)
        record = read_record(tmp_path / "route.json")
        assert record is not None
        write_record(tmp_path / "route.json", record | {"slot": 2})
        kept = held(first)
    with opened(PortRoute("127.0.0.1", 0, tmp_path), kept) as second, answering(second):
        assert (second.current(), slot_at(second.public)) == (2, 2)


@pytest.mark.parametrize("kind", ["port", "unix", "file"])
def test_wherever_a_switching_process_is_killed_the_route_leads_where_it_says(kind: str, tmp_path: Path) -> None:
    """Part of scenario 17: the supervisor is killed with -9 at any step of a switch."""
    chance = random.Random(5)
    with opened(made(kind, tmp_path)) as first:
        first.switch(0)
        for _ in range(25):
            child = os.fork()
            if child == 0:
                while True:
                    for slot in (1, 2, 3, 0):
                        first.switch(slot)
            time.sleep(chance.uniform(0.001, 0.02))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            with opened(made(kind, tmp_path), held(first)) as second, answering(second):
                assert second.current() == slot_at(second.public)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file, record: file.write_text(file.read_text()[:-20]),
        lambda file, record: file.write_text(file.read_text().replace('"slot":1', '"slot":2')),
        lambda file, record: file.unlink(),
        lambda file, record: write_record(file, record | {"boot": "another"}),
        lambda file, record: write_record(file, record | {"cookies": [1, 2, 3, 4]}),
        lambda file, record: write_record(file, record | {"slot": 9}),
    ],
    ids=["torn", "changed", "gone", "another boot", "other sockets", "no such slot"],
)
def test_a_record_that_cannot_be_trusted_says_nothing(
    spoil: Callable[[Path, dict[str, object]], object], tmp_path: Path
) -> None:
    """Scenario 29, for the state of a route."""
    file = tmp_path / "route.json"
    with opened(PortRoute("127.0.0.1", 0, tmp_path)) as first:
        first.switch(1)
        spoil(file, read_record(file) or {})
        kept = held(first)
    with opened(PortRoute("127.0.0.1", 0, tmp_path), kept) as second, answering(second):
        assert second.current() is None
        assert slot_at(second.public) == 1
        second.switch(3)
        assert (second.current(), slot_at(second.public)) == (3, 3)


@pytest.mark.parametrize("shares", [False, True], ids=["alone", "sharing"])
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::"])
def test_a_port_in_use_names_who_uses_it_and_what_to_do(host: str, shares: bool, tmp_path: Path) -> None:
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shares)
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, shares)
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        with pytest.raises(OutsideError, match=rf"is used by process {os.getpid()} \(.+\): stop it, or set another"):
            PortRoute(host, stranger.getsockname()[1], tmp_path).open()


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("203.0.113.77", "is no address of this machine"),
        ("::1", "IPv6 only"),
        ("no-such-host.invalid", "has no IPv4 address"),
    ],
)
def test_a_host_that_cannot_be_listened_at_is_told(host: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        PortRoute(host, 0, tmp_path).open()


def test_sockets_of_another_port_are_not_taken_over(tmp_path: Path) -> None:
    with opened(PortRoute("127.0.0.1", 0, tmp_path)) as first:
        kept = held(first)
        with pytest.raises(UsageError, match="stop it before its port is changed"):
            PortRoute("127.0.0.1", 9, tmp_path).open(kept)
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(kept[0])


@pytest.mark.parametrize("kind", ["port", "unix", "file"])
def test_what_is_no_listening_socket_is_not_taken_over(kind: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with pytest.raises(OutsideError, match="left are not the listening sockets"):
        made(kind, tmp_path).open([reading])
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(reading)


def test_a_switch_is_refused_when_an_application_shut_its_socket_down(tmp_path: Path) -> None:
    with opened(PortRoute("127.0.0.1", 0, tmp_path)) as route:
        route.switch(1)
        with socket.socket(fileno=os.dup(route.sockets()[2])) as theirs:
            theirs.shutdown(socket.SHUT_RDWR)
        with pytest.raises(OutsideError, match=r"slot 2 of port .* listens no more"):
            route.switch(3)


def test_a_switch_that_cannot_be_recorded_is_not_made(tmp_path: Path) -> None:
    with opened(made("port", tmp_path)) as route, answering(route):
        route.switch(1)
        shutil.rmtree(tmp_path / "run")
        with pytest.raises(OutsideError, match="cannot be written to"):
            route.switch(2)
        assert slot_at(route.public) == 1


def test_a_socket_path_longer_than_linux_allows_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has \d+ bytes, Linux allows 107"):
        UnixRoute(tmp_path / ("x" * 100), tmp_path)


def test_a_public_path_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "public.sock").write_text("precious")
    with pytest.raises(UsageError, match="is there and no socket"):
        made("unix", tmp_path).open()
    assert (tmp_path / "public.sock").read_text() == "precious"


def test_a_public_path_in_use_names_who_uses_it(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(tmp_path / "public.sock"))
        stranger.listen()
        with pytest.raises(OutsideError, match=rf"is used by process {os.getpid()} "):
            made("unix", tmp_path).open()


def test_socket_files_nobody_listens_at_are_bound_anew(tmp_path: Path) -> None:
    with opened(made("unix", tmp_path)) as first:
        first.switch(1)
    with opened(made("unix", tmp_path)) as second:
        assert second.current() is None


@pytest.mark.parametrize("said", ["2", "{port}", "127.0.0.1:{port}", "serving from\\n{port}"])
def test_a_current_command_may_print_slot_port_or_address(said: str, tmp_path: Path) -> None:
    file = tmp_path / "said"
    with opened(CommandRoute(["true"], tmp_path, current_command=["cat", str(file)])) as route:
        file.write_text(said.replace("\\n", "\n").format(port=route.port(2)))
        assert route.current() == 2


def test_a_current_command_that_fails_is_told(tmp_path: Path) -> None:
    with (
        opened(CommandRoute(["true"], tmp_path, current_command=["sh", "-c", "echo no proxy; exit 1"])) as route,
        pytest.raises(OutsideError, match=r"listen\.current_command: sh ended with 1: no proxy"),
    ):
        route.current()


@pytest.mark.parametrize("kind", ["port", "unix"])
def test_a_candidate_gets_no_client_who_waited_for_a_version_that_died_in_its_slot(kind: str, tmp_path: Path) -> None:
    with opened(made(kind, tmp_path)) as route:
        route.switch(1)
        with connected(route.public) as stale:
            route.switch(0)
            with connected(route.public) as current:
                route.sockets_for(1)
                route.sockets_for(0)
                with contextlib.suppress(ConnectionResetError):
                    assert stale.recv(1) == b""
                with answering(route):
                    assert rest_of(current) == b"0"


def test_a_switch_leaves_no_other_file_beside_the_public_path(tmp_path: Path) -> None:
    with opened(made("unix", tmp_path)) as route:
        for slot in (1, 1, 2, 2):
            route.switch(slot)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["public.sock", "run"]


def test_a_switch_command_is_told_slot_port_address_and_version(tmp_path: Path) -> None:
    script = f'echo "$BUILD_EYE_SLOT $BUILD_EYE_PORT $BUILD_EYE_ADDRESS $BUILD_EYE_VERSION" > {tmp_path}/said'
    with opened(CommandRoute(["sh", "-c", script], tmp_path)) as route:
        route.switch(2, "v7")
        port = route.port(2)
        assert (tmp_path / "said").read_text() == f"2 {port} 127.0.0.1:{port} v7\n"


def test_a_switch_command_that_fails_gives_its_last_line_without_secrets(tmp_path: Path) -> None:
    fails = tmp_path / "fails"
    script = f"test -e {fails} || exit 0; echo working; echo 'refused: token=ghp_{'a' * 36}' >&2; exit 4"
    with opened(CommandRoute(["sh", "-c", script], tmp_path)) as route:
        route.switch(1)
        fails.touch()
        with pytest.raises(OutsideError, match=r"listen.switch_command: sh ended with 4: refused: ") as caught:
            route.switch(2)
        assert "aaaa" not in str(caught.value)
        assert route.current() == 1


def test_a_switch_command_that_does_not_end_is_killed_with_its_children_and_leaves_the_outcome_unknown(
    tmp_path: Path,
) -> None:
    hangs = tmp_path / "hangs"
    script = f"test -e {hangs} || exit 0; sleep 1000 & echo $! > {tmp_path}/child; wait"
    with opened(CommandRoute(["sh", "-c", script], tmp_path, seconds=1)) as route:
        route.switch(1)
        hangs.touch()
        with pytest.raises(OutsideError, match="did not end within 1 s"):
            route.switch(2)
        assert route.current() is None
    child = int((tmp_path / "child").read_text())
    stat = Path(f"/proc/{child}/stat")
    deadline = time.monotonic() + 10
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline


def test_a_switch_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    with (
        opened(CommandRoute(["no-such-program"], tmp_path)) as route,
        pytest.raises(OutsideError, match="no-such-program cannot be started"),
    ):
        route.switch(1)


def test_a_file_holds_the_address_as_it_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "upstream.conf"
    with opened(FileRoute(file, tmp_path, text="server {address}; # {port}\n")) as route:
        route.switch(1)
        port = route.port(1)
        assert file.read_text() == f"server 127.0.0.1:{port}; # {port}\n"
        assert route.environment(1) == {"PORT": str(port)}


def test_a_process_that_binds_its_port_itself_finds_it_free_and_the_same_after_a_restart(tmp_path: Path) -> None:
    ports = PrivatePorts(tmp_path, "port")
    ports.open()
    assert (ports.sockets(), ports.sockets_for(1)) == ([], [])
    with socket.socket() as theirs:
        theirs.bind(("127.0.0.1", ports.port(1)))
        again = PrivatePorts(tmp_path, "port")
        again.open()
    assert [again.port(slot) for slot in again.slots()] == [ports.port(slot) for slot in ports.slots()]


@pytest.mark.parametrize(
    ("listen", "kind"),
    [
        (Listening(port=8000), PortRoute),
        (Listening(port=8000, switch_command=["true"]), CommandRoute),
        (Listening(switch_file="upstream"), FileRoute),
        (Listening(socket="/run/example.sock"), UnixRoute),
    ],
)
def test_the_listen_section_chooses_the_route(listen: Listening, kind: type, tmp_path: Path) -> None:
    assert isinstance(route_for(listen, tmp_path / "run"), kind)


def test_a_listen_section_that_names_no_way_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"set listen\.port, socket"):
        route_for(Listening(), tmp_path)


def test_another_system_than_linux_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OutsideError, match="Linux only"):
        route_for(Listening(port=8000), tmp_path)
