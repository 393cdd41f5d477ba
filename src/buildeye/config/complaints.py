"""What is wrong with a file of settings, as sentences: the place, the key, its value, and what may stand there.

It works for any model made of `fields.Section`: `config.yaml` (Settings) and `deploy.yaml` alike. The text of what is
allowed is that of the field, so message, limit and documentation cannot drift apart.
"""

import difflib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_origin

from pydantic.fields import FieldInfo

from buildeye.config.fields import Section
from buildeye.config.secrets import MASK, is_secret_key, masked
from buildeye.config.yamlfile import KeyPath

LONGEST_SHOWN: Final = 60  # characters of a wrong value that a message repeats


def section_of(info: FieldInfo) -> type[Section] | None:
    """The section a field holds; None where it holds a value."""
    kind = info.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def allowed_of(info: FieldInfo) -> str:
    """What a field may be, as it says itself; empty where it does not."""
    extra = info.json_schema_extra
    return str(extra["allowed"]) if isinstance(extra, dict) and "allowed" in extra else ""


def keys_of(model: type[Section], path: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Every key that holds a value with its field, sections left out, in the order of the model."""
    for name, info in model.model_fields.items():
        inner = section_of(info)
        if inner is not None:
            yield from keys_of(inner, (*path, name))
        else:
            yield (*path, name), info


def known_part(
    model: type[Section], given: Mapping[Any, Any], unknown: Callable[[KeyPath], None], path: KeyPath = ()
) -> dict[str, Any]:
    """What of `given` are keys of the model; empty values count as not set, and `unknown` is told each other key."""
    known: dict[str, Any] = {}
    for key, value in given.items():
        place = (*path, str(key))
        info = model.model_fields.get(str(key))
        if info is None:
            unknown(place)
        elif (inner := section_of(info)) is not None and isinstance(value, dict):
            known[str(key)] = known_part(inner, value, unknown, place)
        elif value is not None:
            known[str(key)] = value
    return known


def dotted(path: KeyPath) -> str:
    """A key as people write it: `monitoring.lookback_hours`, `command[0]`."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


@dataclass(frozen=True, slots=True)
class Complainer:
    """Makes sentences about values for `model`, which `page` documents.

    Keys in `elsewhere` are not set in a file; the values of keys in `hidden` are not shown.
    """

    model: type[Section]
    page: str
    elsewhere: Collection[str] = ()
    hidden: Collection[str] = ()

    def wrong(self, values: Any, loc: KeyPath, where: Callable[[KeyPath], str]) -> str:
        """The sentence for one of pydantic's errors: `values` is what was given, `where` tells who set a key."""
        path, allowed = self._field_at(loc)
        value = values
        for key in path:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return f"{where(path)}: {dotted(path)} is missing; {allowed}"
        told = MASK if any(key in self.hidden for key in path) else shown(path, value)
        return f"{where(path)}: {dotted(path)} is {told}; {allowed}"

    def hint(self, path: KeyPath) -> str:
        """What a key that is none may have meant: `; did you mean monitoring.lookback_hours?`, else where to look."""
        name = masked(dotted(path))
        known = {dotted(keys): keys for keys, _ in keys_of(self.model) if keys[0] not in self.elsewhere}
        same_key = [full for full, keys in known.items() if keys[-1] == path[-1]]
        siblings = [full for full, keys in known.items() if keys[:-1] == path[:-1]]
        sections = self.model.model_fields.keys() - set(self.elsewhere)
        nearest = (
            same_key
            or difflib.get_close_matches(name, siblings, n=1)
            or difflib.get_close_matches(name, [*known, *sections], n=1)
        )
        return f"; did you mean {nearest[0]}?" if nearest else f"; see {self.page}"

    def _field_at(self, loc: KeyPath) -> tuple[KeyPath, str]:
        """The part of an error's place that names settings, or an entry of a list or map; and what is allowed there."""
        model: type[Section] | None = self.model
        allowed, length, maps = f"see {self.page}", 0, False
        for key in loc:
            if isinstance(key, int) or maps:
                length += 1
                break
            if model is None or key not in model.model_fields:
                break
            info = model.model_fields[key]
            allowed = allowed_of(info) or allowed
            model, length = section_of(info), length + 1
            maps = get_origin(info.annotation) is Mapping
        return loc[:length], allowed


def shown(path: KeyPath, value: object) -> str:
    """A value as a message may show it: short, printable, secrets masked."""
    if any(is_secret_key(str(key)) for key in path):
        return MASK
    text = masked(json.dumps(_plain(value), ensure_ascii=False, default=str))
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _plain(value: object, depth: int = 3) -> object:
    """`value` as JSON can show it, secrets masked by key, not deeper than a message needs."""
    if isinstance(value, dict):
        inner = value.items() if depth else ()
        return {str(k): MASK if is_secret_key(str(k)) else _plain(v, depth - 1) for k, v in inner}
    if isinstance(value, list | tuple):
        return [_plain(entry, depth - 1) for entry in value] if depth else []
    return value
