"""Logs of failed jobs, and of one green job a job name and day to compare them with, from GitHub into the log archive.

A log is in the archive before its row says so; one that a killed pass had brought already is found there. Where GitHub
does not hand out the log of one job, the archive of the whole run is looked into.
"""

import tempfile
import threading
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count, islice
from pathlib import Path, PurePosixPath

from buildeye.github.parallel import in_parallel
from buildeye.github.wire import LimitError, NotFoundError
from buildeye.logstore import PIECE, KeptFile
from buildeye.model import OutsideError
from buildeye.pipeline.sync.scope import GIVE_UP, Scope, Window
from buildeye.warehouse import KeptLog

LATE = timedelta(hours=1)  # so long after its end GitHub may not have the log of a job yet
BATCH = 25  # logs between two writes to the warehouse
LONGEST_NAME = 80  # letters of a job's name that names of files in an archive keep at least


@dataclass(frozen=True, slots=True)
class LogsSynced:
    """Logs that were kept, that GitHub no longer has, and that could not be had this time."""

    kept: int = 0
    expired: int = 0
    failed: int = 0

    def __add__(self, other: "LogsSynced") -> "LogsSynced":
        return LogsSynced(self.kept + other.kept, self.expired + other.expired, self.failed + other.failed)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job whose log is to be brought."""

    job_id: int
    run_id: int
    run_attempt: int
    name: str
    completed_at: datetime

    def place(self, repository: str) -> str:
        """Its name in the log archive."""
        return place_of(repository, self.completed_at, self.job_id)


def place_of(repository: str, completed_at: datetime, job_id: int) -> str:
    """The name that the log of a job of `repository` (`owner/name`) has in the log archive."""
    return f"{repository}/{completed_at:%Y-%m-%d}/{job_id}.log.zst"


def sync_logs(scope: Scope, window: Window, *, green: bool = True) -> LogsSynced:
    """Bring what is missing of jobs that ended in the window: all failed ones, and with `green` one passed a name."""
    asked = {"repository": scope.repository, "since": window.since, "until": window.until}
    rows = scope.warehouse.ask("logs_wanted", **asked)
    if green:
        rows += scope.warehouse.ask("green_logs_wanted", base_branch=scope.branch, **asked)
    wanted = [Wanted(**row) for row in rows]
    if not wanted:
        return LogsSynced()
    step = scope.progress.start("logs", len(wanted))
    total = LogsSynced()
    with tempfile.TemporaryDirectory(prefix="build-eye-") as folder:
        fetch = _Fetch(scope, Path(folder))
        answers = in_parallel(fetch, wanted, scope.width)
        while batch := list(islice(answers, BATCH)):
            logs = [log for log in batch if log is not None]
            scope.warehouse.write_logs(logs)
            expired = sum(log.expired for log in logs)
            total += LogsSynced(len(logs) - expired, expired, len(batch) - len(logs))
            step(len(batch))
    if fetch.given_up:
        scope.warn(f"{GIVE_UP} logs in a row could not be had; the others are left to the next sync")
    return total


class _Fetch:
    """Brings one log; called from several threads. Archives of runs are kept in `folder`, one a run and attempt."""

    def __init__(self, scope: Scope, folder: Path) -> None:
        self._scope = scope
        self._folder = folder
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._archives: dict[tuple[int, int], Path | None] = {}
        self._turns = count()
        self._in_a_row = 0
        self._since = 0  # the turn of the first of those that failed in a row

    def __call__(self, wanted: Wanted) -> KeptLog | None:
        """What is to be recorded; None when that is not known yet."""
        if self.given_up:
            return None
        scope, place, turn = self._scope, wanted.place(self._scope.repository), next(self._turns)
        try:
            kept = scope.logs.find(place) or self._of_job(wanted, place)
        except OutsideError as error:
            self._failed(turn, hopeless=isinstance(error, LimitError))
            scope.warn(f"job {wanted.job_id}: its log could not be had: {error}")
            return None
        self._came(turn)
        if kept is None and wanted.completed_at > scope.now - LATE:
            return None
        log = KeptLog(scope.repository, wanted.run_id, wanted.job_id, scope.now, expired=kept is None)
        return log if kept is None else _with_file(log, kept)

    @property
    def given_up(self) -> bool:
        """Did so many logs in a row fail that asking for more is in vain?"""
        return self._in_a_row >= GIVE_UP

    def _failed(self, turn: int, *, hopeless: bool) -> None:
        with self._counting:
            if self._in_a_row == 0:
                self._since = turn
            self._in_a_row = GIVE_UP if hopeless else self._in_a_row + 1

    def _came(self, turn: int) -> None:
        """A log came; that says nothing of failures which began after it was asked for."""
        with self._counting:
            if turn > self._since:
                self._in_a_row = 0

    def _of_job(self, wanted: Wanted, place: str) -> KeptFile | None:
        """The log, brought into the archive; None when GitHub does not have it."""
        scope = self._scope
        try:
            return scope.github.read_job_log(
                scope.owner, scope.repo, wanted.job_id, lambda chunks: scope.logs.keep(place, chunks)
            )
        except NotFoundError as missing:
            if missing.gone:
                return None
            failure = None
        except LimitError:
            raise
        except OutsideError as error:
            failure = error
        kept = self._of_run(wanted, place)
        if kept is None and failure is not None:
            raise failure
        return kept

    def _of_run(self, wanted: Wanted, place: str) -> KeptFile | None:
        archive = self._archive(wanted)
        if archive is None:
            return None
        with zipfile.ZipFile(archive) as packed:
            name = entry_of(packed.namelist(), wanted.name)
            if name is None:
                return None
            with packed.open(name) as log:
                return self._scope.logs.keep(place, iter(lambda: log.read(PIECE), b""))

    def _archive(self, wanted: Wanted) -> Path | None:
        """The zip of a run's logs; None when GitHub does not have it either."""
        key = wanted.run_id, wanted.run_attempt
        scope = self._scope
        with self._lock:
            if key not in self._archives:
                path = self._folder / f"{wanted.run_id}-{wanted.run_attempt}.zip"
                try:
                    scope.github.read_run_logs(scope.owner, scope.repo, *key, lambda chunks: _write(path, chunks))
                    self._archives[key] = path if zipfile.is_zipfile(path) else None
                except OutsideError:
                    self._archives[key] = None
            return self._archives[key]


def _write(path: Path, chunks: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)


def _with_file(log: KeptLog, kept: KeptFile) -> KeptLog:
    return KeptLog(
        log.repository_full_name, log.run_id, log.job_id, log.checked_at, kept.place, kept.size_bytes, kept.sha256
    )  # fmt: skip


def entry_of(names: Sequence[str], job: str) -> str | None:
    """The file of a job's whole log in the archive of a run (`3_unit (3.12).txt`); None when none or several fit.

    GitHub replaces letters that file names cannot have, and cuts long names; so only letters and digits are compared.
    """
    plain = _plain(job)
    found: dict[str, str] = {}
    for name in names:
        number, mark, rest = name.partition("_")
        if "/" in name or not mark or not number.lstrip("-").isdigit():
            continue
        stem = _plain(PurePosixPath(rest).stem if rest.endswith(".txt") else rest)
        if stem == plain or (len(stem) >= LONGEST_NAME // 2 and len(rest) > LONGEST_NAME and plain.startswith(stem)):
            found[name] = stem
    exact = [name for name, stem in found.items() if stem == plain]
    fits = exact or list(found)
    return fits[0] if len(fits) == 1 else None


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
