"""Runs a composite action as GitHub's runner does: inputs, expressions, steps in bash, outputs, the job summary.

Only what `action.yml` and the example workflows use of the expression language is known; anything else fails the test.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_LIMIT = 300

Contexts = Mapping[str, Any]


def action() -> dict[str, Any]:
    """`action.yml`."""
    loaded: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    return loaded


def evaluated(text: Any, contexts: Contexts) -> str:
    """A value of a YAML file with its expressions replaced, as the text that GitHub makes of it."""
    return _EXPRESSION.sub(lambda found: _shown(_value(found[1], contexts)), str(text))


def _value(expression: str, contexts: Contexts) -> Any:
    for part in expression.split("||"):
        value = _operand(part.strip(), contexts)
        if value not in ("", None, False, 0):
            return value
    return value


def _operand(text: str, contexts: Contexts) -> Any:
    if literal := re.fullmatch(r"'([^']*)'", text):
        return literal[1]
    names = text.split(".")
    assert all(re.fullmatch(r"[\w-]+", name) for name in names), f"unknown expression {text!r}"
    assert names[0] in contexts, f"no context {names[0]!r} for {text!r}"
    value: Any = contexts
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _shown(value: Any) -> str:
    return {None: "", True: "true", False: "false"}.get(value, str(value)) if not isinstance(value, str) else value


@dataclass
class Done:
    """How an action ended: exit code of the step that failed (0: none did), outputs, job summary, what was printed."""

    code: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    printed: str = ""


@dataclass(frozen=True)
class Runner:
    """A runner with a workspace; `environment` is what the job's processes inherit."""

    workspace: Path
    environment: Mapping[str, str]

    @property
    def temporary(self) -> Path:
        """`RUNNER_TEMP`."""
        return self.workspace.parent / "temp"

    def run(self, given: Mapping[str, str], token: str = "") -> Done:
        """Run the action with the inputs of a `with:`."""
        told = action()
        github = {"token": token, "action_path": str(ROOT)}
        defaults = {name: spec.get("default", "") for name, spec in told["inputs"].items()}
        assert not set(given) - set(defaults), "GitHub warns of inputs that an action does not have"
        inputs = {name: evaluated(value, {"github": github}) for name, value in (defaults | dict(given)).items()}
        contexts: dict[str, Any] = {"inputs": inputs, "github": github, "steps": {}}
        done = Done()
        for number, step in enumerate(told["runs"]["steps"]):
            if "if" in step:
                raise AssertionError("conditions of steps are not known here")
            self._step(step, number, contexts, done)
            if done.code:
                break
        done.outputs = {name: evaluated(spec["value"], contexts) for name, spec in told["outputs"].items()}
        return done

    def _step(self, step: dict[str, Any], number: int, contexts: dict[str, Any], done: Done) -> None:
        assert step["shell"] == "bash"
        files = self.temporary / "runner" / str(number)
        files.mkdir(parents=True, exist_ok=True)
        script, output, summary = files / "script.sh", files / "output", files / "summary.md"
        script.write_text(evaluated(step["run"], contexts))
        for file in (output, summary):
            file.write_text("")
        told = {name: evaluated(value, contexts) for name, value in step.get("env", {}).items()}
        around = {
            "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(self.temporary), "GITHUB_RUN_ID": "1",
            "GITHUB_REPOSITORY": "octo/home", "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary),
        }  # fmt: skip
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=self.workspace, env=dict(self.environment) | around | told, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=_LIMIT, check=False,
        )  # fmt: skip
        done.printed += ended.stdout
        done.summary += summary.read_text()
        done.code = ended.returncode
        if "id" in step:
            contexts["steps"][step["id"]] = {"outputs": outputs_in(output.read_text())}


def outputs_in(text: str) -> dict[str, str]:
    """The outputs a step wrote: `name=value` lines and `name<<mark` blocks."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, sign, rest = line.partition("<<")
        if sign and "=" not in name:
            block = []
            while (inner := next(lines)) != rest:
                block.append(inner)
            found[name] = "\n".join(block)
        else:
            name, sign, rest = line.partition("=")
            assert sign, f"not an output: {line!r}"
            found[name] = rest
    return found


def installed(runner: Runner, program: str) -> None:
    """Put a program where the action installs Build-Eye, so that nothing is fetched."""
    path = runner.temporary / "build-eye" / "bin" / "build-eye"
    path.parent.mkdir(parents=True)
    path.write_text(program)
    path.chmod(0o755)


def child_environment(**more: str) -> dict[str, str]:
    """What a job's processes inherit: PATH and little else."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return kept | {"NO_PROXY": "127.0.0.1"} | more
