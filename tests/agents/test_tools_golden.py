"""What agents see of the tools: names, words, arguments and shapes of answers, as in the golden file.

After a wanted change write it anew with `BLESS=1` and read the difference like code.
"""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from buildeye.config import Settings
from buildeye.mcp.desk import desk_of
from buildeye.mcp.server import mcp_server

GOLDEN = Path(__file__).parent / "golden"


def listed(*, local: bool) -> list[dict[str, Any]]:
    desk = desk_of(Settings(), lambda: datetime.now(UTC), local=local)
    tools = anyio.run(mcp_server(desk).list_tools)
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


@pytest.mark.parametrize(("name", "local"), [("stdio", True), ("http", False)])
def test_the_tools_are_those_of_the_golden_file(name: str, local: bool) -> None:
    said = json.dumps(listed(local=local), indent=1, ensure_ascii=False) + "\n"
    golden = GOLDEN / f"tools.{name}.json"
    if os.environ.get("BLESS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(said, encoding="utf-8")
    assert said == golden.read_text(encoding="utf-8")


def test_words_about_a_tool_are_short_enough_to_be_read_each_time() -> None:
    assert {
        tool["name"]: len(tool["description"]) for tool in listed(local=True) if len(tool["description"]) > 1500
    } == {}


def test_every_tool_is_documented_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", page.partition("## Tools")[2].partition("## ")[0], re.MULTILINE)
    assert sorted(rows) == sorted(tool["name"] for tool in listed(local=True))
