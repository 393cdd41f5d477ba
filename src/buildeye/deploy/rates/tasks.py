"""Tasks with their verdicts as a reading and as a baseline. Pure: what a source told goes in, counts come out."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from buildeye.deploy.rates.times import parse_time
from buildeye.model.deployments import Baseline

if TYPE_CHECKING:
    from buildeye.deploy.judges.rate import RateReading

Served = Callable[[str, datetime], bool]
"""Whether a task counts: by what the application says served it ('' for nothing), and when it entered validation."""

_VERDICTS: Mapping[object, bool | None] = {True: True, False: False, None: None}


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """A task, when it entered validation, its explicit verdict (None: pending), and what is said to have served it."""

    id: str
    entered: datetime
    approved: bool | None
    deployment: str = ""


def task_verdict(task_id: object, entered: object, approved: object, deployment: object) -> TaskVerdict:
    """A task as a source tells it. ValueError, in a few words, for values that are none."""
    if task_id is None or isinstance(task_id, bool | float | list | dict) or task_id == "":
        raise ValueError(f"{task_id!r:.60} is no id of a task")
    if isinstance(approved, float | list | dict | str) or approved not in _VERDICTS:
        raise ValueError(f"task {task_id} has the verdict {approved!r:.60}: true (1), false (0) or null is meant")
    if isinstance(deployment, bool | float | list | dict):
        raise ValueError(f"task {task_id} has the deployment {deployment!r:.60}: a text is meant")
    said = "" if deployment is None else str(deployment)
    try:
        return TaskVerdict(str(task_id), parse_time(entered), _VERDICTS[approved], said)
    except ValueError as error:
        raise ValueError(f"task {task_id}: {error}") from None


def reading_of(tasks: Iterable[TaskVerdict], served: Served, most: int) -> "RateReading":
    """The oldest `most` tasks that count, in order of entering validation: a look after each that has a verdict.

    Tasks of one moment are in the order of their ids. ValueError: one task is told twice.
    """
    from buildeye.deploy.judges.rate import RateReading

    oldest = _counting(tasks, served)[:most]
    looks: list[tuple[int, int]] = []
    good = 0
    for task in oldest:
        if task.approved is not None:
            good += task.approved
            looks.append((good, len(looks) + 1))
    return RateReading(tuple(looks), len(oldest) - len(looks), tuple(task.id for task in oldest))


def baseline_of(tasks: Iterable[TaskVerdict], served: Served, before: datetime, most: int) -> Baseline | None:
    """The newest `most` tasks with a verdict that count and entered before a moment, with the hash of their ids."""
    judged = [task for task in _counting(tasks, served) if task.approved is not None and task.entered < before]
    newest = judged[-most:]
    if not newest:
        return None
    return Baseline(sum(task.approved is True for task in newest), len(newest), ids_hash(task.id for task in newest))


def ids_hash(ids: Iterable[str]) -> str:
    """The sha256, in hexadecimal, of the ids in sorted order, one a line."""
    return hashlib.sha256("".join(f"{each}\n" for each in sorted(ids)).encode()).hexdigest()


def _counting(tasks: Iterable[TaskVerdict], served: Served) -> list[TaskVerdict]:
    found = sorted(
        (task for task in tasks if served(task.deployment, task.entered)), key=lambda task: (task.entered, task.id)
    )
    seen: set[str] = set()
    for task in found:
        if task.id in seen:
            raise ValueError(f"task {task.id} is told twice")
        seen.add(task.id)
    return found
