"""Every test of the command line runs in an empty folder, with no settings but those it sets."""

import os
from pathlib import Path

import pytest

OUTSIDE = ("BUILD_EYE_", "TARGET_REPO_", "GITHUB_", "ARCHIVE_", "GCX_")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder that is current."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "of-this-person"))
    for name in os.environ:
        if name.startswith(OUTSIDE):
            monkeypatch.delenv(name)
    return tmp_path
