"""The tools inside another server, over a warehouse that it holds open; and a warehouse that somebody else holds."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from buildeye.config import Settings
from buildeye.mcp.door import mcp_app
from buildeye.model import UsageError
from buildeye.simulator.server import serving
from buildeye.warehouse import open_warehouse
from tests.agents.agent import over_http, over_stdio
from tests.pipeline.places import environment

HOLD = """
import sys
from buildeye.warehouse import open_warehouse
with open_warehouse(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.read()
"""


def now() -> datetime:
    return datetime.now(UTC)


def test_a_server_lends_its_open_warehouse(tmp_path: Path) -> None:
    settings = Settings(serve_token=SecretStr("sesame"))
    with (
        open_warehouse(f"chdb://{tmp_path / 'warehouse'}") as warehouse,
        serving(mcp_app(settings, now, warehouse)) as address,
        over_http(f"{address}/mcp", "sesame") as agent,
    ):
        for n in range(3):
            assert agent.told("sql", query=f"SELECT {n} AS n")[0]["rows"] == [{"n": n}]
        assert warehouse.query("SELECT 1").rows == ((1,),)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """`build-eye serve` in a folder, and its address."""
    command = [sys.executable, "-m", "buildeye", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            found = re.search(r"http://[^\s/]+", server.stderr.readline())
            assert found
            yield found[0]
            server.terminate()
            assert server.wait(60) == 0
        finally:
            server.kill()


def test_a_folder_that_is_served_is_asked_through_the_server_and_at_it(tmp_path: Path) -> None:
    with served(tmp_path) as address:
        with over_stdio(tmp_path) as agent:
            assert agent.told("sql", query="SELECT 1 AS n")[0]["rows"] == [{"n": 1}]
            assert "holds nothing" in agent.told("streaks")[0]["warnings"][0]
            assert "query refused (file)" in agent.refused("sql", query="SELECT file('/etc/passwd')")
        with over_http(f"{address}/mcp") as agent:
            assert agent.told("sql", query="SELECT 2 AS n")[0]["rows"] == [{"n": 2}]
            assert "holds nothing" in agent.told("queue")[0]["warnings"][0]


def test_a_server_that_others_reach_needs_a_token() -> None:
    with pytest.raises(UsageError, match="BUILD_EYE_TOKEN"):
        mcp_app(Settings(), now, host="0.0.0.0")
    mcp_app(Settings(serve_token=SecretStr("sesame")), now, host="0.0.0.0")
    mcp_app(Settings(), now, host="127.0.0.1")


def test_a_warehouse_that_another_process_holds_is_said_and_asked_again_later(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path / 'warehouse'}"
    with (
        over_stdio(tmp_path, BUILD_EYE_STORAGE__WAREHOUSE_DSN=dsn) as agent,
        subprocess.Popen(
            [sys.executable, "-c", HOLD, dsn],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as holder,
    ):
        assert holder.stdin and holder.stdout and holder.stdout.readline() == "open\n"
        assert f"open in another process (PID {holder.pid})" in agent.refused("streaks")
        holder.stdin.close()
        assert holder.wait(60) == 0
        assert agent.told("sql", query="SELECT 1 AS n")[0]["rows"] == [{"n": 1}]
