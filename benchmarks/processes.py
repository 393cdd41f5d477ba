"""Whole processes: how long a user waits, and how much memory a log takes."""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

PROGRAM = [sys.executable, "-m", "buildeye"]
RUNS = 5
FREE_FOR_2GB = 6e9

_LOAD = """
import sys, time
from pathlib import Path
from buildeye.logs.diagnose import diagnose
from buildeye.logs.ruleset import load_ruleset
from buildeye.logs.source import LogFile
start = time.perf_counter()
diagnose(LogFile.of("one", b"nothing to see\\n"), load_ruleset(cache=Path(sys.argv[1])))
print(time.perf_counter() - start)
"""
_PEAK = """
import re, sys
from buildeye.cli.app import app
try:
    app(["explain", "--json", sys.argv[1]])
except SystemExit:
    pass
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
"""


def waits(logs: Sequence[Path], folder: Path) -> dict[str, float]:
    """Seconds until the help stands, a large log is explained, and the rules are ready (with and without the cache)."""
    numbers = {"help_s": timed([*PROGRAM, "--help"])}
    for path in logs:
        size = path.stat().st_size / 1e6
        numbers[f"explain_{size:.0f}mb_s"] = timed([*PROGRAM, "explain", "--json", str(path)])
    cache = folder / "cache"
    numbers["first_compile_s"] = round(_loaded(cache), 2)
    numbers["db_load_ms"] = round(statistics.median(_loaded(cache) for _ in range(RUNS)) * 1e3, 1)
    return numbers


def timed(command: Sequence[str]) -> float:
    """Median wall seconds of a process, after one run that warms caches."""
    taken = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    return round(statistics.median(taken[1:]), 4)


def _loaded(cache: Path) -> float:
    """Seconds from no rules to the diagnosis of one line, in a fresh process whose modules are imported."""
    run = subprocess.run([sys.executable, "-c", _LOAD, str(cache)], check=True, capture_output=True, text=True)
    return float(run.stdout)


def memory(log: Path, folder: Path, *, quick: bool) -> dict[str, float]:
    """Most memory one explain takes: on a log of 2 GB (300 MB when quick) and on a single line of 200 MB."""
    tiny = folder / "tiny.log"
    tiny.write_bytes(b"nothing to see\n")
    peak(tiny)  # compiles the rules, which takes more memory than any log
    line = folder / "line.log"
    with line.open("wb") as f:
        for _ in range(200):
            f.write(b"error: x " * 111_111)
    numbers = {"peak_rss_mb_200mb_line": peak(line)}
    line.unlink()
    size, name = (300e6, "300mb") if quick else (2e9, "2gb")
    if shutil.disk_usage(folder).free < FREE_FOR_2GB:
        print(f"memory on a log of {name}: skipped, less than 6 GB of disk are free", file=sys.stderr)
        return numbers
    long, whole = folder / "long.log", log.read_bytes()
    with long.open("wb") as f:
        while f.tell() < size:
            f.write(whole)
    start = time.perf_counter()
    numbers[f"peak_rss_mb_{name}_log"] = peak(long)
    numbers[f"explain_{name}_s"] = round(time.perf_counter() - start, 1)
    long.unlink()
    return numbers


def peak(path: Path) -> float:
    """High-water mark of a process's memory in MB, as the kernel counted it; needs /proc."""
    if not Path("/proc/self/status").exists():
        return float("nan")
    run = subprocess.run([sys.executable, "-c", _PEAK, str(path)], check=True, capture_output=True, text=True)
    return round(int(run.stderr.split()[-1]) * 1024 / 1e6, 1)


def machine() -> str:
    """The processor as the kernel names it, without anything that tells whose it is."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return f"{os.cpu_count()} cores"
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return f"{names[0] if names else 'processor'}, {os.cpu_count()} cores"
