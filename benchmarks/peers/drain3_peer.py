"""Drain3, a miner of log templates: the rarest template is the most unusual line.

With a passing log: its templates are mined first, and a line whose template is new is worth reading. Without: the line
of the rarest template, the last of equals, because a failure stands near the end.
"""

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.contract import Found, answer, around

MAX_SPANS = 60


def unusual(lines: list[str], good: list[str] | None) -> Found | None:
    """What templates say of a log."""
    config = importlib.import_module("drain3.template_miner_config").TemplateMinerConfig()
    miner = importlib.import_module("drain3").TemplateMiner(config=config)
    for line in good or ():
        miner.add_log_message(line)
    known = len(miner.drain.clusters)
    owner = [miner.add_log_message(line)["cluster_id"] if line.strip() else 0 for line in lines]
    if good is not None:
        new = [n for n, cluster in enumerate(owner, 1) if cluster > known]
        return Found(new[0], joined(new)) if new else None
    sizes = {cluster.cluster_id: cluster.size for cluster in miner.drain.clusters}
    spoken = [n for n, cluster in enumerate(owner, 1) if cluster]
    if not spoken:
        return None
    key = min(spoken, key=lambda n: (sizes[owner[n - 1]], -n))
    return Found(key, around(key, len(lines)), summary=lines[key - 1][:200])


def joined(numbers: list[int]) -> list[tuple[int, int]]:
    """Lines next to each other as spans."""
    spans: list[tuple[int, int]] = []
    for n in numbers:
        if spans and n - spans[-1][1] <= 2:
            spans[-1] = (spans[-1][0], n)
        else:
            spans.append((n, n))
    return spans[:MAX_SPANS]


if __name__ == "__main__":
    answer(unusual)
