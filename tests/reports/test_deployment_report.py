"""The report of a deployment that went bad: golden samples, one file, and text of others that stays text."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from buildeye.model import OutsideError
from buildeye.model.deployments import HealthVerdict, SignalKind, SignalStatus, State
from buildeye.reports import Language
from buildeye.reports.deployment import (
    MOST_EVENTS,
    REPORTED,
    render_deployment,
    write_deployment_report,
)
from buildeye.reports.deploymentclaim import DeploymentTold
from buildeye.reports.deploywords import BECAUSE, deploy_words
from buildeye.reports.paths import deployment_file

from .deployment_samples import HOSTILE, NOON, SAMPLES, SECRET, a_deployment, at, rolled_back, steps

GOLDEN = Path(__file__).parent / "golden_deployments"
LANGUAGES: tuple[Language, ...] = ("en", "zh")


def head_of(report: str) -> dict[str, Any]:
    _, head, _ = re.split(r"^---\n", report, maxsplit=2, flags=re.MULTILINE)
    values: dict[str, Any] = yaml.safe_load(head)
    return values


def title_of(report: str) -> str:
    return str(re.findall(r"^# (.*)$", report, re.MULTILINE)[0])


def test_there_is_a_golden_file_for_nothing_else() -> None:
    expected = {f"{name}.{language}.md" for name in SAMPLES for language in LANGUAGES}
    assert {path.name for path in GOLDEN.iterdir()} - expected == set()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SAMPLES)
def test_the_report_of_each_sample_reads_as_its_golden_file(name: str, language: Language) -> None:
    report = render_deployment(SAMPLES[name](), language=language, now=NOON)
    golden = GOLDEN / f"{name}.{language}.md"
    if os.environ.get("BLESS"):
        golden.write_text(report, encoding="utf-8")
    assert report == golden.read_text(encoding="utf-8")


TITLES = [
    ("rolled-back", "web v142: rolled back to v141 after 3 failed health checks"),
    ("rate-fell", "web v142: being rolled back to v141 after only 3 of 8 tasks were approved"),
    ("health-failed", "web v142: never became healthy, it got no requests: it ended with code 1 after 0.4 s"),
    ("rollback-failed", "web v142: still serves although it is bad, v141 could not take over: 2 crashes"),
    ("needs-attention",
     "web v142: a person must look, it stays in service: both versions fail their health checks"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "title"), TITLES)
def test_the_title_answers_first(name: str, title: str) -> None:
    assert title_of(render_deployment(SAMPLES[name](), now=NOON)) == title


def test_what_a_person_took_back_is_told_in_that_persons_words_and_blames_no_signal() -> None:
    waits = HealthVerdict(SignalStatus.INSUFFICIENT, "no-tasks", "6 of 6 approved")
    deployment = a_deployment(State.ROLLED_BACK, rollback_reason="too slow for customers")
    report = render_deployment(
        replace(rolled_back(), deployment=deployment, signals={SignalKind.RATE: waits}), now=NOON
    )
    assert title_of(report) == "web v142: rolled back to v141: too slow for customers"
    assert head_of(report)["signal"] is None and "too slow for customers." in report


def test_a_rate_is_told_by_where_it_crossed_not_by_where_it_went_on_to() -> None:
    numbers = {"approved": 9, "judged": 20, "at": [3, 8]}
    fell = HealthVerdict(SignalStatus.FAIL, "rate-fell", "3 of 8 approved, was 45 of 50", numbers)
    report = render_deployment(replace(rolled_back(), signals={SignalKind.RATE: fell}), now=NOON)
    assert title_of(report) == "web v142: rolled back to v141 after only 3 of 8 tasks were approved"


@pytest.mark.parametrize("state", sorted(REPORTED))
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_state_that_has_a_report_has_one_without_any_signal_or_log(state: State, language: Language) -> None:
    report = render_deployment(DeploymentTold(a_deployment(state)), language=language, now=NOON)
    assert head_of(report)["outcome"] == state and title_of(report)


@pytest.mark.parametrize("state", sorted(set(State) - REPORTED))
def test_a_deployment_that_did_not_go_bad_has_none(state: State) -> None:
    with pytest.raises(ValueError, match="has no report"):
        render_deployment(DeploymentTold(a_deployment(state)), now=NOON)


@pytest.mark.parametrize("reason", [*BECAUSE, "never-heard-of", "summary.never"])
def test_a_reason_whose_numbers_are_not_there_is_told_in_the_judges_words(reason: str) -> None:
    bad = HealthVerdict(SignalStatus.FAIL, reason, "it is bad {in_a_row}")
    title = title_of(render_deployment(replace(rolled_back(), signals={SignalKind.HTTP: bad}), now=NOON))
    assert title.startswith("web v142: rolled back to v141") and "{" not in title.replace("{in_a_row}", "")


def test_both_languages_have_the_same_words() -> None:
    english, chinese = deploy_words("en"), deploy_words("zh")
    fields = {key: sorted(re.findall(r"\{\w+", text)) for key, text in english.items()}
    assert fields == {key: sorted(re.findall(r"\{\w+", text)) for key, text in chinese.items()}


def test_a_long_timeline_shows_its_beginning_and_its_end() -> None:
    events = steps(*[(float(i), f"note_{i}", State.MONITORING, f"note {i}") for i in range(200)])
    report = render_deployment(replace(rolled_back(), events=events), now=NOON)
    assert "| note 0 |" in report and "| note 199 |" in report and "note 100" not in report
    assert f"{200 - MOST_EVENTS} …" in report


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_others_wrote_stays_text(language: Language) -> None:
    report = render_deployment(SAMPLES["hostile"](), language=language, now=NOON)
    assert SECRET[4:] not in report and "\x1b" not in report and "\u202e" not in report
    body = report.split("\n---\n", 1)[1]
    tokens = MarkdownIt("commonmark", {"linkify": False}).enable("table").parse(body)
    inner = [each for token in tokens for each in (token, *(token.children or ()))]
    assert not [each for each in inner if each.type in ("html_block", "html_inline", "link_open")]
    assert len([each for each in tokens if each.type == "heading_open" and each.tag == "h1"]) == 1
    assert head_of(report)["service"]


@given(text=st.text(max_size=80))
@settings(max_examples=40, deadline=None)
def test_no_text_breaks_the_report(text: str) -> None:
    bad = HealthVerdict(SignalStatus.FAIL, "http-down", text, {"in_a_row": text, text: text})
    deployment = a_deployment(State.ROLLED_BACK, service=text, version=text, commit=text, id=text or "x")
    told = DeploymentTold(deployment, text, {SignalKind.HTTP: bad}, None, steps((1, text, State.MONITORING, text)))
    report = render_deployment(told, now=NOON)
    assert head_of(report)["classification"] == "deployment"
    heads = [token for token in MarkdownIt("commonmark").parse(report.split("\n---\n", 1)[1]) if token.tag == "h1"]
    assert len(heads) == 2  # its opening and its end


def test_the_same_deployment_is_the_same_file_and_the_same_again_writes_nothing(tmp_path: Path) -> None:
    first = write_deployment_report(rolled_back(), tmp_path, now=NOON)
    path = tmp_path / first[0]
    before = path.stat().st_mtime_ns
    again = write_deployment_report(rolled_back(), tmp_path, now=NOON + timedelta(hours=1))
    assert str(first[0]) == "2026/12/01/deployment-web-v142-4f1c2ab0-7d1e.md"
    assert (first, again) == ((first[0], True), (first[0], False))
    assert path.stat().st_mtime_ns == before


def test_what_became_of_it_replaces_what_was_told(tmp_path: Path) -> None:
    under_way = replace(rolled_back(), deployment=a_deployment(State.ROLLING_BACK, closed=None))
    path, _ = write_deployment_report(under_way, tmp_path, now=NOON)
    assert write_deployment_report(rolled_back(), tmp_path, now=NOON) == (path, True)
    assert head_of((tmp_path / path).read_text())["outcome"] == "rolled_back"
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [tmp_path / path]


def test_a_report_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "2026").write_text("a file where a folder should be")
    with pytest.raises(OutsideError, match=r"the report of web cannot be written to .*; check its rights"):
        write_deployment_report(rolled_back(), tmp_path, now=NOON)


@pytest.mark.parametrize(
    "change",
    [
        lambda: a_deployment(State.ROLLED_BACK, service="../../etc/passwd"),
        lambda: a_deployment(State.ROLLED_BACK, version="a/b\\c\x00"),
        lambda: a_deployment(State.ROLLED_BACK, id="../x"),
        lambda: a_deployment(State.ROLLED_BACK, service=HOSTILE, version=HOSTILE, id="9" * 500),
    ],
)
def test_no_name_leads_out_of_the_folder(change: Callable[[], Any]) -> None:
    path = deployment_file(replace(change(), created=at(0)))
    assert re.fullmatch(r"2026/12/01/deployment-[a-z0-9-]{1,200}\.md", str(path))
