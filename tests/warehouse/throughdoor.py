"""An embedded warehouse that is filled itself and asked through its ClickHouse door, as commands beside a server do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from buildeye.warehouse import Result, Warehouse, open_to_ask
from tests.web.answering import TOKEN, answering


class ThroughDoor(Warehouse):
    """Writes to one, asks the other."""

    def __init__(self, written: Warehouse, asked: Warehouse) -> None:
        super().__init__(written._client, asked.place)  # type: ignore[arg-type]
        self._asked = asked

    def ask(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        return self._asked.ask(name, **parameters)

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Result:
        written = sql.startswith(("INSERT", "TRUNCATE", "SELECT concat(database"))
        return super().query(sql, parameters) if written else self._asked.query(sql, parameters)


@contextmanager
def through_door(warehouse: Warehouse, folder: Path) -> Iterator[ThroughDoor]:
    """Serve a warehouse that is open, with a spool in `folder`, and open it for questions."""
    with answering(warehouse, folder) as port:
        dsn = f"clickhouse://tests:{TOKEN}@127.0.0.1:{port}/?path=/clickhouse"
        with open_to_ask(dsn, folder) as asked:
            yield ThroughDoor(warehouse, asked)
