"""Where CI facts come from: GitHub's REST interface, read politely and turned into the words of `buildeye.model`.

Importing this package loads httpx2 and hishel; commands that do not ask GitHub import it lazily.
"""

from buildeye.github.artifacts import Artifact
from buildeye.github.client import GitHub
from buildeye.github.facts import (
    Comment,
    Commit,
    Comparison,
    JobsOfRun,
    LogDownload,
    LogState,
    PostedCheck,
    RateLimit,
    Stats,
)
from buildeye.github.posting import Posting
from buildeye.github.wire import ForbiddenError, NotFoundError

__all__ = [
    "Artifact",
    "Comment",
    "Commit",
    "Comparison",
    "ForbiddenError",
    "GitHub",
    "JobsOfRun",
    "LogDownload",
    "LogState",
    "NotFoundError",
    "PostedCheck",
    "Posting",
    "RateLimit",
    "Stats",
]
