"""An agent: a client of the official SDK, asked from tests that know nothing of coroutines."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent, Tool

from tests.pipeline.places import environment

COMMAND = [sys.executable, "-m", "buildeye", "mcp"]


@dataclass(frozen=True)
class Agent:
    """A session with a server."""

    portal: BlockingPortal
    client: Client

    def tools(self) -> dict[str, Tool]:
        """The tools by name."""
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def ask(self, tool: str, **arguments: Any) -> CallToolResult:
        """What a tool answers, whatever it is."""
        return self.portal.call(partial(self.client.call_tool, tool, arguments))

    def told(self, tool: str, **arguments: Any) -> tuple[Any, str]:
        """The structured answer and the text of a call that succeeds."""
        answer = self.ask(tool, **arguments)
        assert not answer.is_error, text_of(answer)
        return answer.structured_content, text_of(answer)

    def refused(self, tool: str, **arguments: Any) -> str:
        """The sentence of a call that fails."""
        answer = self.ask(tool, **arguments)
        assert answer.is_error and answer.structured_content is None
        said = text_of(answer)
        assert "\n" not in said and "Traceback" not in said and "pydantic" not in said
        return said


def text_of(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text


@contextmanager
def over_stdio(folder: Path, *options: str, **variables: str) -> Iterator[Agent]:
    """A session with `build-eye mcp`, started in a folder."""
    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *options], env=environment(**variables), cwd=folder
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        yield Agent(portal, client)


@contextmanager
def over_http(address: str, token: str = "") -> Iterator[Agent]:
    """A session with a server at an address."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    with start_blocking_portal() as portal:
        http = httpx2.AsyncClient(headers=headers, trust_env=False, timeout=120)
        transport = streamable_http_client(address, http_client=http)
        with portal.wrap_async_context_manager(Client(transport)) as client:
            yield Agent(portal, client)
        portal.call(http.aclose)
