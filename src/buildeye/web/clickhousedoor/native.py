"""ClickHouse's Native format as newer clients want it: with a block's info, and a byte for each column's serialization.

The engine writes Native as revision 0. A client that names `client_protocol_version` 54454 or later expects both; to
put them in, the end of each column must be found. Layouts: ClickHouse's NativeWriter and its serializations.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

CUSTOM_SERIALIZATION: Final = 54454
"""The revision from which on a column says how it is serialized."""
_INFO: Final = b"\x01\x00\x02\xff\xff\xff\xff\x00"
"""A block's info: no overflow rows, no bucket number."""
_ORDINARY: Final = b"\x00"
_WIDTHS: Final = {
    "UInt8": 1, "UInt16": 2, "UInt32": 4, "UInt64": 8, "UInt128": 16, "UInt256": 32,
    "Int8": 1, "Int16": 2, "Int32": 4, "Int64": 8, "Int128": 16, "Int256": 32,
    "Float32": 4, "Float64": 8, "BFloat16": 2, "Bool": 1, "Nothing": 1, "UUID": 16, "IPv4": 4, "IPv6": 16,
    "Date": 2, "Date32": 4, "DateTime": 4, "DateTime32": 4, "DateTime64": 8, "Time": 4, "Time64": 8,
    "Decimal32": 4, "Decimal64": 8, "Decimal128": 16, "Decimal256": 32, "Enum8": 1, "Enum16": 2,
}  # fmt: skip
_POINT: Final = "Tuple(Float64, Float64)"
_NAMED: Final = {
    "Point": _POINT, "Ring": f"Array({_POINT})", "LineString": f"Array({_POINT})",
    "Polygon": f"Array(Array({_POINT}))", "MultiLineString": f"Array(Array({_POINT}))",
    "MultiPolygon": f"Array(Array(Array({_POINT})))",
}  # fmt: skip
_KEY_WIDTHS: Final = (1, 2, 4, 8)
_HAS_KEYS: Final = 1 << 9


class UnknownLayoutError(Exception):
    """A type whose bytes are not known here."""


def with_revision(data: bytes, revision: int) -> bytes:
    """Whole blocks of revision 0 as a client of `revision` reads them. UnknownLayoutError names the type."""
    if revision < CUSTOM_SERIALIZATION:
        return data
    out = bytearray()
    at = 0
    while at < len(data):
        columns, after = _number(data, at)
        rows, after = _number(data, after)
        out += _INFO + data[at:after]
        for _ in range(columns):
            start = after
            _, after = _text(data, start)
            kind, after = _text(data, after)
            out += data[start:after] + _ORDINARY
            end = _end(kind, rows, data, after) if rows else after
            out += data[after:end]
            after = end
        at = after
    return bytes(out)


def head(columns: Sequence[tuple[str, str]], revision: int) -> bytes:
    """A block of no rows, which tells names and types."""
    told = b"".join(_packed(name) + _packed(kind) for name, kind in columns)
    return with_revision(_varint(len(columns)) + _varint(0) + told, revision)


def _end(kind: str, rows: int, data: bytes, at: int) -> int:
    end = _after(kind, rows, data, _after_prefix(kind, at))
    if end > len(data):
        raise UnknownLayoutError(kind)
    return end


def _after_prefix(kind: str, at: int) -> int:
    """What stands before all values: the version of each dictionary within."""
    name, parts = _split(kind)
    if name == "LowCardinality":
        return at + 8
    for part in _inner(name, parts):
        at = _after_prefix(part, at)
    return at


def _after(kind: str, rows: int, data: bytes, at: int) -> int:
    name, parts = _split(kind)
    if (width := _width(name, parts)) is not None:
        return at + width * rows
    match name:
        case "String":
            for _ in range(rows):
                size, at = _number(data, at)
                at += size
            return at
        case "Nullable":
            return _after(parts[0], rows, data, at + rows)
        case "LowCardinality":
            return _after_dictionary(parts[0], rows, data, at)
        case "Array" | "Map" | "Nested":
            inner = parts[0] if name == "Array" else f"Tuple({', '.join(parts)})"
            many = int.from_bytes(data[at + 8 * rows - 8 : at + 8 * rows], "little") if rows else 0
            return _after(inner, many, data, at + 8 * rows)
        case "Tuple":
            for part in _inner(name, parts):
                at = _after(part, rows, data, at)
            return at if parts else at + rows
    return _after(_inner(name, parts)[0], rows, data, at)


def _after_dictionary(kind: str, rows: int, data: bytes, at: int) -> int:
    if not rows:
        return at
    flags = int.from_bytes(data[at : at + 8], "little")
    at += 8
    if flags & _HAS_KEYS:
        keys = int.from_bytes(data[at : at + 8], "little")
        at = _after(_without_nullable(kind), keys, data, at + 8)
    many = int.from_bytes(data[at : at + 8], "little")
    return at + 8 + many * _KEY_WIDTHS[flags & 0xFF]


def _without_nullable(kind: str) -> str:
    name, parts = _split(kind)
    return parts[0] if name == "Nullable" else kind


def _width(name: str, parts: Sequence[str]) -> int | None:
    """Bytes of each value, where all have as many."""
    if name == "FixedString":
        return int(parts[0])
    if name == "Decimal":
        digits = int(parts[0])
        return 4 if digits <= 9 else 8 if digits <= 18 else 16 if digits <= 38 else 32
    return 8 if name.startswith("Interval") else _WIDTHS.get(name)


def _inner(name: str, parts: Sequence[str]) -> tuple[str, ...]:
    """The types within a type."""
    match name:
        case "Array" | "Nullable":
            return tuple(parts)
        case "Tuple" | "Map" | "Nested":
            return tuple(_without_name(part) for part in parts)
        case "SimpleAggregateFunction":
            return (parts[-1],)
        case _ if name in _NAMED:
            return (_NAMED[name],)
        case _ if name == "String" or _width(name, parts) is not None:
            return ()
    raise UnknownLayoutError(name)


def _without_name(part: str) -> str:
    """The type of an element of a tuple, which may have a name before it."""
    named = re.match(r"(?:`(?:[^`\\]|\\.)*`|[A-Za-z_]\w*) (?=\S)", part)
    return part[named.end() :] if named else part


def _split(kind: str) -> tuple[str, tuple[str, ...]]:
    """`Map(String, UInt8)` as its name and its arguments."""
    name, opened, rest = kind.partition("(")
    return name, tuple(_arguments(rest[:-1])) if opened else ()


def _arguments(text: str) -> Iterator[str]:
    depth, start, quote, at = 0, 0, "", 0
    while at < len(text):
        letter = text[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'`\"":
            quote = letter
        elif letter == "," and not depth:
            yield text[start:at].strip()
            start = at + 1
        else:
            depth += (letter == "(") - (letter == ")")
        at += 1
    if text.strip():
        yield text[start:].strip()


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A variable-length number, and where it ends."""
    value, shift = 0, 0
    while (byte := data[at]) & 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    return value | byte << shift, at + 1


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, at = _number(data, at)
    return data[at : at + size].decode(), at + size


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _packed(text: str) -> bytes:
    data = text.encode()
    return _varint(len(data)) + data
