import logging
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from buildeye.github.parallel import in_parallel
from buildeye.github.transport import ProxyTransport, cache_key
from buildeye.model import OutsideError

from .conftest import Start
from .shapes import run_json
from .stand_in import Reply, as_json, serving


def test_loopback_and_excepted_hosts_are_reached_without_the_proxy() -> None:
    with serving(lambda call: Reply(body=b"straight")) as server:
        transport = ProxyTransport({"http": "http://127.0.0.1:9"}, lambda host: False)
        with httpx2.Client(transport=transport) as client:
            assert client.get(server.url).content == b"straight"


@pytest.mark.parametrize("scheme", ["http", "all"])
def test_other_hosts_are_reached_through_the_proxy_of_the_environment(scheme: str) -> None:
    with serving(lambda call: Reply(body=b"by proxy")) as proxy:
        transport = ProxyTransport({scheme: proxy.url.removeprefix("http://")}, lambda host: host == "inside.example")
        with httpx2.Client(transport=transport) as client:
            assert client.get("http://outside.example/x").content == b"by proxy"
        assert proxy.calls[0].headers["host"] == "outside.example"


@pytest.mark.parametrize("proxy", ["socks9://x:1", "ftp://me:hush@x"])
def test_a_proxy_that_cannot_be_used_is_told_without_its_password(proxy: str) -> None:
    transport = ProxyTransport({"http": proxy}, lambda host: False)
    with (
        httpx2.Client(transport=transport) as client,
        pytest.raises(OutsideError, match=r"proxy .* cannot be used") as caught,
    ):
        client.get("http://outside.example")
    assert "hush" not in str(caught.value)


def test_addresses_of_logs_are_not_logged(start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(lambda call: Reply(body=b"x")) as store:
        client, _ = start(lambda call: Reply(302, headers={"location": f"{store.url}/blob?sig=hush"}))
        client.download_job_log("o", "r", 1, tmp_path)
    assert "hush" not in caplog.text


def test_answers_for_one_token_are_not_given_to_another() -> None:
    url = httpx2.URL("https://api.github.com/repos/o/r")
    assert len({cache_key(token, url) for token in ("a", "b", None)}) == 3


def test_a_base_address_with_a_path_is_kept(start: Start) -> None:
    client, server = start(lambda call: as_json(run_json()), path="/api/v3")
    client.run("o", "r", 7)
    assert server.calls[0].path == "/api/v3/repos/o/r/actions/runs/7"


def test_names_cannot_leave_their_place_in_the_address(start: Start) -> None:
    client, server = start(lambda call: as_json(run_json()))
    client.run("o/../x", "r?y", 7)
    assert server.calls[0].path == "/repos/o%2F..%2Fx/r%3Fy/actions/runs/7"


def test_requests_say_who_asks_and_in_which_version(start: Start) -> None:
    client, server = start(lambda call: as_json(run_json()))
    client.run("o", "r", 7)
    headers = server.calls[0].headers
    assert headers["user-agent"].startswith("build-eye/")
    assert (headers["accept"], headers["x-github-api-version"]) == ("application/vnd.github+json", "2022-11-28")


def test_without_a_token_none_is_sent(start: Start) -> None:
    client, server = start(lambda call: as_json(run_json()), token=None)
    client.run("o", "r", 7)
    assert "authorization" not in server.calls[0].headers


def test_a_failing_call_stops_what_has_not_begun() -> None:
    begun: list[int] = []

    def call(number: int) -> int:
        begun.append(number)
        if number == 2:
            raise ValueError("two")
        return number

    results = in_parallel(call, range(1000), 2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        next(results)
    assert len(begun) < 20


def test_items_are_taken_only_a_little_ahead() -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    assert next(in_parallel(lambda number: number, source(), 3)) == 0
    assert len(taken) <= 6
