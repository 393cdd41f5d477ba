"""Everything known of one log while its diagnosis is put together, and the one door through which its text leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from buildeye.logs import quotes
from buildeye.logs.choose import LEAST, Hit
from buildeye.logs.lines import Lines
from buildeye.logs.marks import Mark
from buildeye.logs.rules import Tier
from buildeye.logs.secrets import mask, strip_controls
from buildeye.logs.structure import Structure
from buildeye.logs.testids import tidy
from buildeye.model import Job

MAX_TESTS = 50
MAX_ALIKE = 5
"""Hits of one symptom rule that are told apart, such as failing tests."""


@dataclass(frozen=True)
class Reading:
    """One log, read: its lines, its structure, the hits of rules best first, and what is new against its baseline."""

    name: str
    rule_set: str
    lines: Lines
    structure: Structure
    ranked: Sequence[Hit]
    new: Sequence[int] | None = None
    job: Job | None = None

    def say(self, text: str) -> str:
        """Text of the log as it may leave: without secrets and terminal controls."""
        return mask(strip_controls(text))

    def quote(self, line: int, most: int = 240) -> str:
        """One line of the log as it may leave."""
        return self.say(self.lines[line])[:most]

    def captured(self, hit: Hit) -> dict[str, str]:
        """What a rule captured, as it may leave; files by their path in the repository."""
        values = {k: (quotes.source_file(v) or v) if k == "file" else v for k, v in hit.captures.items()}
        said = {k: self.say(v) for k, v in values.items()}
        if self.job is not None:
            said.setdefault("run_id", str(self.job.run_id))
        return said

    def speaking(self) -> list[Hit]:
        """Hits that name a cause or a symptom and have points enough, best first."""
        return [h for h in self.ranked if h.rule.tier in (Tier.CAUSE, Tier.SYMPTOM) and h.score >= LEAST]

    def distinct(self) -> list[Hit]:
        """The hits that say something of their own, best first: one of a cause, several of what failed alike."""
        kept: dict[tuple[str, ...], Hit] = {}
        count: dict[str, int] = {}
        for hit in self.ranked:
            several = hit.rule.tier is Tier.SYMPTOM and not hit.demoted
            name = (hit.rule.id, *(hit.captures.values() if several else ()))
            if name not in kept and count.get(hit.rule.id, 0) < (MAX_ALIKE if several else 1):
                kept[name] = hit
                count[hit.rule.id] = count.get(hit.rule.id, 0) + 1
        return list(kept.values())

    def tests(self, *, all_tries: bool = False) -> list[str]:
        """Failing tests by their full ids, in the order of the log; with `all_tries` also those that passed later."""
        named = (
            tidy(self.say(h.captures["test"]))
            for h in sorted(self.ranked, key=lambda h: h.line)
            if "test" in h.captures and (all_tries or not h.demoted)
        )
        return list(dict.fromkeys(t for t in named if t))[:MAX_TESTS]

    @property
    def marks(self) -> Mapping[Mark, Sequence[int]]:
        """The marks of the log."""
        return self.structure.marks

    @property
    def failed_step(self) -> str:
        """The name of the step that failed; empty when the log does not say."""
        return self.structure.failed.name if self.structure.failed else ""
