"""The findings a report was made of, kept as JSON, so that a later pass adds to a report instead of losing from it."""

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from buildeye.model import Finding
from buildeye.reports.paths import as_utc
from buildeye.reports.words import Language

FORMAT = 1
_LOG = logging.getLogger(__name__)
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Told:
    """What one report tells and how: enough to write it again, equal to the byte."""

    findings: tuple[Finding, ...]
    language: Language
    max_log_lines: int
    generated_at: datetime
    format: int = FORMAT


def encode(told: Told) -> bytes:
    """The JSON of what was told."""
    values = _adapter().dump_python(told)
    text = json.dumps(values, default=datetime.isoformat, ensure_ascii=False, indent=1)
    return (text + "\n").encode("utf-8", "replace")


def decode(data: bytes | None, name: str) -> Told | None:
    """What was told; None when there is nothing, or nothing this version can read (said in the program's log)."""
    if data is None:
        return None
    try:
        told: Told = _adapter().validate_json(data)
    except ValidationError as error:
        _LOG.warning("%s is left out, it does not hold findings this version reads: %s", name, error.error_count())
        return None
    return told if told.format == FORMAT else None


def merge(known: Iterable[Finding], given: Iterable[Finding]) -> tuple[Finding, ...]:
    """All runs of both, each once, by run id. Of two about one run the later attempt wins, then the later judgement."""
    best: dict[int, Finding] = {}
    for finding in (*known, *given):
        other = best.get(finding.run.id)
        if other is None or _freshness(finding) >= _freshness(other):
            best[finding.run.id] = finding
    return tuple(best[run_id] for run_id in sorted(best))


def _freshness(finding: Finding) -> tuple[int, datetime, datetime]:
    updated, judged = finding.run.updated_at, finding.verdict.judged_at
    return (
        finding.run.run_attempt,
        as_utc(updated) if updated else _BEGINNING,
        as_utc(judged) if judged else _BEGINNING,
    )


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Told)
