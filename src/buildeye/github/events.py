"""Webhook events into facts: which events tell of CI, and what each says.

The same objects come as answers of the REST interface; `convert` reads both. An event tells the state of one thing at
one moment, and may come late, twice or out of order: the warehouse's versions see to that.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from buildeye.github.convert import (
    Fields,
    ShapeError,
    check_run_from,
    job_from,
    pull_request_from,
    push_from,
    run_from,
)
from buildeye.model import CheckRun, Job, PullRequest, Push, Run

Fact = Run | Job | PullRequest | Push | CheckRun


class PayloadError(ValueError):
    """A payload that cannot be read; the message says what is wrong with it."""


def fact_of(event: str, body: bytes) -> Fact | None:
    """What an event says; `event` is the header `X-GitHub-Event`, `body` the raw JSON. None for an event not in KEPT.

    PayloadError: the body is no JSON, or not of the shape GitHub documents for this event.
    """
    read = KEPT.get(event)
    if read is None:
        return None
    try:
        return read(json.loads(body))
    except ShapeError as error:
        raise PayloadError(error.problem) from None
    except RecursionError:
        raise PayloadError("the body is nested too deeply") from None
    except ValueError as error:
        raise PayloadError(f"the body is not JSON: {error}") from None


def _run(payload: object) -> Run:
    fields = Fields(payload, "the event workflow_run")
    run = run_from(fields.value("workflow_run"))
    return run if run.repository_full_name else replace(run, repository_full_name=_repository(fields))


def _job(payload: object) -> Job:
    fields = Fields(payload, "the event workflow_job")
    return job_from(fields.value("workflow_job"), _repository(fields))


def _pull_request(payload: object) -> PullRequest:
    fields = Fields(payload, "the event pull_request")
    pull = pull_request_from(fields.value("pull_request"))
    return pull if pull.repository_full_name else replace(pull, repository_full_name=_repository(fields))


def _check_run(payload: object) -> CheckRun:
    fields = Fields(payload, "the event check_run")
    return check_run_from(fields.value("check_run"), _repository(fields))


def _repository(fields: Fields) -> str:
    return fields.within("repository").required_text("full_name")


KEPT: Final[dict[str, Callable[[object], Fact]]] = {
    "workflow_run": _run,
    "workflow_job": _job,
    "pull_request": _pull_request,
    "push": push_from,
    "check_run": _check_run,
}
"""The events that are kept, by the name GitHub gives them; every other one is accepted and ignored."""
