"""How fast logs are read, and how well: one run, side by side with peers, on the logs of ../shared/corpus.

    python benchmarks/logs.py [--quick] [--only throughput|quality|memory] [--corpus DIR] [--out FILE]

Prints a table and writes benchmarks/logs.json (flat: metric -> number, plus `machine` and `when`). A run that is not
whole (--quick, --only) writes nothing unless --out names a file, so that all kept numbers come from one run.
See docs/benchmarks.md.
"""

import argparse
import gzip
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from benchmarks import environment, processes, quality, throughput  # noqa: E402 - found by the path set above

CORPUS = HERE.parents[1] / "shared" / "corpus"


def main() -> None:
    """Measure, print, and write the numbers."""
    arguments = parsed()
    corpus: Path = arguments.corpus
    if not corpus.is_dir():
        sys.exit("no corpus beside this checkout; give its folder with --corpus")
    wanted = {arguments.only} if arguments.only else {"throughput", "quality", "memory"}
    peers = not arguments.quick and wanted != {"memory"}
    missing = environment.install() if peers else {}
    for name, why in missing.items():
        print(f"{name}: cannot be installed, left out ({why})", file=sys.stderr)
    numbers: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(folder / "rules")
        logs = unpack(corpus / "large", folder)
        if "throughput" in wanted:
            numbers |= throughput.measure(logs, folder, peers=peers, missing=missing)
            numbers |= processes.waits(logs, folder)
        if "memory" in wanted:
            numbers |= processes.memory(logs[0], folder, quick=arguments.quick)
        if "quality" in wanted:
            numbers |= quality.measure(corpus, peers=peers, missing=missing)
    whole = len(wanted) > 1 and not arguments.quick
    report(numbers, arguments.out or (HERE / "logs.json" if whole else None))


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only Build-Eye, no peers, no log of 2 GB")
    parser.add_argument("--only", choices=("throughput", "quality", "memory"), help="one part alone")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="the folder of labelled logs")
    parser.add_argument("--out", type=Path, help="where to write the numbers")
    return parser.parse_args()


def unpack(source: Path, folder: Path) -> list[Path]:
    """The large logs as plain files, the largest first."""
    paths = []
    for packed in source.glob("*.log.gz"):
        path = folder / packed.stem
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        paths.append(path)
    return sorted(paths, key=lambda p: -p.stat().st_size)


def report(numbers: dict[str, float], out: Path | None) -> None:
    """Print the table and write the file."""
    numbers = {name: value for name, value in numbers.items() if value == value}
    for name, value in numbers.items():
        if not name.endswith(("_half_a", "_half_b")):
            halves = [f"{numbers[f'{name}_half_{h}']:>10,.4g}" for h in "ab" if f"{name}_half_{h}" in numbers]
            print(f"{name:50} {value:>12,.4g} {' '.join(halves)}".rstrip())
    facts = {
        "machine": f"{platform.machine()}, {processes.machine()}, Python {platform.python_version()}",
        "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
    }
    if out:
        out.write_text(json.dumps(numbers | facts, indent=1) + "\n", encoding="utf-8")
        print(f"written: {out.name}")


if __name__ == "__main__":
    main()
