"""The rules of the house that tools can check: style, floors, size of modules, what may not be in the repository."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = Path(sys.executable).parent
LONGEST = 400
# In two parts each, so that this file does not name them either.
REGISTRIES = ("pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "registry.yarn" + "pkg.com",
              "index.crates" + ".io", "static.crates" + ".io", "proxy.golang" + ".org", "ruby" + "gems.org",
              "repo1.maven" + ".org", "repo.maven" + ".apache.org")  # fmt: skip


def _run(tool: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    program = TOOLS / tool
    if not program.exists():
        pytest.skip(f"{tool} is not installed beside {sys.executable}")
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    return subprocess.run(
        [str(program), *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """The files that the repository holds."""
    if not (ROOT / ".git").exists():
        pytest.skip("this tree is no git checkout")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_ruff_has_nothing_to_say() -> None:
    done = _run("ruff", "check", "--no-cache", "--output-format", "concise", ".")
    assert done.returncode == 0, done.stdout


def test_imports_go_down_only() -> None:
    done = _run("lint-imports", "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["*.py", "*.sql"])
def test_no_module_is_longer_than_it_can_be_read(kind: str) -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "src").rglob(kind)
        if (lines := path.read_text().count("\n")) > LONGEST
    }
    assert not long


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src").rglob("*.py")
        if not path.read_text().startswith('"""') and path.read_text().strip()
    ]
    assert not silent


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = {path.stem for path in (ROOT / "src").rglob("*.py")}
    assert not names & {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def test_no_file_names_a_package_registry(tracked: list[Path]) -> None:
    hosts = re.compile("|".join(re.escape(host) for host in REGISTRIES).encode(), re.IGNORECASE)
    assert _places(tracked, hosts) == []


def test_no_file_names_the_place_of_this_checkout(tracked: list[Path]) -> None:
    if len(ROOT.parts) < 3:
        pytest.skip(f"{ROOT} is too short a path to tell from other text")
    here = re.compile(rb"(?<![\w.-])" + re.escape(os.fsencode(ROOT)) + rb"(?![\w-])")
    assert _places(tracked, here) == []


def _places(files: list[Path], wanted: "re.Pattern[bytes]") -> list[str]:
    """Where it stands, as `file:line`."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1)
        if wanted.search(line)
    ]


def test_the_lock_has_a_hash_for_every_package_and_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"https?:", text)
    packages = re.split(r"(?m)^(?=[A-Za-z0-9])", text.strip())[1:]
    assert len(packages) > 20
    for package in packages:
        assert re.match(r"[A-Za-z0-9._-]+(\[[\w,-]+\])?==\S+", package), package.splitlines()[0]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", package), package.splitlines()[0]
    names = [re.split(r"==|\[", package)[0].lower() for package in packages]
    assert names == sorted(names)
