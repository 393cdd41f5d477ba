"""The status page of the simulated GitHub: its incidents in the public form of Statuspage."""

from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from buildeye.model import Incident
from buildeye.simulator.answers import json_answer
from buildeye.simulator.catalog import Catalog
from buildeye.simulator.render_common import Json

PAGE = "/api/v2"
"""Where the page is; it needs no token and costs nothing of the rate limit."""

SHOWN = 50
"""Incidents the page tells of at most."""


def incidents(catalog: Catalog, request: Request) -> Response:
    """`GET /api/v2/incidents.json`: what has begun by now, newest first."""
    del request
    begun = [incident for incident in catalog.past.incidents if incident.started_at <= catalog.past.now]
    newest = sorted(begun, key=lambda incident: (incident.started_at, incident.id), reverse=True)[:SHOWN]
    moments = [incident.updated_at for incident in newest]
    page = {"id": "51m", "name": "GitHub", "time_zone": "Etc/UTC", "updated_at": _time(max(moments, default=None))}
    return json_answer({"page": page, "incidents": [_incident_json(incident) for incident in newest]})


def _incident_json(incident: Incident) -> Json:
    components = [
        {"id": f"{incident.id}-{number}", "name": name, "status": "operational", "position": number}
        for number, name in enumerate(incident.components, 1)
    ]
    return {
        "id": incident.id,
        "name": incident.name,
        "status": incident.status,
        "impact": incident.impact,
        "created_at": _time(incident.started_at),
        "started_at": _time(incident.started_at),
        "updated_at": _time(incident.updated_at),
        "monitoring_at": None,
        "resolved_at": _time(incident.resolved_at),
        "shortlink": incident.html_url,
        "page_id": "51m",
        "incident_updates": [],
        "components": components,
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
