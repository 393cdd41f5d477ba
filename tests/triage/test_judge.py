"""Whose problem a failure is, by the packaged weights: clear stories, and the same stories with less known of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from buildeye.model import Cause, Determinism, Diagnosis, Evidence, Level, MergeRange, Reason, Verdict
from buildeye.triage.evidence.piece import Window
from buildeye.triage.facts import diagnose_facts
from buildeye.triage.history import History
from buildeye.triage.judge import judge
from buildeye.triage.results import Result, Subject, subject_of
from buildeye.triage.thresholds import DEFAULTS, Thresholds
from buildeye.triage.weights import packaged_weights
from tests.triage.cases import (
    BEGAN,
    MINUTE,
    NOW,
    OTHER,
    OWN,
    SIGNATURE,
    again,
    diagnosis,
    history,
    in_pull,
    incident,
    judged,
    load,
    merge,
    on_base,
    on_main,
    passed,
    pull,
    reasons,
    said,
    sha_of,
    subject,
    thing,
)


@dataclass(frozen=True)
class Story:
    """A failure, what happened around it, and what to hold of it."""

    of: Subject
    results: Sequence[Result]
    cause: Cause
    category: str
    determinism: Determinism = Determinism.DETERMINISTIC
    more: Mapping[str, Any] = field(default_factory=dict)
    least: float = 0.7

    @property
    def known(self) -> History:
        return history(self.results, **self.more)

    def verdict(self, known: History | None = None, of: Subject | None = None) -> Verdict:
        return judge(of or self.of, self.known if known is None else known, DEFAULTS, NOW)


# A quiet day of a busy repository: the job passes on the base branch and in pull requests, days back and around.
DAYS = [passed(on_base(200 + n, -24 * n - 5)) for n in range(1, 8)]
MORNING = [passed(in_pull(300 + n, -11 + n / 10)) for n in range(60)]
ROUND = [*DAYS, *MORNING]
FILES = ("src/ops/rope.py",)
NPU, NEW_NPU = thing("npu", "sha256:aaaa", "image"), thing("npu", "sha256:bbbb", "image")
NUMPY, NEW_NUMPY = thing("numpy", "2.3.1"), thing("numpy", "2.4.0")
ATTRIBUTE = "AttributeError: module 'numpy' has no attribute 'in1d'"


def _alike(*numbers: int, **given: Any) -> list[Result]:
    """Equal failures in other pull requests, an hour and a half around."""
    return [in_pull(n, -1.5 + i * 0.25, **given) for i, n in enumerate(numbers)]


LOST = diagnosis(
    cause=Cause.INFRASTRUCTURE, category="accelerator", signature="npu.lost|card # is not there", confidence=0.8
)
RESET = diagnosis(
    cause=Cause.INFRASTRUCTURE, category="network", signature="network.reset|Connection reset by #", confidence=0.8
)
SLOW = diagnosis(
    cause=Cause.UNKNOWN, category="timeout", signature="timeout.job|gave up after # minutes", confidence=0.5
)
IMPORT = diagnosis(category="import", signature="python.attribute|module 'numpy' has no attribute", summary=ATTRIBUTE)

MERGES = [merge(70, -5.5, "docs/guide.md"), merge(71, -2.1, *FILES)]
STORIES = {
    "the trunk is broken": Story(
        subject(), [*ROUND, on_base(71, -2), on_base(72, -1), *_alike(31, 32, 33)],
        Cause.INTERFERENCE, "broken-trunk", more={"merges": MERGES},
    ),
    "the author's own bug": Story(
        subject(diagnosis(files=FILES), pull(changed_files=FILES)),
        [*ROUND, passed(on_base(80, -1)), again(), in_pull(OWN, 2), *(passed(in_pull(n, 0.5)) for n in range(40, 45))],
        Cause.CODE, "test-failure",
    ),
    "a flaky test": Story(
        subject(), [*ROUND, passed(again()), passed(on_base(80, -1)),
                    *(r for n in range(5) for r in (in_pull(400 + n, -60 - n),
                      passed(in_pull(400 + n, -59 - n, job_id=n + 900, run_id=1400 + n, attempt=2))))],
        Cause.CODE, "test-failure", Determinism.FLAKY,
    ),
    "a sick runner": Story(
        subject(LOST),
        [*ROUND, passed(again(runner="runner-2")),
         *(in_pull(60 + n, n / 2, runner="runner-1", signature=f"own.kind|failure {chr(97 + n) * 9}")
           for n in range(1, 6))],
        Cause.INFRASTRUCTURE, "accelerator", Determinism.FLAKY,
    ),
    "an outage": Story(
        subject(RESET),
        [*ROUND, *(in_pull(60 + n, n / 10, name=f"job-{n}", signature=OTHER, category="network", cause="infrastructure")
                   for n in range(8))],
        Cause.INFRASTRUCTURE, "network", Determinism.FLAKY, {"incidents": [incident(-1, 2)]},
    ),
    "a leg of a matrix": Story(
        subject(diagnosis(category="import"), name="unit (3.13)"),
        [*ROUND, *(passed(again(20 + n, 1, name=f"unit (3.{n})")) for n in (10, 11, 12)),
         *_alike(31, 32, 33, 34, name="unit (3.13)")],
        Cause.INTERFERENCE, "version-matrix",
    ),
    "an image that moved": Story(
        subject(diagnosis(category="import")),
        [*ROUND, passed(on_base(80, -4)), *_alike(31, 32, 33, 34), on_base(81, 0.5)],
        Cause.INTERFERENCE, "image-update", more={"things": {80: [NPU], 11: [NEW_NPU]}},
    ),
    "a package that moved and is named": Story(
        subject(IMPORT),
        [*ROUND, passed(on_base(80, -4)), *_alike(31, 32, 33, 34, signature=IMPORT.signature),
         on_base(81, 0.5, signature=IMPORT.signature)],
        Cause.INTERFERENCE, "upstream-change", more={"things": {80: [NUMPY], 11: [NEW_NUMPY]}},
    ),
    "contention for runners": Story(
        subject(SLOW, started_at=BEGAN + 50 * MINUTE, completed_at=BEGAN + 70 * MINUTE),
        [*ROUND, passed(again()),
         *(passed(in_pull(40 + n, n / 10, waited=45 * MINUTE, name="lint")) for n in range(9))],
        Cause.INTERFERENCE, "runner-contention", Determinism.FLAKY,
        {"loads": [*(load(n / 2 - 20, 1) for n in range(30)), load(0.8, 40)]},
    ),
    "changes that are wrong together only": Story(
        on_main(sha=sha_of(60)),
        [*ROUND, passed(on_base(59, -2)), *(passed(in_pull(60 + n, -6)) for n in range(8)), on_base(90, 1)],
        Cause.INTERFERENCE, "concurrent-merge",
        more={"merges": [merge(59, -2.1), merge(60, -0.1, "src/b.py"),
                         *(merge(61 + n, -1 - n / 10, "src/a.py") for n in range(7))]},
        least=0.5,
    ),
}  # fmt: skip
each_story = pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())


@each_story
def test_a_clear_story_is_judged_for_what_it_is(story: Story) -> None:
    verdict = story.verdict()
    assert (verdict.cause, verdict.category) == (story.cause, story.category)
    assert verdict.determinism is story.determinism
    assert verdict.confidence >= story.least
    assert verdict.level is DEFAULTS.level(verdict.confidence)


@each_story
def test_every_reason_says_what_it_weighs_the_weightiest_first(story: Story) -> None:
    weighed = [reason for reason in story.verdict().reasons if reason.kind in ("history", "infrastructure", "person")]
    assert weighed and all(reason.weight and reason.why for reason in weighed)
    assert [abs(reason.weight) for reason in weighed] == sorted((abs(r.weight) for r in weighed), reverse=True)
    assert sum(reason.weight for reason in weighed) > 0


@each_story
def test_other_causes_are_told_by_how_probable_they_are(story: Story) -> None:
    verdict = story.verdict()
    shares = [share for _, share in verdict.otherwise]
    assert shares == sorted(shares, reverse=True) and all(share >= 0.05 for share in shares)
    assert verdict.cause not in [cause for cause, _ in verdict.otherwise]
    assert verdict.confidence + sum(shares) <= 1.1


def _cut(known: History, days: float) -> History:
    """The same with a warehouse that ended so many days before the failure."""
    end = BEGAN - timedelta(days=days)
    return replace(
        known, results=[r for r in known.results if r.ended <= end], merges=[m for m in known.merges if m.at <= end],
        loads=[each for each in known.loads if each.at <= end], incidents=(), things={}, until=end,
    )  # fmt: skip


def _without_log(story: Story) -> Subject:
    of = story.of
    return subject_of(of.run, of.job, diagnose_facts(of.job, "GitHub no longer has its log"), of.pull_request, "main")


LESS = {
    "no history": lambda story: story.verdict(History()),
    "a warehouse that ended a day before": lambda story: story.verdict(_cut(story.known, 1)),
    "no log": lambda story: story.verdict(of=_without_log(story)),
    "neither": lambda story: story.verdict(History(), _without_log(story)),
}


@each_story
@pytest.mark.parametrize("less", LESS.values(), ids=LESS.keys())
def test_who_knows_less_is_never_sure_of_what_is_wrong(story: Story, less: Any) -> None:
    verdict = less(story)
    assert not (verdict.level is Level.HIGH and verdict.cause is not story.cause)


@each_story
@pytest.mark.parametrize("less", LESS.values(), ids=LESS.keys())
def test_who_knows_less_is_less_sure_of_what_is_right(story: Story, less: Any) -> None:
    verdict = less(story)
    if verdict.cause is story.cause:
        assert verdict.confidence <= story.verdict().confidence


def test_where_neither_log_nor_history_speaks_the_answer_is_unknown() -> None:
    verdict = STORIES["the trunk is broken"].verdict(History(), _without_log(STORIES["the trunk is broken"]))
    assert (verdict.cause, verdict.category, verdict.level) == (Cause.UNKNOWN, "unknown", Level.NONE)
    assert verdict.otherwise


def test_reasons_are_given_for_and_against() -> None:
    of = diagnosis(files=FILES)
    verdict = judged(on_base(), *_alike(31, 32), of=of, change=pull(changed_files=FILES))
    signs = {reason.id: reason.weight > 0 for reason in verdict.reasons}
    assert signs["base-broken"] is not signs["own-files"]


def test_a_broken_trunk_comes_with_its_range_its_likeliest_merge_and_who_else_is_hit() -> None:
    story = STORIES["the trunk is broken"]
    of = subject(diagnosis(files=("tests/ops/test_rope.py",)))
    verdict = story.verdict(of=of)
    assert verdict.cause is Cause.INTERFERENCE
    assert verdict.merge_range == MergeRange(sha_of(70), sha_of(71), 1)
    (first,) = verdict.culprits
    assert (first.sha, first.pull_request) == (sha_of(71), 71)
    assert "what the failing test is about" in first.why
    assert verdict.related_pull_requests == (31, 32, 33)


def test_only_interference_of_the_whole_branch_has_culprits() -> None:
    told = {name: story.verdict() for name, story in STORIES.items()}
    assert {name for name, verdict in told.items() if verdict.culprits} == {
        "the trunk is broken", "changes that are wrong together only",
    }  # fmt: skip
    for verdict in told.values():
        if verdict.cause is not Cause.INTERFERENCE:
            assert (verdict.merge_range, verdict.culprits, verdict.related_pull_requests) == (None, (), ())


def test_pull_requests_that_failed_so_days_before_are_not_related() -> None:
    verdict = judged(on_base(), *_alike(31), in_pull(40, -60))
    assert verdict.cause is Cause.INTERFERENCE
    assert verdict.related_pull_requests == (31,)


@pytest.mark.parametrize("category", ["policy", "format", "lint", "docs", "merge-conflict", "coverage"])
def test_equal_failures_that_are_each_their_own_never_become_interference(category: str) -> None:
    verdict = judged(*_alike(31, 32, 33), of=diagnosis(category=category))
    assert (verdict.cause, verdict.category) == (Cause.CODE, category)


NO_MATTER = {
    "another signature": in_pull(7, signature=OTHER),
    "the same run": in_pull(7, run_id=1),
    "it was stopped": in_pull(7, conclusion="cancelled"),
    "another signature on the base branch": on_base(signature=OTHER),
}


@pytest.mark.parametrize("seen", NO_MATTER.values(), ids=NO_MATTER.keys())
def test_what_says_nothing_of_this_failure_changes_nothing(seen: Result) -> None:
    assert judged(seen) == judged()


def test_more_that_fail_alike_never_make_interference_less_likely() -> None:
    known = [on_base(), *(in_pull(n, -n / 10) for n in range(1, 8))]
    sure = [judged(*known[:n]).confidence for n in range(1, 9)]
    assert all(more >= less - 0.02 for less, more in pairwise(sure))
    assert sure[0] < sure[-1]


def test_the_window_around_a_failure_is_given() -> None:
    known = history([in_pull(n, -20 - n / 100) for n in range(31, 36)])
    near, wide = (judge(subject(), known, now=NOW, window=each) for each in (Window(), Window(timedelta(hours=48))))
    assert "others-fail-alike" not in reasons(near)
    assert "others-fail-alike" in reasons(wide)


def _share(verdict: Verdict, cause: Cause) -> float:
    return verdict.confidence if verdict.cause is cause else dict(verdict.otherwise).get(cause, 0.0)


def test_what_a_person_said_of_an_equal_failure_is_weighed() -> None:
    verdict = judged(said={SIGNATURE: [said(Cause.INFRASTRUCTURE)]})
    (reason,) = [reason for reason in verdict.reasons if reason.kind == "person"]
    assert reason.quote == "alice"
    assert _share(verdict, Cause.INFRASTRUCTURE) > _share(judged(), Cause.INFRASTRUCTURE)


@pytest.mark.parametrize("cause", [Cause.NONE, Cause.UNKNOWN, Cause.CANCELLED])
def test_a_word_that_explains_no_failure_is_not_weighed(cause: Cause) -> None:
    assert judged(said={SIGNATURE: [said(cause)]}) == judged()


LEVELS = [
    (1.0, Level.HIGH), (0.9, Level.HIGH), (0.8999, Level.MEDIUM), (0.7, Level.MEDIUM), (0.6999, Level.LOW),
    (0.5, Level.LOW), (0.4999, Level.NONE), (0.0, Level.NONE),
]  # fmt: skip


@pytest.mark.parametrize(("confidence", "level"), LEVELS)
def test_a_probability_has_a_word(confidence: float, level: Level) -> None:
    assert Thresholds().level(confidence) is level


def test_thresholds_are_settings() -> None:
    usual = judged()
    assert usual.cause is Cause.CODE
    strict = judged(thresholds=Thresholds(high=0.999, medium=0.998, low=0.997))
    assert (strict.cause, strict.category, strict.level) == (Cause.UNKNOWN, "unknown", Level.NONE)
    assert strict.confidence == usual.confidence
    assert strict.otherwise[0][0] is Cause.CODE
    known = judged(thresholds=Thresholds(high=0.72), since=NOW - timedelta(days=9), until=NOW)
    assert known.level is Level.HIGH
    assert judged(thresholds=Thresholds(high=0.72)).level is Level.MEDIUM, "nothing is known of the hours before"


def test_a_verdict_keeps_every_reason_of_its_diagnosis_and_says_by_which_rules_and_weights() -> None:
    evidence = (Evidence("rule", "pytest.assertion", "assert 1 == 2", "it says so", 3),)
    verdict = judged(on_base(), of=diagnosis(evidence=evidence, rule_set="abc"))
    assert verdict.reasons[0] == Reason("rule", "pytest.assertion", "assert 1 == 2", "it says so", 3)
    assert verdict.rule_set == f"abc+{packaged_weights().digest}"
    assert (verdict.signature, verdict.judged_at) == (SIGNATURE, NOW)
    assert (verdict.run_id, verdict.job_id) == (1, 11)


def test_an_unknown_says_what_it_may_be() -> None:
    verdict = judged(of=Diagnosis("job 11", signature="no-log|unit|Run tests"))
    assert (verdict.cause, verdict.category, verdict.level) == (Cause.UNKNOWN, "unknown", Level.NONE)
    assert len(verdict.otherwise) >= 2


KINDS = {
    "what the log said, when it is at home there": (
        diagnosis(cause=Cause.UNKNOWN, category="network", confidence=0.0, signature=RESET.signature),
        [in_pull(60 + n, n / 10, name=f"job-{n}", signature=OTHER, category="network", cause="infrastructure")
         for n in range(8)], "network",
    ),
    "what the log said, when it is of that cause": (LOST, [again()], "accelerator"),
    "a sick runner, when the log said something else": (
        diagnosis(cause=Cause.UNKNOWN, category="unknown", confidence=0.0),
        [*ROUND, passed(again(runner="x")), *(in_pull(60 + n, n / 2, runner="runner-1",
                                                      signature=f"own.kind|failure {chr(97 + n) * 9}")
                                             for n in range(1, 7))], "runner-host",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("of", "results", "category"), KINDS.values(), ids=KINDS.keys())
def test_the_kind_of_a_failure_is_of_its_cause(of: Diagnosis, results: Sequence[Result], category: str) -> None:
    verdict = judged(*results, of=of)
    assert (verdict.cause, verdict.category) == (Cause.INFRASTRUCTURE, category)


AGAIN = [
    r for n in range(30) for r in (in_pull(400 + n, -60 - n, run_id=1400 + n),
                                   passed(in_pull(400 + n, -59 - n, job_id=2400 + n, run_id=1400 + n, attempt=2)))
]  # fmt: skip
WOULD_FAIL_AGAIN: dict[str, tuple[Sequence[Result], Diagnosis, Determinism]] = {
    "equal failures passed when tried again, all of them": (AGAIN, diagnosis(), Determinism.FLAKY),
    "the log says that chance had no part": (
        (), diagnosis(determinism=Determinism.DETERMINISTIC), Determinism.DETERMINISTIC,
    ),
    "it passed in another attempt, whatever the log says": (
        [passed(again())], diagnosis(determinism=Determinism.DETERMINISTIC), Determinism.FLAKY,
    ),
    "it failed alike in two other attempts": ([again(12), again(13, 3)], diagnosis(), Determinism.DETERMINISTIC),
}  # fmt: skip


@pytest.mark.parametrize(("results", "of", "told"), WOULD_FAIL_AGAIN.values(), ids=WOULD_FAIL_AGAIN.keys())
def test_whether_the_same_commit_would_fail_again(results: Sequence[Result], of: Diagnosis, told: Determinism) -> None:
    verdict = judged(*results, of=of)
    assert (verdict.cause, verdict.determinism) == (Cause.CODE, told)
