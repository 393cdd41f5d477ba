"""Incidents of GitHub come with a sync, once, beside the API; without them a sync is a sync all the same."""

from dataclasses import replace
from datetime import timedelta

from buildeye.github.incidents import StatusPage
from buildeye.model import Incident
from buildeye.pipeline.sync import Synced, sync
from buildeye.simulator import Past
from buildeye.simulator.server import serving
from buildeye.warehouse.reading import incident_of

from .conftest import NOW, SINCE, Day, app_of, asked

SLOW = Incident(
    "a1", "Actions is slow to start jobs", NOW - timedelta(hours=3), NOW - timedelta(hours=2), "major", "monitoring",
    ("Actions",), None, "https://stspg.example/a1",
)  # fmt: skip
OLD = Incident(
    "z9", "API errors", NOW - timedelta(days=30), NOW - timedelta(days=29), "minor", "resolved", ("API Requests",),
    NOW - timedelta(days=29), "https://stspg.example/z9",
)  # fmt: skip


def passed(day: Day, past: Past) -> tuple[Synced, list[str], int]:
    """A sync with the page of `past`: what it brought, what was asked for, and what GitHub's API was asked."""
    app = app_of(past)
    with serving(app) as address, day.github(address) as github:
        # the address of a simulator changes with each start, the name of its page does not
        page = StatusPage(address)
        page.place = "status.test"
        done = sync(replace(day.scope(github), status=page), SINCE)
        return done, asked(app), github.stats.requests


def kept(day: Day, since: timedelta = timedelta(days=1)) -> list[Incident]:
    return [incident_of(row) for row in day.warehouse.ask("incidents_between", since=NOW - since, until=NOW)]


def test_incidents_are_kept_and_asked_for_in_one_request(day: Day, past: Past) -> None:
    done, paths, requests = passed(day, replace(past, incidents=(OLD, SLOW)))
    assert (done.incidents, kept(day), kept(day, timedelta(days=60))) == (2, [SLOW], [OLD, SLOW])
    assert paths.count("/api/v2/incidents.json") == 1 and requests == len(paths) - 1
    before = day.rows()
    again, paths, requests = passed(day, replace(past, incidents=(OLD, SLOW)))
    assert (again.incidents, requests, len(paths)) == (0, 3, 4)
    assert day.rows() == before
    assert day.warned == []


def test_an_incident_that_ended_meanwhile_is_known_to_have_ended(day: Day, past: Past) -> None:
    passed(day, replace(past, incidents=(OLD, SLOW)))
    over = replace(SLOW, status="resolved", updated_at=NOW, resolved_at=NOW)
    done, _, _ = passed(day, replace(past, incidents=(OLD, over)))
    assert (done.incidents, kept(day)) == (1, [over])


def test_a_page_that_tells_of_none_changes_nothing(day: Day, past: Past) -> None:
    done, _, _ = passed(day, past)
    assert (done.incidents, kept(day), day.warned) == (0, [], [])


def test_a_page_that_is_not_there_is_a_warning_and_nothing_more(day: Day, past: Past) -> None:
    with serving(app_of(past)) as address, day.github(address) as github:
        absent = StatusPage("http://127.0.0.1:1", retries=0)
        done = sync(replace(day.scope(github), status=absent), SINCE)
    assert done.runs.changed and done.logs.kept
    (warned,) = day.warned
    assert warned.startswith("incidents of GitHub are not known: 127.0.0.1:1 cannot be reached: ")
