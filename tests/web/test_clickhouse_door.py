"""The ClickHouse door as its clients meet it: clickhouse-connect, curl, and the bytes that Grafana's plugin sends."""

import base64
import gzip
import importlib
import io
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import clickhouse_connect
import httpx2
import pytest
import zstandard
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError, StreamFailureError

from buildeye.ask.guard import Limits
from buildeye.simulator.server import serving
from buildeye.warehouse import Warehouse
from buildeye.web.app import create_app
from buildeye.web.clickhousedoor import PATH, elsewhere
from buildeye.web.spool import open_spool
from tests.warehouse.facts import REPOSITORY, a_job, a_run
from tests.web.answering import TOKEN, answering
from tests.web.conftest import now
from tests.web.nativeblocks import read_blocks, read_plain

LIMIT = 60
JOBS = 20
LIMITS = replace(Limits(), result_rows=200_000, seconds=20)


@pytest.fixture(scope="module")
def port(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    warehouse.write_runs([a_run(100)])
    warehouse.write_jobs([a_job(1000 + n, run=100, name=f"job {n}") for n in range(JOBS)])
    with answering(warehouse, tmp_path_factory.mktemp("spool"), LIMITS) as opened:
        yield opened


@pytest.fixture
def client(port: int) -> Iterator[Client]:
    opened = clickhouse_connect.get_client(
        host="127.0.0.1", port=port, username="anybody", password=TOKEN, proxy_path="clickhouse"
    )
    yield opened
    opened.close()


class Http:
    """Plain HTTP to the door, with the token unless told otherwise."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/clickhouse"
        self._client = httpx2.Client(trust_env=False, timeout=LIMIT)

    def __call__(self, sql: str | bytes = "", headers: dict[str, str] | None = None, **given: Any) -> httpx2.Response:
        body = sql.encode() if isinstance(sql, str) else sql
        sent = {"Authorization": f"Bearer {TOKEN}"} if headers is None or "open" not in headers else {}
        sent |= {name: value for name, value in (headers or {}).items() if name != "open"}
        method = "POST" if body else "GET"
        return self._client.request(method, f"{self.url}?{urlencode(given)}", content=body, headers=sent)


@pytest.fixture
def http(port: int) -> Http:
    return Http(port)


def test_a_client_asks_with_parameters_of_its_own_types(client: Client) -> None:
    answer = client.query(
        "SELECT {n:UInt8} AS n, {texts:Array(String)} AS texts, count() AS jobs FROM default.workflow_job_latest "
        "WHERE repository_full_name = {repository:String}",
        parameters={"n": 7, "texts": ["a", "it's", "\\"], "repository": REPOSITORY},
    )
    assert answer.column_names == ("n", "texts", "jobs")
    assert answer.result_rows == [(7, ["a", "it's", "\\"], JOBS)]


@pytest.mark.parametrize(
    "text", ["plain", "a\tb\nc", "a\r\nb\r\n", "\r", "back\\slash \\n", "向左", "--x\r\n\r\n--", ""]
)
@pytest.mark.parametrize("many", [1, 3000])
def test_a_text_arrives_unchanged_in_the_address_and_in_a_form(client: Client, text: str, many: int) -> None:
    ids = list(range(many))
    answer = client.query(
        "SELECT {text:String} AS text, length({ids:Array(UInt64)}) AS n", parameters={"text": text, "ids": ids}
    )
    assert answer.result_rows == [(text, many)]


def test_a_client_learns_name_version_and_time_zone_and_nothing_else(client: Client, http: Http) -> None:
    assert client.server_version is not None and client.server_version.startswith("26.")
    assert str(client.server_tz) == "UTC"
    assert set(client.server_settings) == {"enable_http_compression"}
    hello = http("SELECT displayName(), version(), revision(), timezone()\n FORMAT JSONCompactEachRow").json()
    assert (hello[0], hello[3]) == ("Build-Eye", "UTC")
    assert http("SELECT currentUser()").text == "default\n"
    assert http("SELECT currentUser() AS u, 1").headers["x-clickhouse-exception-code"] == "497"


def test_an_answer_without_rows_has_its_columns(client: Client) -> None:
    answer = client.query("SELECT id, name FROM default.workflow_job WHERE id = {id:Int64}", parameters={"id": 1})
    assert (answer.column_names, answer.result_rows) == (("id", "name"), [])


def test_a_large_answer_comes_in_pieces(client: Client) -> None:
    with client.query_row_block_stream("SELECT number, repeat('x', 100) FROM numbers(150000)") as blocks:
        sizes = [len(block) for block in blocks]
    assert sum(sizes) == 150_000
    assert len(sizes) > 1


def test_an_error_after_the_first_bytes_reaches_the_client_with_its_code(client: Client) -> None:
    asked = "SELECT number, repeat('x', 100), intDiv(1, number - 180000) FROM numbers(190000)"
    slowly = {"max_threads": 1, "max_block_size": 1000}
    with (
        pytest.raises(StreamFailureError) as failed,
        client.query_row_block_stream(asked, settings=slowly) as blocks,
    ):
        assert sum(len(block) for block in blocks) < 180_000
    assert failed.value.code == 153
    with pytest.raises(DatabaseError) as refused:
        client.query(asked, settings=slowly)
    assert refused.value.code == 153


@pytest.mark.parametrize(
    ("sql", "status", "code", "said"),
    [
        ("SELECT * FROM nonsense", 404, 60, "query refused (unknown-table): there is no table nonsense here"),
        ("SELECT nonsense FROM default.workflow_run", 404, 47, "nonsense"),
        ("SELECT nonsense(1)", 404, 46, "nonsense() is not among the functions"),
        ("SELECT 1 +", 400, 62, "query refused (unreadable)"),
        ("SELECT 1; SELECT 2", 400, 62, "several statements"),
        ("INSERT INTO default.push VALUES (1)", 403, 164, "only SELECT, WITH, SHOW, DESCRIBE and EXPLAIN"),
        ("DROP TABLE default.push", 403, 164, "it begins with DROP"),
        ("SET readonly = 0", 403, 164, "it begins with SET"),
        ("SELECT 1 INTO OUTFILE '/tmp/x'", 403, 164, "INTO writes a file"),
        ("SELECT 1 SETTINGS readonly = 0", 403, 164, "readonly = 0 may not be changed"),
        ("SELECT file('/etc/passwd')", 403, 497, "file() reads files"),
        ("SELECT * FROM system.users", 403, 497, "tells about the server"),
        ("SELECT * FROM tests.all_test_runs", 403, 497, "add time_inserted >= now() - INTERVAL 7 DAY"),
        ("SELECT 1 FORMAT Template", 404, 73, "FORMAT Template"),
        ("SELECT toUInt8('x')", 400, 6, "Cannot parse"),
        ("SELECT {n:UInt8}", 400, 456, "`n` is not set"),
        ("SELECT intDiv(1, 0)", 500, 153, "Division by zero"),
    ],
)
def test_errors_have_clickhouses_code_a_status_and_one_line(
    http: Http, sql: str, status: int, code: int, said: str
) -> None:
    answer = http(sql)
    assert answer.headers["x-clickhouse-exception-code"] == str(code)
    assert answer.status_code == status
    assert answer.text.startswith(f"Code: {code}. DB::Exception: ")
    assert said in answer.text
    assert "(version 26." in answer.text
    assert answer.text.count("\n") == 1
    assert "SETTINGS readonly = 1" not in answer.text


def test_after_an_error_the_next_answer_is_clean(http: Http) -> None:
    for _ in range(10):
        assert http("SELECT number, intDiv(1, number - 70000) FROM numbers(90000)").status_code in (200, 500)
        assert http("SELECT 42").text == "42\n"


@pytest.mark.parametrize(
    ("headers", "given", "status"),
    [
        ({"open": ""}, {}, 401),
        ({"open": "", "Authorization": "Basic " + base64.b64encode(b"x:wrong").decode()}, {}, 403),
        ({"open": "", "Authorization": "Basic nonsense"}, {}, 401),
        ({"open": "", "Authorization": "Bearer wrong"}, {}, 403),
        ({"open": "", "X-ClickHouse-Key": "wrong"}, {}, 403),
        ({"open": ""}, {"user": "x", "password": "wrong"}, 403),
        ({"open": "", "Authorization": f"Basic {base64.b64encode(f'x:{TOKEN}'.encode()).decode()}"}, {}, 200),
        ({"open": "", "Authorization": f"Bearer {TOKEN}"}, {}, 200),
        ({"open": "", "X-ClickHouse-User": "x", "X-ClickHouse-Key": TOKEN}, {}, 200),
        ({"open": ""}, {"user": "x", "password": TOKEN}, 200),
    ],
)
def test_only_who_brings_the_token_is_answered(
    http: Http, headers: dict[str, str], given: dict[str, str], status: int
) -> None:
    answer = http("SELECT 1", headers, **given)
    assert answer.status_code == status
    if status != 200:
        assert answer.headers["x-clickhouse-exception-code"] == "516"
        assert "(AUTHENTICATION_FAILED)" in answer.text
        assert TOKEN not in answer.text


def test_a_wrong_token_is_clickhouses_error_for_a_client(port: int) -> None:
    with pytest.raises(DatabaseError) as refused:
        clickhouse_connect.get_client(host="127.0.0.1", port=port, password="wrong", proxy_path="clickhouse")
    assert refused.value.code == 516


def test_the_statement_may_be_in_the_address_in_the_body_or_in_both(http: Http) -> None:
    assert http(query="SELECT 1 AS a FORMAT CSVWithNames").text == '"a"\n1\n'
    assert http("SELECT 1 AS a FORMAT CSVWithNames").text == '"a"\n1\n'
    assert http("{n:UInt8} AS a FORMAT CSVWithNames", query="SELECT", param_n=5).text == '"a"\n5\n'


def test_the_format_comes_from_the_statement_then_a_header_then_the_address(http: Http) -> None:
    named = {"X-ClickHouse-Format": "CSV"}
    assert http("SELECT 1, 'a'").text == "1\ta\n"
    assert http("SELECT 1, 'a'", default_format="JSONCompactEachRow").json() == [1, "a"]
    assert http("SELECT 1, 'a'", named, default_format="JSONCompactEachRow").text == '1,"a"\n'
    answer = http("SELECT 1, 'a' FORMAT JSONEachRow", named)
    assert answer.json() == {"1": 1, "'a'": "a"}
    assert answer.headers["x-clickhouse-format"] == "JSONEachRow"
    assert answer.headers["content-type"].startswith("application/x-ndjson")


@pytest.mark.parametrize("shape", ["JSON", "CSVWithNames", "Parquet", "PrettyCompact", "JSONEachRow", "TSV", "Native"])
def test_an_answer_of_many_blocks_is_whole_in_every_format(http: Http, client: Client, shape: str) -> None:
    answer = http("SELECT number FROM numbers(100000) SETTINGS max_block_size = 1000", default_format=shape)
    match shape:
        case "JSON":
            assert len(answer.json()["data"]) == 100_000
        case "CSVWithNames" | "JSONEachRow" | "TSV":
            assert answer.text.count("\n") == 100_000 + (shape == "CSVWithNames")
        case "Parquet":
            parquet = importlib.import_module("pyarrow.parquet")
            assert parquet.read_table(io.BytesIO(answer.content)).num_rows == 100_000
        case "PrettyCompact":
            assert answer.text.count("┌") == 1
        case "Native":
            assert sum(row[0] for row in client.query("SELECT number FROM numbers(100000)").result_rows) == 4999950000


def test_headers_tell_query_id_time_zone_and_what_was_read(http: Http) -> None:
    answer = http("SELECT id FROM default.workflow_job", query_id="mine-1", wait_end_of_query=1)
    assert answer.headers["x-clickhouse-query-id"] == "mine-1"
    assert answer.headers["x-clickhouse-timezone"] == "UTC"
    assert answer.headers["x-clickhouse-server-display-name"] == "Build-Eye"
    summary = json.loads(answer.headers["x-clickhouse-summary"])
    assert (summary["result_rows"], summary["result_bytes"]) == (str(JOBS), str(len(answer.content)))
    assert int(summary["read_rows"]) >= JOBS
    assert http("SELECT 1", query_id="not\nmine").headers["x-clickhouse-query-id"] != "not\nmine"


def test_a_database_may_be_chosen_and_the_next_question_is_not_in_it(http: Http) -> None:
    asked = "SELECT count() FROM all_test_runs WHERE file = 'x' AND time_inserted > now() - INTERVAL 1 DAY"
    assert http(asked, database="tests").text == "0\n"
    assert http(asked).status_code == 404
    assert http("SELECT count() FROM workflow_job").text == f"{JOBS}\n"
    assert http("SELECT 1", database="nonsense").headers["x-clickhouse-exception-code"] == "81"


@pytest.mark.parametrize("sql", ["SHOW TABLES FROM tests", "SHOW DATABASES", "DESCRIBE TABLE default.push",
                                 "EXPLAIN SELECT 1", "SHOW CREATE TABLE default.push"])  # fmt: skip
def test_names_and_plans_may_be_asked(http: Http, sql: str) -> None:
    answer = http(sql)
    assert answer.status_code == 200
    assert answer.text.strip()


def test_settings_in_the_address_are_kept_within_ours_and_only_harmless_ones_count(http: Http) -> None:
    asked = "SELECT NULL = 1 AS a, count() FROM numbers(3)"
    assert (
        http(asked, max_execution_time=3600, max_result_rows=0, session_id="s", wait_end_of_query=1).status_code == 200
    )
    over = http("SELECT number FROM numbers(1000)", max_result_rows=10, wait_end_of_query=1)
    assert over.headers["x-clickhouse-exception-code"] == "396"
    quoted = http("SELECT toInt64(1) AS a FORMAT JSONEachRow", output_format_json_quote_64bit_integers=1)
    assert quoted.json() == {"a": "1"}
    for name, value in (("readonly", "0"), ("allow_ddl", "1"), ("nonsense", "1")):
        refused = http("SELECT 1", None, **{name: value})
        assert (refused.status_code == 200) == (name == "readonly")
    assert http("DROP TABLE default.push", readonly=0).headers["x-clickhouse-exception-code"] == "164"


def test_what_the_guard_itself_puts_to_a_statement_it_lets_through_again(http: Http) -> None:
    from buildeye.ask.guard import check

    assert http(check("SELECT 1 UNION ALL SELECT 1", limits=LIMITS).bounded).text == "1\n1\n"


def test_warnings_of_the_guard_are_in_a_header(http: Http) -> None:
    assert "repository_full_name" in http("SELECT count() FROM default.workflow_run").headers["x-build-eye-warning"]


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "br", "gzip;q=0"])
def test_an_answer_is_compressed_as_the_client_takes_it(http: Http, encoding: str) -> None:
    asked = "SELECT number FROM numbers(100000)"
    with httpx2.stream(
        "POST", f"{http.url}?enable_http_compression=1", content=asked, trust_env=False, timeout=LIMIT,
        headers={"Authorization": f"Bearer {TOKEN}", "Accept-Encoding": encoding},
    ) as answer:  # fmt: skip
        raw = b"".join(answer.iter_raw())
        told = answer.headers.get("content-encoding")
    match told:
        case "gzip":
            raw = gzip.decompress(raw)
        case "zstd":
            raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
    assert told == (encoding if encoding in ("gzip", "zstd") else None)
    assert raw.count(b"\n") == 100_000
    assert http(asked, {"Accept-Encoding": "gzip"}).headers.get("content-encoding") is None


def test_a_body_may_be_compressed_and_one_that_only_says_so_is_an_error(http: Http) -> None:
    for name, packed in (("gzip", gzip.compress(b"SELECT 1")), ("zstd", zstandard.compress(b"SELECT 1"))):
        assert http(packed, {"Content-Encoding": name}).text == "1\n"
        assert http(b"SELECT 1", {"Content-Encoding": name}).status_code == 400
    assert http(b"x", {"Content-Encoding": "lz4"}).status_code == 501
    assert http(gzip.compress(b" " * 20_000_000), {"Content-Encoding": "gzip"}).status_code == 413
    assert http("SELECT 1", compress=1).headers["x-clickhouse-exception-code"] == "48"
    assert http(b"\xff\xfe").headers["x-clickhouse-exception-code"] == "62"


def test_what_is_no_text_is_an_error_and_no_bug(port: int, http: Http) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    for address, body, kind in (
        ("?query=SELECT%20%FF", b"", "text/plain"),
        ("?param_x=%FF", b"SELECT 1", "text/plain"),
        (
            "",
            b"--b\r\nContent-Disposition: form-data; name=query\r\n\r\n\xff\r\n--b--\r\n",
            "multipart/form-data; boundary=b",
        ),
        ("", b"nonsense", "multipart/form-data"),
    ):
        answer = httpx2.post(
            f"{http.url}{address}", content=body, headers=bearer | {"Content-Type": kind}, trust_env=False
        )
        assert (answer.status_code, answer.headers["x-clickhouse-exception-code"]) == (400, "62"), address
    for value in ("\u00b2", "\u0661"):
        refused = http("SELECT 1", None, max_execution_time=value)
        assert refused.headers["x-clickhouse-exception-code"] == "164"
    assert (
        httpx2.get(f"{http.url}/", headers={b"Authorization": "Bearer \u00e9".encode()}, trust_env=False).status_code
        == 403
    )


def test_a_sign_of_life_needs_no_token(http: Http) -> None:
    assert httpx2.get(f"{http.url}/ping", trust_env=False).text == "Ok.\n"
    assert http().text == "Ok.\n"
    assert httpx2.get(f"{http.url}/nonsense", trust_env=False).status_code == 404
    assert httpx2.put(http.url, content=b"", trust_env=False).status_code == 404


def test_where_the_warehouse_is_on_a_server_the_door_names_it(tmp_path: Path) -> None:
    place = "http://db.test:8123"
    with closing(open_spool(tmp_path)) as spool:
        app = create_app(spool, None, 1024, now, doors={PATH: elsewhere(place, TOKEN)})
        with serving(app) as url:
            asked = f"{url}{PATH}?query=SELECT+1"
            answer = httpx2.get(asked, auth=("x", TOKEN), trust_env=False)
            assert (answer.status_code, answer.headers["x-clickhouse-exception-code"]) == (501, "48")
            assert place in answer.text
            assert httpx2.get(asked, trust_env=False).status_code == 401


def test_a_slow_question_holds_up_neither_writing_nor_other_questions(http: Http, warehouse: Warehouse) -> None:
    slow: list[httpx2.Response] = []
    asked = "SELECT sum(sipHash64(number)) FROM numbers(100000000000)"
    waiting = threading.Thread(target=lambda: slow.append(Http(int(http.url[17:22]))(asked, max_execution_time=3)))
    waiting.start()
    while not running_now(warehouse, asked):
        pass
    warehouse.write_runs([a_run(100)])
    assert http("SELECT 42").text == "42\n"
    assert running_now(warehouse, asked)
    waiting.join()
    assert (slow[0].status_code, slow[0].headers["x-clickhouse-exception-code"]) == (408, "159")


def test_a_question_ends_in_the_engine_when_who_asked_has_gone(http: Http, warehouse: Warehouse) -> None:
    asked = "SELECT sum(sipHash64(number)) FROM numbers(200000000000)"
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(http.url, content=asked, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=0.5, trust_env=False)
    while running_now(warehouse, asked):
        pass
    assert http("SELECT 42").text == "42\n"


def test_a_stream_that_is_left_early_leaves_the_door_open(http: Http) -> None:
    asked = "SELECT number, repeat('x', 1000) FROM numbers(190000)"
    for _ in range(8):
        with httpx2.stream(
            "POST", http.url, content=asked, headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False
        ) as answer:
            next(answer.iter_raw())
    assert http("SELECT 42").text == "42\n"


def running_now(warehouse: Warehouse, sql: str) -> bool:
    found = warehouse.query("SELECT count() FROM system.processes WHERE startsWith(query, {sql:String})", {"sql": sql})
    return bool(found.rows[0][0])


GO: dict[str, Any] = {
    "default_format": "Native",
    "client_protocol_version": 54460,
    "database": "default",
    "max_execution_time": 60,
}
"""What clickhouse-go, which Grafana's plugin is made with, puts into the address over HTTP."""

VALUES = {
    "UInt8": "7", "Int128": "-5", "Float64": "0.5", "Bool": "true", "String": "'向左'", "FixedString(3)": "'abc'",
    "UUID": "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "IPv4": "'1.2.3.4'", "IPv6": "'::1'", "Date": "'2026-05-28'",
    "DateTime64(3, 'UTC')": "'2026-05-28 12:00:00.5'", "Decimal(20, 2)": "1.5", "Decimal(5, 2)": "1.5",
    "Enum8('a,\\')' = 1, 'b' = 2)": "'b'", "Nullable(String)": "NULL", "Nullable(UInt16)": "3",
    "Array(String)": "['a', 'bc']", "Array(Array(Nullable(String)))": "[['a', NULL], []]", "Array(UInt8)": "[]",
    "LowCardinality(String)": "'x'", "LowCardinality(Nullable(String))": "NULL",
    "Array(LowCardinality(String))": "['x', 'y', 'x']", "Array(LowCardinality(FixedString(2)))": "[]",
    "Map(String, Array(UInt8))": "map('k', [1, 2])", "Map(LowCardinality(String), String)": "map('k', 'v')",
    "Tuple(UInt8, String)": "(1, 'x')", "Tuple(`a b` UInt8, s Array(String))": "(1, ['x'])",
    "Tuple(LowCardinality(String), LowCardinality(String))": "('a', 'b')", "Nested(a UInt8, b String)": "[(1, 'x')]",
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_native_has_what_newer_clients_expect_in_every_column(http: Http, kind: str, rows: int) -> None:
    written = kind.replace("'", "\\'") if "Enum" not in kind else kind.replace("\\", "\\\\").replace("'", "\\'")
    column = f"CAST({VALUES[kind]}, '{written}')"
    varied = f"if(number % 3 = 0, {column}, {column})"
    asked = f"SELECT number AS first, {varied} AS value, 'end' AS last FROM numbers({rows})"
    answer = http(asked, None, **GO)
    assert answer.status_code == 200, answer.text
    names, _, read = read_blocks(answer.content)
    assert names == ["first", "value", "last"]
    assert [(row[0], row[2]) for row in read] == [(number, "end") for number in range(rows)]
    plain = read_plain(http(asked + " FORMAT Native").content)
    assert [row[1] for row in read] == [row[1] for row in plain]


def test_grafanas_first_question_and_its_answer(http: Http) -> None:
    names, types, rows = read_blocks(
        http("SELECT displayName(), version(), revision(), timezone()", None, **GO).content
    )
    assert names == ["displayName()", "version()", "revision()", "timezone()"]
    assert types == ["String", "String", "UInt32", "String"]
    assert (rows[0][0], rows[0][3]) == ("Build-Eye", "UTC")
    with httpx2.stream(
        "POST", f"{http.url}?{urlencode(GO | {'enable_http_compression': 1})}", content="SELECT 1", trust_env=False,
        headers={"Authorization": "Basic " + base64.b64encode(f"grafana:{TOKEN}".encode()).decode(),
                 "Accept-Encoding": "gzip"},
    ) as answer:  # fmt: skip
        assert read_blocks(gzip.decompress(b"".join(answer.iter_raw())))[2] == [(1,)]
    many = http("SELECT number, toString(number) FROM numbers(150000)", None, **GO)
    assert len(read_blocks(many.content)[2]) == 150_000


def test_a_type_whose_bytes_are_not_known_is_an_error_and_no_nonsense(http: Http) -> None:
    refused = http("SELECT CAST(1, 'Variant(UInt8, String)') AS v", None, **GO)
    assert refused.headers["x-clickhouse-exception-code"] == "48"
    assert "convert the column to String" in refused.text
    assert http("SELECT CAST(1, 'Variant(UInt8, String)') AS v FORMAT JSONEachRow").json() == {"v": 1}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_asks_it(http: Http, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {TOKEN}\n")
    command = ["curl", "--silent", "--show-error", "--noproxy", "*", "--netrc-file", str(netrc)]
    asked = [f"{http.url}?param_n=2&default_format=CSVWithNames", "--data-binary", "SELECT {n:UInt8} * 21 AS answer"]
    done = subprocess.run([*command, *asked], capture_output=True, text=True, timeout=LIMIT, check=True)
    assert done.stdout == '"answer"\n42\n'
