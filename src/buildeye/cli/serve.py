"""`build-eye serve`: the server that takes GitHub's webhooks in."""

from pathlib import Path

import typer

from buildeye.cli.setup import now, settings_for
from buildeye.cli.stages import CONFIG
from buildeye.cli.voice import tell


def serve(
    host: str | None = typer.Option(None, "--host", help="The address to listen at; default serve.host."),
    port: int | None = typer.Option(
        None, "--port", help="The port to listen at, 0 for a free one; default serve.port."
    ),
    config: Path | None = CONFIG,
) -> None:
    """Take GitHub's webhooks in and keep what they say in the warehouse, until it is stopped.

    The webhook's secret comes from GITHUB_WEBHOOK_SECRET.

    \b
    Examples:
      build-eye serve
      build-eye serve --host 0.0.0.0 --port 8790
    """
    settings = settings_for(config, {"serve.host": host, "serve.port": port})

    from buildeye.web.server import serve as run

    run(settings, now, tell)
