"""Artifacts from GitHub: listed, fetched whole or not at all, and never with the token to where they are stored."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from buildeye.github import Artifact
from buildeye.model import OutsideError

from .conftest import Start
from .stand_in import Call, Reply, as_json

ZIP = b"PK\x05\x06" + bytes(18)
DIGEST = f"sha256:{hashlib.sha256(ZIP).hexdigest()}"
ENTRY: dict[str, Any] = {
    "id": 11, "node_id": "x", "name": "junit", "size_in_bytes": len(ZIP), "expired": False, "digest": DIGEST,
    "created_at": "2026-05-28T10:00:00Z", "workflow_run": {"id": 7, "head_sha": "a" * 40},
}  # fmt: skip


def artifact(**changes: Any) -> Artifact:
    return replace(Artifact(11, "junit", 7, len(ZIP), digest=DIGEST), **changes)


def test_artifacts_of_a_run_and_of_all_runs_are_listed(start: Start) -> None:
    entries = [ENTRY, ENTRY | {"id": 12, "expired": True, "digest": None, "workflow_run": None}]
    client, server = start(lambda call: as_json({"total_count": 2, "artifacts": entries}))
    found = list(client.artifacts("o", "r"))
    assert [(a.id, a.run_id, a.expired, a.digest) for a in found] == [(11, 7, False, DIGEST), (12, 0, True, "")]
    assert found[0].created_at is not None
    assert list(client.artifacts("o", "r", 7)) == found
    assert [call.path for call in server.calls] == [
        "/repos/o/r/actions/artifacts",
        "/repos/o/r/actions/runs/7/artifacts",
    ]


def test_a_zip_is_fetched_from_where_github_sends_without_the_token(start: Start, tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        if call.path.startswith("/stored"):
            return Reply(200, ZIP)
        return Reply(302, b"", {"location": "/stored/11.zip?sig=s"})

    client, server = start(answer)
    path = client.download_artifact("o", "r", artifact(), tmp_path / "new")
    assert path == tmp_path / "new" / "11.zip" and path.read_bytes() == ZIP
    assert ["authorization" in {name.lower() for name in call.headers} for call in server.calls] == [True, False]


def test_a_cut_connection_is_tried_again_and_leaves_no_part(start: Start, tmp_path: Path) -> None:
    cuts = iter([5, 9, None])
    client, server = start(lambda call: Reply(200, ZIP, cut_after=next(cuts)))
    path = client.download_artifact("o", "r", artifact(), tmp_path)
    assert path is not None and path.read_bytes() == ZIP
    assert len(server.calls) == 3
    assert [p.name for p in tmp_path.iterdir()] == ["11.zip"]


def test_bytes_that_are_not_those_of_the_digest_are_refused(start: Start, tmp_path: Path) -> None:
    client, _ = start(lambda call: Reply(200, ZIP + b"x"))
    with pytest.raises(OutsideError, match="artifact junit of run 7 came damaged"):
        client.download_artifact("o", "r", artifact(), tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert client.download_artifact("o", "r", artifact(digest=""), tmp_path) == tmp_path / "11.zip"


@pytest.mark.parametrize("status", [404, 410])
def test_an_artifact_that_is_gone_is_none(start: Start, tmp_path: Path, status: int) -> None:
    client, _ = start(lambda call: as_json({"message": "gone"}, status))
    assert client.download_artifact("o", "r", artifact(), tmp_path) is None


def test_a_folder_that_cannot_be_written_is_said(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    client, _ = start(lambda call: Reply(200, ZIP))
    with pytest.raises(OutsideError, match=r"storage\.data_dir"):
        client.download_artifact("o", "r", artifact(), tmp_path / "file")
