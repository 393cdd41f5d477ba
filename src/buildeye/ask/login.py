"""Getting a token for a Grafana: a GitHub token is shown to the HUD, which hands out one for who may write.

The story: the token that is there is tried first; only when it fails, GitHub's is asked of `gh`, shown to the HUD, and
what comes back is tried and kept. Tokens travel in headers, never in arguments of a process or in messages.
"""

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import httpx2

from buildeye import __version__
from buildeye.ask.addresses import is_private_way, netloc, web_address
from buildeye.ask.contexts import PYTORCH, Context, Contexts, server_address
from buildeye.ask.grafana import Grafana
from buildeye.ask.grafana.failures import one_line
from buildeye.github.outside import AwayError, TooLargeError, body_of, patiently
from buildeye.github.transport import environment_transport
from buildeye.model import OutsideError, UsageError

GH_LOGIN: Final = "gh auth login --hostname github.com --git-protocol ssh --web"
_TOKEN: Final = re.compile(r"[!-~]{8,4096}")
_TOKEN_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_BYTES: Final = 64 * 1024  # of what a HUD answers
_SECONDS: Final = 30.0  # that a HUD or gh may take
_TRIES: Final = 3
_PAUSE: Final = 0.5
_GATEWAY: Final = frozenset({500, 502, 503, 504})

Transport = httpx2.BaseTransport | None


@dataclass(frozen=True, slots=True)
class Login:
    """How a login ended. `is_new`: the token that was there was not good. `kept` is `keyring` or `file`."""

    context: Context
    is_new: bool
    kept: str


def login(
    known: Contexts,
    context: Context,
    *,
    environ: Mapping[str, str],
    host: str,
    given: str = "",
    transport: Transport = None,
    github: Callable[[Mapping[str, str]], str] | None = None,
) -> Login:
    """Make a context usable, and select it. `host` names this machine to the HUD; `given` is a token one has already.

    UsageError: gh is missing or not logged in, or an address is none. OutsideError: Grafana or the HUD cannot be
    reached, refuses, or gives what is no token.
    """
    context = replace(context, server=server_address(context.server))
    stored = "" if given else known.token(context)
    if stored and _is_good(context, stored, transport):
        known.select(context.name)
        return Login(context, False, known.token_place(context))
    if not given and context.hud == PYTORCH.hud and context.server != PYTORCH.server:
        raise UsageError(
            f"the HUD at hud.pytorch.org hands out tokens for {PYTORCH.server} alone; "
            f"name that of {context.server} with --hud, or give a token with --with-token"
        )
    token = given or hud_token(context, (github or github_token)(environ), environ, host, transport=transport)
    if not _TOKEN.fullmatch(token):
        raise UsageError("what was given is no token: it is one word without blanks")
    with Grafana(context.server, token, transport=transport) as grafana:
        if not grafana.healthy():
            raise OutsideError(f"{grafana.place} does not take the token; is it one for this server?")
        named = replace(context, namespace=_namespace(grafana))
    return Login(named, True, known.keep(named, token))


def github_token(
    environ: Mapping[str, str], run: Callable[..., "subprocess.CompletedProcess[str]"] | None = None
) -> str:
    """The GitHub token of this person: `GITHUB_TOKEN`, or what `gh auth token` prints.

    UsageError: gh is not installed, or not logged in.
    """
    if token := environ.get("GITHUB_TOKEN", "").strip():
        return token
    try:
        done = (run or subprocess.run)(
            ["gh", "auth", "token", "--hostname", "github.com"],
            env={**environ, "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("gh is not installed: install it from https://cli.github.com, or set GITHUB_TOKEN") from None
    except subprocess.TimeoutExpired:
        raise OutsideError(f"gh auth token did not end within {_SECONDS:g} seconds; try it by hand") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not print text"
        raise OutsideError(f"gh cannot be run: {reason}; mend it, or set GITHUB_TOKEN") from None
    token = done.stdout.strip()
    if done.returncode or not token:
        raise UsageError(f"gh is not logged in; run {GH_LOGIN}")
    return token


def hud_token(
    context: Context, github: str, environ: Mapping[str, str], host: str, *, transport: Transport = None
) -> str:
    """A token for the Grafana of a context, of its HUD, for a GitHub token. `HUD_INTERNAL_BOT_TOKEN` goes along.

    UsageError: the HUD's address is none, or would show the token to others. OutsideError: see `login`.
    """
    hud = web_address(context.hud, "the HUD", "https://hud.pytorch.org")
    place = f"HUD at {netloc(hud)}"
    if not is_private_way(hud):
        raise UsageError(f"the {place} is not asked over https: the GitHub token would be open to read on the way")
    if not _TOKEN.fullmatch(github):
        raise UsageError(f"the GitHub token is none; mend GITHUB_TOKEN, or run {GH_LOGIN}")
    headers = {
        "authorization": f"Bearer {github}",
        "accept": "application/json, text/plain;q=0.5",
        "user-agent": f"build-eye/{__version__}",
    }
    if bot := environ.get("HUD_INTERNAL_BOT_TOKEN", "").strip():
        headers["x-hud-internal-bot"] = bot
    asked = {"token_name": _TOKEN_NAME.sub("-", host)[:100] or "build-eye"}
    url = f"{str(hud).rstrip('/')}/api/gcx-token"
    with httpx2.Client(
        transport=transport or environment_transport(), headers=headers, timeout=_SECONDS, follow_redirects=False
    ) as client:
        status, text = _asked(client, url, asked, place)
    return _token_of(status, text, place, context.server)


def _asked(client: httpx2.Client, url: str, asked: Mapping[str, str], place: str) -> tuple[int, str]:
    def once() -> tuple[int, str]:
        with client.stream("GET", url, params=dict(asked)) as response:
            body = body_of(response, _MOST_BYTES, _SECONDS)
        if response.status_code in _GATEWAY:
            raise AwayError(response.status_code)
        return response.status_code, body.decode("utf-8", "replace").strip()

    try:
        return patiently(once, _TRIES, _PAUSE)
    except AwayError as error:
        raise OutsideError(f"the {place} answered {error.status}, {_TRIES} times in a row; try again later") from None
    except TooLargeError:
        raise OutsideError(f"the {place} answered with a page, not with a token; is --hud right?") from None
    except httpx2.TimeoutException:
        raise OutsideError(f"the {place} did not answer within {_SECONDS:g} seconds; try again later") from None
    except (httpx2.RequestError, httpx2.InvalidURL) as error:
        reason = one_line(str(error)) or type(error).__name__
        raise OutsideError(f"the {place} cannot be reached: {reason}; check the network, the proxy and --hud") from None


def _token_of(status: int, text: str, place: str, server: str) -> str:
    """The token in an answer: alone, or in JSON beside the Grafana it is for."""
    is_page = text.startswith("<")
    told = _json(text)
    whose = str(told.get("grafanaServer") or "").rstrip("/")
    token = str(told.get("token") or "") if told else text
    match status:
        case 200 if whose and whose != server:
            raise OutsideError(f"the {place} hands out tokens for {one_line(whose)}, not for {server}; mend --server")
        case 200 if _TOKEN.fullmatch(token) and not is_page:
            return token
        case 401:
            raise OutsideError(f"the {place} does not take the GitHub token; run gh auth refresh, or {GH_LOGIN}")
        case 403 if is_page:
            raise OutsideError(f"the {place} lets no programs pass; set HUD_INTERNAL_BOT_TOKEN")
        case 403:
            raise OutsideError(
                f"the {place} gives no token: it is for people with write access to the repository; ask its maintainers"
            )
        case 404:
            raise OutsideError(
                f"the {place} hands out no tokens; is --hud right? Or give one: build-eye login --with-token"
            )
        case _ if 300 <= status < 400:
            raise OutsideError(f"the {place} answered {status}, a redirect; name the HUD itself with --hud")
        case 200:
            raise OutsideError(f"the {place} answered with a page, not with a token; is --hud right?")
        case _:
            raise OutsideError(f"the {place} answered {status} and gives no token; try again later")


def _json(text: str) -> dict[str, Any]:
    """The object that a text is; {} for any other text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _namespace(grafana: Grafana) -> str:
    """What it calls the organisation, which it need not tell."""
    try:
        return grafana.namespace()
    except OutsideError:
        return "default"


def _is_good(context: Context, token: str, transport: Transport) -> bool:
    with Grafana(context.server, token, namespace=context.namespace, transport=transport) as grafana:
        return grafana.healthy()
