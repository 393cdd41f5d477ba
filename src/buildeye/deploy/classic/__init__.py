"""The profile `classic`: the seed's monitor, decision for decision, over the seed's tables (design/deploy.md).

Its oddities are kept on purpose: a late pass overwrites `anomaly_detected` with `monitoring`, ten tasks that were only
created close the window clean, and so do 24 quiet hours. Crashes and failures are counted by samples, not by time. Two
things differ, both told where they are done: 30 points are compared exactly, and what stopped the seed with a traceback
is an error in one sentence.
"""

from buildeye.deploy.classic.approvals import (
    compute_baseline_validator_approval_rate,
    compute_validator_approval_rate,
    count_approvals,
)
from buildeye.deploy.classic.cycle import run_monitor_cycle
from buildeye.deploy.classic.decisions import Approvals, Decision, Limits, decide, rate_signal

__all__ = [
    "Approvals",
    "Decision",
    "Limits",
    "compute_baseline_validator_approval_rate",
    "compute_validator_approval_rate",
    "count_approvals",
    "decide",
    "rate_signal",
    "run_monitor_cycle",
]
