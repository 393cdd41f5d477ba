"""The composite action against the simulated GitHub, step by step: inputs, outputs, summary, exit codes, secrets."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from buildeye.cli.actions import OUTPUTS
from buildeye.simulator import Past, build_past
from buildeye.simulator.app import create_app
from buildeye.simulator.server import running, serving
from tests.pipeline.places import SOURCES

from .composite import ROOT, Done, Runner, action, child_environment, evaluated, installed

TOKEN = "ghp_" + "0123456789abcdef" * 2 + "wxyz"
PUSH = "ghp_" + "fedcba9876543210" * 2 + "abcd"
PROGRAM = f"""#!/usr/bin/env bash
printf '%s\\n' "$@" >> "$RUNNER_TEMP/arguments"
exec {sys.executable} -m buildeye "$@"
"""
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.yml"))


@pytest.fixture(scope="module")
def past() -> Past:
    return build_past(7, datetime.now(UTC))


@pytest.fixture(scope="module")
def address(past: Past) -> Iterator[str]:
    with running(past, token=TOKEN, limit=100_000) as url:
        yield url


def made(folder: Path, address: str) -> Runner:
    runner = Runner(folder / "workspace", child_environment(PYTHONPATH=SOURCES, BUILD_EYE_API__BASE_URL=address))
    (runner.workspace / "config").mkdir(parents=True)
    installed(runner, PROGRAM)
    return runner


@pytest.fixture
def runner(tmp_path: Path, address: str) -> Runner:
    return made(tmp_path, address)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, address: str, past: Past) -> tuple[Runner, Done]:
    """One run with an archive and most inputs set."""
    runner = made(tmp_path_factory.mktemp("action"), address)
    bare = runner.workspace / "archive.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)], check=True)
    given = {
        "target-repo": past.full_name, "lookback-hours": "24", "output": "out/reports", "language": "zh",
        "archive": str(bare), "archive-token": PUSH, "workflows": "pr_test_*.yaml", "token": TOKEN,
    }  # fmt: skip
    return runner, runner.run(given)


def test_a_pass_ends_with_0_and_sets_every_output(whole: tuple[Runner, Done]) -> None:
    runner, done = whole
    assert done.code == 0, done.printed
    failed, causes = int(done.outputs["failed-runs"]), json.loads(done.outputs["causes"])
    assert int(done.outputs["runs"]) > failed > 0
    assert sum(causes.values()) == failed
    assert done.outputs["reports"] == "out/reports"
    reports = list((runner.workspace / "out" / "reports").glob("2*/**/*.md"))
    assert int(done.outputs["reports-written"]) == len(reports) > 0
    assert "language: zh" in reports[0].read_text() or re.search(r"[\u4e00-\u9fff]", reports[0].read_text())
    head = subprocess.run(
        ["git", "--git-dir", "archive.git", "rev-parse", "main"],
        cwd=runner.workspace, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.outputs["archive-commit"] == head.stdout.strip()
    assert (runner.workspace / done.outputs["summary"]).read_text() == done.summary


def test_the_job_summary_names_the_causes_and_every_failed_run(whole: tuple[Runner, Done], past: Past) -> None:
    _, done = whole
    assert done.summary.startswith("### Build-Eye\n")
    assert "| cause | runs | what | who acts |" in done.summary
    links = re.findall(rf"\(https://github\.com/{past.full_name}/actions/runs/(\d+)\)", done.summary)
    assert len(links) == int(done.outputs["failed-runs"])
    assert {run.name for run in past.attempts if str(run.id) in links} <= {"E2E-Light", "E2E-Full"}


def test_the_tokens_are_in_no_argument_no_output_and_no_file(whole: tuple[Runner, Done]) -> None:
    runner, done = whole
    assert "monitor" in (runner.temporary / "arguments").read_text()
    for secret in (TOKEN, PUSH):
        assert secret not in done.printed + done.summary + json.dumps(done.outputs)
        leaks = [
            path for path in runner.workspace.parent.rglob("*")
            if path.is_file() and secret.encode() in path.read_bytes()
        ]  # fmt: skip
        assert leaks == []


def test_a_second_pass_has_nothing_new_to_write(whole: tuple[Runner, Done], past: Past) -> None:
    runner, _ = whole
    given = {"target-repo": past.full_name, "output": "out/reports", "token": TOKEN, "language": "zh"}
    done = runner.run(given | {"archive": str(runner.workspace / "archive.git"), "workflows": "pr_test_*.yaml"})
    assert done.code == 0, done.printed
    assert (done.outputs["reports-written"], done.outputs["archive-commit"]) == ("0", "")


@pytest.mark.parametrize(("given", "archived"), [("true", False), ("false", True), ("", True)])
def test_a_dry_run_archives_nothing(runner: Runner, past: Past, given: str, archived: bool) -> None:
    bare = runner.workspace / "archive.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)], check=True)
    config = runner.workspace / "config" / "own.yaml"
    config.write_text(json.dumps({"archive_repository": {"url": str(bare)}, "monitoring": {"lookback_hours": 20}}))
    inputs = {"target-repo": past.full_name, "config": "config/own.yaml", "dry-run": given}
    done = runner.run(inputs, token=TOKEN)
    assert done.code == 0, done.printed
    assert bool(done.outputs["archive-commit"]) == archived
    assert "last 20 h" in done.summary


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({"comment": "7; touch pwned"}, 2, "::error title=Build-Eye::the input comment is the number"),
        ({"comment": "999999"}, 2, "::error title=Build-Eye::pull request 999999 of"),
        ({"dry-run": "maybe"}, 2, "::error title=Build-Eye::the input dry-run is true or false"),
        ({"lookback-hours": "soon"}, 2, "--lookback-hours"),
        ({"lookback-hours": "0"}, 2, "--lookback-hours"),
        ({"target-repo": "nobody"}, 2, "::error title=Build-Eye::--target-repo is"),
        ({"target-repo": "$(touch pwned)/x; touch pwned"}, 2, "::error title=Build-Eye::"),
        ({"target-repo": "--help"}, 2, "::error title=Build-Eye::--target-repo is"),
        ({"config": "none.yaml"}, 2, "::error title=Build-Eye::"),
        ({"language": "klingon"}, 2, "::error title=Build-Eye::environment BUILD_EYE_REPORT__LANGUAGE"),
        ({"token": "wrong"}, 3, "::error title=Build-Eye::GitHub answered 401"),
        ({"token": ""}, 3, "a token is needed; set GITHUB_TOKEN"),
        ({"target-repo": "octo/none"}, 3, "::error title=Build-Eye::GitHub answered 404"),
    ],
)
def test_what_goes_wrong_is_an_exit_code_and_an_error_on_the_page(
    runner: Runner, past: Past, given: dict[str, str], code: int, said: str
) -> None:
    inputs = {"target-repo": past.full_name, "token": TOKEN} | given
    done = runner.run(inputs)
    assert done.code == code, done.printed
    assert said in done.printed
    assert "Traceback" not in done.printed
    assert list(runner.workspace.rglob("pwned")) == []
    if "::error title=Build-Eye::" in said and "the input" not in said:
        assert "### Build-Eye failed\n" in done.summary


def test_a_pass_can_comment_on_a_pull_request_when_it_is_done(tmp_path: Path, past: Past) -> None:
    app = create_app(past, login="")
    with serving(app) as address:
        runner = made(tmp_path, address)
        inputs = {"target-repo": past.full_name, "lookback-hours": "26", "token": TOKEN, "comment": str(_red(past))}
        done = runner.run(inputs)
    assert done.code == 0, done.printed
    assert "comment created https://github.com/" in done.printed
    (post,) = app.state.board.comments
    assert (post.issue, post.author) == (_red(past), "github-actions[bot]")


def _red(past: Past) -> int:
    """A pull request whose newest run failed."""
    newest = {number: run for run in past.attempts if run.status == "completed" for number in run.pull_requests}
    heads = {pull.number: pull.head_sha for pull in past.pulls}
    return max(n for n, run in newest.items() if run.conclusion == "failure" and run.head_sha == heads[n])


def test_a_python_that_is_too_old_is_said(tmp_path: Path, address: str) -> None:
    runner = Runner(tmp_path / "workspace", child_environment())
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    runner.workspace.mkdir()
    done = runner.run({"python": str(old)})
    assert (done.code, done.outputs["runs"]) == (2, "")
    assert f"::error title=Build-Eye::{old} is not Python 3.11 or later" in done.printed


def test_the_outputs_of_the_action_are_those_the_program_sets() -> None:
    told = action()["outputs"]
    assert tuple(told) == OUTPUTS
    assert [spec["value"] for spec in told.values()] == [f"${{{{ steps.pass.outputs.{name} }}}}" for name in told]


def test_no_input_and_no_secret_is_put_into_a_script() -> None:
    scripts = [step["run"] for step in action()["runs"]["steps"]]
    for path in EXAMPLES:
        scripts += [step["run"] for step in workflow_of(path)["jobs"]["monitor"]["steps"] if "run" in step]
    assert [script for script in scripts if "${{" in script] == []


def test_every_input_and_output_is_documented() -> None:
    page = (ROOT / "docs" / "github-actions.md").read_text()
    names = [*action()["inputs"], *action()["outputs"]]
    assert [name for name in names if f"| `{name}` |" not in page] == []


def workflow_of(path: Path) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text())
    return loaded


def given_by(path: Path, inputs: dict[str, Any], secrets: dict[str, str]) -> dict[str, str]:
    """The inputs that a workflow hands to the action."""
    step = next(s for s in workflow_of(path)["jobs"]["monitor"]["steps"] if s.get("uses") == "./")
    contexts = {"inputs": inputs, "secrets": secrets, "github": {"token": "of-the-run"}}
    return {name: evaluated(value, contexts) for name, value in step["with"].items()}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_scheduled_workflow_and_one_by_hand_hand_over_what_was_chosen(path: Path) -> None:
    hours = {"monitor": "", "nightly": "24", "weekly": "168"}[path.stem]
    scheduled = given_by(path, {}, {})
    assert set(scheduled) <= set(action()["inputs"])
    assert (scheduled["lookback-hours"], scheduled["dry-run"], scheduled["target-repo"]) == (hours, "false", "")
    assert (scheduled["token"], scheduled["archive-token"]) == ("of-the-run", "")
    chosen = {"lookback_hours": 48, "dry_run": True, "target_repo": "octo/widgets"}
    by_hand = given_by(path, chosen, {"MONITOR_TOKEN": "read", "ARCHIVE_TOKEN": "push"})
    assert (by_hand["lookback-hours"], by_hand["dry-run"], by_hand["target-repo"]) == ("48", "true", "octo/widgets")
    assert (by_hand["token"], by_hand["archive-token"]) == ("read", "push")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_workflows_offer_the_three_inputs_and_ask_for_no_more_than_they_need(path: Path) -> None:
    workflow = workflow_of(path)
    triggers = workflow[True]  # YAML reads the key `on` as true
    assert set(triggers["workflow_dispatch"]["inputs"]) == {"lookback_hours", "dry_run", "target_repo"}
    assert triggers["schedule"] == [
        {"cron": {"monitor": "17 */6 * * *", "nightly": "43 5 * * *", "weekly": "11 6 * * 1"}[path.stem]}
    ]
    assert workflow["permissions"] == {"actions": "read", "contents": "read", "pull-requests": "read"}
    group = workflow["concurrency"]["group"]
    assert [p for p in EXAMPLES if p != path and workflow_of(p)["concurrency"]["group"] == group] == []


def test_the_nightly_workflow_runs_the_action_over_the_nightly_pipelines(runner: Runner, past: Past) -> None:
    named = {"monitored_workflows": ["pr_test_light.yaml"]}
    (runner.workspace / "config" / "config.yaml").write_text(json.dumps(named | {"target_repository": named}))
    given = given_by(ROOT / "docs/examples/nightly.yml", {"target_repo": past.full_name}, {"MONITOR_TOKEN": TOKEN})
    done = runner.run(given)
    assert done.code == 0, done.printed
    assert 0 < int(done.outputs["runs"]) < 10, "the nightly pipelines of one night, not every run of the day"
