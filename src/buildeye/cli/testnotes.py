"""What commands about tests add from files of the repository: owners, and whether a test is in quarantine."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.insight.flaky import FlakySettings
    from buildeye.insight.owners import Owners
    from buildeye.insight.quarantine import Entry, Quarantine

CODEOWNERS = typer.Option(
    None, "--codeowners", metavar="FILE", help="Who owns what; default .github/CODEOWNERS, CODEOWNERS, docs/CODEOWNERS."
)


@dataclass(frozen=True, slots=True)
class Notes:
    """What the repository says of tests."""

    owners: "Owners"
    quarantine: "Quarantine"
    folder: str
    today: date

    def owners_of(self, file: str, classname: str) -> tuple[str, ...]:
        """The owners of a test, none when nobody owns it."""
        from buildeye.insight.caseids import path_of

        return self.owners.of(path_of(file, classname, self.folder))

    def entry_of(self, file: str, classname: str, name: str) -> "Entry | None":
        """The entry of a test in the quarantine list."""
        return self.quarantine.of_case(file, classname, name)

    def shown(self, entry: "Entry | None") -> str:
        """An entry in few words: `until 2026-12-20`, `expired 2026-11-20`, or nothing."""
        if entry is None:
            return ""
        return f"{'expired' if entry.is_expired(self.today) else 'until'} {entry.until}"


def notes_of(settings: "Settings", codeowners: Path | None = None, *, owners: bool = True) -> Notes:
    """What the files in the working folder say, without `owners` not who owns what. UsageError: one is broken."""
    from buildeye.cli.setup import now
    from buildeye.insight.owners import Owners, owners_in
    from buildeye.insight.quarantine import read_quarantine

    quarantine = read_quarantine(settings.tests.quarantine)
    owned = owners_in(Path(), codeowners) if owners else Owners()
    return Notes(owned, quarantine, settings.tests.folder, now().date())


def flaky_settings(settings: "Settings") -> "FlakySettings":
    """How tests of the watched repository are judged."""
    from buildeye.insight.flaky import FlakySettings

    return FlakySettings(branch=settings.target_repository.branch)
