"""How fast logs are read, and how well: one run, side by side, on the logs of ../shared/corpus.

    python benchmarks/logs.py [--corpus DIR]

Writes benchmarks/logs.json (flat: metric -> number, plus `machine` and `when`) and prints the same as a table. Times
are of whole processes where they say so; each is the median of several runs.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import platform
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parents[1] / "shared" / "corpus"
PROGRAM = [sys.executable, "-m", "buildeye"]
RUNS = 5


def main() -> None:
    """Measure, print, and write the numbers."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--corpus", type=Path, default=CORPUS)
    corpus = arguments.parse_args().corpus
    if not corpus.is_dir():
        sys.exit(f"{corpus}: no corpus here; give its folder with --corpus")
    numbers: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        logs = unpack(corpus / "large", Path(folder))
        numbers |= processes(logs) | engine(logs) | memory(logs[0], Path(folder))
    numbers |= quality(corpus)
    report(numbers)


def unpack(source: Path, folder: Path) -> list[Path]:
    """The large logs as plain files, the largest first."""
    paths = []
    for packed in source.glob("*.log.gz"):
        path = folder / packed.stem
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        paths.append(path)
    return sorted(paths, key=lambda p: -p.stat().st_size)


def processes(logs: list[Path]) -> dict[str, float]:
    """Whole processes: the help, and one explain of each large log."""
    numbers = {"help_s": timed([*PROGRAM, "--help"])}
    for path in logs:
        size = path.stat().st_size / 1e6
        numbers[f"explain_{size:.0f}mb_s"] = timed([*PROGRAM, "explain", "--json", str(path)])
    return numbers


def timed(command: list[str]) -> float:
    """Median wall seconds of a process, after one run that warms caches."""
    taken = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    return round(statistics.median(taken[1:]), 4)


def engine(logs: list[Path]) -> dict[str, float]:
    """Diagnosis in one process: bytes in, Diagnosis out, one core."""
    from buildeye.logs.diagnose import diagnose
    from buildeye.logs.ruleset import load_ruleset
    from buildeye.logs.source import LogFile

    load_ruleset().matcher  # noqa: B018 - fills the cache
    start = time.perf_counter()
    rules = load_ruleset()
    rules.matcher  # noqa: B018 - loads from the cache
    loaded = time.perf_counter() - start
    data = [path.read_bytes() for path in logs]
    taken = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for path, content in zip(logs, data, strict=True):
            diagnose(LogFile.of(path.name, content), rules)
        taken.append(time.perf_counter() - start)
    size = sum(map(len, data)) / 1e6
    return {
        "rules": len(rules.rules),
        "db_load_ms": round(loaded * 1e3, 1),
        "mb_per_s": round(size / statistics.median(taken), 1),
    }


def memory(log: Path, folder: Path) -> dict[str, float]:
    """Most memory one explain takes, on a log of 300 MB and on one line of 200 MB."""
    whole = log.read_bytes()
    long = folder / "300mb.log"
    with long.open("wb") as f:
        while f.tell() < 300e6:
            f.write(whole)
    line = folder / "line.log"
    with line.open("wb") as f:
        for _ in range(200):
            f.write(b"error: x " * 111_111)
    return {"peak_rss_mb_300mb_log": peak(long), "peak_rss_mb_200mb_line": peak(line)}


def peak(path: Path) -> float:
    """High-water mark of the child's memory in MB, as the kernel counted it."""
    code = (
        "import sys, re; from buildeye.cli.app import app\n"
        "try: app(['explain', '--json', sys.argv[1]])\n"
        "except SystemExit: pass\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    return round(int(run.stderr.split()[-1]) / 1e3, 1)


def quality(corpus: Path) -> dict[str, float]:
    """Every set by the scorer beside the corpus."""
    scorer = corpus.parent / "eval" / "score.py"
    if not scorer.exists():
        return {}
    with tempfile.NamedTemporaryFile(suffix=".json") as out, arguments_of(scorer, corpus, out.name):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            runpy.run_path(str(scorer), run_name="__main__")
        scores = json.loads(Path(out.name).read_text())
    return {f"{name}: {measure}": value for name, row in scores.items() for measure, value in row.items()}


@contextlib.contextmanager
def arguments_of(scorer: Path, corpus: Path, out: str) -> Iterator[None]:
    """Run the scorer as from a shell, in this process."""
    before = sys.argv
    sys.argv = [str(scorer), "--data", str(corpus), "--command", " ".join([*PROGRAM, "explain"]), "--json", out]
    try:
        yield
    finally:
        sys.argv = before


def report(numbers: dict[str, float]) -> None:
    """Print the table and write the file."""
    for name, value in numbers.items():
        print(f"{name:55} {value:>12,.4g}")
    facts = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
    }
    (HERE / "logs.json").write_text(json.dumps(numbers | facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
