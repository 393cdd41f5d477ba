"""The model's words as table rows: which table, which columns, which value in each.

Tables that keep PyTorch's names keep its convention too: '' and 1970 where a value is missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar

from buildeye.model import (
    CheckRun,
    Evidence,
    Incident,
    Job,
    PersonVerdict,
    PullRequest,
    Push,
    Run,
    UsageError,
    Verdict,
    VerdictChange,
)
from buildeye.warehouse import version
from buildeye.warehouse.records import Baseline, JobDiagnosis, JobEnvironment, KeptLog, SyncCursor, SyncedRun

_NONE: Final = datetime(1970, 1, 1, tzinfo=UTC)

Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows made ready for a table, perhaps in another process; `values` are in the order of `columns`."""

    table: str
    columns: tuple[str, ...]
    values: list[list[Any]]


@dataclass(frozen=True)
class Table(Generic[Fact]):
    """A table and how one fact becomes its row: `columns` names each column and what goes into it."""

    name: str
    columns: dict[str, Callable[[Fact], Any]]

    def row(self, fact: Fact) -> list[Any]:
        """The values of a fact, in the order of `columns`. UsageError for a time without a zone."""
        return [value(fact) for value in self.columns.values()]

    def prepare(self, facts: Sequence[Fact]) -> Prepared:
        """The rows of facts. UsageError for a time without a zone."""
        return Prepared(self.name, tuple(self.columns), [self.row(fact) for fact in facts])


RUNS: Final = Table[Run](
    "default.workflow_run",
    {
        "id": lambda run: run.id,
        "repository_full_name": lambda run: run.repository_full_name,
        "name": lambda run: run.name,
        "status": lambda run: run.status,
        "conclusion": lambda run: run.conclusion or "",
        "event": lambda run: run.event,
        "workflow_id": lambda run: run.workflow_id,
        "path": lambda run: run.path,
        "head_sha": lambda run: run.head_sha,
        "head_branch": lambda run: run.head_branch,
        "run_attempt": lambda run: run.run_attempt,
        "run_number": lambda run: run.run_number,
        "created_at": lambda run: _time(run.created_at),
        "run_started_at": lambda run: _time(run.run_started_at),
        "updated_at": lambda run: _time(run.updated_at),
        "actor": lambda run: (run.actor,),
        "triggering_actor": lambda run: (run.triggering_actor,),
        "display_title": lambda run: run.display_title,
        "html_url": lambda run: run.html_url,
        "pull_requests": lambda run: [(number,) for number in run.pull_requests],
        "_version": version.run_version,
    },
)

JOBS: Final = Table[Job](
    "default.workflow_job",
    {
        "id": lambda job: job.id,
        "run_id": lambda job: job.run_id,
        "repository_full_name": lambda job: job.repository_full_name,
        "name": lambda job: job.name,
        "workflow_name": lambda job: job.workflow_name,
        "status": lambda job: job.status,
        "conclusion": lambda job: job.conclusion or "",
        "run_attempt": lambda job: job.run_attempt,
        "head_sha": lambda job: job.head_sha,
        "head_branch": lambda job: job.head_branch,
        "created_at": lambda job: _time(job.created_at),
        "started_at": lambda job: _time(job.started_at),
        "completed_at": lambda job: _time(job.completed_at),
        "runner_id": lambda job: job.runner_id or 0,
        "runner_name": lambda job: job.runner_name or "",
        "runner_group_name": lambda job: job.runner_group_name or "",
        "labels": lambda job: list(job.labels),
        "steps": lambda job: [
            (
                step.name,
                step.number,
                step.status,
                step.conclusion or "",
                _time(step.started_at),
                _time(step.completed_at),
            )
            for step in job.steps
        ],
        "html_url": lambda job: job.html_url,
        "_version": version.job_version,
    },
)

PULL_REQUESTS: Final = Table[PullRequest](
    "default.pull_request",
    {
        "repository_full_name": lambda pull: pull.repository_full_name,
        "number": lambda pull: pull.number,
        "title": lambda pull: pull.title,
        "user": lambda pull: (pull.author,),
        "state": lambda pull: pull.state,
        "base": lambda pull: (pull.base_ref, pull.base_sha, (pull.repository_full_name,)),
        "head": lambda pull: (pull.head_ref, pull.head_sha),
        "created_at": lambda pull: _time(pull.created_at),
        "updated_at": lambda pull: _time(pull.updated_at),
        "merged_at": lambda pull: _time(pull.merged_at),
        "merge_commit_sha": lambda pull: pull.merge_commit_sha or "",
        "html_url": lambda pull: pull.html_url,
        "changed_files": lambda pull: list(pull.changed_files),
        "merge_base_sha": lambda pull: pull.merge_base_sha,
        "_version": version.pull_request_version,
    },
)

PUSHES: Final = Table[Push](
    "default.push",
    {
        "repository_full_name": lambda push: push.repository_full_name,
        "ref": lambda push: push.ref,
        "before": lambda push: push.before,
        "after": lambda push: push.after,
        "head_commit": lambda push: (
            push.after,
            push.message,
            _time(push.committed_at),
            (push.author_name, push.author_login),
        ),
        "pusher": lambda push: (push.pusher,),
        "forced": lambda push: push.forced,
        "deleted": lambda push: push.deleted,
        "pushed_at": lambda push: _time(push.pushed_at),
        "_version": lambda push: version.moment_version(push.pushed_at, push),
    },
)

CHECK_RUNS: Final = Table[CheckRun](
    "buildeye.check_run",
    {
        "repository_full_name": lambda check: check.repository_full_name,
        "id": lambda check: check.id,
        "name": lambda check: check.name,
        "status": lambda check: check.status,
        "conclusion": lambda check: check.conclusion,
        "head_sha": lambda check: check.head_sha,
        "app": lambda check: check.app,
        "started_at": lambda check: check.started_at and _time(check.started_at),
        "completed_at": lambda check: check.completed_at and _time(check.completed_at),
        "annotations_count": lambda check: check.annotations_count,
        "details_url": lambda check: check.details_url,
        "html_url": lambda check: check.html_url,
        "_version": version.check_run_version,
    },
)

DIAGNOSES: Final = Table[JobDiagnosis](
    "buildeye.diagnosis",
    {
        "repository_full_name": lambda row: row.repository_full_name,
        "run_id": lambda row: row.run_id,
        "job_id": lambda row: row.job_id,
        "log": lambda row: row.diagnosis.log,
        "cause": lambda row: str(row.diagnosis.cause),
        "category": lambda row: row.diagnosis.category,
        "determinism": lambda row: str(row.diagnosis.determinism),
        "confidence": lambda row: row.diagnosis.confidence,
        "summary": lambda row: row.diagnosis.summary,
        "key_line_number": lambda row: None if row.diagnosis.key_line is None else row.diagnosis.key_line.number,
        "key_line_text": lambda row: "" if row.diagnosis.key_line is None else row.diagnosis.key_line.text,
        "excerpts": lambda row: [(each.start, each.end, each.why) for each in row.diagnosis.excerpts],
        "evidence": lambda row: _evidence(row.diagnosis.evidence),
        "files": lambda row: list(row.diagnosis.files),
        "tests": lambda row: list(row.diagnosis.tests),
        "signature": lambda row: row.diagnosis.signature,
        "suggestions": lambda row: [
            (each.title, str(each.cost), list(each.steps), each.command) for each in row.diagnosis.suggestions
        ],
        "retry_helps": lambda row: row.diagnosis.retry_helps,
        "rule_set": lambda row: row.diagnosis.rule_set,
        "diagnosed_at": lambda row: _time(row.diagnosed_at),
        "_version": lambda row: version.diagnosis_version(row.diagnosed_at, row),
    },
)

LOGS: Final = Table[KeptLog](
    "buildeye.log",
    {
        "repository_full_name": lambda log: log.repository_full_name,
        "run_id": lambda log: log.run_id,
        "job_id": lambda log: log.job_id,
        "place": lambda log: log.place,
        "size_bytes": lambda log: log.size_bytes,
        "sha256": lambda log: log.sha256,
        "expired": lambda log: log.expired,
        "checked_at": lambda log: _time(log.checked_at),
        "_version": lambda log: version.moment_version(log.checked_at, log),
    },
)

BASELINES: Final = Table[Baseline](
    "buildeye.job_baseline",
    {
        "repository_full_name": lambda baseline: baseline.repository_full_name,
        "job_name": lambda baseline: baseline.job_name,
        "branch": lambda baseline: baseline.branch,
        "job_id": lambda baseline: baseline.job_id,
        "head_sha": lambda baseline: baseline.head_sha,
        "completed_at": lambda baseline: _time(baseline.completed_at),
        "line_hashes": lambda baseline: sorted(set(baseline.line_hashes)),
        "_version": lambda baseline: version.moment_version(baseline.completed_at, baseline),
    },
)

INCIDENTS: Final = Table[Incident](
    "buildeye.incident",
    {
        "provider": lambda incident: incident.provider,
        "id": lambda incident: incident.id,
        "name": lambda incident: incident.name,
        "impact": lambda incident: incident.impact,
        "status": lambda incident: incident.status,
        "components": lambda incident: list(incident.components),
        "started_at": lambda incident: _time(incident.started_at),
        "resolved_at": lambda incident: incident.resolved_at and _time(incident.resolved_at),
        "updated_at": lambda incident: _time(incident.updated_at),
        "html_url": lambda incident: incident.html_url,
        "_version": lambda incident: version.moment_version(incident.updated_at, incident),
    },
)

ENVIRONMENTS: Final = Table[JobEnvironment](
    "buildeye.job_environment",
    {
        "repository_full_name": lambda row: row.repository_full_name,
        "run_id": lambda row: row.run_id,
        "job_id": lambda row: row.job_id,
        "things": lambda row: [(thing.kind, thing.name, thing.value) for thing in sorted(set(row.things))],
        "read_at": lambda row: _time(row.read_at),
        "_version": lambda row: version.moment_version(row.read_at, row),
    },
)

SYNC_CURSORS: Final = Table[SyncCursor](
    "buildeye.sync_cursor",
    {
        "repository_full_name": lambda cursor: cursor.repository_full_name,
        "stream": lambda cursor: cursor.stream,
        "since": lambda cursor: _time(cursor.since),
        "reached": lambda cursor: _time(cursor.reached),
        "seen": lambda cursor: cursor.seen,
        "saved_at": lambda cursor: _time(cursor.saved_at),
        "_version": lambda cursor: version.moment_version(cursor.saved_at, cursor),
    },
)

SYNCED_RUNS: Final = Table[SyncedRun](
    "buildeye.synced_run",
    {
        "repository_full_name": lambda run: run.repository_full_name,
        "run_id": lambda run: run.run_id,
        "run_attempt": lambda run: run.run_attempt,
        "gone": lambda run: run.gone,
        "no_pull_request": lambda run: run.no_pull_request,
        "synced_at": lambda run: _time(run.synced_at),
        "_version": lambda run: version.synced_version(run.run_attempt, run.synced_at, run),
    },
)


PERSON_VERDICTS: Final = Table[PersonVerdict](
    "buildeye.person_verdict",
    {
        "repository_full_name": lambda said: said.repository_full_name,
        "run_id": lambda said: said.run_id,
        "job_id": lambda said: said.job_id,
        "cause": lambda said: str(said.cause),
        "category": lambda said: said.category,
        "why": lambda said: said.why,
        "person": lambda said: said.person,
        "said_at": lambda said: _time(said.said_at),
        "withdrawn": lambda said: said.withdrawn,
        "_version": lambda said: version.moment_version(said.said_at, said),
    },
)

VERDICT_CHANGES: Final = Table[VerdictChange](
    "buildeye.verdict_change",
    {
        "repository_full_name": lambda change: change.repository_full_name,
        "run_id": lambda change: change.run_id,
        "job_id": lambda change: change.job_id,
        "changed_at": lambda change: _time(change.changed_at),
        "cause_before": lambda change: str(change.cause_before),
        "category_before": lambda change: change.category_before,
        "confidence_before": lambda change: change.confidence_before,
        "cause": lambda change: str(change.cause),
        "category": lambda change: change.category,
        "confidence": lambda change: change.confidence,
        "reasons": lambda change: list(change.reasons),
        "why": lambda change: change.why,
        "_version": lambda change: version.moment_version(change.changed_at, change),
    },
)


def verdicts(repository: str) -> Table[Verdict]:
    """The table of verdicts, for jobs of `repository` (`owner/name`)."""
    return Table(
        "buildeye.verdict",
        {
            "repository_full_name": lambda verdict: repository,
            "run_id": lambda verdict: verdict.run_id,
            "job_id": lambda verdict: verdict.job_id,
            "cause": lambda verdict: str(verdict.cause),
            "category": lambda verdict: verdict.category,
            "confidence": lambda verdict: verdict.confidence,
            "level": lambda verdict: str(verdict.level),
            "determinism": lambda verdict: str(verdict.determinism),
            "reasons": lambda verdict: _evidence(verdict.reasons),
            "signature": lambda verdict: verdict.signature,
            "rule_set": lambda verdict: verdict.rule_set,
            "judged_at": lambda verdict: None if verdict.judged_at is None else _time(verdict.judged_at),
            "weights": lambda verdict: [reason.weight for reason in verdict.reasons],
            "otherwise": lambda verdict: [(str(cause), probability) for cause, probability in verdict.otherwise],
            "good_sha": lambda verdict: verdict.merge_range.good if verdict.merge_range else "",
            "bad_sha": lambda verdict: verdict.merge_range.bad if verdict.merge_range else "",
            "merges": lambda verdict: verdict.merge_range.merges if verdict.merge_range else 0,
            "culprits": lambda verdict: [
                (each.sha, each.probability, each.why, each.pull_request or 0) for each in verdict.culprits
            ],
            "related_pull_requests": lambda verdict: list(verdict.related_pull_requests),
            "person": lambda verdict: verdict.person,
            "_version": lambda verdict: version.moment_version(verdict.judged_at, verdict),
        },
    )


def prepare(facts: Sequence[Run | Job | PullRequest | Push | CheckRun]) -> tuple[Prepared, ...]:
    """Facts of all kinds that GitHub tells, as rows of their tables; a table without rows is left out."""
    made = (
        RUNS.prepare([fact for fact in facts if isinstance(fact, Run)]),
        JOBS.prepare([fact for fact in facts if isinstance(fact, Job)]),
        PULL_REQUESTS.prepare([fact for fact in facts if isinstance(fact, PullRequest)]),
        PUSHES.prepare([fact for fact in facts if isinstance(fact, Push)]),
        CHECK_RUNS.prepare([fact for fact in facts if isinstance(fact, CheckRun)]),
    )
    return tuple(prepared for prepared in made if prepared.values)


def _evidence(evidence: Sequence[Evidence]) -> list[tuple[Any, ...]]:
    return [(each.kind, each.id, each.line, each.quote, each.why) for each in evidence]


def _time(moment: datetime | None) -> datetime:
    if moment is None:
        return _NONE
    if moment.tzinfo is None:
        raise UsageError(f"time {moment.isoformat()} has no zone: the warehouse keeps aware times in UTC only.")
    return moment
