"""deploy.yaml into a ServiceSpec, every complaint with its line; and a spec as JSON values for the journal.

A key that is none is an error here: a typo may cost an outage.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from buildeye.config.complaints import Complainer, dotted, known_part
from buildeye.config.secrets import is_secret_key, masked
from buildeye.config.yamlfile import KeyPath, YamlFile, read_yaml
from buildeye.deploy.spec.checks import problems
from buildeye.deploy.spec.filling import missing
from buildeye.deploy.spec.model import ServiceSpec
from buildeye.model import UsageError

DEFAULT_NAME: Final = "deploy.yaml"
_PAGE: Final = "docs/deploy-yaml.md"
_HIDDEN: Final = frozenset({"environment", "notify", "dsn", "url"})
_COMPLAINER: Final = Complainer(ServiceSpec, _PAGE, hidden=_HIDDEN)


def load_spec(path: Path, environ: Mapping[str, str], warn: Callable[[str], None]) -> ServiceSpec:
    """The spec in a file. `warn` gets a sentence for each ${NAME} that `environ` does not set, and for secrets.

    UsageError: the file is not there or cannot be read, or all that is wrong in it, one complaint a line.
    """
    if not path.exists():
        raise UsageError(f"there is no file {path}; build-eye deploy init writes one")
    file = read_yaml(path)
    complaints = [f"{file.where(place)}: {dotted(place)} is set a second time; keep one" for place in file.repeated]

    def unknown(place: KeyPath) -> None:
        name = masked(dotted(place))
        complaints.append(f"{file.where(place)}: {name} is not a key of deploy.yaml{_COMPLAINER.hint(place)}")

    values = known_part(ServiceSpec, file.data, unknown)
    spec = None
    try:
        spec = ServiceSpec.model_validate(values)
    except ValidationError as error:
        wrong = (detail["loc"] for detail in error.errors(include_url=False))
        complaints += [_COMPLAINER.wrong(values, loc, file.where) for loc in wrong]
    if spec is not None:
        complaints += [f"{file.where(place)}: {dotted(place)} {says}" for place, says in problems(spec)]
    if spec is None or complaints:
        raise UsageError("\n".join(dict.fromkeys(complaints)))
    _warn(spec, file, environ, warn)
    return spec


def saved(spec: ServiceSpec) -> dict[str, object]:
    """A spec as JSON values for the journal: ${NAME} as text, and of `notify` only what names a variable so."""
    values = spec.model_dump(mode="json")
    return values | {"notify": [address for address in spec.notify if not _told_in_clear(address)]}


def spec_of(values: Mapping[str, object]) -> ServiceSpec:
    """The spec that was saved; keys that a newer version wrote are left out. UsageError: it is no spec."""
    try:
        return ServiceSpec.model_validate(known_part(ServiceSpec, values, lambda place: None))
    except ValidationError as error:
        keys = sorted({dotted(detail["loc"]) for detail in error.errors(include_url=False)})
        raise UsageError(
            f"the spec that the journal keeps cannot be read by this version ({', '.join(keys)}): deploy anew"
        ) from None


def _warn(spec: ServiceSpec, file: YamlFile, environ: Mapping[str, str], warn: Callable[[str], None]) -> None:
    place: KeyPath
    for place, name in missing(spec, environ):
        warn(f"{file.where(place)}: {dotted(place)} needs the variable {name}, which is not set here")
    for name, text in spec.environment.items():
        if is_secret_key(name) and text and "${" not in text and not _harmless(text):
            place = ("environment", name)
            warn(f"{file.where(place)}: {dotted(place)} is kept in the journal as it stands; ${{{name}}} would not be")
    for index, address in enumerate(spec.notify):
        if _told_in_clear(address):
            place = ("notify", index)
            warn(
                f"{file.where(place)}: {dotted(place)} has no ${{NAME}} for its secret and is not kept in the journal: "
                "it is used only while the supervisor can read this file"
            )


def _told_in_clear(address: str) -> bool:
    """Whether an address of apprise has its token as text; plain web hooks without a password have none."""
    hook = address.partition("://")[0] in {"json", "jsons", "xml", "xmls", "form", "forms", "syslog"}
    return "${" not in address and not (hook and "@" not in address)


def _harmless(text: Any) -> bool:
    return str(text).lower() in {"true", "false"} or str(text).replace(".", "", 1).isdigit()
