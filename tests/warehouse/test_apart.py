"""A warehouse asked in a process of its own: it answers and refuses as one that is open here, and leaves nothing."""

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from buildeye.model import OutsideError, UsageError
from buildeye.warehouse import open_warehouse
from buildeye.warehouse.apart import ApartWarehouse
from buildeye.warehouse.failures import OverLimitError
from tests.warehouse.facts import a_job


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a warehouse that holds one job."""
    with open_warehouse(f"chdb://{tmp_path / 'warehouse'}") as warehouse:
        warehouse.write_jobs([a_job()])
    return tmp_path


def opened(folder: Path) -> ApartWarehouse:
    return ApartWarehouse(f"chdb://{folder / 'warehouse'}", folder)


def test_it_answers_as_the_warehouse_itself(folder: Path) -> None:
    since = datetime(2020, 1, 1, tzinfo=UTC)
    with open_warehouse(f"chdb://{folder / 'warehouse'}") as here:
        asked = here.ask("repositories"), here.query("SELECT name, created_at FROM default.workflow_job")
        place = here.place
    with opened(folder) as apart:
        assert (apart.ask("repositories"), apart.query("SELECT name, created_at FROM default.workflow_job")) == asked
        bound = apart.query("SELECT {at:DateTime64(3, 'UTC')} AS at", {"at": since + timedelta(hours=1)})
        assert bound.rows == ((since + timedelta(hours=1),),)
        assert apart.place == place


def test_what_is_refused_is_refused_in_the_same_words_and_the_next_question_answered(folder: Path) -> None:
    with opened(folder) as apart:
        with pytest.raises(UsageError, match="the query was refused: "):
            apart.query("SELECT nothing FROM nowhere")
        with pytest.raises(UsageError, match="there is no saved query 'none'"):
            apart.ask("none")
        with pytest.raises(OverLimitError) as over:
            apart.query(
                "SELECT number FROM numbers(1000) SETTINGS max_result_rows = 10, result_overflow_mode = 'throw'"
            )
        assert over.value.code == 396
        assert apart.query("SELECT 1").rows == ((1,),)


def test_nothing_can_be_written_to_it(folder: Path) -> None:
    with opened(folder) as apart, pytest.raises(UsageError, match="open for questions only"):
        apart.write_jobs([a_job()])


def test_the_folder_is_free_after_it_and_this_process_holds_nothing_more(folder: Path) -> None:
    opened(folder).close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with opened(folder) as apart:
            apart.ask("repositories")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    with open_warehouse(f"chdb://{folder / 'warehouse'}") as here:
        assert len(here.ask("repositories")) == 1


def test_a_folder_that_is_held_elsewhere_is_told_as_here(folder: Path) -> None:
    with opened(folder), pytest.raises(OutsideError, match=r"is open in another process \(PID \d+\)"):
        opened(folder)


def test_a_child_that_was_killed_is_one_sentence(folder: Path) -> None:
    with opened(folder) as apart:
        os.kill(apart._child.pid, signal.SIGKILL)
        with pytest.raises(OutsideError, match="the process that asks the warehouse has ended"):
            apart.ask("repositories")
