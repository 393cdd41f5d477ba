"""Asking PromQL: the source, and why an answer is empty. What an expression means is worked out by the server."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from buildeye.ask.guard.lexing import words
from buildeye.ask.macros import Span
from buildeye.ask.series import Series
from buildeye.ask.sources import PromSource

_KEYWORDS: Final = words(
    "and or unless by without on ignoring group_left group_right offset bool inf nan start end atan2 "
    "sum avg count min max group stddev stdvar topk bottomk quantile count_values limitk limit_ratio"
)
"""Words of PromQL that may stand without a parenthesis behind them, in small letters."""
_ASIDE: Final = re.compile(
    r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", re.IGNORECASE
)
"""Where names are of labels: braces, brackets, and the lists behind these words."""
_STRINGS: Final = re.compile(r"""#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`""")
_WORD: Final = re.compile(r"(?<![\w:.])[A-Za-z_:][\w:]*(?!\s*\()(?![\w:])")


@dataclass(frozen=True, slots=True)
class Measured:
    """What an expression gave. Where it gave nothing, `unknown` are the metrics in it that the source does not have."""

    series: tuple[Series, ...]
    unknown: tuple[str, ...] = ()


def ask_promql(source: PromSource, expression: str, at: datetime | None = None, span: Span | None = None) -> Measured:
    """What `source` gives at a moment (now without one), or over a span. Errors: see `PromSource`."""
    if span is None:
        series = source.query(expression, at)
        since, until = at, at
    else:
        series = source.query_range(expression, span.since, span.until, span.step)
        since, until = span.since, span.until
    if series:
        return Measured(series)
    wanted = metrics_named(expression)
    known = set(source.metrics_in(expression)) if wanted else set()
    if wanted and since is not None and not known.issuperset(wanted):
        known |= set(source.metrics_in(expression, since, until))  # some servers look at the last day alone
    return Measured((), tuple(name for name in wanted if name not in known))


def metrics_named(expression: str) -> tuple[str, ...]:
    """The names in an expression that can only be metrics, in their order; `{__name__="up"}` names none."""
    plain = _ASIDE.sub(" ", _STRINGS.sub('""', expression))
    named = (found[0] for found in _WORD.finditer(plain))
    return tuple(dict.fromkeys(word for word in named if word.lower() not in _KEYWORDS))
