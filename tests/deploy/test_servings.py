"""Who served when, from the journal alone: what a source of verdicts is told."""

from datetime import UTC, datetime, timedelta

from buildeye.deploy.supervisor.sampling import servings
from buildeye.model.deployments import Deployment, Moment, State

BEGIN = datetime(2026, 5, 28, 6, 0, tzinfo=UTC)


def _at(hours: float) -> Moment:
    return Moment(BEGIN + timedelta(hours=hours), "boot", hours * 3600)


def _served(id: str, cutover: float | None, closed: float | None = None, previous: str = "",
            state: State = State.MONITORING_WINDOW_CLEAN) -> Deployment:  # fmt: skip
    return Deployment(
        id, "web", id, state, 0, _at(0), previous=previous,
        cutover=None if cutover is None else _at(cutover), closed=None if closed is None else _at(closed),
    )  # fmt: skip


def test_each_version_serves_until_the_next_one_takes_over() -> None:
    found = servings([_served("v3", None, state=State.HEALTH_FAILED), _served("v2", 5), _served("v1", 1, 3)])
    assert [(each.deployment_id, each.since, each.until) for each in found] == [
        ("v2", _at(5).wall, None),
        ("v1", _at(1).wall, _at(5).wall),
    ]


def test_after_a_rollback_the_version_before_serves_again() -> None:
    """Scenario 27: what is served after the return belongs to the version that was returned to."""
    bad = _served("v2", 5, 6, previous="v1", state=State.ROLLED_BACK)
    found = servings([_served("v3", 9), bad, _served("v1", 1, 3)])
    assert [(each.deployment_id, each.since, each.until) for each in found] == [
        ("v3", _at(9).wall, None),
        ("v2", _at(5).wall, _at(6).wall),
        ("v1", _at(6).wall, _at(9).wall),
        ("v1", _at(1).wall, _at(5).wall),
    ]
