"""What the base branch pointed to: each merge as a push, from the newest back to what is known."""

from datetime import datetime

from buildeye.github.facts import Commit
from buildeye.pipeline.sync.scope import Scope
from buildeye.warehouse import Push


def sync_commits(scope: Scope, since: datetime) -> int:
    """Commits of the base branch since the last sync, at least back to `since`; gives how many were new.

    Only first parents count: a merge is one step of the branch, whatever it brought along.
    """
    stream = f"branch {scope.branch}"
    before = scope.cursors().get(stream)
    known = before is not None and before.since <= since
    edge = min(since, before.reached) if before is not None else since
    pushes: list[Push] = []
    head = before.seen if before is not None else ""
    reached = before.reached if before is not None else since
    for number, commit in enumerate(scope.github.branch_commits(scope.owner, scope.repo, scope.branch)):
        if number == 0:
            head, reached = commit.sha, max(reached, commit.committed_at or reached)
        if known and before is not None and commit.sha == before.seen:
            break
        if commit.committed_at is not None and commit.committed_at < edge:
            break
        pushes.append(_push(scope, commit))
    scope.warehouse.write_pushes(pushes)
    since = min(since, before.since) if before is not None else since
    scope.move(before, stream, since, reached, head)
    return len(pushes)


def _push(scope: Scope, commit: Commit) -> Push:
    return Push(
        scope.repository,
        f"refs/heads/{scope.branch}",
        commit.sha,
        before=next(iter(commit.parents), ""),
        message=commit.message,
        author_name=commit.author,
        author_login=commit.author,
        committed_at=commit.committed_at,
        pusher=commit.author,
        pushed_at=commit.committed_at,
    )
