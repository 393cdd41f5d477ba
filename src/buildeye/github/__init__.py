"""Where CI facts come from: GitHub's REST interface, read politely and turned into the words of `buildeye.model`.

Importing this package loads httpx2 and hishel; commands that do not ask GitHub import it lazily.
"""

from buildeye.github.artifacts import Artifact
from buildeye.github.client import GitHub
from buildeye.github.facts import Commit, Comparison, JobsOfRun, LogDownload, LogState, RateLimit, Stats
from buildeye.github.wire import NotFoundError

__all__ = [
    "Artifact",
    "Commit",
    "Comparison",
    "GitHub",
    "JobsOfRun",
    "LogDownload",
    "LogState",
    "NotFoundError",
    "RateLimit",
    "Stats",
]
