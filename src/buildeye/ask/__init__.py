"""Servers that are asked for numbers: a Prometheus today. What an expression means is worked out there, never here."""

from buildeye.ask.prometheus import Prometheus, prometheus_of
from buildeye.ask.series import Point, Series

__all__ = ["Point", "Prometheus", "Series", "prometheus_of"]
