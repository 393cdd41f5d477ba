"""Strange values for every argument of every tool: an answer or one sentence, and never a bug."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent

from buildeye.config import load_settings
from buildeye.mcp.desk import desk_of
from buildeye.mcp.server import mcp_server
from buildeye.warehouse import open_warehouse

TEXTS = (
    "", "a\x00b", "\ud800", "'\\", "{a:String}", "../../etc/passwd", "/dev/zero", "9" * 30, "now", "99999999w",
    "(a+)+$", "(", '{"a": 1}',
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (-1, 0, 1, 10**9, 10**30, 1.5, True, None, "5", "x", [1], {})
NEEDED = {"query": "SELECT 1", "expression": "up", "run": "5", "id": "x", "file": "x"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MCPServer[Any]]:
    folder = tmp_path_factory.mktemp("strange")
    environ = {
        "BUILD_EYE_STORAGE__DATA_DIR": str(folder), "BUILD_EYE_API__BASE_URL": "http://127.0.0.1:9",
        "BUILD_EYE_API__MAX_RETRIES": "0",
    }  # fmt: skip
    settings = load_settings(None, environ, lambda _: None, {})
    with open_warehouse(f"chdb://{folder / 'warehouse'}") as warehouse:
        yield mcp_server(desk_of(settings, lambda: datetime.now(UTC), warehouse, local=True))


TOOLS = ("explain_log", "explain_run", "streaks", "failures", "test_file", "test_history", "queue", "sql", "promql",
         "deployments")  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS)
def test_strange_values_are_answered_or_refused_in_one_sentence(server: MCPServer[Any], tool: str) -> None:
    async def ask() -> list[str]:
        (found,) = [each for each in await server.list_tools() if each.name == tool]
        needed = {name: NEEDED[name] for name in found.input_schema.get("required", ()) if name in NEEDED}
        bugs = []
        for name, about in found.input_schema["properties"].items():
            for value in NUMBERS if about.get("type") == "integer" else TEXTS:
                answer = await server.call_tool(tool, needed | {name: value})
                assert isinstance(answer, CallToolResult) and isinstance(answer.content[0], TextContent)
                text = answer.content[0].text
                if answer.is_error and ("\n" in text or "a bug in" in text):
                    bugs.append(f"{name}={value!r}: {text}")
        return bugs

    assert anyio.run(ask) == []


def test_all_tools_are_tried(server: MCPServer[Any]) -> None:
    assert sorted(TOOLS) == sorted(tool.name for tool in anyio.run(server.list_tools))
