"""A place where a pass works: its configuration, stores, reports and archive below one folder; and what is in them."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import buildeye

SOURCES = str(Path(buildeye.__file__).parents[1])
LIMIT = 120
"""Seconds after which a child is given up."""
CLOCK = ("generated_at", "judged_at")
"""What differs between two passes that found the same."""

_ROWS = """
import json, sys
from buildeye.warehouse import open_warehouse
left_out = {"_version", "diagnosed_at", "judged_at", "checked_at", "saved_at", "synced_at", "since", "read_at"}
with open_warehouse(sys.argv[1]) as warehouse:
    found = warehouse.query("SELECT database, name FROM system.tables WHERE name LIKE '%\\\\_latest' ORDER BY ALL").rows
    held = {}
    for database, name in found:
        answer = warehouse.query(f"SELECT * FROM {database}.{name}")
        kept = [i for i, column in enumerate(answer.columns) if column not in left_out]
        held[f"{database}.{name}"] = sorted(repr([row[i] for i in kept]) for row in answer.rows)
json.dump(held, sys.stdout)
"""


@dataclass(frozen=True)
class Place:
    """A folder in which `build-eye` runs against one address."""

    folder: Path

    @classmethod
    def made(cls, folder: Path, address: str, repository: str, hours: int, archive: str = "archive.git") -> "Place":
        """A new place with an empty bare archive and a configuration that names everything in it."""
        owner, _, name = repository.partition("/")
        folder.mkdir(parents=True)
        bare = folder / "archive.git"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)], check=True)
        settings = {
            "target_repository": {"owner": owner, "repo": name, "branch": "main"},
            "api": {"base_url": address},
            "archive_repository": {"url": str(folder / archive)},
            "monitoring": {"lookback_hours": hours},
            "storage": {"warehouse_dsn": f"chdb://{folder / 'warehouse'}", "data_dir": "data"},
        }
        (folder / "config.yaml").write_text(json.dumps(settings))
        return cls(folder)

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    def command(self, *arguments: str) -> list[str]:
        """`build-eye ARGUMENTS` in this place."""
        return [sys.executable, "-m", "buildeye", *arguments]

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start `build-eye` with this place's configuration, output thrown away."""
        return subprocess.Popen(
            self.command(*arguments, "--config", "config.yaml"),
            cwd=self.folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *arguments: str, config: bool = True, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run `build-eye` to its end, with further variables in its environment."""
        given = ["--config", "config.yaml"] if config else []
        return subprocess.run(
            self.command(*arguments, *given),
            cwd=self.folder,
            env=environment(**variables),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def rows(self) -> dict[str, list[str]]:
        """Everything the `_latest` views hold but when it was found out."""
        dsn = f"chdb://{self.folder / 'warehouse'}"
        done = subprocess.run(
            [sys.executable, "-c", _ROWS, dsn],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=True,
        )
        rows: dict[str, list[str]] = json.loads(done.stdout)
        return rows

    def report_texts(self) -> dict[str, str]:
        """Reports and the findings kept beside them by path, without the time they were made."""
        files = sorted(p for p in self.reports.rglob("*") if p.suffix in (".md", ".json"))
        return {str(p.relative_to(self.reports)): timeless(p.read_text()) for p in files}

    def findings(self) -> list[dict[str, Any]]:
        """The findings that the reports tell."""
        kept = sorted((self.reports / ".findings").rglob("*.json"))
        return [finding for path in kept for finding in json.loads(path.read_text())["findings"]]

    def commits(self) -> list[str]:
        """What the archive's branch holds, newest first."""
        return self._git("log", "--format=%H", "main").split() if self._git("branch", "--list", "main") else []

    def archived(self) -> dict[str, str]:
        """The files of the archive's branch by path below its `reports/`, without the time they were made."""
        names = self._git("ls-tree", "-r", "--name-only", "main").splitlines()
        return {name.removeprefix("reports/"): timeless(self._git("show", f"main:{name}")) for name in names}

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "--git-dir", str(self.folder / "archive.git"), *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


def timeless(text: str) -> str:
    """A report or its findings without the lines that say when it was made."""
    return "\n".join(line for line in text.split("\n") if not any(word in line for word in CLOCK))


def environment(**more: str) -> dict[str, str]:
    """The environment of a child: the caller's without any settings and tokens, with the sources of this tree."""
    mine = ("BUILD_EYE_", "TARGET_REPO_", "GITHUB_", "ARCHIVE_", "PYTEST_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(mine) and not k.lower().endswith("_proxy")}
    return kept | {"PYTHONPATH": SOURCES, "NO_PROXY": "127.0.0.1", "COLUMNS": "100"} | more


def by_job(findings: Sequence[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The verdicts of findings by job."""
    return {job["job"]["id"]: job["verdict"] for finding in findings for job in finding["jobs"]}
