"""`build-eye serve`: the server that takes GitHub's webhooks in."""

from pathlib import Path

import typer

from buildeye.cli.setup import now, settings_for
from buildeye.cli.stages import CONFIG
from buildeye.cli.voice import listen, tell


def serve(
    host: str | None = typer.Option(None, "--host", help="The address to listen at; default serve.host."),
    port: int | None = typer.Option(
        None, "--port", help="The port to listen at, 0 for a free one; default serve.port."
    ),
    watch: bool = typer.Option(
        False, "--watch", help="Make passes too, one each monitoring.polling_interval_hours, as monitor --watch does."
    ),
    config: Path | None = CONFIG,
) -> None:
    """Take GitHub's webhooks in and keep what they say in the warehouse, until it is stopped.

    The webhook's secret comes from GITHUB_WEBHOOK_SECRET.

    \b
    Examples:
      build-eye serve
      build-eye serve --host 0.0.0.0 --port 8790
      build-eye serve --watch
    """
    settings = settings_for(config, {"serve.host": host, "serve.port": port})

    from buildeye.cli.watch import watch_beside
    from buildeye.pipeline.watch import only_watcher
    from buildeye.web.server import serve as run

    if not watch:
        run(settings, now, tell)
        return
    listen(settings, times=True)
    with only_watcher(settings.storage.data_dir):
        run(settings, now, tell, lambda warehouse, stop: watch_beside(settings, warehouse, stop))
