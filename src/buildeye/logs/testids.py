"""Names of failing tests, as each framework prints them in its failure lines."""

import re

_JUNK = re.compile(r"^(?:\.{3}|\d+|tests?|failed|error)$", re.IGNORECASE)


def tidy(test: str) -> str:
    """A test id without the padding, marks and trailing times around it."""
    test = re.sub(r"\s+\(?\d+(?:\.\d+)? ?m?s\)?$", "", test.strip().strip("●✕×•").strip())
    return "" if _JUNK.match(test) else test[:300]
