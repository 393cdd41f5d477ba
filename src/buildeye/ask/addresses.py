"""Addresses of servers that people name: checked before anything is sent there, and told without what is secret."""

import httpx2

from buildeye.model import UsageError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def web_address(text: str, what: str, example: str) -> httpx2.URL:
    """The http(s) address of `what`, without query and fragment. UsageError: it is none, or holds a password."""
    try:
        address = httpx2.URL(text.strip())
    except httpx2.InvalidURL:
        raise UsageError(f"{what} is no address; such as {example}") from None
    if address.scheme not in {"http", "https"} or not address.host:
        raise UsageError(f"{what} is no http(s) address; such as {example}")
    if address.userinfo:
        raise UsageError(f"{what} holds a user name or password; take them out: tokens are kept apart")
    return address.copy_with(query=None, fragment=None)


def netloc(address: httpx2.URL) -> str:
    """Host and port, as messages name a server."""
    return address.netloc.decode("ascii")


def is_private_way(address: httpx2.URL) -> bool:
    """Whether nobody on the way can read what is sent: it is encrypted, or does not leave this machine."""
    return address.scheme == "https" or address.host in LOOPBACK
