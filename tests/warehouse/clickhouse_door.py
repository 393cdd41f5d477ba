"""A ClickHouse server for tests: ClickHouse's HTTP interface, thinly, before an embedded engine in its own process.

Run as a program with a folder; it prints its port and serves until its standard input is closed. It speaks what the
client uses: SQL in the body or in `query`, `param_*`, `default_format`, data after an INSERT, `X-ClickHouse-*` headers.
It runs in UTC, as servers do. The only user is `default` with password `right`; all others are refused.
"""

import base64
import gzip
import importlib
import io
import re
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb

_INSERT = re.compile(rb"\s*INSERT\s+INTO\s+.*?\sFORMAT\s+(\w+)[ ]*\n", re.IGNORECASE | re.DOTALL)
_REFUSED = b"Code: 516. DB::Exception: default: Authentication failed. (AUTHENTICATION_FAILED) (version 26.9.2.1)"


def _decoded(body: bytes, encoding: str | None) -> bytes:
    match encoding:
        case None | "":
            return body
        case "gzip":
            return gzip.decompress(body)
        case "lz4":
            return bytes(importlib.import_module("lz4.frame").open(io.BytesIO(body)).read())
        case "zstd":
            import zstandard

            return zstandard.ZstdDecompressor().decompressobj().decompress(body)
        case _:
            raise ValueError(encoding)


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: Any
    lock = threading.Lock()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = _decoded(self._body(), self.headers.get("Content-Encoding"))
        if self.headers.get("Authorization") != "Basic " + base64.b64encode(b"default:right").decode():
            self._answer(403, _REFUSED, {"X-ClickHouse-Exception-Code": "516"})
            return
        parameters = {name[6:]: value for name, value in given.items() if name.startswith("param_")}
        sql = (given["query"] + "\n").encode() + body if "query" in given else body
        shape = given.get("default_format", "TabSeparated")
        try:
            with self.lock:
                answer = self._run(sql, shape, parameters)
        except RuntimeError as error:
            text = str(error)
            code = re.search(r"Code: (\d+)", text)
            self._answer(500, text.encode(), {"X-ClickHouse-Exception-Code": code.group(1) if code else "1"})
            return
        headers = {"X-ClickHouse-Summary": "{}", "X-ClickHouse-Timezone": "UTC"}
        if answer:
            headers["X-ClickHouse-Format"] = shape
        self._answer(200, answer, headers)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _run(self, sql: bytes, shape: str, parameters: dict[str, str]) -> bytes:
        insert = _INSERT.match(sql)
        if insert is None or len(sql) == insert.end():
            return self.engine.query(sql.decode(), shape, params=parameters).bytes() or b""
        with tempfile.NamedTemporaryFile(suffix=".data") as data:
            data.write(sql[insert.end() :])
            data.flush()
            statement = sql[: insert.start(1)].decode().rstrip().removesuffix("FORMAT")
            self.engine.query(
                f"{statement} FROM INFILE '{data.name}' FORMAT {insert.group(1).decode()}", "TabSeparated"
            )
        return b""

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(folder: str) -> None:
    Door.engine = chdb.connect(folder)
    Door.engine.query("SET session_timezone = 'UTC'")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()
    Door.engine.close()


if __name__ == "__main__":
    main(sys.argv[1])
