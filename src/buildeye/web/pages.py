"""The pages of `build-eye serve`: the grid and the metrics, behind the token when one is set."""

from collections.abc import Callable
from datetime import datetime

from fastapi import APIRouter

from buildeye.config import Settings
from buildeye.pipeline.watch import last_good
from buildeye.warehouse import Warehouse
from buildeye.web.exposition import metrics_router
from buildeye.web.hud import hud_router
from buildeye.web.spool import Spool


def pages(settings: Settings, warehouse: Warehouse, spool: Spool, now: Callable[[], datetime]) -> tuple[APIRouter, ...]:
    """The routers for `create_app`, over an open warehouse and spool."""
    token = settings.serve_token.get_secret_value() if settings.serve_token else None
    folder, repository = settings.storage.data_dir, settings.target_repository.full_name
    return (
        hud_router(warehouse, token),
        metrics_router(warehouse, spool, now, last_pass=lambda: last_good(folder, repository), token=token),
    )
