"""What a job ran in and with is read from lines as the tools print them, and from nothing else."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs import environment
from buildeye.logs.environment import MOST_THINGS, Change, EnvironmentReader, changed, read_environment
from buildeye.logs.signs import SIGNS
from buildeye.logs.source import LogFile
from buildeye.logs.text import clean
from buildeye.model import Thing

A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64
SHA = "0123456789abcdef" * 2 + "01234567"


def image(name: str, value: str = A) -> Thing:
    return Thing("image", name, value)


def package(name: str, value: str) -> Thing:
    return Thing("package", name, value)


def tool(name: str, value: str) -> Thing:
    return Thing("tool", name, value)


def read(*lines: str) -> tuple[Thing, ...]:
    return read_environment(LogFile.of("log", "\n".join(lines).encode()))


SAID: dict[str, tuple[list[str], list[Thing]]] = {
    "docker pull": (
        [
            "##[command]/usr/bin/docker pull postgres:18",
            "18: Pulling from library/postgres",
            "0bee1b4e2ea4: Pull complete",
            f"Digest: {A}",
            "Status: Downloaded newer image for postgres:18",
            "docker.io/library/postgres:18",
        ],
        [image("postgres:18")],
    ),
    "docker pull of what is there": (
        [f"Digest: {B}", "Status: Image is up to date for quay.io/octo/cann:9.0.0-ubuntu22.04"],
        [image("quay.io/octo/cann:9.0.0-ubuntu22.04", B)],
    ),
    "docker pull by digest": (
        [f"Digest: {A}", f"Status: Downloaded newer image for octo/app@{A}"],
        [image("octo/app")],
    ),
    "BuildKit": (
        [
            f"#27 [xx 1/1] FROM docker.io/tonistiigi/xx:1.9.0@{A}",
            f"#27 resolve docker.io/tonistiigi/xx:1.9.0@{A} 0.0s done",
            f"#5 docker-image://docker.io/docker/dockerfile:1@{B}",
            f"#9 1.204 FROM docker.io/library/golang:1.26@{B} AS build",
        ],
        [image("docker/dockerfile:1", B), image("golang:1.26", B), image("tonistiigi/xx:1.9.0")],
    ),
    "a GitLab runner": (
        [
            "\x1b[0KRunning with gitlab-runner 17.4.1 (32fe5502)\x1b[0;m",
            f"\x1b[0KUsing docker image {B} for ruby:2.7 with digest ruby@{A} ...\x1b[0;m",
        ],
        [image("ruby:2.7"), tool("gitlab-runner", "17.4.1")],
    ),
    "kubelet events": (
        [
            '  Normal  Pulled  3s  kubelet  Successfully pulled image "octo/npu:8.3" in 2.1s (3.1s including waiting)',
            f"    Image ID:      docker-pullable://busybox@{A}",
            f'      "imageID": "docker.io/library/nginx@{B}",',
        ],
        [image("busybox"), image("nginx", B), image("octo/npu:8.3", "")],
    ),
    "inputs of a reusable workflow": (
        [
            "##[group] Inputs",
            "  type: full",
            "  image: quay.io/octo/cann:9.0.0-310p-ubuntu22.04-py3.11",
            "##[endgroup]",
            "  image: none:1",
        ],
        [image("quay.io/octo/cann:9.0.0-310p-ubuntu22.04-py3.11", "")],
    ),
    "GitHub's runner": (
        [
            "\ufeff2026-05-06T13:24:28.0500000Z Current runner version: '2.334.0'",
            "2026-05-06T13:24:28.0535252Z ##[group]Runner Image Provisioner",
            "2026-05-06T13:24:28.0535252Z Version: 20260213.493",
            "2026-05-06T13:24:28.0535252Z ##[endgroup]",
            "2026-05-06T13:24:28.0535252Z ##[group]Operating System",
            "2026-05-06T13:24:28.0535252Z Ubuntu",
            "2026-05-06T13:24:28.0535252Z ##[endgroup]",
            "2026-05-06T13:24:28.0535252Z ##[group]Runner Image",
            "2026-05-06T13:24:28.0535300Z Image: ubuntu-24.04",
            "2026-05-06T13:24:28.0535400Z Version: 20260413.86.1",
            "2026-05-06T13:24:28.0535500Z ##[endgroup]",
        ],
        [Thing("runner-image", "ubuntu-24.04", "20260413.86.1"), tool("actions-runner", "2.334.0")],
    ),
    "GitHub's runner of old": (
        ["##[group]Virtual Environment", "Environment: ubuntu-20.04", "Version: 20220515.1", "##[endgroup]"],
        [Thing("runner-image", "ubuntu-20.04", "20220515.1")],
    ),
    "actions at a tag that moves, not those at a commit": (
        [
            f"Download action repository 'actions/checkout@v4' (SHA:{SHA})",
            f"Download action repository 'actions/cache@{SHA}' (SHA:{SHA})",
        ],
        [tool("actions/checkout@v4", SHA)],
    ),
    "another repository, checked out; not the job's own": (
        [
            "Syncing repository: octo/widgets",
            "Working directory is '/__w/widgets/widgets'",
            "[command]/usr/bin/git log -1 --format=%H",
            "f" * 40,
            "Syncing repository: other/engine",
            "Working directory is '/__w/widgets/widgets/engine'",
            "[command]/usr/bin/git log -1 --format='%H'",
            f"'{SHA}'",
            f"Download action repository 'octo/widgets@main' (SHA:{SHA})",
        ],
        [tool("other/engine", SHA)],
    ),
    "pip": (
        [
            "Requirement already satisfied: typing_extensions>=4.6 in /opt/venv/site-packages (from pydantic) (4.15.0)",
            "Requirement already satisfied: charset-normalizer in ./venv/site-packages (3.4.6)",
            "  Resolved https://github.com/octo/engine.git to commit " + SHA,
            "Successfully installed MarkupSafe-3.0.3 zope.interface-5.2.0 torch-2.9.0+cpu ruamel.yaml-0.18",
        ],
        [
            package("charset-normalizer", "3.4.6"),
            package("markupsafe", "3.0.3"),
            package("ruamel-yaml", "0.18"),
            package("torch", "2.9.0+cpu"),
            package("typing-extensions", "4.15.0"),
            package("zope-interface", "5.2.0"),
            tool("octo/engine", SHA),
        ],
    ),
    "uv": (
        [
            "Installed 3 packages in 35ms",
            " - anyio==4.10.0",
            " + anyio==4.11.0",
            " ~ pydantic_core==2.41.5",
            f" + engine==0.1.0 (from git+https://github.com/octo/engine@{SHA})",
            " + widgets==0.1.dev1+g7e1b45a09 (from file:///__w/widgets/widgets)",
        ],
        [package("anyio", "4.11.0"), package("engine", f"0.1.0#{SHA}"), package("pydantic-core", "2.41.5")],
    ),
    "poetry and composer": (
        [
            "  - Installing attrs (23.1.0)",
            "  • Updating django (2.2.5 -> 2.1.12): Installing...",
            "  - Installing symfony/console (v6.3.0): Extracting archive",
        ],
        [package("attrs", "23.1.0"), package("django", "2.1.12"), package("symfony/console", "6.3.0")],
    ),
    "conda": (
        [
            "  numpy              pkgs/main/linux-64::numpy-1.24.3-py38hf6e8229_1 ",
            "  + archspec                        0.2.5  pyhd8ed1ab_0          conda-forge     Cached",
            "Linking libgcc-ng-15.2.0-h69a702a_19",
            "# packages in environment at /opt/envs/test:",
            "#",
            "# Name                           Version          Build                 Channel",
            "_openmp_mutex                    4.5              20_gnu                conda-forge",
            "babel                            2.18.0           pypi_0                pypi",
            "",
            "gap                              1.0              0                     none",
        ],
        [
            package("_openmp-mutex", "4.5"),
            package("archspec", "0.2.5"),
            package("babel", "2.18.0"),
            package("libgcc-ng", "15.2.0"),
            package("numpy", "1.24.3"),
        ],
    ),
    "pip list and pip freeze": (
        [
            "Package                       Version",
            "----------------------------- -----------------",
            "aiohttp                       3.13.5",
            "widgets                       0.1.0        /__w/widgets/widgets",
            "yarl                          1.23.0",
            "",
            "+ python -m pip freeze",
            "torch-npu==2.9.0",
            "",
            "vllm==0.11.0",
        ],
        [
            package("aiohttp", "3.13.5"),
            package("torch-npu", "2.9.0"),
            package("vllm", "0.11.0"),
            package("yarl", "1.23.0"),
        ],
    ),
    "packages of the system": (
        [
            "Setting up libavutil56:amd64 (7:4.4.2-0ubuntu0.22.04.1) ...",
            "( 2/10) Installing c-ares (1.34.6-r0)",
            "  Installing       : bash-completion-1:2.11-5.el9.noarch            3/10 ",
        ],
        [
            package("bash-completion", "2.11-5.el9"),
            package("c-ares", "1.34.6-r0"),
            package("libavutil56", "7:4.4.2-0ubuntu0.22.04.1"),
        ],
    ),
    "npm, yarn and pnpm": (
        [
            "yarn install v1.22.22",
            "├─ left-pad@1.3.0",
            "└─ @scope/pkg@2.0.1",
            "+ eslint@9.37.0",
            "devDependencies:",
            "+ @types/node 22.19.17",
            "+ create-app 16.3.0 <- packages/create-app",
            "+ jest 29.7.0 (30.0.0 is available)",
            "",
            "Done in 3.2s using pnpm v10.33.1",
            "##[group]Environment details",
            "node: v20.20.2",
            "npm: 10.8.2",
            "yarn: ",
            "##[endgroup]",
        ],
        [
            package("@scope/pkg", "2.0.1"),
            package("@types/node", "22.19.17"),
            package("eslint", "9.37.0"),
            package("jest", "29.7.0"),
            package("left-pad", "1.3.0"),
            tool("node", "20.20.2"),
            tool("npm", "10.8.2"),
            tool("pnpm", "10.33.1"),
            tool("yarn", "1.22.22"),
        ],
    ),
    "cargo and rustup": (
        [
            "\x1b[1m\x1b[92m   Compiling\x1b[0m winnow v1.0.2",
            "   Compiling widgets v0.1.0 (/home/runner/work/widgets/widgets)",
            "   Compiling engine v0.6.0 (https://github.com/octo/engine?rev=e6f44a2b#e6f44a2b)",
            "  Downloaded serde v1.0.217",
            "  stable-x86_64 updated - rustc 1.95.0 (59807616e 2026-04-14) (from rustc 1.94.1 (e408947bf 2026-03-25))",
        ],
        [
            package("engine", "0.6.0#e6f44a2b"),
            package("serde", "1.0.217"),
            package("winnow", "1.0.2"),
            tool("rustc", "1.95.0 (59807616e 2026-04-14)"),
        ],
    ),
    "go": (
        [
            "go version go1.26.4 linux/amd64",
            "go: downloading github.com/octo/cni v0.7.1",
            "go: downloading golang.org/x/sys v0.0.0-20190916202348-b4ddaad3f8a3",
            "go: downloading go1.27.1 (linux/amd64)",
        ],
        [
            package("github.com/octo/cni", "v0.7.1"),
            package("golang.org/x/sys", "v0.0.0-20190916202348-b4ddaad3f8a3"),
            tool("go", "1.26.4"),
            tool("go", "1.27.1"),
        ],
    ),
    "maven and gradle": (
        [
            "[INFO] Downloaded from central: https://mirror.example.com/octo/core/8.3.0/core-8.3.0.pom (8 kB)",
            "Downloaded from central: https://mirror.example.com/octo/core/8.3.0/core-8.3.0.jar (8 kB at 590 kB/s)",
            "Downloaded: http://mirror.example.com/octo/engine/1.0-SNAPSHOT/engine-1.0-20220105.234345-158-tests.jar",
            "[\x1b[1;34mINFO\x1b[m] \x1b[1m--- \x1b[0;32mmaven-jar-plugin:2.7:jar\x1b[m (default) @ app ---",
            "Download https://mirror.example.com/octo/gson/2.8.9/gson-2.8.9.jar",
            "Welcome to Gradle 7.3!",
            "Apache Maven 3.9.5 (57804ffe001d7215b5e7bcb531cf83df38f93546)",
            "Java configuration:",
            "  Distribution: temurin",
            "  Version: 17.0.16+8",
            'openjdk version "21.0.2" 2024-01-16',
        ],
        [
            package("core", "8.3.0"),
            package("engine", "1.0-20220105.234345-158"),
            package("gson", "2.8.9"),
            tool("gradle", "7.3"),
            tool("java", "17.0.16+8"),
            tool("java", "21.0.2"),
            tool("maven", "3.9.5"),
            tool("maven-jar-plugin", "2.7"),
        ],
    ),
    "bundler": (
        [
            "Using rake 13.0.6",
            "Installing nio4r 2.5.9 with native extensions",
            "Bundle complete! 3 Gemfile dependencies.",
        ],
        [package("nio4r", "2.5.9"), package("rake", "13.0.6")],
    ),
    "nuget": (
        ["  Installed Moq 4.16.1 from https://nuget.example.com/v3/index.json with content hash bw3R9q8=="],
        [package("Moq", "4.16.1")],
    ),
    "pytest and setup-python": (
        [
            "Successfully set up CPython (3.11.9)",
            "platform linux -- Python 3.11.14, pytest-8.4.2, pluggy-1.6.0 -- /opt/venv/bin/python",
            "plugins: asyncio-1.3.0, scipy_doctest-2.2.0",
        ],
        [
            tool("pluggy", "1.6.0"),
            tool("pytest", "8.4.2"),
            tool("pytest plugin asyncio", "1.3.0"),
            tool("pytest plugin scipy_doctest", "2.2.0"),
            tool("python", "3.11.14"),
            tool("python", "3.11.9"),
        ],
    ),
    "compilers": (
        [
            "-- The CXX compiler identification is GNU 12.2.0",
            "gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04) ",
            "Ubuntu clang version 14.0.0-1ubuntu1.1",
            "cmake version 3.31.4",
            "git version 2.53.0",
            "Docker version 24.0.7, build afdd53b",
        ],
        [
            tool("CXX compiler", "GNU 12.2.0"),
            tool("clang", "14.0.0-1ubuntu1.1"),
            tool("cmake", "3.31.4"),
            tool("docker", "24.0.7"),
            tool("gcc", "11.4.0"),
            tool("git", "2.53.0"),
        ],
    ),
    "accelerators": (
        [
            "package_name=Ascend-cann-toolkit",
            "version=8.3.RC1",
            "innerversion=V100R001C23SPC001B238",
            "| npu-smi 25.2.0                   Version: 25.2.0                                               |",
            "| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |",
            "PyTorch version: 2.5.1+cu118",
            "[pip3] torch_npu==2.9.0",
            "[2026-05-28 16:20:54.563782][UC][I] Initializing a V1 LLM engine (v0.20.2) with config: model='m'",
        ],
        [
            package("torch-npu", "2.9.0"),
            tool("Ascend-cann-toolkit", "8.3.RC1"),
            tool("npu driver", "25.2.0"),
            tool("nvidia driver", "535.104.05"),
            tool("torch", "2.5.1+cu118"),
            tool("vllm", "0.20.2"),
        ],
    ),
    "a logger around pip": (
        ["21:40:38     INFO -  Successfully installed requests-2.8.1", "INFO:root:Successfully installed six-1.16.0"],
        [package("requests", "2.8.1"), package("six", "1.16.0")],
    ),
}


@pytest.mark.parametrize("who", SAID)
def test_what_tools_print_is_read(who: str) -> None:
    lines, things = SAID[who]
    assert read(*lines) == tuple(sorted(things))


ALIKE = [
    f"Digest: {A}",
    "Digest: none of your business",
    f"assert 'Digest: {A}' in output",
    "Status: Downloaded newer image for postgres:18",
    "tests/test_install.py::test_user[Successfully installed foo-1.0] PASSED",
    "E   AssertionError: Successfully installed foo-1.0",
    "  image: octo/app:1",
    "Image: ubuntu-24.04",
    "Version: 20260413.86.1",
    "+ sleep 10.5.1",
    "+ jest 29.7.0",
    "Using port 8080",
    "Using python 3.11.2",
    "Installing dependencies 1.2.3",
    "Linking CXX executable a-1.out",
    "platform linux is not supported",
    "plugins: none",
    "numpy==1.26.4",
    "numpy    1.26.4",
    "version=8.3.RC1",
    SHA,
    "Compiling 27 files with swc v1",
    "node: 24.0.0",
    "go: downloading dependencies",
    "rustc: error 1.2",
    "Setting up auth (step 1) ...",
    "Download action repository 'octo/app'",
    "echo git version 2.53.0",
    "the gcc version 4.8 is old",
]


@pytest.mark.parametrize("line", ALIKE)
def test_a_line_that_only_looks_alike_names_nothing(line: str) -> None:
    assert read("first", line, "last") == ()


def test_versions_that_a_build_makes_up_for_itself_are_left_out() -> None:
    own = ["Working directory is '/home/runner/work/pandas/pandas'"]
    built = "Successfully installed pandas-3.1.0.dev0+761.g4fb70045eb vllm-0.1.dev1+g7e1b45a09"
    assert read(built) == ()
    assert read(*own, built) == (package("vllm", "0.1.dev1+g7e1b45a09"),)
    assert read(built, *own) == (package("vllm", "0.1.dev1+g7e1b45a09"),)


BLOCKS = [lines for lines, _ in SAID.values() if not any("Working directory" in line for line in lines)]
NOISE = ["", "##[group]Run make", "compiling a.c", *ALIKE[1:3], "x" * 300, "\x00\x01\xff junk"]


@given(st.randoms(use_true_random=False), st.lists(st.sampled_from(NOISE), max_size=20), st.integers(1, 3))
def test_neither_order_nor_repetition_nor_other_lines_matter(
    chance: random.Random, noise: list[str], times: int
) -> None:
    parts: list[Sequence[str]] = [*BLOCKS * times, *([line] for line in noise)]
    chance.shuffle(parts)
    shuffled = [line for part in parts for line in (*part, "")]
    assert read(*shuffled) == read(*(line for part in BLOCKS for line in (*part, "")))


def test_the_search_of_raw_bytes_finds_what_reading_every_line_finds() -> None:
    for lines, _ in SAID.values():
        reader = EnvironmentReader()
        for line in lines:
            reader.feed(clean(line.encode()))
        assert reader.things() == read(*lines)


def test_every_sign_can_be_searched_for() -> None:
    assert [sign for sign in SIGNS if not sign.raw] == []


def test_a_heading_at_the_end_of_a_block_has_its_rows_in_the_next() -> None:
    filler = b"x" * 99 + b"\n"
    heading = b"##[group]Runner Image\n"
    before = filler * ((1 << 20) // 100)
    before += b"y" * ((1 << 20) - len(before) - len(heading) - 1) + b"\n"
    log = before + heading + b"Image: ubuntu-24.04\nVersion: 20260413.86.1\n" + filler
    assert read_environment(LogFile.of("log", log)) == (Thing("runner-image", "ubuntu-24.04", "20260413.86.1"),)


def test_a_line_of_fifty_megabytes_and_binary_junk_do_no_harm() -> None:
    git = b"git version 2.53.0\n"
    long = b"Successfully installed " + b"a" * 50_000_000 + b"-1.0\n"
    assert read_environment(LogFile.of("log", git + long + git)) == (tool("git", "2.53.0"),)
    junk = random.Random(7).randbytes(300_000)
    assert read_environment(LogFile.of("log", junk)) == ()
    assert read_environment(LogFile.of("log", git * 20_000 + junk + b"\n" + git)) == (tool("git", "2.53.0"),)
    assert read_environment(LogFile.of("log", b"")) == ()


def test_a_long_list_of_pip_is_read_to_its_end() -> None:
    names = [f"package-{number:03}" for number in range(390)]
    found = read("Successfully installed " + " ".join(f"{name}-1.{len(name)}.0" for name in names))
    assert [thing.name for thing in found] == names and {thing.value for thing in found} == {"1.11.0"}


def test_of_too_many_things_packages_of_the_system_give_way_first() -> None:
    system = [f"Setting up a{number} (1.0-1) ..." for number in range(MOST_THINGS)]
    pip = "Successfully installed " + " ".join(f"z{number}-1.0" for number in range(200))
    things = read(*system, pip, "git version 2.53.0")
    assert len(things) == MOST_THINGS == len(set(things)) and list(things) == sorted(things)
    assert tool("git", "2.53.0") in things
    assert sum(thing.name.startswith("z") for thing in things) == 200


MOVES: dict[str, tuple[list[Thing], list[Thing], list[Change]]] = {
    "nothing moved": ([image("a:1"), tool("git", "2")], [tool("git", "2"), image("a:1")], []),
    "what explains most comes first": (
        [image("a:1", A), package("numpy", "1.26"), Thing("runner-image", "u", "1"), tool("actions-runner", "1")],
        [image("a:1", B), package("numpy", "2.0"), Thing("runner-image", "u", "2"), tool("actions-runner", "2")],
        [
            Change("image", "a:1", A, B),
            Change("package", "numpy", "1.26", "2.0"),
            Change("runner-image", "u", "1", "2"),
            Change("tool", "actions-runner", "1", "2"),
        ],
    ),
    "an image of which the tag is another one": (
        [image("q/cann:8.5", A)],
        [image("q/cann:9.0", "")],
        [Change("image", "q/cann:8.5", f"q/cann:8.5 {A}", "q/cann:9.0")],
    ),
    "a runner image that took the place of another": (
        [Thing("runner-image", "ubuntu-22.04", "1")],
        [Thing("runner-image", "ubuntu-24.04", "2")],
        [Change("runner-image", "ubuntu-22.04", "ubuntu-22.04 1", "ubuntu-24.04 2")],
    ),
    "a digest that is not known says nothing": ([image("a:1", "")], [image("a:1", B)], []),
    "packages come and go between lists that are alike": (
        [package("a", "1"), package("b", "1"), package("c", "1")],
        [package("a", "1"), package("b", "1"), package("d", "1")],
        [Change("package", "d", "", "1"), Change("package", "c", "1", "")],
    ),
    "a log that ended early lost no packages": (
        [package(name, "1") for name in "abcdef"],
        [package("a", "1")],
        [],
    ),
    "a side without packages says nothing of them": ([tool("git", "2")], [package("a", "1"), tool("git", "2")], []),
    "tools neither appear nor vanish": ([tool("git", "2"), tool("go", "1")], [tool("git", "2"), tool("node", "1")], []),
    "one version of several moved": (
        [tool("python", "3.11.9"), tool("python", "3.12.1")],
        [tool("python", "3.11.9"), tool("python", "3.12.2")],
        [Change("tool", "python", "3.12.1", "3.12.2")],
    ),
    "of several versions one was not named": (
        [tool("python", "3.11.9"), tool("python", "3.12.1")],
        [tool("python", "3.11.9")],
        [],
    ),
}


@pytest.mark.parametrize("what", MOVES)
def test_what_moved_between_two_logs_is_told(what: str) -> None:
    before, after, changes = MOVES[what]
    assert changed(before, after) == tuple(changes)


THINGS = st.lists(
    st.builds(
        Thing,
        st.sampled_from(["image", "runner-image", "package", "tool"]),
        st.sampled_from(["a:1", "a:2", "b"]),
        st.sampled_from(["", "1", "2"]),
    ),
    max_size=12,
)


@given(THINGS, THINGS, st.randoms(use_true_random=False))
def test_a_comparison_does_not_depend_on_order_and_a_log_equals_itself(
    before: list[Thing], after: list[Thing], chance: random.Random
) -> None:
    told = changed(before, after)
    chance.shuffle(before)
    chance.shuffle(after)
    assert changed(before * 2, after) == told
    assert changed(before, before) == ()
    assert all(change.before != change.after for change in told)


def test_a_log_that_cannot_be_searched_for_in_a_cache_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "there"))
    environment._finder.cache_clear()
    assert read("git version 2.53.0") == (tool("git", "2.53.0"),)
    environment._finder.cache_clear()
