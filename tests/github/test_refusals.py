from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from buildeye.github import GitHub
from buildeye.github.wire import Backoff
from buildeye.model import OutsideError, UsageError

from .conftest import NOW, Start, Time
from .shapes import run_json
from .stand_in import Call, Reply, as_json


def in_turn(*replies: Reply) -> Callable[[Call], Reply]:
    left = list(replies)
    return lambda call: left.pop(0) if len(left) > 1 else left[0]


def limit(remaining: int, seconds: float) -> dict[str, Any]:
    reset = int((NOW + timedelta(seconds=seconds)).timestamp())
    return {"x_ratelimit_remaining": str(remaining), "x_ratelimit_reset": str(reset)}


@pytest.mark.parametrize(
    ("reply", "token", "told"),
    [
        (as_json({"message": "Resource not accessible"}, 403), "t",
         'GitHub answered 403 for o/r: the token lacks "actions: read". See docs/token-setup.md'),
        (as_json({}, 403, x_accepted_github_permissions="contents=read; contents=write"), "t",
         'GitHub answered 403 for o/r: the token lacks "contents: read". See docs/token-setup.md'),
        (as_json({}, 403, x_github_sso="required; url=https://x"), "t",
         "GitHub answered 403 for o/r: the token is not authorised for the organisation's single sign-on. "
         "See docs/token-setup.md"),
        (as_json({"message": "Bad credentials"}, 401), "t",
         "GitHub answered 401 for o/r: the token is wrong, expired or revoked. See docs/token-setup.md"),
        (as_json({}, 401), None,
         "GitHub answered 401 for o/r: a token is needed; set GITHUB_TOKEN. See docs/token-setup.md"),
        (Reply(498), "t", "GitHub answered 498 for o/r: no reason given (run 7)"),
        (as_json({}, 429, retry_after="9" * 30), "t",
         "GitHub's rate limit is used up for o/r until 2027-05-28 12:00:00 UTC; "
         "try again then, or raise api.rate_limit_wait_seconds"),
        (Reply(404, b"<html>"), "t",
         "GitHub answered 404 for o/r: there is no run 7, or the token may not see it. See docs/token-setup.md"),
        (as_json({"message": "Validation\nFailed ghp_abcdefgh"}, 422), "t",
         "GitHub answered 422 for o/r: Validation Failed *** (run 7)"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_in_one_sentence(start: Start, reply: Reply, token: str | None, told: str) -> None:
    client, server = start(lambda call: reply, token=token)
    with pytest.raises(OutsideError) as caught:
        client.run("o", "r", 7)
    assert str(caught.value) == told
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    "fault",
    [Reply(502), Reply(500, b"{}"), Reply(503, headers={"retry-after": "60"}), Reply(200, b'{"id": 1}', cut_after=3)],
)
def test_a_fault_that_passes_is_not_noticed(start: Start, time: Time, fault: Reply) -> None:
    client, server = start(in_turn(fault, fault, as_json(run_json())))
    assert client.run("o", "r", 7).id == 7
    assert (len(server.calls), client.stats.requests, time.waits) == (3, 3, [])


def test_a_fault_that_stays_is_told_after_the_last_try(start: Start) -> None:
    client, server = start(lambda call: Reply(503))
    with pytest.raises(OutsideError, match=r"GitHub answered 503 for o/r \(run 7\), 3 times in a row"):
        client.run("o", "r", 7)
    assert len(server.calls) == 3


def test_a_host_that_cannot_be_reached_is_named() -> None:
    with (
        GitHub("http://127.0.0.1:9", "t", cache_dir=None, retries=1, backoff=Backoff(0, 0, 0)) as client,
        pytest.raises(OutsideError, match=r"127\.0\.0\.1 cannot be reached for o/r \(run 7\): .*api\.base_url"),
    ):
        client.run("o", "r", 7)


@pytest.mark.parametrize("address", ["", "http://", "ftp://x", "http://x:port"])
def test_an_address_that_is_none_is_wrong_use(address: str) -> None:
    with pytest.raises(UsageError, match=r"api\.base_url"):
        GitHub(address, None, cache_dir=None)


@pytest.mark.parametrize("body", [b"<html>login</html>", b"", b'"text"', b"[]"])
def test_an_answer_that_is_no_run_is_told(start: Start, body: bytes) -> None:
    client, _ = start(lambda call: Reply(200, body))
    with pytest.raises(OutsideError, match=r"api\.base_url"):
        client.run("o", "r", 7)


@pytest.mark.parametrize(
    ("reply", "wait"),
    [
        (as_json({}, 429, retry_after="17"), 17.0),
        (as_json({}, 403, retry_after="17", x_ratelimit_remaining="12"), 17.0),
        (as_json({"message": "You have exceeded a secondary rate limit."}, 403), 60.0),
        (as_json({}, 429), 60.0),
        (as_json({}, 403, **limit(0, 100)), 101.0),
        (as_json({}, 429, **limit(0, -100)), 1.0),
    ],
)
def test_a_rate_limit_is_waited_for_as_long_as_it_asks(start: Start, time: Time, reply: Reply, wait: float) -> None:
    client, _ = start(in_turn(reply, as_json(run_json(), **limit(10, 0))))
    assert client.run("o", "r", 7).id == 7
    assert sum(time.waits) == pytest.approx(wait, abs=1.0)


def test_a_rate_limit_longer_than_allowed_says_when_it_ends(start: Start, time: Time) -> None:
    client, server = start(lambda call: as_json({}, 403, **limit(0, 1800)), rate_limit_wait=900)
    with pytest.raises(OutsideError, match=r"used up for o/r until 2026-05-28 12:30:01 UTC"):
        client.run("o", "r", 7)
    assert (time.waits, len(server.calls)) == ([], 1)


def test_waiting_for_rate_limits_ends(start: Start, time: Time) -> None:
    client, _ = start(lambda call: as_json({}, 429, retry_after="100"), rate_limit_wait=250)
    with pytest.raises(OutsideError, match="rate limit"):
        client.run("o", "r", 7)
    assert time.waits == [100.0, 100.0]


def test_a_limit_known_to_be_used_up_is_not_run_against(start: Start, time: Time) -> None:
    client, server = start(in_turn(as_json(run_json(), **limit(0, 30)), as_json(run_json(), **limit(5000, 3600))))
    client.run("o", "r", 7)
    client.run("o", "r", 7)
    assert (time.waits, len(server.calls)) == ([31.0], 2)


def test_a_moved_repository_is_followed_with_the_token(start: Start) -> None:
    def answer(call: Call) -> Reply:
        if call.path.startswith("/repositories/"):
            return as_json(run_json())
        return Reply(301, headers={"location": "/repositories/5/actions/runs/7"})

    client, server = start(answer)
    assert client.run("o", "r", 7).id == 7
    assert all("authorization" in call.headers for call in server.calls)


@pytest.mark.parametrize(("remaining", "waits"), [(501, []), (500, [31.0]), (3, [31.0])])
def test_a_share_of_the_limit_is_left_to_others(start: Start, time: Time, remaining: int, waits: list[float]) -> None:
    first = as_json(run_json(), x_ratelimit_limit="5000", **limit(remaining, 30))
    client, server = start(in_turn(first, as_json(run_json(), **limit(5000, 3600))), threshold_percent=10.0)
    client.run("o", "r", 7)
    client.run("o", "r", 7)
    assert (time.waits, len(server.calls)) == (waits, 2)


@pytest.mark.parametrize("minutes", [-40, 0, 40])
def test_a_clock_that_is_wrong_waits_as_long_as_githubs_says(start: Start, time: Time, minutes: int) -> None:
    """Ours is so many minutes ahead of GitHub's: what counts is the difference between its date and its reset."""
    theirs = NOW - timedelta(minutes=minutes)
    used_up = limit(0, 30 - 60 * minutes) | {"date": format_datetime(theirs, usegmt=True)}
    fresh = limit(5000, 3600) | {"date": format_datetime(theirs, usegmt=True)}
    client, _ = start(
        in_turn(as_json({}, 403, **used_up), as_json(run_json(), **used_up), as_json(run_json(), **fresh))
    )
    client.run("o", "r", 7)
    assert time.waits == [31.0]
    client.run("o", "r", 7)
    assert sum(time.waits) == pytest.approx(62.0, abs=31.0)


def test_what_one_thread_is_told_to_wait_all_wait(start: Start, time: Time, tmp_path: Path) -> None:
    client, _ = start(in_turn(as_json({}, 429, retry_after="17"), as_json(run_json())), rate_limit_wait=10)
    with pytest.raises(OutsideError, match="rate limit"):
        client.run("o", "r", 7)
    with pytest.raises(OutsideError, match="rate limit"):
        client.run("o", "r", 8)
    time.sleep(18)
    assert client.run("o", "r", 7).id == 7


@pytest.mark.parametrize("size", [1, 20, 300])
def test_an_answer_cut_short_is_asked_for_again_and_never_kept(start: Start, tmp_path: Path, size: int) -> None:
    whole = as_json(run_json(), etag='"e"')
    short = replace(whole, body=whole.body[:size])

    def answer(call: Call) -> Reply:
        if call.headers.get("if-none-match"):
            return Reply(304, headers={"etag": '"e"'})
        return next(answers)

    answers = iter([short, whole])
    client, server = start(answer, cache_dir=tmp_path)
    assert client.run("o", "r", 7).id == 7
    assert client.run("o", "r", 7).id == 7
    assert [call.headers.get("if-none-match") for call in server.calls] == [None, None, '"e"']
