"""Pull requests: all that changed, from the list, and files and merge base for those whose runs failed."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from buildeye.github.parallel import in_parallel
from buildeye.model import OutsideError, PullRequest, Run
from buildeye.pipeline.sync.scope import Scope, Window
from buildeye.warehouse import SyncedRun
from buildeye.warehouse.reading import pull_request_of, run_of

STREAM = "pull requests"
SUSPECT_HOURS = 24
MOST_SUSPECTS = 200


def sync_pull_requests(scope: Scope, since: datetime) -> int:
    """Pull requests changed since the last sync, at least back to `since`; gives how many were new or had changed."""
    before = scope.cursors().get(STREAM)
    edge = before.reached if before is not None and before.since <= since else since
    reached = before.reached if before is not None else since
    count = 0
    for page in scope.github.changed_pull_requests(scope.owner, scope.repo):
        recent = [pull for pull in page if _changed_at(pull, edge) >= edge]
        count += _keep(scope, recent)
        reached = max([reached, *(_changed_at(pull, edge) for pull in recent)])
        if len(recent) < len(page):
            break
    since = min(since, before.since) if before is not None else since
    scope.move(before, STREAM, since, reached, "")
    return count


def complete_pull_requests(scope: Scope, window: Window) -> None:
    """Name the pull request of each run that failed in the window, and bring its files and merge base.

    The same of those that were merged shortly before the base branch failed.

    Of a fork's run GitHub names none: it is the one its branch belongs to, else the commit is asked, once.
    """
    rows = scope.warehouse.ask("failed_runs", repository=scope.repository, since=window.since, until=window.until)
    nameless = [run_of(row) for row in rows if not row["pull_requests"] and not row["no_pull_request"]]
    runs = [run_of(row) for row in rows if row["pull_requests"]]
    known = _known(scope, [run.pull_requests[0] for run in runs], [run.head_branch for run in nameless])
    named = _name(scope, [run for run in nameless if run.event.startswith("pull_request")], known)
    wanted = {pull.number: pull for pull in named}
    missing: dict[int, int] = {}
    for run in runs:
        number = run.pull_requests[0]
        if number in known:
            wanted[number] = known[number]
        else:
            missing.setdefault(number, run.id)
    wanted |= _asked_for(scope, missing)
    wanted |= _merged_before_failures(scope, window)
    bare = [pull for pull in wanted.values() if not (pull.changed_files or pull.merge_base_sha)]
    scope.warehouse.write_pull_requests(list(in_parallel(lambda pull: _with_files(scope, pull), bare, scope.width)))


def _merged_before_failures(scope: Scope, window: Window) -> dict[int, PullRequest]:
    """What was merged shortly before the base branch failed: the files of these tell which may have brought it."""
    rows = scope.warehouse.ask(
        "merges_to_complete",
        repository=scope.repository,
        base_branch=scope.branch,
        since=window.since,
        until=window.until,
        hours=SUSPECT_HOURS,
        limit=MOST_SUSPECTS,
    )
    return _known(scope, [row["number"] for row in rows], [])


def _changed_at(pull: PullRequest, otherwise: datetime) -> datetime:
    return pull.updated_at or otherwise


def _known(scope: Scope, numbers: Sequence[int], branches: Sequence[str]) -> dict[int, PullRequest]:
    asked = {"numbers": sorted(set(numbers)), "head_refs": sorted(set(branches))}
    rows = scope.warehouse.ask("known_pull_requests", repository=scope.repository, **asked)
    return {row["number"]: pull_request_of(row) for row in rows}


def _keep(scope: Scope, pulls: Sequence[PullRequest]) -> int:
    """Write those that are new or have changed; files that are known stay as long as the branch stays."""
    known = _known(scope, [pull.number for pull in pulls], [])
    changed = [carried for pull in pulls if (carried := _carried(pull, known.get(pull.number))) is not None]
    scope.warehouse.write_pull_requests(changed)
    return len(changed)


def _carried(pull: PullRequest, known: PullRequest | None) -> PullRequest | None:
    """The pull request with what is known of its branch already; None when nothing about it is new."""
    if known is None:
        return pull
    if (known.head_sha, known.base_sha) == (pull.head_sha, pull.base_sha):
        pull = replace(pull, changed_files=known.changed_files, merge_base_sha=known.merge_base_sha)
    return None if pull == known else pull


def _name(scope: Scope, runs: Sequence[Run], known: dict[int, PullRequest]) -> list[PullRequest]:
    """Write which pull request each of these runs belongs to, or that GitHub knows none; gives those found."""

    def find(run: Run) -> PullRequest | OutsideError | None:
        if (pull := pull_request_of_branch(run, known.values())) is not None:
            return pull
        try:
            pulls = scope.github.pull_requests_of_commit(scope.owner, scope.repo, run.head_sha)
        except OutsideError as error:
            scope.warn(f"run {run.id}: its pull request is not known: {error}")
            return error
        return next((p for p in pulls if p.head_sha == run.head_sha or p.head_ref == run.head_branch), None)

    answers = list(zip(runs, in_parallel(find, runs, scope.width), strict=True))
    found = [(run, answer) for run, answer in answers if isinstance(answer, PullRequest)]
    scope.warehouse.write_runs([replace(run, pull_requests=(pull.number,)) for run, pull in found])
    none = [run for run, answer in answers if answer is None]
    scope.warehouse.write_synced_runs(
        [SyncedRun(scope.repository, run.id, run.run_attempt, scope.now, no_pull_request=True) for run in none]
    )
    return [pull for _, pull in found]


def pull_request_of_branch(run: Run, pulls: Iterable[PullRequest]) -> PullRequest | None:
    """The pull request whose branch a run built; None when none fits, or several.

    Branches of two forks may have one name: then what they point to decides, or who started the run.
    """
    fits = [pull for pull in pulls if pull.head_ref == run.head_branch]
    pointed = [pull for pull in fits if pull.head_sha == run.head_sha]
    owned = [pull for pull in fits if pull.author == run.actor and not _before(run.created_at, pull.created_at)]
    return next((chosen[0] for chosen in (pointed, owned) if len(chosen) == 1), None)


def _before(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and one < other


def _asked_for(scope: Scope, missing: dict[int, int]) -> dict[int, PullRequest]:
    """Pull requests of which nothing is known yet, by number; `missing` says for which run each is wanted."""

    def ask(number: int) -> PullRequest | None:
        try:
            return scope.github.pull_request(scope.owner, scope.repo, number, files=False)
        except OutsideError as error:
            scope.warn(f"run {missing[number]}: its pull request is not known: {error}")
            return None

    return {pull.number: pull for pull in in_parallel(ask, missing, scope.width) if pull is not None}


def _with_files(scope: Scope, pull: PullRequest) -> PullRequest:
    try:
        return scope.github.with_files(scope.owner, scope.repo, pull)
    except OutsideError as error:
        scope.warn(f"pull request {pull.number}: its files are not known: {error}")
        return pull
