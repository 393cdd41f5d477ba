"""GitHub's status page: its incidents in the words of the model, and every way in which it may not be had."""

import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from buildeye.config import Settings
from buildeye.github.convert import ShapeError
from buildeye.github.incidents import StatusPage, Told, incidents_from
from buildeye.model import Incident, OutsideError, UsageError
from buildeye.simulator import build_busy_day
from buildeye.simulator.app import create_app
from buildeye.simulator.server import ledger, serving

NOW = datetime(2026, 5, 28, 18, tzinfo=UTC)
BEGAN = NOW - timedelta(hours=5)
ENDED = BEGAN + timedelta(hours=1)
SLOW = Incident(
    "a1", "Actions is slow to start jobs", BEGAN, ENDED, "major", "resolved", ("Actions", "Packages"), ENDED,
    "https://stspg.example/a1",
)  # fmt: skip
GOING_ON = Incident(
    "b2", "Errors on pushes", NOW - timedelta(minutes=9), NOW, "minor", "identified", ("Git Operations",)
)


def told(**other: Any) -> dict[str, Any]:
    """One incident as a page tells it, with all the fields we do not read."""
    fields = {
        "id": "a1", "name": "Actions is slow\nto start jobs", "status": "resolved", "impact": "major",
        "created_at": "2026-05-28T13:04:00.000Z", "started_at": "2026-05-28T13:00:00.000Z",
        "updated_at": "2026-05-28T14:00:00.000Z", "monitoring_at": None, "resolved_at": "2026-05-28T14:00:00.000Z",
        "shortlink": "https://stspg.example/a1", "page_id": "p", "incident_updates": [{"body": "We look into it."}],
        "components": [{"id": "c", "name": "Actions", "status": "operational"}, {"id": "d", "name": "Packages"}],
        "reminder_intervals": None,
    }  # fmt: skip
    return fields | other


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, SLOW),
        ({"started_at": None}, replace(SLOW, started_at=BEGAN + timedelta(minutes=4))),
        ({"resolved_at": None, "status": "monitoring"}, replace(SLOW, resolved_at=None, status="monitoring")),
        ({"resolved_at": None, "status": "postmortem"}, replace(SLOW, status="postmortem")),
        ({"updated_at": None}, replace(SLOW, updated_at=BEGAN)),
        ({"started_at": "2026-05-28T06:00:00.000-07:00"}, SLOW),
        ({"components": None, "impact": None}, replace(SLOW, components=(), impact="")),
        ({"shortlink": "javascript:alert(1)"}, replace(SLOW, html_url="")),
    ],
)
def test_an_incident_is_read_as_it_is_told(given: dict[str, Any], expected: Incident) -> None:
    assert incidents_from({"page": {}, "incidents": [told(**given)]}) == (expected,)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "the status page is not an object"),
        ({"page": {}}, 'has no field "incidents"'),
        ({"incidents": [told(id="")]}, 'has a field "id"'),
        ({"incidents": [told(started_at=None, created_at=None)]}, "incident a1 says not when it began"),
        ({"incidents": [told(updated_at="yesterday")]}, 'has a field "updated_at" that is not a time'),
        ({"incidents": [told(components=["Actions"])]}, "incident a1 is not an object"),
    ],
)
def test_another_form_is_said_to_be_one(data: Any, said: str) -> None:
    with pytest.raises(ShapeError) as caught:
        incidents_from(data)
    assert said in caught.value.problem


def test_a_page_is_read_once_and_again_only_when_something_has_changed() -> None:
    past = replace(build_busy_day(3, NOW, 2), incidents=(SLOW, GOING_ON))
    app = create_app(past, token="ghp_" + "s" * 36, clock=NOW.timestamp)
    with serving(app) as address:
        page = StatusPage(address + "/")
        first = page.incidents()
        assert first is not None and first.mark
        assert first.incidents == (GOING_ON, SLOW)
        assert page.incidents(first.mark) is None
    assert ledger(app).paths == ["/api/v2/incidents.json"] * 2
    assert (ledger(app).used, ledger(app).tokens) == (0, set())


def stood_in(answer: Callable[[httpx2.Request], httpx2.Response]) -> StatusPage:
    return StatusPage("https://status.test", pause=0.0, transport=httpx2.MockTransport(answer))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx2.Response(503), "status.test answered 503, 2 times in a row"),
        (httpx2.Response(404), "status.test answered 404; is api.status_url right?"),
        (httpx2.Response(200, text="<html>"), "the answer of status.test is not JSON; is api.status_url right?"),
        (httpx2.Response(200, json={"incidents": {}}),
         'status.test: the status page has a field "incidents" that is not a list; is api.status_url right?'),
    ],
)  # fmt: skip
def test_a_page_that_cannot_be_read_is_one_sentence(answer: httpx2.Response, said: str) -> None:
    with pytest.raises(OutsideError) as caught:
        stood_in(lambda _: answer).incidents()
    assert str(caught.value) == said


def test_a_page_without_marks_is_read_each_time() -> None:
    page = stood_in(lambda request: httpx2.Response(200, json={"incidents": [told()]}))
    assert page.incidents() == Told((SLOW,), "") == page.incidents("")


def test_a_page_that_has_no_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("buildeye.github.incidents.MOST_BYTES", 100)
    with pytest.raises(OutsideError, match=r"the answer of status\.test has no end"):
        stood_in(lambda _: httpx2.Response(200, text=" " * 1000)).incidents()


def test_a_page_that_is_not_there_or_says_nothing_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        with pytest.raises(OutsideError, match=f"127.0.0.1:{port} cannot be reached: .*api.status_url to none"):
            StatusPage(f"http://127.0.0.1:{port}", timeout=0.2).incidents()
    with pytest.raises(OutsideError, match=f"127.0.0.1:{port} cannot be reached: "):
        StatusPage(f"http://127.0.0.1:{port}", pause=0.0).incidents()
    with pytest.raises(UsageError, match=r"api\.status_url is no address"):
        StatusPage("http://status.test:port")


@pytest.mark.parametrize(
    ("base_url", "status_url", "place"),
    [
        ("https://api.github.com", "", "www.githubstatus.com"),
        ("https://api.github.com", "none", None),
        ("https://api.github.com", "https://status.test/", "status.test"),
        ("https://github.example.com/api/v3", "", None),
        ("http://127.0.0.1:8000", "", None),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "127.0.0.1:8000"),
    ],
)
def test_the_settings_say_whether_and_where_is_asked(base_url: str, status_url: str, place: str | None) -> None:
    page = StatusPage.of(Settings.model_validate({"api": {"base_url": base_url, "status_url": status_url}}))
    assert (page.place if page else None) == place
