"""What GitHub says was broken at its side: one question a pass, answered in full only when something has changed."""

from buildeye.pipeline.sync.scope import Scope


def sync_incidents(scope: Scope) -> int:
    """Keep the incidents of the status page; gives how many are new or changed since the last sync.

    The page tells of the newest some fifty; older ones stay as they were. OutsideError: the page cannot be had.
    """
    if scope.status is None:
        return 0
    stream = f"incidents {scope.status.place}"
    before = scope.cursors().get(stream)
    told = scope.status.incidents(before.seen if before is not None else "")
    if told is None or not told.incidents:
        return 0
    scope.warehouse.write_incidents(told.incidents)
    since = min(incident.started_at for incident in told.incidents)
    reached = max(incident.updated_at for incident in told.incidents)
    scope.move(before, stream, since if before is None else min(since, before.since), reached, told.mark)
    return sum(before is None or incident.updated_at > before.reached for incident in told.incidents)
