"""`build-eye datasources`: what can be asked, and asking it: SQL and PromQL, here, at a server, or through Grafana."""

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from buildeye.cli.answers import LIMIT, show
from buildeye.cli.asked import ANSWER, AnswerForm
from buildeye.cli.setup import now, settings_for
from buildeye.cli.stages import CONFIG
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.ask.answer import Answer
    from buildeye.ask.contexts import Context
    from buildeye.ask.macros import Span
    from buildeye.ask.sources import SqlSource
    from buildeye.config import Settings

app = typer.Typer(no_args_is_help=True, help="What can be asked: ClickHouse with SQL, Prometheus with PromQL.")
clickhouse = typer.Typer(no_args_is_help=True, help="Ask a ClickHouse: the warehouse here, a server, or Grafana's.")
prometheus = typer.Typer(no_args_is_help=True, help="Ask a Prometheus, or what speaks its language.")
app.add_typer(clickhouse, name="clickhouse")
app.add_typer(prometheus, name="prometheus")

DATASOURCE = typer.Option(None, "--datasource", "-d", metavar="UID", help="Which one; see `datasources list`.")
CONTEXT = typer.Option(None, "--context", metavar="NAME", help="The Grafana to ask; `local` is this machine.")
SINCE = typer.Option(None, "--since", metavar="TIME", help="From so long before --to or now: 30m, 6h, 7d, 2w.")
FROM = typer.Option(None, "--from", metavar="TIME", help="From then: 2026-11-01T06:30:00Z, now-6h, Unix seconds.")
TO = typer.Option(None, "--to", metavar="TIME", help="Until then; default now.")
SHARE = typer.Option(False, "--share-link", help="Also print a link that opens it in Grafana or on Prometheus's page.")
STEP = typer.Option(None, "--step", metavar="TIME", help="Between two points: 15s, 30m; default a hundredth, rounded.")
_TABLES: Final = """SELECT database, name AS table, total_rows AS rows, total_bytes AS bytes, comment
FROM system.tables
WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA')
ORDER BY database, name"""
_DESCRIBED: Final = ("name", "type", "default_expression", "comment")


@app.command("list")
def list_datasources(form: AnswerForm = ANSWER, context: str | None = CONTEXT, config: Path | None = CONFIG) -> None:
    """List what can be asked, with the name each goes by.

    \b
    Examples:
      build-eye datasources list
      build-eye datasources list --context pytorchci -o json
    """
    from buildeye.ask.answer import Answer
    from buildeye.ask.routing import datasources

    columns = ("uid", "name", "kind", "place")
    found = datasources(settings_for(config, {}), _context(context))
    rows = tuple((each.uid, each.name, each.kind, each.place) for each in found)
    show(Answer(columns, ("String",) * len(columns), rows), form, 0)


@clickhouse.command("list-tables")
def list_tables(
    datasource: str | None = DATASOURCE,
    form: AnswerForm = ANSWER,
    limit: int | None = LIMIT,
    context: str | None = CONTEXT,
    config: Path | None = CONFIG,
) -> None:
    """List the tables there are, with their rows and size in bytes; views have none.

    \b
    Examples:
      build-eye datasources clickhouse list-tables
      build-eye datasources clickhouse list-tables -o json
    """
    show(_asked(_TABLES, settings_for(config, {}), datasource, context), form, limit)


@clickhouse.command("describe-table")
def describe_table(
    table: str = typer.Argument(..., metavar="TABLE", help="Its name, with or without its database."),
    database: str = typer.Option("", "--database", help="Its database, where the name does not say it."),
    datasource: str | None = DATASOURCE,
    form: AnswerForm = ANSWER,
    context: str | None = CONTEXT,
    config: Path | None = CONFIG,
) -> None:
    """List the columns of a table: name, type, default, and what it means.

    \b
    Examples:
      build-eye datasources clickhouse describe-table default.workflow_job
      build-eye datasources clickhouse describe-table all_test_runs --database tests
    """
    from dataclasses import replace

    parts = [*([database] if database else []), *table.split(".", 1)]
    sql = "DESCRIBE TABLE " + ".".join(f"`{part}`" for part in parts)
    answer = _asked(sql, settings_for(config, {}), datasource, context)
    at = [answer.columns.index(name) for name in _DESCRIBED if name in answer.columns]
    names = tuple(answer.columns[place].removesuffix("_expression") for place in at)
    rows = tuple(tuple(row[place] for place in at) for row in answer.rows)
    show(replace(answer, columns=names, types=tuple(answer.types[place] for place in at), rows=rows), form, 0)


@clickhouse.command("query")
def query_clickhouse(
    sql: str = typer.Argument(..., metavar="SQL", help="The query; `-` reads standard input, @FILE a file."),
    datasource: str | None = DATASOURCE,
    param: list[str] = typer.Option([], "--param", metavar="NAME=VALUE", help="For {NAME:Type} in the query; again."),
    since: str | None = SINCE,
    start: str | None = FROM,
    end: str | None = TO,
    step: str | None = STEP,
    form: AnswerForm = ANSWER,
    limit: int | None = LIMIT,
    context: str | None = CONTEXT,
    share_link: bool = SHARE,
    no_guard: bool = typer.Option(False, "--no-guard", help="Let anything run on what is yours: also what writes."),
    config: Path | None = CONFIG,
) -> None:
    """Ask SQL. Only what reads may run, and not without bounds over huge tables; a refusal says what to write.

    \b
    Examples:
      build-eye datasources clickhouse query "SELECT name, count() FROM default.workflow_job
        WHERE repository_full_name = 'pytorch/pytorch' AND conclusion = 'failure'
        AND $__timeFilter(completed_at) GROUP BY name" --since 2w
      build-eye datasources clickhouse query @slowest.sql --param branch=main -o csv
      echo "SELECT 1" | build-eye datasources clickhouse query - -o json
    """
    from buildeye.ask.grafana.literals import inlined
    from buildeye.ask.macros import LAST, Span, expanded, has_macros
    from buildeye.ask.parameters import converted, declared, named

    settings, text, moment = settings_for(config, {}), _text(sql), now().replace(microsecond=0)
    span = _span(since, start, end, step, moment)
    if span and not has_macros(text):
        warn("the query has no $__timeFilter(column), so --since, --from and --to change nothing")
    raw, text = text, expanded(text, span or Span.of(moment - LAST, moment))
    parameters = converted(named(param), declared(text), moment)
    share = (inlined(text, parameters) if parameters else raw, span) if share_link else None
    show(_asked(text, settings, datasource, context, parameters, guarded=not no_guard, share=share), form, limit)


@prometheus.command("query")
def query_prometheus(
    expression: str = typer.Argument(..., metavar="EXPR", help="PromQL; `-` reads standard input, @FILE a file."),
    datasource: str | None = DATASOURCE,
    at: str | None = typer.Option(None, "--time", metavar="TIME", help="At that moment; default now."),
    since: str | None = SINCE,
    start: str | None = FROM,
    end: str | None = TO,
    step: str | None = STEP,
    form: AnswerForm = ANSWER,
    limit: int | None = LIMIT,
    context: str | None = CONTEXT,
    share_link: bool = SHARE,
    config: Path | None = CONFIG,
) -> None:
    """Ask PromQL: at a moment, or with --since or --from over a time.

    \b
    Examples:
      build-eye datasources prometheus query 'sum by (name) (gha_assigned_jobs)'
      build-eye datasources prometheus query 'sum by (name) (gha_running_jobs)' --since 6h --step 30m
      build-eye datasources prometheus query 'gha_running_jobs' --since 1d -o graph
    """
    from buildeye.ask.promql import ask_promql
    from buildeye.ask.routing import prom_share, prom_source
    from buildeye.ask.sharelink import Asked
    from buildeye.cli.measured import show_measured
    from buildeye.model import UsageError
    from buildeye.model.times import moment

    span = _span(since, start, end, step, now().replace(microsecond=0))
    if at is not None and span is not None:
        raise UsageError("--time is one moment, --since and --from are a span; give one of them")
    if step is not None and span is None:
        raise UsageError("--step goes with a span of time; give --since or --from too")
    text = _text(expression)
    instant = moment("--time", at, now()) if at is not None else None
    settings, chosen = settings_for(config, {}), _context(context)
    with prom_source(settings, datasource, chosen, warn) as source:
        measured = ask_promql(source, text, instant, span)
        place = source.place
        if share_link:
            asked = Asked(span.since, span.until, span.step) if span else Asked(until=instant)
            _tell_link(prom_share(source, settings, chosen, text, asked))
    raise typer.Exit(show_measured(measured, text, place, form, limit, is_range=span is not None))


def _asked(
    sql: str,
    settings: "Settings",
    datasource: str | None,
    context: str | None,
    parameters: "dict[str, object] | None" = None,
    *,
    guarded: bool = True,
    share: "tuple[str, Span | None] | None" = None,
) -> "Answer":
    """What a source answers to SQL, through the guard, and without it only on this machine; `share` is to be linked."""
    from buildeye.ask.routing import is_local, sql_share, sql_source
    from buildeye.ask.sharelink import Asked
    from buildeye.ask.sql import ask_sql, limits_of
    from buildeye.model import UsageError

    chosen = _context(context)
    if not guarded and not is_local(chosen):
        raise UsageError("--no-guard is for what is yours on this machine; leave it out, or say --context local")
    with sql_source(settings, datasource, chosen, warn) as source:
        if guarded:
            answer = ask_sql(source, sql, parameters, limits_of(settings))
        else:
            answer = _unguarded(source, sql, parameters)
        if share:
            meant, span = share
            asked = Asked(span.since, span.until, span.step) if span else Asked()
            _tell_link(sql_share(source, chosen, meant, asked))
    return answer


def _tell_link(link: str | None) -> None:
    """Print a link beside the answer, where a pipe does not meet it."""
    from buildeye.ask.sharelink import LONGEST, NO_PAGE

    if link is None:
        warn(NO_PAGE)
        return
    typer.echo(link, err=True)
    if len(link) > LONGEST:
        warn(f"the link has {len(link):,} characters; browsers and proxies may cut it")


def _unguarded(source: "SqlSource", sql: str, parameters: "dict[str, object] | None") -> "Answer":
    from buildeye.ask.guard import Allowed

    return source.run(Allowed(sql.strip().rstrip(";")), parameters)


def _context(named: str | None) -> "Context | None":
    from buildeye.ask.routing import context_named

    return context_named(named, os.environ)


def _text(given: str) -> str:
    """What was typed, or what stands in the file or the input it names."""
    from buildeye.model import UsageError

    if given != "-" and not given.startswith("@"):
        return given
    place = "standard input" if given == "-" else given[1:]
    try:
        return sys.stdin.read() if given == "-" else Path(place).read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{place} cannot be read ({error.strerror}); give another file behind @") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is no text in UTF-8; write the query in UTF-8") from error


def _span(since: str | None, start: str | None, end: str | None, step: str | None, at: datetime) -> "Span | None":
    """The time that the options mean; None when they name none."""
    from buildeye.ask.macros import LAST, Span
    from buildeye.model import UsageError
    from buildeye.model.times import duration, moment

    if since is not None and start is not None:
        raise UsageError("--since and --from both say when the time begins; give one of them")
    between: timedelta | None = duration("--step", step) if step is not None else None
    if since is None and start is None and end is None:
        return None
    until = moment("--to", end, at) if end is not None else at
    if start is not None:
        return Span.of(moment("--from", start, at), until, between)
    return Span.of(until - (duration("--since", since) if since is not None else LAST), until, between)
