"""How soon trouble is seen, with real processes and a real supervisor at the settings that a deploy.yaml has by itself.

    python -m benchmarks.deploying.troubles [SEED]

Processes are killed; services answer 503, or nothing any more; one flaps, by a clock that runs ten times as fast.
Prints one JSON object.
"""

import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks.deploying.stage import TINY, Stage, free_port  # noqa: E402 - found by the path set above

from buildeye.deploy.asking import start  # noqa: E402
from buildeye.deploy.clock import Clock  # noqa: E402
from buildeye.deploy.spec import spec_of  # noqa: E402
from buildeye.deploy.states import Happening  # noqa: E402
from buildeye.model.deployments import DeployEvent, Deployment, ProcessRun, State  # noqa: E402

KILLED = 10
"""Services whose process is killed twice; the second time is an anomaly by the limit of 2 ends in 10 minutes."""
OUT = 12
"""Services with an outage: half of them answer 503, half take a request and say nothing."""
INTERVAL = 30.0
SPEED = 10.0
FLAPS_SECONDS = 20.0
"""Up for half of it, down for the other half, by the service's clock."""
_PATIENCE = 120.0
_LOOK_SECONDS = 0.002


def measure(seed: int = 6, killed: int = KILLED, out: int = OUT) -> dict[str, float]:
    """True seconds, at the slowest of all: `death_seen_s` from kill -9 until the end of the run is in the journal.

    `death_acted_s` until the anomaly is, where it is due. `outage_seen_s` from the begin of an outage until the
    anomaly; `flapping_real_seen_s` the same of a flapping service, in seconds of its clock.
    """
    with tempfile.TemporaryDirectory() as name, _stage(Path(name)) as stage, stage.supervised():
        chance = random.Random(seed)
        services = [_deploy(stage, f"service-{number}") for number in range(killed + out)]
        for each in services:
            _watched(stage, each)
        begun = _outages(stage, services[killed:], chance)
        with _Flapping(Path(name) / "flapping") as flapping:
            numbers = _deaths(stage, services[:killed])
            numbers |= _seen(stage, services[killed:], begun)
            numbers |= flapping.seen()
    return numbers


def _deaths(stage: Stage, services: Sequence[Deployment]) -> dict[str, float]:
    noticed, acted = [], []
    for number in (1, 2):
        for each in services:
            run = _living_run(stage, each, number)
            began = time.monotonic()
            os.kill(run.pid, signal.SIGKILL)
            while _run(stage, each, number).ended is None:
                _wait(began, "the end of a killed process")
            noticed.append(time.monotonic() - began)
            while number == 2 and not _anomalies(stage, each):
                _wait(began, "an anomaly of a process that ended twice")
            if number == 2:
                acted.append(time.monotonic() - began)
    return {
        "death_seen_s": round(max(noticed), 3),
        "death_seen_median_s": round(sorted(noticed)[len(noticed) // 2], 3),
        "death_acted_s": round(max(acted), 3),
        "deaths": len(noticed),
    }


def _outages(stage: Stage, services: Sequence[Deployment], chance: random.Random) -> dict[str, float]:
    """Let each begin at a moment of the next interval; {service: ticks of its begin}, filled in as they begin."""
    begun: dict[str, float] = {}

    def begin(service: str, wanted: Mapping[str, object]) -> None:
        _behave(stage, service, wanted)
        begun[service] = time.monotonic()

    for number, each in enumerate(services):
        wanted: dict[str, object] = {"health": 503} if number % 2 else {"slow": 60}
        timer = threading.Timer(chance.uniform(0, INTERVAL), begin, (each.service, wanted))
        timer.daemon = True
        timer.start()
    return begun


def _seen(stage: Stage, services: Sequence[Deployment], begun: Mapping[str, float]) -> dict[str, float]:
    took: dict[str, float] = {}
    began = time.monotonic()
    while len(took) < len(services):
        for each in services:
            if each.service in begun and (found := _anomalies(stage, each)):
                took[each.service] = found[0].at.ticks - begun[each.service]
        _wait(began, "an outage")
        time.sleep(0.2)
    ordered = [took[each.service] for each in services]
    return {
        "outage_seen_s": round(max(ordered), 2),
        "outage_seen_503_s": round(max(ordered[1::2]), 2),
        "outage_seen_silent_s": round(max(ordered[::2]), 2),
        "outages": len(ordered),
    }


class _Flapping:
    """One service that flaps, in a place of its own with a fast clock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended = threading.Event()
        self._begun = 0.0

    def __enter__(self) -> "_Flapping":
        with contextlib.ExitStack() as opened:
            self._stage = opened.enter_context(_stage(self._folder))
            self._stage.clock = Clock(SPEED)
            opened.enter_context(self._stage.supervised())
            self._deployment = _deploy(self._stage, "flapping")
            _watched(self._stage, self._deployment)
            thread = threading.Thread(target=self._flap)
            thread.start()
            opened.callback(thread.join)
            opened.callback(self._ended.set)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def seen(self) -> dict[str, float]:
        """Seconds of the service's clock until the anomaly."""
        began = time.monotonic()
        while not (found := _anomalies(self._stage, self._deployment)):
            _wait(began, "a flapping service")
            time.sleep(0.05)
        return {"flapping_real_seen_s": round(found[0].at.ticks - self._begun, 1)}

    def _flap(self) -> None:
        half, down = FLAPS_SECONDS / 2 / SPEED, True
        self._begun = self._stage.clock.ticks()
        while not self._ended.is_set():
            _behave(self._stage, "flapping", {"health": 503 if down else 200})
            down = not down
            self._ended.wait(half)


@contextlib.contextmanager
def _stage(folder: Path) -> Iterator[Stage]:
    stage = Stage(folder)
    try:
        yield stage
    finally:
        stage.end()


def _deploy(stage: Stage, service: str) -> Deployment:
    folder = stage.behaviour / service
    folder.mkdir()
    values: dict[str, Any] = {
        "service": service,
        "command": [sys.executable, "-I", "-S", str(TINY), str(folder), "{version}"],
        "listen": {"port": free_port()},
    }
    return start(stage.journal, spec_of(values), "", "v1", stage.clock, "benchmark")


def _behave(stage: Stage, service: str, wanted: Mapping[str, object]) -> None:
    path = stage.behaviour / service / "v1.json"
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(wanted))
    draft.replace(path)


def _watched(stage: Stage, deployment: Deployment) -> None:
    began = time.monotonic()
    while stage.now(deployment).state is not State.MONITORING:
        _wait(began, f"{deployment.service} in service\n{stage.log}")
        time.sleep(0.05)


def _living_run(stage: Stage, deployment: Deployment, number: int) -> ProcessRun:
    """The run of this number, once it is known to live."""
    began = time.monotonic()
    while (run := _run(stage, deployment, number)).pid == 0:
        _wait(began, "a process that was started again")
    time.sleep(0.2)  # and the supervisor holds it
    return run


def _run(stage: Stage, deployment: Deployment, number: int) -> ProcessRun:
    runs = {each.number: each for each in stage.journal.runs(deployment.id)}
    return runs.get(number) or ProcessRun(deployment.id, number, "", "")


def _anomalies(stage: Stage, deployment: Deployment) -> list[DeployEvent]:
    return [each for each in stage.journal.events(deployment.id) if each.event == Happening.ANOMALY]


def _wait(began: float, what: str) -> None:
    if time.monotonic() - began > _PATIENCE:
        raise SystemExit(f"never seen: {what}")
    time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:2])), indent=1))
