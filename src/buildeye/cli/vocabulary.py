"""Words that a person types, understood or refused with the nearest that there is: causes, categories, jobs."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from buildeye.model import CATEGORIES, Cause, Job, UsageError
from buildeye.pipeline.verdicts import RunVerdicts

_ALONE = (Cause.NONE, Cause.UNKNOWN)
"""Causes that have one category, which no other cause can have."""
_LISTED = 8


def cause_named(text: str) -> Cause:
    """The cause of that name. UsageError suggests the nearest and names all."""
    word = _word(text)
    if word not in list(Cause):
        raise UsageError(f'--cause is "{text}"{_nearest(word, Cause)}; causes are {", ".join(Cause)}')
    return Cause(word)


def category_named(text: str, cause: Cause) -> str:
    """The category of that name, '' for none. It may have another home: a timeout can be the code's.

    UsageError suggests the nearest and names those at home in `cause`.
    """
    word = _word(text)
    known = [name for names in CATEGORIES.values() for name in names]
    if not word:
        return ""
    if word not in known:
        homely = ", ".join(CATEGORIES[cause])
        raise UsageError(f'--category is "{text}"{_nearest(word, known)}; categories of {cause} are {homely}')
    if (cause in _ALONE or word in map(str, _ALONE)) and word != cause:
        raise UsageError(f"--category {word} does not go with --cause {cause}; leave --category out")
    return word


def job_named(text: str, run: RunVerdicts) -> Job:
    """The job of a known run by its number or name, as `job_among`."""
    return job_among(text, run.run_id, (*(each.job for each in run.jobs), *run.known))


def job_among(text: str, run_id: int, among: Sequence[Job]) -> Job:
    """The job of a run by its number, or its name in the last attempt that has it. UsageError names those there are."""
    jobs = {job.id: job for job in among}
    if text.isdigit() and int(text) in jobs:
        return jobs[int(text)]
    named = [job for job in jobs.values() if job.name == text]
    last = [job for job in named if job.run_attempt == max(each.run_attempt for each in named)]
    if len(last) == 1:
        return last[0]
    if last:
        numbers = ", ".join(str(job.id) for job in sorted(last, key=lambda job: job.id))
        raise UsageError(f'run {run_id} has {len(last)} jobs named "{text}"; give the number of one: {numbers}')
    names = sorted({job.name for job in jobs.values() if job.name})
    raise UsageError(f'run {run_id} has no job "{text}"{_nearest(text, names)}; it has {_some(names)}')


def _word(text: str) -> str:
    return re.sub(r"[\s_]+", "-", text.strip().lower())


def _nearest(word: str, among: Iterable[str]) -> str:
    """`: did you mean …?`, when a word is near enough."""
    words = [str(each) for each in among]
    near = [each for each in words if word and each.lower().startswith(word.lower())]
    near = near or get_close_matches(word, words, n=1, cutoff=0.5)
    return f" (did you mean {near[0]}?)" if near else ""


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:_LISTED])
    return (
        shown + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "") if names else "none that is known"
    )
