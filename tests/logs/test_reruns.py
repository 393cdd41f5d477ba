"""What a log says of chance: a test run again, a step tried again."""

import pytest

from buildeye.logs.diagnose import diagnose
from buildeye.logs.ruleset import RuleSet, load_ruleset
from buildeye.logs.source import LogFile
from buildeye.model import Determinism

STEP = "##[group]Run {name}\n##[endgroup]\n"
END = "##[error]Process completed with exit code 1.\nPost job cleanup.\n"

PYTEST = "FAILED test/test_a.py::TestA::test_sum - AssertionError: assert 3 == 4\n"
SUCCEEDED = "The following tests failed and then succeeded when run in a new process['{}']\n"
NEXTEST = """\
  TRY 1 FAIL [   0.003s] store::it evicts_old
thread 'evicts_old' panicked at tests/it.rs:53:9:
assertion `left == right` failed
  TRY 2 {second} [   0.002s] store::it evicts_old
{summary}
"""
CASES = [
    (
        "PyTorch, passed in a new process",
        PYTEST + SUCCEEDED.format("test/test_a.py::TestA::test_sum"),
        Determinism.FLAKY,
    ),
    (
        "PyTorch, failed consistently",
        PYTEST + "The following tests failed consistently: ['test/test_a.py::TestA::test_sum']\n",
        Determinism.DETERMINISTIC,
    ),
    (
        "pytest-rerunfailures, failed each time",
        "test/test_a.py::TestA::test_sum RERUN [ 50%]\ntest/test_a.py::TestA::test_sum FAILED [ 50%]\n" + PYTEST,
        Determinism.DETERMINISTIC,
    ),
    (
        "nextest, passed at the second try",
        NEXTEST.format(second="PASS", summary="   FLAKY 2/3 [   0.002s] store::it evicts_old"),
        Determinism.FLAKY,
    ),
    (
        "nextest, failed at the second try",
        NEXTEST.format(second="FAIL", summary="        FAIL [   0.002s] store::it evicts_old"),
        Determinism.DETERMINISTIC,
    ),
    (
        "Playwright, listed as flaky",
        "  1) [chromium] › cart.spec.ts:10:5 › keeps items ──────\n    Error: expect(received).toBe(expected)\n"
        "  1 flaky\n    [chromium] › cart.spec.ts:10:5 › keeps items\n",
        Determinism.FLAKY,
    ),
    (
        "Bazel, failed in two of two",
        "//app:cart_test                FAILED in 2 out of 2 in 12.0s\n",
        Determinism.DETERMINISTIC,
    ),
]


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return load_ruleset()


@pytest.mark.parametrize(("log", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_test_that_was_run_again_says_whether_chance_was_in_play(
    rules: RuleSet, log: str, expected: Determinism
) -> None:
    found = diagnose(LogFile.of("x", (STEP.format(name="tests") + log + END).encode()), rules)
    assert found.determinism is expected
    assert any(e.id == "rerun" for e in found.evidence)


def test_a_test_that_passed_again_is_not_why_the_job_failed_when_another_failed_for_good(rules: RuleSet) -> None:
    log = (
        "FAILED test/test_a.py::TestA::test_lucky - TimeoutError: no answer\n"
        "FAILED test/test_a.py::TestA::test_sum - AssertionError: assert 3 == 4\n"
        + SUCCEEDED.format("test/test_a.py::TestA::test_lucky")
        + "The following tests failed consistently: ['test/test_a.py::TestA::test_sum']\n"
    )
    found = diagnose(LogFile.of("x", (STEP.format(name="tests") + log + END).encode()), rules)
    assert found.key_line is not None
    assert "test_sum" in found.key_line.text
    assert found.tests == ("test/test_a.py::TestA::test_sum",)
    assert found.determinism is Determinism.DETERMINISTIC


def test_another_tests_luck_says_nothing_of_this_one(rules: RuleSet) -> None:
    log = PYTEST + SUCCEEDED.format("test/test_b.py::test_x")
    found = diagnose(LogFile.of("x", (STEP.format(name="tests") + log + END).encode()), rules)
    assert not any(e.id == "rerun" for e in found.evidence)


def test_what_a_later_attempt_of_its_step_healed_is_not_the_key_line(rules: RuleSet) -> None:
    healed = "npm error code ECONNRESET\nAttempt 1 failed. Reason: Child_process exited with error code 1\n"
    log = (
        STEP.format(name="nick-fields/retry@v3")
        + healed
        + "Command completed after 2 attempt(s).\n"
        + STEP.format(name="npm run lint")
        + "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\n"
        + END
    )
    found = diagnose(LogFile.of("x", log.encode()), rules)
    assert found.key_line is not None
    assert "TS2322" in found.key_line.text


def test_a_step_that_failed_in_every_attempt_fails_again_unless_it_is_of_the_kind_that_may_pass(rules: RuleSet) -> None:
    def log(line: str) -> bytes:
        tried = f"{line}\nAttempt 1 failed. Reason: Child_process exited with error code 1\n{line}\n"
        return (STEP.format(name="nick-fields/retry@v3") + tried + "##[error]Final attempt failed.\n" + END).encode()

    asserted = diagnose(LogFile.of("x", log("FAILED t/test_a.py::test_b - AssertionError: assert 1 == 2")), rules)
    reset = diagnose(LogFile.of("x", log("curl: (56) Recv failure: Connection reset by peer")), rules)
    assert asserted.determinism is Determinism.DETERMINISTIC
    assert reset.determinism is not Determinism.DETERMINISTIC
