"""What commands that answer a question share: the warehouse that is asked, and the forms of an answer."""

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
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.warehouse import Warehouse


WIDEST = 10_000
"""Characters of a line in a wide table; a terminal breaks it, a pager does not."""


class AnswerForm(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    YAML = "yaml"
    WIDE = "wide"
    GRAPH = "graph"


ANSWER = typer.Option(
    AnswerForm.TABLE, "--format", "-o", help="A table to read, a wide one, JSON, YAML, CSV, or a picture of it."
)


@contextmanager
def asked(target_repo: str | None, config: Path | None) -> "Iterator[tuple[Warehouse, Settings]]":
    """The warehouse of the settings, open for questions, with them; through the server when one has the folder."""
    from buildeye.warehouse import open_to_ask

    settings = settings_for(config, target_overrides(target_repo))
    store = settings.storage
    with open_to_ask(store.warehouse_dsn, store.data_dir, retention_days=store.retention_days) as warehouse:
        yield warehouse, settings


def say_why_nothing(warehouse: "Warehouse", repository: str, found: object, branch: str = "") -> None:
    """Tell who got an empty answer when nothing is known of the repository or branch at all."""
    from buildeye.insight.emptiness import why_nothing

    if not found and (why := why_nothing(warehouse, repository, branch)):
        warn(f"{why}; build-eye sync brings facts, --target-repo names another repository")


def written(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], form: AnswerForm) -> str:
    """Rows as JSON or YAML (a list of objects), as CSV, as a picture, or as a table of all columns, however wide.

    Times are in ISO 8601; lists in CSV and tables are JSON.
    """
    objects = [{column: row[column] for column in columns} for row in rows]
    if form is AnswerForm.JSON:
        return _json(objects)
    if form is AnswerForm.YAML:
        return _yaml(objects)
    if form is AnswerForm.GRAPH:
        from buildeye.cli.graph import picture

        return picture(columns, [[row[column] for column in columns] for row in rows])
    if form in (AnswerForm.WIDE, AnswerForm.TABLE):
        from buildeye.cli.tables import table

        return table(columns, [[str(_field(row[column])) for column in columns] for row in rows], width=WIDEST)
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


def _yaml(objects: Sequence[Mapping[str, Any]]) -> str:
    """YAML 1.2 reads JSON's scalars, so that every value is what JSON has."""
    import yaml

    plain = json.loads(json.dumps(objects, default=datetime.isoformat))
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=_is_utf8(), width=WIDEST).rstrip("\n")


def _is_utf8() -> bool:
    return sys.stdout.encoding.lower().replace("-", "") == "utf8"


def _json(value: object) -> str:
    return json.dumps(value, default=datetime.isoformat, ensure_ascii=not _is_utf8())
