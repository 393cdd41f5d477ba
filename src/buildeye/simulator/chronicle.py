"""Turns the events of a story into a past: commits with parents, numbered pull requests, runs and jobs with ids.

Events are told in the order of their time, so a branch starts from what main was then, and ids grow with time as
GitHub's do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha1

from buildeye.model import Job, PullRequest, Run
from buildeye.simulator.chance import chance
from buildeye.simulator.events import Event, Plan, PullDraft, Scene, opened
from buildeye.simulator.facts import Commit, Past, Plot, Workflow
from buildeye.simulator.perform import Played, play
from buildeye.simulator.roster import Roster
from buildeye.simulator.shapes import SICK_RUNNER, WORKFLOWS

FIRST_PULL = 9702
FIRST_RUN = 26426100000
FIRST_JOB = 77790100000
CARETAKER = "maint-lu"
"""Whose name scheduled runs carry, as GitHub gives them that of the workflow's last author."""


@dataclass
class _Telling:
    """What has been told so far; lives for one call of `tell`."""

    seed: int
    now: datetime
    owner: str
    name: str
    drafts: dict[str, PullDraft]
    roster: Roster
    commits: list[Commit] = field(default_factory=list)
    pulls: dict[str, PullRequest] = field(default_factory=dict)
    attempts: list[Run] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    plots: dict[int, Plot] = field(default_factory=dict)
    run_numbers: dict[str, int] = field(default_factory=dict)
    main: str = ""

    @property
    def web(self) -> str:
        return f"https://github.com/{self.owner}/{self.name}"


def tell(
    seed: int, now: datetime, owner: str, name: str, scenes: Sequence[Scene], forks: frozenset[str], log_days: int
) -> Past:
    """The past that these scenes make. Raises KeyError when an event names an unknown pull request or job."""
    drafts = {draft.key: draft for scene in scenes for draft in scene.pulls}
    telling = _Telling(seed, now, owner, name, drafts, Roster(SICK_RUNNER, now - timedelta(hours=24)))
    events = sorted((event for scene in scenes for event in scene.events), key=lambda event: event.ago, reverse=True)
    first = now - events[0].ago - timedelta(hours=3)
    telling.main = _commit(telling, "Pin the simulated toolchain", CARETAKER, first, "main", (), ("pyproject.toml",))
    for event in events:
        _happen(telling, event)
    workflows = tuple(Workflow(shape.id, shape.name, f".github/workflows/{shape.file}") for shape in WORKFLOWS.values())
    return Past(
        seed=seed,
        now=now,
        owner=owner,
        name=name,
        workflows=workflows,
        commits=tuple(telling.commits),
        pulls=tuple(telling.pulls.values()),
        attempts=tuple(telling.attempts),
        jobs=tuple(telling.jobs),
        forks=forks,
        log_days=log_days,
        plots=telling.plots,
    )


def _happen(telling: _Telling, event: Event) -> None:
    at = (telling.now - event.ago).replace(microsecond=0)
    match event.kind:
        case "push":
            pull = _push(telling, telling.drafts[event.pull], at)
            _start(telling, event.plans, at, "pull_request", pull.head_sha, pull.head_ref, pull)
        case "merge":
            pull = _merge(telling, event.pull, at)
            _start(telling, event.plans, at, "push", telling.main, "main", pull)
        case "timer":
            _start(telling, event.plans, at, "schedule", telling.main, "main", None)
        case "close":
            telling.pulls[event.pull] = replace(telling.pulls[event.pull], state="closed", updated_at=at)


def _commit(
    telling: _Telling,
    message: str,
    author: str,
    at: datetime,
    branch: str,
    parents: tuple[str, ...],
    files: tuple[str, ...],
    pull: int | None = None,
) -> str:
    sha = sha1(f"{telling.seed}/{len(telling.commits)}/{message}/{branch}".encode(), usedforsecurity=False).hexdigest()
    telling.commits.append(Commit(sha, message, author, at, branch, parents, files, pull))
    return sha


def _push(telling: _Telling, draft: PullDraft, at: datetime) -> PullRequest:
    known = telling.pulls.get(draft.key)
    number = known.number if known else FIRST_PULL + 3 * len(telling.pulls)
    branch = f"{draft.key}-{number}"
    parent = known.head_sha if known else telling.main
    message = draft.title if not known else "Address review"
    head = _commit(telling, message, draft.author, at, branch, (parent,), draft.files, number)
    if known:
        pull = replace(known, head_sha=head, updated_at=at)
    else:
        repository = f"{telling.owner}/{telling.name}"
        pull = opened(draft, number, branch, head, telling.main, at, repository)
    telling.pulls[draft.key] = pull
    return pull


def _merge(telling: _Telling, key: str, at: datetime) -> PullRequest:
    pull = telling.pulls[key]
    title = f"{pull.title} (#{pull.number})"
    telling.main = _commit(telling, title, pull.author, at, "main", (telling.main,), pull.changed_files, pull.number)
    telling.pulls[key] = replace(pull, state="closed", merged_at=at, merge_commit_sha=telling.main, updated_at=at)
    return pull


def _start(
    telling: _Telling,
    plans: tuple[Plan, ...],
    at: datetime,
    event: str,
    sha: str,
    branch: str,
    pull: PullRequest | None,
) -> None:
    for plan in plans:
        begun = at + timedelta(seconds=3)
        shape = WORKFLOWS[plan.workflow]
        number = telling.run_numbers.get(plan.workflow, 4100) + 1
        telling.run_numbers[plan.workflow] = number
        actor = pull.author if pull else CARETAKER
        last = telling.attempts[-1].id if telling.attempts else FIRST_RUN
        template = Run(
            id=last + 1 + chance(telling.seed, "run", number, plan.workflow).randrange(1, 90_000),
            name=shape.name,
            status="queued",
            event=event,
            workflow_id=shape.id,
            path=f".github/workflows/{shape.file}",
            head_sha=sha,
            head_branch=branch,
            run_number=number,
            created_at=begun,
            actor=actor,
            triggering_actor=actor,
            display_title=_display_title(event, pull, shape.name),
            pull_requests=(pull.number,) if pull and event == "pull_request" else (),
            repository_full_name=f"{telling.owner}/{telling.name}",
        )
        _attempts(telling, replace(template, html_url=f"{telling.web}/actions/runs/{template.id}"), plan)


def _display_title(event: str, pull: PullRequest | None, workflow: str) -> str:
    if pull is None:
        return workflow
    return pull.title if event == "pull_request" else f"{pull.title} (#{pull.number})"


def _attempts(telling: _Telling, template: Run, plan: Plan) -> None:
    start = template.created_at or telling.now
    for number, ending in enumerate(plan.endings, 1):
        rng = chance(telling.seed, template.id, number)
        played = play(WORKFLOWS[plan.workflow], ending, start, telling.now, rng, telling.roster)
        updated = max(time for one in played for time in _times(one.job))
        status, conclusion = outcome(played)
        actor = template.actor if number == 1 else CARETAKER
        run = replace(
            template,
            run_attempt=number,
            status=status,
            conclusion=conclusion,
            run_started_at=start,
            updated_at=min(updated + timedelta(seconds=2 if status == "completed" else 0), telling.now),
            triggering_actor=actor,
        )
        telling.attempts.append(run)
        for one in played:
            _keep(telling, run, one)
        start = updated + timedelta(minutes=rng.randint(4, 15))


def _times(job: Job) -> list[datetime]:
    return [time for time in (job.created_at, job.started_at, job.completed_at) if time]


def _keep(telling: _Telling, run: Run, played: Played) -> None:
    identity = FIRST_JOB + 7 * len(telling.jobs)
    telling.jobs.append(
        replace(
            played.job,
            id=identity,
            run_id=run.id,
            run_attempt=run.run_attempt,
            workflow_name=run.name,
            head_sha=run.head_sha,
            head_branch=run.head_branch,
            html_url=f"{run.html_url}/job/{identity}",
            repository_full_name=run.repository_full_name,
        )
    )
    telling.plots[identity] = played.plot


def outcome(played: Sequence[Played]) -> tuple[str, str | None]:
    """Status and conclusion of a run from those of its jobs, as GitHub sums them up."""
    states = {one.job.status for one in played}
    if states != {"completed"}:
        return ("queued", None) if states == {"queued"} else ("in_progress", None)
    conclusions = {one.job.conclusion for one in played}
    for conclusion in ("failure", "cancelled"):
        if conclusion in conclusions:
            return "completed", conclusion
    return "completed", "skipped" if conclusions == {"skipped"} else "success"
