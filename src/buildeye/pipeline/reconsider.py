"""Verdicts kept, and judged again when more is known: a later run of the base branch or a re-run may say otherwise."""

from collections.abc import Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta

from buildeye.config import Settings
from buildeye.model import PoolLoad, Verdict, VerdictChange
from buildeye.pipeline.history import diagnoses_of, history_around, subjects_between, thresholds_of, window_of
from buildeye.triage.judge import judge, reconsidered
from buildeye.warehouse import JobDiagnosis, Warehouse
from buildeye.warehouse.reading import verdict_of


def keep_diagnoses(warehouse: Warehouse, repository: str, diagnoses: Sequence[JobDiagnosis]) -> None:
    """Keep what logs say; a diagnosis of a log that could not be read never takes the place of one that was."""
    unread = [each.job_id for each in diagnoses if not each.diagnosis.rule_set]  # no rule was asked
    known = diagnoses_of(warehouse, repository, unread) if unread else {}
    read = {job for job, diagnosis in known.items() if diagnosis.rule_set}
    warehouse.write_diagnoses([each for each in diagnoses if each.diagnosis.rule_set or each.job_id not in read])


def keep_verdicts(
    warehouse: Warehouse, verdicts: Sequence[Verdict], repository: str, now: datetime
) -> list[VerdictChange]:
    """Keep verdicts that say something new, and what changed against those that were there; gives the changes.

    Changes are kept before the verdicts: one that is killed between the two records the same change again.
    """
    known = stored_verdicts(warehouse, repository, [verdict.job_id for verdict in verdicts])
    news = [v for v in verdicts if not _same(v, known.get(v.job_id))]
    changes = [
        change_of(before, verdict, repository, now)
        for verdict in news
        if (before := known.get(verdict.job_id)) is not None and reconsidered(before, verdict)
    ]
    warehouse.write_verdict_changes(changes)
    warehouse.write_verdicts(news, repository)
    return changes


def _same(verdict: Verdict, before: Verdict | None) -> bool:
    return before is not None and replace(verdict, judged_at=None) == replace(before, judged_at=None)


def stored_verdicts(warehouse: Warehouse, repository: str, jobs: Sequence[int]) -> dict[int, Verdict]:
    """Our own verdicts on these jobs, as they are kept."""
    rows = warehouse.ask("verdicts_of_jobs", repository=repository, jobs=sorted(set(jobs))) if jobs else []
    return {row["job_id"]: verdict_of(row) for row in rows}


def change_of(before: Verdict, after: Verdict, repository: str, now: datetime) -> VerdictChange:
    """What became another in a verdict, and the reasons it has now that it had not."""
    had = {reason.id for reason in before.reasons}
    new = [reason for reason in after.reasons if reason.id not in had]
    leading = max(new, key=lambda reason: abs(reason.weight), default=None)
    if leading is not None and leading.weight:
        why = f"{leading.why[:1].upper()}{leading.why[1:]}."
    elif before.rule_set != after.rule_set:
        why = "It was judged by other rules or weights."
    else:
        why = "What is known of other runs changed."
    return VerdictChange(
        repository, after.run_id, after.job_id, now, before.cause, before.category, before.confidence, after.cause,
        after.category, after.confidence, tuple(dict.fromkeys(reason.id for reason in new)), why,
    )  # fmt: skip


def reconsider(
    warehouse: Warehouse,
    settings: Settings,
    now: datetime,
    done: Set[int],
    loads: Sequence[PoolLoad] = (),
) -> list[VerdictChange]:
    """Judge again what was judged in the last `classification.reconsider_days`, and jobs that were stopped since.

    `done` are jobs that this pass has judged already. No log is read; a handful of questions serve all.
    """
    days = settings.classification.reconsider_days
    if not days:
        return []
    since, repository = now - timedelta(days=days), settings.target_repository.full_name
    lately = now - timedelta(hours=settings.monitoring.lookback_hours)
    subjects = [s for s in subjects_between(warehouse, settings, since, now) if s.job.id not in done]
    known = stored_verdicts(warehouse, repository, [s.job.id for s in subjects])
    stopped = {s.job.id for s in subjects if s.own.conclusion == "cancelled" and s.own.ended >= lately}
    again = [s for s in subjects if s.job.id in known or s.job.id in stopped]
    if not again:
        return []
    history = history_around(warehouse, settings, since, now, now, loads=loads)
    thresholds, window = thresholds_of(settings), window_of(settings)
    verdicts = [judge(subject, history, thresholds, now, window=window) for subject in again]
    return keep_verdicts(warehouse, verdicts, repository, now)
