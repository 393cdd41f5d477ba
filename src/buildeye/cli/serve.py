"""`build-eye serve`: the server that has the warehouse, takes GitHub's webhooks in, and is asked."""

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
    """Serve the warehouse until it is stopped: take GitHub's webhooks in, and answer questions.

    GITHUB_WEBHOOK_SECRET is the webhook's secret; without one webhooks are not taken. BUILD_EYE_TOKEN is what who asks
    must bring. Commands of this machine that only ask find the server themselves.

    \b
    Examples:
      build-eye serve
      BUILD_EYE_TOKEN=... build-eye serve --host 0.0.0.0 --port 8790
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
