"""Supervisors killed with -9 at every step of a story, again and again: the story must end as without any kill.

The story: v1 is deployed and promoted; v2 comes into service and goes bad. However often its supervisor is killed, v1
serves in the end, v2 was rolled back once, and nothing lives but v1.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from benchmarks.deploying.stage import PATIENCE, Stage

from buildeye.deploy.processes.orphans import find
from buildeye.model.deployments import Deployment, State

_CALM = 5.0
"""True seconds a supervisor is left alone after several were killed, so that the story goes on."""


@dataclass
class Killed:
    """What became of stories told with kills: how many kills at which boundaries, and every wrong end in words."""

    kills: int = 0
    stories: int = 0
    at: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def kill_often(folder: Path, kills: int, seed: int) -> Killed:
    """Tell the story until its supervisors were killed so many times, half at boundaries, half at any moment."""
    chance, found = random.Random(seed), Killed()
    while found.kills < kills:
        place = folder / f"story-{found.stories}"
        stage = Stage(place)
        try:
            _tell(stage, chance, found)
        finally:
            stage.end()
        found.stories += 1
    return found


def _tell(stage: Stage, chance: random.Random, found: Killed) -> None:
    stage.run_root.mkdir(parents=True, exist_ok=True)
    with _Forker(stage, chance, found) as forker:
        first = stage.deploy("v1")
        if not forker.until(lambda: stage.now(first).state is State.MONITORING):
            found.wrong.append(f"v1 does not serve\n{stage.story()}")
            return
        stage.journal.ask("web", first.id, "promote", {"why": "good"}, "test", stage.clock.now())
        forker.until(lambda: stage.now(first).state is State.MONITORING_WINDOW_CLEAN)
        second = stage.deploy("v2")
        forker.until(lambda: stage.now(second).state is State.MONITORING)
        stage.behave("v2", health=503)
        forker.until(lambda: stage.now(second).state is State.ROLLED_BACK)
        forker.until(lambda: _living(stage) == [first.id] and _settled(stage))
        wrong = _wrong(stage, first, second)
        if wrong:
            found.wrong.append(f"{'; '.join(wrong)}\n{stage.story()}")
    killed_at = stage.run_root / "killed-at"
    if killed_at.exists():
        found.at.update(killed_at.read_text().split())


def _wrong(stage: Stage, first: Deployment, second: Deployment) -> list[str]:
    """Everything that is not as it would be without kills."""
    said = []
    happened = Counter(stage.events(second))
    row = stage.journal.service("web")
    for what, is_so in {
        "v1 is clean": stage.now(first).state is State.MONITORING_WINDOW_CLEAN,
        "v2 is rolled back": stage.now(second).state is State.ROLLED_BACK,
        "one rollback began": happened["roll_back"] == 1,
        "one rollback ended": happened["returned"] == 1,
        "one cutover": happened["switched"] == 1,
        "v1 is in service": row is not None and row.in_service == first.id,
        "v1 answers": stage.serves() == "v1",
        "nothing else lives": _living(stage) == [first.id],
    }.items():
        if not is_so:
            said.append(f"not so: {what}")
    return said


def _living(stage: Stage) -> list[str]:
    return stage.living()


def _settled(stage: Stage) -> bool:
    """Whether no run of the rolled back version is open any more, and only one keeper is left."""
    keepers = [each for each in find(stage.run_root) if each.keeper]
    return len(stage.journal.open_runs("web")) == 1 and len(keepers) == 1


class _Forker:
    """Keeps a supervisor going, and kills it."""

    def __init__(self, stage: Stage, chance: random.Random, found: Killed) -> None:
        self._stage = stage
        self._chance = chance
        self._found = found

    def __enter__(self) -> "_Forker":
        command = [sys.executable, "-m", "benchmarks.deploying.forker", self._stage.dsn, str(self._stage.run_root)]
        root = Path(__file__).parents[2]
        path = os.pathsep.join([str(root), str(root / "src")])
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path}
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def until(self, is_so: "object") -> bool:
        """Keep supervisors going, one after the other, each killed early, until something is so; the last lives."""
        assert callable(is_so)
        ends = time.monotonic() + PATIENCE
        tries = 0
        while time.monotonic() < ends:
            tries += 1
            calm = tries > 8  # then one is left alone, so that the story goes on
            at_boundary = not calm and self._chance.random() < 0.5
            pid = self._start(self._chance.randint(1, 12) if at_boundary else 0)
            alone = _CALM if calm else self._chance.uniform(0.02, 1.0)
            until = time.monotonic() + alone
            while time.monotonic() < until and not self._has_ended() and not is_so():
                time.sleep(0.01)
            self._end(pid)
            if is_so():
                return True
        return False

    def _start(self, at: int) -> int:
        stdin, stdout = self._pipes()
        stdin.write(f"{at}\n".encode())
        stdin.flush()
        return int(stdout.readline())

    def _has_ended(self) -> bool:
        import select

        _, stdout = self._pipes()
        return bool(select.select([stdout], [], [], 0)[0])

    def _end(self, pid: int) -> None:
        if not self._has_ended():
            os.kill(pid, signal.SIGKILL)
        _, stdout = self._pipes()
        stdout.readline()
        self._found.kills += 1

    def _pipes(self) -> "tuple[IO[bytes], IO[bytes]]":
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout
