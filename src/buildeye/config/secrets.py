"""Keeps secrets out of messages about settings: by the name of the key, and by the look of the value."""

import re

MASK = "***"
_SECRET_KEY = re.compile(r"token|secret|passw|credential|api_?key|private_?key", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|AKIA)[A-Za-z0-9_\-]{4,}"  # GitHub, GitLab, Slack, OpenAI, AWS
    r"|(?<=://)[^/\s]+(?=@)"  # user:password@ of an address
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
    re.DOTALL,
)


def is_secret_key(key: str) -> bool:
    """Whether a key of this name holds a secret, whatever its value looks like."""
    return bool(_SECRET_KEY.search(key))


def masked(text: str) -> str:
    """`text` with tokens, credentials in addresses and private keys replaced by asterisks."""
    return _SECRET_VALUE.sub(MASK, text)
