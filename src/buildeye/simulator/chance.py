"""The one source of chance: a generator named by what it is for, so that equal names draw equal numbers."""

from random import Random


def chance(*name: object) -> Random:
    """A generator seeded by the parts of its name."""
    return Random("/".join(str(part) for part in name))  # noqa: S311 - a story, not a secret
