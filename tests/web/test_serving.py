"""One server for a folder and the commands beside it: how they find it, what it says, what is left when it dies."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from buildeye.warehouse import open_warehouse
from buildeye.warehouse.owner import FILE
from tests.warehouse.facts import REPOSITORY, a_job, a_run, at
from tests.web.test_serve import LIMIT, environ, refused

SHAS = [f"{number:x}" * 40 for number in range(1, 4)]
TOKEN = "a-token_of.tests"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to start in, whose warehouse knows three commits of main at which `e2e` failed."""
    place = tmp_path_factory.mktemp("serving")
    program = "import sys; from tests.web.test_serving import fill; fill(sys.argv[1])"
    root = Path(__file__).parents[2]
    inherited = os.environ.get("PYTHONPATH", "")
    subprocess.run(
        [sys.executable, "-c", program, str(place)], check=True, cwd=root, timeout=LIMIT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(root), str(root / "src"), inherited]))},
    )  # fmt: skip
    return place


def fill(place: str) -> None:
    with open_warehouse(f"chdb://{place}/.build-eye/warehouse") as warehouse:
        for number, sha in enumerate(SHAS):
            run = a_run(100 + number, event="push", branch="main", pulls=())
            job = a_job(1000 + number, run=100 + number, name="e2e", branch="main", conclusion="failure")
            warehouse.write_runs([replace(run, head_sha=sha, created_at=at(60 * number))])
            warehouse.write_jobs([replace(job, head_sha=sha, created_at=at(60 * number))])


@contextmanager
def serving(folder: Path, token: str | None = None) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server without a webhook secret, and its address as it says it itself."""
    env = environ(None) | ({} if token is None else {"BUILD_EYE_TOKEN": token})
    command = [sys.executable, "-m", "buildeye", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            found = re.search(r"http://\S+", said)
            assert found, said
            assert "webhooks are not taken: set GITHUB_WEBHOOK_SECRET" in server.stderr.readline()
            yield server, found[0]
        finally:
            server.kill()


def asked(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "buildeye", *arguments, "--target-repo", REPOSITORY]
    return subprocess.run(
        command, cwd=folder, env=environ(None), capture_output=True, text=True, timeout=LIMIT, check=False
    )


def streak(folder: Path) -> tuple[int, int, str]:
    """Exit code, length of the streak and what was said on standard error of `build-eye streaks`."""
    done = asked(folder, "streaks", "main", "-o", "json")
    return done.returncode, json.loads(done.stdout)[0]["streak"] if done.stdout else 0, done.stderr


def test_commands_ask_the_server_while_it_lives_and_the_folder_when_it_was_killed(filled: Path) -> None:
    told = filled / ".build-eye" / FILE
    with serving(filled) as (server, url):
        said = json.loads(told.read_text())
        assert (said["url"], said["pid"]) == (url, server.pid)
        assert told.stat().st_mode & 0o777 == 0o600
        assert streak(filled) == (0, 3, "")
        door = f"{url}/clickhouse?query=SELECT+1"
        assert httpx2.get(door, auth=("x", said["token"]), trust_env=False).text == "1\n"
        assert httpx2.get(door, trust_env=False).status_code == 401
        os.kill(server.pid, signal.SIGKILL)
        server.wait(LIMIT)
    assert told.exists()
    assert streak(filled) == (0, 3, "")
    with serving(filled, TOKEN) as (server, url):
        assert json.loads(told.read_text())["token"] == TOKEN
        assert httpx2.get(f"{url}/clickhouse?query=SELECT+1", auth=("x", TOKEN), trust_env=False).text == "1\n"
        assert streak(filled) == (0, 3, "")
        server.send_signal(signal.SIGTERM)
        _, rest = server.communicate(timeout=LIMIT)
        assert (server.returncode, rest) == (0, "")
    assert not told.exists()
    assert streak(filled) == (0, 3, "")


def test_a_command_that_writes_is_told_who_has_the_folder(filled: Path) -> None:
    with serving(filled) as (server, url):
        done = asked(filled, "verdict", "set", "100", "--cause", "code", "--why", "a typo")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
        assert f"belongs to build-eye serve (PID {server.pid}) at {url}" in done.stderr
        assert "stop it first" in done.stderr
        shown = asked(filled, "verdict", "list")
        assert (shown.returncode, shown.stderr) == (0, "")


def test_without_a_webhook_secret_only_that_door_is_shut(filled: Path) -> None:
    with serving(filled) as (_, url):
        answer = httpx2.post(f"{url}/webhooks/github", content=b"{}", trust_env=False)
        assert answer.status_code == 503
        assert "set GITHUB_WEBHOOK_SECRET" in answer.json()["message"]
        assert httpx2.get(f"{url}/healthz", trust_env=False).json()["status"] == "ok"
        assert httpx2.get(f"{url}/clickhouse/ping", trust_env=False).text == "Ok.\n"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_where_others_can_reach_it_a_token_must_be_set(tmp_path: Path, host: str) -> None:
    code, said = refused(tmp_path, "--host", host)
    assert code == 2
    assert "BUILD_EYE_TOKEN" in said
    assert list(tmp_path.iterdir()) == []
