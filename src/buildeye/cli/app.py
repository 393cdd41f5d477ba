"""The commands and their order in the help."""

import typer

from buildeye import __version__
from buildeye.cli import (
    comment,
    datasources,
    demo,
    deploy,
    explain,
    failures,
    flaky,
    ingest,
    login,
    mcp,
    monitor,
    quarantine,
    query,
    queue,
    rules,
    serve,
    stages,
    streaks,
    sync,
    testcases,
    unknown,
    verdict,
)

app = typer.Typer(
    name="build-eye",
    help="Why did the build fail, whose problem is it, and is what we deployed healthy?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    epilog="Exit codes: 0 done, 1 the thing asked about is bad, 2 wrong use or configuration, "
    "3 an outside system failed.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"build-eye {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    del version


app.command("explain")(explain.explain)
app.command("monitor")(monitor.monitor)
app.command("comment")(comment.comment)
app.add_typer(verdict.app, name="verdict")
app.command("streaks")(streaks.streaks)
app.command("failures")(failures.failures)
app.command("unknown")(unknown.unknown)
app.add_typer(testcases.app, name="tests")
app.command("flaky")(flaky.flaky)
app.add_typer(quarantine.app, name="quarantine")
app.command("queue")(queue.queue)
app.command("query")(query.query)
app.add_typer(datasources.app, name="datasources")
app.command("login")(login.login)
app.add_typer(login.app, name="contexts")
app.add_typer(deploy.app, name="deploy")
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.command("sync")(sync.sync)
app.command("backfill")(sync.backfill)
app.add_typer(ingest.app, name="ingest")
app.command("fetch-runs")(stages.fetch_runs)
app.command("collect-metadata")(stages.collect_metadata)
app.command("classify")(stages.classify)
app.command("recommend")(stages.recommend)
app.command("report")(stages.report)
app.command("archive")(stages.archive)
app.add_typer(rules.app, name="rules")
app.command("demo")(demo.demo)
