"""Is a service down? Trouble of the same kind over many jobs at once, and what GitHub says of itself."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from buildeye.triage.evidence.piece import Piece, Window, count_strength, counted
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject

AROUND = timedelta(minutes=75)
SERVICES = frozenset(
    {
        "network", "rate-limit", "github-service", "package-index", "image-pull", "cache-service", "cache",
        "artifact-service", "runner-unavailable", "runner-lost",
    }
)  # fmt: skip
_PROVIDERS = {"github": "GitHub"}
LATE = timedelta(minutes=90)
"""So much earlier than it is declared an incident may have begun."""


def judge_services(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """Others with trouble of services at the same time, and declared incidents."""
    own = subject.own
    rows = [r for r in history.between(own.ended - AROUND, own.ended + AROUND) if r.run_id != own.run_id]
    troubled = [r for r in rows if r.failed and r.category in SERVICES]
    places = {r.place for r in troubled if r.place != own.place}
    if len(places) >= 2:
        jobs, workflows = {r.name for r in troubled}, {r.workflow for r in troubled}
        yield Piece(
            "outage", count_strength(len(places)), f"{len(places)}",
            f"services failed for {counted(len(places), 'other change', 'other changes')} in "
            f"{counted(len(jobs), 'job', 'jobs')} of "
            f"{counted(len(workflows), 'workflow', 'workflows')} around the same time",
            "infrastructure",
        )  # fmt: skip
    for incident in history.incidents:
        end = incident.resolved_at or max(incident.updated_at, own.ended)
        if incident.started_at - LATE <= own.ended <= end + timedelta(minutes=30):
            yield Piece(
                "incident", 1.0, incident.id,
                f"{_PROVIDERS.get(incident.provider, incident.provider)} declared an incident at that time: "
                f"{incident.name[:120]}", "infrastructure",
            )  # fmt: skip
            break
