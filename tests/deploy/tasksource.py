"""Verdicts on tasks for a supervisor to read: a real HTTP endpoint whose tasks the test adds, and that can be down."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from buildeye.model.deployments import Deployment


class Tasks:
    """The tasks of one service; `url` is where they are read, `down` makes each reading fail."""

    def __init__(self) -> None:
        self.url = ""
        self.down = False
        self.asked = 0
        self._tasks: list[dict[str, object]] = []

    def add(self, deployment: Deployment, approved: Sequence[bool | None]) -> None:
        """Tasks that this deployment served, entered now; None: not judged yet."""
        now = datetime.now(UTC).isoformat()
        added: list[dict[str, object]] = [
            {"id": f"task-{len(self._tasks) + n}", "entered_at": now, "approved": verdict, "deployment": deployment.id}
            for n, verdict in enumerate(approved)
        ]
        self._tasks = [*self._tasks, *added]

    def judge(self, approved: bool) -> None:
        """Give every task that has no verdict one."""
        self._tasks = [task | {"approved": approved} if task["approved"] is None else task for task in self._tasks]

    def said(self) -> tuple[int, bytes]:
        """Status and body of an answer."""
        self.asked += 1
        return (503, b"") if self.down else (200, json.dumps({"tasks": self._tasks}).encode())

    def rate(self, **more: Any) -> dict[str, Any]:
        """The section `rate` of a deploy.yaml that reads here."""
        return {"source": "endpoint", "url": self.url, "interval_seconds": 2, **more}


@contextmanager
def served_tasks() -> Iterator[Tasks]:
    """An endpoint for as long as the block lasts."""
    tasks = Tasks()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = tasks.said()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    tasks.url = f"http://127.0.0.1:{server.server_port}/tasks"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield tasks
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
