"""`build-eye serve` as people start and stop it: real processes."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from benchmarks.webhook_kills import SECRET, job_delivery

from buildeye.simulator import build_past
from buildeye.simulator.server import running
from buildeye.web.app import WEBHOOKS
from tests.pipeline.places import Place

LIMIT = 120


def environ(secret: str | None = SECRET) -> dict[str, str]:
    outside = ("BUILD_EYE_", "TARGET_REPO_", "GITHUB_", "ARCHIVE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(outside)}
    return kept | ({} if secret is None else {"GITHUB_WEBHOOK_SECRET": secret})


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "buildeye", "serve", *arguments]


@contextmanager
def serving(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server on a free port, and its address as it says it itself."""
    with subprocess.Popen(
        command("--port", "0"), cwd=folder, env=environ(), stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            found = re.search(r"http://\S+", said)
            assert found, said
            yield server, found[0]
        finally:
            server.kill()


def post(address: str, number: int) -> int:
    sent = job_delivery(number)
    return httpx2.post(
        address + WEBHOOKS, content=sent.body, headers=sent.headers, trust_env=False, timeout=LIMIT
    ).status_code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_and_what_was_acknowledged_is_kept(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as (server, address):
        assert post(address, 1) == 202
        server.send_signal(number)
        _, said = server.communicate(timeout=LIMIT)
    assert (server.returncode, said) == (0, "")
    with serving(tmp_path) as (_, address):
        assert post(address, 1) == 202
        health: dict[str, object] = {}
        while health.get("waiting") != 0:
            health = httpx2.get(f"{address}/healthz", trust_env=False, timeout=LIMIT).json()
    assert health == {"status": "ok", "waiting": 0, "refused": 0}


def refused(folder: Path, *arguments: str, secret: str | None = SECRET) -> tuple[int, str]:
    done = subprocess.run(
        command(*arguments), cwd=folder, env=environ(secret), capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.stdout == ""
    assert done.stderr.startswith("build-eye: ")
    assert done.stderr.count("\n") == 1
    return done.returncode, done.stderr


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = refused(tmp_path, "--port", str(port))
    assert code == 3
    assert f"port {port} of 127.0.0.1 cannot be used (Address already in use)" in said


def test_a_host_that_is_not_ours_is_one_sentence(tmp_path: Path) -> None:
    code, said = refused(tmp_path, "--host", "host.invalid")
    assert code == 3
    assert "serve.host" in said


def test_a_port_that_is_none_is_a_wrong_setting(tmp_path: Path) -> None:
    code, said = refused(tmp_path, "--port", "70000")
    assert code == 2
    assert "serve.port is 70000; a port, 0 to 65535" in said


def test_with_watch_it_makes_passes_beside_the_door_and_ends_both_when_asked(tmp_path: Path) -> None:
    past = build_past(7, datetime.now(UTC))
    with running(past) as url:
        place = Place.made(tmp_path / "place", url, past.full_name, 12)
        server = subprocess.Popen(
            command("--port", "0", "--watch", "--config", "config.yaml"),
            cwd=place.folder,
            env=environ(),
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stderr is not None
            said: list[str] = []
            address = ""
            for line in server.stderr:
                said.append(line)
                address = address or next(iter(re.findall(r"http://\S+", line)), "")
                if "next pass at" in line:
                    break
            assert post(address, 1) == 202
            server.send_signal(signal.SIGTERM)
            _, rest = server.communicate(timeout=LIMIT)
        finally:
            server.kill()
    assert server.returncode == 0, rest
    told = "".join(said) + rest
    assert "a pass every 6 h" in told
    assert "Traceback" not in told
    assert list(place.reports.rglob("*.md"))
