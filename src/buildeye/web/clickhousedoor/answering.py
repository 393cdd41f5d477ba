"""From a request to an answer on its way: which statement may run, in which format, and its first bytes."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from tempfile import SpooledTemporaryFile
from typing import Final
from uuid import uuid4

from buildeye.ask.guard import OURS, Allowed, Limits, Refused, check, check_format, settings_beside
from buildeye.ask.guard.tables import SYSTEM_TABLES
from buildeye.warehouse.readers import Answering, EngineError, Part, Readers
from buildeye.warehouse.store import saved_queries, saved_query
from buildeye.web.clickhousedoor.faults import (
    NOT_IMPLEMENTED,
    UNKNOWN_DATABASE,
    DoorError,
    of_engine,
    of_guard,
)
from buildeye.web.clickhousedoor.handshake import stand_in
from buildeye.web.clickhousedoor.native import UnknownLayoutError, head, with_revision
from buildeye.web.clickhousedoor.request import Asked

PIECE_BYTES: Final = 1024 * 1024
"""Bytes of an answer that are waited for before its status is sent; and of each piece after that."""
IN_MEMORY: Final = 8 * 1024 * 1024
"""Bytes of an answer whose end is waited for that stay in memory; more go to a temporary file."""

_FORMAT: Final = re.compile(r"\s+FORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_OF_STRANGERS: Final = ("readonly", "max_result_rows", "max_result_bytes")


@dataclass(slots=True)
class Told:
    """What an answer came to: rows and bytes read, and rows and bytes answered."""

    read_rows: int = 0
    read_bytes: int = 0
    rows: int = 0
    size: int = 0

    def add(self, part: Part, size: int) -> None:
        """Count one more part."""
        self.read_rows += part.read_rows
        self.read_bytes += part.read_bytes
        self.rows += part.rows
        self.size += size


def statement_of(asked: Asked, limits: Limits) -> Allowed:
    """The statement that may run for a request, with settings and format. DoorError: none may."""
    if asked.database not in OURS.names and asked.database not in SYSTEM_TABLES:
        raise DoorError(UNKNOWN_DATABASE, f"there is no database {asked.database[:60]} here; see SHOW DATABASES")
    tail = _FORMAT.search(asked.sql)
    bare = asked.sql[: tail.start()] if tail else asked.sql
    shape = tail[1] if tail else None
    try:
        if (known := stand_in(bare)) is not None:
            allowed = Allowed(known, (), limits.settings(), shape)
        elif _is_saved(bare):
            allowed = Allowed(bare, (), _of_ours(limits), shape)
        else:
            allowed = check(asked.sql, tables=replace(OURS, default_database=asked.database), limits=limits)
        check_format(allowed.format or asked.shape)
        settings = settings_beside(asked.settings, allowed.settings)
    except Refused as refused:
        raise of_guard(refused) from None
    return replace(allowed, settings=settings, format=allowed.format or asked.shape)


@dataclass(slots=True)
class Answer:
    """An answer on its way, taken by one thread after the other; `stop` may come at any time."""

    readers: Readers
    asked: Asked
    allowed: Allowed
    told: Told = field(default_factory=Told)
    mark: str = field(default_factory=lambda: uuid4().hex)
    _answering: Answering | None = None
    _pieces: Iterator[tuple[bytes, bool]] = field(default_factory=lambda: iter(()))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> tuple[bytes, bool]:
        """The first bytes, and whether they are all. DoorError: the engine refuses it, or failed."""
        bounded = replace(self.allowed, settings={**self.allowed.settings, "log_comment": self.mark}).bounded
        asked = self.asked
        with self._lock:
            self._answering = self.readers.answer(bounded, self.shape, asked.parameters, asked.database, self.mark)
        self._pieces = self._all()
        return self.step()

    @property
    def shape(self) -> str:
        """The format."""
        return self.allowed.format or "TabSeparated"

    def step(self) -> tuple[bytes, bool]:
        """The next bytes, and whether they are the last. DoorError: it broke off."""
        with self._lock:
            return next(self._pieces)

    def stop(self) -> None:
        """Have the engine end the statement, whatever it is doing."""
        self.readers.stop(self.mark)

    def close(self) -> None:
        """Let the handle go."""
        with self._lock:
            if self._answering is not None:
                self._answering.close()

    def _all(self) -> Iterator[tuple[bytes, bool]]:
        assert self._answering is not None
        gathered: list[bytes] = []
        try:
            for part in self._answering:
                data = self._data(part)
                self.told.add(part, len(data))
                gathered.append(data)
                if sum(map(len, gathered)) >= PIECE_BYTES:
                    yield b"".join(gathered), False
                    gathered.clear()
            if self.told.size == 0 and self.shape.lower() == "native":
                gathered.append(self._columns())
        except EngineError as error:
            raise of_engine(error) from None
        except UnknownLayoutError as error:
            raise DoorError(
                NOT_IMPLEMENTED, f"Native with type {error} is not spoken to this client: convert the column to String"
            ) from None
        yield b"".join(gathered), True

    def _data(self, part: Part) -> bytes:
        return with_revision(part.data, self.asked.revision) if self.shape.lower() == "native" else part.data

    def _columns(self) -> bytes:
        """The block without rows that a server sends where the embedded engine sends nothing."""
        if self._answering is None or not self._answering.is_streamed:
            return b""
        asked = f"DESCRIBE TABLE (\n{self.allowed.statement}\n) SETTINGS readonly = 1"
        describing = self.readers.answer(asked, "JSONCompactEachRow", self.asked.parameters, self.asked.database)
        try:
            lines = b"".join(part.data for part in describing).splitlines()
        except EngineError:
            return b""
        finally:
            describing.close()
        described = [json.loads(line) for line in lines]
        return head([(str(row[0]), str(row[1])) for row in described], self.asked.revision)


def gathered(answer: Answer, first: bytes) -> "SpooledTemporaryFile[bytes]":
    """The whole answer, after its first bytes; on disk when it is large. DoorError: it broke off."""
    whole = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  whoever sends it closes it
    try:
        whole.write(first)
        is_last = False
        while not is_last:
            piece, is_last = answer.step()
            whole.write(piece)
    except BaseException:
        whole.close()
        raise
    whole.seek(0)
    return whole


def _is_saved(statement: str) -> bool:
    """Whether it is one of the saved questions we ship, word for word: those are known, whoever asks them."""
    return statement.strip(" \n;") in _shipped()


@cache
def _shipped() -> frozenset[str]:
    return frozenset(saved_query(name).strip(" \n;") for name in saved_queries())


def _of_ours(limits: Limits) -> Mapping[str, int | str]:
    """Our own questions only read, have settings of their own and answer all they must; time and memory count."""
    return {name: value for name, value in limits.settings().items() if name not in _OF_STRANGERS}
