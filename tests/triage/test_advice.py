"""What to do: for every category, in order, filled, with the reason of a re-run, and nothing that cannot be done."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs.secrets import strip_controls
from buildeye.model import (
    CATEGORIES,
    Cause,
    Cost,
    Culprit,
    Determinism,
    Diagnosis,
    Evidence,
    Finding,
    JobFinding,
    Level,
    MergeRange,
    Reason,
    Run,
    Suggestion,
    Verdict,
    home_cause,
)
from buildeye.triage.advice import MAX_SUGGESTIONS, advise
from buildeye.triage.situation import Retry, Situation
from buildeye.triage.templates import Template, When, packaged_templates
from tests.triage.cases import diagnosis, job, pull, run

TEMPLATES = packaged_templates()
EVERY = [(cause, category) for cause, categories in CATEGORIES.items() for category in categories]
RERUN = Suggestion("Re-run the failed jobs", Cost.LOW, ("Start the job again.",), "gh run rerun --failed 1")
OWN = Suggestion("Use another port", Cost.MEDIUM, ("See who has it",), "ss -ltnp")
TEST = "tests/test_a.py::test_b[1-2]"
BASE = run(event="push", head_branch="main", path=".github/workflows/e2e.yaml", repository_full_name="o/r")
BRANCH = replace(BASE, event="pull_request", head_branch="topic")
CULPRIT = Culprit("d" * 40, 0.8, "it touches the file that fails", 7)
OTHER = Culprit("e" * 40, 0.2, "merged just before", 8)
RANGE = MergeRange("1" * 40, "2" * 40, 3)


def verdict(cause: Cause, category: str, **given: object) -> Verdict:
    """A sure verdict on the job of `finding`."""
    return replace(Verdict(1, 11, cause, category, 0.93, Level.HIGH), **given)  # type: ignore[arg-type]


def finding(held: Verdict, of: Diagnosis | None = None, on: Run = BRANCH, **given: object) -> Finding:
    """A failed run whose one job is judged so; of a pull request unless it ran on the base branch."""
    read = of or Diagnosis("job 11", held.cause, held.category, held.determinism, 0.9)
    change = None if on is BASE else pull()
    one = Finding(on, "pr", held, (JobFinding(job(), read, held),), change)
    return replace(one, **given)  # type: ignore[arg-type]


def told(one: Finding, templates: Sequence[Template] = TEMPLATES) -> tuple[Suggestion, ...]:
    return advise(one, templates, "main")


def words(advice: Sequence[Suggestion]) -> str:
    return "\n".join(text for s in advice for text in (s.title, *s.steps, s.command))


def reruns(advice: Sequence[Suggestion]) -> list[Suggestion]:
    return [s for s in advice if "gh run rerun" in s.command]


@pytest.mark.parametrize(("cause", "category"), EVERY, ids=[category for _, category in EVERY])
@pytest.mark.parametrize("bare", [False, True], ids=["much is known", "nothing is known"])
def test_every_category_gets_advice_besides_a_re_run(cause: Cause, category: str, bare: bool) -> None:
    held = verdict(cause, category)
    one = Finding(Run(5, "", "completed"), "pr", held, ()) if bare else finding(held)
    advice = told(one)
    assert [s for s in advice if "gh run rerun" not in s.command] or category in ("shared-resource", "shutdown")
    assert advice
    assert not re.search(r"\{\w+\}|  |None", words(advice))


@pytest.mark.parametrize(("cause", "category"), EVERY, ids=[category for _, category in EVERY])
def test_every_category_has_a_template_that_names_it(cause: Cause, category: str) -> None:
    named = [t for t in TEMPLATES if category in t.when.category or (category in ("none", "unknown") and t.when.cause)]
    assert named


SENSIBLE = [
    ("lint", "pre-commit"), ("merge-conflict", "git merge origin/main"), ("workflow", "actionlint .github/"),
    ("secret", "gh secret list"), ("github-service", "githubstatus"), ("cache", "gh cache list"),
    ("runner-lost", "runner-1"), ("runner-unavailable", "queued"), ("disk-full", "docker system prune"),
    ("accelerator", "npu-smi"), ("timeout", "tail -200"), ("superseded", "Nothing to do"), ("by-user", "Nothing to do"),
    ("fail-fast", "Nothing to do"), ("none", "Nothing to do"), ("unknown", "build-eye explain"),
    ("test-failure", "alone"), ("rate-limit", "rate_limit"), ("missing-artifact", "artifacts"),
    ("runner-contention", "Wait"), ("image-update", "digest"), ("upstream-change", "Pin"),
    ("shared-resource", "collided"), ("version-matrix", "leg"), ("broken-trunk", "update the branch"),
    ("concurrent-merge", "main"),
]  # fmt: skip


@pytest.mark.parametrize(("category", "said"), SENSIBLE, ids=[category for category, _ in SENSIBLE])
def test_the_advice_of_a_category_is_about_it(category: str, said: str) -> None:
    cause = home_cause(category)
    assert cause is not None
    assert said in words(told(finding(verdict(cause, category))))


def test_a_cancelled_run_is_not_re_run_for_nothing() -> None:
    for category in ("superseded", "by-user", "fail-fast"):
        assert not reruns(told(finding(verdict(Cause.CANCELLED, category))))


# Whose problem it is


def test_a_broken_trunk_leads_with_whose_problem_it_is_and_names_who_broke_it() -> None:
    held = verdict(Cause.INTERFERENCE, "broken-trunk", culprits=(CULPRIT,), merge_range=RANGE)
    advice = told(finding(held, diagnosis(suggestions=(OWN,)), related_pull_requests=(9, 12)))
    assert advice[0].title == "Do not change this pull request: main fails alike"
    assert advice[0].command == "gh pr update-branch 100 -R o/r"
    assert "#7 is the likeliest to have broken it: it touches the file that fails." in advice[0].steps
    assert "Others who are hit: #9, #12." in advice[0].steps
    assert OWN not in advice
    said = words(advice)
    assert f"git revert {'d' * 12}" in said
    assert f"git revert -m 1 {'d' * 12}" in said
    assert f"{'1' * 12}..{'2' * 12}" in said


def test_on_the_base_branch_the_rule_s_advice_is_for_the_reader() -> None:
    held = verdict(Cause.INTERFERENCE, "broken-trunk", culprits=(CULPRIT,))
    advice = told(finding(held, diagnosis(suggestions=(OWN,)), BASE))
    assert advice[0].title.startswith("main is broken")
    assert OWN in advice


def test_merges_close_together_name_both() -> None:
    held = verdict(Cause.INTERFERENCE, "concurrent-merge", culprits=(CULPRIT, OTHER), merge_range=RANGE)
    assert "#7 and #8" in told(finding(held))[0].title
    assert "#7 and #8" in words(told(finding(held, on=BASE)))


def test_a_range_without_a_culprit_is_bisected_with_the_failing_test() -> None:
    held = verdict(Cause.INTERFERENCE, "broken-trunk", merge_range=RANGE)
    said = words(told(finding(held, diagnosis(tests=(TEST,)), BASE)))
    assert f"git bisect start {'2' * 12} {'1' * 12} && git bisect run pytest '{TEST}'" in said
    assert "git bisect start" not in words(told(finding(replace(held, culprits=(CULPRIT,)), on=BASE)))


def test_a_package_that_moved_is_pinned_below_its_new_version() -> None:
    moved = Reason("history", "package-changed", "numpy 2.3.5 -> 2.4.0", "it came in with the first failure")
    held = verdict(Cause.INTERFERENCE, "upstream-change", reasons=(moved,))
    advice = told(finding(held))
    assert advice[0].title.startswith("Pin numpy below 2.4.0")
    assert any("`'numpy<2.4.0'`" in step or "`numpy<2.4.0`" in step for step in advice[0].steps)
    bare = told(finding(replace(held, reasons=(replace(moved, quote="it moved"),))))
    assert bare[0].title == "Pin what moved upstream: it moved"


def test_a_sick_runner_is_taken_out_unless_it_is_github_s() -> None:
    seen = Reason("infrastructure", "runner-sick", "9 of 11 jobs", "many different jobs fail there")
    held = verdict(Cause.INFRASTRUCTURE, "runner-host", reasons=(seen,))
    one = finding(held)
    assert "Take runner-1 out of its pool" in words(told(one))
    github = replace(one.jobs[0], job=job(runner_name="GitHub Actions 3", labels=("ubuntu-latest",)))
    assert "out of its pool" not in words(told(replace(one, jobs=(github,))))


# Re-runs

PASSED = Reason("history", "same-commit-passed", "aaa", "the same test passed on the same commit in attempt 2")
AGAIN = Evidence("step", "rerun", "1 rerun", "the same test failed again when it was run again in this job", 9)
HELPS = [
    (
        verdict(Cause.CODE, "test-failure", determinism=Determinism.FLAKY, reasons=(PASSED,)),
        "in attempt 2",
    ),
    (verdict(Cause.INFRASTRUCTURE, "runner-lost"), "another one is likely to work"),
    (verdict(Cause.INFRASTRUCTURE, "rate-limit"), "the limit has to reset"),
    (verdict(Cause.INFRASTRUCTURE, "network"), "pass within minutes"),
    (verdict(Cause.INFRASTRUCTURE, "github-service"), "when GitHub is well again"),
    (verdict(Cause.INTERFERENCE, "runner-contention"), "when the queue is shorter"),
]


@pytest.mark.parametrize(("held", "why"), HELPS, ids=[held.category for held, _ in HELPS])
def test_a_re_run_that_helps_is_told_once_with_its_reason(held: Verdict, why: str) -> None:
    for own in ((), (RERUN,), (RERUN, OWN)):
        read = Diagnosis("job 11", held.cause, held.category, suggestions=own, retry_helps=True)
        (one,) = reruns(told(finding(held, read)))
        assert why in one.title
        assert one.command == "gh run rerun --failed 1 -R o/r"
        assert "Start the job again." not in one.steps


def test_what_a_rule_says_of_its_re_run_is_kept_with_the_reason() -> None:
    later = Suggestion("Re-run after some minutes", Cost.LOW, ("Look at the status page if it lasts.",), RERUN.command)
    read = Diagnosis("job 11", Cause.INFRASTRUCTURE, "network", suggestions=(later,), retry_helps=True)
    (one,) = reruns(told(finding(verdict(Cause.INFRASTRUCTURE, "network"), read)))
    assert one.title == "Re-run after some minutes: such failures of a service mostly pass within minutes"
    assert one.steps == later.steps


NO = [
    (verdict(Cause.CODE, "test-failure", determinism=Determinism.DETERMINISTIC), "the same commit fails the same way"),
    (verdict(Cause.CODE, "test-failure", determinism=Determinism.DETERMINISTIC,
             reasons=(Reason(AGAIN.kind, AGAIN.id, AGAIN.quote, AGAIN.why),)), "failed again when it was run again"),
    (verdict(Cause.CONFIGURATION, "secret"), "before that is done"),
    (verdict(Cause.INTERFERENCE, "broken-trunk"), "the same merge with the broken main"),
    (verdict(Cause.INTERFERENCE, "image-update"), "before that is done"),
    (verdict(Cause.CODE, "compile", determinism=Determinism.DETERMINISTIC,
             reasons=(Reason("infrastructure", "every-runner", "4 of 4", "x"),)), "on every runner (4 of 4)"),
]  # fmt: skip


@pytest.mark.parametrize(("held", "why"), NO, ids=[f"{n} {held.category}" for n, (held, _) in enumerate(NO)])
def test_a_re_run_that_cannot_help_is_not_suggested_and_the_first_thing_says_why(held: Verdict, why: str) -> None:
    read = Diagnosis("job 11", held.cause, held.category, suggestions=(OWN, RERUN), retry_helps=False)
    advice = told(finding(held, read))
    assert not reruns(advice)
    assert why in advice[0].steps[-1]
    assert "Start the job again." not in words(advice)


def test_after_three_attempts_it_says_to_stop() -> None:
    held = verdict(Cause.INFRASTRUCTURE, "runner-lost")
    read = Diagnosis("job 11", held.cause, held.category, suggestions=(RERUN,), retry_helps=True)
    advice = told(finding(held, read, replace(BRANCH, run_attempt=3)))
    assert not reruns(advice)
    assert advice[0].title == "Stop re-running: attempt 3 failed too"


def test_only_the_job_that_a_re_run_helps_is_re_run() -> None:
    stays = finding(verdict(Cause.CODE, "compile", determinism=Determinism.DETERMINISTIC))
    lost = verdict(Cause.INFRASTRUCTURE, "runner-lost", job_id=12)
    read = Diagnosis("job 12", lost.cause, lost.category, retry_helps=True)
    other = JobFinding(job(id=12, name="docs build"), read, lost)
    (one,) = reruns(told(replace(stays, jobs=(*stays.jobs, other))))
    assert one.title == "Re-run job docs build on its own: it can pass without a change"
    assert one.command == "gh run rerun --job 12 -R o/r"


RETRY = [
    (Cause.CODE, "compile", Determinism.UNKNOWN, None, Retry.UNKNOWN),
    (Cause.CODE, "compile", Determinism.UNKNOWN, False, Retry.NO),
    (Cause.CODE, "test-failure", Determinism.FLAKY, False, Retry.HELPS),
    (Cause.CODE, "test-failure", Determinism.DETERMINISTIC, True, Retry.NO),
    (Cause.INFRASTRUCTURE, "disk-full", Determinism.DETERMINISTIC, True, Retry.HELPS),
    (Cause.INTERFERENCE, "broken-trunk", Determinism.DETERMINISTIC, True, Retry.NO),
    (Cause.INTERFERENCE, "shared-resource", Determinism.UNKNOWN, None, Retry.HELPS),
    (Cause.CANCELLED, "by-user", Determinism.UNKNOWN, True, Retry.UNKNOWN),
]


@pytest.mark.parametrize(("cause", "category", "determinism", "helps", "wanted"), RETRY)
def test_whether_a_re_run_helps(
    cause: Cause, category: str, determinism: Determinism, helps: bool | None, wanted: Retry
) -> None:
    read = Diagnosis("job 11", cause, category, retry_helps=helps)
    held = verdict(cause, category, determinism=determinism)
    assert Situation(BRANCH, held, job(), read, pull()).retry is wanted


def test_what_the_rule_knew_of_another_cause_does_not_count() -> None:
    read = Diagnosis("job 11", Cause.CODE, "compile", suggestions=(OWN,), retry_helps=False)
    held = verdict(Cause.INFRASTRUCTURE, "storage", person="mei")
    assert Situation(BRANCH, held, job(), read).retry is Retry.UNKNOWN
    advice = told(finding(held, read))
    assert OWN not in advice
    assert "mei" in words(advice)


# Order


@pytest.mark.parametrize(("cause", "category"), EVERY, ids=[category for _, category in EVERY])
def test_the_cheapest_comes_first_each_once_and_at_most_six(cause: Cause, category: str) -> None:
    held = verdict(cause, category, culprits=(CULPRIT, OTHER), merge_range=RANGE)
    own = tuple(Suggestion(f"Way {n}", list(Cost)[n % 3], (), f"run {n}") for n in range(4))
    others = tuple(
        JobFinding(job(id=20 + n), diagnosis(suggestions=own), verdict(Cause.CODE, "lint", job_id=20 + n))
        for n in range(3)
    )
    one = finding(held, Diagnosis("job 11", cause, category, suggestions=own, tests=(TEST,)))
    advice = told(replace(one, jobs=(*others, *one.jobs)))
    assert 0 < len(advice) <= MAX_SUGGESTIONS
    assert len({(s.title, s.command) for s in advice}) == len(advice)
    rest = advice[1 if cause is Cause.INTERFERENCE else 0 :]
    costs = [list(Cost).index(s.cost) for s in rest]
    assert costs == sorted(costs)


def test_the_advice_of_the_job_that_speaks_for_the_run_is_not_pushed_out_by_others() -> None:
    dear = Suggestion("Rewrite it", Cost.HIGH)
    one = finding(verdict(Cause.CODE, "compile"), diagnosis(category="compile", suggestions=(dear,)))
    others = tuple(
        JobFinding(
            job(id=20 + n),
            diagnosis(suggestions=(Suggestion(f"Way {n}"),)),
            verdict(Cause.CODE, "lint", job_id=20 + n, signature=f"s{n}"),
        )
        for n in range(9)
    )
    advice = told(replace(one, jobs=(*others, *one.jobs)))
    assert len(advice) == MAX_SUGGESTIONS
    assert advice[-1].title == "Rewrite it"


def test_the_order_of_the_other_jobs_and_repetition_change_nothing_of_the_first_advice() -> None:
    one = finding(verdict(Cause.CODE, "compile"), diagnosis(category="compile", suggestions=(OWN,)))
    twin = JobFinding(job(id=12), one.jobs[0].diagnosis, replace(one.verdict, job_id=12))
    assert told(replace(one, jobs=(one.jobs[0], twin))) == told(replace(one, jobs=(twin, one.jobs[0]))) == told(one)


# Values


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_no_name_from_outside_leaves_its_word_or_a_brace(test: str, branch: str, runner: str) -> None:
    held = verdict(Cause.CODE, "test-failure", determinism=Determinism.FLAKY)
    one = finding(held, diagnosis(tests=(f"a.py::{test}",), files=(f"d/{test}",)))
    change = pull(base_ref=branch)
    jobs = (replace(one.jobs[0], job=job(runner_name=runner)),)
    for suggestion in told(replace(one, pull_request=change, jobs=jobs)):
        assert shlex.split(suggestion.command) or not suggestion.command
        assert suggestion.command.isprintable()
        assert all(text == strip_controls(text) for text in (suggestion.title, *suggestion.steps))


def test_a_commit_that_is_none_is_not_known() -> None:
    evil = Culprit("$(reboot)", 0.9, "x", 7)
    held = verdict(Cause.INTERFERENCE, "broken-trunk", culprits=(evil,), merge_range=MergeRange("; reboot", "x"))
    assert "reboot" not in words(told(finding(held)))


# A template of one's own


def own(**given: object) -> Template:
    facts: dict[str, object] = {"id": "own", "title": "Ask Mei", "cost": Cost.LOW, "order": 1}
    return Template(**(facts | given))  # type: ignore[arg-type]


CONDITIONS = [
    (When(cause=(Cause.CODE,)), True),
    (When(cause=(Cause.CONFIGURATION,)), False),
    (When(category=("lint", "compile")), True),
    (When(rule=("pytest",)), True),
    (When(rule=("pytest.assertion",)), True),
    (When(rule=("py",)), False),
    (When(job=("unit*",)), True),
    (When(file=("tests/*",)), True),
    (When(file=("docs/*",)), False),
    (When(test=("*::test_b*",)), True),
    (When(runner=("runner-?",)), True),
    (When(workflow=("Nightly*",)), False),
    (When(event=("pull_request",)), True),
    (When(has=("pull_request", "base")), True),
    (When(has=("culprit",)), False),
    (When(lacks=("culprit",)), True),
    (When(lacks=("base",)), False),
    (When(on_base=True), False),
    (When(on_base=False), True),
    (When(advised=True), True),
    (When(hosted=True), False),
    (When(level=(Level.LOW,)), False),
    (When(min_attempt=2), False),
    (When(retry=(Retry.UNKNOWN,)), True),
]


@pytest.mark.parametrize(("when", "applies"), CONDITIONS, ids=[str(n) for n in range(len(CONDITIONS))])
def test_a_template_applies_when_all_that_it_names_holds(when: When, applies: bool) -> None:
    read = diagnosis(
        category="compile", files=("tests/test_a.py",), tests=(TEST,), suggestions=(OWN,),
        evidence=(Evidence("rule", "pytest.assertion", "E", "w", 1),),
    )  # fmt: skip
    advice = told(finding(verdict(Cause.CODE, "compile"), read), [own(when=when)])
    assert ("Ask Mei" in words(advice)) == applies


def test_a_template_that_lacks_a_value_is_left_out_and_a_step_that_does_alone() -> None:
    one = finding(verdict(Cause.CODE, "compile"))
    assert told(one, [own(title="Ask about {culprit}")]) == ()
    assert told(one, [own(command=("git show {culprit_sha}",))]) == ()
    steps = ("See {culprit}.", "See #{pull_request}.")
    (kept,) = told(one, [own(command=("git show {culprit_sha}", "git show"), steps=steps)])
    assert (kept.steps, kept.command) == (("See #100.",), "git show")


def test_of_a_group_only_the_first_that_applies_is_told() -> None:
    templates = [own(id=str(n), title=f"Way {n}", group="g", when=When(cause=c)) for n, c in
                 enumerate([(Cause.NONE,), (Cause.CODE,), (Cause.CODE,)])]  # fmt: skip
    assert [s.title for s in told(finding(verdict(Cause.CODE, "compile")), templates)] == ["Way 1"]
