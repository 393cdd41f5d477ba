"""What settings are made of: how a field says its default, limits and meaning, and the kinds of values there are."""

import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

NOT_ASKED = "none"


def setting(default: Any, allowed: str, meaning: str, **limits: Any) -> Any:
    """A field: its default, what it may be (told after a wrong value), what it means, and pydantic limits."""
    return Field(default, description=meaning, json_schema_extra={"allowed": allowed}, validate_default=False, **limits)


def counted(default: float, unit: str, least: float, most: float, meaning: str) -> Any:
    """A field for a number of `unit`, from `least` to `most`, both allowed."""
    return setting(default, f"a number of {unit}, {least} to {most}", meaning, ge=least, le=most)


def section(model: type[BaseModel], meaning: str, allowed: str = "a section with keys of its own") -> Any:
    """A field that holds a section; its keys have defaults of their own."""
    return Field(default_factory=model, description=meaning, json_schema_extra={"allowed": allowed})


def _not_truth(value: Any) -> Any:
    """Refuse `yes` where a number is meant; pydantic would take it for 1."""
    if isinstance(value, bool):
        raise ValueError("a number is meant")
    return value


def _listed(value: Any) -> Any:
    """A text as a list: parts between commas, as environment variables need it."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def lowered(value: Any) -> Any:
    """A word in small letters, without space around it."""
    return value.strip().lower() if isinstance(value, str) else value


def _web_address(value: str) -> str:
    """An http(s) address without credentials; empty stays empty."""
    if not value:
        return value
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.password:
        raise ValueError("not a plain http address")
    return value.rstrip("/")


def _web_address_or_none(value: str) -> str:
    """An http(s) address without credentials, or the word `none`; empty stays empty."""
    return value if value == NOT_ASKED else _web_address(value)


def git_address(value: str) -> str:
    """An address git can push to, without a password or token: http(s), ssh, scp form, or a folder."""
    parts = urlsplit(value)
    if parts.password or (parts.scheme in {"http", "https"} and (parts.username or not parts.hostname)):
        raise ValueError("credentials in an address")
    return value


def names_in_address(url: str) -> dict[str, str]:
    """Owner and repo named by the address of a repository on a host; nothing when it has another form."""
    found = re.fullmatch(r"(?:(?:https?|ssh)://[^/]+/|[^/@]+@[^/:]+:)([^/]+)/([^/]+?)(?:\.git)?/?", url)
    return {"owner": found[1], "repo": found[2]} if found else {}


Count = Annotated[int, BeforeValidator(_not_truth)]
Number = Annotated[float, BeforeValidator(_not_truth)]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Folders = Annotated[tuple[Path, ...], BeforeValidator(_listed)]
Address = Annotated[str, AfterValidator(_web_address)]
AddressOrNone = Annotated[str, AfterValidator(_web_address_or_none)]
GITHUB_NAME = r"^[A-Za-z0-9._-]+$"


class Section(BaseModel):
    """What all sections share: frozen, and unknown keys are refused (the loader warns of them before)."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
