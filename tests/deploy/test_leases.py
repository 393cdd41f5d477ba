"""Who may write: one supervisor a service, whatever froze, woke, died or set its clock."""

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from buildeye.deploy.clock import boot_id
from buildeye.deploy.journal import Fence, Fenced, Journal, SampleWriter, open_journal, this_holder, this_host
from buildeye.deploy.journal.leases import Holder
from buildeye.deploy.processes.identity import identity_of
from buildeye.deploy.states import Happening
from buildeye.model.deployments import ProcessRun, SignalKind
from tests.deploy.stores import BOOT, Ticks, deployment, holder, moment, sample, taken

Open = Callable[[str], Journal]


def _start_time(pid: int) -> int:
    found = identity_of(pid)
    return found.start_time if found is not None else 0


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def file(tmp_path: Path, ticks: Ticks) -> Iterator[Journal]:
    """A journal in a file whose monotonic clock the test moves."""
    journal = open_journal(f"sqlite:///{tmp_path}/journal.sqlite", boot=BOOT, ticks=ticks)
    yield journal
    journal.close()


def test_a_free_lease_is_taken_with_a_new_epoch_and_by_no_other(journal: Journal) -> None:
    assert journal.acquire("web", holder("one"), 60) == Fence("web", "one", 1)
    assert journal.acquire("web", holder("two"), 60) is None
    assert journal.held_by("web") == holder("one")
    assert journal.held_by("api") is None


def test_a_holder_that_takes_again_has_the_fence_it_had(journal: Journal) -> None:
    fence = taken(journal)
    assert taken(journal) == fence


def test_a_lease_let_go_is_free_and_its_epoch_never_comes_back(journal: Journal) -> None:
    fence = taken(journal)
    journal.release(fence)
    assert journal.held_by("web") is None
    assert journal.acquire("web", holder("two"), 60) == Fence("web", "two", 2)
    journal.release(fence)  # an old holder's has no effect
    assert journal.held_by("web") == holder("two")


WRITES: dict[str, Callable[[Journal, Fence], object]] = {
    "move": lambda journal, fence: journal.move(fence, "d1", 0, Happening.START, moment()),
    "amend": lambda journal, fence: journal.amend(fence, "d1", paused=True),
    "note": lambda journal, fence: journal.note(fence, "d1", "hook", "", {}, moment()),
    "set_in_service": lambda journal, fence: journal.set_in_service(fence, "web", "d1"),
    "add_samples": lambda journal, fence: journal.add_samples([fence], [sample("d1")]),
    "plan_run": lambda journal, fence: journal.plan_run(fence, ProcessRun("d1", 1, "n", BOOT)),
    "run_started": lambda journal, fence: journal.run_started(fence, ProcessRun("d1", 1, "n", BOOT)),
    "run_ended": lambda journal, fence: journal.run_ended(fence, ProcessRun("d1", 1, "n", BOOT, ended=moment())),
    "answer": lambda journal, fence: journal.answer(fence, 1, "done", True),
}


def everything(journal: Journal) -> tuple[object, ...]:
    """All that a supervisor could have written."""
    return (
        journal.deployment("d1"), journal.events("d1"), journal.samples("d1"), journal.runs("d1"), journal.services(),
        journal.request(1),
    )  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("successor", ["two", ""])
def test_an_old_holder_that_wakes_writes_nothing(journal: Journal, write: str, successor: str) -> None:
    old = taken(journal)
    journal.create(deployment("d1"))
    journal.ask("web", "d1", "pause", {}, "me", moment())
    journal.release(old)
    if successor:
        taken(journal, name=successor)
    before = everything(journal)
    with pytest.raises(Fenced, match=f"web is now held by {successor or 'nobody'}: nothing was written"):
        WRITES[write](journal, old)
    assert everything(journal) == before


@pytest.mark.parametrize("write", WRITES)
def test_who_holds_the_lease_writes(journal: Journal, write: str) -> None:
    fence = taken(journal)
    journal.create(deployment("d1"))
    journal.ask("web", "d1", "pause", {}, "me", moment())
    before = everything(journal)
    WRITES[write](journal, fence)
    assert everything(journal) != before


@pytest.mark.parametrize("write", sorted(WRITES.keys() - {"answer"}))
def test_a_fence_of_another_service_is_a_mistake_of_the_program(journal: Journal, write: str) -> None:
    journal.create(deployment("d1"))
    other = taken(journal, "api")
    before = everything(journal)
    with pytest.raises(ValueError, match="says nothing about web"):
        WRITES[write](journal, other)
    assert everything(journal) == before


def test_many_leases_are_held_at_once_and_the_lost_ones_told(journal: Journal) -> None:
    fences = [taken(journal, f"s{n}") for n in range(20)]
    for lost in (fences[3], fences[7]):
        journal.release(lost)
    taken(journal, "s7", "two")
    assert journal.renew(fences, 60) == {"s3", "s7"}
    assert journal.renew([*fences, Fence("never", "one", 1)], 60) == {"s3", "s7", "never"}
    assert journal.renew([], 60) == set()


def test_in_one_transaction_of_many_callers_only_the_fenced_one_is_refused(journal: Journal) -> None:
    kept, lost = taken(journal, "web"), taken(journal, "api")
    journal.create(deployment("d1"))
    journal.create(deployment("d2", service="api"))
    journal.release(lost)
    with pytest.raises(Fenced):
        journal.add_samples([kept, lost], [sample("d1"), sample("d2")])
    assert journal.samples("d1") == []
    writer = SampleWriter(journal)
    written = [writer.put(fence, [sample(name)]) for name, fence in (("d1", kept), ("d2", lost), ("d1", kept))]
    writer.close()
    with pytest.raises(Fenced, match="api is now held by nobody") as caught:
        written[1].result(60)
    assert caught.value.services == {"api"}
    assert written[0].result(60) == journal.samples("d1")
    assert journal.samples("d2") == []


def test_a_lease_in_a_file_ends_by_ticks(file: Journal, ticks: Ticks) -> None:
    first = file.acquire("web", holder("one"), 10)
    ticks.value += 9.9
    assert file.acquire("web", holder("two"), 10) is None
    ticks.value += 0.1
    assert file.held_by("web") is None
    assert file.acquire("web", holder("two"), 10) == Fence("web", "two", 2)
    assert first is not None and file.renew([first], 10) == {"web"}


def test_a_lease_that_ended_is_its_holders_until_somebody_takes_it(file: Journal, ticks: Ticks) -> None:
    first = file.acquire("web", holder("one"), 10)
    ticks.value += 100
    assert first is not None and file.renew([first], 10) == set()
    assert file.acquire("web", holder("two"), 10) is None


@pytest.mark.parametrize("jump", [-3600, 86400])
def test_wall_time_that_jumps_ends_no_lease_and_keeps_none(
    file: Journal, ticks: Ticks, jump: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.acquire("web", holder("one"), 10)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    assert file.held_by("web") == holder("one")
    ticks.value += 11
    assert file.held_by("web") is None


def test_after_a_boot_a_lease_in_a_file_is_free(file: Journal, tmp_path: Path, ticks: Ticks) -> None:
    file.acquire("web", holder("one"), 1e9)
    ticks.value = 1.0
    booted = open_journal(f"sqlite:///{tmp_path}/journal.sqlite", boot="next-boot", ticks=ticks)
    assert booted.held_by("web") is None
    assert booted.acquire("web", replace(holder("two"), boot="next-boot"), 10) == Fence("web", "two", 2)
    booted.close()


def ended_process() -> Holder:
    """A supervisor of this host that is no more, as it was."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    gone = Holder("gone", this_host(), process.pid, _start_time(process.pid), boot_id())
    process.communicate()
    return gone


@pytest.mark.parametrize("dead", ["ended", "another process has its pid", "of the boot before"])
def test_a_lease_whose_holder_is_dead_on_this_host_is_free_at_once(journal: Journal, dead: str) -> None:
    living = this_holder("old")
    old = {
        "ended": ended_process(),
        "another process has its pid": replace(living, start_time=living.start_time - 1),
        "of the boot before": replace(living, boot="the boot before"),
    }[dead]
    assert journal.acquire("web", old, 1e6) == Fence("web", old.id, 1)
    assert journal.held_by("web") is None
    assert journal.acquire("web", this_holder("new"), 60) == Fence("web", "new", 2)


def test_a_zombie_holds_nothing_but_a_living_holder_does(journal: Journal) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    other = Holder("other", this_host(), process.pid, _start_time(process.pid), boot_id())
    try:
        assert journal.acquire("web", other, 1e6) is not None
        assert journal.acquire("web", this_holder("me"), 60) is None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it ended, and nobody reaped it
        assert journal.acquire("web", this_holder("me"), 60) == Fence("web", "me", 2)
    finally:
        process.kill()
        process.wait()


def test_of_many_threads_one_takes_a_lease(dsn: str, opened: Open) -> None:
    journals = [opened(dsn) for _ in range(4)]

    def race(number: int) -> Fence | None:
        return journals[number % 4].acquire("web", holder(f"h{number}"), 3600)

    with ThreadPoolExecutor(8) as pool:
        won = [fence for fence in pool.map(race, range(16)) if fence is not None]
    assert [fence.epoch for fence in won] == [1]


def contend(dsn: str, name: str, turns: int) -> tuple[list[int], int]:
    """Take the lease, move on, let go; tells the epochs and how often the deployment was moved."""
    journal = open_journal(dsn)
    epochs: list[int] = []
    moves = 0
    while len(epochs) < turns:
        fence = journal.acquire("web", holder(name), 3600)
        if fence is None:
            time.sleep(0.002)
            continue
        epochs.append(fence.epoch)
        here = journal.deployment("d1")
        assert here is not None
        for happening in (Happening.ASK, Happening.RESUME):
            moves += journal.move(fence, "d1", here.epoch, happening, moment(), by=name) is not None
        journal.add_samples(fence, [sample("d1", fence.epoch, SignalKind.HTTP, detail=name)])
        journal.release(fence)
    journal.close()
    return epochs, moves


def test_supervisors_in_many_processes_each_have_epochs_of_their_own(dsn: str, opened: Open) -> None:
    journal = opened(dsn)
    journal.create(deployment("d1"))
    for epoch, happening in enumerate(
        (Happening.START, Happening.STARTED, Happening.HEALTHY, Happening.CUT_OVER, Happening.SWITCHED)
    ):
        journal.move(None, "d1", epoch, happening, moment())
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        done = pool.starmap(contend, [(dsn, f"h{n}", 12) for n in range(3)])
    epochs = sorted(epoch for taken_by, _ in done for epoch in taken_by)
    assert epochs == list(range(1, 37))
    assert len(journal.samples("d1")) == len(epochs)
    here = journal.deployment("d1")
    assert here is not None and here.epoch == 5 + sum(moves for _, moves in done)
    assert [event.epoch for event in journal.events("d1")] == list(range(here.epoch + 1))
