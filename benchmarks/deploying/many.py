"""How many deployments one supervisor process watches on one core without falling behind.

    python -m benchmarks.deploying.many [SERVICES] [INTERVALS]

Every service has a port, four sockets, a keeper, a process and a deployment of its own, started and cut over by the
supervisor itself. Only what answers is shared: each process hands its socket to one answering process and sleeps. Each
deployment is watched at the default limits: process, http and rate (an endpoint) each 30 s. The supervisor is kept on
one core once all are watched. Prints one JSON object.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from buildeye.deploy.asking import start  # noqa: E402 - found by the path set above
from buildeye.deploy.clock import Clock  # noqa: E402
from buildeye.deploy.journal import Journal, open_journal  # noqa: E402
from buildeye.deploy.processes.client import KeeperClient  # noqa: E402
from buildeye.deploy.processes.orphans import find  # noqa: E402
from buildeye.deploy.processes.pidfd import open_process  # noqa: E402
from buildeye.deploy.spec import spec_of  # noqa: E402
from buildeye.model.deployments import HealthSample, SignalKind, State  # noqa: E402

INTERVAL = 30.0
LATE = 5.0
"""Seconds a sample may come after it was due."""
HANDING = Path(__file__).with_name("handing.py")
_STARTED_SECONDS = 600.0
_TICK = os.sysconf("SC_CLK_TCK")
_WATCHED = (SignalKind.PROCESS, SignalKind.HTTP, SignalKind.RATE)
Process = subprocess.Popen[bytes]


def measure(services: int = 1_000, intervals: int = 3) -> dict[str, float]:
    """`watched_per_core` is `services` when no sample came more than 5 s late, else how many had none so late.

    `watched_cpu_share` is of one core, the supervisor's alone; `watched_latest_s` the latest sample of all.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything is ended
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as ends:
        folder = Path(name)
        journal = open_journal(f"sqlite:///{folder}/deploy.sqlite")
        ends.callback(journal.close)
        rate = ends.enter_context(_answering(folder))
        ends.callback(_end_all, folder / "run")
        supervisor = ends.enter_context(_supervisor(folder))
        began = time.monotonic()
        ids = _deploy(journal, folder, rate, services)
        asked = time.monotonic() - began
        _all_watched(journal, ids, supervisor, folder)
        started = time.monotonic() - began
        _pin(supervisor.pid)
        time.sleep(INTERVAL)  # what waited while versions were started has caught up
        numbers = _watch(journal, ids, supervisor.pid, intervals)
        numbers |= {"watched_asked_s": round(asked, 1), "watched_started_s": round(started, 1)}
    return numbers


def _watch(journal: Journal, ids: Sequence[str], pid: int, intervals: int) -> dict[str, float]:
    first = journal.last_samples(ids, 1)
    began, used = time.monotonic(), _cpu(pid)
    time.sleep(intervals * INTERVAL)
    took, used = time.monotonic() - began, _cpu(pid) - used
    until = Clock().ticks()
    stored = journal.last_samples(ids, intervals + 3)
    before = {(each.deployment_id, each.signal): each.seq for found in first.values() for each in found}
    lateness = {id: _lateness(stored[id], before, until) for id in ids}
    every = sorted(late for found in lateness.values() for late in found)
    in_time = sum(1 for found in lateness.values() if found and max(found) <= LATE)
    return {
        "watched_per_core": in_time,
        "watched_of": len(ids),
        "watched_samples": len(every),
        "watched_latest_s": round(every[-1], 3),
        "watched_late_p99_s": round(every[int(len(every) * 0.99)], 3),
        "watched_late_median_s": round(every[len(every) // 2], 3),
        "watched_cpu_share": round(used / took, 3),
        "watched_seconds": round(took, 1),
        "watched_memory_mb": round(_memory(pid)),
    }


def _lateness(samples: Sequence[HealthSample], before: dict[tuple[str, SignalKind], int], until: float) -> list[float]:
    """How late each sample since the begin came after it was due, and how late what never came is by now.

    `before` are the last ones ahead of the begin: what follows them counts. A signal without any is as late as can be.
    """
    late = []
    for kind in _WATCHED:
        own = [each for each in samples if each.signal is kind]
        counted = [each for each in own if each.seq >= before.get((each.deployment_id, kind), 0)]
        if not counted:
            return [float("inf")]
        ticks = [each.at.ticks for each in counted]
        late += [max(0.0, after - earlier - INTERVAL) for earlier, after in pairwise(ticks)]
        late.append(max(0.0, until - ticks[-1] - INTERVAL))
    return late


def _deploy(journal: Journal, folder: Path, rate: int, services: int) -> list[str]:
    clock, ids = Clock(), []
    for number, port in enumerate(_free_ports(services)):
        values: dict[str, Any] = {
            "service": f"service-{number}",
            "command": [sys.executable, "-I", "-S", str(HANDING), str(folder / "door")],
            "listen": {"port": port},
            "rate": {"source": "endpoint", "url": f"http://127.0.0.1:{rate}/?deployment={{deployment}}"},
        }
        ids.append(start(journal, spec_of(values), "", "v1", clock, "benchmark").id)
    return ids


def _free_ports(count: int) -> list[int]:
    """Ports outside of those the kernel gives to connections, so that none is taken before its service binds it."""
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found: list[int] = []
    for port in range(10_000, low):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise SystemExit(f"there are no {count} free ports below {low}")


def _all_watched(journal: Journal, ids: Sequence[str], supervisor: Process, folder: Path) -> None:
    wanted = set(ids)
    ends = time.monotonic() + _STARTED_SECONDS
    while time.monotonic() < ends and supervisor.poll() is None:
        states = Counter(each.state for each in journal.deployments(None, 2 * len(ids)) if each.id in wanted)
        if states[State.MONITORING] == len(ids):
            return
        time.sleep(1)
    log = folder / "run" / "supervisor.log"
    told = log.read_text()[-2_000:] if log.exists() else ""
    raise SystemExit(f"not all are watched: {dict(states)}\n{told}")


@contextlib.contextmanager
def _answering(folder: Path) -> Iterator[int]:
    process = _started("answering", str(folder / "door"), stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def _supervisor(folder: Path) -> Iterator[Process]:
    process = _started("supervising", f"sqlite:///{folder}/deploy.sqlite", str(folder / "run"))
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.kill()
        process.wait()


def _started(module: str, *arguments: str, stdout: int | None = None) -> Process:
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    command = [sys.executable, "-m", f"benchmarks.deploying.{module}", *arguments]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stdout=stdout)


def _end_all(run_root: Path) -> None:
    """End the processes, then let their keepers go."""
    left = find(run_root)
    for each in sorted(left, key=lambda one: one.keeper):
        held = open_process(each.identity)
        if held is not None:
            with held:
                held.signal(signal.SIGKILL)
        with contextlib.suppress(Exception):
            KeeperClient(each.run_folder).leave()


def _pin(pid: int) -> None:
    """Keep a process with all its threads on one core."""
    core = {min(os.sched_getaffinity(0))}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), core)


def _cpu(pid: int) -> float:
    """Seconds of processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def _memory(pid: int) -> float:
    """Megabytes (10^6 bytes) a process holds now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:3])), indent=1))
