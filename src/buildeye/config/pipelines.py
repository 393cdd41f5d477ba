"""Which of the four pipeline types a run belongs to."""

from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from buildeye.config.settings import PipelineType, Settings
from buildeye.model import Run


def pipeline_type(settings: Settings, run: Run) -> str:
    """`weekly`, `nightly`, `pr` or `other`: the first whose name pattern fits, else whose event fits, else other.

    A name says more than an event: a nightly workflow started by hand is still nightly.
    """
    types = settings.pipeline_types
    ordered = (("weekly", types.weekly), ("nightly", types.nightly), ("pr", types.pr), ("other", types.other))
    for name, kind in ordered:
        if _named(kind, run):
            return name
    for name, kind in ordered:
        if run.event in kind.events:
            return name
    return "other"


def _named(kind: PipelineType, run: Run) -> bool:
    names = (run.name.lower(), PurePosixPath(run.path.partition("@")[0]).name.lower())
    return any(fnmatchcase(name, pattern.lower()) for pattern in kind.names for name in names if name)
