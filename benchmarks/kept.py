"""The numbers of benchmarks that share a file: what one measures leaves those of the others as they are."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TOTALS = ("kills", "lost", "doubled")
"""What is told by part (`kills_sync`, `kills_webhooks`) and in all."""


def keep(out: Path, numbers: Mapping[str, Any]) -> None:
    """Put numbers into a JSON file beside those that are there, with the totals of all parts."""
    kept: dict[str, Any] = json.loads(out.read_text("utf-8")) if out.exists() else {}
    kept.update(numbers)
    for total in TOTALS:
        parts = [value for name, value in kept.items() if name.startswith(f"{total}_")]
        if parts:
            kept[total] = sum(parts)
    out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
