"""The real git, run so that no token can be seen: not in arguments, not in the stored remote, not in an error."""

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from buildeye.model import OutsideError, UsageError

TIMEOUT_SECONDS = 300
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@runtime_checkable
class Secret(Protocol):
    """A secret that shows itself only when asked, such as pydantic's SecretStr."""

    def get_secret_value(self) -> str:
        """The secret itself."""


Token = Secret | str | None


@dataclass(frozen=True, slots=True)
class Git:
    """git in one working copy. `environment` holds the token, which is why it is never shown."""

    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False, default=())

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run git and give what came of it, good or bad, without secrets in it."""
        command = [
            "git",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "gc.autoDetach=false",
            "-c",
            "core.autocrlf=false",
            *arguments,
        ]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OutsideError(
                f"git {arguments[0]} gave no answer in {TIMEOUT_SECONDS} s; check the network and the archive"
            ) from None
        except FileNotFoundError:
            raise UsageError(NO_GIT) from None
        return subprocess.CompletedProcess(arguments, done.returncode, self.hide(done.stdout), self.hide(done.stderr))

    def run(self, *arguments: str) -> str:
        """Run git and give its output; OutsideError with git's own reason when it fails."""
        done = self.ask(*arguments)
        if done.returncode != 0:
            raise OutsideError(f"git {arguments[0]} failed for the archive: {reason(done)}")
        return done.stdout

    def hide(self, text: str) -> str:
        """The text without the secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


NO_GIT = "git is not installed or not on PATH: install git, or switch archiving off"


def open_git(folder: Path, url: str, token: Token, author: tuple[str, str], environment: Mapping[str, str]) -> Git:
    """git for the archive at `url`. UsageError when git is missing or the address cannot be used safely."""
    if shutil.which("git", path=environment.get("PATH", os.defpath)) is None:
        raise UsageError(NO_GIT)
    secret = token.get_secret_value() if isinstance(token, Secret) else token or ""
    _check_address(url, has_token=bool(secret))
    basic = base64.b64encode(f"x-access-token:{secret}".encode()).decode()
    env = {key: value for key, value in environment.items() if not _talks(key)}
    env |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "GIT_AUTHOR_NAME": author[0],
        "GIT_AUTHOR_EMAIL": author[1],
        "GIT_COMMITTER_NAME": author[0],
        "GIT_COMMITTER_EMAIL": author[1],
        "LC_ALL": "C",
    }
    address = urlsplit(url)
    if not secret or address.scheme not in ("http", "https"):
        return Git(folder, env, (secret,) if secret else ())
    _configure(
        env,
        # An empty value first clears what the user's own configuration would add.
        ("credential.helper", ""),
        (f"http.{address.scheme}://{address.netloc}/.extraHeader", ""),
        (f"http.{address.scheme}://{address.netloc}/.extraHeader", f"Authorization: Basic {basic}"),
    )
    return Git(folder, env, (secret, basic))


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """What git itself says went wrong, in one line."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"(fatal|error|remote): |! ", line)]
    return re.sub(r"^(fatal|error): ", "", (telling or lines or [f"exit code {done.returncode}"])[0]).rstrip(".")


def _talks(variable: str) -> bool:
    """Variables that make git print requests, or that point it at another repository."""
    return variable.startswith("GIT_TRACE") or variable in (
        "GIT_CURL_VERBOSE", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX",
    )  # fmt: skip


def _configure(env: dict[str, str], *settings: tuple[str, str]) -> None:
    """Add git settings to an environment, after those it already holds."""
    known = env.get("GIT_CONFIG_COUNT", "")
    start = int(known) if known.isdecimal() else 0
    for number, (key, value) in enumerate(settings, start):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    env["GIT_CONFIG_COUNT"] = str(start + len(settings))


def _check_address(url: str, *, has_token: bool) -> None:
    if not url or url.startswith("-") or not url.isprintable() or re.match(r"[a-z0-9+.-]+::", url, re.IGNORECASE):
        raise UsageError("the archive repository is not an address git can use: give an https, ssh or file address")
    address = urlsplit(url)
    if address.scheme in ("http", "https") and "@" in address.netloc:
        raise UsageError(
            f"the archive repository at {address.hostname} has credentials in its address: "
            "take them out and set ARCHIVE_TOKEN"
        )
    if has_token and address.scheme == "http" and address.hostname not in _LOOPBACK:
        raise UsageError(f"the archive token is not sent to {address.hostname} over plain http: use an https address")
