"""The comment on a pull request: golden samples, hostile text, and what fits."""

import dataclasses
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from buildeye.model import Cause, Finding, KeyLine, Suggestion
from buildeye.reports import Language
from buildeye.reports.comment import LARGEST_COMMENT, LARGEST_SUMMARY, MARKER, render_check, render_comment
from buildeye.reports.commentwords import comment_words
from tests.reports.comment_samples import (
    comment_samples,
    crowd,
    pull_request_finding,
    unjudged,
)
from tests.reports.conftest import make_finding, make_job
from tests.reports.test_report_text import LANGUAGES, NASTY

GOLDEN = Path(__file__).parent / "golden_comments"
REPORT = "https://github.com/octo/archive/blob/main/reports/2026/05/28/code-pr-9829.md"
NAMES = (
    "mixed", "change", "change-low", "others", "others-mixed", "outside", "unknown", "waiting", "stopped", "passed",
    "so-far", "newer-commit", "hostile",
)  # fmt: skip


def tokens_of(comment: str) -> list[Any]:
    """The Markdown tokens of a comment, with those inside paragraphs."""
    top = MarkdownIt("commonmark", {"linkify": False}).enable("table").enable("strikethrough").parse(comment)
    return [inner for token in top for inner in (token, *(token.children or ()))]


def prose_of(comment: str) -> str:
    """What GitHub looks for names, numbers and addresses in: text and HTML, not code."""
    return "\n".join(
        token.content for token in tokens_of(comment) if token.type in ("text", "html_inline", "html_block")
    )


def test_there_is_a_golden_comment_for_every_sample_and_nothing_else(samples: dict[str, list[Finding]]) -> None:
    assert set(comment_samples(samples)) == set(NAMES)
    expected = {f"{name}.{language}.md" for name in NAMES for language in LANGUAGES}
    assert {path.name for path in GOLDEN.iterdir()} == expected or os.environ.get("BLESS")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_the_comment_on_each_sample_reads_as_its_golden_file(
    samples: dict[str, list[Finding]], name: str, language: Language
) -> None:
    url = "" if name in ("passed", "so-far") else REPORT
    comment = render_comment(comment_samples(samples)[name], report_url=url, language=language)
    golden = GOLDEN / f"{name}.{language}.md"
    if os.environ.get("BLESS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(comment, encoding="utf-8")
    assert comment == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_check_says_in_its_title_what_the_comment_says_first(samples: dict[str, list[Finding]], name: str) -> None:
    finding = comment_samples(samples)[name]
    check, comment = render_check(finding), render_comment(finding)
    assert comment.startswith(f"{MARKER}\n\n### {check.title}\n")
    assert MARKER not in check.summary


@pytest.mark.parametrize(
    ("name", "conclusion"),
    [
        ("change", "failure"),
        ("mixed", "failure"),
        ("others", "neutral"),
        ("outside", "neutral"),
        ("unknown", "neutral"),
        ("stopped", "neutral"),
        ("so-far", "neutral"),
        ("passed", "success"),
    ],
)
def test_a_check_fails_only_for_what_looks_like_this_change(
    samples: dict[str, list[Finding]], name: str, conclusion: str
) -> None:
    assert render_check(comment_samples(samples)[name]).conclusion == conclusion


def test_the_order_of_runs_and_jobs_does_not_matter() -> None:
    runs = crowd(25)
    finding = pull_request_finding(*runs)
    mixed = [dataclasses.replace(run, jobs=run.jobs[::-1]) for run in finding.runs]
    random.Random(5).shuffle(mixed)
    other = dataclasses.replace(finding, runs=tuple(mixed))
    assert render_comment(other) == render_comment(finding)


def test_equal_failures_of_many_jobs_are_one_line_that_names_them() -> None:
    jobs = [make_job(f"e2e / shard {n}", 70 + n, cause=Cause.CODE, category="lint", signature="same") for n in range(9)]
    comment = render_comment(pull_request_finding(make_finding(*jobs)))
    assert comment.startswith(f"{MARKER}\n\n### 1 failure looks like this change\n")
    assert comment.count("\n- ") == 1
    assert "and 8 more jobs (" in comment and "and 3 more)" in comment


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("largest", [LARGEST_COMMENT, 9_000, 2_500, 700])
def test_a_comment_is_never_longer_than_allowed_and_counts_what_it_leaves_out(language: Language, largest: int) -> None:
    comment = render_comment(pull_request_finding(*crowd(300)), largest=largest, report_url=REPORT, language=language)
    assert len(comment.encode("utf-16-le")) // 2 <= largest
    shown = comment.count("\n- ")
    left_out = comment_words(language)["left-out.many"].format(count=300 - shown)
    assert left_out in comment
    assert REPORT in comment


def test_what_looks_like_this_change_is_left_out_last() -> None:
    comment = render_comment(pull_request_finding(*crowd(50)), largest=6_000)
    assert "#### Looks like this change" in comment
    assert "<details>" not in comment


def test_the_summary_of_a_check_fits() -> None:
    assert len(render_check(pull_request_finding(*crowd(300)), language="zh").summary) <= LARGEST_SUMMARY


def test_text_of_logs_calls_nobody_and_refers_to_nothing() -> None:
    hostile = "@octocat fixes #77 and octo/widgets#78, GH-79, see https://evil.example www.evil.example </details> <b>"
    job = make_job(
        hostile, cause=Cause.CODE, category="test-failure", summary=hostile, suggestions=(Suggestion(hostile),)
    )
    told = make_job(
        hostile, 72, cause=Cause.CODE, category="x@octocat #80", key_line=KeyLine(1, hostile), tests=(hostile,)
    )
    comment = render_comment(pull_request_finding(make_finding(job, told, name=hostile)))
    said = prose_of(comment)
    assert not re.search(r"@|evil", said)
    assert {token.content for token in tokens_of(comment) if token.type == "html_inline"} == {"<br>", "<sub>", "</sub>"}
    assert re.findall(r"(?:#|GH-)\d+", said) == []


def test_a_secret_that_reached_the_warehouse_is_not_posted() -> None:
    token = "ghp_" + "a1B2" * 9
    line = f"curl -H 'authorization: Bearer {token}'"
    job = make_job(f"deploy {token}", cause=Cause.CODE, category="x", key_line=KeyLine(1, line), tests=(line,))
    finding = pull_request_finding(make_finding(job, suggestions=(Suggestion(line, command=line),), name=token))
    assert token not in render_comment(finding) + render_check(finding).summary


def test_a_log_that_holds_our_mark_cannot_begin_a_comment() -> None:
    job = make_job(MARKER, cause=Cause.CODE, category="x", key_line=KeyLine(1, MARKER), summary=MARKER)
    assert re.findall(f"^{MARKER}", render_comment(pull_request_finding(make_finding(job))), re.MULTILINE) == [MARKER]


PIECES = st.sampled_from(["#1", "GH-2", "`", "``", " ", "o/r#3", "@o", "</details>", "https://x.example"])
OTHERS = st.lists(st.one_of(NASTY, PIECES), max_size=12).map("".join)


@given(text=OTHERS, other=OTHERS)
@settings(max_examples=150, deadline=None)
def test_no_text_of_others_makes_markup(text: str, other: str) -> None:
    advice = Suggestion(other, steps=(text,), command=text)
    jobs = [
        make_job(
            text, 71, cause=Cause.CODE, category="x", key_line=KeyLine(1, other), tests=(text,), suggestions=(advice,)
        ),
        make_job(other, 72, cause=Cause.INFRASTRUCTURE, category=text, summary=other, runner=text, signature="2"),
        make_job(other, 73, cause=Cause.UNKNOWN, summary=text, signature="3"),
    ]
    comment = render_comment(pull_request_finding(make_finding(*jobs, name=text)))
    assert not re.search(r"@|://|#\d|GH-\d", prose_of(comment), re.IGNORECASE)
    kinds = [token.type for token in tokens_of(comment)]
    plain = render_comment(pull_request_finding(make_finding(*map(_harmless, jobs), name="w"))).replace(MARKER, "")
    assert kinds.count("list_item_open") == 3
    assert kinds.count("html_block") == [t.type for t in tokens_of(MARKER + "\n\n" + plain)].count("html_block")
    assert {token.tag for token in tokens_of(comment) if token.type == "heading_open"} == {"h3", "h4"}
    assert {token.content for token in tokens_of(comment) if token.type == "html_inline"} <= {"<br>", "<sub>", "</sub>"}
    for link in (token for token in tokens_of(comment) if token.type == "link_open"):
        assert link.attrs["href"].startswith("https://github.com/vllm-project/vllm-ascend/actions/")


def _harmless(job: Any) -> Any:
    return make_job("j", job.job.id, cause=job.verdict.cause, category="lint", signature=str(job.job.id))


def test_a_failure_nobody_judged_says_so_and_who_will() -> None:
    comment = render_comment(pull_request_finding(make_finding(unjudged())))
    assert "### Not judged yet: 1 failure" in comment
    assert "Not judged yet." in comment and "The next pass of Build-Eye judges" in comment
    assert "%" not in comment


def test_both_languages_have_the_same_phrases_with_the_same_blanks() -> None:
    english, chinese = comment_words("en"), comment_words("zh")
    assert english.keys() == chinese.keys()
    for key, phrase in english.items():
        blanks = set(re.findall(r"\{\w+\}", phrase))
        assert blanks - {"{count}"} == set(re.findall(r"\{\w+\}", chinese[key])) - {"{count}"}, key
