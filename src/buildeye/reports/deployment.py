"""The Markdown report of a deployment that went bad or could not be called good: the answer first, then why.

It is like the report of a failed run: front matter, summary, what was seen, what to do. Equal input gives equal text;
one deployment has one file, written anew as long as something becomes of it.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

import buildeye
from buildeye.logs.secrets import Masker
from buildeye.model import LogLine, OutsideError
from buildeye.model.boundary import boundary_text
from buildeye.model.deployments import DeployEvent, SignalKind, SignalStatus, State
from buildeye.model.spans import lasting
from buildeye.reports.deploymentclaim import DeploymentTold, deployment_title, masked, safe, speaking_signal
from buildeye.reports.deploywords import HAPPENED, SIGNAL_NAMES, deploy_words, why_rolled_back
from buildeye.reports.disk import read_if_there, write_whole
from buildeye.reports.excerpt import log_excerpt
from buildeye.reports.markdown import Word, cell, code, fence, front_matter, link, plain
from buildeye.reports.paths import as_utc, deployment_file
from buildeye.reports.words import Language, percent, words

REPORTED: Final = frozenset(
    {State.HEALTH_FAILED, State.ANOMALY_DETECTED, State.ROLLING_BACK, State.ROLLED_BACK, State.ROLLBACK_FAILED,
     State.CLOSED_INSUFFICIENT_DATA, State.NEEDS_ATTENTION}
)  # fmt: skip
"""The states in which a deployment has a report."""
MOST_EVENTS: Final = 60
_GENERATED: Final = re.compile(r'^generated_at: ".*"$', re.MULTILINE)


def write_deployment_report(
    told: DeploymentTold, folder: Path, *, language: Language = "en", now: datetime, max_log_lines: int = 50
) -> tuple[PurePosixPath, bool]:
    """Write the report of a deployment below `folder`; gives its path there, and whether its text is new.

    The same again changes nothing, whatever `now` is. OutsideError when the folder cannot be written.
    """
    text = render_deployment(told, language=language, now=now, max_log_lines=max_log_lines)
    path = deployment_file(told.deployment)
    try:
        before = (read_if_there(folder / path) or b"").decode("utf-8", "replace")
        if _GENERATED.sub("", before, count=1) == _GENERATED.sub("", text, count=1):
            return path, False
        write_whole(folder / path, text.encode())
    except OSError as error:
        raise OutsideError(
            f"the report of {plain(told.deployment.service)} cannot be written to {folder}: "
            f"{error.strerror or error}; check its rights and free space"
        ) from None
    return path, True


def render_deployment(
    told: DeploymentTold, *, language: Language = "en", now: datetime, max_log_lines: int = 50
) -> str:
    """The report. ValueError for a deployment whose state asks for none (`REPORTED`)."""
    if told.deployment.state not in REPORTED:
        raise ValueError(f"a deployment that is {told.deployment.state} has no report")
    say = deploy_words(language)
    parts = [
        front_matter(_head(told, language, now)),
        [f"# {deployment_title(told, say)}"],
        [f"## {say['section.summary']}", "", *_summary(told, say)],
        [f"## {say['section.seen']}", "", *_seen(told, say)],
        _boundary(told, say),
        _timeline(told, say),
        [f"## {say['section.ci']}", "", *_ci(told, say)],
        [f"## {say['section.log']}", "", *_log(told, language, max_log_lines)],
        [f"## {say['section.next']}", "", *_next(told, say)],
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part) + "\n"
    return text.encode("utf-8", "replace").decode()


def _head(told: DeploymentTold, language: Language, now: datetime) -> dict[str, object]:
    deployment, speaker = told.deployment, speaking_signal(told)
    back = deployment.state is State.ROLLED_BACK
    ci = {True: "green", False: "failed", None: "unknown"}[told.story.green if told.story else None]
    head = {
        "classification": Word("deployment"),
        "outcome": Word(deployment.state),
        "service": deployment.service,
        "version": deployment.version,
        "rolled_back_to": told.previous_version if back and told.previous_version else None,
        "signal": Word(speaker[0]) if speaker else None,
        "reason": speaker[1].reason if speaker else None,
        "repository": deployment.repository,
        "commit": deployment.commit,
        "ci": Word(ci),
        "overruled": [masked(job.name) for job in told.story.overruled] if told.story else [],
        "category": told.log.diagnosis.category if told.log else None,
        "signature": told.log.diagnosis.signature if told.log else "",
        "deployment_id": deployment.id,
        "profile": deployment.profile,
        "date": as_utc(deployment.created.wall).date().isoformat(),
        "cutover_at": _iso(deployment.cutover.wall) if deployment.cutover else None,
        "closed_at": _iso(deployment.closed.wall) if deployment.closed else None,
        "language": language,
        "generator": f"build-eye {buildeye.__version__}",
        "generated_at": _iso(now),
    }
    return {key: masked(value) if type(value) is str else value for key, value in head.items()}


def _summary(told: DeploymentTold, say: Mapping[str, str]) -> list[str]:
    deployment, speaker = told.deployment, speaking_signal(told)
    version, previous = _inner(deployment.version), _inner(told.previous_version)
    if deployment.cutover:
        span = deployment.closed.since(deployment.cutover) if deployment.closed else None
        lasted = say["summary.lasted"].format(span=lasting(span)) if span is not None else ""
        when = f"{as_utc(deployment.cutover.wall):%Y-%m-%d %H:%M:%S} UTC"
        out = [say["summary.served"].format(version=version, cutover=when, lasted=lasted)]
    else:
        out = [say["summary.never"].format(version=version)]
    if deployment.state in (State.ROLLED_BACK, State.HEALTH_FAILED) and previous:
        kept = "summary.back" if deployment.state is State.ROLLED_BACK else "summary.kept"
        out.append(say[kept].format(previous=previous))
    elif deployment.cutover and deployment.state not in (State.ROLLED_BACK, State.HEALTH_FAILED, State.ROLLING_BACK):
        out.append(say["summary.stays"].format(version=version))
    if speaker:
        out.append(_sentence(f"{SIGNAL_NAMES[speaker[0]]}: {speaker[1].says or speaker[1].reason}"))
    elif why := why_rolled_back(deployment) or deployment.note:
        out.append(_sentence(why))
    if deployment.forced:
        out.append(say["summary.forced"])
    if told.story:
        out.append(say["summary.ci"].format(sentence=safe(told.story.sentence)))
    return [say["join"].join(out), *(line for remark in told.remarks for line in ("", f"**!** {_sentence(remark)}"))]


def _seen(told: DeploymentTold, say: Mapping[str, str]) -> list[str]:
    if not told.signals:
        return [say["seen.nothing"]]
    rows = [
        (SIGNAL_NAMES[signal], f"**{verdict.status}**" if verdict.status is SignalStatus.FAIL else verdict.status,
         safe(verdict.says or verdict.reason), _numbers(verdict.numbers))
        for signal in SignalKind
        if (verdict := told.signals.get(signal))
    ]  # fmt: skip
    return _table([say[f"column.{name}"] for name in ("signal", "status", "says", "numbers")], rows)


def _boundary(told: DeploymentTold, say: Mapping[str, str]) -> list[str]:
    boundary = told.boundary
    if boundary is None or not boundary.fails:
        return []
    p = say["boundary.p"].format(p=boundary.p_value) if boundary.p_value is not None else ""
    fails = boundary_text(boundary).replace("<=", "≤")
    sentence = say["boundary"].format(fails=fails, good=boundary.good, judged=boundary.judged, p=p)
    return [f"## {say['section.boundary']}", "", sentence]


def _timeline(told: DeploymentTold, say: Mapping[str, str]) -> list[str]:
    if not told.events:
        return []
    events = sorted(told.events, key=lambda event: (event.seq, event.epoch))
    left_out = len(events) - MOST_EVENTS
    shown = [*events[: MOST_EVENTS // 2], *events[-MOST_EVENTS // 2 :]] if left_out > 0 else events
    rows = [
        (f"{as_utc(event.at.wall):%Y-%m-%d %H:%M:%S}", code(event.after),
         safe(_step(event)), safe(event.by))
        for event in shown
    ]  # fmt: skip
    if left_out > 0:
        rows.insert(MOST_EVENTS // 2, ("⋮", "", f"{left_out} …", ""))
    return [
        f"## {say['section.timeline']}", "",
        *_table([say[f"column.{name}"] for name in ("when", "state", "what", "by")], rows),
    ]  # fmt: skip


def _step(event: DeployEvent) -> str:
    """What happened, as a phrase."""
    own = str(event.numbers.get("says", "")) or event.reason
    return own or HAPPENED.get(event.event) or event.event.replace("_", " ")


def _ci(told: DeploymentTold, say: Mapping[str, str]) -> list[str]:
    if told.story is None or not told.story.sha:
        return [say["ci.unknown"]]
    out = [f"{code(masked(told.story.sha)[:10])}: {_sentence(told.story.sentence)}"]
    failed = [run for run in told.story.runs if run.failed]
    for run in failed:
        name = link(code(masked(run.name)) or str(run.id), run.html_url)
        out += ["", f"- {name}, {run.conclusion.replace('_', ' ')}:"]
        for job in run.failed:
            ours = f"{job.cause} / {job.category}" if job.cause else "not judged"
            word = f", **{safe(job.word)}**: {safe(job.said_why)}" if job.said_by else ""
            out += [f"  - {link(code(masked(job.name)), job.html_url)}: {safe(ours)}{word}"]
    return out


def _log(told: DeploymentTold, language: Language, most: int) -> list[str]:
    say = deploy_words(language)
    if told.log is None:
        return [say["log.none"]]
    found, masker = told.log.diagnosis, Masker()
    lines = [LogLine(line.number, masker.line(line.text)) for line in told.log.lines]
    reason = say["log.reason"].format(
        cause=found.cause, category=safe(found.category), percent=percent(found.confidence),
        summary=safe(found.summary),
    ).rstrip()  # fmt: skip
    name = masked(f"{told.deployment.service} {told.deployment.version}")
    return [reason, "", *log_excerpt(name, found.key_line, lines, most, words(language))]


def _next(told: DeploymentTold, say: Mapping[str, str]) -> Iterator[str]:
    for number, (name, command) in enumerate(_commands(told), 1):
        if number > 1:
            yield ""
        yield f"{number}. {say[f'next.{name}']}"
        yield ""
        for line in fence([command], "sh"):
            yield f"   {line}"


def _commands(told: DeploymentTold) -> Iterator[tuple[str, str]]:
    """What to do, by its words, and the exact command."""
    deployment = told.deployment
    service, version, commit = (
        shlex.quote(plain(masked(text))) for text in (deployment.service, deployment.version, deployment.commit)
    )
    again = f"build-eye deploy start {service} --version {version}" + (
        f" --commit {commit}" if deployment.commit else ""
    )
    mended = ("fix", f"build-eye deploy start {service} --version NEW_VERSION --commit NEW_SHA")
    yield "look", f"build-eye deploy explain {service}"
    match deployment.state:
        case State.HEALTH_FAILED | State.ROLLED_BACK:
            yield mended
            yield "force", f"{again} --force"
        case State.ANOMALY_DETECTED | State.ROLLING_BACK:
            yield "watch", f"build-eye deploy watch {service}"
        case State.ROLLBACK_FAILED:
            yield "back", f"build-eye deploy rollback {service} --to KNOWN_VERSION"
            yield mended
        case State.CLOSED_INSUFFICIENT_DATA:
            yield "return", f"build-eye deploy rollback {service}"
        case _:
            yield "return", f"build-eye deploy rollback {service} --why 'what you saw'"
            yield "promote", f"build-eye deploy promote {service} --why 'what you know'"
            yield "resume", f"build-eye deploy resume {service}"
    if told.story:
        for run in [run for run in told.story.runs if run.failed][:1]:
            yield "verdict", f"build-eye verdict show {run.id}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [" | ".join(map(cell, row)) for row in rows]
    return [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *(f"| {line} |" for line in lines)]


def _numbers(numbers: Mapping[str, object]) -> str:
    return safe(", ".join(f"{masked(str(key)).replace('_', ' ')} {_number(value)}" for key, value in numbers.items()))


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _sentence(text: str) -> str:
    """The text as a sentence of Markdown."""
    return safe(text.rstrip(". ")) + "."


def _inner(text: str) -> str:
    """Text to stand between two backticks of a phrase."""
    return plain(masked(text)).replace("`", "'")


def _iso(moment: datetime) -> str:
    return as_utc(moment).isoformat(timespec="seconds")
