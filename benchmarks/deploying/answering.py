"""One process that answers for very many: health of each version whose socket it was handed, and everybody's rate.

Run as `python -m benchmarks.deploying.answering DOOR`; see handing.py. It prints the port of the rate endpoint.
"""

import asyncio
import os
import socket
import sys

_RATE = b'{"good": 18, "total": 20}'


class _Answer(asyncio.Protocol):
    """One request, one answer, and the connection is closed."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if data.endswith(b"\r\n\r\n"):
            self._transport.write(self._answer)
            self._transport.close()


def _said(body: bytes, *headers: str) -> bytes:
    head = "".join(f"{header}\r\n" for header in (*headers, f"Content-Length: {len(body)}", "Connection: close"))
    return f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + body


async def main(path: str) -> None:
    """Answer until ended."""
    loop = asyncio.get_running_loop()
    door = socket.socket(socket.AF_UNIX)
    door.bind(path)
    door.listen(2048)
    door.setblocking(False)
    rate = await loop.create_server(lambda: _Answer(_said(_RATE)), "127.0.0.1", 0, backlog=2048)
    print(rate.sockets[0].getsockname()[1], flush=True)
    while True:
        comer, _ = await loop.sock_accept(door)
        await loop.run_in_executor(None, comer.setblocking, True)
        nonce, fds, _, _ = await loop.run_in_executor(None, socket.recv_fds, comer, 1024, 1)
        said = _said(b"ok", f"X-Build-Eye-Nonce: {nonce.decode()}")
        await loop.create_server(lambda said=said: _Answer(said), sock=socket.socket(fileno=fds[0]))  # type: ignore[misc]
        comer.send(b"!")
        comer.close()


if __name__ == "__main__":
    os.umask(0o177)
    asyncio.run(main(sys.argv[1]))
