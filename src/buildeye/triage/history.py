"""What happened around the failures of a pass, arranged as the judges ask for it. Pure: rows in, answers out."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from statistics import median

from buildeye.model import Incident, PoolLoad, Thing
from buildeye.triage.results import Merge, Result, Said, Subject, is_specific

Key = tuple[str, str]


@dataclass(frozen=True)
class History:
    """All that is known besides the failure itself.

    `since` to `until` is what the results cover; None: nothing is known. Results may come in any order and more than
    once. `things` says by job what ran in it, `said` what people held to be true, by signature.
    """

    results: Sequence[Result] = ()
    merges: Sequence[Merge] = ()
    incidents: Sequence[Incident] = ()
    loads: Sequence[PoolLoad] = ()
    things: Mapping[int, Sequence[Thing]] = field(default_factory=dict)
    said: Mapping[str, Sequence[Said]] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None

    @cached_property
    def _unique(self) -> list[Result]:
        newest: dict[int, Result] = {}
        for result in self.results:
            known = newest.get(result.job_id)
            if known is None or _fullness(result) > _fullness(known):
                newest[result.job_id] = result
        return sorted(newest.values(), key=lambda r: (r.ended, r.job_id))

    def _by(self, results: Iterable[tuple[object, Result]]) -> dict[object, list[Result]]:
        index: dict[object, list[Result]] = defaultdict(list)
        for key, result in results:
            index[key].append(result)
        return index

    @cached_property
    def _by_signature(self) -> dict[object, list[Result]]:
        return self._by((r.signature, r) for r in self._unique if r.failed and r.signature)

    @cached_property
    def _by_test(self) -> dict[object, list[Result]]:
        return self._by((test, r) for r in self._unique if r.failed for test in r.tests)

    @cached_property
    def _by_key(self) -> dict[object, list[Result]]:
        return self._by((r.key, r) for r in self._unique)

    @cached_property
    def _base_by_key(self) -> dict[object, list[Result]]:
        index = self._by((r.key, r) for r in self._unique if r.on_base)
        return {key: sorted(rows, key=lambda r: (r.built, r.attempt, r.job_id)) for key, rows in index.items()}

    @cached_property
    def _by_commit(self) -> dict[object, list[Result]]:
        return self._by(((r.head_sha, r.key), r) for r in self._unique if r.head_sha)

    @cached_property
    def _by_run(self) -> dict[object, list[Result]]:
        return self._by((r.run_id, r) for r in self._unique)

    @cached_property
    def _by_change(self) -> dict[object, list[Result]]:
        return self._by(((r.change, r.key), r) for r in self._unique if r.change)

    @cached_property
    def _by_runner(self) -> dict[object, list[Result]]:
        return self._by((r.runner, r) for r in self._unique if r.runner)

    @cached_property
    def _by_pool(self) -> dict[object, list[Result]]:
        return self._by((r.pool, r) for r in self._unique if r.pool)

    def alike(self, subject: Subject) -> list[Result]:
        """Failures of other runs with the same signature or a test in common, in order of time."""
        own = subject.own
        found = {r.job_id: r for r in self._by_signature.get(own.signature, ()) if is_specific(own.signature)}
        for test in own.tests[:20]:
            found |= {r.job_id: r for r in self._by_test.get(test, ())}
        return sorted((r for r in found.values() if r.run_id != own.run_id), key=lambda r: (r.ended, r.job_id))

    def with_signature(self, signature: str) -> list[Result]:
        """Failures with a signature, in order of time; none for one that does not name a failure."""
        return self._by_signature.get(signature, []) if is_specific(signature) else []

    def alike_elsewhere(self, result: Result, around: timedelta) -> bool:
        """Did another runner show the same failure around the same time?"""
        near = _between(self.with_signature(result.signature), result.ended - around, result.ended + around)
        return any(r.runner != result.runner for r in near)

    def on_base(self, key: Key) -> list[Result]:
        """Results of a job on the base branch, in the order in which its runs were created."""
        return self._base_by_key.get(key, [])

    def on_commit(self, sha: str, key: Key) -> list[Result]:
        """Results of a job on one commit, over all runs and attempts."""
        return self._by_commit.get((sha, key), [])

    def of_run(self, run_id: int) -> list[Result]:
        """Results of all jobs of a run, over all attempts."""
        return self._by_run.get(run_id, [])

    def of_change(self, change: str, key: Key) -> list[Result]:
        """Results of a job on all commits of a pull request or branch, in order of time."""
        return self._by_change.get((change, key), [])

    def before_merge(self, merge: Merge, key: Key) -> list[Result]:
        """Results of a job on the change that was merged, before it was, in order of time; cancelled ones left out."""
        rows = [*self.of_change(f"#{merge.pull_request}", key), *self.on_commit(merge.head_sha, key)]
        tried = {r.job_id: r for r in rows if r.built < merge.at and not r.on_base and r.conclusion != "cancelled"}
        return sorted(tried.values(), key=lambda r: (r.built, r.attempt, r.job_id))

    @cached_property
    def _by_whole_change(self) -> dict[object, list[Result]]:
        return self._by((r.change, r) for r in self._unique if r.change)

    def of_whole_change(self, change: str) -> list[Result]:
        """Results of all jobs on all commits of a pull request or branch, in order of time."""
        return self._by_whole_change.get(change, [])

    def of_job(self, key: Key, since: datetime, until: datetime) -> list[Result]:
        """Results of a job wherever it ran, that ended in a span."""
        return _between(self._by_key.get(key, []), since, until)

    def on_runner(self, runner: str, since: datetime, until: datetime) -> list[Result]:
        """Results on one runner that ended in a span."""
        return _between(self._by_runner.get(runner, []), since, until)

    def in_pool(self, pool: str, since: datetime, until: datetime) -> list[Result]:
        """Results of the jobs that asked for one kind of runner, that ended in a span."""
        return _between(self._by_pool.get(pool, []), since, until)

    def between(self, since: datetime, until: datetime) -> list[Result]:
        """All results that ended in a span."""
        return _between(self._unique, since, until)

    @cached_property
    def _merge_order(self) -> list[Merge]:
        unique = {merge.sha: merge for merge in self.merges}
        return sorted(unique.values(), key=lambda m: (m.at, m.sha))

    @cached_property
    def merge_of(self) -> Mapping[str, Merge]:
        """The merge that made a commit of the base branch."""
        return {merge.sha: merge for merge in self.merges}

    @cached_property
    def merge_of_pull(self) -> Mapping[int, Merge]:
        """The merge of a pull request, by its number."""
        return {merge.pull_request: merge for merge in self._merge_order if merge.pull_request is not None}

    @cached_property
    def _merge_times(self) -> list[datetime]:
        return [merge.at for merge in self._merge_order]

    def merged(self, after: datetime, until: datetime) -> list[Merge]:
        """What was merged after a moment, up to and with another, in order of time."""
        return self._merge_order[bisect_right(self._merge_times, after) : bisect_right(self._merge_times, until)]

    def range_between(self, good: Result, bad: Result) -> list[Merge]:
        """What was merged after the commit of the base branch that passed, up to and with the one that failed."""
        known = self.merge_of
        start = known[good.head_sha].at if good.head_sha in known else good.built
        end = known[bad.head_sha].at if bad.head_sha in known else bad.built
        return [m for m in self.merged(start, end) if m.sha != good.head_sha]

    @cached_property
    def tells_authors(self) -> bool:
        """Do the results carry more than one author?"""
        return len({r.author for r in self._unique if r.author}) > 1

    @cached_property
    def _usual_waits(self) -> dict[str, timedelta]:
        waits: dict[str, list[float]] = defaultdict(list)
        for result in self._unique:
            if result.runner:
                waits[result.pool].append(result.waited.total_seconds())
        return {pool: timedelta(seconds=median(each)) for pool, each in waits.items()}

    def usual_wait(self, pool: str) -> timedelta | None:
        """How long jobs of a pool wait for a runner, half of them less; None when nothing is known of the pool."""
        return self._usual_waits.get(pool)

    @cached_property
    def _failure_rates(self) -> dict[str, float]:
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for result in self._unique:
            if result.runner and (result.failed or result.conclusion == "success"):
                counts[result.pool][0] += 1
                counts[result.pool][1] += result.failed
        return {pool: (failed + 1) / (ran + 10) for pool, (ran, failed) in counts.items()}

    def failure_rate(self, pool: str) -> float:
        """The share of jobs of a pool that fail, from 0 to 1, drawn towards one in ten where few are known."""
        return self._failure_rates.get(pool, 0.1)

    @cached_property
    def _loads(self) -> dict[str, tuple[list[datetime], list[PoolLoad], float]]:
        loads: dict[str, list[PoolLoad]] = defaultdict(list)
        for load in sorted(self.loads, key=lambda load: load.at):
            loads[load.pool].append(load)
        return {
            pool: ([load.at for load in each], each, median(load.waiting for load in each))
            for pool, each in loads.items()
        }

    def load(self, pool: str, at: datetime) -> tuple[PoolLoad, float] | None:
        """The load of a pool at most ten minutes before a moment, and how many wait there usually (the median)."""
        times, loads, usual = self._loads.get(pool, ([], [], 0.0))
        position = bisect_right(times, at) - 1
        if position < 0 or at - times[position] > timedelta(minutes=10):
            return None
        return loads[position], usual

    def covers(self, moment: datetime, before: timedelta) -> bool:
        """Do the results reach from so long before a moment up to it?"""
        if self.since is None or self.until is None:
            return False
        return self.since <= moment - before and self.until >= moment


def _fullness(result: Result) -> tuple[object, ...]:
    """Of two rows of one job the later counts, then the one that knows more."""
    return result.ended, result.signature, result.pull_request or 0, result.author, result.tests, result.runner


def _between(rows: Sequence[Result], since: datetime, until: datetime) -> list[Result]:
    low = bisect_left(rows, since, key=lambda r: r.ended)
    return list(rows[low : bisect_right(rows, until, key=lambda r: r.ended)])
