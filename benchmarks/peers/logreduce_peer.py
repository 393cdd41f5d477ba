"""logreduce: lines of a log that are far from every line of a passing one. Without a passing log it has nothing to say.

The key line is the first of the farthest; the spans are its own outliers with its own context, the farthest first.
"""

import importlib
import logging
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.contract import Found, answer


def outliers(lines: list[str], good: list[str] | None) -> Found | None:
    """Train on the passing log, test the failing one."""
    if good is None:
        return None
    classifier = importlib.import_module("logreduce.process").Classifier()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("good.txt", "bad.txt")]
        for path, content in zip(paths, (good, lines), strict=True):
            path.write_text("\n".join(content), encoding="utf-8")
        classifier.train([str(paths[0])])
        found = [line for result in classifier.test([str(paths[1])]) for line in result[3] or ()]
    if not found:
        return None
    distance = {int(position) + 1: float(far) for position, far, _ in found}
    key = min(distance, key=lambda n: (-distance[n], n))
    spans: list[tuple[int, int]] = []
    for n in sorted(distance):
        if spans and n == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], n)
        else:
            spans.append((n, n))
    spans.sort(key=lambda s: (not s[0] <= key <= s[1], -max(distance[n] for n in range(s[0], s[1] + 1))))
    return Found(key, spans, summary=lines[key - 1][:200])


if __name__ == "__main__":
    answer(outliers)
