"""Stories of deployments, each told to its end, and how each must end whatever becomes of the supervisors meanwhile.

A story is a list of steps: something that a person or the world does, and then what has to come of it. Between the
steps nobody knows how many supervisors lived.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.deploying.stage import Stage

from buildeye.deploy.processes.orphans import find
from buildeye.model.deployments import Deployment, State

Until = Callable[[Callable[[], bool]], bool]
"""Keeps supervisors going until something is so; False when it never is."""
CLEAN, BACK, SUPERSEDED = State.MONITORING_WINDOW_CLEAN, State.ROLLED_BACK, State.SUPERSEDED
_ONCE = ("switched", "roll_back", "returned", "return_failed", "promote", "abort")
"""What may happen once to a deployment of these stories."""
PACE: Mapping[str, Any] = {
    "health": {
        "interval_seconds": 1,
        "retry_seconds": 0.2,
        "start_interval_seconds": 0.05,
        "minimum_uptime_seconds": 0.1,
        "deadline_seconds": 3,
    },
    "drain": {"seconds": 0.5},
    "rollback": {"per_hour": 50},
}
"""Limits with which a story takes a few seconds."""


@dataclass
class Telling:
    """A story as it is told: its deployments by version, in a stage, kept going by `until`."""

    stage: Stage
    until: Until
    known: dict[str, Deployment] = field(default_factory=dict)

    def deploy(self, version: str, state: State, **sections: Any) -> bool:
        """Ask for a version and wait for what becomes of it."""
        merged = {**PACE, **sections}
        for name, given in sections.items():
            if isinstance(given, Mapping) and name in PACE:
                merged[name] = {**PACE[name], **given}
        self.known[version] = self.stage.deploy(version, **merged)
        return self.is_now(version, state)

    def is_now(self, version: str, *states: State) -> bool:
        """Wait until a version is in one of these states."""
        return self.until(lambda: self.stage.now(self.known[version]).state in states)

    def ask(self, version: str, kind: str, state: State) -> bool:
        """Ask the supervisor, whichever lives then, for something, and wait for what comes of it."""
        now = self.stage.clock.now()
        self.stage.journal.ask("web", self.known[version].id, kind, {"why": "a person"}, "test", now)
        return self.is_now(version, state)

    def goes_bad(self, version: str, state: State) -> bool:
        """Let a version answer 503, and wait for what comes of it."""
        self.stage.behave(version, health=503)
        return self.is_now(version, state)

    def clean(self, version: str) -> bool:
        """A version that comes into service and counts as clean."""
        return self.deploy(version, State.MONITORING) and self.ask(version, "promote", CLEAN)


@dataclass(frozen=True)
class Story:
    """How it goes, the state in which each version must end, and the version that must serve, alone."""

    tell: Callable[[Telling], bool]
    ends: Mapping[str, State]
    serves: str


def _bad(told: Telling) -> bool:
    """v1 is clean, v2 comes into service and goes bad."""
    return told.clean("v1") and told.deploy("v2", State.MONITORING) and told.goes_bad("v2", BACK)


def _cold(told: Telling) -> bool:
    """v3 takes over while v2 is watched, and goes bad: the way leads back to v1, which does not run any more."""
    return (
        told.clean("v1")
        and told.deploy("v2", State.MONITORING)
        and told.deploy("v3", State.MONITORING)
        and told.until(lambda: told.known["v1"].id not in told.stage.living())
        and told.goes_bad("v3", BACK)
    )


def _refused(told: Telling) -> bool:
    """Candidates that never serve: unhealthy, without a program, overtaken by a newer one, taken back by a person."""
    told.stage.behave("v2", health=503)
    return (
        told.clean("v1")
        and told.deploy("v2", State.HEALTH_FAILED, health={"deadline_seconds": 1})
        and told.deploy("v3", State.HEALTH_FAILED, command=["/nonexistent/program"])
        and told.deploy("v4", State.READY, promote="manual")
        and told.deploy("v5", State.READY, promote="manual")
        and told.is_now("v4", SUPERSEDED)
        and told.ask("v5", "abort", State.ABORTED)
    )


def _cutover_fails(told: Telling) -> bool:
    """v2 was healthy, and does not answer at the public address any more when it is there."""
    path = told.stage.behaviour / "v2.json"
    hook = [sys.executable, "-I", "-S", "-c", f"open({str(path)!r}, 'w').write('{{\"health\": 503}}')"]
    return told.clean("v1") and told.deploy("v2", BACK, hooks={"before_cutover": hook})


def _no_way_back(told: Telling) -> bool:
    """v2 goes bad, and v1 does not start any more: v2 stays."""
    if not (told.clean("v1") and told.deploy("v2", State.MONITORING)):
        return False
    told.stage.behave("v1", exit=1)
    return told.goes_bad("v2", State.ROLLBACK_FAILED)


def _asked(told: Telling) -> bool:
    """Both versions fail, so a person is asked; it passes, and v2 is taken back. v3 may not go back by itself."""
    if not (told.clean("v1") and told.deploy("v2", State.MONITORING)):
        return False
    told.stage.behave("v1", health=503)
    if not told.goes_bad("v2", State.NEEDS_ATTENTION):
        return False
    told.stage.behave("v1")
    told.stage.behave("v2")
    return (
        told.is_now("v2", State.MONITORING)
        and told.ask("v2", "rollback", BACK)
        and told.deploy("v3", State.MONITORING, rollback={"automatic": False})
        and told.goes_bad("v3", State.NEEDS_ATTENTION)
        and told.ask("v3", "promote", CLEAN)
    )


def _windows(told: Telling) -> bool:
    """v1 closes clean by itself; v2 has a source of verdicts that cannot be read, and closes without evidence."""
    window = {"hours": 0.001, "deadline_hours": 0.001}
    rate = {"source": "endpoint", "url": "http://127.0.0.1:9/", "interval_seconds": 1}
    return told.deploy("v1", CLEAN, window=window | {"deadline_hours": 1}) and told.deploy(
        "v2", State.CLOSED_INSUFFICIENT_DATA, window=window, rate=rate
    )


STORIES: Mapping[str, Story] = {
    "a version goes bad": Story(_bad, {"v1": CLEAN, "v2": BACK}, "v1"),
    "back to one that does not run": Story(_cold, {"v1": CLEAN, "v2": SUPERSEDED, "v3": BACK}, "v1"),
    "candidates that never serve": Story(
        _refused,
        {
            "v1": CLEAN,
            "v2": State.HEALTH_FAILED,
            "v3": State.HEALTH_FAILED,
            "v4": SUPERSEDED,
            "v5": State.ABORTED,
        },
        "v1",
    ),
    "a cutover fails": Story(_cutover_fails, {"v1": CLEAN, "v2": BACK}, "v1"),
    "no way back": Story(_no_way_back, {"v1": CLEAN, "v2": State.ROLLBACK_FAILED}, "v2"),
    "a person is asked": Story(_asked, {"v1": CLEAN, "v2": BACK, "v3": CLEAN}, "v3"),
    "windows close": Story(_windows, {"v1": CLEAN, "v2": State.CLOSED_INSUFFICIENT_DATA}, "v2"),
}


def settled(story: Story, told: Telling) -> bool:
    """Whether nothing is left to be done: one run is open, one process and one keeper live, and the journal says who
    serves."""
    stage, last = told.stage, told.known[story.serves]
    keepers = [each for each in find(stage.run_root) if each.keeper]
    row = stage.journal.service("web")
    return (
        stage.living() == [last.id]
        and len(stage.journal.open_runs("web")) == 1
        and len(keepers) == 1
        and row is not None
        and row.in_service == last.id
    )


def wrong(story: Story, told: Telling) -> list[str]:
    """Everything that is not as it must be at the end."""
    stage, said = told.stage, []
    for version, state in story.ends.items():
        deployment = told.known.get(version)
        if deployment is None:
            said.append(f"{version} was never asked for")
            continue
        is_now = stage.now(deployment).state
        if is_now is not state:
            said.append(f"{version} is {is_now}, not {state}")
        happened = Counter(stage.events(deployment))
        said += [f"{version}: {event} {happened[event]} times" for event in _ONCE if happened[event] > 1]
    if story.serves not in told.known:
        return [*said, f"{story.serves} does not serve"]
    if not settled(story, told):
        keepers = sum(each.keeper for each in find(stage.run_root))
        runs = [f"{run.deployment_id} {run.number}" for run in stage.journal.open_runs("web")]
        said.append(f"something is left over: lives {stage.living()}, open runs {runs}, {keepers} keepers")
    elif stage.serves() != story.serves:
        said.append(f"{stage.serves()} serves, not {story.serves}")
    return said
