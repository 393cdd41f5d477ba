"""Probabilities in words: from which on a verdict is high, medium or low."""

from dataclasses import dataclass

from buildeye.model import Level


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least probability for each word of confidence (settings `classification.confidence_thresholds`)."""

    high: float = 0.9
    medium: float = 0.7
    low: float = 0.5

    def level(self, confidence: float) -> Level:
        """The word for a probability; NONE below `low`."""
        if confidence >= self.high:
            return Level.HIGH
        if confidence >= self.medium:
            return Level.MEDIUM
        return Level.LOW if confidence >= self.low else Level.NONE


DEFAULTS = Thresholds()
