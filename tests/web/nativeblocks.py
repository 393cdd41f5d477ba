"""A reader of Native blocks as clients of revision 54454 and later read them, written from ClickHouse's description.

Every column is read value by value, so a byte too many or too few anywhere is an error.
"""

import struct
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from clickhouse_connect.datatypes.registry import get_from_name
from clickhouse_connect.driver.exceptions import StreamCompleteException
from clickhouse_connect.driver.query import QueryContext
from clickhouse_connect.driver.transform import NativeTransform


class _Bytes:
    """Bytes as the client's buffer takes them."""

    exception_tag = None
    last_message = None

    def __init__(self, data: bytes) -> None:
        self.gen = iter([data])

    def close(self) -> None:
        pass


def buffer_of(data: bytes) -> Any:
    """The client's own buffer over these bytes: the compiled one, where there is one."""
    try:
        module = import_module("clickhouse_connect.driverc.buffer")
    except ImportError:
        module = import_module("clickhouse_connect.driver.buffer")
    return module.ResponseBuffer(_Bytes(data))


def read_plain(data: bytes) -> list[tuple[Any, ...]]:
    """Rows of Native as the engine writes it."""
    answer: Any = NativeTransform().parse_response(buffer_of(data), QueryContext())
    return [tuple(row) for row in answer.result_rows]


def read_blocks(data: bytes) -> tuple[list[str], list[str], list[tuple[Any, ...]]]:
    """Names, types and rows of all blocks."""
    source = buffer_of(data)
    names: list[str] = []
    types: list[str] = []
    rows: list[tuple[Any, ...]] = []
    while True:
        try:
            first = source.read_bytes(1)
        except StreamCompleteException:
            return names, types, rows
        assert bytes(first) + bytes(source.read_bytes(7)) == b"\x01\x00\x02" + struct.pack("<i", -1) + b"\x00"
        count, many = source.read_leb128(), source.read_leb128()
        names, types, columns = [], [], []
        for _ in range(count):
            names.append(source.read_leb128_str())
            types.append(source.read_leb128_str())
            assert bytes(source.read_bytes(1)) == b"\x00"
            columns.append(_column(source, types[-1], many))
        rows += zip(*columns, strict=True)


def _column(source: Any, kind: str, many: int) -> Sequence[Any]:
    if not many:
        return []
    return list(get_from_name(kind).read_column(source, many, QueryContext()))
