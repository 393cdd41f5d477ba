"""What commands that answer a ready question share: the warehouse that is asked, and the forms of an answer."""

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from buildeye.cli.setup import settings_for, target_overrides

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.warehouse import Warehouse


class AnswerForm(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


ANSWER = typer.Option(AnswerForm.TABLE, "--format", "-o", help="A table to read, JSON or CSV.")


@contextmanager
def asked(target_repo: str | None, config: Path | None) -> "Iterator[tuple[Warehouse, Settings]]":
    """The warehouse of the settings, open, with them."""
    from buildeye.warehouse import open_warehouse

    settings = settings_for(config, target_overrides(target_repo))
    store = settings.storage
    with open_warehouse(store.warehouse_dsn, retention_days=store.retention_days) as warehouse:
        yield warehouse, settings


def written(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], form: AnswerForm) -> str:
    """Rows as JSON (a list of objects) or CSV with `columns` as head; times in ISO 8601, lists in CSV as JSON."""
    if form is AnswerForm.JSON:
        return _json([{column: row[column] for column in columns} for row in rows])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_field(row[column]) for column in columns] for row in rows)
    return out.getvalue().rstrip("\n")


def _field(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    return _json(value) if isinstance(value, list | tuple | dict) else value


def _json(value: object) -> str:
    utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    return json.dumps(value, default=datetime.isoformat, ensure_ascii=not utf8)
