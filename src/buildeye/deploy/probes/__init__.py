"""Probes: is a version well, seen from outside? A page answers, a task is done, a command ends well."""

from buildeye.deploy.probes.canary import run_canary_request, run_command
from buildeye.deploy.probes.http import ProbeResult, probe

__all__ = ["ProbeResult", "probe", "run_canary_request", "run_command"]
