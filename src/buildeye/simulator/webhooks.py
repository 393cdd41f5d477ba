"""The story as GitHub's webhooks tell it: every event with its payload, in the order it happened, signed.

Each thing is told of as it changes: a run when it is requested, started and done, a job when it is queued, started and
done with the steps it has by then, a pull request when it is opened, pushed to and closed.
"""

import hashlib
import hmac
import http.client
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from buildeye.model import Job, OutsideError, Run, Step
from buildeye.simulator.catalog import Catalog
from buildeye.simulator.facts import Commit, Past
from buildeye.simulator.render_common import Json, moment, number_of, repository, user
from buildeye.simulator.render_git import pull_json, simple_commit
from buildeye.simulator.render_runs import job_json, run_json

API = "https://api.github.com"
SEND_SECONDS = 10.0  # as long as GitHub waits for an answer
NOTHING = "0" * 40
"""What GitHub writes for the commit before a branch was made."""


@dataclass(frozen=True, slots=True)
class Told:
    """One event: when it happened, what GitHub calls it, and its payload."""

    at: datetime
    event: str
    payload: Json

    @property
    def body(self) -> bytes:
        """The payload as it is sent."""
        return json.dumps(self.payload, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Sent:
    """One delivery: the headers GitHub sets, and the body."""

    headers: dict[str, str]
    body: bytes


def story_events(past: Past) -> list[Told]:
    """All events of a past, oldest first."""
    catalog = Catalog(past)
    told = [*_pushes(catalog), *_pulls(catalog), *_runs(catalog), *_jobs(catalog)]
    return sorted(told, key=lambda each: each.at)


def job_states(job: Job) -> tuple[Job, ...]:
    """What is said of a job in the course of its life, as far as the past goes: queued, started, done."""
    waiting = replace(
        job,
        status="queued",
        conclusion=None,
        started_at=job.created_at,
        completed_at=None,
        runner_id=None,
        runner_name=None,
        runner_group_name=None,
        steps=(),
    )
    if job.status == "queued":
        return (waiting,)
    first = tuple(_begun(step) for step in job.steps[:1])
    started = replace(job, status="in_progress", conclusion=None, completed_at=None, steps=first)
    return (waiting, started, job) if job.status == "completed" else (waiting, started)


def run_states(run: Run) -> tuple[Run, ...]:
    """The same of one attempt of a run."""
    start = run.run_started_at or run.created_at
    requested = replace(run, status="queued", conclusion=None, updated_at=start)
    if run.status == "queued":
        return (requested,)
    started = replace(requested, status="in_progress")
    return (requested, started, run) if run.status == "completed" else (requested, started)


def signed(told: Told, secret: str, delivery: str) -> Sent:
    """An event as GitHub delivers it; `delivery` is the id that stays the same when it is delivered again."""
    body = told.body
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "content-type": "application/json",
        "user-agent": "GitHub-Hookshot/simulated",
        "x-github-event": told.event,
        "x-github-delivery": delivery,
        "x-hub-signature-256": f"sha256={signature}",
    }
    return Sent(headers, body)


def deliveries(told: Iterable[Told], secret: str, name: str = "") -> Iterator[Sent]:
    """Events signed and numbered: equal arguments give equal delivery ids."""
    for number, each in enumerate(told):
        digest = hashlib.sha256(f"{name}/{number}".encode()).digest()
        yield signed(each, secret, str(UUID(bytes=digest[:16], version=4)))


def send(url: str, sent: Iterable[Sent]) -> Counter[int]:
    """Deliver to a door, one after the other over one connection; how often each status was the answer.

    OutsideError: the door does not answer.
    """
    parts = urlsplit(url)
    line = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=SEND_SECONDS)
    answers: Counter[int] = Counter()
    try:
        for each in sent:
            line.request("POST", parts.path, each.body, each.headers)
            answer = line.getresponse()
            answer.read()
            answers[answer.status] += 1
    except (OSError, http.client.HTTPException) as error:
        raise OutsideError(f"{url} does not answer ({error}): start `build-eye serve` there") from error
    finally:
        line.close()
    return answers


def _begun(step: Step) -> Step:
    return replace(step, status="in_progress", conclusion=None, completed_at=None)


def _told(catalog: Catalog, at: datetime | None, event: str, action: str, sender: str, **payload: Json) -> Told:
    past = catalog.past
    around = {"repository": repository(API, past.owner, past.name), "sender": user(API, sender or past.owner)}
    return Told(at or past.now, event, {"action": action, **payload, **around})


def _runs(catalog: Catalog) -> Iterator[Told]:
    actions = {"queued": "requested", "in_progress": "in_progress", "completed": "completed"}
    for attempt in catalog.past.attempts:
        for run in run_states(attempt):
            payload = run_json(API, catalog, run)
            action = actions[run.status]
            yield _told(catalog, run.updated_at, "workflow_run", action, run.triggering_actor, workflow_run=payload)


def _jobs(catalog: Catalog) -> Iterator[Told]:
    owner = catalog.past.owner
    for last in catalog.past.jobs:
        for job in job_states(last):
            at = job.completed_at or job.started_at
            payload = job_json(API, catalog, job)
            yield _told(catalog, at, "workflow_job", job.status, owner, workflow_job=payload)
            if job.status != "in_progress":
                action = "created" if job.status == "queued" else "completed"
                yield _told(catalog, at, "check_run", action, owner, check_run=_check_json(catalog, job))


def _check_json(catalog: Catalog, job: Job) -> Json:
    url = f"{API}/repos/{catalog.past.full_name}/check-runs/{job.id}"
    failed = job.conclusion in ("failure", "cancelled")
    return {
        "id": job.id,
        "name": job.name,
        "head_sha": job.head_sha,
        "external_id": str(job.id),
        "url": url,
        "html_url": job.html_url,
        "details_url": job.html_url,
        "status": job.status,
        "conclusion": job.conclusion,
        "started_at": moment(job.started_at),
        "completed_at": moment(job.completed_at),
        "output": {"title": None, "summary": None, "text": None, "annotations_count": int(failed)},
        "app": {"id": 15368, "slug": "github-actions", "name": "GitHub Actions"},
        "pull_requests": [],
    }


def _pulls(catalog: Catalog) -> Iterator[Told]:
    for pull in catalog.past.pulls:
        pushed = [commit for commit in catalog.past.commits if commit.pull == pull.number and commit.branch != "main"]
        for number, commit in enumerate(pushed):
            state = replace(
                pull,
                state="open",
                merged_at=None,
                merge_commit_sha=None,
                head_sha=commit.sha,
                updated_at=commit.at,
            )
            action = "synchronize" if number else "opened"
            yield _told(
                catalog,
                commit.at,
                "pull_request",
                action,
                pull.author,
                pull_request=pull_json(API, catalog, state, True),
            )
        if pull.state == "closed":
            payload = pull_json(API, catalog, pull, True)
            yield _told(catalog, pull.updated_at, "pull_request", "closed", pull.author, pull_request=payload)


def _pushes(catalog: Catalog) -> Iterator[Told]:
    heads: dict[str, str] = {}
    for commit in catalog.past.commits:
        yield Told(commit.at, "push", _push_json(catalog, commit, heads.get(commit.branch, NOTHING)))
        heads[commit.branch] = commit.sha


def _push_json(catalog: Catalog, commit: Commit, before: str) -> Json:
    past = catalog.past
    head = simple_commit(commit)
    head["author"] = {**head["author"], "username": commit.author}
    files: Sequence[str] = commit.files
    return {
        "ref": f"refs/heads/{commit.branch}",
        "before": before,
        "after": commit.sha,
        "created": before == NOTHING,
        "deleted": False,
        "forced": False,
        "base_ref": None,
        "compare": f"https://github.com/{past.full_name}/compare/{before[:12]}...{commit.sha[:12]}",
        "commits": [{**head, "added": [], "removed": [], "modified": list(files)}],
        "head_commit": {**head, "added": [], "removed": [], "modified": list(files)},
        "repository": {**repository(API, past.owner, past.name), "pushed_at": int(commit.at.timestamp())},
        "pusher": {"name": commit.author, "email": f"{commit.author}@example.org"},
        "sender": user(API, commit.author),
        "organization": {"login": past.owner, "id": number_of("user", past.owner)},
    }
