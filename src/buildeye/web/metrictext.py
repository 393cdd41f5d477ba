"""Numbers as Prometheus reads them: its text format, version 0.0.4."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
GAUGE: Final = "gauge"
COUNTER: Final = "counter"

Sample = tuple[Mapping[str, str], float]
"""Labels and the number."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name, what kind it is, what it says, and a number a set of labels."""

    name: str
    kind: str
    says: str
    samples: tuple[Sample, ...]


def family(name: str, kind: str, says: str, value: float) -> Family:
    """A metric of one number without labels."""
    return Family(name, kind, says, (({}, value),))


def metric_text(families: Iterable[Family]) -> bytes:
    """The page that is scraped."""
    lines: list[str] = []
    for each in families:
        lines += [f"# HELP {each.name} {_escaped(each.says)}", f"# TYPE {each.name} {each.kind}"]
        lines += [f"{each.name}{_labels(labels)} {_number(value)}" for labels, value in each.samples]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _labels(labels: Mapping[str, str]) -> str:
    told = ",".join(f'{name}="{_quoted(value)}"' for name, value in labels.items())
    return f"{{{told}}}" if told else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
