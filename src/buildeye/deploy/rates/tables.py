"""Verdicts by SQL from the application's own tables, the seed's: execution_event and bug_record.

Only explicit verdicts count: after it entered validation, a task that a validator's bug record complains of is
rejected, and one that an event closes as done is approved; until then it is pending, and pending is never approved. A
verdict belongs to the deployment that served the task when it last entered validation before. One query a reading.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from buildeye.deploy.rates.source import Serving, SourceError, source_failures
from buildeye.deploy.rates.tablesql import Wanted, Words, rows_query
from buildeye.deploy.rates.tasks import Served, TaskVerdict, baseline_of, reading_of
from buildeye.deploy.rates.times import parse_time
from buildeye.model import UsageError
from buildeye.model.deployments import Baseline

if TYPE_CHECKING:
    import sqlalchemy as sa

    from buildeye.deploy.judges.rate import RateReading

READ_MOST: Final = 150
"""Entries into validation of one reading, the oldest: three times the 50 judged tasks that the test looks at. With a
fifth of them pending, which is the most it takes, 63 would do."""
_CONNECT_SECONDS: Final = 10
_MOST_SERVINGS: Final = 50  # newest clean deployments that a baseline is read of

_ENTERS, _REJECTS, _APPROVES = range(3)  # the order of what is told of one second


class TablesSource:
    """The tables behind an SQLAlchemy engine; `place` names them in messages, without a password."""

    def __init__(
        self,
        engine: "sa.Engine",
        place: str,
        project: str,
        *,
        words: Words | None = None,
        read_most: int = READ_MOST,
        baseline_most: int = 200,
    ) -> None:
        self._engine, self._place, self._project = engine, place, project
        self._words = words or Words()
        self._read_most, self._baseline_most = read_most, baseline_most

    def read(self, serving: Serving, now: datetime) -> "RateReading":
        """As the protocol says, of the oldest `read_most` entries."""
        with source_failures(self._place):
            found = self._tasks(Wanted([serving], self._read_most), serving.served)
            return reading_of(found, serving.served, self._read_most)

    def baseline(self, clean: Sequence[Serving], known: Sequence[Serving], before: datetime) -> Baseline | None:
        """As the protocol says; twice as many entries are looked at, as some have no verdict."""
        newest = sorted(clean, key=lambda serving: serving.since)[-_MOST_SERVINGS:]
        served = served_by_any(newest) if newest else served_by_none(known)
        wanted = Wanted(newest or known, 2 * self._baseline_most, others=not newest, before=before, newest=True)
        with source_failures(self._place):
            return baseline_of(self._tasks(wanted, served), served, before, self._baseline_most)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _tasks(self, wanted: Wanted, served: Served) -> Iterator[TaskVerdict]:
        import sqlalchemy as sa

        query = rows_query(self._engine.dialect.name, self._words, self._project, wanted)
        try:
            with self._engine.connect() as connection:
                rows = connection.execute(query).all()
        except (sa.exc.SQLAlchemyError, OSError) as error:
            raise SourceError(f"the rate source {self._place} cannot be read: {_reason(error)}") from None
        return verdicts(rows, self._words.validating, served)


def open_tables(
    dsn: str, project: str, *, words: Words | None = None, read_most: int = READ_MOST, baseline_most: int = 200
) -> TablesSource:
    """The tables at `sqlite:///path` or `postgresql://user:password@host/database`; connects when it is read.

    UsageError: no such address. SQLite files are opened for reading only.
    """
    import sqlalchemy as sa

    engine = engine_of(dsn)
    place = sa.make_url(dsn).set(query={}).render_as_string(hide_password=True)
    return TablesSource(engine, place, project, words=words, read_most=read_most, baseline_most=baseline_most)


def engine_of(dsn: str) -> "sa.Engine":
    """An engine for a database that is only read. UsageError, without the password, for a wrong address."""
    import sqlalchemy as sa

    try:
        url = sa.make_url(dsn)
        backend = url.get_backend_name()
        if backend == "sqlite":
            if not url.database:
                raise UsageError("rate.dsn names no file: write sqlite:///path/of/tasks.sqlite")
            read_only = url.set(database=f"file:{quote(url.database)}", query={"mode": "ro", "uri": "true"})
            return sa.create_engine(read_only, connect_args={"timeout": _CONNECT_SECONDS})
        if backend == "postgresql":
            engine = sa.create_engine(
                url.set(drivername="postgresql+pg8000"), connect_args={"timeout": _CONNECT_SECONDS}, pool_pre_ping=True
            )
            sa.event.listen(engine, "connect", _in_utc)
            return engine
    except sa.exc.ArgumentError:
        pass
    raise UsageError("rate.dsn is no address of a database: write sqlite:///path or postgresql://user@host/database")


def verdicts(rows: Iterable[Sequence[Any]], validating: str, served: Served) -> Iterator[TaskVerdict]:
    """What became of each task that counts. Rows are (task, time, status or None for a complaint, deployment)."""
    told: dict[str, list[tuple[datetime, int, str]]] = defaultdict(list)
    for task_id, at, status, said in rows:
        what = _REJECTS if status is None else _ENTERS if status == validating else _APPROVES
        try:
            told[str(task_id)].append((parse_time(at), what, "" if said is None else str(said)))
        except ValueError as error:
            raise ValueError(f"task {task_id}: {error}") from None
    for task_id, happened in told.items():
        task = _verdict(task_id, sorted(happened), served)
        if task is not None:
            yield task


def served_by_any(servings: Sequence[Serving]) -> Served:
    """Tasks that one of these deployments served."""
    return lambda said, at: any(serving.served(said, at) for serving in servings)


def served_by_none(servings: Sequence[Serving]) -> Served:
    """Tasks that none of these deployments served."""
    return lambda said, at: not any(serving.served(said, at) for serving in servings)


def _verdict(task_id: str, happened: Sequence[tuple[datetime, int, str]], served: Served) -> TaskVerdict | None:
    """The first verdict on a task while what counts was the last to take it into validation; None: it never was."""
    entered: datetime | None = None
    by, ours = "", False
    for at, what, said in happened:
        if what == _ENTERS:
            ours = served(said, at)
            if ours and entered is None:
                entered, by = at, said
        elif ours and entered is not None:
            return TaskVerdict(task_id, entered, what == _APPROVES, by)
    return None if entered is None else TaskVerdict(task_id, entered, None, by)


def _in_utc(connection: Any, _record: object) -> None:
    """Times without a zone are in UTC."""
    cursor = connection.cursor()
    cursor.execute("SET TIME ZONE 'UTC'")
    cursor.close()
    connection.commit()


def _reason(error: Exception) -> str:
    """What the database says, on one line, without statement and parameters."""
    cause = getattr(error, "orig", None) or error
    told = cause.args[0] if cause.args else cause
    if isinstance(told, dict):  # PostgreSQL's fields
        told = told.get("M", told)
    return " ".join(str(told).split())[:200] or type(cause).__name__
