"""Supervisors killed with -9 at every step of a story, again and again: the story must end as without any kill.

    python -m benchmarks.deploying.kills [KILLS] [SEED]

The stories are those of stories.py. Half of the kills are at a boundary between two effects, those that no supervisor
was killed at yet first; the others at any moment. However often its supervisor is killed, each deployment ends where
it must, nothing is done twice, and nothing lives but what serves.
"""

import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks.deploying.stage import PATIENCE, Stage  # noqa: E402 - found by the path set above
from benchmarks.deploying.stories import STORIES, Story, Telling, settled, wrong  # noqa: E402

from buildeye.deploy.states import Happening  # noqa: E402

_CALM = 6.0
"""True seconds a supervisor is left alone after several were killed, so that the story goes on."""
_KILLED_IN_A_ROW = 7
_MOMENT = (0.01, 0.7)
"""True seconds after which a supervisor is killed at any moment."""
_TO_A_BOUNDARY = 1.5
_AT_ONCE = 3
"""Stories told beside each other: most of their time is waiting."""
_NAMED = re.compile(r'boundary\("([\w-]+)"\)')


@dataclass
class Killed:
    """What became of stories told with kills: how many kills at which boundaries, and every wrong end in words."""

    kills: int = 0
    stories: int = 0
    at: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def killed(self) -> None:
        """One more."""
        with self._lock:
            self.kills += 1

    def hit(self, names: list[str]) -> None:
        """Kills at boundaries."""
        with self._lock:
            self.at.update(names)

    def told(self, name: str, wrongs: list[str], story: str) -> None:
        """A story is over."""
        with self._lock:
            self.stories += 1
            if wrongs:
                self.wrong.append(f"{name}: {'; '.join(wrongs)}\n{story}")

    @property
    def missed(self) -> list[str]:
        """The boundaries that the engine has and no supervisor was killed at."""
        return sorted(boundaries() - set(self.at))


@cache
def boundaries() -> frozenset[str]:
    """The names of all boundaries, as the engine's source has them: before and after each happening, and others."""
    engine = ROOT / "src" / "buildeye" / "deploy"
    named = {name for path in engine.rglob("*.py") for name in _NAMED.findall(path.read_text("utf-8"))}
    return frozenset(named | {f"{side}-{happening}" for side in ("before", "after") for happening in Happening})


def measure(kills: int = 420, seed: int = 6) -> dict[str, object]:
    """How many kills, how many stories with a wrong end, and where supervisors were killed."""
    with tempfile.TemporaryDirectory() as name:
        found = kill_often(Path(name), kills, seed)
    return {
        "kills": found.kills,
        "wrong_final_states": len(found.wrong),
        "stories_told": found.stories,
        "boundary_kills": found.at.total(),
        "seconds_of_kills": round(found.seconds),
        "boundaries": len(boundaries()),
        "boundaries_never_killed_at": found.missed,
        "killed_at": dict(sorted(found.at.items())),
        "wrong": found.wrong,
    }


def kill_often(folder: Path, kills: int, seed: int, names: tuple[str, ...] = tuple(STORIES)) -> Killed:
    """Tell stories, each as often as the others, until supervisors were killed so many times in all."""
    found, began = Killed(), time.monotonic()
    turns, opening = iter(range(sys.maxsize)), threading.Lock()

    def tell(number: int) -> None:
        chance = random.Random(seed * 10_000 + number)
        name = names[number % len(names)]
        with opening:  # Alembic makes one database at a time
            stage = Stage(folder / f"story-{number}")
        try:
            _tell(stage, name, STORIES[name], chance, found)
        finally:
            stage.end()

    def tell_on() -> None:
        while found.kills < kills or found.stories < len(names):
            tell(next(turns))

    with ThreadPoolExecutor(min(_AT_ONCE, len(names))) as tellers:
        for each in [tellers.submit(tell_on) for _ in range(min(_AT_ONCE, len(names)))]:
            each.result()
    found.seconds = time.monotonic() - began
    return found


def _tell(stage: Stage, name: str, story: Story, chance: random.Random, found: Killed) -> None:
    stage.run_root.mkdir(parents=True, exist_ok=True)
    with Forker(stage, chance, found) as forker:
        told = Telling(stage, forker.until)
        went = story.tell(told)
        if went:
            forker.until(lambda: settled(story, told))
        wrongs = wrong(story, told)
        if not went:
            wrongs.append("the story did not go on")
    found.told(name, wrongs, stage.story() + forker.log())


class Forker:
    """Keeps a supervisor going, and kills it."""

    def __init__(self, stage: Stage, chance: random.Random, found: Killed) -> None:
        self._stage = stage
        self._chance = chance
        self._found = found

    def __enter__(self) -> "Forker":
        command = [sys.executable, "-m", "benchmarks.deploying.forker", self._stage.dsn, str(self._stage.run_root)]
        path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path}
        )
        return self

    def __exit__(self, *_: object) -> None:
        stdin, stdout = self._pipes()
        stdin.close()
        self._process.kill()
        self._process.wait()
        stdout.close()

    def until(self, is_so: Callable[[], bool]) -> bool:
        """Keep supervisors going, one after the other, each killed early, until something is so."""
        ends = time.monotonic() + PATIENCE
        tries = 0
        while time.monotonic() < ends:
            tries += 1
            at, alone = self._next(calm=tries > _KILLED_IN_A_ROW)
            pid = self._start(at)
            until = time.monotonic() + alone
            while time.monotonic() < until and not self._has_ended() and not is_so():
                time.sleep(0.01)
            self._end(pid)
            if is_so():
                return True
        return False

    def killed_at(self, name: str) -> None:
        """Let one supervisor live until it is killed at a boundary."""
        self._start(name)
        if not self._has_ended(within=PATIENCE):
            raise AssertionError(f"never at {name}\n{self._stage.story()}{self.log()}")
        self._note_end()

    def log(self) -> str:
        """What the supervisors said."""
        path = self._stage.run_root / "supervisor.log"
        return f"\n{path.read_text()}" if path.exists() else ""

    def _next(self, *, calm: bool) -> tuple[str, float]:
        """The boundaries the next one is killed at (names or a number, 0 for none), and its seconds at most."""
        if calm:
            return "0", _CALM
        kind = self._chance.random()
        if kind < 0.3:
            return "0", self._chance.uniform(*_MOMENT)
        missed = self._found.missed
        if kind < 0.75 and missed:
            return ",".join(missed), _TO_A_BOUNDARY
        return str(self._chance.randint(1, 12)), _TO_A_BOUNDARY

    def _start(self, at: str) -> int:
        stdin, stdout = self._pipes()
        stdin.write(f"{at}\n".encode())
        stdin.flush()
        return int(stdout.readline())

    def _has_ended(self, within: float = 0.0) -> bool:
        """Whether the last supervisor is gone, waiting so many seconds for it."""
        _, stdout = self._pipes()
        end = select.poll()  # select() knows no file descriptor above 1023
        end.register(stdout, select.POLLIN)
        return bool(end.poll(within * 1000))

    def _end(self, pid: int) -> None:
        if not self._has_ended():
            os.kill(pid, signal.SIGKILL)
        self._note_end()

    def _note_end(self) -> None:
        _, stdout = self._pipes()
        stdout.readline()
        self._found.killed()
        killed_at = self._stage.run_root / "killed-at"
        if killed_at.exists():
            self._found.hit(killed_at.read_text().split())
            killed_at.unlink()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:3])), indent=1))
