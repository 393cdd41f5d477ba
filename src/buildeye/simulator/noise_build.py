"""What installing and building prints, and the setting that every noise depends on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from buildeye.simulator.chance import chance

_WORDS = (
    "adapter", "batch", "block", "cache", "config", "engine", "expert", "gate", "graph", "kernel", "layout",
    "mask", "pool", "rank", "sampler", "slot",
)  # fmt: skip
_PACKAGES = (
    "aiohttp", "certifi", "cloudpickle", "einops", "fastapi", "filelock", "fsspec", "grpcio", "huggingface-hub",
    "jinja2", "markupsafe", "msgspec", "numba", "numpy", "openai", "packaging", "pandas", "pillow",
    "prometheus-client", "protobuf", "psutil", "pydantic", "pyyaml", "regex", "requests", "safetensors",
    "scipy", "sentencepiece", "setuptools", "sympy", "tiktoken", "tokenizers", "torch", "torch-npu",
    "torchvision", "tqdm", "transformers", "uvloop",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """What the noise of one step depends on: chance, the words of the job, how long it may get, the failing test.

    `scale` is the part of the usual noise that is wanted, for steps whose length is not in `lines`.
    """

    rng: Random
    words: Mapping[str, str]
    lines: int
    failing: str = ""
    scale: float = 1.0


Text = Callable[[Setting], list[str]]


def digest(rng: Random, size: int = 40) -> str:
    """Hexadecimal digits, as of a hash."""
    return f"{rng.getrandbits(4 * size):0{size}x}"


def pip_text(at: Setting) -> list[str]:
    """Packages collected and downloaded, with one retry that heals; the versions are the story's where it says them."""
    lines = ["Looking in indexes: http://cache-service.nginx-pypi-cache.svc.cluster.local/pypi/simple"]
    if at.words.get("vllm"):
        url = "https://github.com/vllm-project/vllm.git"
        lines += [f"Collecting vllm@ git+{url}@main", f"  Cloning {url} (to revision main) to /tmp/pip-install-vllm"]
        lines.append(f"  Resolved {url} to commit {at.words['vllm']}")
    known = _versions(at)
    packages = at.rng.sample(_PACKAGES, max(4, int(len(_PACKAGES) * at.scale)))
    for package in packages:
        version = known.get(package) or _version(package)
        size = f"{at.rng.uniform(0.1, 400):.1f} MB"
        lines += [
            f"Collecting {package}>={version[0]} (from -r requirements.txt (line {at.rng.randint(1, 60)}))",
            f"  Downloading http://cache-service.nginx-pypi-cache.svc.cluster.local/{package}-{version}.whl ({size})",
            f"     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ {size} {at.rng.uniform(3, 90):.1f} MB/s eta 0:00:00",
        ]
        if at.rng.random() < 0.3:
            lines.append(f"Requirement already satisfied: {package}-stubs in /usr/local/python3.11/lib (0.{version})")
    lines.insert(
        len(lines) // 3,
        "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'ReadTimeoutError'",
    )
    return lines


def _version(package: str) -> str:
    """The version of a package that the story does not speak of: always the same."""
    rng = chance("version", package)
    return f"{rng.randint(0, 9)}.{rng.randint(0, 30)}.{rng.randint(0, 9)}"


def _versions(at: Setting) -> dict[str, str]:
    """Versions by package, as the story says them (`name-version`, parted by spaces)."""
    parts = (word.rpartition("-") for word in at.words.get("versions", "").split())
    return {name: version for name, _, version in parts}


def pip_ending(at: Setting) -> list[str]:
    """What pip says when all is installed."""
    known = at.words.get("versions")
    names = ", ".join(_versions(at)) if known else ", ".join(_PACKAGES)
    return [
        f"Installing collected packages: {names}",
        f"Successfully installed {known or f'{len(_PACKAGES)} packages'}",
        "WARNING: Running pip as the 'root' user can result in broken permissions and conflicting behaviour.",
    ]


def apt_text(at: Setting) -> list[str]:
    """Packages of the distribution."""
    names = ("gcc-12", "g++-12", "cmake", "libnuma-dev", "wget", "git", "ninja-build", "libjemalloc2", "clang-15")
    lines = [
        f"Get:{number} http://mirror.example.org/ubuntu-ports jammy/main arm64 {name}"
        for number, name in enumerate(names, 1)
    ]
    lines += ["debconf: delaying package configuration, since apt-utils is not installed"]
    for name in names:
        lines += [
            f"Selecting previously unselected package {name}:arm64.",
            f"Preparing to unpack .../{name}_arm64.deb ...",
        ]
        lines += [f"Unpacking {name}:arm64 ...", f"Setting up {name}:arm64 ..."]
    return lines


def build_text(at: Setting) -> list[str]:
    """A native build with warnings that are none of our business."""
    count = max(int(90 * at.scale), at.lines // 12)
    lines = [
        f"Obtaining file://{at.words['ws']}",
        "  Preparing editable metadata (pyproject.toml): started",
        "  Preparing editable metadata (pyproject.toml): finished with status 'done'",
        "-- The CXX compiler identification is GNU 12.3.0",
        "-- Looking for error_t - not found",
        "-- Performing Test HAVE_ERROR_CATEGORY - Failed",
        "-- Found Python: /usr/local/python3.11/bin/python3 (found version 3.11.14)",
        "-- SOC version: ascend910b1",
    ]
    for number in range(count):
        name = f"{at.rng.choice(_WORDS)}_{at.rng.choice(_WORDS)}"
        done = 60 * number // count
        lines.append(f"[{done:3}%] Building CXX object CMakeFiles/ascend_sim.dir/csrc/{name}_{number}.cpp.o")
        if at.rng.random() < 0.12:
            lines += [
                f"{at.words['ws']}/csrc/{name}.cpp:{at.rng.randint(20, 400)}:17: warning: unused variable 'error_code'",
                "   88 |     auto error_code = aclGetRecentErrMsg();",
                "      |          ^~~~~~~~~~",
            ]
    return lines


def build_ending(at: Setting) -> list[str]:
    """The link and the installed package."""
    others = f"{at.words['build_versions']} " if at.words.get("build_versions") else ""
    return [
        "[100%] Linking CXX shared library vllm_ascend_sim_C.so",
        f"Successfully installed {others}vllm-ascend-sim-0.20.3.dev0",
    ]


def image_text(at: Setting) -> list[str]:
    """A BuildKit build with its `#step seconds` prefixes."""
    lines = ["#1 [internal] load build definition from Dockerfile.a2", "#1 DONE 0.1s"]
    for number in range(at.lines):
        word = at.rng.choice(_PACKAGES)
        lines.append(
            f"#{7 + number // 240} {number * 0.31:.3f} Collecting {word}"
            if number % 3
            else f"#{7 + number // 240} CACHED"
        )
    return lines


def npm_text(at: Setting) -> list[str]:
    """npm ci with deprecation warnings."""
    old = ("inflight@1.0.6", "glob@7.2.3", "rimraf@3.0.2", "abab@2.0.6")
    lines = [f"npm warn deprecated {name}: This module is not supported any more" for name in old]
    return [*lines, "added 812 packages, and audited 813 packages in 21s", "found 0 vulnerabilities"]
