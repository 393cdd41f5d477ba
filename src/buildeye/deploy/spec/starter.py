"""The deploy.yaml that `build-eye deploy init` writes: every key, its default and its meaning, from the model."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

from pydantic.fields import FieldInfo

from buildeye.config.complaints import allowed_of, section_of
from buildeye.config.fields import Section
from buildeye.config.yamlfile import KeyPath
from buildeye.deploy.spec.model import ServiceSpec

_HEAD: Final = """\
# deploy.yaml: how build-eye starts, checks, cuts over and watches this service.
# A line such as "# retain: 2" shows a default; take the # away to change it. All keys: docs/deploy-yaml.md
# {version}, {port} and {commit} are filled in; ${NAME} comes from the supervisor's environment and is never stored.
"""
_FILL_IN: Final = "   # fill in"
_WIDE: Final = 118


def starter(
    service: str, port: int | None = None, command: tuple[str, ...] = (), repository: str = "", socket: str = ""
) -> str:
    """A commented deploy.yaml; of service, command, and port or socket, what is not given is to be filled in."""
    set_here: dict[KeyPath, object] = {("service",): service, ("command",): list(command)}
    if repository:
        set_here["repository",] = repository
    if socket:
        set_here["listen", "socket"] = socket
    else:
        set_here["listen", "port"] = port
    return _HEAD + "\n".join(_lines(ServiceSpec, (), set_here)) + "\n"


def yaml_of(value: object) -> str:
    """A default or value as YAML writes it on one line: JSON, which YAML can read; nothing for None."""
    if value is None:
        return ""
    plain = value.value if isinstance(value, Enum) else value
    if isinstance(plain, str) and plain.isidentifier() and plain not in {"yes", "no", "on", "off", "true", "false"}:
        return plain
    return json.dumps(dict(plain) if isinstance(plain, Mapping) else plain, ensure_ascii=False)


def _lines(model: type[Section], path: KeyPath, set_here: Mapping[KeyPath, object]) -> Iterator[str]:
    indent = "  " * len(path)
    apart = not path
    for name, info in model.model_fields.items():
        place = (*path, name)
        inner = section_of(info)
        if inner is not None:
            apart = not path
            yield ""
            yield from _comment(indent, inner.__doc__ or "")
            yield f"{indent}{name}:"
            yield from _lines(inner, place, set_here)
            continue
        if apart:
            yield ""
        apart = False
        yield from _comment(indent, _told(info))
        if place in set_here:
            given = set_here[place]
            yield f"{indent}{name}: {yaml_of(given)}".rstrip() + ("" if given else _FILL_IN)
        else:
            yield f"{indent}# {name}: {yaml_of(default_of(info))}".rstrip()


def default_of(info: FieldInfo) -> Any:
    """The default of a key."""
    return info.get_default(call_default_factory=True)


def _told(info: FieldInfo) -> str:
    return f"{info.description} ({allowed_of(info)})"


def _comment(indent: str, text: str) -> list[str]:
    start = f"{indent}## "
    return textwrap.wrap(text, _WIDE, initial_indent=start, subsequent_indent=start, break_long_words=False)
