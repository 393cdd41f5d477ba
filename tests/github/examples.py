"""The payloads GitHub's SDK publishes as examples (npm package `@octokit/webhooks-examples`); they are not kept here.

Give the unpacked package with OCTOKIT_WEBHOOKS_EXAMPLES, or put it below `.cache/octokit-webhooks-examples`
(`npm pack @octokit/webhooks-examples`, then `tar -x`).
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

VARIABLE = "OCTOKIT_WEBHOOKS_EXAMPLES"
CACHE = Path(__file__).parents[2] / ".cache" / "octokit-webhooks-examples"


@dataclass(frozen=True, slots=True)
class Example:
    """One example: the name of the event and the body as GitHub would send it."""

    event: str
    body: bytes


def octokit_examples() -> list[Example]:
    """Every example for github.com and for GitHub Enterprise; skips where the package is not there."""
    folder = Path(os.environ.get(VARIABLE) or CACHE)
    files = sorted(folder.rglob("index.json"))
    if not files:
        pytest.skip(f"no @octokit/webhooks-examples in {VARIABLE} or .cache/octokit-webhooks-examples")
    return [
        Example(event["name"], json.dumps(payload).encode())
        for file in files
        for event in json.loads(file.read_text("utf-8"))
        for payload in event["examples"]
    ]
