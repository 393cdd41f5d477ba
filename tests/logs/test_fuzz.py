"""Whatever bytes a log has: an answer, a key line inside it, and no secret in what is said."""

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from buildeye.logs.baseline import line_set
from buildeye.logs.diagnose import diagnose, read_log
from buildeye.logs.ruleset import RuleSet, load_ruleset
from buildeye.logs.source import LogFile
from buildeye.model import CATEGORIES, Cause

PIECES = st.sampled_from(
    [
        b"2026-05-12T08:14:02.1234567Z ##[group]Run make test\n",
        b"##[endgroup]\n",
        b"##[error]Process completed with exit code 1.\n",
        b"Post job cleanup.\n",
        b"E   AssertionError: assert 1 == 2\n",
        b"FAILED tests/test_a.py::test_b - AssertionError\n",
        b"error[E0308]: mismatched types\n",
        b"@@ -1,2 +1,2 @@\n-a\n+b\n",
        b"Retrying in 3 seconds\n",
        b"No space left on device",
        b"\x1b[31m",
        b"\x00",
        b"\r",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\n",
        b"x" * 5000,
    ]
)
LOGS = st.lists(st.one_of(PIECES, st.binary(max_size=40)), max_size=25).map(b"".join)
KNOWN = {name for names in CATEGORIES.values() for name in names}


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return load_ruleset()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=LOGS, other=st.one_of(st.none(), LOGS))
def test_any_bytes_get_an_answer_that_keeps_the_contract(rules: RuleSet, data: bytes, other: bytes | None) -> None:
    baseline = None if other is None else line_set(LogFile.of("good", other))
    reading = read_log(LogFile.of("x", data), rules, baseline=baseline, show=20)
    found = reading.diagnosis
    lines = data.count(b"\n") + 1
    assert found.cause in Cause
    assert found.category in KNOWN
    assert 0 <= found.confidence <= 1
    assert found.key_line is None or 1 <= found.key_line.number <= lines
    assert all(1 <= e.start <= e.end <= lines for e in found.excerpts)
    assert all(e.line is None or 1 <= e.line <= lines for e in found.evidence)
    assert all(1 <= line.number <= lines for line in reading.lines)
    said = json.dumps(found.to_dict())
    assert not re.search(r"\\u00(?:0[0-8bcef]|1[0-9a-f]|7f)", said)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=LOGS)
def test_the_same_log_always_gets_the_same_answer(rules: RuleSet, data: bytes) -> None:
    assert diagnose(LogFile.of("x", data), rules) == diagnose(LogFile.of("x", data), rules)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    secret=st.text(alphabet="abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=36, max_size=36)
)
def test_a_token_in_the_lines_that_rules_quote_never_leaves(rules: RuleSet, secret: str) -> None:
    token = "gh" + "p_" + secret
    log = "\n".join(
        [
            "##[group]Run pytest",
            "##[endgroup]",
            f"E   AssertionError: assert '{token}' == 'x'",
            f"FAILED tests/test_a.py::test_b[{token}] - AssertionError: {token}",
            f"ModuleNotFoundError: No module named '{token}'",
            f"error: cannot open /srv/{token}/a.py",
            "##[error]Process completed with exit code 1.",
        ]
    )
    reading = read_log(LogFile.of("x", log.encode()), rules, show=50)
    said = json.dumps(reading.diagnosis.to_dict()) + "".join(line.text for line in reading.lines)
    assert secret not in said
