"""What is read from JUnit reports: the dialects, what is broken, what is hostile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.model import Case, Outcome
from buildeye.testresults import Report
from buildeye.testresults.dialect import LONGEST_TEXT, seconds

from .dialects import DIALECTS, Dialect, Row


def read(xml: str | bytes) -> tuple[list[Case], str]:
    report = Report([xml if isinstance(xml, bytes) else xml.encode()])
    return list(report), report.trouble


def row(case: Case) -> Row:
    return case.name, case.classname, case.file, case.seconds, str(case.result)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_every_dialect_is_read_whole(dialect: Dialect) -> None:
    cases, trouble = read(dialect.xml)
    assert [row(case) for case in cases] == list(dialect.cases)
    assert trouble == ""
    assert [case.ordinal for case in cases] == list(range(len(cases)))


@given(st.sampled_from(sorted(DIALECTS)), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_how_the_bytes_arrive_changes_nothing(name: str, sizes: list[int]) -> None:
    data = DIALECTS[name].xml.encode()
    chunks, at, turn = [], 0, 0
    while at < len(data):
        chunks.append(data[at : at + sizes[turn % len(sizes)]])
        at, turn = at + sizes[turn % len(sizes)], turn + 1
    assert list(Report(chunks)) == list(Report([data]))


@given(st.sampled_from(sorted(DIALECTS)), st.floats(0, 1))
def test_a_truncated_report_gives_the_cases_that_ended_before(name: str, share: float) -> None:
    data = DIALECTS[name].xml.encode()
    cut = Report([data[: int(len(data) * share)]])
    whole, kept = list(Report([data])), list(cut)
    assert kept == whole[: len(kept)]
    assert cut.trouble or kept == whole


def test_what_a_test_said_is_kept_with_its_kind() -> None:
    (heals, broken, off), _ = read(DIALECTS["Surefire with re-runs"].xml)
    assert heals.reruns == (
        Outcome("expected: 1", "AssertionFailedError at RetryTest.java:9", "AssertionFailedError"),
        Outcome("", "IOException", "IOException"),
    )
    assert (broken.failures[0].text, broken.reruns[0].text) == ("first", "second")
    assert off.skips == (Outcome("JIRA-1"),)


@pytest.mark.parametrize(
    ("xml", "kept", "trouble"),
    [
        ("<testsuite><testcase name='a'/><testcase name='b'><failure>tru", 1, "it ends too early"),
        ("<testsuite><testcase name='a'/>\n<testcase name='b'></testsuite>", 1, "line 2 (mismatched tag)"),
        ("<testsuite><testcase name='a'/><testcase name='b'>a < b</testcase></testsuite>", 1, "the one it broke in"),
        ("<testsuite><testcase name='a'/></testsuite><testsuite/>", 1, "junk after document element"),
        ("", 0, "it is no JUnit report: it ends too early"),
        ("ok", 0, "it is no JUnit report: syntax error"),
        ("<coverage line-rate='1'/>", 0, "it is no JUnit report: its root is <coverage>"),
        ("<test-run id='0'/>", 0, "a report of NUnit, have it converted"),
        ("<?xml version='1.0' encoding='klingon'?><testsuite/>", 0, "encoding"),
        ("<!DOCTYPE t [<!ENTITY a 'b'>]><testsuite><testcase name='&a;'/></testsuite>", 0, "it has a DTD"),
        ("<!DOCTYPE t SYSTEM 'file:///etc/passwd'><testsuite/>", 0, "it has a DTD"),
        ("<testsuite>" + "<a>" * 200, 0, "nested deeper than 100"),
    ],
)
def test_a_report_that_breaks_says_where_and_gives_what_stood_before(xml: str, kept: int, trouble: str) -> None:
    cases, said = read(xml)
    assert len(cases) == kept
    assert trouble in said


@pytest.mark.parametrize(
    ("xml", "name", "text"),
    [
        (b"<testsuite><testcase name='a\x1b[31m'><failure>\x00red\x08\xff</failure></testcase></testsuite>", "a[31m",
         "red\ufffd"),
        (b"<testsuite><testcase name='&#x1b;a&#55296;'><failure>&#0;&#65;</failure></testcase></testsuite>",
         "\ufffda\ufffd", "\ufffdA"),
        ("\ufeff  <?xml version='1.0'?><testsuite><testcase name='é'><failure>\uffff</failure></testcase></testsuite>"
         .encode(), "é", "\ufffd"),
        ("<?xml version='1.0' encoding='UTF-16'?><testsuite><testcase name='é'><failure>漢</failure></testcase>"
         "</testsuite>".encode("utf-16"), "é", "漢"),
        ("<?xml version='1.0' encoding='windows-1252'?><testsuite><testcase name='é'><failure>”</failure></testcase>"
         "</testsuite>".encode("cp1252"), "é", "”"),
    ],
)  # fmt: skip
def test_characters_that_xml_forbids_cost_nothing_but_themselves(xml: bytes, name: str, text: str) -> None:
    cases, trouble = read(xml)
    assert (cases[0].name, cases[0].failures[0].text, trouble) == (name, text, "")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.5", 1.5), ("1,234.5", 1234.5), ("1,234,567.25", 1234567.25), ("0,25", 0.25), ("1e-05", 1e-05), ("2s", 2.0),
        ("", 0.0), ("-1", 0.0), ("NaN", 0.0), ("inf", 0.0), ("1e99", 366 * 86400.0), ("soon", 0.0), (" 3 ", 3.0),
        ("1\u202f234,5", 1234.5),
    ],
)  # fmt: skip
def test_times_are_read_as_people_write_them(text: str, number: float) -> None:
    assert seconds(text) == number


def test_long_text_keeps_its_beginning_and_its_end() -> None:
    body = "begin " + "x" * 500_000 + " end"
    (case,), _ = read(f"<testsuite><testcase name='a'><failure message='m'>{body}</failure></testcase></testsuite>")
    text = case.failures[0].text
    assert len(text) <= LONGEST_TEXT
    assert text.startswith("begin ") and text.endswith(" end") and "[…]" in text


def test_a_case_with_countless_failures_keeps_a_hundred() -> None:
    (case,), _ = read("<testsuite><testcase name='a'>" + "<failure/>" * 5000 + "</testcase></testsuite>")
    assert len(case.failures) == 100
