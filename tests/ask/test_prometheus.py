"""A real Prometheus is asked; what stands before one, or instead of one, is told in a sentence."""

import base64
import math
import socket
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest

from buildeye.ask import Point, Prometheus, Series, prometheus_of
from buildeye.ask import series as series_module
from buildeye.ask.prometheus import MOST_PARTS, MOST_POINTS, parts_of
from buildeye.config import Settings, load_settings
from buildeye.model import BuildEyeError, OutsideError, UsageError

from .day import BEGAN, DAY, ENDED, RUSH
from .server import running

NOON = BEGAN + timedelta(hours=12)
FIVE = timedelta(minutes=5)
SECRET = "tok-" + "k" * 30
READER = "reader:password-of-test"
HASHED = "$2b$04$68NDY2WOzjOi0aIY5K4nlenSunUqIOX4Ywj5GyYaWGm5T811n/VnC"  # the password as Prometheus keeps it
USERS = f"basic_auth_users:\n  reader: {HASHED}\n"


def test_a_query_gives_one_series_a_set_of_labels(prometheus: Prometheus) -> None:
    found = prometheus.query("sum by (name) (gha_assigned_jobs)", NOON)
    assert sorted(found, key=lambda s: s.labels["name"]) == [
        Series({"name": "linux-cpu"}, (Point(NOON, 1.0),)),
        Series({"name": "linux-npu"}, (Point(NOON, 3.0),)),
    ]


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("1 + 1", [2.0]),
        ("scalar(gha_running_jobs{name='linux-cpu'})", [2.0]),
        ("1 / 0", [math.inf]),
        ("absent(up)", [1.0]),
    ],
)
def test_numbers_without_labels_are_a_series_too(prometheus: Prometheus, expression: str, values: list[float]) -> None:
    (found,) = prometheus.query(expression, NOON)
    assert [point.value for point in found.points] == values


def test_a_query_for_a_stretch_gives_all_its_points(prometheus: Prometheus) -> None:
    (found,) = prometheus.query("gha_running_jobs{name='linux-cpu'}[20m]", NOON)
    assert [point.value for point in found.points] == [2.0] * 5


def test_what_is_not_a_number_stays_what_it_is(prometheus: Prometheus) -> None:
    (found,) = prometheus.query("ci_ratio", NOON)
    assert math.isnan(found.points[0].value)


def test_a_range_has_both_its_ends(prometheus: Prometheus) -> None:
    found = prometheus.query_range("sum by (name) (gha_assigned_jobs)", BEGAN, ENDED, FIVE)
    npu = next(series for series in found if series.labels["name"] == "linux-npu")
    assert [p.at for p in npu.points] == [BEGAN + FIVE * n for n in range(289)]
    assert [p.at for p in npu.points if p.value == 14] == [RUSH[0] + FIVE * n for n in range(24)]


def test_a_range_of_more_points_than_prometheus_gives_is_put_together(prometheus: Prometheus) -> None:
    seconds = timedelta(seconds=5)
    (found,) = prometheus.query_range("gha_assigned_jobs{name='linux-npu'}", BEGAN, ENDED, seconds)
    assert [point.at for point in found.points] == [BEGAN + seconds * n for n in range(17_281)]
    assert sum(point.value == 14 for point in found.points) == 24 * 60


def test_an_unknown_metric_can_be_told_from_an_empty_answer(prometheus: Prometheus) -> None:
    unknown, empty = "sum(gha_asigned_jobs)", 'sum by (name) (gha_assigned_jobs{name="windows"})'
    assert prometheus.query(unknown, NOON) == prometheus.query(empty, NOON) == ()
    assert prometheus.metrics_in(unknown) == ()
    assert prometheus.metrics_in(empty) == ("gha_assigned_jobs",)
    assert prometheus.metrics_in("1") == ()
    assert prometheus.metrics_in('{__name__="ci_ratio"}', BEGAN, ENDED) == ("ci_ratio",)


def test_names_of_metrics_and_labels_are_listed(prometheus: Prometheus) -> None:
    assert prometheus.metric_names() == ("ci_queue_length", "ci_ratio", "gha_assigned_jobs", "gha_running_jobs")
    assert prometheus.metric_names(ENDED + timedelta(days=30), ENDED + timedelta(days=31)) == ()
    assert prometheus.label_names(BEGAN, ENDED) == ("__name__", "name", "namespace", "queue", "site")


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("sum(", "unclosed left parenthesis"),
        ("", "no expression found"),
        ("gha_assigned_jobs + on (namespace) gha_running_jobs", "many-to-many|found duplicate series"),
        ("'text'", "ask for numbers"),
    ],
)
def test_an_expression_that_is_wrong_is_the_askers_mistake(prometheus: Prometheus, expression: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        prometheus.query(expression, NOON)
    assert "\n" not in str(caught.value)


def test_more_series_than_anybody_reads_are_refused(prometheus: Prometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_module, "MOST_SERIES", 1)
    with pytest.raises(UsageError, match=r"gives 2 series, more than 1; group them with sum by"):
        prometheus.query("gha_assigned_jobs", NOON)


@pytest.mark.parametrize(
    ("since", "until", "step", "said"),
    [
        (NOON, BEGAN, FIVE, "ends .* before it begins"),
        (BEGAN, ENDED, timedelta(0), "a millisecond or more"),
        (
            BEGAN,
            ENDED,
            timedelta(milliseconds=1),
            "has 86,400,001 points, more than 220,000; take a step of at least 1 seconds",
        ),
        (BEGAN.replace(tzinfo=None), ENDED, FIVE, "has no zone"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(since: datetime, until: datetime, step: timedelta, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parts_of(since, until, step)


@pytest.mark.parametrize("points", [1, 2, MOST_POINTS - 1, MOST_POINTS, MOST_POINTS + 1, MOST_POINTS * MOST_PARTS])
def test_parts_hold_every_point_once(points: int) -> None:
    step = timedelta(seconds=1)
    parts = parts_of(BEGAN, BEGAN + step * (points - 1), step)
    sizes = [(end - start) // step + 1 for start, end in parts]
    assert sum(sizes) == points
    assert max(sizes) <= MOST_POINTS
    assert all(later[0] - before[1] == step for before, later in pairwise(parts))


def test_a_password_opens_a_prometheus_that_asks_for_one(tmp_path: Path) -> None:
    samples = {series: points for series, points in DAY.items() if "ratio" in series}
    with running(tmp_path, samples, USERS) as url:
        with Prometheus(url, READER) as opened:
            assert opened.metric_names() == ("ci_ratio",)
        for wrong in ("", "reader:guessed", SECRET):
            with Prometheus(url, wrong) as shut, pytest.raises(OutsideError) as caught:
                shut.query("ci_ratio")
            said = "answered 401: PROMETHEUS_TOKEN is missing, wrong or may not read"
            assert str(caught.value) == f"Prometheus at {url.removeprefix('http://')} {said}"


def stood_in(answer: Callable[[httpx2.Request], httpx2.Response], token: str = SECRET, **options: Any) -> Prometheus:
    """A client of something that stands where a Prometheus should."""
    return Prometheus("http://metrics.test/prom", token, pause=0.0, transport=httpx2.MockTransport(answer), **options)


ENCODED = base64.b64encode(READER.encode()).decode()
ECHO = f"token {SECRET} user {READER} {READER.partition(':')[2]} {ENCODED}"
BROKEN = '{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": ["x"]}]}}'


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (httpx2.Response(200, text="<html>log in</html>"), OutsideError, "does not answer as Prometheus does"),
        (httpx2.Response(200, text="[1]"), OutsideError, "does not answer as Prometheus does"),
        (httpx2.Response(200, text=BROKEN), OutsideError, "does not answer as Prometheus does"),
        (httpx2.Response(200, json={"status": "success"}), OutsideError, "does not answer as Prometheus does"),
        (httpx2.Response(302, headers={"location": "http://evil.test/"}), OutsideError, "302, a redirect; set prom"),
        (httpx2.Response(404, text="nothing here"), OutsideError, "answered 404: no reason given; check prom"),
        (httpx2.Response(403, text=ECHO), OutsideError, "answered 403: PROMETHEUS_TOKEN is missing"),
        (httpx2.Response(502, text="bad gateway"), OutsideError, "answered 502, 3 times in a row"),
        (httpx2.Response(500, json={"status": "error", "errorType": "internal", "error": f"disk\n{ECHO}"}),
         OutsideError, r"answered 500: disk token .* \*\*\*|answered 500: disk token \*\*\*"),
        (httpx2.Response(503, json={"status": "error", "errorType": "timeout", "error": "query timed out"}),
         OutsideError, "answered 503: query timed out"),
        (httpx2.Response(422, json={"status": "error", "errorType": "execution", "error": f"too many {ECHO}"}),
         UsageError, "does not take the expression: too many"),
        # as VictoriaMetrics words it
        (httpx2.Response(422, json={"status": "error", "errorType": "422", "error": "unexpected token"}),
         UsageError, "does not take the expression: unexpected token"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("token", [SECRET, READER])
def test_every_failure_is_one_sentence_without_a_secret(
    answer: httpx2.Response, kind: type[BuildEyeError], said: str, token: str
) -> None:
    with stood_in(lambda _: answer, token) as client, pytest.raises(kind, match=said) as caught:
        client.query("up", NOON)
    told = str(caught.value)
    assert told.startswith(("Prometheus at metrics.test", "the expression")) and "\n" not in told
    mine = (token, token.partition(":")[2] or token, ENCODED if ":" in token else token)
    assert not any(secret in told for secret in mine)


def test_what_passes_by_itself_is_asked_for_again() -> None:
    answers = [httpx2.Response(503), None, httpx2.Response(200, json={"status": "success", "data": ["a"]})]

    def answer(_: httpx2.Request) -> httpx2.Response:
        given = answers.pop(0)
        if given is None:
            raise httpx2.ConnectError("refused")
        return given

    with stood_in(answer) as client:
        assert client.metric_names() == ("a",)


def test_the_token_goes_as_bearer_and_nowhere_into_the_address() -> None:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json={"status": "success", "data": {"resultType": "vector", "result": []}})

    with stood_in(answer) as client:
        client.query("up", NOON)
    (request,) = seen
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert str(request.url) == "http://metrics.test/prom/api/v1/query"


def test_an_answer_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("buildeye.ask.prometheus.MOST_BYTES", 1000)
    with stood_in(lambda _: httpx2.Response(200, text="[" * 5000)) as client, pytest.raises(UsageError, match="larger"):
        client.metric_names()


def test_a_server_that_says_nothing_is_left_after_the_time_set() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port, began = door.getsockname()[1], time.monotonic()
        with Prometheus(f"http://127.0.0.1:{port}", timeout=0.2) as client, pytest.raises(OutsideError) as caught:
            client.query("up")
    assert time.monotonic() - began < 2
    assert f"Prometheus at 127.0.0.1:{port} did not answer within 0.2 seconds" in str(caught.value)


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    with Prometheus(f"http://127.0.0.1:{port}", pause=0.0) as client, pytest.raises(OutsideError) as caught:
        client.query("up")
    assert str(caught.value).startswith(f"Prometheus at 127.0.0.1:{port} cannot be reached: ")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://reader:hushed@metrics.test", "holds a user name or password; take them out and set PROMETHEUS_TOKEN"),
        ("metrics.test:9090", "is no http"),
        ("ftp://metrics.test", "is no http"),
        ("http://metrics.test:port", "is no address"),
        ("", "is no http"),
    ],
)
def test_an_address_that_is_none_or_tells_a_password_is_refused(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        Prometheus(url)
    assert "hushed" not in str(caught.value)


def test_without_an_address_no_prometheus_is_asked() -> None:
    assert prometheus_of(Settings()) is None


def test_the_settings_say_where_and_the_environment_with_which_token(address: str) -> None:
    settings = load_settings(
        None, {"BUILD_EYE_PROMETHEUS__URL": address + "/", "PROMETHEUS_TOKEN": SECRET}, lambda _: None
    )
    assert SECRET not in repr(settings)
    client = prometheus_of(settings)
    assert client is not None
    with client:
        assert client.query("vector(1)", NOON) == (Series({}, (Point(NOON, 1.0),)),)
