"""A service for tests, up within milliseconds: what it answers stands in a file that the test writes.

Run as a file, by the standard library alone: `python -I -S tinyservice.py FOLDER VERSION`. It serves the socket it is
handed (LISTEN_FDS). FOLDER/VERSION.json may hold: health and canary (status codes, default 200), slow (seconds before
an answer), exit (ends with this code as soon as it is read), echo (false: no nonce), redirect.
SHOWN_NONCE in its environment is shown in place of its own nonce.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from typing import Any

FOLDER, VERSION = sys.argv[1], sys.argv[2]
NONCE = os.environ.get("SHOWN_NONCE") or os.environ.get("BUILD_EYE_NONCE", "")


def behaviour() -> "dict[str, Any]":
    """What the test wants now."""
    with contextlib.suppress(OSError, ValueError), open(f"{FOLDER}/{VERSION}.json", encoding="utf-8") as file:  # noqa: PTH123
        return dict(json.load(file))
    return {}


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request, one answer, and the connection is closed."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, IndexError):
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode()
        wanted = behaviour()
        await asyncio.sleep(float(wanted.get("slow", 0)))
        if path.startswith("/work"):
            await asyncio.sleep(float(path.partition("=")[2] or 0))
        status = {"/health": wanted.get("health", 200), "/canary": wanted.get("canary", 200)}.get(path, 200)
        body = VERSION.encode()
        echo = f"X-Build-Eye-Nonce: {NONCE}\r\n" if wanted.get("echo", True) else ""
        moved = "Location: /\r\n" if wanted.get("redirect") else ""
        said = f"HTTP/1.1 {status} .\r\nContent-Length: {len(body)}\r\n{echo}{moved}Connection: close\r\n\r\n"
        writer.write(said.encode() + body)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()
        await writer.wait_closed()


async def look_for_the_end() -> None:
    """End with the code the test asks for."""
    while True:
        if (code := behaviour().get("exit")) is not None:
            os._exit(int(code))
        await asyncio.sleep(0.01)


async def main() -> None:
    """Serve until SIGTERM."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    listening = socket.socket(fileno=3)
    server = await (
        asyncio.start_unix_server(answer, sock=listening)
        if listening.family == socket.AF_UNIX
        else asyncio.start_server(answer, sock=listening)
    )
    looking = asyncio.create_task(look_for_the_end())
    await ended.wait()
    looking.cancel()
    server.close()


asyncio.run(main())
