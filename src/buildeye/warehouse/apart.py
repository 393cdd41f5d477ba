"""An embedded warehouse that is asked in a process of its own, which ends with the questions.

The engine keeps some threads and files of its own for as long as a process lives, however often a folder is closed. Who
stays for days and lets go of the folder between questions would run out of both; here they go with the child, and its
memory too. The child is asked over its standard input and answers over its standard output; its address is no argument.
"""

import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from buildeye.model import BuildEyeError, OutsideError, UsageError
from buildeye.warehouse.failures import OverLimitError
from buildeye.warehouse.store import Result, Warehouse

_LENGTH: Final = struct.Struct(">Q")
_ENDS_SECONDS: Final = 10


class ApartWarehouse(Warehouse):
    """The warehouse at `dsn`, open in a child: it can be asked, and is not written to. Close it, or use it in `with`.

    UsageError, OutsideError: as `open_to_ask` raises, which opens it there.
    """

    def __init__(self, dsn: str, data_dir: Path, *, retention_days: int | None = None) -> None:
        self._lock = threading.Lock()
        self._child = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for who asks; the child ends when its input does
        )
        try:
            place = self._told("open", dsn, str(data_dir), retention_days)
        except BaseException:
            self.close()
            raise
        super().__init__(_Unwritten(), place)  # type: ignore[arg-type]

    def ask(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        """See `Warehouse.ask`."""
        rows: list[dict[str, Any]] = self._told("ask", name, parameters)
        return rows

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Result:
        """See `Warehouse.query`."""
        result: Result = self._told("query", sql, dict(parameters or {}))
        return result

    def close(self) -> None:
        """End the child, and with it all that the engine holds; the second time does nothing."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with suppress(OSError):  # a child that is gone takes nothing more
                    pipe.close()
        try:
            self._child.wait(_ENDS_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _told(self, *asked: Any) -> Any:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        with self._lock:
            try:
                _send(self._child.stdin, asked)
                said = _received(self._child.stdout)
            except (OSError, ValueError):
                said = None
        if said is None:
            raise OutsideError("the process that asks the warehouse has ended; ask again, and for less at once")
        kind, value = said
        if kind != "answer":
            raise _raised(kind, value)
        return value


class _Unwritten:
    """In place of a client of the engine, which this process has none of."""

    def __getattr__(self, name: str) -> Any:
        raise UsageError("this warehouse is open for questions only; nothing can be written to it")


def _raised(kind: str, value: tuple[Any, ...]) -> BuildEyeError:
    kinds = {"OverLimitError": OverLimitError, "UsageError": UsageError}
    error: BuildEyeError = kinds.get(kind, OutsideError)(*value)
    return error


def _send(pipe: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _received(pipe: IO[bytes]) -> Any:
    """What the other side sent; None when it has ended."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = pipe.read(length)
    return pickle.loads(data) if len(data) == length else None  # noqa: S301 - our own child's


def _answer() -> None:
    """The child: open, and answer until nobody asks any more. Whatever else is printed goes to standard error."""
    from buildeye.warehouse.connection import open_to_ask

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    warehouse: Warehouse | None = None
    while (asked := _received(questions)) is not None:
        try:
            if warehouse is None:
                _, dsn, data_dir, retention_days = asked
                warehouse = open_to_ask(dsn, Path(data_dir), retention_days=retention_days)
                said: tuple[str, Any] = ("answer", warehouse.place)
            elif asked[0] == "ask":
                said = ("answer", warehouse.ask(asked[1], **asked[2]))
            else:
                said = ("answer", warehouse.query(asked[1], asked[2]))
        except BuildEyeError as error:
            more = (error.code, error.reason) if isinstance(error, OverLimitError) else ()
            said = (type(error).__name__, (str(error), *more))
        except Exception as error:  # noqa: BLE001 - who asks gets a sentence, and may ask on
            said = ("OutsideError", (f"a bug in build-eye: {type(error).__name__} while the warehouse was asked",))
        _send(answers, said)
    if warehouse is not None:
        warehouse.close()


if __name__ == "__main__":
    _answer()
