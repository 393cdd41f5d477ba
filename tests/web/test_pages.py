"""What `build-eye serve` shows is behind its token, and tells of the passes of its folder."""

from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from buildeye.config import load_settings
from buildeye.pipeline.watch import keep_last_good
from buildeye.simulator.server import serving
from buildeye.warehouse import Warehouse
from buildeye.web.pages import pages
from buildeye.web.spool import Spool
from tests.warehouse.conftest import empty
from tests.warehouse.facts import NOON, REPOSITORY, at

ASKED = (f"/api/hud/{REPOSITORY}/main/1", "/metrics")


def answers(warehouse: Warehouse, spool: Spool, folder: Path, token: str, sent: str) -> list[httpx2.Response]:
    """What both pages answer to who sends this token; '' is none."""
    owner, _, name = REPOSITORY.partition("/")
    chosen = {"target_repository.owner": owner, "target_repository.repo": name, "storage.data_dir": str(folder)}
    settings = load_settings(None, {"BUILD_EYE_TOKEN": token} if token else {}, print, chosen)
    app = FastAPI()
    for router in pages(settings, warehouse, spool, lambda: NOON):
        app.include_router(router)
    headers = {"authorization": f"Bearer {sent}"} if sent else {}
    with serving(app) as base, httpx2.Client(base_url=base, trust_env=False, timeout=30, headers=headers) as client:
        return [client.get(path) for path in ASKED]


@pytest.mark.parametrize(
    ("token", "sent", "status"),
    [("", "", 200), ("", "any", 200), ("right", "right", 200), ("right", "wrong", 401), ("right", "", 401)],
)
def test_the_token_of_the_server_opens_both(
    warehouse: Warehouse, spool: Spool, tmp_path: Path, token: str, sent: str, status: int
) -> None:
    empty(warehouse)
    assert [each.status_code for each in answers(warehouse, spool, tmp_path, token, sent)] == [status] * 2


def test_the_last_pass_of_the_folder_is_told(warehouse: Warehouse, spool: Spool, tmp_path: Path) -> None:
    empty(warehouse)
    assert "last_pass" not in answers(warehouse, spool, tmp_path, "", "")[1].text
    keep_last_good(tmp_path, REPOSITORY, at(-60))
    told = answers(warehouse, spool, tmp_path, "", "")[1].text
    assert f"\nbuild_eye_last_pass_timestamp_seconds {at(-60).timestamp()}\n" in told
