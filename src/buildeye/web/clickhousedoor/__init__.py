"""The ClickHouse door: the embedded warehouse as a ClickHouse server's HTTP interface shows it, for reading only.

Whatever speaks that protocol (`clickhouse-connect`, curl, Grafana's plugin) asks here with a token. Every statement
goes through the query guard, but for the saved questions we ship and what clients ask to introduce themselves.
"""

from buildeye.web.clickhousedoor.door import PATH, ClickHouseDoor, elsewhere

__all__ = ["PATH", "ClickHouseDoor", "elsewhere"]
