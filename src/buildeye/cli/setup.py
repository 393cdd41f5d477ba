"""What commands share: settings with options over them, progress, and the time."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from buildeye.cli.voice import listen, tell, warn

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.pipeline.sync.scope import Progress


def settings_for(config: Path | None, overrides: Mapping[str, object | None]) -> "Settings":
    """Settings from file and environment with the given options over them; options that are None were not given."""
    from buildeye.config import load_settings

    listen()
    given = {key: value for key, value in overrides.items() if value is not None}
    settings = load_settings(config, os.environ, warn, given)
    listen(settings)
    return settings


def target_overrides(target: str | None) -> dict[str, object | None]:
    """`OWNER/REPO` as the two settings it means."""
    from buildeye.model import UsageError

    if target is None:
        return {}
    owner, slash, repo = target.partition("/")
    if not (slash and owner and repo) or "/" in repo:
        raise UsageError(f'--target-repo is "{target}"; write OWNER/REPO, such as vllm-project/vllm-ascend')
    return {"target_repository.owner": owner, "target_repository.repo": repo}


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


class PlainProgress:
    """Progress as plain lines: one when a stage begins, one when it is done."""

    def start(self, what: str, total: int) -> Callable[[int], None]:
        """Begin a stage."""
        done = 0

        def step(n: int) -> None:
            nonlocal done
            done += n
            if done >= total and n:
                tell(f"{what}: {done} of {total}")

        return step


class BarProgress:
    """Progress as bars on a terminal."""

    def __init__(self, bars: "object") -> None:
        self._bars = bars

    def start(self, what: str, total: int) -> Callable[[int], None]:
        """Begin a stage with a bar of its own."""
        from rich.progress import Progress

        assert isinstance(self._bars, Progress)
        bars = self._bars
        task = bars.add_task(what, total=total or 1)
        return lambda n: bars.advance(task, n)


@contextmanager
def progress() -> "Iterator[Progress]":
    """Bars on a terminal, plain lines elsewhere; both on standard error."""
    if not sys.stderr.isatty():
        yield PlainProgress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description:10}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield BarProgress(bars)
