"""Cutovers and rollbacks by a real supervisor while a second process asks without a pause: how many requests are lost.

    python -m benchmarks.deploying.cutovers [REQUESTS]

What a client of `build-eye deploy` does is done: start a version, ask for its rollback, promote one. The versions are
the example service on the socket route, drained by its signal. Prints one JSON object.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks.deploying.load import MODES, load  # noqa: E402 - found by the path set above
from benchmarks.deploying.stage import Stage  # noqa: E402

from buildeye.deploy.address import Address  # noqa: E402
from buildeye.model.deployments import Deployment, State  # noqa: E402

ROUNDS = 3
"""Of each: a version that takes over and is rolled back, then one that takes over and stays."""
SETTLED = 0.3
"""Seconds of load between two changes."""


def measure(requests: int = 10_000, lines: int = 16) -> dict[str, object]:
    """Requests lost in all, and for fresh and kept connections what was sent, lost, switched and cut."""
    found = {f"supervisor_{mode}": _through_the_supervisor(mode, requests, lines) for mode in MODES}
    return {"requests_lost": sum(int(str(told["failed"])) for told in found.values()), **found}


def _through_the_supervisor(mode: str, requests: int, lines: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        stage = Stage(Path(name))
        try:
            with stage.supervised():
                first = _deployed(stage, "v1")
                stage.ask(first, "promote", why="good")
                with load(Address("127.0.0.1", stage.port), mode, requests, lines) as finish:
                    later = [each for number in range(ROUNDS) for each in _round(stage, number)]
                    told = finish()
                drained = [
                    each.numbers for deployment in later for each in stage.journal.events(deployment.id)
                    if each.event == "drained"
                ]  # fmt: skip
                cut = sum(int(str(numbers["cut"])) for numbers in drained)
                return {**told, "switches": 3 * ROUNDS, "drains": len(drained), "cut": cut}
        finally:
            stage.end()


def _round(stage: Stage, number: int) -> list[Deployment]:
    time.sleep(SETTLED)
    bad = _deployed(stage, f"bad{number}")
    time.sleep(SETTLED)
    stage.ask(bad, "rollback", why="for the benchmark")
    stage.until(bad, State.ROLLED_BACK)
    time.sleep(SETTLED)
    good = _deployed(stage, f"good{number}")
    stage.ask(good, "promote", why="good")
    return [bad, good]


def _deployed(stage: Stage, version: str) -> Deployment:
    deployment = stage.deploy(
        version,
        command=[sys.executable, "-m", "buildeye.simulator.service", "--version", "{version}"],
        environment={"PYTHONPATH": os.pathsep.join([str(ROOT / "src")])},
        drain={"seconds": 30, "signal": "USR1", "undrain_signal": "USR2"},
        health={"deadline_seconds": 60, "timeout_seconds": 5},
    )
    reached = stage.until(deployment, State.MONITORING, State.HEALTH_FAILED, State.ROLLED_BACK, State.ROLLBACK_FAILED)
    if reached.state is not State.MONITORING:
        raise SystemExit(f"{version} did not take over\n{stage.story()}")
    return reached


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:2])), indent=1))
