"""What this process uses, under the names that Prometheus' own clients give it. Linux tells most, others less."""

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from buildeye.web.metrictext import COUNTER, GAUGE, Family, family

_PROC: Final = Path("/proc")
_STARTED_FIELD: Final = (
    19  # of /proc/PID/stat, counted after the program's name: when it began, in ticks since the boot
)


def process_families() -> Iterator[Family]:
    """CPU, memory, open files and start of this process; what the system does not tell is left out."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield family("process_cpu_seconds_total", COUNTER, "CPU time used, in seconds.", used.ru_utime + used.ru_stime)
    if sys.platform != "linux":
        return
    with suppress(OSError, ValueError, IndexError):
        pages = int((_PROC / "self/statm").read_text().split()[1])
        held = pages * os.sysconf("SC_PAGE_SIZE")
        yield family("process_resident_memory_bytes", GAUGE, "Memory held, in bytes.", held)
    with suppress(OSError):
        yield family("process_open_fds", GAUGE, "Open file descriptors.", len(list((_PROC / "self/fd").iterdir())))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most != resource.RLIM_INFINITY:
        yield family("process_max_fds", GAUGE, "File descriptors that may be open.", most)
    with suppress(OSError, ValueError, IndexError):
        yield family("process_start_time_seconds", GAUGE, "When it began, in Unix seconds.", _started())


def _started() -> float:
    stat = (_PROC / "self/stat").read_text().rpartition(")")[2].split()
    booted = next(line for line in (_PROC / "stat").read_text().splitlines() if line.startswith("btime "))
    return int(booted.split()[1]) + int(stat[_STARTED_FIELD]) / os.sysconf("SC_CLK_TCK")
