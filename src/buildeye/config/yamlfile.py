"""A YAML file as plain values that remember the line they stand on, so that a complaint can point at it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from buildeye.config.secrets import masked
from buildeye.model import UsageError

KeyPath = tuple[str | int, ...]
MAX_DEPTH = 12  # the deepest setting is on level 4; deeper nodes need no line of their own


@dataclass(frozen=True, slots=True)
class YamlFile:
    """The values of a file and where they stand; lines count from 1."""

    name: str
    data: dict[Any, Any]
    lines: dict[KeyPath, int] = field(default_factory=dict)
    repeated: tuple[KeyPath, ...] = ()

    def where(self, path: KeyPath) -> str:
        """`config.yaml line 14` for a value, or for the nearest section around it that has a line."""
        for length in range(len(path), 0, -1):
            if (line := self.lines.get(path[:length])) is not None:
                return f"{self.name} line {line}"
        return self.name


def read_yaml(path: Path) -> YamlFile:
    """Read a file whose top level is a mapping.

    UsageError: it cannot be read, is not UTF-8, is not YAML (with its position), or is no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path.name} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name another file or remove the option") from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(_not_yaml(path.name, text, error)) from error
    if root is None or data is None:
        return YamlFile(path.name, {})
    if not isinstance(data, dict):
        line = root.start_mark.line + 1
        raise UsageError(f"{path.name} line {line}: a section such as monitoring: is expected here, not a bare value")
    lines: dict[KeyPath, int] = {}
    repeated: list[KeyPath] = []
    for place, line in _places(root, ()):
        if place in lines and isinstance(place[-1], str):
            repeated.append(place)
        lines[place] = line
    return YamlFile(path.name, data, lines, tuple(repeated))


def _places(node: yaml.Node, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    if len(path) >= MAX_DEPTH:
        return
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield (*path, key.value), key.start_mark.line + 1
                yield from _places(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*path, index), value.start_mark.line + 1
            yield from _places(value, (*path, index))


def _not_yaml(name: str, text: str, error: yaml.YAMLError | ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return f"{name} is nested too deep to be read; settings need four levels"
    problem = " ".join(str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).split())
    mark = getattr(error, "problem_mark", None)
    place = ""
    if mark is not None:
        place = f" line {mark.line + 1}, column {mark.column + 1}"
    elif isinstance(error, yaml.reader.ReaderError) and isinstance(error.position, int):
        place = f" line {text.count(chr(10), 0, error.position) + 1}"
    return f"{name}{place}: not valid YAML: {masked(problem)}"
