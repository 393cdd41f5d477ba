"""config.yaml, then the environment, then options, into one Settings; every complaint says where to mend it."""

import difflib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from buildeye.config.fields import Section, names_in_address
from buildeye.config.secrets import MASK, is_secret_key, masked
from buildeye.config.settings import Settings
from buildeye.config.yamlfile import KeyPath, YamlFile, read_yaml
from buildeye.model import UsageError

DEFAULT_PATH = Path("config/config.yaml")
PREFIX = "BUILD_EYE_"
DEBUG = "BUILD_EYE_DEBUG"  # shows tracebacks; not a setting
TOKENS = {
    "github_token": "GITHUB_TOKEN",
    "archive_token": "ARCHIVE_TOKEN",
    "prometheus_token": "PROMETHEUS_TOKEN",
    "webhook_secret": "GITHUB_WEBHOOK_SECRET",
}
PAGES = {"prometheus_token": "prometheus", "webhook_secret": "webhooks"}  # of docs/; the others: token-setup
PLAIN_VARIABLES: dict[str, KeyPath] = {
    "TARGET_REPO_OWNER": ("target_repository", "owner"),
    "TARGET_REPO_NAME": ("target_repository", "repo"),
}
LONGEST_SHOWN = 60  # characters of a wrong value that a message repeats


@dataclass
class _Draft:
    """Values on their way to Settings, and for each that is not from the file, who set it."""

    file: YamlFile
    values: dict[str, Any]
    setters: dict[KeyPath, str] = field(default_factory=dict)

    def put(self, path: KeyPath, value: object, setter: str) -> None:
        here = self.values
        for key in path[:-1]:
            if not isinstance(here.get(str(key)), dict):
                here[str(key)] = {}
            here = here[str(key)]
        here[str(path[-1])] = value
        self.setters[path] = setter

    def setter_of(self, path: KeyPath) -> str | None:
        return next((self.setters[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.setters), None)


def load_settings(
    path: Path | None,
    environ: Mapping[str, str],
    warn: Callable[[str], None],
    overrides: Mapping[str, object] | None = None,
) -> Settings:
    """Settings from a file, the environment and `overrides`; the later wins.

    `path` None means `config/config.yaml` when that exists, else defaults. `overrides` are dotted keys
    (`monitoring.lookback_hours`) as options set them. `warn` gets one sentence for each key that is ignored.
    UsageError: a named file does not exist or cannot be read, or values are wrong (all of them, one a line).
    """
    file = _read(path)
    draft = _Draft(file, _known_part(file, file.data, Settings, (), warn))
    for place in file.repeated:
        warn(f"{file.where(place)}: {_dotted(place)} is set a second time here; only this one counts")
    _take_environment(draft, environ, warn)
    for dotted, value in (overrides or {}).items():
        draft.put(tuple(dotted.split(".")), value, "command line")
    _leave_old_address(draft)
    draft.values |= _tokens(environ)
    try:
        return Settings.model_validate(draft.values)
    except ValidationError as error:
        complaints = [_complaint(draft, detail["loc"]) for detail in error.errors(include_url=False)]
        raise UsageError("\n".join(dict.fromkeys(complaints))) from None


def setting_keys() -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Every key a file may set with its field, sections left out, in the order of `Settings`."""
    return _leaves(Settings, ())


def variable_of(path: KeyPath) -> str:
    """The environment variable that sets a key: `BUILD_EYE_MONITORING__LOOKBACK_HOURS`."""
    return PREFIX + "__".join(str(key).upper() for key in path)


def _read(path: Path | None) -> YamlFile:
    if path is not None:
        if not path.exists():
            raise UsageError(f"there is no configuration file {path}; name one that exists or leave the option out")
        return read_yaml(path)
    return read_yaml(DEFAULT_PATH) if DEFAULT_PATH.exists() else YamlFile("defaults", {})


def _leaves(model: type[Section], path: KeyPath) -> Iterator[tuple[KeyPath, FieldInfo]]:
    for name, info in model.model_fields.items():
        inner = _section_of(info)
        if inner is not None:
            yield from _leaves(inner, (*path, name))
        elif name not in TOKENS:
            yield (*path, name), info


def _section_of(info: FieldInfo) -> type[Section] | None:
    kind = info.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def _known_part(
    file: YamlFile, given: Mapping[Any, Any], model: type[Section], path: KeyPath, warn: Callable[[str], None]
) -> dict[str, Any]:
    """What of `given` are settings; empty values count as not set, and each other key is warned of."""
    known: dict[str, Any] = {}
    for key, value in given.items():
        place = (*path, str(key))
        info = model.model_fields.get(str(key))
        if str(key) in TOKENS and not path:
            warn(f"{file.where(place)}: {key} is ignored; a token belongs in the environment: {TOKENS[key]}")
        elif info is None:
            warn(f"{file.where(place)}: {_unknown(place)}")
        elif (inner := _section_of(info)) is not None and isinstance(value, dict):
            known[key] = _known_part(file, value, inner, place, warn)
        elif value is not None:
            known[key] = value
    return known


def _unknown(path: KeyPath) -> str:
    name = masked(_dotted(path))
    known = {_dotted(keys): keys for keys, _ in setting_keys()}
    same_key = [dotted for dotted, keys in known.items() if keys[-1] == path[-1]]
    siblings = [dotted for dotted, keys in known.items() if keys[:-1] == path[:-1]]
    nearest = (
        same_key
        or difflib.get_close_matches(name, siblings, n=1)
        or difflib.get_close_matches(name, [*known, *Settings.model_fields.keys() - TOKENS.keys()], n=1)
    )
    hint = f"; did you mean {nearest[0]}?" if nearest else "; see docs/configuration.md"
    return f"{name} is not a setting and is ignored{hint}"


def _take_environment(draft: _Draft, environ: Mapping[str, str], warn: Callable[[str], None]) -> None:
    known = {variable_of(path): path for path, _ in setting_keys()}
    for name, path in {**PLAIN_VARIABLES, **known}.items():
        if value := environ.get(name, "").strip():
            draft.put(path, value, f"environment {name}")
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known and name != DEBUG:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; see docs/configuration.md"
            warn(f"environment {name} is not a setting and is ignored{hint}")


def _leave_old_address(draft: _Draft) -> None:
    """An owner or repo set from outside makes the address in the file one of another repository: drop it."""
    for section in ("target_repository", "archive_repository"):
        moved = any((section, key) in draft.setters for key in ("owner", "repo"))
        values = draft.values.get(section)
        if moved and isinstance(values, dict) and (section, "url") not in draft.setters:
            url = values.pop("url", "")
            draft.values[section] = (names_in_address(url) if isinstance(url, str) else {}) | values


def _tokens(environ: Mapping[str, str]) -> dict[str, SecretStr]:
    tokens = {}
    for name, variable in TOKENS.items():
        value = environ.get(variable, "").strip()
        sent = name != "webhook_secret"  # in headers, which hold less than what is only compared
        if not (all(" " < character <= "~" for character in value) if sent else value.isprintable()):
            page = PAGES.get(name, "token-setup")
            kind = "token" if sent else "secret"
            raise UsageError(
                f"environment {variable} holds characters that no {kind} has; copy it again, see docs/{page}.md"
            )
        if value:
            tokens[name] = SecretStr(value)
    return tokens


def _complaint(draft: _Draft, loc: KeyPath) -> str:
    path, allowed = _field_at(loc)
    where = draft.setter_of(path) or draft.file.where(path)
    value: Any = draft.values
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return f"{where}: {_dotted(path)} is missing; {allowed}"
    return f"{where}: {_dotted(path)} is {_shown(path, value)}; {allowed}"


def _field_at(loc: KeyPath) -> tuple[KeyPath, str]:
    """The part of an error's place that names settings (and an entry of a list), and what is allowed there."""
    model: type[Section] | None = Settings
    allowed, length = "see docs/configuration.md", 0
    for key in loc:
        if isinstance(key, int):
            length += 1
            break
        if model is None or key not in model.model_fields:
            break
        info = model.model_fields[key]
        extra = info.json_schema_extra
        allowed = str(extra["allowed"]) if isinstance(extra, dict) and "allowed" in extra else allowed
        model, length = _section_of(info), length + 1
    return loc[:length], allowed


def _dotted(path: KeyPath) -> str:
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def _shown(path: KeyPath, value: object) -> str:
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
