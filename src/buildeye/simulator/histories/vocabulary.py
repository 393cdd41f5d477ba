"""The words that histories are written with: authors, places in the code, titles, and what failure texts name."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from buildeye.simulator.cast import AUTHORS

TEAM = (
    *AUTHORS, "dev-mia", "dev-nor", "dev-ola", "dev-pam", "dev-qin", "dev-ray", "dev-sol", "dev-tao", "dev-uma",
    "dev-vic", "maint-ni",
)  # fmt: skip
"""Some twenty-five people; the first push most."""

FORKERS = frozenset(author for author in TEAM if author[0] == "d" and author[-1] in "aoinmy")
"""Who pushes to a fork of their own."""

MAINTAINERS = tuple(author for author in TEAM if author.startswith("maint"))
"""Who merges, runs things again, and mends main."""

PACKAGE = "vllm_ascend_sim"
"""The Python package of the repository."""
_AREAS = (
    "attention", "core", "distributed", "lora", "ops", "quantization", "sample", "spec_decode", "worker", "eplb",
    "multimodal", "compilation", "entrypoints", "metrics",
)  # fmt: skip
_FIRST = (
    "block", "cache", "chunk", "draft", "expert", "gate", "graph", "head", "kv", "latent", "mask", "page", "prefix",
    "rank", "rope", "router", "slot", "stage", "token", "window",
)  # fmt: skip
_SECOND = (
    "buffer", "config", "index", "layout", "loader", "manager", "merge", "planner", "pool", "queue", "reader",
    "state", "split", "store", "table", "writer",
)  # fmt: skip
_DEEDS = (
    "keeps_order", "matches_reference", "pads_the_last_block", "survives_preemption", "splits_evenly",
    "reuses_buffers", "handles_empty_batch", "is_stable_under_load", "frees_all_blocks", "respects_limit",
)  # fmt: skip
_VERBS = ("apply", "build", "flush", "gather", "plan", "prepare", "reset", "resolve", "scatter", "update")
_SYMBOLS = (
    "block_size", "copy_stream", "draft_len", "free_slots", "group_size", "head_dim", "kv_scale", "max_tokens",
    "num_groups", "pad_to", "query_lens", "seq_lens", "slot_mapping", "tp_rank", "use_graph", "window_size",
)  # fmt: skip
_PAGES = (
    "user_guide/graph_mode",
    "user_guide/quantization",
    "user_guide/pd_split",
    "developer_guide/profiling",
    "faqs",
)
_FRONT = ("RunTable.tsx", "Filter.tsx", "theme.ts", "QueueChart.tsx")
_LINTS = (
    "F401 [*] `json` imported but unused",
    "F841 Local variable is assigned to but never used",
    "B006 Do not use mutable data structures for argument defaults",
    "SIM108 Use ternary operator instead of `if`-`else`-block",
    "E711 Comparison to `None` should be `cond is None`",
    "UP006 [*] Use `list` instead of `List` for type annotation",
)
_TYPOS = ("recieve ==> receive", "occured ==> occurred", "seperate ==> separate", "lenght ==> length")
_TITLES = (
    "[BugFix] Keep the {thing} when a request is preempted",
    "[Feature] {Thing} on more than one card",
    "[Performance] Build the {thing} once a batch",
    "[Refactor] One class for the {thing}",
    "[Misc] Log the size of the {thing}",
    "[BugFix] Off by one in the {thing}",
    "[Feature] Quantized {thing}",
    "[Performance] No copy in the {thing}",
)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the code: one module with its test file and its kernel."""

    area: str
    stem: str

    @property
    def file(self) -> str:
        """The module."""
        return f"{PACKAGE}/{self.area}/{self.stem}.py"

    @property
    def kernel(self) -> str:
        """Its kernel."""
        return f"csrc/kernels/{self.stem}.cpp"

    @property
    def native_test(self) -> str:
        """The tests of its kernel."""
        return f"csrc/tests/test_{self.stem}.cpp"

    @property
    def klass(self) -> str:
        """The class it defines."""
        return "".join(part.title() for part in self.stem.split("_"))

    def test_file(self, suite: str = "ut") -> str:
        """Its tests in a suite (`ut` or a folder of `e2e`)."""
        return (
            f"tests/ut/{self.area}/test_{self.stem}.py" if suite == "ut" else f"tests/e2e/{suite}/test_{self.stem}.py"
        )


def spot(rng: Random) -> Spot:
    """Any place in the code; some areas see more work than others."""
    area = _AREAS[min(int(rng.expovariate(1 / 5)), len(_AREAS) - 1)]
    return Spot(area, f"{rng.choice(_FIRST)}_{rng.choice(_SECOND)}")


def title_of(place: Spot, rng: Random) -> str:
    """What a pull request to a place may be called."""
    thing = place.stem.replace("_", " ")
    return rng.choice(_TITLES).format(thing=thing, Thing=thing.capitalize())


def words_of(place: Spot, rng: Random, suite: str = "ut") -> Mapping[str, str]:
    """What placeholders of failure texts stand for in one story: names, numbers and files of one place."""
    deed, deed2, deed3 = rng.sample(_DEEDS, 3)
    symbol, other = rng.sample(_SYMBOLS, 2)
    func = f"test_{place.stem}_{deed}"
    test_file = place.test_file(suite)
    left, right = rng.sample(range(2, 48), 2)
    case = "".join(part.title() for part in deed.split("_"))
    return {
        "stem": place.stem,
        "file": place.file,
        "module": f"{PACKAGE}.{place.area}.{place.stem}",
        "package_path": f"{PACKAGE}.{place.area}",
        "klass": place.klass,
        "method": f"{rng.choice(_VERBS)}_{place.stem.split('_')[1]}",
        "symbol": symbol,
        "other": other,
        "test_file": test_file,
        "func": func,
        "func2": f"test_{place.stem}_{deed2}",
        "func3": f"test_{place.stem}_{deed3}",
        "test": f"{test_file}::{func}",
        "title": f" {func} ".center(80, "_"),
        "title_collect": f" ERROR collecting {test_file} ".center(80, "_"),
        "csrc": place.kernel,
        "native_test": place.native_test,
        "suite": f"{place.klass}Test",
        "case": case,
        "left": str(left),
        "right": str(right),
        "line": str(rng.randint(31, 490)),
        "line2": str(rng.randint(31, 990)),
        "lint": rng.choice(_LINTS),
        "typo": rng.choice(_TYPOS),
        "page": rng.choice(_PAGES),
        "front": f"tools/dashboard/src/{rng.choice(_FRONT)}",
        "tool": rng.choice(("clang-format-18", "shfmt", "shellcheck", "actionlint", "yq")),
    }
