"""The reports folder: one file a pull request and day, rebuilt from every finding ever given for it.

Rule: the report of a pull request and day tells all runs that any pass has found for it; what earlier passes found is
kept in `.findings/`. When the leading cause changes, the file of the old name goes. Killed at any point, the next pass
mends it: the findings are written first, then the report, and last the old file is removed.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path, PurePosixPath

from buildeye.model import Cause, Finding, OutsideError
from buildeye.reports import headline, store
from buildeye.reports.disk import only_writer, read_if_there, write_whole
from buildeye.reports.paths import STORE, day_folder, group, report_file, store_file
from buildeye.reports.render import render_report
from buildeye.reports.words import Language


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a pass did to the reports folder; paths below it, sorted."""

    written: tuple[PurePosixPath, ...] = ()
    updated: tuple[PurePosixPath, ...] = ()
    unchanged: tuple[PurePosixPath, ...] = ()
    removed: tuple[PurePosixPath, ...] = ()


def write_reports(
    findings: Iterable[Finding], folder: Path, *, language: Language, now: datetime, max_log_lines: int = 50
) -> WriteResult:
    """Write or update the report of each pull request and day in `findings` below `folder`.

    The same findings again change nothing, whatever `now` is. OutsideError when the folder cannot be written.
    """
    groups = group(findings)
    told = {
        key: store.Told(tuple(given), language=language, max_log_lines=max_log_lines, generated_at=now)
        for key, given in groups.items()
    }
    try:
        with only_writer(folder / STORE / ".lock"):
            for day_ in {day for day, _ in told}:
                for key, old in _untold(folder, day_).items():
                    told.setdefault(key, old)
            return tell(told, folder)
    except OSError as error:
        raise OutsideError(
            f"reports cannot be written to {folder}: {error.strerror or error}; check its rights and free space"
        ) from None


def tell(told: dict[tuple[date, str], store.Told], root: Path) -> WriteResult:
    """Merge what is to be told into a reports folder; the caller holds the folder's lock."""
    result: dict[str, list[PurePosixPath]] = {"written": [], "updated": [], "unchanged": [], "removed": []}
    for (day, subject), new in told.items():
        path, change = _tell_one(root, day, subject, new)
        result[change].append(path)
        result["removed"] += _remove_others(root, day, subject, path, new.findings)
    return WriteResult(**{change: tuple(sorted(paths)) for change, paths in result.items()})


def _tell_one(root: Path, day: date, subject: str, new: store.Told) -> tuple[PurePosixPath, str]:
    kept = root / store_file(day, subject)
    old = store.decode(read_if_there(kept), str(kept))
    merged = store.merge(old.findings if old else (), new.findings)
    path = report_file(day, subject, headline.in_order(merged)[0].verdict.cause)
    there = read_if_there(root / path)
    if old is not None and there == _render(merged, new, old.generated_at):
        return path, "unchanged"
    write_whole(kept, store.encode(store.Told(merged, new.language, new.max_log_lines, new.generated_at)))
    write_whole(root / path, _render(merged, new, new.generated_at))
    return path, "written" if there is None else "updated"


def _render(findings: Sequence[Finding], how: store.Told, now: datetime) -> bytes:
    return render_report(findings, language=how.language, now=now, max_log_lines=how.max_log_lines).encode()


def _remove_others(
    root: Path, day: date, subject: str, path: PurePosixPath, findings: Sequence[Finding]
) -> list[PurePosixPath]:
    """Remove what this report replaces: its other causes, and its runs told before their pull request was known."""
    runs = [f"run-{finding.run.id}" for finding in findings if finding.pull_request is not None]
    others = [report_file(day, name, cause) for name in (subject, *runs) for cause in Cause]
    removed = [other for other in others if other != path and (root / other).is_file()]
    for other in (*removed, *(store_file(day, run) for run in runs)):
        (root / other).unlink(missing_ok=True)
    return removed


def _untold(root: Path, day: date) -> dict[tuple[date, str], store.Told]:
    """Findings of a day without a report: what a pass left that was killed between the two."""
    found: dict[tuple[date, str], store.Told] = {}
    for kept in sorted((root / STORE / day_folder(day)).glob("[!.]*.json")):
        if any((root / report_file(day, kept.stem, cause)).is_file() for cause in Cause):
            continue
        if (old := read_told(kept)) is not None:
            found[day, kept.stem] = old
    return found


def kept_files(root: Path) -> dict[tuple[date, str], Path]:
    """The files with the findings of each report in a reports folder, by day and subject, oldest day first."""
    found: dict[tuple[date, str], Path] = {}
    for kept in sorted((root / STORE).glob("[0-9]*/[0-9]*/[0-9]*/[!.]*.json")):
        with suppress(ValueError):
            year, month, day_of_month = (int(part) for part in kept.parts[-4:-1])
            found[date(year, month, day_of_month), kept.stem] = kept
    return found


def read_told(kept: Path) -> store.Told | None:
    """What one such file holds; None when it is empty or not readable by this version."""
    told = store.decode(read_if_there(kept), str(kept))
    return told if told is not None and told.findings else None
