"""The log of a job, made when asked for: the same bytes each time, from the seed of the past and the id of the job.

In GitHub's form: a byte order mark, a timestamp with seven digits before each line, groups, the script of each step in
cyan, `##[error]` marks, and the runner's clean-up at the end.
"""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from string import Template

from buildeye.model import Job, Step
from buildeye.simulator.chance import chance
from buildeye.simulator.facts import Past
from buildeye.simulator.failures import Failure, failure_text
from buildeye.simulator.more_failures import failure_of
from buildeye.simulator.noise import BODIES, CYAN, ENDINGS, RESET, SCRIPTS
from buildeye.simulator.noise_build import Setting
from buildeye.simulator.noise_tests import count
from buildeye.simulator.shapes import MORE_WORKFLOWS, WORKFLOWS, JobShape

_WRAPPERS = (
    "##[error]Error: failed to run script step: Error: command terminated with non-zero exit code",
    "##[error]Executing the custom container implementation failed. "
    "Please contact your self hosted runner administrator.",
)
_CLEANUP = "Cleaning up orphan processes"
_SHAPES = {
    (shape.name, job.name): job for shape in (*WORKFLOWS.values(), *MORE_WORKFLOWS.values()) for job in shape.jobs
}


def has_log(job: Job) -> bool:
    """Whether GitHub would have a log of this job: it ended and some step ran. Expiry is another matter."""
    return job.status == "completed" and bool(job.steps)


def render_log(past: Past, job: Job, scale: float = 1.0) -> bytes:
    """The whole log of a job, with this part of the noise it would have (1: all of it).

    What went wrong and what the job ran in is told in full at every scale. Raises KeyError for a job that has no log
    (see `has_log`).
    """
    if not has_log(job):
        raise KeyError(job.id)
    return "\ufeff".encode() + b"".join(text for _, text in _sections(past, job, scale))


def zip_logs(past: Past, jobs: tuple[Job, ...]) -> bytes:
    """The archive GitHub makes of an attempt: each job's log at the top, and a folder a job with a file a step."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, job in enumerate(job for job in jobs if has_log(job)):
            name = job.name.replace("/", "_")
            archive.writestr(_entry(f"{number}_{name}.txt", job), render_log(past, job))
            for step, text in _sections(past, job):
                archive.writestr(_entry(f"{name}/{step.number}_{step.name.replace('/', '_')}.txt", job), text)
    return buffer.getvalue()


def shape_of(job: Job) -> JobShape:
    """The shape of a job's pipeline, with its steps in order."""
    return _SHAPES[job.workflow_name, job.name]


def minutes_of(job: Job) -> int:
    """Whole minutes that a job took; 0 while it has not ended."""
    if job.started_at is None or job.completed_at is None:
        return 0
    return int((job.completed_at - job.started_at) / timedelta(minutes=1))


def _entry(name: str, job: Job) -> zipfile.ZipInfo:
    at = job.completed_at or job.created_at
    assert at is not None
    info = zipfile.ZipInfo(name, (at.year, at.month, at.day, at.hour, at.minute, at.second // 2 * 2))
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _sections(past: Past, job: Job, scale: float = 1.0) -> Iterator[tuple[Step, bytes]]:
    """The log cut at its steps."""
    shape = shape_of(job)
    telling = _Telling(job, shape, past.plots[job.id].failure, _words(past, job, scale), past.seed, scale)
    for index, step in enumerate(job.steps):
        if step.started_at is None or step.conclusion == "skipped":
            continue
        lines = _step_lines(telling, index)
        end = step.completed_at or (job.completed_at or step.started_at) - timedelta(minutes=10)
        text = _stamped(lines, step.started_at, end)
        if step.completed_at is None and job.completed_at:
            text += _stamped(_failure_lines(telling.failure, telling.words), job.completed_at, job.completed_at)
        elif step is job.steps[-1] and job.completed_at:
            text += _stamped([_CLEANUP], job.completed_at, job.completed_at)
        yield step, text


@dataclass(frozen=True, slots=True)
class _Telling:
    """One log to tell: `failure` is a key (empty: none), `words` what placeholders stand for."""

    job: Job
    shape: JobShape
    failure: str
    words: dict[str, str]
    seed: int
    scale: float


def _words(past: Past, job: Job, scale: float) -> dict[str, str]:
    """What the placeholders of noise and failure texts stand for."""
    run = past.run(job.run_id)
    plot = past.plots[job.id]
    rng = chance(past.seed, job.id, "words")
    started = job.started_at or past.now
    shape = shape_of(job)
    words = {
        "repo": past.full_name,
        "ws": f"/__w/{past.name}/{past.name}",
        "sha": job.head_sha,
        "short": job.head_sha[:12],
        "runner": job.runner_name or "",
        "group": job.runner_group_name or "",
        "job": job.name,
        "pr": str(run.pull_requests[0]) if run.pull_requests else "0",
        "pr_title": run.display_title,
        "passed": str(count(int(shape.lines * scale))),
        "seconds": f"{rng.uniform(60, 900):.2f}",
        "day": f"{started:%Y-%m-%d}",
        "month_day": f"{started:%m-%d}",
        "limit": str(minutes_of(job)),
        "step": next((step.name for step in job.steps if step.conclusion == "failure"), ""),
        **plot.around,
    }
    return words | {name: Template(text).safe_substitute(words) for name, text in plot.words.items()}


def _step_lines(telling: _Telling, index: int) -> list[str]:
    job, words = telling.job, telling.words
    step, kind = job.steps[index], telling.shape.steps[index].kind
    failure = failure_of(telling.failure) if telling.failure else None
    fails_here = step.conclusion == "failure" or (step.conclusion == "cancelled" and failure is not None)
    test = Template(failure.test).safe_substitute(words) if failure and fails_here else ""
    lines_wanted = int(telling.shape.lines * telling.scale)
    setting = Setting(chance(telling.seed, job.id, index), words, lines_wanted, test, telling.scale)
    lines = [*_script(kind, words), *BODIES[kind](setting)]
    if step.conclusion == "success":
        return lines + (ENDINGS[kind](setting) if kind in ENDINGS else [])
    if failure and fails_here:
        lines = _until_failure(lines, failure, setting)
        return lines + _failure_lines(telling.failure, words) + _exit_lines(failure, job)
    told = lines[: int(len(lines) * setting.rng.uniform(0.2, 0.9))]
    return told if step.conclusion is None else [*told, *_failure_lines(telling.failure, words)]


def _until_failure(lines: list[str], failure: Failure, setting: Setting) -> list[str]:
    """What the failing step printed before: all of it for a failing test or check, a part when it broke midway."""
    if failure.test or failure.at in {"pre-commit", "mypy", "title", "eslint", "linkcheck", "npu", "upload", "paths"}:
        return lines
    if failure.at == "test" and failure.exit_code == 2:
        start = next(number for number, line in enumerate(lines) if line.startswith("collecting"))
        return [*lines[:start], f"{lines[start]} / 1 error", ""]
    if failure.at in {"containers", "checkout", "cache", "setup"}:
        return lines[:12]
    return lines[: int(len(lines) * setting.rng.uniform(0.4, 0.85))]


def _script(kind: str, words: dict[str, str]) -> list[str]:
    """The group in which GitHub shows what a step is about to run."""
    script = SCRIPTS.get(kind)
    if script is None:
        return []
    shown = [f"{CYAN}{line}{RESET}" for line in script]
    title = [f"  PR_TITLE: {words['pr_title']}"] if kind == "title" else ["  PIP_DEFAULT_TIMEOUT: 300"]
    return [f"##[group]Run {script[0]}", *shown, "shell: bash -el {0}", "env:", *title, "##[endgroup]"]


def _failure_lines(key: str, words: dict[str, str]) -> list[str]:
    return Template(failure_text(key)).safe_substitute(words).splitlines() if key else []


def _exit_lines(failure: Failure, job: Job) -> list[str]:
    if failure.exit_code is None:
        return []
    error = f"##[error]Process completed with exit code {failure.exit_code}."
    if job.runner_group_name != "Default":
        return [error]
    return [f"{_WRAPPERS[0]}: command terminated with exit code {failure.exit_code}", error, _WRAPPERS[1]]


def _stamped(lines: list[str], start: datetime, end: datetime) -> bytes:
    """The lines with GitHub's timestamps, spread evenly from start to end."""
    if not lines:
        return b""
    pace = max(end - start, timedelta()) / len(lines)
    text = "".join(
        f"{(start + pace * number).replace(tzinfo=None).isoformat(timespec='microseconds')}{number % 10}Z {line}\n"
        for number, line in enumerate(lines)
    )
    return text.encode()
