"""The words Build-Eye uses for CI: frozen values without input or output.

Everything above this floor speaks in these types; nothing here imports anything of the package.
"""

from buildeye.model.cases import Case, CaseResult, CaseRun, Origin, Outcome
from buildeye.model.causes import CATEGORIES, Cause, Cost, Determinism, home_cause
from buildeye.model.diagnosis import Diagnosis, Evidence, Excerpt, KeyLine, Suggestion
from buildeye.model.environment import Incident, PoolLoad, Thing
from buildeye.model.errors import BuildEyeError, OutsideError, UsageError
from buildeye.model.runs import CheckRun, Job, PullRequest, Push, Run, Step
from buildeye.model.verdict import (
    WHOLE_RUN,
    Culprit,
    Finding,
    JobFinding,
    Level,
    LogLine,
    MergeRange,
    PersonVerdict,
    PullRequestFinding,
    Reason,
    Verdict,
    VerdictChange,
)

__all__ = [
    "CATEGORIES",
    "WHOLE_RUN",
    "BuildEyeError",
    "Case",
    "CaseResult",
    "CaseRun",
    "Cause",
    "CheckRun",
    "Cost",
    "Culprit",
    "Determinism",
    "Diagnosis",
    "Evidence",
    "Excerpt",
    "Finding",
    "Incident",
    "Job",
    "JobFinding",
    "KeyLine",
    "Level",
    "LogLine",
    "MergeRange",
    "Origin",
    "Outcome",
    "OutsideError",
    "PersonVerdict",
    "PoolLoad",
    "PullRequest",
    "PullRequestFinding",
    "Push",
    "Reason",
    "Run",
    "Step",
    "Suggestion",
    "Thing",
    "UsageError",
    "Verdict",
    "VerdictChange",
    "home_cause",
]
