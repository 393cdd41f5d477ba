"""A service that is stopped for good, an address that cannot be used, and run folders that are no longer needed."""

import socket

from benchmarks.deploying.stage import Stage

from buildeye.model.deployments import State


def test_a_stopped_service_runs_nothing_and_start_brings_it_back(stage: Stage) -> None:
    with stage.supervised():
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.ask(first, "stop", why="moved")
        assert stage.now(first).state is State.ABORTED and "moved" in stage.why(first)
        stage.eventually(lambda: not stage.living() and stage.journal.held_by("web") is None, "nothing runs")
        with socket.socket() as anybody:  # the address is free again
            anybody.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            anybody.bind(("127.0.0.1", stage.port))
        stage.until(stage.deploy("v2"), State.MONITORING)
        assert stage.serves() == "v2"


def test_a_service_that_was_stopped_stays_so_for_the_next_supervisor(stage: Stage) -> None:
    with stage.supervised():
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.ask(first, "stop")
    with stage.supervised():
        stage.eventually(lambda: not stage.living(), "what was left is ended")
        assert stage.now(first).state is State.ABORTED


def test_a_port_that_stays_in_use_fails_who_waits_for_it(stage: Stage) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", stage.port))
        stranger.listen()
        with stage.supervised():
            first = stage.until(stage.deploy("v1"), State.HEALTH_FAILED)
            assert f"port {stage.port}" in stage.why(first) and f"port {stage.port}" in first.note
            stage.eventually(
                lambda: ("v1", State.HEALTH_FAILED) in [told[:2] for told in stage.told], "people are told"
            )


def test_the_run_folders_of_versions_that_ended_long_ago_go(stage: Stage) -> None:
    root = stage.run_root / "web"
    with stage.supervised():
        known = [stage.until(stage.deploy(version, retain=1), State.MONITORING) for version in ("v0", "v1", "v2", "v3")]
        kept = {each.id for each in known[1:]}  # v3 serves, v2 is warm, and of the others the newest
        stage.eventually(lambda: {each.name for each in root.glob("2*")} == kept, "the oldest is gone")
