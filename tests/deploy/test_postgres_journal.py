"""What only a server shows: frozen supervisors that hold locks, restarts, and addresses with passwords."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

import buildeye
from buildeye.deploy.journal import Fence, Fenced, Journal, open_journal
from buildeye.deploy.states import Happening
from buildeye.model import OutsideError
from tests.deploy.postgres import fresh_database, running_postgres
from tests.deploy.stores import deployment, holder, moment, sample, taken

Open = Callable[[str], Journal]
WITHIN = 60  # seconds that anything may take on a slow machine

FROZEN = """\
import sys
from buildeye.deploy.journal import Fence, Fenced, open_journal
from tests.deploy.stores import holder, moment, sample
from buildeye.deploy.states import Happening
journal = open_journal(sys.argv[1])
fence = journal.acquire("web", holder("one"), 1)
print("taken", flush=True)
sys.stdin.readline()
try:
    print("moved", journal.move(fence, "d1", 0, Happening.START, moment(), by="one"))
except Fenced as error:
    print("fenced", error)
"""

INSIDE = """\
import sys
from buildeye.deploy.journal import open_journal, opening
from tests.deploy.stores import holder
opening.INSIDE_TRANSACTION_MS = 5_000
journal = open_journal(sys.argv[1])
fence = journal.acquire("web", holder("one"), 1)
with journal._changing(fence) as connection:
    print("inside", flush=True)
    sys.stdin.readline()
"""


def supervisor(program: str, dsn: str) -> "subprocess.Popen[str]":
    """A process of its own that has taken the lease and waits for a line."""
    source = Path(buildeye.__file__).parents[1]
    env = os.environ | {"PYTHONPATH": f"{source}:{Path(__file__).parents[2]}"}
    command = [sys.executable, "-c", program, dsn]
    process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() in {"taken", "inside"}
    return process


def take_over(journal: Journal) -> Fence:
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        if fence := journal.acquire("web", holder("two"), 3600):
            return fence
        time.sleep(0.1)
    raise AssertionError("the lease was never free")


@pytest.fixture
def server_journal(postgres: str, opened: Open) -> Journal:
    return opened(fresh_database(postgres))


def test_a_supervisor_that_was_frozen_and_resumed_is_fenced_and_the_other_acts(postgres: str, opened: Open) -> None:
    dsn = fresh_database(postgres)
    journal = opened(dsn)
    journal.create(deployment("d1"))
    frozen = supervisor(FROZEN, dsn)
    try:
        frozen.send_signal(signal.SIGSTOP)
        fence = take_over(journal)
        assert journal.move(fence, "d1", 0, Happening.START, moment(), by="two") is not None
        frozen.send_signal(signal.SIGCONT)
        said, _ = frozen.communicate("now\n", WITHIN)
    finally:
        frozen.kill()
        frozen.wait()
    assert said.startswith("fenced this supervisor lost its lease, web is now held by two")
    assert [event.by for event in journal.events("d1")] == ["supervisor", "two"]


def test_a_supervisor_frozen_inside_a_transaction_loses_its_locks(postgres: str, opened: Open) -> None:
    dsn = fresh_database(postgres)
    journal = opened(dsn)
    frozen = supervisor(INSIDE, dsn)
    try:
        frozen.send_signal(signal.SIGSTOP)
        started = time.monotonic()
        assert journal.acquire("web", holder("two"), 3600) is None  # it does not wait for long
        assert time.monotonic() - started < 8
        assert take_over(journal) == Fence("web", "two", 2)
    finally:
        frozen.kill()
        frozen.wait()


def test_a_take_over_waits_for_no_write_and_no_write_is_torn_by_one(postgres: str, opened: Open) -> None:
    """Whatever a fence allowed was committed before the next holder's epoch began."""
    dsn = fresh_database(postgres)
    first, second = opened(dsn), opened(dsn)
    first.create(deployment("d1"))
    fence = taken(first)

    def storing() -> int:
        for number in range(10_000):
            try:
                first.add_samples(fence, [sample("d1", number)])
            except Fenced:
                return number
        raise AssertionError("never fenced")

    with ThreadPoolExecutor(1) as pool:
        stored = pool.submit(storing)
        while not second.samples("d1"):
            time.sleep(0.01)
        second.release(fence)
        taken(second, name="two")
        seen = len(second.samples("d1"))
        assert stored.result(WITHIN) == seen


def test_leases_end_by_the_clock_of_the_server(server_journal: Journal) -> None:
    server_journal.acquire("web", holder("one"), 0.2)
    assert take_over(server_journal) == Fence("web", "two", 2)


def test_renewals_and_samples_of_many_services_never_lock_each_other_out(postgres: str, opened: Open) -> None:
    dsn = fresh_database(postgres)
    journal, other = opened(dsn), opened(dsn)
    fences = [taken(journal, f"s{n}") for n in range(40)]
    for number in range(40):
        journal.create(deployment(f"d{number}", service=f"s{number}"))

    def storing(turn: int) -> None:
        journal.add_samples(reversed(fences), [sample(f"d{n}", turn) for n in range(40)])

    def renewing(turn: int) -> set[str]:
        return other.renew(fences[turn % 7 :] + fences[: turn % 7], 60)

    with ThreadPoolExecutor(6) as pool:
        stored = [pool.submit(storing, turn) for turn in range(40)]
        assert all(lost == set() for lost in pool.map(renewing, range(40)))
        for future in stored:
            future.result(WITHIN)


def test_many_processes_may_open_an_empty_database_at_once(postgres: str) -> None:
    dsn = fresh_database(postgres)
    with ThreadPoolExecutor(6) as pool:
        for journal in pool.map(open_journal, [dsn] * 6):
            assert journal.services() == []
            journal.close()


def test_a_server_that_went_and_came_back_is_used_again(server_journal: Journal) -> None:
    server_journal.create(deployment("d1"))
    with server_journal._engine.connect() as connection:
        own = connection.scalar(sa.text("SELECT pg_backend_pid()"))
        others = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> :own"
        )
        connection.execute(sa.text(others), {"own": own})
    assert server_journal.deployment("d1") is not None


def test_a_server_that_is_gone_is_told_without_password_and_traceback(tmp_path: Path) -> None:
    with running_postgres(tmp_path) as dsn:
        journal = open_journal(dsn.replace("postgres@", "postgres:hush@"))
    with pytest.raises(OutsideError, match="the journal PostgreSQL/postgres cannot be used") as caught:
        journal.services()
    assert "hush" not in str(caught.value)
    journal.close()
    with pytest.raises(OutsideError) as caught:
        open_journal("postgresql://me:hush@127.0.0.1:1/db")
    assert "127.0.0.1/db" in str(caught.value) and "hush" not in str(caught.value)


def test_a_user_without_rights_is_told_so(postgres: str) -> None:
    with pytest.raises(OutsideError, match="nobody-there") as caught:
        open_journal(postgres.replace("postgres@", "nobody-there:hush@"))
    assert "hush" not in str(caught.value)
