"""The server starts on its own port, stops cleanly, and says so when it cannot start."""

import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import httpx2
import pytest

from buildeye.model import OutsideError
from buildeye.simulator import Past
from buildeye.simulator.server import running


def test_the_port_is_closed_and_the_thread_gone_after_the_context(past: Past) -> None:
    before = set(threading.enumerate())
    with running(past) as base:
        assert httpx2.get(f"{base}/rate_limit", trust_env=False).status_code == 200
        ours = set(threading.enumerate()) - before
        port = urlsplit(base).port
    assert any(thread.name == "simulator" for thread in ours)
    assert not any(thread.is_alive() for thread in ours if thread.name == "simulator")
    with socket.socket() as again:
        assert again.connect_ex(("127.0.0.1", port or 0)) != 0


def test_two_servers_run_side_by_side(past: Past) -> None:
    with running(past) as one, running(past) as two:
        assert one != two
        assert httpx2.get(f"{two}/rate_limit", trust_env=False).json()["rate"]["used"] == 0


def test_a_taken_port_is_told_in_one_sentence(past: Past) -> None:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        port = door.getsockname()[1]
        with pytest.raises(OutsideError, match=f"port {port} of 127.0.0.1 cannot be used"), running(past, port):
            pass


def test_importing_the_package_loads_no_server() -> None:
    heavy = "[name for name in ('starlette', 'uvicorn') if name in sys.modules]"
    code = f"import sys, buildeye.simulator; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
