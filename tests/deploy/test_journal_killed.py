"""What the journal acknowledged is there, whenever its process is killed; and many processes may open one at once."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import buildeye
from buildeye.deploy.journal import Journal, open_journal
from tests.deploy.stores import deployment, moment

Open = Callable[[str], Journal]
WITHIN = 60  # seconds that anything may take on a slow machine
WRITING = """\
import json, sys
from buildeye.deploy.journal import SampleWriter, open_journal
from buildeye.deploy.states import Happening
from tests.deploy.stores import moment, sample, taken
journal = open_journal(sys.argv[1])
fence = taken(journal)
writer = SampleWriter(journal)
epoch = 5
for number in range(100_000):
    put = [writer.put(fence, [sample("d1", number + part / 10)]) for part in range(3)]
    moved = journal.move(fence, "d1", epoch, (Happening.ASK, Happening.RESUME)[number % 2], moment(number))
    epoch = moved.epoch
    seqs = [stored.seq for future in put for stored in future.result()]
    print(json.dumps([epoch, seqs]), flush=True)
"""


def to_monitoring(journal: Journal) -> None:
    from buildeye.deploy.states import Happening

    journal.create(deployment("d1"))
    steps = (Happening.START, Happening.STARTED, Happening.HEALTHY, Happening.CUT_OVER, Happening.SWITCHED)
    for epoch, happening in enumerate(steps):
        assert journal.move(None, "d1", epoch, happening, moment()) is not None


def written(dsn: str, after: int) -> list[tuple[int, list[int]]]:
    """What a process said was stored before it was killed, after so many lines."""
    env = os.environ | {"PYTHONPATH": f"{Path(buildeye.__file__).parents[1]}:{Path(__file__).parents[2]}"}
    process = subprocess.Popen([sys.executable, "-c", WRITING, dsn], env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        first = [process.stdout.readline() for _ in range(after)]
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=WITHIN)
    finally:
        process.kill()
        process.wait()
    lines = [line for line in [*first, *rest.splitlines(keepends=True)] if line.endswith("\n")]
    return [(epoch, seqs) for epoch, seqs in map(json.loads, lines)]


@pytest.mark.parametrize("seed", range(3))
def test_all_that_was_acknowledged_is_there_after_a_kill_and_no_half_of_anything(
    dsn: str, opened: Open, seed: int
) -> None:
    journal = opened(dsn)
    to_monitoring(journal)
    acknowledged = written(dsn, random.Random(seed).randint(1, 30))
    assert acknowledged
    again = opened(dsn)
    here = again.deployment("d1")
    assert here is not None
    said = acknowledged[-1][0]
    assert here.epoch in {said, said + 1}  # the last may have been stored, and the word of it lost
    assert [event.epoch for event in again.events("d1")] == list(range(here.epoch + 1))
    assert again.events("d1")[-1].after is here.state
    stored = {sample.seq for sample in again.samples("d1")}
    assert {seq for _, seqs in acknowledged for seq in seqs} <= stored


def test_many_processes_may_open_an_empty_file_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from buildeye.deploy.journal import open_journal; print(open_journal(sys.argv[1]).services())"
    )
    env = os.environ | {"PYTHONPATH": str(Path(buildeye.__file__).parents[1])}
    command = [sys.executable, "-c", program, f"sqlite:///{tmp_path}/journal.sqlite"]
    started = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)
    ]
    said = [process.communicate(timeout=WITHIN) for process in started]
    assert said == [("[]\n", "")] * 6


def test_many_threads_may_open_an_empty_file_at_once(tmp_path: Path) -> None:
    for number in range(5):
        with ThreadPoolExecutor(8) as pool:
            for journal in pool.map(open_journal, [f"sqlite:///{tmp_path}/{number}.sqlite"] * 8):
                assert journal.services() == []
                journal.close()
