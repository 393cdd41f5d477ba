"""Every fixed word of a report, once a language.

A phrase with `{name}` is filled with `str.format`; what is filled in has been made safe before. Text that comes from
logs and rules is not translated. Both languages have the same keys, and a test says so.
"""

from collections.abc import Mapping
from typing import Literal

from buildeye.model.labels import uncapitalised
from buildeye.reports import labels
from buildeye.reports.chinese import CHINESE
from buildeye.reports.english import ENGLISH

__all__ = ["Language", "category_label", "percent", "uncapitalised", "words"]

Language = Literal["en", "zh"]


def words(language: Language) -> Mapping[str, str]:
    """The table of one language."""
    return _WORDS[language]


def category_label(language: Language, category: str) -> str:
    """A category as people say it; a category that a pack added is its own label."""
    return _LABELS[language].get(category, category.replace("-", " "))


def percent(probability: float) -> str:
    """A probability in whole percent, without the sign; only what is certain is 100."""
    return f"{probability * 100:.0f}" if probability >= 1 else str(min(round(probability * 100), 99))


_WORDS: dict[Language, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}
_LABELS: dict[Language, Mapping[str, str]] = {"en": labels.ENGLISH, "zh": labels.CHINESE}
