"""Who comes in through the door for webhooks, and what everybody else is told. Real HTTP, a real spool."""

import asyncio
import hashlib
import hmac
import json
import logging
import socket
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from buildeye.model import OutsideError
from buildeye.simulator.server import serving
from buildeye.simulator.webhooks import Told, deliveries, send
from buildeye.web import webhooks
from buildeye.web.app import WEBHOOKS, create_app
from buildeye.web.intake import Intake
from buildeye.web.spool import Delivery, Spool

from .conftest import SECRET, delivery, now

MOST = 4096
BODY = b'{"zen": "Keep it logically awesome."}'


@pytest.fixture
def client(spool: Spool) -> Iterator[httpx2.Client]:
    with (
        serving(create_app(spool, SECRET, MOST, now)) as base,
        httpx2.Client(base_url=base, trust_env=False, timeout=30) as client,
    ):
        yield client


def signature(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def headers(body: bytes = BODY, **changes: str | None) -> dict[str, str]:
    usual: dict[str, str | None] = {
        "content-type": "application/json",
        "x-github-event": "push",
        "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "x-hub-signature-256": signature(body),
    }
    given = usual | {name.replace("_", "-"): value for name, value in changes.items()}
    return {name: value for name, value in given.items() if value is not None}


def test_a_signed_delivery_is_in_the_spool_when_it_is_answered(client: httpx2.Client, spool: Spool) -> None:
    answer = client.post(WEBHOOKS, content=BODY, headers=headers())
    assert (answer.status_code, answer.content) == (202, b"")
    (waiting,) = spool.oldest(9, 9999)
    assert (waiting.id, waiting.event, waiting.body) == ("72d3162e-cc78-11e3-81ab-4c9367dc0958", "push", BODY)


@pytest.mark.parametrize(
    ("body", "changes", "status", "told"),
    [
        (BODY, {"x_hub_signature_256": None}, 401, "is missing"),
        (BODY, {"x_hub_signature_256": "sha1=" + "0" * 40}, 401, "is missing"),
        (BODY, {"x_hub_signature_256": "sha256=" + "0" * 64}, 401, "does not fit"),
        (BODY, {"x_hub_signature_256": signature(BODY, "another")}, 401, "does not fit"),
        (BODY + b" ", {"x_hub_signature_256": signature(BODY)}, 401, "does not fit"),
        (BODY, {"content_type": "application/x-www-form-urlencoded"}, 415, "application/json"),
        (BODY, {"content_type": None}, 415, "application/json"),
        (b"x" * (MOST + 1), {}, 413, "larger than 4096"),
        (BODY, {"x_github_delivery": None}, 400, "X-GitHub-Delivery"),
        (BODY, {"x_github_delivery": "a b"}, 400, "X-GitHub-Delivery"),
        (BODY, {"x_github_event": None}, 400, "X-GitHub-Event"),
    ],
)
def test_what_is_not_as_it_should_be_is_refused_and_not_kept(
    client: httpx2.Client, spool: Spool, body: bytes, changes: dict[str, str | None], status: int, told: str
) -> None:
    answer = client.post(WEBHOOKS, content=body, headers=headers(body, **changes))
    assert answer.status_code == status
    assert told in answer.json()["message"]
    assert spool.counts().waiting == 0


def test_a_body_of_unknown_length_is_cut_off_at_the_limit(client: httpx2.Client, spool: Spool) -> None:
    body = b"x" * (MOST + 1)
    answer = client.post(WEBHOOKS, content=iter([body[:3000], body[3000:]]), headers=headers(body))
    assert answer.status_code == 413
    assert client.post(WEBHOOKS, content=iter([BODY[:9], BODY[9:]]), headers=headers()).status_code == 202
    assert spool.counts().waiting == 1


def test_a_body_as_large_as_allowed_comes_in(client: httpx2.Client, spool: Spool) -> None:
    body = b"x" * MOST
    assert client.post(WEBHOOKS, content=body, headers=headers(body)).status_code == 202
    assert spool.counts().waiting == 1


def test_a_replayed_delivery_is_accepted_without_effect(client: httpx2.Client, spool: Spool) -> None:
    answers = [client.post(WEBHOOKS, content=BODY, headers=headers()).status_code for _ in range(3)]
    spool.settle(spool.oldest(9, 9999)[-1].number)
    answers.append(client.post(WEBHOOKS, content=BODY, headers=headers()).status_code)
    assert (answers, spool.counts().waiting) == ([202] * 4, 0)


@pytest.mark.parametrize("event", ["ping", "star", "workflow_dispatch"])
def test_an_unknown_event_is_accepted_and_ignored(client: httpx2.Client, spool: Spool, event: str) -> None:
    answer = client.post(WEBHOOKS, content=BODY, headers=headers(x_github_event=event))
    assert (answer.status_code, spool.counts().waiting) == (202, 0)
    assert "ignored" in answer.json()["message"]


def test_a_body_that_does_not_come_is_not_waited_for_long(
    client: httpx2.Client, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "READ_SECONDS", 0.05)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers().items())
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as line:
        line.sendall(f"POST {WEBHOOKS} HTTP/1.1\r\nhost: x\r\ncontent-length: 37\r\n{lines}\r\n".encode() + BODY[:9])
        assert line.recv(4096).startswith(b"HTTP/1.1 408 ")
    assert spool.counts().waiting == 0


def test_bodies_held_at_once_are_bounded(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "HELD_BYTES", len(BODY) - 1)
    assert client.post(WEBHOOKS, content=BODY, headers=headers()).status_code == 503
    monkeypatch.setattr(webhooks, "HELD_BYTES", len(BODY))
    assert [client.post(WEBHOOKS, content=BODY, headers=headers()).status_code for _ in range(2)] == [202, 202]


def test_a_bug_is_told_without_a_traceback(
    client: httpx2.Client, spool: Spool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(spool, "_pack", lambda _: 1 / 0)
    logging.getLogger("buildeye").propagate = True
    assert client.post(WEBHOOKS, content=BODY, headers=headers()).status_code == 500
    assert {record.getMessage() for record in caplog.records} == {
        "a bug in build-eye: a delivery was not taken: ZeroDivisionError('division by zero')"
    }


def test_other_methods_are_refused(client: httpx2.Client) -> None:
    answer = client.get(WEBHOOKS)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_the_health_page_says_how_full_the_spool_is(client: httpx2.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok", "waiting": 0, "refused": 0}
    client.post(WEBHOOKS, content=BODY, headers=headers())
    assert client.get("/healthz").json()["waiting"] == 1


def test_a_spool_that_fails_is_not_acknowledged_and_healed_by_itself(client: httpx2.Client, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "webhooks.sqlite")) as file:
        file.execute("ALTER TABLE waiting RENAME TO lost")
        assert client.post(WEBHOOKS, content=BODY, headers=headers()).status_code == 503
        assert client.get("/healthz").status_code == 503
        file.execute("ALTER TABLE lost RENAME TO waiting")
    assert client.post(WEBHOOKS, content=BODY, headers=headers()).status_code == 202
    assert client.get("/healthz").json()["waiting"] == 1


def test_a_sender_that_breaks_off_leaves_nothing(client: httpx2.Client, spool: Spool) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers().items())
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as line:
        line.sendall(f"POST {WEBHOOKS} HTTP/1.1\r\nhost: x\r\ncontent-length: 37\r\n{lines}\r\n".encode() + BODY[:9])
    assert client.post(WEBHOOKS, content=BODY, headers=headers()).status_code == 202
    assert spool.counts().waiting == 1


def test_the_simulated_story_comes_in_signed(spool: Spool, told: list[Told]) -> None:
    with serving(create_app(spool, SECRET, 1_000_000, now)) as base:
        assert send(base + WEBHOOKS, deliveries(told[:50], SECRET)) == {202: 50}
        assert spool.counts().waiting == 50
        assert send(base + WEBHOOKS, deliveries(told[:9], "another")) == {401: 9}
        assert send(base + WEBHOOKS, deliveries(told[:50], SECRET)) == {202: 50}
    assert spool.counts().waiting == 50


def test_deliveries_that_come_together_go_to_disk_together() -> None:
    groups: list[int] = []

    def write(group: Sequence[Delivery]) -> None:
        groups.append(len(group))

    async def come() -> None:
        intake = Intake(write)
        await asyncio.gather(*(intake.keep(delivery(str(number))) for number in range(40)))

    asyncio.run(come())
    assert groups == [40]


def test_a_group_that_fails_is_told_to_all_of_it_and_the_next_one_is_kept() -> None:
    failing = threading.Event()
    failing.set()

    def write(group: Sequence[Delivery]) -> None:
        if failing.is_set():
            raise OutsideError("the disk is full")

    async def come() -> list[BaseException | None]:
        intake = Intake(write)
        first = await asyncio.gather(*(intake.keep(delivery(name)) for name in "ab"), return_exceptions=True)
        failing.clear()
        await intake.keep(delivery("c"))
        return first

    assert [str(each) for each in asyncio.run(come())] == ["the disk is full", "the disk is full"]


def test_no_answer_repeats_the_secret_or_the_body(client: httpx2.Client) -> None:
    answer = client.post(WEBHOOKS, content=BODY, headers=headers(x_hub_signature_256="sha256=" + "0" * 64))
    assert SECRET not in answer.text
    assert json.loads(BODY)["zen"] not in answer.text
