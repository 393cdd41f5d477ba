"""How fast: whole diagnosis beside its peers on the same logs, in rounds, so that drift hits all alike."""

import dataclasses
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import environment, greps

if TYPE_CHECKING:
    from buildeye.logs.ruleset import RuleSet

ROUNDS = 3
RE_SLICE = 200_000
PEER_SLICE = 1_000_000
TIMED_PEERS = {"drain3": False, "logreduce": True, "buildlog-consultant": False}
"""Peers whose speed is taken, and whether they need a passing log."""
Contestant = Callable[[], float]


def whole_diagnosis(data: Sequence[bytes], rules: "RuleSet") -> float:
    """Seconds for bytes in, Diagnosis out."""
    from buildeye.logs.diagnose import diagnose
    from buildeye.logs.source import LogFile

    start = time.perf_counter()
    for content in data:
        diagnose(LogFile.of("log", content), rules)
    return time.perf_counter() - start


def measure(logs: Sequence[Path], folder: Path, *, peers: bool, missing: dict[str, str]) -> dict[str, float]:
    """Throughput in MB (10^6 bytes) a second of one core, ours and the peers'."""
    from buildeye.logs.ruleset import load_ruleset

    rules = load_ruleset()
    data = [path.read_bytes() for path in logs]
    whole_diagnosis([data[0][:1000]], rules)
    size = sum(map(len, data)) / 1e6
    sizes = {"ours": size}
    contestants: dict[str, Contestant] = {"ours": lambda: whole_diagnosis(data, rules)}
    numbers: dict[str, float] = {"rules": len(rules.rules)}
    if peers:
        patterns = greps.plain_patterns(
            [p for r in rules.rules for p in (*r.any, *r.all, *r.absent, *r.start, *r.until)]
        )
        numbers["patterns"] = len(patterns)
        _add_matchers(contestants, sizes, patterns, logs, data, folder)
        _add_tools(contestants, sizes, data, folder, missing)
    progress("rounds")
    taken = in_rounds(contestants)
    progress("numbers of rules, sizes of logs")
    speeds = {name: sizes[name] / statistics.median(times) for name, times in taken.items() if times}
    numbers["mb_per_s"] = round(speeds.pop("ours"), 1)
    for name, speed in speeds.items():
        numbers[f"peer_{name}_mb_per_s"] = round(speed, 4)
        numbers[f"peer_{name}_slice_mb"] = round(sizes[name], 2)
        if name in ("ripgrep", "python_re"):
            numbers[f"ratio_vs_{name}"] = round(numbers["mb_per_s"] / speed, 2)
    return numbers | by_rules(data, rules) | by_size(data, rules)


def progress(what: str) -> None:
    """Tell on standard error what comes next, and when."""
    print(f"[{time.process_time():.0f} s of own time, {time.strftime('%H:%M:%S')}] {what}", file=sys.stderr, flush=True)


def in_rounds(contestants: dict[str, Contestant]) -> dict[str, list[float]]:
    """Seconds of each in each round; one that fails is told of and not asked again."""
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name in list(contestants):
            try:
                taken[name].append(contestants[name]())
                print(f"  {name}: {taken[name][-1]:.2f} s", file=sys.stderr, flush=True)
            except (subprocess.SubprocessError, ValueError) as e:
                print(f"{name}: crashed, left out ({type(e).__name__})", file=sys.stderr)
                del contestants[name], taken[name]
    return taken


def _add_matchers(
    contestants: dict[str, Contestant],
    sizes: dict[str, float],
    patterns: Sequence[str],
    logs: Sequence[Path],
    data: Sequence[bytes],
    folder: Path,
) -> None:
    lines = spread(data, RE_SLICE).decode("utf-8", "replace").split("\n")
    compiled = [re.compile(pattern) for pattern in patterns]
    sizes["python_re"] = sum(map(len, lines)) / 1e6
    contestants["python_re"] = lambda: timed(lambda: greps.by_re(compiled, lines))
    programs = environment.ripgreps()
    progress("the fastest form of ripgrep")
    groups = greps.grouped(programs[0], patterns, logs) if programs else []
    if not groups:
        print("ripgrep: not there, or refuses the patterns; left out (package `ripgrep`)", file=sys.stderr)
        return
    print(f"  ripgrep at its best: {len(groups)} calls", file=sys.stderr)
    empty = folder / "empty.log"
    empty.write_bytes(b"")
    start = min(greps.all_calls(programs[0], groups, [empty]) for _ in range(2))
    sizes["ripgrep"] = sizes["ours"]
    contestants["ripgrep"] = lambda: greps.all_calls(programs[0], groups, logs) - start


def _add_tools(
    contestants: dict[str, Contestant],
    sizes: dict[str, float],
    data: Sequence[bytes],
    folder: Path,
    missing: dict[str, str],
) -> None:
    good, bad = folder / "good.log", folder / "bad.log"
    good.write_bytes(spread(data[1:], PEER_SLICE))
    bad.write_bytes(spread(data[:1], PEER_SLICE))
    for name, paired in TIMED_PEERS.items():
        if name in missing:
            continue
        key = name.replace("-", "_")
        sizes[key] = bad.stat().st_size / 1e6 + (good.stat().st_size / 1e6 if paired else 0)
        script = str(environment.HERE / "peers" / f"{key}_peer.py")
        command = [environment.python(), script, "--time", *(["--baseline", str(good)] if paired else []), str(bad)]
        contestants[key] = lambda command=command: said_seconds(command)  # type: ignore[misc]  # mypy wants no default


def said_seconds(command: Sequence[str]) -> float:
    """Seconds that a peer says it took."""
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


def timed(work: Callable[[], object]) -> float:
    """Wall seconds of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def spread(data: Sequence[bytes], size: int, pieces: int = 20) -> bytes:
    """About `size` bytes of whole lines, in equal pieces from all over the logs."""
    whole = b"".join(data)
    step, length = len(whole) // pieces, size // pieces
    parts = []
    for start in range(0, pieces * step, step):
        first = whole.find(b"\n", start) + 1
        last = whole.find(b"\n", first + length) + 1
        parts.append(whole[first : last or len(whole)])
    return b"".join(parts)


def by_rules(data: Sequence[bytes], rules: "RuleSet") -> dict[str, float]:
    """Throughput with fewer rules, taken evenly from all packs."""
    total = len(rules.rules)
    sets = {str(n): dataclasses.replace(rules, rules=rules.rules) for n in ("all",)}
    for n in (100, 200, 350):
        if n < total:
            sets[str(n)] = dataclasses.replace(rules, rules=tuple(rules.rules[i * total // n] for i in range(n)))
    for chosen in sets.values():
        whole_diagnosis([data[0][:1000]], chosen)
    size = sum(map(len, data)) / 1e6
    taken: dict[str, list[float]] = {name: [] for name in sets}
    for _ in range(3):
        for name, chosen in sets.items():
            taken[name].append(whole_diagnosis(data, chosen))
    return {f"mb_per_s_{name}_rules": round(size / statistics.median(taken[name]), 1) for name in sorted(sets)}


def by_size(data: Sequence[bytes], rules: "RuleSet") -> dict[str, float]:
    """Throughput as a log grows: its end, the whole, the whole again and again; and its begin, where nothing failed."""
    whole = data[0]
    small = 4_000_000
    contents = {
        "4mb": (whole[whole.find(b"\n", len(whole) - small) + 1 :], 5),
        "4mb_without_failure": (whole[: whole.rfind(b"\n", 0, small) + 1], 5),
        "36mb": (whole[:36_000_000], 3),
        "300mb": ((whole * (300_000_000 // len(whole) + 1))[:300_000_000], 1),
    }
    numbers = {}
    for name, (content, runs) in contents.items():
        taken = statistics.median(whole_diagnosis([content], rules) for _ in range(runs))
        numbers[f"mb_per_s_{name}"] = round(len(content) / 1e6 / taken, 1)
    return numbers
