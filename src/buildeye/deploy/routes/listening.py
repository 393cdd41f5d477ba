"""What every route does with listening sockets: take them over, hand them on, clear their queues."""

import contextlib
import os
import select
import socket
import struct
from collections.abc import Iterator, Sequence

from buildeye.model import OutsideError


def took_over(taken: Sequence[int], family: socket.AddressFamily | None = None) -> list[socket.socket]:
    """Sockets from descriptors that came from elsewhere; from then on they are the sockets'.

    OutsideError: one is no listening stream socket (of this family); all are closed then.
    """
    made = [one for descriptor in taken if (one := _socket_of(descriptor)) is not None]
    if len(made) < len(taken) or not all(listens(one) and family in {None, one.family} for one in made):
        for one in made:
            one.close()
        raise OutsideError(
            "what an earlier supervisor left are not the listening sockets of this service: "
            "stop its processes, then start it anew"
        )
    for one in made:
        one.set_inheritable(False)
    return made


@contextlib.contextmanager
def closed_on_error(members: Sequence[socket.socket]) -> Iterator[None]:
    """Close all when what is done with them fails."""
    try:
        yield
    except BaseException:
        for member in members:
            member.close()
        raise


def inheritable(member: socket.socket) -> list[int]:
    """The descriptor as a fresh process expects it: blocking, whatever the one before made of it."""
    os.set_blocking(member.fileno(), True)
    return [member.fileno()]


def refuse_waiting(member: socket.socket) -> int:
    """Reset all connections that wait in a queue; how many. Only where no process accepts from it."""
    count = 0
    while ready([member], 0):
        try:
            connection, _ = member.accept()
        except OSError:
            break
        with connection:
            if member.family != socket.AF_UNIX:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            count += 1
    return count


def ready(members: Sequence[socket.socket], seconds: float) -> list[socket.socket]:
    """Those in whose queue a connection waits, after at most so many seconds; descriptors may be any number."""
    waiting = select.poll()
    for member in members:
        waiting.register(member, select.POLLIN)
    found = {descriptor for descriptor, _ in waiting.poll(seconds * 1000)}
    return [member for member in members if member.fileno() in found]


def _socket_of(descriptor: int) -> socket.socket | None:
    try:
        return socket.socket(fileno=descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        return None


def listens(one: socket.socket) -> bool:
    """Whether connections can still come in."""
    return bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
