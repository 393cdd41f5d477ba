"""`build-eye login` and `build-eye contexts`: which Grafana is asked, and with which token."""

import os
import sys
from typing import TYPE_CHECKING, Final

import typer

from buildeye.cli.asked import ANSWER, AnswerForm, written

if TYPE_CHECKING:
    from buildeye.ask.contexts import Contexts

app = typer.Typer(
    name="contexts",
    help="Which Grafana is asked: list the contexts, use one, remove one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
COLUMNS: Final = ("name", "current", "server", "hud", "namespace", "token")
_MOST: Final = 8192  # characters of a token on standard input


def login(
    context: str = typer.Option("", "--context", metavar="NAME", help="The context; default the selected one."),
    server: str = typer.Option("", "--server", metavar="URL", help="The Grafana; default that of the context."),
    hud: str = typer.Option("", "--hud", metavar="URL", help="The HUD that hands out its tokens."),
    with_token: bool = typer.Option(False, "--with-token", help="Read a Grafana token from standard input instead."),
) -> None:
    """Get a token for a Grafana, and ask it from now on.

    The token that is there is tried first. When it fails, the GitHub token of `gh auth token` (or GITHUB_TOKEN) is
    shown to the HUD, which hands out a read-only Grafana token to people with write access to the repository.

    \b
    Examples:
      build-eye login
      build-eye login --context mine --server https://grafana.example.com --with-token < token
      build-eye login --context pytorchci --hud https://hud.pytorch.org
    """
    import socket
    from dataclasses import replace

    from buildeye.ask.contexts import LOCAL, PYTORCH, contexts_path
    from buildeye.ask.login import login as logged_in

    there = known()
    name = context or (there.selected if there.selected != LOCAL else PYTORCH.name)
    meant = there.known(name)
    where = server or os.environ.get("GCX_SERVER", "")
    meant = replace(meant, server=where.rstrip("/") or meant.server, hud=hud.rstrip("/") or meant.hud)
    given = sys.stdin.read(_MOST).strip() if with_token else ""
    if with_token and not given:
        from buildeye.model import UsageError

        raise UsageError("--with-token reads the token from standard input, and there was none")
    done = logged_in(there, meant, environ=os.environ, host=socket.gethostname(), given=given)
    if done.is_new:
        place = "the keyring" if done.kept == "keyring" else contexts_path(os.environ)
        typer.echo(f"logged in: context {name} asks {done.context.server}; its token is kept in {place}")
    else:
        typer.echo(f"context {name} asks {done.context.server}; it was logged in already")


@app.command("list")
def list_contexts(form: AnswerForm = ANSWER) -> None:
    """List the contexts, the selected one marked.

    \b
    Examples:
      build-eye contexts list
      build-eye contexts list -o json
    """
    from buildeye.ask.contexts import LOCAL
    from buildeye.cli.tables import table

    there = known()
    rows = [
        {"name": LOCAL, "current": there.selected == LOCAL, "server": "", "hud": "", "namespace": "", "token": ""},
        *(
            {
                "name": each.name,
                "current": there.selected == each.name,
                "server": each.server,
                "hud": each.hud,
                "namespace": each.namespace,
                "token": there.token_place(each),
            }
            for each in there.all
        ),
    ]
    if form is not AnswerForm.TABLE:
        typer.echo(written(rows, COLUMNS, form))
        return
    cells = [
        (
            "*" if row["current"] else "",
            str(row["name"]),
            str(row["server"] or "this machine"),
            str(row["token"] or ("not needed" if row["name"] == LOCAL else "none: build-eye login")),
        )
        for row in rows
    ]
    typer.echo(table(("", "name", "server", "token"), cells))


@app.command("use")
def use(name: str = typer.Argument(metavar="NAME", help="The context, or local for this machine.")) -> None:
    """Ask this context from now on; `local` is this machine.

    \b
    Examples:
      build-eye contexts use pytorchci
      build-eye contexts use local
    """
    known().select(name)
    overruled = os.environ.get("GCX_CONTEXT", "")
    if overruled and overruled != name:
        from buildeye.cli.voice import warn

        warn(f"GCX_CONTEXT is set, so {overruled} is asked all the same")
    typer.echo(f"context {name} is asked from now on")


@app.command("remove")
def remove(name: str = typer.Argument(metavar="NAME", help="The context.")) -> None:
    """Forget a context and its token on this machine; the token itself stays good until it expires.

    \b
    Example:
      build-eye contexts remove pytorchci
    """
    from buildeye.cli.voice import warn

    if known().remove(name):
        typer.echo(f"context {name} and its token are forgotten")
    else:
        typer.echo(f"context {name} is forgotten")
        warn("the keyring did not let go of its token: delete what it holds for build-eye by hand")


def known() -> "Contexts":
    """The contexts of this person."""
    from buildeye.ask.contexts import contexts, contexts_path
    from buildeye.cli.voice import listen

    listen()
    return contexts(contexts_path(os.environ), os.environ)
