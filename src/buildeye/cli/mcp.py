"""`build-eye mcp`: the same answers for agents, over the Model Context Protocol."""

from pathlib import Path

import typer

from buildeye.cli.setup import now, settings_for, target_overrides
from buildeye.cli.stages import CONFIG, TARGET
from buildeye.cli.voice import tell

PORT = 8791


def mcp(
    http: bool = typer.Option(False, "--http", help="Answer over HTTP, not on standard input and output."),
    host: str = typer.Option("127.0.0.1", "--host", help="With --http: the address to listen at."),
    port: int = typer.Option(PORT, "--port", min=0, max=65535, help="With --http: the port, 0 for a free one."),
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Answer agents: a server of the Model Context Protocol, whose tools only read.

    An agent starts it by itself, with this in its configuration:

    \b
      {"mcpServers": {"build-eye": {"command": "build-eye", "args": ["mcp"], "cwd": "/path/to/it"}}}

    With --http it answers at http://HOST:PORT/mcp. Where BUILD_EYE_TOKEN is set, agents send it as
    `Authorization: Bearer TOKEN`; beyond this machine it must be set.

    \b
    Examples:
      build-eye mcp
      build-eye mcp --target-repo vllm-project/vllm-ascend
      build-eye mcp --http --port 8791
    """
    settings = settings_for(config, target_overrides(target_repo))

    from buildeye.mcp.desk import desk_of
    from buildeye.mcp.door import serve_http
    from buildeye.mcp.server import mcp_server
    from buildeye.mcp.stdio import serve_stdio

    if http:
        serve_http(settings, now, tell, host, port)
    else:
        serve_stdio(mcp_server(desk_of(settings, now, local=True)))
