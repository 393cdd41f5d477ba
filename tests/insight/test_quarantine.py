"""The quarantine list: a file people edit too, of which nothing is lost when the program changes it."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.insight.flaky import CommitCounts, FlakyCase, FlakySettings, judge_flaky
from buildeye.insight.quarantine import (
    Entry,
    Quarantine,
    added,
    checked,
    parsed,
    read_quarantine,
    removed,
    wanted_cases,
    write_quarantine,
)
from buildeye.model import OutsideError, UsageError

TODAY = date(2026, 12, 1)
TEXT = """\
# Ask the build group before you add one.

tests:
# the port is taken now and then
- id: tests/test_b.py::test_b   # see 12
  why: "port 80: taken"
  since: 2026-11-01
  until: 2026-12-15

- id: tests/test_d.py::test_d
  why: slow
  since: 2026-11-02
  until: 2026-11-30
# nothing below
"""


def entry(id: str = "tests/test_a.py::test_a", why: str = "why", days: int = 10) -> Entry:
    return Entry(id, why, TODAY, TODAY + timedelta(days=days))


def test_a_file_is_read_sorted_whatever_its_order() -> None:
    read = parsed(TEXT)
    assert [each.id for each in read.entries] == ["tests/test_b.py::test_b", "tests/test_d.py::test_d"]
    assert read.entries[0] == Entry("tests/test_b.py::test_b", "port 80: taken", date(2026, 11, 1), date(2026, 12, 15))
    assert [each.is_expired(TODAY) for each in read.entries] == [False, True]


def test_an_entry_holds_to_the_end_of_its_last_day() -> None:
    assert not entry(days=0).is_expired(TODAY)
    assert entry(days=0).is_expired(TODAY + timedelta(days=1))


@pytest.mark.parametrize(
    ("id", "before"), [("a", "# the port"), ("tests/test_c.py::c", "- id: tests/test_d"), ("z", "# nothing")]
)
def test_an_entry_is_added_in_order_and_every_other_line_stays(id: str, before: str) -> None:
    text = added(parsed(TEXT), entry(id))
    lines = text.splitlines()
    at = lines.index(f"- id: {id}")
    assert lines[at : at + 4] == [f"- id: {id}", "  why: why", "  since: 2026-12-01", "  until: 2026-12-11"]
    assert [*lines[:at], *lines[at + 4 :]] == TEXT.splitlines()
    assert lines[at + 4].startswith(before) or lines[at + 5].startswith(before)


def test_an_entry_is_removed_with_the_comment_above_it_and_every_other_line_stays() -> None:
    text = removed(parsed(TEXT), "tests/test_b.py::test_b")
    assert text == TEXT.replace(TEXT[TEXT.index("# the port") : TEXT.index("\n- id: tests/test_d")], "")
    assert removed(parsed(text), "tests/test_d.py::test_d").splitlines() == [
        "# Ask the build group before you add one.", "", "tests:", "", "# nothing below",
    ]  # fmt: skip


def test_the_first_entry_makes_the_file_and_the_comments_of_an_empty_one_stay() -> None:
    assert parsed(added(Quarantine(), entry())).entries == (entry(),)
    kept = added(parsed("# ours\ntests: []\n"), entry())
    assert kept.startswith("# ours\ntests:\n- id: ") and parsed(kept).entries == (entry(),)


def test_a_list_with_spaces_before_its_dashes_keeps_them() -> None:
    indented = "tests:\n  - id: b\n    why: x\n    since: 2026-11-01\n    until: 2026-12-01"
    text = added(parsed(indented), entry("c"))
    assert "\n  - id: c\n    why: why\n" in text
    assert len(parsed(added(parsed(text), entry("a"))).entries) == 3


def test_a_list_in_brackets_is_not_changed() -> None:
    brackets = "tests: [{id: b, why: x, since: 2026-11-01, until: 2026-12-01}]\n"
    with pytest.raises(UsageError, match="by hand"):
        added(parsed(brackets), entry())
    with pytest.raises(UsageError, match="by hand"):
        removed(parsed(brackets), "b")


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp", "Cn", "Co")), min_size=1)


@settings(deadline=None)
@given(st.dictionaries(WORDS.filter(lambda text: text.strip() == text != ""), WORDS, max_size=5), st.data())
def test_what_was_added_is_there_and_what_was_removed_is_gone(wanted: dict[str, str], data: st.DataObject) -> None:
    known = parsed("# head\n")
    entries = {id: entry(id, " ".join(why.split()) or "x") for id, why in wanted.items()}
    for each in entries.values():
        known = parsed(added(known, each))
    assert known.entries == tuple(sorted(entries.values(), key=lambda each: each.id))
    for id in data.draw(st.permutations(list(entries))):
        known = parsed(removed(known, id))
        entries.pop(id)
        assert set(known.entries) == set(entries.values())
    assert "# head" in known.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tests:\n- id: a\n", "line 2: an entry has id, why, since and until"),
        (TEXT + "- id: a\n  why: b\n  since: x\n  until: 2026-12-01\n", "since is a day"),
        (TEXT + "- id: a\n  why: b\n  since: 2026-12-01 10:00:00\n  until: 2026-12-01\n", "since is a day"),
        (TEXT + "- id: 7\n  why: b\n  since: 2026-12-01\n  until: 2026-12-01\n", "id is a text"),
        (TEXT + "- id: a\n  why: ''\n  since: 2026-12-01\n  until: 2026-12-01\n", "why is a text"),
        (TEXT + TEXT[TEXT.index("- id: tests/test_d") :], "there twice"),
        ("- id: a\n", "one key, tests"),
        ("tests: yes\n", "one key, tests"),
        ("tests:\n- a\n", "an entry has"),
        ("tests: [\n", "not valid YAML"),
        ("tests: []\nmore: 1\n", "one key, tests"),
    ],
)
def test_a_broken_list_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parsed(text)


def test_what_makes_no_sense_is_not_added_or_removed() -> None:
    for wrong in (entry(days=-1), entry(why=" "), entry("tests/test_b.py::test_b")):
        with pytest.raises(UsageError):
            added(parsed(TEXT), wrong)
    with pytest.raises(UsageError, match=r"did you mean tests/test_b\.py::test_b"):
        removed(parsed(TEXT), "test_b")


def test_a_file_is_replaced_whole_keeps_its_rights_and_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "config" / "quarantine.yaml"
    assert read_quarantine(place) == Quarantine()
    write_quarantine(place, TEXT)
    place.chmod(0o664)
    write_quarantine(place, added(parsed(TEXT), entry()))
    assert len(read_quarantine(place).entries) == 3
    assert place.stat().st_mode & 0o777 == 0o664
    assert [each.name for each in place.parent.iterdir()] == ["quarantine.yaml"]


def test_a_place_that_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutsideError, match="cannot be written"):
        write_quarantine(tmp_path / "file" / "below", TEXT)
    with pytest.raises(UsageError, match="cannot be read"):
        read_quarantine(tmp_path)


def a_case(letters: str, file: str = "tests/test_a.py", classname: str = "tests.test_a") -> FlakyCase:
    commits = [
        CommitCounts(f"{n}", datetime(2026, 11, 1, n, tzinfo=UTC), "main",
                     passed=letter == "O", failed=letter == "X", mixed=letter == "F")
        for n, letter in enumerate(letters)
    ]  # fmt: skip
    return FlakyCase(file, classname, "test_a", judge_flaky(commits, FlakySettings(least_clean=3, doubt=0.5)))


@pytest.mark.parametrize(
    ("letters", "days", "standing"),
    [
        ("OOFO", 10, "holds"),
        ("FOOO", 10, "recovered"),
        ("OOO", 10, "recovered"),
        ("OO", 10, "holds"),
        ("XXX", 10, "holds"),
        ("OOFO", -1, "expired"),
        ("FOOO", -1, "expired"),
        (None, 10, "gone"),
        (None, -1, "expired"),
    ],
)
def test_an_entry_is_due_when_its_last_day_is_over_or_the_test_has_recovered(
    letters: str | None, days: int, standing: str
) -> None:
    cases = [a_case(letters)] if letters else []
    (told,) = checked([entry(days=days)], cases, TODAY, FlakySettings(least_clean=3))
    assert (told.standing, told.standing.is_due) == (standing, standing in ("expired", "recovered"))


def test_an_entry_means_its_test_also_in_reports_that_name_no_file() -> None:
    (told,) = checked([entry()], [a_case("OOFO", file="")], TODAY, FlakySettings(least_clean=3))
    assert told.standing == "holds"
    assert wanted_cases([entry()]) == (("", "tests/test_a.py"), ("test_a", "tests/test_a.py::test_a"))
    assert Quarantine((entry(),)).of_case("", "tests.test_a", "test_a") == entry()
    assert Quarantine((entry(),)).of_case("", "tests.test_b", "test_a") is None
    assert Quarantine((entry(),)).of("x") is None and replace(entry(), why="y") != entry()
