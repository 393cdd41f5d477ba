"""When to tell whom: messages to people, through apprise."""

from buildeye.alerts.notify import notify, place_of

__all__ = ["notify", "place_of"]
