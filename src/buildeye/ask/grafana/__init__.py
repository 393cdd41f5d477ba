"""Asking through a Grafana: its data sources, SQL for a ClickHouse behind it, PromQL for a Prometheus behind it.

`frames` and `failures` read what it answers, `wire` is the way to it, `literals` writes parameters into SQL.
"""

from buildeye.ask.grafana.client import Grafana

__all__ = ["Grafana"]
