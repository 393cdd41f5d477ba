"""Labelled histories: two months of an invented repository with stories that overlap, and the truth of each failure.

Seeded chance decides how many stories of each kind there are, when, how long, and whom they meet. What is written here
knows what happens in CI, not how anybody judges it.
"""

from buildeye.simulator.histories.history import build_history

__all__ = ["build_history"]
