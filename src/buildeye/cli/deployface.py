"""How a deployment looks on a terminal: what it is and how far, its signals, and what it waits for."""

import dataclasses
from collections.abc import Iterator, Sequence

from buildeye.cli.deploywords import (
    BOLD,
    GREEN,
    RED,
    STATUS_COLOUR,
    YELLOW,
    commit_text,
    ends,
    facts,
    plain,
    state_colour,
    title,
    when,
)
from buildeye.cli.tables import WIDTH, table
from buildeye.cli.terminal import Look, wrapped
from buildeye.deploy.explain import boundary_text, limit_text, near_text, rejections_left
from buildeye.deploy.standing import PastDeployment, SignalStanding, Standing
from buildeye.deploy.states import BEFORE_CUTOVER, TERMINAL, WATCHED
from buildeye.model.boundary import RateBoundary
from buildeye.model.deployments import DeployEvent, Deployment, SignalKind, SignalStatus, State
from buildeye.model.spans import lasting
from buildeye.reports.deploywords import HAPPENED, SIGNAL_NAMES, why_rolled_back

_SIGNAL, _STATUS = 9, 14
"""Cells of a signal's name and of its status, with the space after."""
_STATE = 24


def status_text(standing: Standing, look: Look) -> str:
    """`build-eye deploy status SERVICE`: the head, a line a signal, what it waits for, and what is to be known."""
    look = _narrow(look)
    lines = [*_head(standing, look), *_signals(standing, look)]
    if standing.conditions and standing.deployment.state in WATCHED:
        told = "clean when: " + ", ".join(plain(each.says) for each in standing.conditions)
        lines += wrapped(told, look.width, rest=" " * 12)
    lines += [*_known(standing, look), *_warnings(standing, look)]
    return "\n".join(lines)


def status_table(standings: Sequence[Standing]) -> str:
    """`build-eye deploy status`: every service on a row."""
    if not standings:
        return (
            "No service was deployed yet: build-eye deploy init writes a deploy.yaml, build-eye deploy start deploys."
        )
    head = ("service", "version", "state", "for", "signals", "waits for")
    rows = [
        (
            plain(each.deployment.service),
            plain(each.deployment.version),
            _state(each.deployment) + (", paused" if each.deployment.paused else ", stopped" if each.stopped else ""),
            _elapsed(each),
            _signals_short(each),
            ", ".join(map(plain, each.missing)) if each.deployment.state in WATCHED else "",
        )
        for each in standings
    ]
    return table(head, rows)


def explain_text(standing: Standing, look: Look) -> str:
    """`build-eye deploy explain SERVICE`: of each signal its numbers, when it fails, what it needs, the next look."""
    look = _narrow(look)
    blocks = [_head(standing, look)]
    blocks += [_explained(standing, signal, look) for signal in standing.signals]
    if standing.conditions:
        blocks.append([look.paint("Clean when", BOLD), *_conditions(standing, look)])
    rest = [*_known(standing, look), *_warnings(standing, look)]
    return "\n\n".join("\n".join(block) for block in (*blocks, rest) if block)


def history_table(past: Sequence[PastDeployment]) -> str:
    """`build-eye deploy history SERVICE`: newest first, each with how it ended, what CI said of its commit, and why."""
    if not past:
        return "Nothing was deployed yet."
    head = ["version", "state", "since (UTC)", "took", "CI", "why", "overruled in CI"]
    rows = [
        [
            plain(each.deployment.version) + (" (forced)" if each.deployment.forced else ""),
            _state(each.deployment),
            f"{each.deployment.created.wall:%Y-%m-%d %H:%M}",
            lasting(each.lasted) if each.lasted is not None else "open",
            {True: "green", False: "failed", None: "not known"}[each.ci_green],
            plain(each.deployment.note or why_rolled_back(each.deployment)),
            "; ".join(map(plain, each.overruled)),
        ]
        for each in past
    ]
    columns = len(head) if any(each.overruled for each in past) else len(head) - 1
    return table(head[:columns], [row[:columns] for row in rows])


def event_line(event: DeployEvent, deployment: Deployment, look: Look) -> str:
    """One line of the progress of `start` and `watch`: time in UTC, version, state, what happened."""
    told = plain(str(event.numbers.get("says", "")) or event.reason) or _happened(event.event)
    by = "" if event.by in ("", "supervisor") else f" ({plain(event.by)})"
    name = f"{event.at.wall:%H:%M:%S}  {title(deployment)}  "
    state = f"{event.after.value:<{_STATE}}"
    lines = wrapped(told + by, max(look.width, 60), first=name + state, rest=" " * (len(name) + _STATE))
    painted = look.paint(event.after.value, state_colour(event.after)) + state[len(event.after.value) :]
    return "\n".join([lines[0].replace(name + state, name + painted, 1), *lines[1:]])


def _state(deployment: Deployment) -> str:
    """A state in words: a cell of a table breaks at spaces."""
    return deployment.state.replace("_", " ")


def _head(standing: Standing, look: Look) -> list[str]:
    deployment = standing.deployment
    state = deployment.state
    paused = " (paused)" if deployment.paused else " (stopped)" if standing.stopped else ""
    left = f"{title(deployment)}  {state}{paused}   {_how_far(standing)}".rstrip()
    return ends(left, _previous(standing), look, BOLD, state_colour(state))


def _how_far(standing: Standing) -> str:
    deployment = standing.deployment
    if deployment.state in WATCHED and standing.window:
        return f"{lasting(standing.elapsed)} of {lasting(standing.window)}"
    if deployment.closed and deployment.state in TERMINAL:
        return when(deployment.closed.wall)
    return f"for {lasting(standing.elapsed)}"


def _previous(standing: Standing) -> str:
    version, state = plain(standing.previous_version), standing.deployment.state
    if state is State.SUPERSEDED or standing.stopped:
        return ""
    if not version:
        return "no previous version to return to" if state in WATCHED | BEFORE_CUTOVER else ""
    if state is State.ROLLED_BACK:
        return f"back on {version}"
    if state is State.ROLLBACK_FAILED:
        return f"{version} could not take over"
    if state in BEFORE_CUTOVER or state in (State.HEALTH_FAILED, State.ABORTED):
        return f"{version} serves"
    if standing.previous_warm:
        return f"previous {version} warm, ready to return"
    return f"previous {version} " + ("stopped" if state in TERMINAL else "not running: a return starts it first")


def _signals(standing: Standing, look: Look) -> Iterator[str]:
    for each in standing.signals:
        name, status = f" {SIGNAL_NAMES[each.signal]:<{_SIGNAL}}", f"{each.status.value:<{_STATUS}}"
        first = name + status
        near = near_text(standing.boundary) if each.signal is SignalKind.RATE and standing.boundary else ""
        told = "; ".join(filter(None, (plain(each.says) or plain(each.reason), near)))
        lines = wrapped(told, look.width, first=first, rest=" " * len(first)) or [first.rstrip()]
        painted = look.paint(each.status.value, STATUS_COLOUR[each.status]) + status[len(each.status.value) :]
        yield lines[0].replace(first, name + painted, 1)
        yield from lines[1:]


def _signals_short(standing: Standing) -> str:
    """The signals that are not ok by name; `ok` when all are."""
    if not standing.signals:
        return ""
    others = [
        f"{SIGNAL_NAMES[each.signal]} {each.status}" for each in standing.signals if each.status is not SignalStatus.OK
    ]
    return ", ".join(others) or "ok"


def _elapsed(standing: Standing) -> str:
    closed = standing.deployment.closed
    if standing.deployment.state in WATCHED and standing.window:
        return f"{lasting(standing.elapsed)} of {lasting(standing.window)}"
    return f"{closed.wall:%m-%d %H:%M}" if closed else lasting(standing.elapsed)


def _explained(standing: Standing, each: SignalStanding, look: Look) -> list[str]:
    deployment = standing.deployment
    fails = each.fails_when or limit_text(each.signal, deployment.spec, deployment.profile)
    facts_of = [("fails when", plain(fails))]
    if each.signal is SignalKind.RATE and standing.boundary:
        facts_of += _boundary(standing.boundary, deployment)
    if each.numbers:
        facts_of.append(
            ("numbers", ", ".join(f"{_words(key)} {_number(value)}" for key, value in each.numbers.items()))
        )
    facts_of.append(("to close", plain(each.needs) or ("nothing more" if each.status is SignalStatus.OK else "")))
    if each.next_look is not None:
        facts_of.append(("next look", f"in {lasting(each.next_look)}"))
    [*head] = _signals(dataclasses.replace(standing, signals=(each,), boundary=None), look)
    margin = " " * (_SIGNAL + 1)
    for name, text in facts_of:
        if text:
            head += wrapped(text, look.width, first=f"{margin}{name:<{_STATUS}}", rest=" " * (_SIGNAL + 1 + _STATUS))
    return head


def _boundary(boundary: RateBoundary, deployment: Deployment) -> list[tuple[str, str]]:
    told = [("boundary", boundary_text(boundary))]
    baseline = deployment.baseline
    was = f", was {baseline.good} of {baseline.total}" if baseline else ""
    now = f"{boundary.good} of {boundary.judged} approved{was}"
    if boundary.p_value is not None:
        now += f": p = {boundary.p_value:.2g}"
    left = rejections_left(boundary)
    if left is not None and deployment.state not in TERMINAL:
        now += f"; {left} more {'rejection' if left == 1 else 'rejections in a row'} would fail"
    told.append(("now", now))
    if boundary.alpha is not None:
        told.append(("false alarm", f"at most {boundary.alpha * 100:.2g} % of versions that changed nothing"))
    return told


def _conditions(standing: Standing, look: Look) -> Iterator[str]:
    for each in standing.conditions:
        mark = look.paint("✓", GREEN) if each.met else look.paint("·", YELLOW)
        yield f" {mark} {plain(each.says)}"


def _known(standing: Standing, look: Look) -> list[str]:
    """Commit and CI, who watches, the next look, and what a person said."""
    deployment, state = standing.deployment, standing.deployment.state
    commit = commit_text(deployment)
    told = [f"commit {commit}" if commit else "", plain(standing.ci)]
    if state not in TERMINAL:
        told.append(f"watched by {plain(standing.supervisor)}" if standing.supervisor else "")
        told.append(f"next look in {lasting(standing.next_look)}" if standing.next_look is not None else "")
    lines = wrapped(facts(told), look.width)
    why = plain(why_rolled_back(deployment))
    lines += wrapped(why, look.width, first="why: ", rest=" " * 5) if why else []
    following = _next(standing)
    for name, text in (("note", deployment.note), ("report", standing.report), ("next", following)):
        lines += wrapped(plain(text), look.width, first=f"{name}: ", rest=" " * (len(name) + 2)) if text else []
    return lines


def _next(standing: Standing) -> str:
    """What a person may do now, '' when it is to wait."""
    deployment, service = standing.deployment, standing.deployment.service
    if standing.stopped:
        return f"nothing of it runs; build-eye deploy start {service} --version V starts it again"
    match deployment.state:
        case State.NEEDS_ATTENTION:
            return f"build-eye deploy explain {service}, then promote, resume or rollback"
        case State.ROLLED_BACK | State.HEALTH_FAILED:
            return f"mend it, then build-eye deploy start {service} --version V"
        case State.ROLLBACK_FAILED:
            return f"build-eye deploy rollback {service} --to a version that works"
        case State.CLOSED_INSUFFICIENT_DATA:
            return f"nothing must be done; build-eye deploy rollback {service} goes back"
        case _:
            return ""


def _warnings(standing: Standing, look: Look) -> Iterator[str]:
    told = list(standing.warnings)
    if not standing.supervisor and standing.deployment.state not in TERMINAL:
        service = plain(standing.deployment.service)
        told.append(f"nobody watches it: build-eye deploy watch {service}")
    for warning in told:
        for i, line in enumerate(wrapped(plain(warning), look.width, first="! ", rest="  ")):
            yield look.paint("!", RED) + line[1:] if i == 0 else line


def _happened(event: str) -> str:
    return HAPPENED.get(event) or plain(event.replace("_", " "))


def _words(key: str) -> str:
    return plain(str(key).replace("_", " "))


def _number(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return plain(str(value))


def _narrow(look: Look) -> Look:
    return dataclasses.replace(look, width=min(look.width, WIDTH))
