"""The status page tells what has begun, without a token and without a cost."""

from dataclasses import replace
from datetime import timedelta

import httpx2

from buildeye.model import Incident
from buildeye.simulator import Past
from buildeye.simulator.app import create_app
from buildeye.simulator.server import ledger, serving


def test_the_page_tells_the_newest_incidents_that_have_begun(past: Past) -> None:
    def began(number: int) -> Incident:
        moment = past.now - timedelta(hours=number)
        return Incident(f"i{number:02}", "API errors", moment, moment, "minor", "investigating", ("API Requests",))

    app = create_app(replace(past, incidents=tuple(began(n) for n in range(-1, 60))), token="one-that-is-not-given")
    with serving(app) as base:
        answer = httpx2.get(f"{base}/api/v2/incidents.json", trust_env=False)
        again = httpx2.get(
            f"{base}/api/v2/incidents.json", headers={"if-none-match": answer.headers["etag"]}, trust_env=False
        )
    told = answer.json()["incidents"]
    assert [each["id"] for each in told] == [f"i{n:02}" for n in range(50)]
    assert told[0]["components"][0]["name"] == "API Requests" and told[0]["resolved_at"] is None
    assert (answer.status_code, again.status_code, ledger(app).used) == (200, 304, 0)
    assert not [name for name in answer.headers if name.startswith("x-ratelimit")]
