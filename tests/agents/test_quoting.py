"""Texts of strangers, made fit for an agent."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.mcp.quoting import LONGEST_TEXT, LONGEST_TOLD, fitting, plain, plain_text, quoted, told

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (None, None), (True, True), (7, 7), (0.5, 0.5), (float("nan"), "NaN"), (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"), ("a\x1b[31mb\x00c\u202ed", "abcd"), ("a\r\nb\tc", "a\nb\tc"),
        (f"x {TOKEN}", "x ghp_***"),
        ({1: (2, {3})}, {"1": [2, [3]]}), (b"\xff", "\ufffd"), (Decimal("1.50"), "1.50"),
        (datetime(2026, 5, 28, tzinfo=UTC), "2026-05-28T00:00:00+00:00"), (date(2026, 5, 28), "2026-05-28"),
        ({f"{TOKEN}": 1}, {"ghp_***": 1}),
    ],
)  # fmt: skip
def test_a_value_becomes_what_json_holds(value: Any, made: Any) -> None:
    assert plain(value) == made


def test_a_private_key_over_several_lines_is_masked() -> None:
    body = "\n".join("MIIEpAIBAAKCAQEA" + "x7Yz" * 12 for _ in range(4))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    assert "MIIEpAIBAAKCAQEA" not in plain_text(key)
    assert "MIIEpAIBAAKCAQEA" not in quoted(key)


def test_long_text_is_cut_and_says_by_how_much() -> None:
    made = plain_text("wide " * LONGEST_TEXT)
    assert made.startswith("wide wide") and made.endswith(f"[{4 * LONGEST_TEXT:,} characters more]")


@given(st.text())
def test_every_line_of_a_quoted_text_begins_with_a_bar(text: str) -> None:
    assert all(line.startswith("| ") for line in quoted(text).split("\n"))


@given(st.lists(st.text(max_size=50), max_size=30), st.integers(0, 500))
def test_what_fits_is_kept_in_order_and_the_rest_is_counted(entries: list[str], room: int) -> None:
    kept, left_out = fitting(entries, room)
    assert kept == [plain(each) for each in entries[: len(kept)]] and len(kept) + left_out == len(entries)
    assert sum(len(json.dumps(each, ensure_ascii=False)) + 1 for each in kept) <= room


def test_lines_that_do_not_fit_are_counted() -> None:
    text = told(["x" * 999] * 20)
    assert len(text) < LONGEST_TOLD + 100 and text.endswith("12 lines more: see the structured answer")
