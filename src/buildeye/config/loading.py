"""config.yaml, then the environment, then options, into one Settings; every complaint says where to mend it."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from buildeye.config.complaints import Complainer, dotted, keys_of, known_part
from buildeye.config.fields import names_in_address
from buildeye.config.secrets import masked
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
    "serve_token": "BUILD_EYE_TOKEN",
}
PAGES = {
    "prometheus_token": "prometheus",
    "webhook_secret": "webhooks",
    "serve_token": "clickhouse-door",
}  # of docs/; the others: token-setup
PLAIN_VARIABLES: dict[str, KeyPath] = {
    "TARGET_REPO_OWNER": ("target_repository", "owner"),
    "TARGET_REPO_NAME": ("target_repository", "repo"),
}
_COMPLAINER = Complainer(Settings, "docs/configuration.md", frozenset(TOKENS))


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

    def where(self, path: KeyPath) -> str:
        setters = (self.setters.get(path[:length]) for length in range(len(path), 0, -1))
        return next(filter(None, setters), None) or self.file.where(path)


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
    given = {key: value for key, value in file.data.items() if key not in TOKENS}
    for key in file.data.keys() & TOKENS.keys():
        warn(_ignored(file, (key,)))
    draft = _Draft(file, known_part(Settings, given, lambda place: warn(_ignored(file, place))))
    for place in file.repeated:
        warn(f"{file.where(place)}: {dotted(place)} is set a second time here; only this one counts")
    _take_environment(draft, environ, warn)
    for name, value in (overrides or {}).items():
        draft.put(tuple(name.split(".")), value, "command line")
    _leave_old_address(draft)
    draft.values |= _tokens(environ)
    try:
        return Settings.model_validate(draft.values)
    except ValidationError as error:
        wrong = (detail["loc"] for detail in error.errors(include_url=False))
        complaints = [_COMPLAINER.wrong(draft.values, loc, draft.where) for loc in wrong]
        raise UsageError("\n".join(dict.fromkeys(complaints))) from None


def setting_keys() -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Every key a file may set with its field, sections left out, in the order of `Settings`."""
    return ((path, info) for path, info in keys_of(Settings) if path[0] not in TOKENS)


def variable_of(path: KeyPath) -> str:
    """The environment variable that sets a key: `BUILD_EYE_MONITORING__LOOKBACK_HOURS`."""
    return PREFIX + "__".join(str(key).upper() for key in path)


def _read(path: Path | None) -> YamlFile:
    if path is not None:
        if not path.exists():
            raise UsageError(f"there is no configuration file {path}; name one that exists or leave the option out")
        return read_yaml(path)
    return read_yaml(DEFAULT_PATH) if DEFAULT_PATH.exists() else YamlFile("defaults", {})


def _ignored(file: YamlFile, place: KeyPath) -> str:
    if place[0] in TOKENS and len(place) == 1:
        name = str(place[0])
        return f"{file.where(place)}: {name} is ignored; a token belongs in the environment: {TOKENS[name]}"
    name = masked(dotted(place))
    return f"{file.where(place)}: {name} is not a setting and is ignored{_COMPLAINER.hint(place)}"


def _take_environment(draft: _Draft, environ: Mapping[str, str], warn: Callable[[str], None]) -> None:
    known = {variable_of(path): path for path, _ in setting_keys()}
    for name, path in {**PLAIN_VARIABLES, **known}.items():
        if value := environ.get(name, "").strip():
            draft.put(path, value, f"environment {name}")
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known and name not in (DEBUG, *TOKENS.values()):
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
