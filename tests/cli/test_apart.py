"""Work in a process of its own: how it ended is known, whatever ended it, and it does not outlive who waits for it."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.places import LIMIT, environment

_CASES = """
import json, os, signal, sys
from pathlib import Path
from typing import Any
from buildeye.cli.apart import run_apart
from buildeye.cli.signals import SignalledStop
from buildeye.model import OutsideError, UsageError
from buildeye.pipeline.watch import StopAsked, sleeper

def failing(error):
    def work():
        raise error
    return work

stop, asked = SignalledStop(), SignalledStop()
asked.ask(signal.SIGTERM, None)
me = Path(sys.argv[1])
cases = {
    "well": lambda: me.write_text(str(os.getpid())),
    "usage": failing(UsageError("wrong setting")),
    "outside": failing(OutsideError("GitHub is away")),
    "disk": failing(OSError(28, "No space left on device", "/x")),
    "bug": failing(KeyError("x")),
    "exit": failing(SystemExit(0)),
    "long": failing(OutsideError("x" * 200_000)),
    "stopped": failing(StopAsked()),
    "waits": lambda: sleeper(asked)(3600),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "ended": lambda: os._exit(7),
}
open_before = len(os.listdir("/proc/self/fd"))
told = {}
for name, work in cases.items():
    try:
        run_apart(work, asked if name == "waits" else stop)
        told[name] = ["done", ""]
    except Exception as error:
        told[name] = [type(error).__name__, str(error)]
told["open"] = [len(os.listdir("/proc/self/fd")) - open_before, int(me.read_text()) != os.getpid()]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """How the watcher was told each kind of work ended."""
    done = subprocess.run(
        [sys.executable, "-c", _CASES, str(tmp_path_factory.mktemp("apart") / "pid")],
        env=environment(), capture_output=True, text=True, timeout=LIMIT, check=True,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    outcome: dict[str, list[Any]] = json.loads(done.stdout)
    return outcome


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("well", "done", "^$"),
        ("usage", "UsageError", "^wrong setting$"),
        ("outside", "OutsideError", "^GitHub is away$"),
        ("disk", "OutsideError", "^/x: No space left on device; check"),
        ("bug", "OutsideError", "^a bug in build-eye: KeyError; run it again"),
        ("exit", "OutsideError", "^it ended early$"),
        ("long", "OutsideError", "^x{8000}$"),
        ("stopped", "StopAsked", "^$"),
        ("waits", "StopAsked", "^$"),
        ("killed", "OutsideError", "ended by signal 9; .* short of memory"),
        ("ended", "OutsideError", "ended by exit code 7"),
    ],
)
def test_how_work_ended_is_told(told: dict[str, list[Any]], name: str, kind: str, said: str) -> None:
    assert told[name][0] == kind
    assert re.search(said, told[name][1])


def test_work_is_done_in_another_process_and_leaves_nothing_open(told: dict[str, list[Any]]) -> None:
    assert told["open"] == [0, True]


_WATCHER = """
import os, pathlib, sys
from buildeye.cli.apart import run_apart
from buildeye.cli.signals import signalled_stop
from buildeye.pipeline.watch import sleeper
def work():
    print(os.getpid(), flush=True)
    try:
        sleeper(stop)(3600)
    finally:
        pathlib.Path(sys.argv[1]).write_text("ended")
with signalled_stop() as stop:
    run_apart(work, stop)
"""


@pytest.mark.parametrize(("signals", "orderly"), [([signal.SIGKILL], True), ([signal.SIGTERM, signal.SIGINT], False)])
def test_work_does_not_outlive_its_watcher(tmp_path: Path, signals: list[int], orderly: bool) -> None:
    ended = tmp_path / "ended"
    with subprocess.Popen(
        [sys.executable, "-c", _WATCHER, str(ended)], env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    ) as watcher:  # fmt: skip
        assert watcher.stdout is not None
        worker = int(watcher.stdout.readline())
        for number in signals:
            watcher.send_signal(number)
        watcher.wait(LIMIT)
        deadline = time.monotonic() + LIMIT
        while _lives(worker):
            assert time.monotonic() < deadline, "the worker goes on"
            time.sleep(0.01)
    assert ended.exists() or not orderly


def _lives(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
