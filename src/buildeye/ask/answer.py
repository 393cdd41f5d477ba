"""What a question is answered with, whoever answered: columns, rows, and what the person should know of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows under named columns. `types` are ClickHouse's, '' where whoever answered does not say.

    Times are aware, in UTC. `warnings` are sentences for the person who asked. `left_out` rows were cut off by a limit;
    None: some were, nobody knows how many.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    warnings: tuple[str, ...] = ()
    left_out: int | None = 0

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Self:
        """An answer from one mapping a row; what a row has beyond `columns` is left away."""
        return cls(tuple(columns), ("",) * len(columns), tuple(tuple(row[name] for name in columns) for row in rows))

    def first(self, limit: int) -> Self:
        """The first `limit` rows, knowing how many were left out."""
        cut = max(0, len(self.rows) - limit)
        if not cut:
            return self
        return replace(self, rows=self.rows[:limit], left_out=None if self.left_out is None else self.left_out + cut)
