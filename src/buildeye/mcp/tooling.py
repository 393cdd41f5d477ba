"""What every tool has: checked arguments, errors of one sentence, and an answer both to compute with and to read."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, ValidationError

from buildeye.mcp.quoting import plain, plain_text
from buildeye.model import BuildEyeError

_MOST_COMPLAINTS: Final = 4


class Shape(BaseModel):
    """A part of an answer; what is not named here is no part of it."""

    model_config = ConfigDict(extra="forbid")


class ReadingTool(Tool):
    """A tool that only reads; whatever goes wrong, its caller gets one sentence and no traceback."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Call it. What the SDK would wrap in its own words is told in ours."""
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            return refusal(_sentence(self.name, error))


def tool(
    function: Callable[..., Any], name: str, title: str, about: str = "", *, open_world: bool = False
) -> ReadingTool:
    """A tool from a method: `about` or its docstring is what the agent reads, what it returns the shape of the answer.

    `open_world`: it may ask GitHub or a Prometheus, not only what lies here.
    """
    made = ReadingTool.from_function(
        function,
        name=name,
        title=title,
        description=about or inspect.getdoc(function),
        annotations=ToolAnnotations(
            title=title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=open_world
        ),
    )
    arguments = made.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    made.parameters = arguments.model_json_schema(by_alias=True)
    assert isinstance(made, ReadingTool)
    return made


def answer(structured: Mapping[str, Any], text: str) -> CallToolResult:
    """An answer: values to compute with, and a text to read."""
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=plain(structured))


def refusal(sentence: str) -> CallToolResult:
    """No answer, and why, in one sentence."""
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)


def _sentence(name: str, error: ToolError) -> str:
    cause = error.__cause__
    if isinstance(cause, BuildEyeError):
        return " ".join(plain_text(str(cause)).split())
    if isinstance(cause, ValidationError):
        return f"{name}: {_complaints(cause)}"
    if isinstance(cause, OSError):
        return f"{cause.filename or 'this machine'}: {cause.strerror or type(cause).__name__}; check its rights"
    return f"a bug in build-eye: {type(cause or error).__name__} in {name}; report it with what was asked"


def _complaints(error: ValidationError) -> str:
    """What is wrong with arguments, in a sentence; the values are the caller's and not repeated."""
    found = []
    for each in error.errors(include_url=False, include_input=False):
        where = ".".join(map(str, each["loc"])) or "arguments"
        unknown = each["type"] == "extra_forbidden"
        found.append(f"there is no argument {plain_text(where)[:60]}" if unknown else f"{where}: {each['msg']}")
    more = len(found) - _MOST_COMPLAINTS
    return "; ".join(found[:_MOST_COMPLAINTS]) + (f"; and {more} more" if more > 0 else "")
