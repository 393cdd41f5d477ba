"""Logs in the archive are whole or not there, and come back as they were."""

import hashlib
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
import zstandard

from buildeye.logstore import LogStore, open_log_store
from buildeye.model import OutsideError

PLACE = "octo/widgets/2026-11-30/7.log.zst"
LOG = b"".join(b"2026-11-30T09:00:00.0000000Z line %d\n" % n for n in range(50_000))


@pytest.fixture
def store(tmp_path: Path) -> LogStore:
    return open_log_store("", tmp_path)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("chunk", [7_001, 1 << 16, len(LOG)])
def test_a_log_comes_back_as_it_was(store: LogStore, tmp_path: Path, chunk: int) -> None:
    kept = store.keep(PLACE, (LOG[n : n + chunk] for n in range(0, len(LOG), chunk)))
    assert (kept.size_bytes, kept.sha256) == (len(LOG), hashlib.sha256(LOG).hexdigest())
    assert store.find(PLACE) == kept
    with store.local(PLACE).open("rb") as file:
        assert zstandard.ZstdDecompressor().stream_reader(file).read() == LOG
    assert files(tmp_path) == [f"logs/{PLACE}"]


def test_an_empty_log_is_a_log(store: LogStore) -> None:
    kept = store.keep(PLACE, [])
    assert kept.size_bytes == 0
    assert store.find(PLACE) == kept


class Cut(Exception):
    pass


def test_a_log_that_ends_early_leaves_nothing_and_what_was_there_stays(store: LogStore, tmp_path: Path) -> None:
    def cut() -> Iterator[bytes]:
        yield os.urandom(12_000_000)
        raise Cut

    with pytest.raises(Cut):
        store.keep(PLACE, cut())
    assert files(tmp_path) == []
    kept = store.keep(PLACE, [LOG])
    with pytest.raises(Cut):
        store.keep(PLACE, cut())
    assert store.find(PLACE) == kept


def test_what_a_killed_process_left_of_a_log_goes_when_it_is_kept_again(store: LogStore, tmp_path: Path) -> None:
    store.keep(PLACE, [LOG])
    (tmp_path / "logs" / f"{PLACE}#1").write_bytes(b"half")
    store.keep(PLACE, [LOG])
    assert files(tmp_path) == [f"logs/{PLACE}"]


def test_a_log_that_is_not_there_or_broken_is_not_found(store: LogStore, tmp_path: Path) -> None:
    assert store.find(PLACE) is None
    with pytest.raises(FileNotFoundError):
        store.local(PLACE)
    store.keep(PLACE, [LOG])
    path = tmp_path / "logs" / PLACE
    whole = path.read_bytes()
    for broken in (b"not zstandard at all", whole[:-3], b""):
        path.write_bytes(broken)
        assert store.find(PLACE) is None


def test_another_folder_may_be_named(tmp_path: Path) -> None:
    store = open_log_store(str(tmp_path / "elsewhere"), tmp_path / "data")
    store.keep(PLACE, [LOG])
    assert files(tmp_path) == [f"elsewhere/{PLACE}"]


def test_a_folder_that_cannot_be_made_or_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutsideError, match="cannot be made"):
        open_log_store(str(tmp_path / "file" / "logs"), tmp_path)
    store = open_log_store(str(tmp_path / "logs"), tmp_path)
    (tmp_path / "logs" / "octo").write_text("in the way")
    with pytest.raises(OutsideError, match=r"7\.log\.zst cannot be kept in .*logs: .*storage\.log_store"):
        store.keep(PLACE, [LOG])


def test_days_that_are_too_old_go_and_nothing_else(store: LogStore, tmp_path: Path) -> None:
    kept = ["octo/widgets/2026-11-30/7.log.zst", "octo/other/2026-11-28/8.log.zst", "octo/widgets/notes/9.log.zst"]
    for place in (*kept, "octo/widgets/2026-11-29/6.log.zst", "octo/widgets/2025-12-31/5.log.zst"):
        store.keep(place, [LOG])
    assert store.forget("octo/widgets", date(2026, 11, 30)) == 2
    assert files(tmp_path) == sorted(f"logs/{place}" for place in kept)
