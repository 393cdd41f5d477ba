"""What jobs run in and with, as time goes by: images behind tags, packages on the index, the head of vLLM.

All of it moves often and harmlessly; the stories add the moves that break.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from random import Random

IMAGES = {
    "a2": "registry.example.org/sim/cann:8.5.0-910b-ubuntu22.04-py3.11",
    "a2x2": "registry.example.org/sim/cann:8.5.0-910b-ubuntu22.04-py3.11",
    "a3": "registry.example.org/sim/cann:8.5.0-a3-ubuntu22.04-py3.11",
    "cpu": "registry.example.org/sim/ci-cpu:ubuntu22.04-py3.11",
    "arm": "registry.example.org/sim/ci-arm:ubuntu22.04-py3.11",
    "hosted": "registry.example.org/sim/node:22-bookworm",
}
"""The image of the jobs of each pool."""

_PACKAGES = {
    "aiohttp": "3.13.2", "einops": "0.8.1", "fastapi": "0.121.1", "grpcio": "1.76.0", "huggingface-hub": "0.36.0",
    "msgspec": "0.19.0", "mypy": "1.18.2", "numba": "0.62.1", "numpy": "2.2.6", "openai": "2.8.0", "pandas": "2.3.3",
    "pillow": "12.0.0", "protobuf": "6.33.0", "psutil": "7.1.3", "pydantic": "2.12.4", "pytest": "8.4.2",
    "regex": "2025.11.3", "requests": "2.32.5", "safetensors": "0.6.2", "scipy": "1.16.3", "setuptools": "80.9.0",
    "tokenizers": "0.22.1", "torch": "2.8.0", "torch-npu": "2.8.0", "transformers": "4.57.1", "uvloop": "0.22.1",
    "xgrammar": "0.1.27",
}  # fmt: skip
_STEADY = frozenset({"torch", "torch-npu"})
_DAYS_BETWEEN = 11.0
"""How often a package is released, on average."""


@dataclass(frozen=True, slots=True)
class Pin:
    """From a merge on, runs ask for this version of a package."""

    package: str
    version: str
    since: datetime


@dataclass
class Surroundings:
    """Images, releases and vLLM's head by time; `pins` are what main asks for since when."""

    start: datetime
    digests: dict[str, list[tuple[datetime, str]]] = field(default_factory=lambda: defaultdict(list))
    releases: dict[str, list[tuple[datetime, str]]] = field(default_factory=dict)
    upstream: list[tuple[datetime, str]] = field(default_factory=list)
    pins: list[Pin] = field(default_factory=list)
    _told: dict[tuple[object, ...], dict[str, str]] = field(default_factory=dict)

    def move_image(self, image: str, at: datetime) -> None:
        """A new image is put behind a tag."""
        self.set_digest(image, at, sha256(f"{image}/{at}".encode()).hexdigest())

    def set_digest(self, image: str, at: datetime, digest: str) -> None:
        """This very image is behind the tag from a moment on."""
        self.digests[image].append((at, digest))
        self.digests[image].sort()

    def digest(self, image: str, at: datetime) -> str:
        """What is behind a tag at a moment."""
        return _latest(self.digests[image], at)

    def release(self, package: str, at: datetime, rng: Random, major: bool = False) -> tuple[str, str]:
        """A new release of a package; the version before and the new one."""
        known = self.releases[package]
        before = _latest(known, at)
        version = _next(before, rng, major)
        later = [(when, name) for when, name in known if when > at and _parts(name) > _parts(version)]
        self.releases[package] = [(when, name) for when, name in known if when <= at] + [(at, version), *later]
        return before, version

    def version(self, package: str, at: datetime, base: datetime) -> str:
        """What a run on a base resolves at a moment."""
        pinned = [pin.version for pin in self.pins if pin.package == package and pin.since <= base]
        return pinned[-1] if pinned else _latest(self.releases[package], at)

    def tell(self, pool: str, leg: str, at: datetime, base: datetime, extra: Pin | None = None) -> dict[str, str]:
        """The words that a log says of its surroundings; `extra` is what the run's own change pins."""
        head = _latest(self.upstream, at)
        versions = {name: self.version(name, at, base) for name in self.releases}
        if extra:
            versions[extra.package] = extra.version
        versions["vllm"] = f"0.21.0.dev{len(self.upstream)}+g{head[:9]}" if leg == "main" else "0.20.2"
        image = IMAGES[pool]
        key = (image, self.digest(image, at), leg == "main", *versions.values())
        if key not in self._told:
            self._told[key] = {
                "image": image,
                "digest": self.digest(image, at),
                "versions": " ".join(f"{name}-{version}" for name, version in sorted(versions.items())),
                "vllm": head if leg == "main" else "",
            }
        return self._told[key]


def settle(start: datetime, end: datetime, rng: Random) -> Surroundings:
    """The surroundings of a span of time with all their harmless moves."""
    found = Surroundings(start)
    for image in dict.fromkeys(IMAGES.values()):
        at = start - timedelta(days=1)
        while at < end:
            found.move_image(image, at)
            at += timedelta(days=rng.uniform(3, 12), hours=rng.uniform(0, 8))
    for package, version in _PACKAGES.items():
        found.releases[package] = [(start - timedelta(days=1), version)]
        at = start + timedelta(days=rng.expovariate(1 / _DAYS_BETWEEN))
        while at < end and package not in _STEADY:
            found.releases[package].append((at, _next(found.releases[package][-1][1], rng, False)))
            at += timedelta(days=1 + rng.expovariate(1 / _DAYS_BETWEEN))
    at = start - timedelta(days=1)
    while at < end:
        found.upstream.append((at, f"{rng.getrandbits(160):040x}"))
        at += timedelta(hours=rng.uniform(2, 14))
    return found


def _latest(moves: list[tuple[datetime, str]], at: datetime) -> str:
    return moves[max(0, bisect_right(moves, at, key=lambda move: move[0]) - 1)][1]


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _next(version: str, rng: Random, major: bool) -> str:
    parts = _parts(version)
    place = 1 if major or rng.random() < 0.3 else 2
    return ".".join(str(part) for part in (*parts[:place], parts[place] + 1, *[0] * (2 - place)))
