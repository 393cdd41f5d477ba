"""The one query of a reading of the seed's tables, as SQLite and as PostgreSQL say it.

It picks the oldest (or newest) entries into validation that count, and gives all that happened to their tasks: entries,
closings, a validator's complaints. What counts is settled exactly on the rows; the query only must leave nothing out.

SQLite keeps times as texts. Picked are entries in the order of the texts, which the index of the table has, so that the
query ends with the last entry it needs. Of two forms on one day the one with a space comes first; `beside` adds those
of the other form that belong before the last one picked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import sqlalchemy as sa

from buildeye.deploy.rates.source import Serving
from buildeye.model import UsageError

_SQLITE_TIME: Final = "%Y-%m-%d %H:%M:%S.%f"


@dataclass(frozen=True, slots=True)
class Words:
    """The application's words: the status of validation, those that close a task as approved, who complains, and the
    key of an event's payload that says which deployment served the task."""

    validating: str = "validating"
    approved: tuple[str, ...] = ("done", "closed")
    complains: str = "validator"
    served_by: str = "deployment_id"

    def __post_init__(self) -> None:
        if not self.served_by.isidentifier():
            raise UsageError(f"{self.served_by!r} is no key of a payload: write one word, such as deployment_id")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries count: served by one of `servings` (or, with `others`, by none of them), before a moment if given;
    the `most` oldest, or the `most` newest."""

    servings: Sequence[Serving]
    most: int
    others: bool = False
    before: datetime | None = None
    newest: bool = False


def rows_query(dialect: str, words: Words, project: str, wanted: Wanted) -> sa.TextClause:
    """The query; its rows are (task, time, status or None for a complaint, deployment or None)."""
    say = _POSTGRESQL if dialect == "postgresql" else _SQLITE
    said = say.said.format(key=words.served_by)
    counts, given = _counts(say, f"coalesce({said}, '')", wanted)
    entered = f"""
        SELECT task_id, created_at FROM execution_event
        WHERE project_id = :project AND event_type = 'task_status_changed' AND task_id IS NOT NULL
          AND {say.reached} AND {counts}
    """  # noqa: S608 - texts of this module and names of parameters
    order = "DESC" if wanted.newest else "ASC"
    text = f"""
        WITH picked AS ({entered} ORDER BY {say.sorted} {order} LIMIT :most),
        chosen AS (SELECT task_id FROM picked {say.beside[wanted.newest].format(entered=entered)})
        SELECT task_id, {say.time}, {say.status}, {said} FROM execution_event
        WHERE task_id IN (SELECT task_id FROM chosen) AND {say.not_by_index}project_id = :project
          AND {say.not_by_index}event_type = 'task_status_changed' AND {say.status} IN :statuses
        UNION ALL
        SELECT task_id, {say.time}, NULL, NULL FROM bug_record
        WHERE task_id IN (SELECT task_id FROM chosen) AND source = :complains
    """  # noqa: S608 - as above
    given |= {
        "project": project,
        "most": wanted.most,
        "validating": words.validating,
        "statuses": [words.validating, *words.approved],
        "complains": words.complains,
    }
    lists: list[sa.BindParameter[object]] = [
        sa.bindparam(name, expanding=True) for name, value in given.items() if isinstance(value, list)
    ]
    return sa.text(text).bindparams(*lists).bindparams(**given)


@dataclass(frozen=True, slots=True)
class _Dialect:
    time: str
    sorted: str
    status: str
    said: str
    reached: str
    since: str
    until: str
    floor: str
    beside: dict[bool, str]
    not_by_index: str


_SQLITE: Final = _Dialect(
    time="created_at",
    sorted="created_at",
    status="json_extract(payload, '$.to_status')",
    said="(json_extract(payload, '$.{key}') || '')",
    reached="json_extract(payload, '$.to_status') = :validating",
    # A text that is no time counts, so that it is met and told.
    since="coalesce(julianday(created_at) >= julianday({name}), 1)",
    until="coalesce(julianday(created_at) < julianday({name}), 1)",
    floor="created_at >= {name}",
    beside={
        False: """
            UNION SELECT task_id FROM ({entered}), (SELECT max(created_at) AS edge FROM picked)
            WHERE created_at BETWEEN substr(edge, 1, 10) || 'T'
                                 AND substr(edge, 1, 10) || 'T' || substr(edge, 12) || '~'
        """,
        True: """
            UNION SELECT task_id FROM ({entered}), (SELECT min(created_at) AS edge FROM picked)
            WHERE created_at BETWEEN substr(edge, 1, 10) || ' ' || substr(edge, 12, 8) AND substr(edge, 1, 10) || ' ~'
        """,
    },
    not_by_index="+",
)
_POSTGRESQL: Final = _Dialect(
    time="CAST(created_at AS text)",
    sorted="CAST(created_at AS timestamptz)",
    status="(CAST(payload AS jsonb) ->> 'to_status')",
    said="(CAST(payload AS jsonb) ->> '{key}')",
    reached="(CAST(payload AS jsonb) ->> 'to_status') = :validating",
    since="CAST(created_at AS timestamptz) >= CAST({name} AS timestamptz)",
    until="CAST(created_at AS timestamptz) < CAST({name} AS timestamptz)",
    floor="CAST(created_at AS timestamptz) >= CAST({name} AS timestamptz)",
    beside={False: "", True: ""},
    not_by_index="",
)


def _counts(say: _Dialect, said: str, wanted: Wanted) -> tuple[str, dict[str, object]]:
    """The condition of what counts, and its parameters; `said` is the SQL of what an event says served it."""
    ids = sorted({serving.deployment_id for serving in wanted.servings})
    given: dict[str, object] = {"ids": ids} if ids else {}
    ways = [f"{said} IN :ids"] if ids else ["1 = 0"]
    for number, serving in enumerate(wanted.servings):
        given[f"since{number}"] = _text(serving.since)
        since = say.since.format(name=f":since{number}")
        until = "1 = 1"
        if serving.until is not None:
            given[f"until{number}"] = _text(serving.until)
            until = say.until.format(name=f":until{number}")
        ways.append(f"{said} = '' AND {since} AND {until}")
        if serving.version:
            given[f"version{number}"] = serving.version
            ways.append(f"{said} = :version{number} AND {since}")
    condition = f"{'NOT ' if wanted.others else ''}({' OR '.join(ways)})"
    if wanted.before is not None:
        given["before"] = _text(wanted.before)
        condition += f" AND {say.until.format(name=':before')}"
    if wanted.servings and not wanted.others:
        earliest = min(serving.since for serving in wanted.servings)
        given["floor"] = _text(earliest - timedelta(days=1))[:10]
        condition += f" AND {say.floor.format(name=':floor')}"
    return condition, given


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime(_SQLITE_TIME)
