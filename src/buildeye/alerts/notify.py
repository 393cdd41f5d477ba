"""A message to people through the services of `deploy.yaml`: never in the way of a rollback, never with a secret in it.

Addresses of services hold tokens, and what a service or its library says of a failure may quote them. So a failure is
told by the kind of service, its host and one of a few reasons of our own; nothing is quoted.
"""

import logging
import re
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from apprise import AppriseResult

DEADLINE: Final = 10.0
"""Seconds a message may take, all services together: they are told at the same time."""
_LOADING: Final = threading.Lock()
_STATUS: Final = re.compile(r"\berror=(\d{3})\b")
_UNREACHED: Final = re.compile(r"\b(?:connection|socket|dns|resolve|timed? ?out)\b", re.IGNORECASE)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,14}")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{1,63}|localhost|\[[0-9A-Fa-f:.]+\]")
_HOSTED: Final = frozenset(
    f"{name}{s}"
    for name in ("apprise", "bark", "form", "gotify", "hassio", "json", "matrix", "mailto", "mmost", "ncloud", "ntfy",
                 "rocket", "signal", "workflow", "xml")
    for s in ("", "s")
)  # fmt: skip
"""Services whose address begins with a host. With others a token stands there, as with `tgram://TOKEN/CHAT`."""


def notify(urls: Sequence[str], title: str, body: str, deadline: float = DEADLINE) -> list[str]:
    """Send a message to every service, at the same time; gives what failed, a sentence each, empty when all went well.

    `urls` are apprise's. It is back after `deadline` true seconds, whatever the services do: one that has not answered
    by then counts as failed, and its thread does not keep the program from ending. Never raises.
    """
    answers: list[str | None] = [None] * len(urls)
    threads = [
        threading.Thread(target=_send, args=(url, title, body, answers, i), daemon=True, name="build-eye-notify")
        for i, url in enumerate(urls)
    ]
    until = time.monotonic() + deadline
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    late = f"did not answer in {deadline:g} s"
    told = [late if answer is None else answer for answer in answers]
    return [f"{place_of(url)} {why}" for url, why in zip(urls, told, strict=True) if why]


def place_of(url: str) -> str:
    """A service's address without anything that may be secret: its scheme, and its host where that is one for sure."""
    scheme, found, rest = url.strip().partition("://")
    if not found or not _SCHEME.fullmatch(scheme):
        return "a notification address"
    service, host = scheme.lower(), re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2].lower()
    host, port = re.sub(r":\d{1,5}$", "", host), re.search(r":\d{1,5}$", host)
    if service not in _HOSTED or not _HOST.fullmatch(host):
        return f"{service}://***"
    return f"{service}://{host}{port[0] if port else ''}"


def _send(url: str, title: str, body: str, answers: list[str | None], i: int) -> None:
    """Put into `answers[i]` what failed, '' when nothing did."""
    try:
        answers[i] = _sent(url, title, body)
    except Exception as error:  # noqa: BLE001 - whatever a service's plug-in raises, a rollback goes on; its text may quote a token
        answers[i] = f"could not be told: {type(error).__name__}"


def _sent(url: str, title: str, body: str) -> str:
    apprise = _apprise()
    # With either of these apprise sends from a pool, which the program waits for when it ends.
    service = apprise.Apprise(asset=apprise.AppriseAsset(async_mode=False, service_timeout=0))
    if not service.add(url):
        return "is not an address that apprise knows; see notify in deploy.yaml"
    return _why(service.notify(body=body, title=title, body_format=apprise.NotifyFormat.TEXT))


def _why(result: "AppriseResult") -> str:
    """The reason of a failure in our own words, '' when the message was sent."""
    if result:
        return ""
    said = [entry.message for one in result for entry in one.logs()]
    statuses = [found[1] for text in said if (found := _STATUS.search(text))]
    if statuses:
        return f"answered {statuses[-1]}"
    return "could not be reached or did not answer" if any(map(_UNREACHED.search, said)) else "refused the message"


def _apprise() -> Any:
    """The library, loaded when it is needed, with loggers that print nothing: they quote addresses."""
    with _LOADING:
        logger = logging.getLogger("apprise")
        if logger.propagate:
            logger.addHandler(logging.NullHandler())
            logger.setLevel(logging.WARNING)
            logger.propagate = False
            logging.getLogger("urllib3").setLevel(logging.CRITICAL)  # it quotes paths
        import apprise

        return apprise
