"""The schema arrives once, whole, and whoever starts it; old rows go when they should."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from clickhouse_connect.driver.client import Client

from buildeye.model import UsageError
from buildeye.warehouse import KeptLog, Warehouse, open_warehouse
from buildeye.warehouse.migrations import RETENTION, Migration, migrate, shipped_migrations

SHIPPED = shipped_migrations()
NEXT = Migration(
    "9001_more.sql",
    "-- one;\nCREATE TABLE IF NOT EXISTS buildeye.more (x UInt8) ENGINE = MergeTree ORDER BY x;\n\n"
    "CREATE OR REPLACE VIEW buildeye.more_latest AS\nSELECT * FROM buildeye.more;\n",
)

AGAIN = ("IF NOT EXISTS", "OR REPLACE", "MODIFY SETTING", "MATERIALIZE PROJECTION IF EXISTS")
"""Words of a statement that does no harm the second time."""


@pytest.fixture
def spare(embedded: Warehouse) -> Iterator[Warehouse]:
    yield embedded
    embedded.query("DELETE FROM buildeye.schema_version WHERE number > 9000")
    embedded.query("DROP VIEW IF EXISTS buildeye.more_latest")
    embedded.query("DROP TABLE IF EXISTS buildeye.more")


def recorded(warehouse: Warehouse) -> list[tuple[int, str]]:
    answer = warehouse.query("SELECT number, name FROM buildeye.schema_version FINAL ORDER BY number")
    return [(row[0], row[1]) for row in answer.rows]


def client_of(warehouse: Warehouse) -> Client:
    """The driver's client, which only tests reach for."""
    return warehouse._client._client


def test_schema_files_are_numbered_without_gaps() -> None:
    assert [migration.number for migration in SHIPPED] == list(range(len(SHIPPED)))


@pytest.mark.parametrize("migration", SHIPPED, ids=lambda migration: migration.name)
def test_every_shipped_statement_can_be_run_again(migration: Migration) -> None:
    assert migration.statements
    for statement in migration.statements:
        assert any(words in statement for words in AGAIN)


def test_applied_files_are_recorded(warehouse: Warehouse) -> None:
    assert recorded(warehouse) == [(migration.number, migration.name) for migration in SHIPPED[1:]]


def test_every_table_has_a_latest_view_and_an_age(warehouse: Warehouse) -> None:
    tables = warehouse.query(
        "SELECT concat(database, '.', name) FROM system.tables WHERE database IN ('default', 'tests', 'buildeye')"
    ).rows
    names = {name for (name,) in tables}
    assert names == {"buildeye.schema_version"} | set(RETENTION) | {f"{table}_latest" for table in RETENTION}


def test_a_file_is_applied_once(spare: Warehouse) -> None:
    assert migrate(client_of(spare), [*SHIPPED, NEXT]) == (9001,)
    assert migrate(client_of(spare), [*SHIPPED, NEXT]) == ()
    assert spare.query("SELECT count() FROM buildeye.more_latest").rows == ((0,),)


def test_a_file_changed_after_it_was_applied_is_an_error(spare: Warehouse) -> None:
    migrate(client_of(spare), [*SHIPPED, NEXT])
    with pytest.raises(UsageError, match=r"9001_more\.sql was changed after"):
        migrate(client_of(spare), [*SHIPPED, replace(NEXT, sql=NEXT.sql + "\n")])


def test_a_warehouse_of_a_newer_version_is_left_alone(spare: Warehouse) -> None:
    migrate(client_of(spare), [*SHIPPED, NEXT])
    with pytest.raises(UsageError, match=r"has schema 9001, .* upgrade Build-Eye"):
        open_warehouse(f"chdb://{spare.place}")


def test_a_file_killed_half_way_is_finished_by_the_next_start(spare: Warehouse) -> None:
    client_of(spare).command(NEXT.statements[0])
    assert migrate(client_of(spare), [*SHIPPED, NEXT]) == (9001,)
    assert spare.query("SELECT count() FROM buildeye.more_latest").rows == ((0,),)


def test_two_that_start_together_both_succeed(spare: Warehouse) -> None:
    others = [open_warehouse(f"chdb://{spare.place}") for _ in range(2)]
    together = threading.Barrier(2)
    applied: list[tuple[int, ...]] = []

    def start(warehouse: Warehouse) -> None:
        together.wait()
        applied.append(migrate(client_of(warehouse), [*SHIPPED, NEXT]))

    threads = [threading.Thread(target=start, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    assert len(applied) == 2
    assert recorded(spare)[-1] == (9001, NEXT.name)


def test_retention_drops_old_rows_and_none_keeps_them(embedded: Warehouse) -> None:
    now = datetime.now(UTC)
    old, new = now - timedelta(days=40), now - timedelta(days=5)
    dsn = f"chdb://{embedded.place}"
    open_warehouse(dsn, retention_days=30).close()
    embedded.write_logs([KeptLog("octo/widgets", 1, 1, old), KeptLog("octo/widgets", 1, 2, new)])
    embedded.query("OPTIMIZE TABLE buildeye.log FINAL")
    assert embedded.query("SELECT job_id FROM buildeye.log_latest").rows == ((2,),)
    open_warehouse(dsn).close()
    embedded.write_logs([KeptLog("octo/widgets", 1, 1, old)])
    embedded.query("OPTIMIZE TABLE buildeye.log FINAL")
    assert embedded.query("SELECT job_id FROM buildeye.log_latest ORDER BY job_id").rows == ((1,), (2,))


def test_retention_spares_rows_whose_time_is_unknown(embedded: Warehouse) -> None:
    dsn = f"chdb://{embedded.place}"
    open_warehouse(dsn, retention_days=30).close()
    embedded.query("INSERT INTO default.push (repository_full_name, ref, after) VALUES ('octo/widgets', 'r', 'a')")
    embedded.query("OPTIMIZE TABLE default.push FINAL")
    assert embedded.query("SELECT count() FROM default.push").rows == ((1,),)
    open_warehouse(dsn).close()
