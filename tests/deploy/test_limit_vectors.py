"""The limits of the judges against the published vectors of another progressive-delivery tool, where both have them.

Of its limits, three exist here: how many failures are too many, how many errors of a check in a row ask a person, and
how many good measurements a clean end needs. Its limit of successes in a row that ends a watch early does not: a window
here ends by time and evidence. A measurement without a result has no limit: it leaves the window to the deadline.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from buildeye.deploy.judges import (
    AttentionSettings,
    CleanSettings,
    Exit,
    HttpSettings,
    Probe,
    ProcessSettings,
    Standing,
    judge_clean,
    judge_errors,
    judge_http,
    judge_process,
)
from buildeye.model.deployments import HealthSample, SignalKind, SignalStatus
from tests.deploy.moments import at

VECTORS = Path(__file__).parents[3] / "shared" / "corpus" / "deploy" / "argo_assess_vectors.json"
INTERVAL = 60.0
ERRORS = 4
"""More errors than this in a row end a measurement there, unless it says otherwise."""

pytestmark = pytest.mark.skipif(not VECTORS.is_file(), reason=f"the published vectors are not at {VECTORS}")


def vectors() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(VECTORS.read_text()) if VECTORS.is_file() else []
    return found


def named(vector: dict[str, Any]) -> str:
    return f"line {vector['line']}"


FAILURES = [v for v in vectors() if (v["failureLimit"] or -1) >= 0]
IN_A_ROW = [v for v in FAILURES if not v["successful"]]
FAULTS = [v for v in vectors() if v["consecutiveError"]]
COUNTS = [v for v in vectors() if v["count"] and v["interval"] is None]


def test_the_vectors_hold_some_of_each_limit() -> None:
    assert (len(FAILURES), len(IN_A_ROW), len(FAULTS), len(COUNTS)) == (14, 2, 2, 2)


@pytest.mark.parametrize("vector", FAILURES, ids=named)
def test_more_failures_than_the_limit_fail_whatever_succeeded(vector: dict[str, Any]) -> None:
    settings = ProcessSettings(exits=vector["failureLimit"] + 1, window_seconds=1e9, slow_exits=1000)
    exits = [Exit(at(INTERVAL * k), 1) for k in range(vector["failed"])]
    failed = judge_process(exits, True, settings, at(1e6)).status is SignalStatus.FAIL
    assert failed == (vector["expect"] == "Failed")


@pytest.mark.parametrize("vector", IN_A_ROW, ids=named)
def test_more_failures_in_a_row_than_the_limit_fail(vector: dict[str, Any]) -> None:
    settings = HttpSettings(failures=vector["failureLimit"] + 1)
    probes = [Probe(False, at(INTERVAL * k)) for k in range(vector["failed"])]
    failed = judge_http(probes, [], settings, at(1e6)).status is SignalStatus.FAIL
    assert failed == (vector["expect"] == "Failed")


@pytest.mark.parametrize("vector", FAULTS, ids=named)
def test_more_errors_in_a_row_than_the_limit_ask_a_person(vector: dict[str, Any]) -> None:
    """Their limit counts, ours is a time: so many errors at their interval take that long."""
    samples = [
        HealthSample("d1", SignalKind.RATE, SignalStatus.ERROR, at(INTERVAL * k))
        for k in range(vector["consecutiveError"])
    ]
    verdict = judge_errors(samples, AttentionSettings(error_seconds=ERRORS * INTERVAL), at(1e6))
    assert (verdict.reason == "ask") == (vector["expect"] == "Error")
    assert verdict.status is not SignalStatus.FAIL


@pytest.mark.parametrize("vector", COUNTS, ids=named)
def test_measurements_without_a_result_are_no_successes(vector: dict[str, Any]) -> None:
    settings = CleanSettings(canaries=vector["count"], needs_rate=False)
    standing = Standing(settings.deadline_seconds, 0, 0, None, vector["successful"], http_good=True, process_good=True)
    expected = {"Successful": "clean", "Inconclusive": "deadline"}[vector["expect"]]
    assert judge_clean(standing, settings).reason == expected
