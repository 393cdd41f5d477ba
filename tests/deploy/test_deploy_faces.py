"""What people see of deployments: each text is written out here as a terminal of 100 cells shows it."""

import json
import re
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.cli.deployface import (
    event_line,
    explain_text,
    history_table,
    status_table,
    status_text,
)
from buildeye.cli.terminal import Look, cells
from buildeye.deploy.asjson import event_json, history_json, services_json, status_json
from buildeye.deploy.explain import boundary_text, limit_text, near_text, past_of, rejections_left
from buildeye.deploy.standing import PastDeployment, SignalStanding
from buildeye.deploy.states import Happening
from buildeye.insight.commits import CommitStory, FailedJob, RunOfCommit
from buildeye.model.boundary import RateBoundary
from buildeye.model.deployments import DeployEvent, SignalKind, SignalStatus, State
from buildeye.model.spans import lasting
from buildeye.reports.deploywords import HAPPENED, SIGNAL_NAMES, why_rolled_back

from .standings import BOUNDARY, a_deployment, an_event, at, past, rolled_back, watched

LOOK, COLOUR = Look(), Look(color=True)
SECRET = "ghp_" + "a1B2" * 9


def as_shown(text: str) -> str:
    """The text of a test without its indent of four cells."""
    return "\n".join(line[4:] for line in text.splitlines()).strip("\n")


def test_a_watched_deployment_is_told_with_each_signal_and_what_it_waits_for() -> None:
    assert status_text(watched(), LOOK) == as_shown("""
    web  v142  monitoring   6 h 12 min of 24 h                       previous v141 warm, ready to return
     process  ok            up 6 h 12 min, 0 exits
     http     ok            741 of 742 ok, longest run of failures 1
     canary   ok            7 of 7, control 7 of 7
     rate     insufficient  8 of 9 approved, was 45 of 50; rolls back at <= 4 of 10 … 11 of 20
    clean when: 24 h passed (6 h 12 min now), >= 10 judged (9 now), canary >= 3 (7), http good
    commit 3d91e02c55 of octo/widgets · 1 of 3 runs failed: unit (3.12), overruled as infrastructure by
    ops · watched by web-1, PID 4242 · next look in 12 s
    """)


def test_who_is_watched_by_nobody_and_what_went_wrong_is_warned_of() -> None:
    standing = watched(
        supervisor="", next_look=None, ci="", warnings=("Alert to json://hooks.example.org failed: answered 500",)
    )
    assert status_text(standing, LOOK).splitlines()[-3:] == [
        "commit 3d91e02c55 of octo/widgets",
        "! Alert to json://hooks.example.org failed: answered 500",
        "! nobody watches it: build-eye deploy watch web",
    ]


def test_what_was_rolled_back_says_why_and_on_what_it_is_back() -> None:
    assert status_text(rolled_back(), LOOK) == as_shown("""
    web  v142  rolled_back   2026-12-01 12:01 UTC                                           back on v141
    commit 3d91e02c55 of octo/widgets · 3 of 3 runs green
    why: http: 3 checks in a row failed: 503
    next: mend it, then build-eye deploy start web --version V
    """)


NEXT = {
    State.NEEDS_ATTENTION: "next: build-eye deploy explain web, then promote, resume or rollback",
    State.ROLLBACK_FAILED: "next: build-eye deploy rollback web --to a version that works",
    State.CLOSED_INSUFFICIENT_DATA: "next: nothing must be done; build-eye deploy rollback web goes back",
}


@pytest.mark.parametrize("state", NEXT)
def test_a_state_that_asks_a_person_says_what_to_do_and_where_the_report_is(state: State) -> None:
    lines = status_text(watched(deployment=a_deployment(state), report="reports/x.md"), LOOK).splitlines()
    assert lines[-2:] == ["report: reports/x.md", NEXT[state]]


def test_past_deployments_are_rows_with_what_ci_says_of_their_commits() -> None:
    job = FailedJob("unit (3.12)", cause="code", said_cause="infrastructure", said_by="ops")
    story = CommitStory("octo/widgets", "3d91", (RunOfCommit(1, "CI", "push", "completed", "failure", failed=(job,)),))
    closed, without = a_deployment(closed=at(95)), a_deployment(commit="")
    assert past_of([closed, without], {closed.commit: story, "": story}, {closed.id: "reports/x.md"}) == [
        PastDeployment(closed, 155, story.sentence, False, ("unit (3.12) as infrastructure by ops",), "reports/x.md"),
        PastDeployment(without, report="reports/x.md"),
    ]


def test_before_the_cutover_the_old_version_is_said_to_serve() -> None:
    standing = watched(
        deployment=a_deployment(State.HEALTH_CHECKING), elapsed=12, signals=(), conditions=(), boundary=None
    )
    assert status_text(standing, LOOK).splitlines()[0] == (
        "web  v142  health_checking   for 12 s                                                    v141 serves"
    )


def test_all_services_are_a_row_each() -> None:
    closed = a_deployment(State.CLOSED_INSUFFICIENT_DATA, service="api", closed=at(10))
    assert status_table([watched(), rolled_back(), watched(deployment=closed)]) == as_shown("""
     service  version  state                 for                 signals            waits for
     web      v142     monitoring            6 h 12 min of 24 h  rate insufficient  24 h passed (6 h 12
                                                                                    min now), >= 10
                                                                                    judged (9 now)
     web      v142     rolled back           12-01 12:01
     api      v142     closed insufficient   12-01 12:00         rate insufficient
                       data
    """)


def test_explain_tells_numbers_limits_boundary_and_the_next_look() -> None:
    assert explain_text(watched(), LOOK) == as_shown("""
    web  v142  monitoring   6 h 12 min of 24 h                       previous v141 warm, ready to return

     process  ok            up 6 h 12 min, 0 exits
              fails when    2 exits within 10 min, or 3 within 6 h
              numbers       exits 0, within seconds 600
              to close      nothing more

     http     ok            741 of 742 ok, longest run of failures 1
              fails when    4 checks in a row fail (8 s apart after the first failure), or 40 % of at
                            least 15 within 10 min
              numbers       failures in row 0
              to close      nothing more
              next look     in 12 s

     canary   ok            7 of 7, control 7 of 7
              fails when    a task fails, fails again after 10 s, and passes on the previous version
              to close      nothing more
              next look     in 48 min

     rate     insufficient  8 of 9 approved, was 45 of 50
              fails when    it crosses its boundary within 50 judged tasks, and is at least 10 points
                            below the baseline
              boundary      fails at <= 0 of 3, 1 of 5, 3 of 8, 4 of 10, 7 of 15, 11 of 20, 18 of 30, 32
                            of 50
              now           8 of 9 approved, was 45 of 50: p = 0.65; 11 more rejections in a row would
                            fail
              false alarm   at most 1 % of versions that changed nothing
              numbers       good 8, judged 9, share 0.889
              to close      1 more judged task
              next look     in 12 s

    Clean when
     · 24 h passed (6 h 12 min now)
     · >= 10 judged (9 now)
     ✓ canary >= 3 (7)
     ✓ http good

    commit 3d91e02c55 of octo/widgets · 1 of 3 runs failed: unit (3.12), overruled as infrastructure by
    ops · watched by web-1, PID 4242 · next look in 12 s
    """)


def test_history_tells_how_each_ended_with_ci_and_what_was_overruled() -> None:
    assert history_table(past()) == as_shown("""
     version        state          since (UTC)     took        CI         why             overruled in
                                                                                          CI
     v142           monitoring     2026-12-01      open        failed                     unit (3.12) as
                                   11:59                                                  infrastructure
                                                                                          by ops
     v141           rolled back    2026-12-01      2 min 35 s  green      http: 3 checks
                                   11:59                                  in a row
                                                                          failed: 503
     v140 (forced)  monitoring     2026-12-01      25 h 1 min  not known
                    window clean   11:59
    """)


def test_history_has_no_column_for_overruled_failures_when_there_are_none() -> None:
    assert history_table(past()[1:]) == as_shown("""
     version        state                 since (UTC)       took        CI         why
     v141           rolled back           2026-12-01 11:59  2 min 35 s  green      http: 3 checks in a
                                                                                   row failed: 503
     v140 (forced)  monitoring window     2026-12-01 11:59  25 h 1 min  not known
                    clean
    """)


EVENTS = [
    (an_event(), "12:01:30  web  v142  anomaly_detected        http: 3 checks in a row failed: 503"),
    (
        an_event(event="switched", after=State.MONITORING, numbers={}, reason=""),
        "12:01:30  web  v142  monitoring              requests go to it; the previous version stays warm",
    ),
    (
        an_event(event="promote", after=State.MONITORING_WINDOW_CLEAN, numbers={}, reason="seen enough", by="ops"),
        "12:01:30  web  v142  monitoring_window_clean seen enough (ops)",
    ),
    (
        an_event(event="restarted_by_hand", after=State.MONITORING, numbers={}, reason=""),
        "12:01:30  web  v142  monitoring              restarted by hand",
    ),
]


@pytest.mark.parametrize(("event", "line"), EVENTS, ids=[event.event for event, _ in EVENTS])
def test_a_step_is_one_line_with_time_state_and_reason(event: DeployEvent, line: str) -> None:
    assert event_line(event, a_deployment(), LOOK) == line


def test_everything_that_can_happen_has_words() -> None:
    assert set(HAPPENED) == set(Happening) and set(SIGNAL_NAMES) == set(SignalKind)


def test_no_deployment_is_answered_with_what_to_do() -> None:
    assert status_table([]).startswith("No service was deployed yet: build-eye deploy init")
    assert history_table([]) == "Nothing was deployed yet."


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("previous", ["", "v141"])
def test_every_state_fits_the_terminal_and_the_colours_change_no_letter(
    state: State, warm: bool, previous: str
) -> None:
    standing = watched(deployment=a_deployment(state, closed=at(9)), previous_version=previous, previous_warm=warm)
    for show in (status_text, explain_text):
        plain = show(standing, LOOK)
        assert max(map(cells, plain.splitlines())) <= 100
        assert re.sub(r"\x1b\[[0-9;]*m", "", show(standing, COLOUR)) == plain


@pytest.mark.parametrize("width", [40, 64, 100, 200])
def test_a_narrow_terminal_gets_narrow_lines_and_a_wide_one_no_wider_than_100(width: int) -> None:
    for show in (status_text, explain_text):
        assert max(map(cells, show(watched(), Look(width)).splitlines())) <= min(width, 100)


@given(text=st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_text_from_outside_stays_text_on_its_lines(text: str) -> None:
    deployment = a_deployment(version=text, note=text, rollback_reason=text)
    said = SignalStanding(SignalKind.HTTP, SignalStatus.FAIL, text, text, {text: text}, text, text)
    standing = watched(deployment=deployment, previous_version=text, signals=(said,), ci=text, warnings=(text,))
    for shown in (status_text(standing, LOOK), explain_text(standing, LOOK), status_table([standing])):
        assert "\x1b" not in shown and "\r" not in shown
        assert max(map(cells, shown.splitlines())) <= 200
    json.dumps(status_json(standing), allow_nan=False)


def test_no_secret_is_shown() -> None:
    said = SignalStanding(SignalKind.HTTP, SignalStatus.FAIL, f"token={SECRET}", numbers={"body": f"token={SECRET}"})
    deployment = a_deployment(note=f"token={SECRET}", rollback_reason=f"token={SECRET}")
    standing = watched(deployment=deployment, signals=(said,), warnings=(f"token={SECRET}",))
    event = an_event(reason=f"token={SECRET}", numbers={"says": f"token={SECRET}"})
    shown = [status_text(standing, LOOK), explain_text(standing, LOOK), json.dumps(status_json(standing)),
             event_line(event, deployment, LOOK), json.dumps(event_json(event, deployment))]  # fmt: skip
    assert [text for text in shown if SECRET in text] == []


REASONS = [
    ("", ""),
    ("by hand: too slow", "by hand: too slow"),
    ('{"signal_type": "canary_task", "status": "fail", "detail": "timed out"}', "canary: timed out"),
    ('{"signal_type": "process_alive", "status": "fail", "detail": null}', "process: failed"),
    ("[1, 2]", "[1, 2]"),
]


@pytest.mark.parametrize(("kept", "told"), REASONS)
def test_a_reason_kept_as_a_signal_is_told_as_a_sentence(kept: str, told: str) -> None:
    assert why_rolled_back(a_deployment(rollback_reason=kept)) == told


def test_json_has_the_same_facts_under_names_that_stay() -> None:
    shown = status_json(watched())
    assert list(shown) == [
        "service", "version", "deployment_id", "state", "epoch", "commit", "repository", "profile", "kind", "paused",
        "forced", "by", "created", "cutover", "closed", "baseline", "rollback_reason", "note", "elapsed_seconds",
        "window_seconds", "deadline_seconds", "previous", "signals", "clean_when", "boundary", "process",
        "next_look_seconds", "ci", "supervisor", "report", "stopped", "warnings",
    ]  # fmt: skip
    assert shown["signals"][3] == {
        "signal": "validator_approval_rate", "status": "insufficient", "reason": "few-judged",
        "says": "8 of 9 approved, was 45 of 50", "numbers": {"good": 8, "judged": 9, "share": 8 / 9},
        "fails_when": limit_text(SignalKind.RATE, {"rate": {"source": "tables"}}), "needs": "1 more judged task",
        "next_look_seconds": 12,
    }  # fmt: skip
    assert shown["boundary"]["fails"][0] == {"judged": 3, "approved_at_most": 0}
    assert (shown["created"], shown["closed"]) == ("2026-12-01T11:59:00+00:00", None)


def test_json_of_services_history_and_steps_can_be_read_back() -> None:
    assert [each["state"] for each in services_json([watched(), rolled_back()])] == ["monitoring", "rolled_back"]
    rows = json.loads(json.dumps(history_json(past())))
    assert [(row["version"], row["lasted_seconds"], row["ci"]["green"]) for row in rows] == [
        ("v142", None, False), ("v141", 155, True), ("v140", 90060, None),
    ]  # fmt: skip
    step = json.loads(json.dumps(event_json(an_event(), a_deployment())))
    assert (step["seq"], step["before"], step["state"]) == (12, "monitoring", "anomaly_detected")


def test_numbers_that_json_cannot_hold_become_null_or_text() -> None:
    numbers = {"p": float("nan"), "ids": {"b", "a"}, "at": timedelta(seconds=1), "deep": {"x": [float("inf"), 1]}}
    said = SignalStanding(SignalKind.RATE, SignalStatus.OK, "ok", numbers=numbers)
    [shown] = status_json(watched(signals=(said,)))["signals"]
    assert shown["numbers"] == {"p": None, "ids": ["a", "b"], "at": "0:00:01", "deep": {"x": [None, 1]}}


def test_the_boundary_of_45_of_50_is_told_by_its_landmarks() -> None:
    assert boundary_text(RateBoundary(BOUNDARY)) == (
        "fails at <= 0 of 3, 1 of 5, 3 of 8, 4 of 10, 7 of 15, 11 of 20, 18 of 30, 32 of 50"
    )
    assert boundary_text(RateBoundary(())) == "no number of rejections fails: the baseline is too small"


NEAR = [
    (0, 0, "rolls back at <= 0 of 3 … 3 of 8", 3),
    (4, 4, "rolls back at <= 1 of 5 … 4 of 10", 5),
    (8, 9, "rolls back at <= 4 of 10 … 11 of 20", 11),
    (4, 8, "rolls back at <= 4 of 10 … 11 of 20", 1),
    (40, 49, "rolls back at <= 32 of 50", None),
    (32, 49, "rolls back at <= 32 of 50", 1),
    (40, 50, "", None),
]


@pytest.mark.parametrize(("good", "judged", "near", "left"), NEAR)
def test_what_lies_ahead_of_the_boundary_is_told(good: int, judged: int, near: str, left: int | None) -> None:
    boundary = RateBoundary(BOUNDARY, good, judged)
    assert (near_text(boundary), rejections_left(boundary)) == (near, left)


def test_limits_are_those_of_the_file_it_was_deployed_with() -> None:
    spec = {"process": {"exits": 5, "window_seconds": 90}, "health": {"failures": 2}, "rate": {"source": "query"}}
    told = [limit_text(signal, spec) for signal in SignalKind]
    assert told[0] == "5 exits within 90 s, or 3 within 6 h"
    assert told[1].startswith("2 checks in a row fail") and told[3].startswith("it crosses its boundary within 50")
    assert limit_text(SignalKind.RATE, {}).startswith("never")
    assert limit_text(SignalKind.CANARY, {}, "classic") == "one task fails"


SPANS = [
    (0, "0 s"), (0.44, "0.4 s"), (9, "9 s"), (45.9, "45 s"), (60, "1 min"), (90, "90 s"), (119, "119 s"),
    (120, "2 min"), (155, "2 min 35 s"), (3600, "1 h"), (22320, "6 h 12 min"), (86400, "24 h"), (172800, "48 h"),
    (172801, "2 d"), (273600, "3 d 4 h"), (-5, "0 s"),
]  # fmt: skip


@pytest.mark.parametrize(("seconds", "told"), SPANS)
def test_a_duration_is_told_in_at_most_two_units(seconds: float, told: str) -> None:
    assert lasting(seconds) == told
