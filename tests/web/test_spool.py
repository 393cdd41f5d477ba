"""What the spool keeps, for how long, and what it forgets."""

import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from buildeye.model import OutsideError
from buildeye.web import spool as module
from buildeye.web.spool import REMEMBERED, Spool, open_spool

from .conftest import NOON, delivery

ALL = 100, 1_000_000


def names(spool: Spool) -> list[str]:
    return [waiting.id for waiting in spool.oldest(*ALL)]


def test_deliveries_wait_in_the_order_they_were_kept_and_are_the_same_after_opening_again(tmp_path: Path) -> None:
    with closing(open_spool(tmp_path)) as spool:
        spool.keep([delivery("a", body=b"one"), delivery("b", "workflow_run", b"two")])
        spool.keep([delivery("c")])
    with closing(open_spool(tmp_path)) as spool:
        kept = [(waiting.id, waiting.event, waiting.body) for waiting in spool.oldest(*ALL)]
    assert kept == [("a", "push", b"one"), ("b", "workflow_run", b"two"), ("c", "push", b"{}")]


def test_a_delivery_that_is_known_has_no_effect(spool: Spool) -> None:
    spool.keep([delivery("a", body=b"first"), delivery("a", body=b"second"), delivery("b")])
    spool.keep([delivery("a"), delivery("c")])
    spool.settle(spool.oldest(*ALL)[-1].number)
    spool.keep([delivery("b")])
    assert names(spool) == []
    spool.keep([delivery("b"), delivery("d", body=b"first"), delivery("d", body=b"second")])
    assert [waiting.body for waiting in spool.oldest(*ALL)] == [b"first"]


@pytest.mark.parametrize(("most", "most_bytes", "expected"), [(2, 1_000, 2), (9, 25, 2), (9, 5, 1), (9, 1_000, 4)])
def test_a_batch_is_as_large_as_asked_but_never_empty(spool: Spool, most: int, most_bytes: int, expected: int) -> None:
    spool.keep([delivery(str(number), body=b"x" * 10) for number in range(4)])
    assert len(spool.oldest(most, most_bytes)) == expected


def test_what_came_while_a_batch_was_written_still_waits(spool: Spool) -> None:
    spool.keep([delivery("a"), delivery("b")])
    last = spool.oldest(*ALL)[-1].number
    spool.keep([delivery("c")])
    spool.settle(last)
    assert names(spool) == ["c"]


def test_what_is_refused_is_put_aside_with_the_reason_and_the_raw_body(spool: Spool) -> None:
    spool.keep([delivery("a"), delivery("b", "workflow_run", b"{broken"), delivery("c")])
    _, second, third = spool.oldest(*ALL)
    spool.settle(third.number, [(second.number, "the body is not JSON")])
    assert spool.refused() == [("b", "workflow_run", "the body is not JSON", b"{broken")]
    assert (spool.counts().waiting, spool.counts().refused) == (0, 1)


def test_old_delivery_ids_are_forgotten_and_newer_ones_are_not(spool: Spool) -> None:
    spool.keep([delivery("old", at=NOON - REMEMBERED - timedelta(minutes=1)), delivery("new")])
    spool.settle(spool.oldest(*ALL)[-1].number)
    spool.forget(NOON)
    spool.keep([delivery("old"), delivery("new")])
    assert names(spool) == ["old"]


def test_only_so_many_delivery_ids_are_remembered(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED_MOST", 2)
    spool.keep([delivery(name) for name in "abcd"])
    spool.settle(spool.oldest(*ALL)[-1].number)
    spool.forget(NOON)
    spool.keep([delivery(name) for name in "abcd"])
    assert names(spool) == ["a", "b"]


def test_a_commit_waits_for_the_disk(spool: Spool) -> None:
    with spool._engine.connect() as connection:
        asked = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    assert asked == ["wal", 2]  # 2 is FULL


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "webhooks.sqlite").write_bytes(os.urandom(8192))
    with pytest.raises(OutsideError, match=r"webhooks\.sqlite cannot be used"):
        open_spool(tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutsideError, match=r"storage\.data_dir"):
        open_spool(tmp_path / "file" / "data")


def test_a_spool_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    open_spool(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "webhooks.sqlite")) as file, file:
        file.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(OutsideError, match="newer Build-Eye"):
        open_spool(tmp_path)


def test_the_write_ahead_log_does_not_grow_without_end(spool: Spool, tmp_path: Path) -> None:
    sizes = []
    for number in range(6):
        spool.keep([delivery(f"{number}-{each}", body=os.urandom(9_000)) for each in range(50)])
        spool.settle(spool.oldest(*ALL)[-1].number)
        spool.tidy()
        sizes.append((tmp_path / "webhooks.sqlite-wal").stat().st_size)
    assert sizes[-1] <= max(sizes[:2])
