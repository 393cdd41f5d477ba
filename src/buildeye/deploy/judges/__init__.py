"""Judges of a deployment: pure functions (history, settings, now) -> verdict with reason, numbers and a sentence.

They read no clock, no file and no database. A history is judged as a whole, each sample with those before it, so that
how often a judge is asked never changes what it says.
"""

from buildeye.deploy.judges.attention import AttentionSettings, fingerprint, judge_errors
from buildeye.deploy.judges.canary import CanaryRun, CanarySettings, judge_canary, next_canary
from buildeye.deploy.judges.clean import CleanSettings, Standing, enough, judge_clean, needed
from buildeye.deploy.judges.fisher import Threshold, boundary, calibrate, p_value, threshold
from buildeye.deploy.judges.http import HttpSettings, Probe, judge_http, next_probe, wants_control
from buildeye.deploy.judges.process import Exit, ProcessSettings, judge_process
from buildeye.deploy.judges.rate import RateReading, RateSettings, judge_rate

__all__ = [
    "AttentionSettings",
    "CanaryRun",
    "CanarySettings",
    "CleanSettings",
    "Exit",
    "HttpSettings",
    "Probe",
    "ProcessSettings",
    "RateReading",
    "RateSettings",
    "Standing",
    "Threshold",
    "boundary",
    "calibrate",
    "enough",
    "fingerprint",
    "judge_canary",
    "judge_clean",
    "judge_errors",
    "judge_http",
    "judge_process",
    "judge_rate",
    "needed",
    "next_canary",
    "next_probe",
    "p_value",
    "threshold",
    "wants_control",
]
