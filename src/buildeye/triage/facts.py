"""What a job's own facts say when its log says nothing or is gone."""

from buildeye.model import Cause, Cost, Diagnosis, Evidence, Job, Run, Suggestion

_RERUN = Suggestion(
    "Re-run the failed jobs", Cost.LOW, ("A re-run needs no change.",), "gh run rerun --failed {run_id}"
)


def diagnose_facts(job: Job, log_state: str) -> Diagnosis:
    """A diagnosis from conclusion, steps and runner alone; `log_state` says why there is no log (for the reader)."""
    name = f"job {job.id}"
    failed = next((s for s in job.steps if s.conclusion in ("failure", "timed_out", "cancelled")), None)
    ran = [s for s in job.steps if s.conclusion not in (None, "skipped")]
    if job.conclusion == "cancelled":
        return _fact(
            name,
            Cause.CANCELLED,
            "by-user",
            0.7,
            f'Job "{job.name}" was cancelled.',
            "job.cancelled",
            "cancelled",
            False,
        )
    if job.conclusion == "timed_out":
        said = f'Job "{job.name}" ran into its time limit' + (f' in step "{failed.name}".' if failed else ".")
        return _fact(name, Cause.INFRASTRUCTURE, "timeout", 0.55, said, "job.timed-out", "timed_out", True, job.run_id)
    if not ran and job.runner_name:
        said = f'No step of job "{job.name}" ran on runner {job.runner_name}.'
        return _fact(
            name, Cause.INFRASTRUCTURE, "runner-lost", 0.85, said, "job.no-step-ran", job.runner_name, True, job.run_id
        )
    if not ran:
        said = f'No step of job "{job.name}" ran and no runner took it.'
        return _fact(
            name, Cause.INFRASTRUCTURE, "runner-unavailable", 0.7, said, "job.no-runner", "no runner", True, job.run_id
        )
    where = f' failed in step "{failed.name}"' if failed else " failed"
    return Diagnosis(
        name,
        summary=f'Job "{job.name}"{where}; {log_state}.',
        evidence=(Evidence("step", "step", failed.name, "the step that failed"),) if failed else (),
        signature=f"no-log|{job.name}|{failed.name if failed else ''}",
    )


def diagnose_run(run: Run) -> Diagnosis:
    """A diagnosis of a failed run in which no failed job is known."""
    if run.conclusion == "startup_failure":
        said = f'The run "{run.name}" could not start: its workflow file is not valid.'
        return _fact(
            f"run {run.id}",
            Cause.CONFIGURATION,
            "workflow",
            0.85,
            said,
            "run.startup-failure",
            run.path or run.name,
            False,
        )
    return Diagnosis(
        f"run {run.id}",
        summary=f'The run "{run.name}" failed, but no failed job of it is known, so there is nothing to read.',
        evidence=(
            Evidence(
                "job",
                "run.no-job",
                run.name,
                "a run fails without a job when its workflow file is not valid, or its jobs were not collected",
            ),
        ),
        signature=f"no-job|{run.name}",
    )


def _fact(
    name: str, cause: Cause, category: str, sure: float, said: str, rule: str, quote: str, retry: bool, run_id: int = 0
) -> Diagnosis:
    advice = (
        (Suggestion(_RERUN.title, _RERUN.cost, _RERUN.steps, _RERUN.command.format(run_id=run_id)),) if retry else ()
    )
    return Diagnosis(
        name,
        cause,
        category,
        confidence=sure,
        summary=said,
        evidence=(Evidence("job", rule, quote, said),),
        signature=rule,
        suggestions=advice,
        retry_helps=retry,
    )


def is_failure(run: Run) -> bool:
    """Did this run fail? Skipped, neutral, green, cancelled and unfinished runs did not."""
    return run.conclusion in ("failure", "timed_out", "startup_failure")


def can_hold_failures(run: Run) -> bool:
    """Can a job of this run have failed? In one that failed, or was cancelled, maybe after that."""
    return is_failure(run) or run.conclusion == "cancelled"


def is_superseded(run: Run, others: "list[Run]") -> bool:
    """Was a run cancelled because a newer one of the same workflow and branch began?"""
    if run.conclusion != "cancelled" or run.created_at is None:
        return False
    return any(
        o.workflow_id == run.workflow_id
        and o.head_branch == run.head_branch
        and o.event == run.event
        and o.created_at is not None
        and o.created_at > run.created_at
        for o in others
    )
