"""What is filled into a deploy.yaml when it is used: ${NAME} from the environment, {version} from the deployment."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from buildeye.config.complaints import dotted
from buildeye.config.yamlfile import KeyPath
from buildeye.deploy.spec.model import ServiceSpec
from buildeye.model import UsageError

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACE: Final = re.compile(r"(?<!\$)\{(version|port|commit)\}")
_Fill = Callable[[str], str]


def template(text: str, version: str, port: int | str = "", commit: str = "") -> str:
    """`text` with {version}, {port} and {commit} filled in; other braces, those of ${NAME} and of JSON too, stay."""
    values = {"version": version, "port": str(port), "commit": commit}
    return _PLACE.sub(lambda found: values[found[1]], text)


def for_version(spec: ServiceSpec, version: str, port: int | str = "", commit: str = "") -> ServiceSpec:
    """The spec of one version: filled in are command, directory, environment, hooks and the other commands."""

    def fill(text: str) -> str:
        return template(text, version, port, commit)

    def each(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(fill, words))

    hooks = {name: each(words) for name, words in spec.hooks if isinstance(words, tuple)}
    listen = {name: each(getattr(spec.listen, name)) for name in ("switch_command", "current_command")}
    return spec.model_copy(
        update={
            "command": each(spec.command),
            "directory": fill(spec.directory),
            "environment": {name: fill(text) for name, text in spec.environment.items()},
            "hooks": spec.hooks.model_copy(update=hooks),
            "listen": spec.listen.model_copy(update=listen),
            "canary": spec.canary.model_copy(update={"command": each(spec.canary.command)}),
            "rollback": spec.rollback.model_copy(update={"schema_command": each(spec.rollback.schema_command)}),
        }
    )


def filled(spec: ServiceSpec, environ: Mapping[str, str]) -> ServiceSpec:
    """The spec with each ${NAME} of environment, notify, rate.dsn and rate.url replaced; never store or show it.

    UsageError: a variable is not set; it is named, and nothing of the others.
    """
    if lacking := [f"{dotted(path)} needs {name}" for path, name in missing(spec, environ)]:
        raise UsageError(
            f"{spec.service}: {'; '.join(lacking)}: not set in the supervisor's environment; "
            "set it there and start the supervisor anew"
        )

    def fill(text: str) -> str:
        return _VARIABLE.sub(lambda found: environ[found[1]], text)

    return spec.model_copy(
        update={
            "environment": {name: fill(text) for name, text in spec.environment.items()},
            "notify": tuple(map(fill, spec.notify)),
            "rate": spec.rate.model_copy(update={"dsn": fill(spec.rate.dsn), "url": fill(spec.rate.url)}),
        }
    )


def missing(spec: ServiceSpec, environ: Mapping[str, str]) -> Iterator[tuple[KeyPath, str]]:
    """Each key with a variable that it names and that is not set."""
    for path, text in _fillable(spec):
        for name in dict.fromkeys(_VARIABLE.findall(text)):
            if name not in environ:
                yield path, name


def _fillable(spec: ServiceSpec) -> Iterator[tuple[KeyPath, str]]:
    yield from ((("environment", name), text) for name, text in spec.environment.items())
    yield from ((("notify", index), text) for index, text in enumerate(spec.notify))
    yield ("rate", "dsn"), spec.rate.dsn
    yield ("rate", "url"), spec.rate.url
