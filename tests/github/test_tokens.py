"""A GitHub App's tokens: asked for in time, kept to themselves, and what is said when none is to be had."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from buildeye.config import Settings
from buildeye.github import GitHub
from buildeye.github.tokens import AppTokens, read_key
from buildeye.github.wire import Backoff
from buildeye.model import OutsideError, UsageError

from .conftest import NO_TLS, Time
from .shapes import run_json
from .stand_in import Call, Reply, StandIn, as_json, serving

SECRET = rsa.generate_private_key(public_exponent=65537, key_size=2048)
KEY = SECRET.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
PUBLIC = SECRET.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
ASK = "/app/installations/42/access_tokens"

Answer = Callable[[Call], Reply]
Begin = Callable[..., tuple[AppTokens, StandIn]]


class Door:
    """GitHub's side: gives out numbered tokens that live an hour, and refuses what is wrong with a JWT."""

    def __init__(self, time: Time, behind: timedelta = timedelta()) -> None:
        self.time, self.behind, self.given = time, behind, 0
        self.valid: set[str] = set()

    @property
    def now(self) -> datetime:
        return self.time.now - self.behind

    def __call__(self, call: Call) -> Reply:
        sent = call.headers.get("authorization", "").removeprefix("Bearer ")
        date = format_datetime(self.now, usegmt=True)
        if call.path != ASK:
            known = sent in self.valid
            return as_json(run_json() if known else {"message": "Bad credentials"}, 200 if known else 401)
        claims = jwt.decode(sent, PUBLIC, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False})
        stamp = self.now.timestamp()
        if claims["iss"] != "7" or claims["iat"] > stamp or not stamp < claims["exp"] <= stamp + 600:
            return as_json({"message": "'Expiration time' claim is wrong"}, 401, date=date)
        self.given += 1
        token = f"ghs_{self.given:036}"
        self.valid.add(token)
        ends = f"{self.now + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
        return as_json({"token": token, "expires_at": ends}, 201, date=date)


@pytest.fixture
def begin(time: Time) -> Iterator[Begin]:
    with ExitStack() as stack:

        def made(answer: Answer, path: str = "", key: bytes = KEY) -> tuple[AppTokens, StandIn]:
            server = stack.enter_context(serving(answer))
            transport = stack.enter_context(httpx2.HTTPTransport(verify=NO_TLS))
            tokens = AppTokens(
                server.url + path, 7, 42, key, transport=transport, clock=time.clock, retries=2, pause=0.0
            )  # fmt: skip
            return tokens, server

        yield made


def test_a_token_is_asked_for_once_and_again_before_it_ends(begin: Begin, time: Time) -> None:
    tokens, server = begin(Door(time))
    first = tokens.current()
    assert tokens.current() == first
    time.sleep(54 * 60)
    assert tokens.current() == first
    time.sleep(2 * 60)
    assert tokens.current() != first
    assert len(server.calls) == 2


def test_an_enterprise_server_is_asked_below_its_own_path(begin: Begin, time: Time) -> None:
    tokens, server = begin(
        lambda call: as_json({"token": "t", "expires_at": "2026-05-28T13:00:00Z"}, 201), path="/api/v3"
    )
    tokens.current()
    assert server.calls[0].path == "/api/v3" + ASK


@pytest.mark.parametrize("minutes", [-90, -12, -2, 0, 2, 12, 90])
def test_clocks_that_differ_do_not_matter(begin: Begin, time: Time, minutes: int) -> None:
    door = Door(time, timedelta(minutes=minutes))
    tokens, _ = begin(door)
    first = tokens.current()
    time.sleep(50 * 60)
    assert tokens.current() == first
    time.sleep(9 * 60)
    assert tokens.current() != first


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(401), "GitHub answered 401 when App 7 asked for a token: its private key or App id is wrong"),
        (Reply(403), "the installation is suspended"),
        (Reply(404), "there is no such installation of it; check github_app.installation_id"),
        (Reply(502), "GitHub answered 502 when App 7 asked for a token, 3 times in a row"),
        (Reply(201, b"<html>"), "holds no token"),
        (Reply(201, b"[]"), "holds no token"),
    ],
)
def test_a_refusal_is_told_in_one_sentence_without_any_secret(begin: Begin, reply: Reply, said: str) -> None:
    tokens, server = begin(lambda call: reply)
    with pytest.raises(OutsideError) as caught:
        tokens.current()
    assert said in str(caught.value)
    sent = server.calls[0].headers["authorization"].removeprefix("Bearer ")
    assert sent not in str(caught.value) + repr(tokens)


def test_a_fault_that_passes_is_not_noticed(begin: Begin, time: Time) -> None:
    door, faults = Door(time), iter([Reply(502), Reply(200, b'{"tok', cut_after=3)])
    tokens, server = begin(lambda call: next(faults, None) or door(call))
    assert tokens.current().startswith("ghs_")
    assert len(server.calls) == 3


def test_a_token_that_is_revoked_is_replaced_and_the_request_sent_again(time: Time, begin: Begin) -> None:
    door = Door(time)
    tokens, server = begin(door)
    with GitHub(
        server.url, tokens, cache_dir=None, clock=time.clock, transport=httpx2.HTTPTransport(verify=NO_TLS)
    ) as client:
        assert client.run("o", "r", 7).id == 7
        door.valid.clear()
        assert client.run("o", "r", 7).id == 7
        assert [call.path == ASK for call in server.calls] == [True, False, False, True, False]


def test_a_door_that_refuses_every_token_is_not_asked_for_ever(begin: Begin, time: Time) -> None:
    door = Door(time)
    tokens, server = begin(lambda call: door(call) if call.path == ASK else as_json({"message": "no"}, 401))
    with (
        GitHub(
            server.url, tokens, cache_dir=None, clock=time.clock, transport=httpx2.HTTPTransport(verify=NO_TLS)
        ) as client,
        pytest.raises(OutsideError, match="the token is wrong, expired or revoked"),
    ):
        client.run("o", "r", 7)
    assert len(server.calls) == 4


def test_the_next_token_of_an_app_finds_what_the_one_before_kept(begin: Begin, time: Time, tmp_path: Path) -> None:
    door = Door(time)

    def answer(call: Call) -> Reply:
        if call.path == ASK:
            return door(call)
        known = call.headers.get("if-none-match") == '"e"'
        return Reply(304, headers={"etag": '"e"'}) if known else as_json(run_json(), etag='"e"')

    tokens, server = begin(answer)
    transport = httpx2.HTTPTransport(verify=NO_TLS)
    with GitHub(server.url, tokens, cache_dir=tmp_path, clock=time.clock, transport=transport) as client:
        client.run("o", "r", 7)
        time.sleep(3600)
        client.run("o", "r", 7)
        assert (door.given, client.stats.not_modified) == (2, 1)


def test_neither_token_nor_key_is_logged_or_kept(
    begin: Begin, time: Time, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tokens, server = begin(Door(time))
    with GitHub(
        server.url, tokens, cache_dir=tmp_path, clock=time.clock, backoff=Backoff(0, 0, 0),
        transport=httpx2.HTTPTransport(verify=NO_TLS),
    ) as client:  # fmt: skip
        client.run("o", "r", 7)
    sent = {call.headers["authorization"].removeprefix("Bearer ") for call in server.calls}
    assert len(sent) == 2
    told = caplog.text + repr(tokens) + repr(vars(client))
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for secret in (*sent, KEY.decode()):
        assert secret not in told
        assert secret.encode() not in stored


def test_the_settings_name_an_app(tmp_path: Path) -> None:
    from buildeye.github.client import _tokens

    (tmp_path / "app.pem").write_bytes(KEY)
    app = {"app_id": 7, "installation_id": 42, "key_file": str(tmp_path / "app.pem")}
    settings = Settings.model_validate({"github_app": app, "github_token": "ghp_other"})
    tokens = _tokens(settings, httpx2.HTTPTransport(verify=NO_TLS))
    assert repr(tokens) == "AppTokens(app 7, installation 42)"
    assert json.loads(settings.model_dump_json())["github_app"]["key_file"].endswith("app.pem")


@pytest.mark.parametrize(
    "app", [{"app_id": 7}, {"app_id": 7, "installation_id": 42}, {"installation_id": 42, "key_file": "x.pem"}]
)
def test_half_an_app_is_wrong_use(app: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="incomplete App"):
        Settings.model_validate({"github_app": app})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"-----BEGIN RSA PRIVATE KEY-----\nnonsense\n-----END RSA PRIVATE KEY-----\n",
        PUBLIC,
        SECRET.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word")),
        ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    ],
    ids=["empty", "nonsense", "public", "with a password", "not RSA"],
)
def test_a_file_that_holds_no_usable_key_is_told_and_not_quoted(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "app.pem"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"app\.pem holds no private RSA key") as caught:
        read_key(file)
    assert "BEGIN" not in str(caught.value)


def test_a_key_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"github_app\.key_file .*none\.pem cannot be read"):
        read_key(tmp_path / "none.pem")
