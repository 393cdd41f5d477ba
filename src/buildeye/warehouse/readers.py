"""Reading an embedded warehouse beside whoever writes: handles of the same engine, each with a session of its own.

A slow question on one handle holds up no other, and what sticks to a session (a database, a setting, rows of a query
that failed) never reaches the handle that writes. What a statement may do is the caller's affair: guard it before.
"""

import re
import threading
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

HANDLES: Final = 4
"""Questions that are answered at once; more would only share the same processors."""

STREAMED: Final = frozenset(
    ("bsoneachrow", "csv", "jsoncompacteachrow", "jsoneachrow", "jsonlines", "jsonstringseachrow", "msgpack", "native",
     "ndjson", "rowbinary", "tabseparated", "tabseparatedraw", "tskv", "tsv", "tsvraw")
)  # fmt: skip
"""Formats, in small letters, in which the blocks of an answer one after the other are the answer; the others have a
head or a foot, which the engine would write around every block."""

_BEGINS_QUERY: Final = re.compile(r"[\s(]*(SELECT|WITH)\b", re.IGNORECASE)
_CODE: Final = re.compile(r"Code: (\d+)\. DB::Exception: (.*)", re.DOTALL)
_NAME: Final = re.compile(r" \(([A-Z][A-Z0-9_]+)\)\s*$")
_UNKNOWN: Final = (1001, "STD_EXCEPTION")


class EngineError(Exception):
    """What the engine finds wrong: ClickHouse's code, its name, and the sentence."""

    def __init__(self, code: int, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.name = name

    @classmethod
    def of(cls, error: Exception) -> "EngineError":
        """The error that a message of the driver tells of."""
        text = str(error).split("\n", 1)[0].partition(" (version ")[0]
        if (found := _CODE.search(text)) is None:
            return cls(*_UNKNOWN, text.strip() or "no reason given")
        name = _NAME.search(found[2])
        sentence = _NAME.sub("", found[2]).strip()
        return cls(int(found[1]), name[1] if name else _UNKNOWN[1], sentence)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an answer: bytes in the format asked for, the rows in it, and rows and bytes read for it."""

    data: bytes
    rows: int
    read_rows: int
    read_bytes: int


class Readers:
    """Handles of the engine at `engine` (`Warehouse.engine`), made when they are wanted. Close it before the warehouse.

    Any number of threads may use it; each `answer` has a handle of its own until it is closed.
    """

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._idle: list[_Handle] = []
        self._lock = threading.Lock()
        self._control = _Handle(engine)
        self._closed = False

    def close(self) -> None:
        """Let go of all handles that are idle; those at work follow when their answers are closed."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            self._control.close()
        for handle in idle:
            handle.close()

    def version(self) -> str:
        """The engine's version, such as `26.9.2.1`."""
        with self._lock:
            return self._control.whole("SELECT version()", "TSVRaw", {}).data.decode().strip()

    def answer(
        self, sql: str, shape: str, parameters: Mapping[str, str], database: str = "default", mark: str = ""
    ) -> "Answering":
        """Begin to answer one statement in the format `shape`; `parameters` are ClickHouse's text, as in `param_x`.

        `mark` is what the statement says as its `log_comment`, so that `stop(mark)` finds it.
        """
        with self._lock:
            handle = self._idle.pop() if self._idle else None
        return Answering(self, handle or _Handle(self._engine), sql, shape, parameters, database, mark)

    def stop(self, mark: str) -> None:
        """End the statement with this mark wherever it is; nothing when it is not running. Its thread gets code 394."""
        with self._lock:
            if not self._closed:
                self._control.whole("KILL QUERY WHERE Settings['log_comment'] = {mark:String}", "Null", {"mark": mark})

    def _take_back(self, handle: "_Handle", *, clean: bool) -> None:
        with self._lock:
            keep = clean and not self._closed and len(self._idle) < HANDLES
            if keep:
                self._idle.append(handle)
        if not keep:
            handle.close()


class Answering:
    """An answer on its way: iterate over its parts, and close it however that ended. One thread at a time.

    EngineError comes from the iteration. A handle whose answer failed or was left early is not used again: the engine
    may put what is left of it into the next answer of the session.
    """

    def __init__(
        self, readers: Readers, handle: "_Handle", sql: str, shape: str, parameters: Mapping[str, str], database: str,
        mark: str,
    ) -> None:  # fmt: skip
        self.mark = mark
        self.is_streamed = shape.lower() in STREAMED and _BEGINS_QUERY.match(sql) is not None
        self._readers = readers
        self._handle: _Handle | None = handle
        self._clean = False
        self._parts = self._begin(sql, shape, parameters, database)

    def __iter__(self) -> Iterator[Part]:
        return self._parts

    def close(self) -> None:
        """Give the handle back; the second time does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._parts.close()
            self._readers._take_back(handle, clean=self._clean)

    def _begin(self, sql: str, shape: str, parameters: Mapping[str, str], database: str) -> Generator[Part]:
        handle = self._handle
        assert handle is not None
        handle.use(database)
        if self.is_streamed:
            yield from handle.streamed(sql, shape, parameters)
        else:
            yield handle.whole(sql, shape, parameters)
        self._clean = True


class _Handle:
    """A session of the engine."""

    def __init__(self, engine: str) -> None:
        import chdb

        self._chdb = chdb.connect(engine)
        self._chdb.query("SET session_timezone = 'UTC'")
        self._database = "default"

    def close(self) -> None:
        self._chdb.close()

    def use(self, database: str) -> None:
        if database != self._database:
            self._asked(f"USE `{database}`", "Null", {})
            self._database = database

    def whole(self, sql: str, shape: str, parameters: Mapping[str, str]) -> Part:
        return _part(self._asked(sql, shape, parameters))

    def streamed(self, sql: str, shape: str, parameters: Mapping[str, str]) -> Iterator[Part]:
        answer = None
        try:
            answer = self._chdb.send_query(sql, shape, params=dict(parameters))
            for block in answer:
                yield _part(block)
        except RuntimeError as error:
            raise EngineError.of(error) from None
        finally:
            if answer is not None:
                answer.close()

    def _asked(self, sql: str, shape: str, parameters: Mapping[str, str]) -> Any:
        try:
            return self._chdb.query(sql, shape, params=dict(parameters))
        except RuntimeError as error:
            raise EngineError.of(error) from None


def _part(answer: Any) -> Part:
    return Part(
        bytes(answer.bytes() or b""), answer.rows_read(), answer.storage_rows_read(), answer.storage_bytes_read()
    )
