"""One HTTP request and its whole answer within one deadline: no redirects, no second try, never more than asked for."""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache


class ExchangeError(Exception):
    """There was no whole answer; the message says why in a few words, without the address."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the status and the body."""

    status: int
    body: bytes

    @property
    def good(self) -> bool:
        """Whether the status is any 2xx."""
        return 200 <= self.status < 300


def exchange(
    method: str,
    url: str,
    seconds: float,
    *,
    most_bytes: int,
    headers: Mapping[str, str] | None = None,
    content: bytes = b"",
) -> Answer:
    """Ask once; `seconds` (true ones) are for everything from the connection to the last byte of the body.

    Runs an event loop of its own, so the calling thread must have none. A server on this host is asked straight, any
    other through the proxy that the environment names. ExchangeError: refused, cut short, too slow, or too long.
    """
    return asyncio.run(_ask(method, url, seconds, most_bytes, dict(headers or {}), content))


async def _ask(
    method: str, url: str, seconds: float, most_bytes: int, headers: dict[str, str], content: bytes
) -> Answer:
    import httpx2

    from buildeye.github.transport import LOOPBACK

    try:
        near = httpx2.URL(url).host in LOOPBACK
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(
                timeout=None, follow_redirects=False, trust_env=not near, verify=_trusted(from_environment=not near)
            ) as client,
            client.stream(method, url, headers=headers, content=content) as response,
        ):
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > most_bytes:
                    raise ExchangeError(f"an answer of more than {most_bytes:,} bytes")
            return Answer(response.status_code, bytes(body))
    except TimeoutError:
        raise ExchangeError(f"no whole answer within {seconds:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError, ImportError) as error:
        raise ExchangeError(_reason(error)) from None


@cache
def _trusted(*, from_environment: bool) -> ssl.SSLContext:
    """Whom TLS trusts: reading all the certificates takes longer than most exchanges, so it is done once."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=from_environment)


def _reason(error: Exception) -> str:
    from buildeye.config.secrets import masked

    text = masked(" ".join(str(error).split()))[:200]
    return text or type(error).__name__
