"""Messages to people: what arrives, what is told of a failure, and that neither waits nor leaks."""

import io
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from buildeye.alerts import notify, place_of

SECRET = "Hush-4711"
SRC = Path(__file__).parents[2] / "src"


class Service:
    """A web service on 127.0.0.1 that keeps what it was sent; `/status/N` answers N, `/never` not at all."""

    def __init__(self) -> None:
        service = self
        self.messages: list[tuple[str, dict[str, object]]] = []
        self.ended = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.messages.append((self.path, said))
                if self.path.startswith("/never"):
                    service.ended.wait(60)
                    return
                self.send_response(int(self.path.split("/")[2]) if self.path.startswith("/status/") else 200)
                self.end_headers()
                self.wfile.write(SECRET.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"json://ops:{SECRET}@127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


@pytest.fixture
def root_log() -> Iterator[io.StringIO]:
    """What a program that logs everything would have logged; pytest's own capture also hears what goes nowhere."""
    root, heard = logging.getLogger(), io.StringIO()
    handler, level = logging.StreamHandler(heard), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield heard
    root.removeHandler(handler)
    root.setLevel(level)


def test_a_message_arrives_as_it_was_written(service: Service) -> None:
    body = "rate 0 of 3, was 45 of 50\n*not bold* <b>"
    assert notify([f"{service.url}/hook"], "web v142: rolled back", body) == []
    [(path, said)] = service.messages
    assert path == "/hook"
    assert said["title"] == "web v142: rolled back" and said["message"] == body


def test_each_service_is_told_and_each_failure_is_a_sentence_in_their_order(service: Service) -> None:
    urls = [
        f"{service.url}/status/503",
        f"{service.url}/ok",
        f"json://127.0.0.1:{_closed_port()}/x",
        "carrier://pigeon",
    ]
    told = notify(urls, "t", "b", 30)
    assert told[0] == f"json://127.0.0.1:{service.port} answered 503"
    assert told[1].startswith("json://127.0.0.1:") and told[1].endswith("could not be reached or did not answer")
    assert told[2] == "carrier://*** is not an address that apprise knows; see notify in deploy.yaml"
    assert {path for path, _ in service.messages} == {"/status/503", "/ok"}


def test_a_service_that_never_answers_is_given_up_at_the_deadline_and_delays_no_other(service: Service) -> None:
    told = notify([f"{service.url}/never?rto=600", f"{service.url}/ok"], "t", "b", 5)
    assert told == [f"json://127.0.0.1:{service.port} did not answer in 5 s"]


def test_a_service_that_never_answers_does_not_keep_the_program_from_ending(service: Service) -> None:
    code = f"from buildeye.alerts import notify; print(notify(['{service.url}/never?rto=600'], 't', 'b', 1))"
    run, env = [sys.executable, "-c", code], {"PYTHONPATH": str(SRC)}
    done = subprocess.run(run, env=env, capture_output=True, text=True, timeout=55, check=False)
    assert "did not answer in 1 s" in done.stdout and done.returncode == 0
    assert SECRET not in done.stdout + done.stderr


def test_nobody_to_tell_is_no_failure() -> None:
    assert notify([], "t", "b") == []


@pytest.mark.parametrize(
    "url",
    [
        "json://ops:{secret}@127.0.0.1:{port}/status/500?token={secret}",
        "json://127.0.0.1:{port}/status/404/{secret}",
        "json://127.0.0.1:{closed}/{secret}",
        "jsons://{secret}@127.0.0.1:{port}/{secret}",
        "{secret}://{secret}",
        "{secret}",
        "tgram://{secret}/1",
        "slack://{secret}",
        "json://{secret}:x:y@:z/",
    ],
)
def test_no_secret_of_an_address_is_in_a_sentence_or_in_any_log(
    url: str, service: Service, root_log: io.StringIO, capfd: pytest.CaptureFixture[str]
) -> None:
    told = notify([url.format(secret=SECRET, port=service.port, closed=_closed_port())], "t", "b", 30)
    printed = capfd.readouterr()
    assert told
    everything = " ".join([*told, root_log.getvalue(), printed.out, printed.err])
    assert SECRET.lower() not in everything.lower()


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("json://u:p@hooks.example.org:8080/a/b", "json://hooks.example.org:8080"),
        ("JSON://Hooks.Example.ORG", "json://hooks.example.org"),
        ("mailto://u:p@example.org?to=x@y.example", "mailto://example.org"),
        ("json://u:p@ss@h.example/a", "json://h.example"),
        ("jsons://[::1]:80/x", "jsons://[::1]:80"),
        ("json://hook-token/x", "json://***"),
        ("pbul://o.abcdefgh12345678", "pbul://***"),
        ("sendgrid://SG.x.y:from", "sendgrid://***"),
        ("tgram://123456:abc.def/chat", "tgram://***"),
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/", "slack://***"),
        ("token", "a notification address"),
        ("", "a notification address"),
    ],
)
def test_a_place_is_the_scheme_and_a_host_that_is_one_for_sure(url: str, place: str) -> None:
    assert place_of(url) == place


def _closed_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as taken:
        return taken.server_port
