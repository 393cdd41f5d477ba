"""The repository as its history unfolds: things happen in the order of their time, each may lead to more.

A world holds what is written so far. Stories act on it: they open, push and merge pull requests, start runs, and set
hazards.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha1
from random import Random

from buildeye.model import Cause, Incident, PullRequest, Run
from buildeye.simulator.chance import chance
from buildeye.simulator.events import PullDraft, opened
from buildeye.simulator.facts import Commit, Truth
from buildeye.simulator.histories.acting import Call, Stage, cut_all
from buildeye.simulator.histories.surroundings import Pin
from buildeye.simulator.histories.vocabulary import FORKERS
from buildeye.simulator.perform import Cut, Played, without_run
from buildeye.simulator.shapes import MORE_WORKFLOWS, WORKFLOWS

ALL_WORKFLOWS = WORKFLOWS | MORE_WORKFLOWS
CARETAKER = "maint-lu"
FIRST_PULL = 9702
FIRST_RUN = 26426100000

SUPERSEDED = Truth(Cause.CANCELLED, "superseded", story="cancelled")
BY_USER = Truth(Cause.CANCELLED, "by-user", story="cancelled")


@dataclass(slots=True)
class Record:
    """One attempt of one run; `played` changes when it is cut off."""

    run: Run
    workflow: str
    base: datetime
    base_sha: str
    pull: str
    push: int
    played: list[Played]

    @property
    def end(self) -> datetime:
        """When its last job ended."""
        return max((one.job.completed_at for one in self.played if one.job.completed_at), default=self.start)

    @property
    def start(self) -> datetime:
        """When it began."""
        assert self.run.run_started_at
        return self.run.run_started_at

    @property
    def failed(self) -> bool:
        """Whether a job did not end well."""
        return any(one.job.conclusion in ("failure", "cancelled") for one in self.played)


@dataclass(slots=True)
class World:
    """All that was written so far; `happen` plays it up to `now`."""

    seed: int
    start: datetime
    now: datetime
    full_name: str
    stage: Stage
    rng: Random
    drafts: dict[str, PullDraft] = field(default_factory=dict)
    pulls: dict[str, PullRequest] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    latest: dict[tuple[str, str], Record] = field(default_factory=dict)
    pushes: dict[str, int] = field(default_factory=dict)
    pins: dict[str, Pin] = field(default_factory=dict)
    incidents: list[Incident] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    on_merge: dict[str, Callable[[str, int, datetime], None]] = field(default_factory=dict)
    main: str = ""
    started: int = 0
    elsewhere: dict[str, list[tuple[datetime, datetime]]] = field(default_factory=dict)
    claims: dict[str, list[tuple[datetime, datetime]]] = field(default_factory=dict)
    last_slow: dict[str, datetime] = field(default_factory=dict)
    last_id: int = FIRST_RUN
    _agenda: list[tuple[datetime, int, Callable[[datetime], None]]] = field(default_factory=list)
    _planned: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)

    def at(self, when: datetime, action: Callable[[datetime], None]) -> None:
        """Something is going to happen at a time; never, when that is after now."""
        self._planned += 1
        heapq.heappush(self._agenda, (when.replace(microsecond=0), self._planned, action))

    def happen(self) -> None:
        """All that is going to happen happens, up to now."""
        while self._agenda and self._agenda[0][0] <= self.now - timedelta(seconds=30):
            when, _, action = heapq.heappop(self._agenda)
            action(when)

    def claim(self, names: list[str], since: datetime, until: datetime) -> str:
        """The first of these that no other story has in that time, or the last; it is this story's then."""
        span = (since - timedelta(hours=6), until + timedelta(hours=6))

        def is_free(name: str) -> bool:
            return all(end <= span[0] or span[1] <= start for start, end in self.claims.get(name, ()))

        chosen = next((name for name in names if is_free(name)), names[-1])
        self.claims.setdefault(chosen, []).append(span)
        return chosen

    def commit(
        self, message: str, author: str, at: datetime, branch: str, parents: tuple[str, ...], files: tuple[str, ...],
        pull: int | None = None,
    ) -> str:  # fmt: skip
        """A new commit; its sha."""
        text = f"{self.seed}/{len(self.commits)}/{message}/{branch}"
        sha = sha1(text.encode(), usedforsecurity=False).hexdigest()
        self.commits.append(Commit(sha, message, author, at, branch, parents, files, pull))
        return sha

    def push(self, draft: PullDraft, at: datetime) -> PullRequest:
        """A push to the branch of a pull request, which opens with its first; runs before it are superseded."""
        known = self.pulls.get(draft.key)
        number = known.number if known else FIRST_PULL + 3 * len(self.pulls)
        branch = known.head_ref if known else f"{draft.key}-{number}"
        message = "Address review" if known else draft.title
        parent = known.head_sha if known else self.main
        head = self.commit(message, draft.author, at, branch, (parent,), draft.files, number)
        self.drafts[draft.key] = draft
        self.pushes[draft.key] = self.pushes.get(draft.key, -1) + 1
        if known:
            files = tuple(dict.fromkeys((*known.changed_files, *draft.files)))
            pull = replace(known, title=draft.title, head_sha=head, updated_at=at, changed_files=files)
        else:
            pull = opened(draft, number, branch, head, self.main, at, self.full_name)
            pull = replace(pull, merge_base_sha=self.main)
        self.pulls[draft.key] = pull
        self.cancel(draft.key, at, SUPERSEDED)
        return pull

    def merge(self, key: str, at: datetime) -> str:
        """A pull request becomes a commit of main; its sha."""
        pull = self.pulls[key]
        title = f"{pull.title} (#{pull.number})"
        self.main = self.commit(title, pull.author, at, "main", (self.main,), pull.changed_files, pull.number)
        self.pulls[key] = replace(pull, state="closed", merged_at=at, merge_commit_sha=self.main, updated_at=at)
        if key in self.on_merge:
            self.on_merge[key](self.main, pull.number, at)
        return self.main

    def close(self, key: str, at: datetime) -> None:
        """A pull request is given up."""
        self.pulls[key] = replace(self.pulls[key], state="closed", updated_at=at)

    def is_open(self, key: str) -> bool:
        """Whether a pull request waits to be merged."""
        return self.pulls[key].state == "open" and key not in self.waiting

    def cancel(self, key: str, at: datetime, why: Truth) -> None:
        """What still runs for a pull request stops."""
        for record in self.latest_of(key):
            if record.end > at:
                record.played = cut_all(record.played, Cut(at, True), why)

    def latest_of(self, key: str) -> list[Record]:
        """The newest attempt of the newest run of each workflow of a pull request."""
        return [self.latest[key, workflow] for workflow in ALL_WORKFLOWS if (key, workflow) in self.latest]

    def run(self, workflow: str, event: str, at: datetime, key: str = "", sha: str = "", skip: bool = False) -> Record:
        """A new run: of a pull request's head, of a commit of main that `key` was merged as, or of main."""
        shape = ALL_WORKFLOWS[workflow]
        self.started += 1
        number = self._numbers[workflow] = self._numbers.get(workflow, 4100) + 1
        pull = self.pulls[key] if key else None
        of_pull = event == "pull_request" and pull is not None
        self.last_id += 1 + chance(self.seed, "run", number, workflow).randrange(1, 90_000)
        identity = self.last_id
        actor = pull.author if pull else CARETAKER
        named = of_pull and pull is not None and pull.author not in FORKERS
        begun = at + timedelta(seconds=3)
        title = shape.name if pull is None else pull.title if of_pull else f"{pull.title} (#{pull.number})"
        run = Run(
            id=identity,
            name=shape.name,
            status="completed",
            event=event,
            workflow_id=shape.id,
            path=f".github/workflows/{shape.file}",
            head_sha=pull.head_sha if of_pull and pull else sha or self.main,
            head_branch=pull.head_ref if of_pull and pull else "main",
            run_number=number,
            created_at=begun,
            run_started_at=begun,
            actor=actor,
            triggering_actor=actor,
            display_title=title,
            html_url=f"https://github.com/{self.full_name}/actions/runs/{identity}",
            pull_requests=(pull.number,) if named and pull else (),
            repository_full_name=self.full_name,
        )
        record = Record(run, workflow, begun, self.main, key, self.pushes.get(key, 0), [])
        return self._begin(record, skip)

    def rerun(self, record: Record, at: datetime, by: str) -> Record:
        """One more attempt of a run, on the very commit it had."""
        run = replace(
            record.run, run_attempt=record.run.run_attempt + 1, run_started_at=at, triggering_actor=by, conclusion=None
        )
        again = replace(record, run=run, played=[])
        return self._begin(again, skip=False)

    def _begin(self, record: Record, skip: bool) -> Record:
        run = record.run
        shape = ALL_WORKFLOWS[record.workflow]
        if skip:
            record.played = [without_run(job, record.start, "completed", "skipped") for job in shape.jobs]
        else:
            pull = self.pulls.get(record.pull)
            call = Call(
                record.workflow, shape, run.event, record.base, record.start, run.head_sha, record.base_sha,
                record.pull, pull.number if pull else 0, record.push, run.id, run.run_attempt,
                self.pins.get(record.pull) if run.event == "pull_request" else None,
            )  # fmt: skip
            record.played = self.stage.play(call, chance(self.seed, run.id, run.run_attempt))
        self.records.append(record)
        if run.event == "pull_request":
            self.latest[record.pull, record.workflow] = record
        return record
