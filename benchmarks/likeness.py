"""Learn what failures of each cause sound like, from the examples of the rules and the invented logs of the tests.

    make likeness

writes `src/buildeye/knowledge/tables/likeness.json` and prints how often it is right about rules it has not seen: the
logs of a rule and its examples are left out together. No labelled log of a corpus is looked at.

Method: logistic regression on the words of the key line, pairs of them, and the words beside it (L2; weights that
hardly count are left out). Needs scikit-learn, which is installed into the environment of the peers.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

CAUSES = ("code", "configuration", "infrastructure")
"""What one log alone can tell apart by its words."""
STRENGTH = {"cause": 0.3, "category": 1.0}
"""How freely weights may grow: chosen by the logs of rules that were left out."""
LEAST = {"cause": 0.05, "category": 0.3}
"""Weights below are left out of the table."""
EXAMPLE_WEIGHT = 0.5
"""An example of a rule is one line without the noise of a log around it, so it counts half."""
FOLDS = 8


@dataclass(frozen=True, slots=True)
class Lesson:
    """One text with its truth: the features found in it, and the rule it belongs to."""

    features: dict[str, float]
    cause: str
    category: str
    rule: str
    weight: float


def main() -> None:
    """Collect the lessons here, learn in the peers' environment, write the table."""
    from benchmarks import environment

    lessons = [*from_logs(), *from_examples()]
    if missing := environment.install(["scikit-learn"]):
        sys.exit(f"scikit-learn cannot be installed: {missing['scikit-learn']}")
    asked = json.dumps([[x.features, x.cause, x.category, x.rule, x.weight] for x in lessons])
    learn = [environment.python(), str(HERE / "peers" / "learn_words.py"), str(FOLDS), json.dumps([STRENGTH, LEAST])]
    run = subprocess.run(learn, input=asked, stdout=subprocess.PIPE, text=True, check=True)
    table: dict[str, Any] = json.loads(run.stdout)
    place = HERE.parent / "src" / "buildeye" / "knowledge" / "tables" / "likeness.json"
    place.write_text(json.dumps(table, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n", "utf-8")
    print(f"written: {place.name}, {place.stat().st_size / 1e3:.0f} kB, from {len(lessons)} texts")


def from_logs() -> Iterator[Lesson]:
    """The invented logs that name one cause and have a key line."""
    from tests.logs.test_invented import FILES, split

    from buildeye.logs.diagnose import diagnose
    from buildeye.logs.likeness import features
    from buildeye.logs.ruleset import load_ruleset
    from buildeye.logs.source import LogFile

    rules = load_ruleset()
    for path in FILES:
        truth, log = split(path)
        if truth.key is None or len(truth.causes) != 1 or truth.causes[0] not in CAUSES:
            continue
        evidence = diagnose(LogFile.of(path.stem, log), rules).evidence
        rule = evidence[0].id if evidence else path.stem
        found = features(log.decode().split("\n"), truth.key[0] - 1)
        yield Lesson(found, truth.causes[0], truth.categories[0], rule, 1.0)


def from_examples() -> Iterator[Lesson]:
    """The examples that the rules must match."""
    from buildeye import knowledge
    from buildeye.logs.likeness import features
    from buildeye.logs.rules import Tier, load_packs

    for rule in load_packs(knowledge.pack_files()):
        if rule.tier in (Tier.CAUSE, Tier.SYMPTOM) and rule.cause in CAUSES:
            for example in rule.must_match:
                lines: Sequence[str] = example.split("\n")
                yield Lesson(features(lines, 0), str(rule.cause), rule.category, rule.id, EXAMPLE_WEIGHT)


if __name__ == "__main__":
    main()
