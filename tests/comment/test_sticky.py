"""One comment and one check on a pull request: written once, edited in place, and not touched when nothing changed."""

from typing import Any

import pytest

from buildeye.github import Comment, PostedCheck
from buildeye.github.posting import SOME_BOT
from buildeye.model import Cause, OutsideError
from buildeye.pipeline.comment import Did, own_check, own_comment
from buildeye.reports.comment import LARGEST_COMMENT, MARKER
from buildeye.simulator import Faults
from buildeye.simulator.faults import Fault, bad_gateway, cut, secondary_limit, truncated
from tests.comment.conftest import Page, red
from tests.reports.comment_samples import crowd

APP = 77


def done(told: Any) -> tuple[Did, Did | None]:
    return told.commented.did, told.checked.did if told.checked else None


def test_the_first_pass_writes_one_comment_and_one_check(page: Page) -> None:
    told = page.tell(page.finding(red()))
    assert done(told) == (Did.CREATED, Did.CREATED)
    assert page.bodies() == [told.body]
    assert told.commented.url == f"{page.pull.html_url}#issuecomment-{page.board.comments[0].id}"
    (check,) = page.board.checks
    assert (check.name, check.head_sha, check.conclusion) == ("Build-Eye", page.pull.head_sha, "failure")
    assert (check.title, check.summary) == (told.check.title, told.check.summary)


def test_a_second_pass_that_found_the_same_writes_nothing(page: Page) -> None:
    page.tell(page.finding(red()))
    before = page.writes
    assert done(page.tell(page.finding(red()))) == (Did.UNCHANGED, Did.UNCHANGED)
    assert page.writes == before


def test_what_changed_is_edited_in_place(page: Page) -> None:
    page.tell(page.finding(red()))
    told = page.tell(page.finding(red(), red(Cause.INFRASTRUCTURE, "e2e")))
    assert done(told) == (Did.EDITED, Did.EDITED)
    assert page.bodies() == [told.body]
    assert [check.title for check in page.board.checks] == [told.check.title]
    assert [write.split()[0] for write in page.writes] == ["POST", "POST", "PATCH", "PATCH"]


def test_a_pull_request_on_which_nothing_failed_gets_a_check_and_no_comment(page: Page) -> None:
    assert done(page.tell(page.finding())) == (Did.NOTHING, Did.CREATED)
    assert page.bodies() == []
    assert page.board.checks[0].conclusion == "success"


def test_once_all_is_well_the_comment_says_so(page: Page) -> None:
    page.tell(page.finding(red()))
    told = page.tell(page.finding(passed=4))
    assert done(told) == (Did.EDITED, Did.EDITED)
    assert "### Nothing failed: all 4 runs passed" in page.bodies()[0]
    assert page.board.checks[0].conclusion == "success"


def test_a_pull_request_of_which_no_run_is_known_is_left_as_it_is(page: Page) -> None:
    page.tell(page.finding(red()))
    before = page.writes
    assert done(page.tell(page.finding(passed=0))) == (Did.NOTHING, Did.NOTHING)
    assert page.writes == before


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(page: Page) -> None:
    assert done(page.tell(page.finding(red()), dry_run=True)) == (Did.CREATED, Did.CREATED)
    assert page.writes == []
    page.tell(page.finding(red()))
    before = page.writes
    assert done(page.tell(page.finding(red(), red(name="e2e")), dry_run=True)) == (Did.EDITED, Did.EDITED)
    assert done(page.tell(page.finding(red()), dry_run=True)) == (Did.UNCHANGED, Did.UNCHANGED)
    assert page.writes == before


def test_without_a_check_only_the_comment_is_written(page: Page) -> None:
    assert done(page.tell(page.finding(red()), check=False)) == (Did.CREATED, None)
    assert page.board.checks == []


def test_comments_of_others_are_left_alone_wherever_they_are(page: Page) -> None:
    number = page.pull.number
    theirs = [f"{MARKER}\nmine now", f"> {MARKER}\nwhat is this?", *(f"talk {n}" for n in range(11))]
    for body in theirs:
        page.board.comment(number, body, "octo-stranger")
    page.tell(page.finding(red()))
    told = page.tell(page.finding(red(), red(name="e2e")))
    assert page.bodies() == [*theirs, told.body]


def test_of_several_of_ours_the_oldest_is_edited(page: Page) -> None:
    for text in ("old", "older pass"):
        page.board.comment(page.pull.number, f"{MARKER}\n{text}")
    told = page.tell(page.finding(red()))
    assert page.bodies() == [told.body, f"{MARKER}\nolder pass"]


def test_the_token_of_a_workflow_edits_what_a_bot_wrote_never_a_persons_comment(page_of: Any) -> None:
    page = page_of(login="")
    claim = f"{MARKER}\nI am Build-Eye"
    page.board.comment(page.pull.number, claim, "octo-stranger")
    page.tell(page.finding(red()))
    told = page.tell(page.finding(red(), red(name="e2e")))
    assert page.bodies() == [claim, told.body]


def test_a_carriage_return_that_came_back_is_no_change(page: Page) -> None:
    page.tell(page.finding(red()))
    page.board.comments[0].body = page.board.comments[0].body.replace("\n", "\r\n")
    before = page.writes
    page.tell(page.finding(red()))
    assert page.writes == before


@pytest.mark.parametrize("lost", [cut(), truncated()])
@pytest.mark.parametrize("request_number", [2, 4])
def test_a_post_whose_answer_was_lost_is_found_not_repeated(page_of: Any, lost: Fault, request_number: int) -> None:
    page = page_of(Faults(at={request_number: lost}))
    told = page.tell(page.finding(red()))
    assert page.bodies() == [told.body]
    assert len(page.board.checks) == 1
    assert told.commented.url and told.checked.url


@pytest.mark.parametrize("fault", [bad_gateway(), secondary_limit(1)])
def test_a_post_that_was_refused_in_passing_is_sent_again(page_of: Any, fault: Fault) -> None:
    page = page_of(Faults(at={2: fault}))
    told = page.tell(page.finding(red()), check=False)
    assert page.bodies() == [told.body]
    assert [write.split()[0] for write in page.writes] == ["POST", "POST"]


def test_a_patch_whose_answer_was_lost_is_sent_again(page_of: Any) -> None:
    page = page_of(Faults(at={5: cut()}))
    page.tell(page.finding(red()), check=False)
    told = page.tell(page.finding(red(), red(name="e2e")), check=False)
    assert page.bodies() == [told.body]


def test_a_github_that_stays_down_is_told_and_nothing_is_posted_twice(page_of: Any) -> None:
    page = page_of(Faults(at={number: bad_gateway() for number in (2, 4, 6)}), retries=2)
    with pytest.raises(OutsideError, match=r"GitHub answered 502 for .*comment on pull request.*3 times in a row"):
        page.tell(page.finding(red()))
    assert page.bodies() == []


def test_a_token_that_may_write_no_checks_is_a_warning_and_the_comment_stands(page_of: Any) -> None:
    page = page_of(Faults(denied=frozenset({"check-runs"})))
    told = page.tell(page.finding(red()))
    assert done(told) == (Did.CREATED, Did.REFUSED)
    assert page.bodies() == [told.body]
    (warning,) = page.warned
    assert warning.startswith("no check run") and 'the token lacks "checks: write"' in warning


def test_a_token_that_may_write_no_comments_is_told(page_of: Any) -> None:
    page = page_of(Faults(denied=frozenset({"issues"})))
    with pytest.raises(OutsideError, match='the token lacks "pull requests: write"'):
        page.tell(page.finding(red()))


def test_more_than_github_takes_is_cut_to_what_it_takes(page: Page) -> None:
    told = page.tell(page.finding(*crowd(400)))
    assert len(told.body) <= LARGEST_COMMENT
    assert page.bodies() == [told.body]


def comment(number: int, author: str = "octo", *, bot: bool = False, app: int = 0, body: str = MARKER) -> Comment:
    return Comment(number, body, author, bot, app)


@pytest.mark.parametrize(
    ("comments", "app_id", "login", "chosen"),
    [
        ([], 0, "octo", None),
        ([comment(1, body="talk"), comment(2, body=f"see {MARKER}")], 0, "octo", None),
        ([comment(2), comment(1)], 0, "octo", 1),
        ([comment(1, "stranger"), comment(2)], 0, "octo", 2),
        ([comment(1, "stranger")], 0, "octo", None),
        ([comment(1, "stranger"), comment(2, "ci[bot]", bot=True)], 0, "", 2),
        ([comment(1, "stranger")], 0, "", 1),
        ([comment(1, "stranger")], 0, SOME_BOT, None),
        ([comment(1, "stranger"), comment(2, "ci[bot]", bot=True)], 0, SOME_BOT, 2),
        ([comment(1, "octo"), comment(2, "eye[bot]", bot=True, app=APP)], APP, "", 2),
        ([comment(1, "other[bot]", bot=True, app=5), comment(2, "eye[bot]", bot=True)], APP, "", 2),
        ([comment(1, "octo")], APP, "", None),
    ],
)
def test_whose_comment_is_edited(comments: list[Comment], app_id: int, login: str, chosen: int | None) -> None:
    found = own_comment(comments, app_id, lambda: login)
    assert (found.id if found else None) == chosen


def test_who_we_are_is_not_asked_when_no_comment_has_our_mark() -> None:
    def never() -> str:
        raise AssertionError

    assert own_comment([comment(1, body="talk")], 0, never) is None


def test_a_check_of_the_same_name_by_others_is_not_ours() -> None:
    def check(number: int, mark: str, app: int) -> PostedCheck:
        return PostedCheck(number, "completed", "success", "t", "s", mark, app)

    checks = [check(1, "build-eye", 5), check(2, "", 5), check(3, "build-eye", APP)]
    assert own_check(checks, APP) == checks[2]
    assert own_check(checks[:2], 0) == checks[0]
    assert own_check(checks[:2], APP) is None
