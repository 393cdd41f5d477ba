"""The Markdown of a report: golden samples, and text of others that must stay text."""

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from buildeye.model import (
    CATEGORIES,
    Cause,
    Culprit,
    Evidence,
    Finding,
    JobFinding,
    KeyLine,
    LogLine,
    MergeRange,
    Reason,
    Suggestion,
)
from buildeye.reports import Language, labels, origin, render_report, table
from buildeye.reports.markdown import code, prose
from buildeye.reports.words import percent, words
from buildeye.triage.weights import packaged_weights

GOLDEN = Path(__file__).parent / "golden"
EN: Language = "en"
LANGUAGES: tuple[Language, ...] = ("en", "zh")
NASTY = st.text(
    st.one_of(st.sampled_from("`~#-<>[]()@!*_|\\&:/\n\r\t \x1b\x00\u2028\u202e\ud800'\"{}"), st.characters()),
    max_size=60,
)


def head_of(report: str) -> dict[str, Any]:
    """The front matter, as any YAML reader sees it."""
    _, head, _ = re.split(r"^---\n", report, maxsplit=2, flags=re.MULTILINE)
    values: dict[str, Any] = yaml.safe_load(head)
    return values


def tokens_of(report: str) -> list[Any]:
    """The Markdown tokens of the body, with those inside paragraphs; bare addresses and tables read as GitHub does."""
    body = report.split("\n---\n", 1)[1]
    top = MarkdownIt("commonmark", {"linkify": False}).enable("table").enable("strikethrough").parse(body)
    return [inner for token in top for inner in (token, *(token.children or ()))]


def test_there_is_a_golden_file_for_nothing_else(samples: dict[str, list[Finding]]) -> None:
    expected = {f"{name}.{language}.md" for name in samples for language in LANGUAGES}
    assert {path.name for path in GOLDEN.iterdir()} - expected == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_report_of_each_sample_reads_as_its_golden_file(
    samples: dict[str, list[Finding]], sample_name: str, language: Language, noon: datetime
) -> None:
    report = render_report(samples[sample_name], language=language, now=noon)
    golden = GOLDEN / f"{sample_name}.{language}.md"
    if os.environ.get("BLESS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(report, encoding="utf-8")
    assert report == golden.read_text(encoding="utf-8")


def test_the_order_in_which_runs_are_given_does_not_matter(samples: dict[str, list[Finding]], noon: datetime) -> None:
    runs = samples["several-runs"]
    assert render_report(runs, language=EN, now=noon) == render_report(runs[::-1], language=EN, now=noon)


def test_findings_of_two_pull_requests_are_not_one_report(finding_of: Callable[..., Finding], noon: datetime) -> None:
    with pytest.raises(ValueError, match="one pull request"):
        render_report([finding_of(pr=1), finding_of(pr=2)], language=EN, now=noon)


@pytest.mark.parametrize(
    ("confidence", "start"),
    [
        (0.95, "# PR #9829: not this change, the infrastructure failed. Disk full"),
        (0.75, "# PR #9829: probably not this change"),
        (0.55, "# PR #9829: perhaps not this change"),
        (0.45, "# PR #9829: cause unknown, a person must look"),
    ],
)
def test_a_title_claims_no_more_than_the_confidence(
    confidence: float,
    start: str,
    finding_of: Callable[..., Finding],
    job_of: Callable[..., JobFinding],
    noon: datetime,
) -> None:
    job = job_of(cause=Cause.INFRASTRUCTURE, category="disk-full", confidence=confidence)
    report = render_report([finding_of(job)], language=EN, now=noon)
    assert re.search("^# .*", report, re.MULTILINE)[0].startswith(start)  # type: ignore[index]  # there is a title


def test_a_title_that_clears_the_change_tells_of_failures_nobody_explained(
    samples: dict[str, list[Finding]], noon: datetime
) -> None:
    report = render_report(samples["interference-medium"], language=EN, now=noon)
    start, end = "# PR #9829: probably not this change. Only the leg `v0.20.2` fails", ". Also failing: 1 × unknown\n"
    assert re.search(re.escape(start) + ".*" + re.escape(end), report)


def test_a_title_does_not_clear_a_change_that_has_a_failure_of_its_own(
    finding_of: Callable[..., Finding], job_of: Callable[..., JobFinding], noon: datetime
) -> None:
    trunk = job_of(cause=Cause.INTERFERENCE, category="broken-trunk")
    own = job_of("lint", 72, cause=Cause.CODE, category="lint")
    report = render_report([finding_of(trunk, own)], language=EN, now=noon)
    assert "# PR #9829: not only this change. `main` is broken. Also failing: 1 × code\n" in report


def test_the_front_matter_is_read_back_as_it_was_meant(samples: dict[str, list[Finding]], noon: datetime) -> None:
    head = head_of(render_report(samples["several-runs"], language=EN, now=noon))
    assert head["classification"] == "code"
    assert (head["confidence"], head["confidence_value"]) == ("high", 0.94)
    assert (head["pr"], head["run_ids"], head["date"]) == (9822, [500, 501], "2026-05-28")
    assert head["retry_helps"] is False


@pytest.mark.parametrize("text", ["1e5", "1234567", "yes", "null", "2026-05-28", "0x1f", "~", "a: b", "# c", "'", "\\"])
def test_text_in_the_front_matter_stays_text(text: str, finding_of: Callable[..., Finding], noon: datetime) -> None:
    head = head_of(render_report([finding_of(head_sha=text, name=text)], language=EN, now=noon))
    assert (head["head_sha"], head["workflows"]) == (text, [text])


def test_an_excerpt_has_at_most_the_rows_asked_for_and_keeps_the_key_line(
    finding_of: Callable[..., Finding], job_of: Callable[..., JobFinding], noon: datetime
) -> None:
    lines = tuple(LogLine(number * 2, f"line {number}") for number in range(1, 200))
    job = job_of(lines=lines, key_line=KeyLine(100, "line 50"))
    report = render_report([finding_of(job)], language=EN, now=noon, max_log_lines=9)
    block = next(token.content for token in tokens_of(report) if token.type == "fence")
    assert len(block.splitlines()) <= 9
    assert "▶ 100 │ line 50" in block
    assert "⋮" in block


def test_no_excerpt_is_shown_when_none_is_asked_for(samples: dict[str, list[Finding]], noon: datetime) -> None:
    report = render_report(samples["unknown"], language=EN, now=noon, max_log_lines=0)
    assert "```" not in report


def test_a_key_line_outside_the_given_lines_is_shown_too(
    finding_of: Callable[..., Finding], job_of: Callable[..., JobFinding], noon: datetime
) -> None:
    job = job_of(lines=(LogLine(1, "start"),), key_line=KeyLine(77, "the cause"))
    assert "▶ 77 │ the cause" in render_report([finding_of(job)], language=EN, now=noon)


def test_equal_failures_of_a_matrix_are_shown_once(samples: dict[str, list[Finding]], noon: datetime) -> None:
    report = render_report(samples["infrastructure"], language=EN, now=noon)
    assert "The same failure in 2 more jobs" in report


@settings(max_examples=40, deadline=None)
@given(text=NASTY.map("{}x".format), lines=st.lists(NASTY, max_size=4))
def test_no_text_of_others_can_break_out_of_its_place(
    finding_of: Callable[..., Finding],
    job_of: Callable[..., JobFinding],
    noon: datetime,
    text: str,
    lines: list[str],
) -> None:
    def report_with(text: str, lines: list[str]) -> str:
        job = job_of(
            text,
            cause=Cause.CODE,
            category="policy",
            summary=text,
            signature=text,
            key_line=KeyLine(1, text),
            evidence=(Evidence("rule", text, text, text, 1),),
            tests=(text,),
            files=(text,),
            lines=tuple(LogLine(number, line) for number, line in enumerate(lines, 2)),
            suggestions=(Suggestion(text, steps=(text,), command="x" + "\n".join(lines)),),
            runner=text,
        )
        other = job_of("other", 72)
        return render_report([finding_of(job, other, name=text, head_sha=text)], language=EN, now=noon)

    report, calm = report_with(text, lines), report_with("calm", ["calm"])
    assert list(head_of(report)) == list(head_of(calm))
    assert _shape(report) == _shape(calm)
    report.encode()


@settings(max_examples=40, deadline=None)
@given(person=NASTY.map("{}x".format), why=NASTY.map("{}x".format))
def test_no_word_of_a_person_can_break_out_of_its_place(
    samples: dict[str, list[Finding]], noon: datetime, person: str, why: str
) -> None:
    def report_with(person: str, why: str) -> str:
        [finding] = samples["person"]
        word = replace(finding.verdict.reasons[0], quote=person, why=why)
        verdict = replace(finding.verdict, person=person, reasons=(word, *finding.verdict.reasons[1:]))
        job = replace(finding.jobs[0], verdict=verdict)
        return render_report([replace(finding, verdict=verdict, jobs=(job,))], language=EN, now=noon)

    report, calm = report_with(person, why), report_with("octocat", "it is so")
    assert list(head_of(report)) == list(head_of(calm))
    assert _shape(report) == _shape(calm)


def _shape(report: str) -> list[tuple[str, str]]:
    """What a reader could be deceived by: the blocks of the page, and everything that acts within them."""
    quiet = {"text", "code_inline", "softbreak", "inline"}
    own = ("https://github.com/vllm-project/vllm-ascend/",)
    found = []
    for token in tokens_of(report):
        if token.type in ("html_block", "html_inline", "image", "em_open", "s_open", "code_block", "hardbreak"):
            found.append((token.type, token.content))
        elif token.type == "link_open":
            assert str(token.attrGet("href")).startswith(own)
            found.append((token.type, ""))
        elif token.type == "text":
            assert "@" not in token.content
            assert "://" not in token.content
            assert not re.search(r"\bwww\.", token.content, re.IGNORECASE)
        elif token.type not in quiet:
            found.append((token.type, token.tag))
    return found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pin `numpy<2.4` now", "pin `numpy<2.4` now"),
        ("ask @octocat", "ask `@octocat`"),
        ("see https://a.example/x.", "see `https://a.example/x.`"),
        ("# not a heading", "\\# not a heading"),
        ("1. not a list", "1\\. not a list"),
        ("- not a list", "\\- not a list"),
        ("a_b and _c_", "a_b and \\_c\\_"),
        ("<b> & &amp; *x*", "\\<b> & \\&amp; \\*x\\*"),
        ("two\nlines\x1b[0m", "two lines \\[0m"),
        ("a lone ` tick", "a lone \\` tick"),
        ("`a``b`", "`a` `b`"),
        ("", ""),
    ],
)
def test_prose_shows_markup_instead_of_obeying_it(text: str, shown: str) -> None:
    assert prose(text) == shown


@pytest.mark.parametrize(("text", "span"), [("a", "`a`"), ("`a", "`` `a ``"), ("a``b", "```a``b```"), ("", "")])
def test_a_code_span_is_longer_than_any_backticks_in_it(text: str, span: str) -> None:
    assert code(text) == span


def test_both_languages_have_the_same_words_and_the_same_blanks() -> None:
    english, chinese = words("en"), words("zh")
    blanks = {key: sorted(re.findall(r"{\w+}", text)) for key, text in english.items()}
    own = {"classification", "classification.word"}  # Chinese names the cause as well as giving its word
    assert {key: sorted(re.findall(r"{\w+}", text)) for key, text in chinese.items() if key not in own} == {
        key: names for key, names in blanks.items() if key not in own
    }
    assert chinese.keys() == english.keys()
    assert all(text.strip() for text in (*english.values(), *chinese.values()))


def test_every_category_has_a_name_in_both_languages() -> None:
    wanted = {name for names in CATEGORIES.values() for name in names}
    assert labels.ENGLISH.keys() == labels.CHINESE.keys() == wanted


def _culprits(*shares: float) -> tuple[Culprit, ...]:
    return tuple(Culprit(f"{n}" * 40, share, "why", 9771 + n) for n, share in enumerate(shares))


BROKEN = Reason("history", "base-broken", "3d91e02c55aa", "the base branch failed alike", weight=3.2)
SPAN = MergeRange("e854288d8aed", "3d91e02c55aa", 4)


@pytest.mark.parametrize(
    ("told", "confidence", "says"),
    [
        ({"culprits": _culprits(0.95), "merge_range": SPAN}, 0.95, "`main` is broken since #9771"),
        ({"culprits": _culprits(0.7, 0.3), "merge_range": SPAN}, 0.95, "`main` is broken, likely since #9771"),
        ({"culprits": _culprits(0.95), "merge_range": SPAN}, 0.75, "`main` seems broken, likely since #9771"),
        ({"culprits": _culprits(0.4, 0.3), "merge_range": SPAN}, 0.95, "`main` is broken since one of 4 merges"),
        ({"merge_range": replace(SPAN, merges=1)}, 0.95, "`main` is broken, first seen at `3d91e02c55`"),
        ({"reasons": (BROKEN,)}, 0.75, "`main` seems broken, first seen at `3d91e02c55`"),
        ({"reasons": (replace(BROKEN, quote="[x](https://evil.example)"),)}, 0.95, "`main` is broken"),
        ({"culprits": (replace(_culprits(1.0)[0], pull_request=9829),)}, 0.95, "`main` is broken"),
        ({"culprits": (replace(_culprits(1.0)[0], pull_request=None),)}, 0.95, "`main` is broken since `0000000000`"),
        ({}, 0.55, "`main` seems broken"),
    ],
)
def test_a_title_says_since_when_the_trunk_is_broken_no_surer_than_that_is_known(
    told: dict[str, Any],
    confidence: float,
    says: str,
    finding_of: Callable[..., Finding],
    job_of: Callable[..., JobFinding],
    noon: datetime,
) -> None:
    job = job_of(cause=Cause.INTERFERENCE, category="broken-trunk", confidence=confidence, told=told)
    report = render_report([finding_of(job)], language=EN, now=noon)
    assert re.search(rf"^# .*this change\. {re.escape(says)}$", report, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("concurrent-merge", "`E2E-Full` run 501: a merge broke it. #9771 and #9765 together broke `main`"),
        ("interference-medium", "PR #9829: probably not this change. Only the leg `v0.20.2` fails, here and"),
        ("image-update", "PR #9860: not this change. The image moved: `quay.io/ascend/cann sha256:0a"),
        ("upstream-change", "`E2E-Full` run 501: it probably came from outside. Moved since it last passed: `numpy"),
        ("runner-contention", "PR #9861: not this change. Jobs waited 48 min for `linux-aarch64-a3-4`"),
        ("infrastructure", "PR #9830: not this change, the infrastructure failed. Runner `a3-4-07` is sick"),
        ("flaky", "PR #9850: probably flaky. `test_stream` fails; the job passed in attempt 1"),
        ("merged", "`E2E-Full` run 501: the code probably needs a fix. Since #9771 was merged: `test"),
    ],
)  # fmt: skip
def test_a_title_names_where_a_failure_came_from(
    name: str, title: str, samples: dict[str, list[Finding]], noon: datetime
) -> None:
    report = render_report(samples[name], language=EN, now=noon)
    assert f"\n# {title}" in report, re.findall("^# .*", report, re.MULTILINE)


def test_reasons_for_and_against_are_told_apart_weightiest_first_and_weak_ones_are_not_told(
    samples: dict[str, list[Finding]], noon: datetime
) -> None:
    report = render_report(samples["interference"], language=EN, now=noon)
    weights = [float(weight) for weight in re.findall(r"\(([-+]\d\.\d)\)$", report, re.MULTILINE)]
    assert weights == [3.2, 1.0, 0.9, 0.4, -1.5]
    assert report.index("**Speaks against it:**") > report.index("(+0.4)")
    assert "- **Otherwise:** code 8 %\n" in report


def test_the_samples_have_only_evidence_that_judges_give(samples: dict[str, list[Finding]]) -> None:
    reasons = [r for told in samples.values() for finding in told for job in finding.jobs for r in job.verdict.reasons]
    weighed = {reason.id for reason in reasons if reason.weight}
    assert weighed <= packaged_weights().evidence.keys()


def test_titles_ask_for_evidence_that_judges_give() -> None:
    source = inspect.getsource(origin) + inspect.getsource(table)
    asked = set(re.findall(r'speaking\([^")]*((?:"[a-z-]+"(?:, )?)+)', source))
    ids = {name for group in asked for name in re.findall(r'"([a-z-]+)"', group)} | {
        name for names in table.ABOUT.values() for name in names
    }
    assert len(ids) > 10
    assert ids <= packaged_weights().evidence.keys()


@pytest.mark.parametrize(("probability", "told"), [(0.995, "99"), (1.0, "100"), (0.904, "90"), (0.0, "0")])
def test_no_probability_below_one_is_told_as_a_hundred_percent(probability: float, told: str) -> None:
    assert percent(probability) == told
