"""How an explained run looks on a terminal: verdicts with the line that proves them, else what each log says alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from buildeye.cli.face import Effort, show_diagnosis
from buildeye.cli.terminal import WIDTH, Look, cells, cut, wrapped
from buildeye.cli.verdictface import MOST, show_run
from buildeye.logs.diagnose import LogReading
from buildeye.logs.secrets import strip_controls
from buildeye.pipeline.explainrun import ExplainedJob, ExplainedRun
from buildeye.pipeline.runwords import head_of, without_failure

ALONE = "What stands below is read from logs alone: no history, no other runs and no people were weighed."
_BOLD, _DIM = 1, 2


def show_explained(run: ExplainedRun, look: Look, efforts: Mapping[int, Effort]) -> str:
    """The run as text, at most 100 cells wide but for commands; `efforts` is what reading took, by job."""
    look = replace(look, width=min(look.width, WIDTH))
    if not run.jobs:
        return _plain(without_failure(run)) + "."
    judged = [each for each in run.jobs if each.verdict]
    others = [each for each in run.jobs if not each.verdict]
    blocks = []
    if judged and run.verdicts:
        readings = {
            each.job.id: each.reading or LogReading(each.diagnosis) for each in judged if each.diagnosis
        }  # fmt: skip
        blocks.append(show_run(run.verdicts, [each.verdict for each in judged if each.verdict], look, readings))
    if others:
        head = [] if judged else [look.paint(line, _BOLD) for line in wrapped(_plain(head_of(run)), look.width)]
        alone = wrapped(ALONE, look.width) if any(each.diagnosis for each in others) else []
        blocks += ["\n".join([*head, *alone])] if head or alone else []
    blocks += [_jobs(alike, look, efforts.get(alike[0].job.id)) for alike in _alike(others)]
    return "\n\n".join(blocks)


def _alike(jobs: Sequence[ExplainedJob]) -> list[list[ExplainedJob]]:
    """Jobs whose logs say the same together, those without a word each alone."""
    groups: dict[object, list[ExplainedJob]] = {}
    for each in jobs:
        said = each.diagnosis
        known = said is not None and said.signature
        key = (said.cause, said.category, said.signature, each.note) if said and known else each.job.id
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _jobs(alike: Sequence[ExplainedJob], look: Look, effort: Effort | None) -> str:
    each = alike[0]
    job, number = each.job, f"job {each.job.id}"
    name = cut(_plain(job.name) or "the run as a whole", look.width - cells(number) - 8)
    rule = "─" * max(2, look.width - cells(name) - cells(number) - 5)
    lines = [look.paint(f"── {name} {rule} {number}", _DIM)]
    reading = each.reading or (LogReading(each.diagnosis) if each.diagnosis else None)
    if reading:
        lines.append(show_diagnosis(reading, look, effort).rstrip("\n"))
    elif step := next((step.name for step in job.steps if step.conclusion == "failure"), ""):
        lines += wrapped(f'Step "{_plain(step)}" failed.', look.width)
    if each.note:
        lines += wrapped(f"Note: {_plain(each.note)}.", look.width)
    if others := [_plain(other.job.name) or str(other.job.id) for other in alike[1:]]:
        more = f" and {len(others) - MOST} more" if len(others) > MOST else ""
        lines += wrapped(f"Alike: {', '.join(others[:MOST])}{more}", look.width)
    return "\n".join(lines)


def _plain(text: str) -> str:
    return " ".join(strip_controls(text.replace("\t", " ")).split())
