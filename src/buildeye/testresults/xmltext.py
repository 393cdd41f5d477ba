"""Bytes of an XML file, mended where tools commonly break them, so that one odd character does not cost the report.

Test output holds terminal colours, binary bytes and references to characters that XML forbids; many tools copy them as
they are. Nothing that is mended holds a line break, so line numbers stay right.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

_CONTROL: Final = bytes(code for code in range(32) if code not in b"\t\n\r")
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"<\0", b"\0<")
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_UTF8: Final = (b"utf-8", b"utf8", b"us-ascii", b"ascii")
_REFERENCE: Final = re.compile(rb"&#(?:x([0-9A-Fa-f]{1,8})|([0-9]{1,10}));")
_OPEN_REFERENCE: Final = re.compile(rb"&(?:#[0-9A-Fa-fx]{0,11})?\Z")
_NONCHARACTERS: Final = ("\ufffe".encode(), "\uffff".encode())
_REPLACEMENT: Final = "\ufffd".encode()
_HEAD: Final = 256


def mended(chunks: Iterable[bytes]) -> tuple[str | None, Iterator[bytes]]:
    """The encoding to read with (None: what the XML itself says) and the XML without the characters XML forbids.

    Where the encoding is UTF-8, bytes that are none become U+FFFD. UTF-16 is given on as it is.
    """
    stream = iter(chunks)
    head = b""
    while len(head) < _HEAD and (chunk := next(stream, b"")):
        head += chunk
    if head.startswith(_WIDE):
        return None, chain((head,), stream)
    head = head.removeprefix(codecs.BOM_UTF8).lstrip()
    declared = _DECLARED.match(head)
    utf8 = declared is None or declared[1].lower() in _UTF8
    return ("utf-8" if utf8 else None), _allowed(chain((head,), stream), utf8=utf8)


def _allowed(chunks: Iterable[bytes], *, utf8: bool) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace") if utf8 else None
    held = b""
    for chunk in chunks:
        kept = chunk.translate(None, _CONTROL)
        data = held + (decoder.decode(kept).encode() if decoder else kept)
        cut = _OPEN_REFERENCE.search(data, max(0, len(data) - 16))
        held = cut[0] if cut else b""
        yield _without_forbidden(data[: len(data) - len(held)], utf8=utf8)
    yield held + (decoder.decode(b"", final=True).encode() if decoder else b"")


def _without_forbidden(data: bytes, *, utf8: bool) -> bytes:
    if b"&#" in data:
        data = _REFERENCE.sub(_reference, data)
    if utf8:
        for character in _NONCHARACTERS:
            data = data.replace(character, _REPLACEMENT)
    return data


def _reference(found: "re.Match[bytes]") -> bytes:
    """The reference when XML allows its character, else one to U+FFFD."""
    code = int(found[1], 16) if found[1] else int(found[2])
    allowed = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
    return found[0] if allowed else b"&#xFFFD;"
