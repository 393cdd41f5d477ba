"""What steps of a job print when nothing is wrong: the noise in which a reader of logs must find the error.

Each kind of step (see `shapes`) has a body and an ending; a step that fails prints part of its body, then its failure.
Bodies hold what misleads: warnings, retries that heal, errors that a test expects, "0 errors", options named timeout.
Images, actions and packages have one digest and one version each, unless the story moves them.
"""

from random import Random

from buildeye.simulator.chance import chance
from buildeye.simulator.noise_build import (
    Setting,
    Text,
    apt_text,
    build_ending,
    build_text,
    digest,
    image_text,
    npm_text,
    pip_ending,
    pip_text,
)
from buildeye.simulator.noise_tests import session_body, session_ending

CYAN, RESET = "\x1b[36;1m", "\x1b[0m"


def _identity(rng: Random) -> str:
    text = digest(rng, 32)
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _setup(at: Setting) -> list[str]:
    words = at.words
    actions = [
        f"Download action repository 'actions/{name}' (SHA:{digest(chance('action', name))})" for name in _ACTIONS
    ]
    return [
        "Current runner version: '2.334.0'",
        f"Runner name: '{words['runner']}'",
        f"Runner group name: '{words['group']}'",
        f"Machine name: '{words['runner']}-{digest(at.rng, 5)}'",
        *("##[group]GITHUB_TOKEN Permissions", "Contents: read", "Metadata: read", "PullRequests: read"),
        "##[endgroup]",
        *("Secret source: Actions", "Prepare workflow directory", "Prepare all required actions"),
        "Getting action download info",
        *actions,
        f"Complete job name: {words['job']}",
    ]


_ACTIONS = ("checkout@v6", "cache@v5", "upload-artifact@v6")


_IMAGE = "registry.example.org/sim/cann:8.5.0-910b-ubuntu22.04-py3.11"


def _containers(at: Setting) -> list[str]:
    image = at.words.get("image", _IMAGE)
    repository, _, tag = image.partition("/")[2].rpartition(":")
    layers = [digest(at.rng, 12) for _ in range(max(4, int(at.rng.randint(18, 30) * at.scale)))]
    lines = [
        "##[group]Run '/home/runner/k8s/index.js'",
        "shell: /home/runner/externals/node20/bin/node {0}",
        "##[endgroup]",
        "(node:61) [DEP0005] DeprecationWarning: Buffer() is deprecated due to security and usability issues.",
        "##[group]Starting job container",
        f"##[command]/usr/bin/docker pull {image}",
        f"{tag}: Pulling from {repository}",
        *(f"{layer}: Pulling fs layer" for layer in layers),
        *(f"{layer}: Waiting" for layer in layers[3:]),
    ]
    for layer in layers:
        lines += [f"{layer}: Verifying Checksum", f"{layer}: Download complete", f"{layer}: Pull complete"]
    return lines


def _containers_end(at: Setting) -> list[str]:
    image = at.words.get("image", _IMAGE)
    return [
        f"Digest: sha256:{at.words.get('digest') or digest(chance('image', image), 64)}",
        f"Status: Downloaded newer image for {image}",
        f"##[command]/usr/bin/docker create --name {digest(at.rng, 32)}_cann --shm-size 16g --cap-add SYS_PTRACE",
        digest(at.rng, 64),
        "##[endgroup]",
        "##[group]Waiting for all services to be ready",
        "##[endgroup]",
    ]


def _checkout(at: Setting) -> list[str]:
    words = at.words
    objects = at.rng.randint(2800, 3300)
    pace = max(2, int(2 / at.scale))
    return [
        "##[group]Run actions/checkout@v6",
        *("with:", f"  repository: {words['repo']}", "  token: ***", "  fetch-depth: 1", "  submodules: false"),
        *("env:", "  PIP_DEFAULT_TIMEOUT: 300", "  VLLM_USE_MODELSCOPE: True"),
        "##[endgroup]",
        f"Syncing repository: {words['repo']}",
        *(
            "##[group]Getting Git version info",
            f"Working directory is '{words['ws']}'",
            "[command]/usr/bin/git version",
        ),
        *("git version 2.53.0", "##[endgroup]"),
        f"Deleting the contents of '{words['ws']}'",
        "##[group]Initializing the repository",
        f"[command]/usr/bin/git init {words['ws']}",
        f"[command]/usr/bin/git remote add origin https://github.com/{words['repo']}",
        "##[endgroup]",
        "##[group]Fetching the repository",
        f"[command]/usr/bin/git -c protocol.version=2 fetch --no-tags --depth=1 origin +{words['sha']}",
        f"remote: Enumerating objects: {objects}, done.        ",
        *(
            f"remote: Counting objects: {part:3}% ({objects * part // 100}/{objects})        "
            for part in range(0, 101, pace)
        ),
        *(f"Receiving objects: {part:3}% ({objects * part // 100}/{objects})" for part in range(0, 101, pace)),
    ]


def _checkout_end(at: Setting) -> list[str]:
    return [
        f" * branch            {at.words['sha']} -> FETCH_HEAD",
        "##[endgroup]",
        "##[group]Checking out the ref",
        f"[command]/usr/bin/git checkout --progress --force {at.words['sha']}",
        *_merged_with(at),
        "##[endgroup]",
        "[command]/usr/bin/git log -1 --format=%H",
        at.words["sha"],
    ]


def _merged_with(at: Setting) -> list[str]:
    """What git says of the merge of a pull request with its base, where the story tells the base."""
    if not at.words.get("base"):
        return []
    return [f"HEAD is now at {digest(at.rng, 9)} Merge {at.words['sha']} into {at.words['base']}"]


_HOOKS = (
    "check yaml",
    "check toml",
    "fix end of files",
    "trim trailing whitespace",
    "isort",
    "actionlint",
    "markdownlint",
)


def _pre_commit(at: Setting) -> list[str]:
    hooks = ["ruff", "codespell", "clang-format", "mypy", "shellcheck", "typos"]
    lines = [f"[INFO] Initializing environment for https://github.com/example-hooks/{hook}." for hook in hooks]
    lines += [f"[INFO] Installing environment for https://github.com/example-hooks/{hook}." for hook in hooks]
    lines += ["[INFO] Once installed this environment will be reused.", "[INFO] This may take a few minutes..."]
    return lines + [f"{hook}".ljust(73, ".") + "Passed" for hook in _HOOKS]


def _cache(at: Setting) -> list[str]:
    total = at.rng.randint(380, 420) << 20
    key = f"csrc-ascend910b-aarch64-{at.words['short']}"
    reports = max(3, int(40 * at.scale))
    parts = [total * part // reports for part in range(1, reports + 1)]
    return [
        "##[group]Run actions/cache@v5",
        *("with:", f"  key: {key}", "  path: csrc/build", "  fail-on-cache-miss: false", "##[endgroup]"),
        f"Cache hit for: {key}",
        *(
            f"Received {part} of {total} ({100 * part / total:.1f}%), {at.rng.uniform(20, 90):.1f} MBs/sec"
            for part in parts
        ),
    ]


def _link_lines(at: Setting) -> list[str]:
    pages = ("installation", "quick_start", "user_guide/quantization", "developer_guide/contribution", "faqs")
    lines = ["Running Sphinx v8.2.3", "loading pickled environment... not yet created"]
    for number in range(at.lines):
        page = at.rng.choice(pages)
        note = "redirect  " if at.rng.random() < 0.05 else "ok        "
        lines.append(f"({page}: line {at.rng.randint(3, 300):4}) {note}https://docs.example.org/{page}/{number}")
    lines.insert(min(40, len(lines)), "WARNING: rate limited by https://docs.example.org/, retrying in 5 s")
    return lines


def _native_tests(at: Setting) -> list[str]:
    total = max(12, at.lines // 6)
    lines = [f"Test project {at.words['ws']}/build"]
    for number in range(1, total + 1):
        name = f"{at.rng.choice(_SUITES)}.{at.rng.choice(_CASES)}{number}"
        lines += [
            f"{'Start':>11} {number:3}: {name}",
            f"{number:3}/{total} Test {'#' + str(number):>4}: {name} ".ljust(64, ".")
            + f"   Passed {at.rng.uniform(0.01, 3):7.2f} sec",
        ]
    return lines


_SUITES = ("TilingTest", "WorkspaceTest", "GatherTest", "RopeTest", "MoeDispatchTest", "KvLayoutTest")
_CASES = ("HandlesEmptyInput", "MatchesReference", "RejectsErrorCode", "KeepsAlignment", "SplitsEvenly")


def _native_tests_end(at: Setting) -> list[str]:
    total = max(12, at.lines // 6)
    return [
        "",
        f"100% tests passed, 0 tests failed out of {total}",
        "",
        f"Total Test time (real) = {at.rng.uniform(20, 300):7.2f} sec",
    ]


def _upload(at: Setting) -> list[str]:
    return [
        "##[group]Run actions/upload-artifact@v6",
        "with:",
        "  name: timing",
        "  if-no-files-found: warn",
        "##[endgroup]",
    ]


def _post(at: Setting) -> list[str]:
    temp = f"/__w/_temp/git-credentials-{_identity(at.rng)}.config"
    return [
        "Post job cleanup.",
        *("[command]/usr/bin/git version", "git version 2.53.0"),
        f"Temporarily overriding HOME='/__w/_temp/{_identity(at.rng)}' before making global git config changes",
        f"[command]/usr/bin/git config --global --add safe.directory {at.words['ws']}",
        "Removing SSH command configuration",
        r"[command]/usr/bin/git config --local --name-only --get-regexp core\.sshCommand",
        "Removing HTTP extra header",
        f"Removing credentials config '{temp}'",
    ]


def _stop(at: Setting) -> list[str]:
    return [
        "##[group]Run '/home/runner/k8s/index.js'",
        "shell: /home/runner/externals/node20/bin/node {0}",
        "##[endgroup]",
        f"Stop and remove container: {digest(at.rng, 32)}_cann",
    ]


def fixed(*lines: str) -> Text:
    """A text that is always the same."""
    return lambda at: list(lines)


_NPU_TABLE = (
    "+--------------------------------------------------------------------------------------------+",
    "| npu-smi 25.3.0                   Version: 25.3.0                                           |",
    "+---------------------------+---------------+------------------------------------------------+",
    "| 0     910B4               | OK            | 86.9        38                0    / 0         |",
    "+===========================+===============+================================================+",
    "| No running processes found in NPU 0                                                        |",
)
_PATHS = (
    "##[group]Run dorny/paths-filter@v4",
    "with:",
    "  token: ***",
    "  initial-fetch-depth: 100",
    "##[endgroup]",
)
_FILTERED = ("Detected 2 changed files", "Filter e2e_tracker = true", 'Changes output set to ["e2e_tracker"]')

BODIES: dict[str, Text] = {
    "setup": _setup,
    "containers": _containers,
    "checkout": _checkout,
    "config": fixed("export PIP_INDEX_URL=http://cache-service.nginx-pypi-cache.svc.cluster.local/pypi/simple"),
    "npu": fixed(*_NPU_TABLE),
    "apt": apt_text,
    "pip": pip_text,
    "cache": _cache,
    "build": build_text,
    "test": lambda at: session_body(at.rng, at.lines, at.words, at.failing),
    "ctest": _native_tests,
    "paths": fixed(*_PATHS),
    "title": fixed(),
    "pre-commit": _pre_commit,
    "mypy": fixed("Running mypy on vllm_ascend_sim for Python 3.11"),
    "linkcheck": _link_lines,
    "image": image_text,
    "npm": npm_text,
    "eslint": fixed("> dashboard@0.4.0 lint", "> eslint src --max-warnings 5"),
    "upload": _upload,
    "post": _post,
    "stop": _stop,
    "complete": fixed(),
}
"""By kind of step."""

ENDINGS: dict[str, Text] = {
    "containers": _containers_end,
    "checkout": _checkout_end,
    "pip": pip_ending,
    "apt": fixed("Processing triggers for libc-bin (2.35-0ubuntu3.11) ..."),
    "cache": fixed("Cache Size: ~391 MB (410238976 B)", "Cache restored successfully"),
    "build": build_ending,
    "test": lambda at: session_ending(at.rng, at.lines),
    "ctest": _native_tests_end,
    "paths": fixed(*_FILTERED),
    "title": lambda at: [f"Checking PR title: {at.words['pr_title']}", "PR title is valid"],
    "pre-commit": fixed(*(f"{hook}".ljust(73, ".") + "Passed" for hook in ("ruff check", "ruff format", "codespell"))),
    "mypy": fixed("Success: no issues found in 388 source files"),
    "linkcheck": fixed("build succeeded, 2 warnings.", "0 broken links, 0 errors."),
    "image": lambda at: [f"#14 exporting to image sha256:{digest(at.rng, 64)}", "#14 DONE 41.2s"],
    "eslint": fixed("✖ 1 problem (0 errors, 1 warning)"),
    "upload": fixed(
        "With the provided path, there will be 14 files uploaded", "Artifact timing successfully finalized."
    ),
}
"""What a step prints last when it passes; kinds without an entry print nothing more."""

SCRIPTS: dict[str, tuple[str, ...]] = {
    "config": ("sed -i 's|ports.example.com|mirror.example.org|g' /etc/apt/sources.list",),
    "npu": ("npu-smi info", "cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg"),
    "apt": ("apt-get update -y", "apt-get -y install gcc g++ cmake libnuma-dev clang-15"),
    "pip": ("pip install -r requirements.txt || { echo 'error: install failed'; exit 1; }",),
    "build": ("export COMPILE_CUSTOM_KERNELS=1", "pip install -v -e . --no-build-isolation"),
    "test": ("set -o pipefail", "pytest -sv --durations=0 --timeout=1800 tests 2>&1 | tee test.log"),
    "ctest": ("ctest --test-dir build --output-on-failure -j8",),
    "title": ('echo "Checking PR title: $PR_TITLE"', 'echo "::error::PR title must start with one of: ..."; exit 1'),
    "pre-commit": ("pre-commit run --all-files --hook-stage manual",),
    "mypy": ("tools/mypy.sh 1 3.11",),
    "linkcheck": ("make -C docs linkcheck || exit 1",),
    "image": ("docker buildx build -f Dockerfile.a2 --progress=plain .",),
    "npm": ("npm ci",),
    "eslint": ("npm run lint --workspace dashboard",),
}
"""The script of steps that run one; GitHub prints it in cyan before the step's own output."""
