"""A few rules before the many that come with Build-Eye, without compiling the many again.

Who writes a pack changes it often. Each part of a joined set is compiled and kept by itself, so that a change costs the
time of that pack only; a log is read once for each part.
"""

from dataclasses import dataclass

from buildeye.logs.engine import Log
from buildeye.logs.rules import Rule
from buildeye.logs.ruleset import Findings, RuleSet


@dataclass(frozen=True)
class JoinedRules(RuleSet):
    """Rule sets that speak as one; of two rules with one id that of the earlier part speaks."""

    parts: tuple[RuleSet, ...] = ()

    def find(self, log: Log) -> Findings:
        """As one rule set of all rules would."""
        found = [part.find(log) for part in self.parts]
        hits = list(found[0].hits)
        taken = {rule.id for rule in self.parts[0].rules}
        for part, more in zip(self.parts[1:], found[1:], strict=True):
            hits += [hit for hit in more.hits if hit.rule.id not in taken]
            taken |= {rule.id for rule in part.rules}
        return Findings(found[0].lines, found[0].marks, hits)


def joined(first: list[Rule], rest: RuleSet) -> RuleSet:
    """These rules before a rule set that is compiled already; of two rules with one id the first is kept."""
    taken = {rule.id for rule in first}
    own = RuleSet(tuple(first), "own", rest.cache)
    kept = tuple(rule for rule in rest.rules if rule.id not in taken)
    return JoinedRules((*first, *kept), "joined", rest.cache, parts=(own, rest))
