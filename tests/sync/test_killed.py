"""A sync that is killed again and again, at any moment, loses nothing and writes nothing twice."""

from pathlib import Path
from random import Random

import pytest
from benchmarks.killing import NOW, Place, kill_often, missing, repeated

from buildeye.simulator import build_busy_day
from buildeye.simulator.app import create_app
from buildeye.simulator.server import ledger, serving

KILLS = 10


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_random_moments_lose_nothing_and_double_nothing(tmp_path: Path, seed: int) -> None:
    past = build_busy_day(3, NOW, 10)
    app = create_app(past, limit=10**9)
    with serving(app) as address:
        calm, place = (Place(tmp_path / name, address, past.owner, past.name) for name in ("calm", "killed"))
        wanted = calm.finish()
        killed = kill_often(place, app, Random(seed), KILLS, ledger(app).requests)
        found = place.finish()
    assert killed >= KILLS // 2
    assert (missing(wanted, found), missing(found, wanted), repeated(found)) == (0, 0, 0)
