"""How well: the scorer beside the corpus, for us and for each peer, and whether our confidence means what it says."""

import hashlib
import importlib.util
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import environment

BINS = 10
MAIN_MEASURES = {
    "logdx": {"diagnosis score": "diagnosis_score", "key line in evidence": "key_line"},
    "cidiff": {"line F1": "line_f1", "key line in evidence": "key_line"},
    "pytorch": {"key line": "key_line"},
    "cases": {"key line": "key_line", "cause": "cause"},
}
"""What is told of a peer, by set, and its short name."""
PEERS = {
    "buildlog-consultant": ("buildlog_consultant_peer", ("logdx", "cidiff", "pytorch", "cases")),
    "drain3": ("drain3_peer", ("logdx", "cidiff", "pytorch", "cases")),
    "logreduce": ("logreduce_peer", ("cidiff",)),
    "error-word": ("error_word", ("logdx", "cidiff", "pytorch", "cases")),
    "pytorch-rules": ("pytorch_rules", ("logdx", "cidiff", "pytorch", "cases")),
}
"""Peers by name: the command, and the sets on which it has something to say."""


@dataclass(frozen=True)
class Row:
    """One case: its measures, and what was answered (None when nothing was)."""

    case: Path
    measures: dict[str, float | None]
    answer: dict[str, Any] | None


def measure(corpus: Path, *, peers: bool, missing: dict[str, str]) -> dict[str, float]:
    """Every measure of every set for us, halves apart, and the main ones for each peer."""
    scorer = load_scorer(corpus.parent / "eval" / "score.py")
    if scorer is None:
        print("no scorer beside the corpus: quality is not measured", file=sys.stderr)
        return {}
    numbers: dict[str, float] = {}
    ours = shlex.join([sys.executable, "-m", "buildeye", "explain"])
    for name in scorer.SCORERS:
        rows = score(scorer, name, corpus, ours)
        numbers |= {f"{name}_{flat(m)}": v for m, v in means(rows).items()}
        for half in "ab":
            some = [row for row in rows if half_of(row.case) == half]
            numbers |= {f"{name}_{flat(m)}_half_{half}": v for m, v in means(some).items()}
        if name == "cases":
            numbers["ece"] = calibration(rows)
    return numbers | (measure_peers(scorer, corpus, missing) if peers else {})


def measure_peers(scorer: ModuleType, corpus: Path, missing: dict[str, str]) -> dict[str, float]:
    """The main measures of each peer that is there."""
    numbers: dict[str, float] = {}
    for peer, (script, sets) in PEERS.items():
        if peer in missing:
            continue
        if peer == "pytorch-rules" and not os.environ.get("BENCH_PYTORCH_RULES"):
            print("pytorch-rules: set BENCH_PYTORCH_RULES to the rule file to measure it", file=sys.stderr)
            continue
        command = shlex.join([environment.python(), str(environment.HERE / "peers" / f"{script}.py")])
        silent = 0
        for name in sets:
            rows = score(scorer, name, corpus, command)
            silent += sum(row.answer is None for row in rows)
            means_of = means(rows)
            for measure_name, short in MAIN_MEASURES[name].items():
                numbers[f"peer_{flat(peer)}_{name}_{short}"] = means_of.get(measure_name, 0.0)
        numbers[f"peer_{flat(peer)}_crashed_on_logs"] = silent
    return numbers


def load_scorer(path: Path) -> ModuleType | None:
    """The scorer as a module; None where it is absent."""
    spec = importlib.util.spec_from_file_location("score", path)
    if not path.exists() or spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = keep
    return module


def score(scorer: ModuleType, name: str, corpus: Path, command: str) -> list[Row]:
    """All cases of a set by a command."""
    folders = sorted(p.parent for p in (corpus / name).glob("*/truth.json"))
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for folder, answer in scorer.diagnose(command, folders, Path(work)):
            truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
            count = scorer.read_log(folder).count(b"\n") + 1
            rows.append(Row(folder, scorer.SCORERS[name](truth, answer or {}, count), answer))
    return rows


def means(rows: Sequence[Row]) -> dict[str, float]:
    """Mean of each measure over the cases that have it, and how many cases there are."""
    result: dict[str, float] = {}
    for measure_name in dict.fromkeys(m for row in rows for m in row.measures):
        values = [v for row in rows if (v := row.measures.get(measure_name)) is not None]
        if values:
            result[measure_name] = round(sum(values) / len(values), 4)
    return result | {"cases": len(rows)}


def flat(name: str) -> str:
    """A measure's name as one lower-case word."""
    return re.sub(r"\W+", "_", name.lower())


def half_of(case: Path) -> str:
    """`a` or `b`, by a hash of the case's name, so that no one chose."""
    return "b" if int(hashlib.sha1(case.name.encode(), usedforsecurity=False).hexdigest(), 16) % 2 else "a"


def calibration(rows: Sequence[Row]) -> float:
    """Expected calibration error: how far stated confidence is from the share of right causes; prints the table."""
    bins: list[list[tuple[float, float]]] = [[] for _ in range(BINS)]
    for row in rows:
        stated = float((row.answer or {}).get("confidence") or 0)
        bins[min(int(stated * BINS), BINS - 1)].append((stated, row.measures.get("cause") or 0.0))
    print("confidence  cases  stated  right")
    error = 0.0
    for i, pairs in enumerate(bins):
        if pairs:
            stated, right = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
            error += abs(stated - right) * len(pairs) / max(len(rows), 1)
            print(f"{i / BINS:.1f}-{(i + 1) / BINS:.1f}     {len(pairs):5}  {stated:6.3f}  {right:5.3f}")
    return round(error, 4)
