"""Pieces of evidence to probabilities: weighted sums in log-odds, one an explanation, made probabilities by softmax.

The method is a multinomial logit over named evidence, as in naive Bayes with fitted weights; a table of measured
shares (isotonic, Zadrozny and Elkan 2002) corrects what is stated in the end.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from buildeye.model import Cause, Diagnosis
from buildeye.triage.evidence import Piece
from buildeye.triage.weights import Prior, Weights

SUREST = 0.995
LEAST = 1e-4


@dataclass(frozen=True, slots=True)
class Belief:
    """How probable each explanation is (sums to 1), and of each cause the best explanation."""

    explanations: Mapping[str, float]
    causes: Mapping[Cause, float]
    best: str
    rival: str
    """The likeliest explanation of the cause that is next."""

    def of_cause(self, cause: Cause) -> float:
        """The probability of a cause."""
        return self.causes.get(cause, 0.0)


def believe(diagnosis: Diagnosis, pieces: Sequence[Piece], weights: Weights) -> Belief:
    """What to believe of a failure whose log says `diagnosis`, given these pieces."""
    scores = prior_scores(diagnosis, weights)
    for piece in pieces:
        for name, weight in rows_of(piece, diagnosis, weights).items():
            scores[name] += piece.strength * weight
    top = max(scores.values())
    raised = {name: exp(score - top) for name, score in scores.items()}
    total = sum(raised.values())
    shares = {name: value / total for name, value in raised.items()}
    causes: dict[Cause, float] = {}
    for name, share in shares.items():
        causes[weights.causes[name]] = causes.get(weights.causes[name], 0.0) + share
    cause = max(causes, key=lambda each: (causes[each], each))
    best = max((n for n in shares if weights.causes[n] is cause), key=lambda n: (shares[n], n))
    other = max((c for c in causes if c is not cause), key=lambda each: (causes[each], each))
    rival = max((n for n in shares if weights.causes[n] is other), key=lambda n: (shares[n], n))
    return Belief(shares, causes, best, rival)


def prior_scores(diagnosis: Diagnosis, weights: Weights) -> dict[str, float]:
    """Log-odds of each explanation from the log alone."""
    prior, group = weights.prior, weights.group_of(diagnosis.category)
    if is_guess(diagnosis) or diagnosis.cause is Cause.UNKNOWN:
        group = ""
    foreign = prior.elsewhere.get(group, prior.elsewhere[""])
    shares = {name: foreign * share for name, share in prior.kinds_of.get(group, prior.kinds).items()}
    for cause, share in _own_causes(diagnosis, prior).items():
        shares[cause] = (1 - foreign) * share
    chance = prior.chance.get(group, prior.chance[""])
    shares["flaky"] = shares["code"] * chance
    shares["code"] *= 1 - chance
    return {name: log(max(shares.get(name, 0.0), LEAST)) for name in weights.causes}


def _own_causes(diagnosis: Diagnosis, prior: Prior) -> dict[str, float]:
    """Shares of the three causes a log can name."""
    said = str(diagnosis.cause)
    if said not in prior.causes:
        return dict(prior.causes)
    sure = min(max(diagnosis.confidence, prior.causes[said]), SUREST)
    rest = sum(share for cause, share in prior.causes.items() if cause != said)
    shares = {cause: (1 - sure) * share / rest for cause, share in prior.causes.items() if cause != said}
    return shares | {said: sure}


def is_guess(diagnosis: Diagnosis) -> bool:
    """Did no rule know the failure, so that the reader went by what its words are like?"""
    return any(evidence.id.startswith("like.") for evidence in diagnosis.evidence)


def rows_of(piece: Piece, diagnosis: Diagnosis, weights: Weights) -> Mapping[str, float]:
    """What a piece weighs for each explanation of this diagnosis; empty when it says nothing of its kind."""
    if weights.is_mute(piece.id, diagnosis.category) and not is_guess(diagnosis):
        return {}
    return weights.evidence.get(piece.id, {})


def weight_of(piece: Piece, belief: Belief, diagnosis: Diagnosis, weights: Weights) -> float:
    """Log-odds that a piece adds to the best explanation against the best one of the cause that is next."""
    row = rows_of(piece, diagnosis, weights)
    return piece.strength * (row.get(belief.best, 0.0) - row.get(belief.rival, 0.0))


def calibrated(probability: float, weights: Weights) -> float:
    """The share of right verdicts that was measured where this much was stated; straight lines between the points."""
    points = weights.calibration
    if not points:
        return min(probability, SUREST)
    stated = [low for low, _ in points]
    position = min(max(bisect_right(stated, probability), 1), len(points) - 1)
    (x0, y0), (x1, y1) = points[position - 1], points[position]
    share = (probability - x0) / (x1 - x0) if x1 > x0 else 1.0
    return min(SUREST, max(0.0, y0 + min(max(share, 0.0), 1.0) * (y1 - y0)))
