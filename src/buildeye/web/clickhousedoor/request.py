"""What a request asks: SQL, parameters, settings, format, and who asks, from wherever ClickHouse's clients put it."""

import base64
import binascii
import gzip
import hmac
import io
import re
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from typing import Final
from urllib.parse import parse_qsl

import zstandard

from buildeye.ask.guard.lexing import words
from buildeye.web.clickhousedoor.faults import (
    AUTHENTICATION_FAILED,
    CANNOT_DECODE,
    NOT_IMPLEMENTED,
    READONLY,
    SYNTAX_ERROR,
    TOO_LARGE,
    DoorError,
)

MOST_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a request's body at most, also when it is unpacked: parameters may hold many ids."""

_OF_TRANSPORT: Final = words(
    "query database default_format user password query_id session_id session_timeout session_check close_session "
    "quota_key role wait_end_of_query buffer_size stacktrace send_progress_in_http_headers "
    "http_headers_progress_interval_ms enable_http_compression http_zlib_compression_level "
    "client_protocol_version cancel_http_readonly_queries_on_client_close add_http_cors_header "
    "http_write_exception_in_output_format http_response_buffer_size log_comment log_queries readonly compress "
    "decompress async_insert wait_for_async_insert max_partitions_per_insert_block date_time_input_format "
    "cast_string_to_dynamic_use_inference connect_timeout receive_timeout send_timeout"
)
"""Names in the address that are no settings of a query, or that change nothing for one that only reads."""
_QUERY_ID: Final = re.compile(r"[\w.:-]{1,100}")
_INSERT: Final = re.compile(r"\s*INSERT\b", re.IGNORECASE)
_ONLY_QUESTIONS: Final = (
    "query refused (not-a-read): it begins with INSERT; only SELECT, WITH, SHOW, DESCRIBE and EXPLAIN may be asked"
)
_NO_COMPRESSED_BLOCKS: Final = (
    "blocks in ClickHouse's own compression are not spoken here: leave compress and decompress out, and ask for gzip "
    "or zstd with enable_http_compression=1"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `settings` are those of the query; `shape` is the format when the statement names none."""

    sql: str
    query_id: str
    database: str = "default"
    shape: str = "TabSeparated"
    parameters: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    revision: int = 0
    waits_for_end: bool = False


def check_token(headers: Mapping[str, str], query: bytes, token: str) -> None:
    """DoorError unless the request carries the token: as a bearer, or as the password of whatever user."""
    given = list(_keys(headers, dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))))
    if not given:
        raise DoorError(
            AUTHENTICATION_FAILED,
            "who asks must bring the token of this server (BUILD_EYE_TOKEN): as password, or as bearer",
            401,
        )
    if not any(hmac.compare_digest(key.encode(), token.encode()) for key in given):
        raise DoorError(AUTHENTICATION_FAILED, "the token is not that of this server (BUILD_EYE_TOKEN)", 403)


def _keys(headers: Mapping[str, str], given: Mapping[str, str]) -> "list[str]":
    """What may be the token, in all places."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    found = [value.strip()] if kind.lower() == "bearer" else []
    if kind.lower() == "basic":
        try:
            found.append(base64.b64decode(value, validate=True).decode().partition(":")[2])
        except (binascii.Error, UnicodeDecodeError):
            found.append("")
    found += [headers["x-clickhouse-key"]] if "x-clickhouse-key" in headers else []
    found += [given["password"]] if "password" in given else []
    return [key for key in found if key]


def read_request(headers: Mapping[str, str], query: bytes, body: bytes) -> Asked:
    """The request that its address, headers and body make. DoorError: it is not one we can answer."""
    body = _unpacked(body, headers.get("content-encoding", ""))
    try:
        given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="utf-8", errors="strict"))
        if headers.get("content-type", "").lower().startswith("multipart/form-data"):
            given |= _form(headers["content-type"], body)
            body = b""
    except ValueError:
        raise DoorError(SYNTAX_ERROR, "the address or the form is no text in UTF-8") from None
    if any(given.get(name, "0") not in ("0", "", "false") for name in ("compress", "decompress")):
        raise DoorError(NOT_IMPLEMENTED, _NO_COMPRESSED_BLOCKS)
    named = given.get("query_id", "")
    settings = {name: value for name, value in given.items() if name not in _OF_TRANSPORT and name[:6] != "param_"}
    return Asked(
        sql=_sql(given.get("query", ""), body),
        query_id=named if _QUERY_ID.fullmatch(named) else str(uuid.uuid4()),
        database=given.get("database") or headers.get("x-clickhouse-database") or "default",
        shape=headers.get("x-clickhouse-format") or given.get("default_format") or "TabSeparated",
        parameters={name[6:]: value for name, value in given.items() if name[:6] == "param_"},
        settings=settings,
        encoding=_encoding(headers.get("accept-encoding", "")) if given.get("enable_http_compression") == "1" else "",
        revision=int(given.get("client_protocol_version", "")[:9])
        if _is_number(given, "client_protocol_version")
        else 0,
        waits_for_end=given.get("wait_end_of_query") == "1",
    )


def _sql(of_address: str, body: bytes) -> str:
    """The statement: what is in the address goes before the body. DoorError: data comes with it."""
    if _INSERT.match(of_address or body[:100].decode("latin-1")):
        raise DoorError(READONLY, _ONLY_QUESTIONS)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise DoorError(SYNTAX_ERROR, "the body is no text in UTF-8") from None
    return f"{of_address}\n{text}" if of_address and text else of_address or text


def _is_number(given: Mapping[str, str], name: str) -> bool:
    return given.get(name, "").isascii() and given.get(name, "").isdigit()


def _encoding(accepted: str) -> str:
    """The best encoding of those a client takes, '' for none."""
    names = {
        part.partition(";")[0].strip().lower() for part in accepted.split(",") if ";q=0" not in part.replace(" ", "")
    }
    return next((name for name in ("zstd", "gzip") if name in names), "")


def _unpacked(body: bytes, encoding: str) -> bytes:
    opened: io.BufferedIOBase | zstandard.ZstdDecompressionReader
    match encoding.lower():
        case "" | "identity":
            return body
        case "gzip":
            opened = gzip.GzipFile(fileobj=io.BytesIO(body))
        case "zstd":
            opened = zstandard.ZstdDecompressor().stream_reader(body)
        case _:
            raise DoorError(NOT_IMPLEMENTED, f"Content-Encoding {encoding[:20]} is not known: send gzip or zstd")
    try:
        unpacked = opened.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        raise DoorError(CANNOT_DECODE, f"the body is not {encoding}, as its Content-Encoding says") from None
    if len(unpacked) > MOST_BYTES:
        raise too_large()
    return unpacked


def too_large() -> DoorError:
    """The refusal of a body that is larger than any query."""
    return DoorError(TOO_LARGE, f"the request is larger than {MOST_BYTES} bytes")


def _form(kind: str, body: bytes) -> dict[str, str]:
    """The fields of a form, which clients send when parameters are long. DoorError: it holds a table of its own."""
    form = message_from_bytes(b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + body, policy=policy.HTTP)
    if not form.is_multipart():
        raise DoorError(SYNTAX_ERROR, "the form cannot be read")
    fields = {}
    for part in form.iter_parts():
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None or not isinstance(name, str):
            raise DoorError(NOT_IMPLEMENTED, "tables sent with a query are not taken: write their rows into the query")
        content = part.get_payload(decode=True)
        fields[name] = content.decode() if isinstance(content, bytes) else ""
    return fields
