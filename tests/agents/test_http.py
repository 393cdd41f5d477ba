"""`build-eye mcp --http`: who is let in, and that the answers are the same."""

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from buildeye.listening import is_loopback
from buildeye.mcp.door import MOST_BODY_BYTES
from tests.agents.agent import COMMAND, over_http
from tests.agents.conftest import Filled
from tests.pipeline.places import environment

LIMIT = 120
TOKEN = "open-sesame"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@contextmanager
def serving(folder: Path, *options: str, **variables: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server on a free port, and the address that it says."""
    with subprocess.Popen(
        [*COMMAND, "--http", "--port", "0", *options], cwd=folder, env=environment(**variables),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            found = re.search(r"http://\S+", said)
            assert found, said + server.stderr.read()
            yield server, found[0]
        finally:
            server.kill()


@pytest.fixture(scope="module")
def guarded(filled: Filled) -> Iterator[str]:
    """The address of a server that wants a token."""
    with serving(filled.folder, BUILD_EYE_TOKEN=TOKEN) as (_, address):
        yield address


def post(address: str, content: Any = LIST, **headers: str) -> httpx2.Response:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return httpx2.post(address, content=body, headers=JSON | headers, trust_env=False, timeout=LIMIT)


def test_an_agent_with_the_token_is_answered_as_over_standard_streams(guarded: str, filled: Filled) -> None:
    with over_http(guarded, TOKEN) as agent:
        assert {"explain_log", "streaks", "sql"} <= set(agent.tools())
        found, _ = agent.told("streaks")
        assert found["repository"] == filled.repository and found["streaks"]
        assert "query refused (file)" in agent.refused("sql", query="SELECT file('/etc/passwd')")
        assert [agent.told("sql", query="SELECT 1 AS n")[0]["rows"] for _ in range(3)] == [[{"n": 1}]] * 3


def test_files_of_the_machine_cannot_be_named(guarded: str) -> None:
    with over_http(guarded, TOKEN) as agent:
        assert "path" not in agent.tools()["explain_log"].input_schema["properties"]
        assert "there is no argument path" in agent.refused("explain_log", text="a", path="/etc/passwd")


def test_the_token_reads_no_other_repository_from_github(guarded: str) -> None:
    with over_http(guarded, TOKEN) as agent:
        said = agent.refused("explain_run", run="https://github.com/secret/one/actions/runs/5")
    assert "only runs of" in said


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer"}, {"authorization": TOKEN},
                {"authorization": f"Basic {TOKEN}"}, {"authorization": "Bearer öffne"}],
)  # fmt: skip
def test_without_the_right_token_nobody_is_let_in(guarded: str, headers: dict[str, str]) -> None:
    given = [(name.encode(), value.encode()) for name, value in (JSON | headers).items()]
    answer = httpx2.post(guarded, content=json.dumps(LIST), headers=given, trust_env=False, timeout=LIMIT)
    assert answer.status_code == 401 and "BUILD_EYE_TOKEN" in answer.text and TOKEN not in answer.text
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "attacker.example"}, 421),
        ({"host": "127.0.0.1.attacker.example:80"}, 421),
        ({"origin": "https://attacker.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "attacker.example", "origin": "http://attacker.example"}, 421),
        ({"content-type": "text/plain"}, 400),
    ],
)
def test_a_page_that_misuses_a_browser_is_refused(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    with serving(tmp_path) as (_, address):
        assert post(address).status_code == 200
        assert post(address, **headers).status_code == status


def test_what_is_no_question_is_refused_and_does_not_end_it(guarded: str) -> None:
    right = {"authorization": f"Bearer {TOKEN}"}
    assert httpx2.get(guarded, headers=JSON | right, trust_env=False, timeout=LIMIT).status_code == 405
    assert post(guarded.removesuffix("/mcp") + "/other", **right).status_code == 404
    assert post(guarded, b"{", **right).status_code == 400
    assert post(guarded, b"[" * 100_000, **right).status_code == 400
    assert post(guarded, b" " * (MOST_BODY_BYTES + 1), **right).status_code == 413
    assert post(guarded, **right).status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as (server, address):
        assert post(address).status_code == 200
        server.send_signal(number)
        out, said = server.communicate(timeout=LIMIT)
    assert (server.returncode, out, said) == (0, "", "")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_beyond_this_machine_it_wants_a_token(tmp_path: Path, host: str) -> None:
    done = subprocess.run([*COMMAND, "--http", "--port", "0", "--host", host], cwd=tmp_path, env=environment(),
                          capture_output=True, text=True, timeout=LIMIT, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "set BUILD_EYE_TOKEN" in done.stderr


def test_at_all_addresses_the_token_is_what_counts_and_foreign_pages_are_refused(tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0", BUILD_EYE_TOKEN=TOKEN) as (_, address):
        here = address.replace("0.0.0.0", "127.0.0.1")
        right = {"authorization": f"Bearer {TOKEN}"}
        assert post(here).status_code == 401
        assert post(here, **right, host="ci.example:8791").status_code == 200
        assert post(here, **right, origin="https://attacker.example").status_code == 403


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = subprocess.run([*COMMAND, "--http", "--port", port], cwd=tmp_path, env=environment(),
                              capture_output=True, text=True, timeout=LIMIT, check=False)  # fmt: skip
    assert done.returncode == 3 and port in done.stderr and "--port" in done.stderr


@pytest.mark.parametrize(
    ("host", "only"),
    [("127.0.0.1", True), ("::1", True), ("[::1]", True), ("localhost", True), ("127.8.8.8", True), ("0.0.0.0", False),
     ("::", False), ("10.0.0.1", False)],
)  # fmt: skip
def test_only_this_machine_reaches_its_own_addresses(host: str, only: bool) -> None:
    assert is_loopback(host) is only
