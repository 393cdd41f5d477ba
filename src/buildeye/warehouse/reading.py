"""Table rows as the model's words: the way back from `rows`. '' and 1970 become None where the model says None."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from buildeye.model import (
    Cause,
    Cost,
    Culprit,
    Determinism,
    Diagnosis,
    Evidence,
    Excerpt,
    Incident,
    Job,
    KeyLine,
    Level,
    MergeRange,
    PersonVerdict,
    PullRequest,
    Reason,
    Run,
    Step,
    Suggestion,
    Thing,
    Verdict,
    VerdictChange,
)

Row = Mapping[str, Any]


def run_of(row: Row) -> Run:
    """A run, from a row with the columns of `default.workflow_run`."""
    return Run(
        id=row["id"],
        name=row["name"],
        status=row["status"],
        conclusion=row["conclusion"] or None,
        event=row["event"],
        workflow_id=row["workflow_id"],
        path=row["path"],
        head_sha=row["head_sha"],
        head_branch=row["head_branch"],
        run_attempt=row["run_attempt"],
        run_number=row["run_number"],
        created_at=_time(row["created_at"]),
        run_started_at=_time(row["run_started_at"]),
        updated_at=_time(row["updated_at"]),
        actor=row["actor"]["login"],
        triggering_actor=row["triggering_actor"]["login"],
        display_title=row["display_title"],
        html_url=row["html_url"],
        pull_requests=tuple(each["number"] for each in row["pull_requests"]),
        repository_full_name=row["repository_full_name"],
    )


def job_of(row: Row) -> Job:
    """A job, from a row with the columns of `default.workflow_job`."""
    return Job(
        id=row["id"],
        run_id=row["run_id"],
        name=row["name"],
        status=row["status"],
        conclusion=row["conclusion"] or None,
        run_attempt=row["run_attempt"],
        workflow_name=row["workflow_name"],
        head_sha=row["head_sha"],
        head_branch=row["head_branch"],
        created_at=_time(row["created_at"]),
        started_at=_time(row["started_at"]),
        completed_at=_time(row["completed_at"]),
        runner_id=row["runner_id"] or None,
        runner_name=row["runner_name"] or None,
        runner_group_name=row["runner_group_name"] or None,
        labels=tuple(row["labels"]),
        steps=tuple(
            Step(
                step["name"],
                step["number"],
                step["status"],
                step["conclusion"] or None,
                _time(step["started_at"]),
                _time(step["completed_at"]),
            )
            for step in row["steps"]
        ),
        html_url=row["html_url"],
        repository_full_name=row["repository_full_name"],
    )


def pull_request_of(row: Row) -> PullRequest:
    """A pull request, from a row with the columns of `default.pull_request`."""
    return PullRequest(
        number=row["number"],
        title=row["title"],
        author=row["user"]["login"],
        state=row["state"],
        base_ref=row["base"]["ref"],
        base_sha=row["base"]["sha"],
        head_ref=row["head"]["ref"],
        head_sha=row["head"]["sha"],
        created_at=_time(row["created_at"]),
        updated_at=_time(row["updated_at"]),
        merged_at=_time(row["merged_at"]),
        merge_commit_sha=row["merge_commit_sha"] or None,
        html_url=row["html_url"],
        changed_files=tuple(row["changed_files"]),
        repository_full_name=row["repository_full_name"],
        merge_base_sha=row["merge_base_sha"],
    )


def diagnosis_of(row: Row) -> Diagnosis:
    """A diagnosis, from a row with the columns of `buildeye.diagnosis`."""
    number = row["key_line_number"]
    return Diagnosis(
        log=row["log"],
        cause=Cause(row["cause"]),
        category=row["category"],
        determinism=Determinism(row["determinism"]),
        confidence=row["confidence"],
        summary=row["summary"],
        key_line=None if number is None else KeyLine(number, row["key_line_text"]),
        excerpts=tuple(Excerpt(each["start"], each["end"], each["why"]) for each in row["excerpts"]),
        evidence=tuple(
            Evidence(each["kind"], each["id"], each["quote"], each["why"], each["line"]) for each in row["evidence"]
        ),
        files=tuple(row["files"]),
        tests=tuple(row["tests"]),
        signature=row["signature"],
        suggestions=tuple(
            Suggestion(each["title"], Cost(each["cost"]), tuple(each["steps"]), each["command"])
            for each in row["suggestions"]
        ),
        retry_helps=row["retry_helps"],
        rule_set=row["rule_set"],
    )


def verdict_of(row: Row) -> Verdict:
    """A verdict, from a row with the columns of `buildeye.verdict`."""
    reasons, weights = row["reasons"], row["weights"]
    return Verdict(
        run_id=row["run_id"],
        job_id=row["job_id"],
        cause=Cause(row["cause"]),
        category=row["category"],
        confidence=row["confidence"],
        level=Level(row["level"]),
        determinism=Determinism(row["determinism"]),
        reasons=tuple(
            Reason(each["kind"], each["id"], each["quote"], each["why"], each["line"], weight)
            for each, weight in zip(reasons, weights or [0.0] * len(reasons), strict=True)
        ),
        signature=row["signature"],
        rule_set=row["rule_set"],
        judged_at=row["judged_at"],
        otherwise=tuple((Cause(each["cause"]), each["probability"]) for each in row["otherwise"]),
        merge_range=MergeRange(row["good_sha"], row["bad_sha"], row["merges"]) if row["bad_sha"] else None,
        culprits=tuple(
            Culprit(each["sha"], each["probability"], each["why"], each["pull_request"] or None)
            for each in row["culprits"]
        ),
        related_pull_requests=tuple(row["related_pull_requests"]),
        person=row["person"],
    )


def person_verdict_of(row: Row) -> PersonVerdict:
    """What a person said, from a row with the columns of `buildeye.person_verdict`."""
    return PersonVerdict(
        repository_full_name=row["repository_full_name"],
        run_id=row["run_id"],
        job_id=row["job_id"],
        cause=Cause(row["cause"]),
        category=row["category"],
        why=row["why"],
        person=row["person"],
        said_at=row["said_at"],
        withdrawn=bool(row["withdrawn"]),
    )


def verdict_change_of(row: Row) -> VerdictChange:
    """A change of our own judgement, from a row with the columns of `buildeye.verdict_change`."""
    return VerdictChange(
        repository_full_name=row["repository_full_name"],
        run_id=row["run_id"],
        job_id=row["job_id"],
        changed_at=row["changed_at"],
        cause_before=Cause(row["cause_before"]),
        category_before=row["category_before"],
        confidence_before=row["confidence_before"],
        cause=Cause(row["cause"]),
        category=row["category"],
        confidence=row["confidence"],
        reasons=tuple(row["reasons"]),
        why=row["why"],
    )


def incident_of(row: Row) -> Incident:
    """An incident, from a row with the columns of `buildeye.incident`."""
    return Incident(
        id=row["id"],
        name=row["name"],
        started_at=row["started_at"],
        updated_at=row["updated_at"],
        impact=row["impact"],
        status=row["status"],
        components=tuple(row["components"]),
        resolved_at=row["resolved_at"],
        html_url=row["html_url"],
        provider=row["provider"],
    )


def things_of(row: Row) -> tuple[Thing, ...]:
    """What a job ran in and with, from a row with the column `things` of `buildeye.job_environment`."""
    return tuple(Thing(each["kind"], each["name"], each["value"]) for each in row["things"])


def _time(moment: datetime) -> datetime | None:
    return moment if moment.year > 1970 else None
