"""`python -m buildeye.simulator.service --version v2 --behaviour crash`: one version of the example service.

It serves on the socket it is handed as descriptor 3 (LISTEN_FDS), else on 127.0.0.1 at --port. SIGUSR1 makes each
answer close its connection, SIGUSR2 ends that, SIGTERM finishes what is at hand and ends with 0.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Final

from buildeye.simulator.service.app import Service
from buildeye.simulator.service.behaviour import Behaviour, Fate, Life
from buildeye.simulator.service.tasks import Tasks

_FIRST_DESCRIPTOR: Final = 3
_BACKLOG: Final = 2048


def main() -> int:
    """Serve until SIGTERM; the exit code is 3 when the port cannot be used."""
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)  # they may come before the application is there
    asked = _arguments().parse_args()
    fate = Fate(**{name: getattr(asked, name) for name in Fate.__slots__})
    deployment = asked.deployment or os.environ.get("BUILD_EYE_DEPLOYMENT", "") or asked.version
    tasks = Tasks(asked.state, deployment, asked.seed) if asked.state else None
    service = Service(asked.version, os.environ.get("BUILD_EYE_NONCE", ""), Life(fate), tasks, asked.seed)
    try:
        door = _door(asked.port)
    except OSError as error:
        sys.stderr.write(f"port {asked.port} cannot be used ({error.strerror}): choose another with --port\n")
        return 3
    sys.stderr.write(f"version {asked.version} serves\n")
    asyncio.run(_serve(service, door, asked.grace))
    return 0


async def _serve(service: Service, door: socket.socket, grace: int) -> None:
    import uvicorn

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, setattr, service, "draining", True)
    loop.add_signal_handler(signal.SIGUSR2, setattr, service, "draining", False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn raises it once more when it is done; that must not end us
    service.begin(loop)
    config = uvicorn.Config(
        service,
        http="httptools",
        ws="none",
        lifespan="off",
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=grace,
    )
    with contextlib.suppress(KeyboardInterrupt):
        await uvicorn.Server(config).serve(sockets=[door])


def _door(port: int) -> socket.socket:
    if int(os.environ.get("LISTEN_FDS", "0")) > 0:
        return socket.socket(fileno=_FIRST_DESCRIPTOR)
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", port))
    return door


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m buildeye.simulator.service", description=__doc__)
    usual = Fate()
    port = int(os.environ.get("PORT", "8000"))
    parser.add_argument("--version", default="v1", help="what it calls itself (v1)")
    parser.add_argument("--behaviour", type=Behaviour, choices=list(Behaviour), default=usual.behaviour)
    parser.add_argument("--port", type=int, default=port, help="port without LISTEN_FDS ($PORT, 8000)")
    parser.add_argument("--state", type=Path, help="SQLite file of the tasks, shared by versions (no tasks)")
    parser.add_argument("--deployment", default="", help="who serves the tasks ($BUILD_EYE_DEPLOYMENT, the version)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the verdicts (7)")
    parser.add_argument("--grace", type=int, default=10, help="seconds an open request may take after SIGTERM (10)")
    for name, text in (
        ("after", "seconds until it goes bad"),
        ("period", "flap: seconds of one turn, half of it ill"),
        ("delay", "slow: seconds an answer takes"),
        ("leak", "leak: MB a second"),
        ("leak_limit", "leak: MB at which it is killed"),
        ("approved", "share of tasks it approves"),
        ("degraded", "degrade: share of tasks it approves then"),
        ("canary_failures", "degrade: share of canary tasks that fail then"),
    ):
        value = getattr(usual, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=value, help=f"{text} ({value:g})")
    return parser


if __name__ == "__main__":
    sys.exit(main())
