"""The last 24 hours, written out push by push: what a maintainer finds in the morning.

A merge 20 hours ago breaks main until a fix 5.5 hours ago; runner a3-4-07 goes away at about 21 hours; in between the
ordinary mix. Pull requests whose tests pass meanwhile branched before the breaking merge.
"""

from buildeye.simulator.events import (
    GREEN,
    QUEUED,
    SKIPPED,
    Ending,
    Event,
    Plan,
    PullDraft,
    Scene,
    cancelled,
    hours,
    plan,
    red,
)
from buildeye.simulator.scenes import BROKEN_TRUNK, FOUR_CARDS, NPU_BUILDS, SMART_UNIT, UNIT, light_only
from buildeye.simulator.shapes import SICK_RUNNER

_P = "vllm_ascend_sim"
_CPU = "smart test (v0.20.2) / smart-ut (cpu x0)"
_LINT = "lint / pre-commit"
_FOUR_CARDS_FULL = "e2e-full (v0.20.2) / multicard-4-full (0)"

_PULLS = (
    PullDraft(
        "dflash-layout",
        "[Refactor] One layout for draft and target blocks",
        "dev-kai",
        (f"{_P}/worker/block_layout.py", f"{_P}/worker/block_table.py"),
    ),
    PullDraft(
        "dflash-fix",
        "[BugFix] DFlash takes the third part of a layout",
        "maint-mo",
        (f"{_P}/spec_decode/dflash_proposer.py",),
    ),
    PullDraft("quant-table", "[Doc] Table of quantized models", "dev-lin", ("docs/source/user_guide/quantization.md",)),
    PullDraft("lora-merge", "[Feature] Merge LoRA weights at load", "dev-ana", (f"{_P}/lora/merge.py",)),
    PullDraft("vl-resize", "[BugFix] Resize images before the patch count", "dev-dao", (f"{_P}/multimodal/resize.py",)),
    PullDraft("cp-gather", "[Performance] Gather context blocks in one call", "dev-hua", (f"{_P}/attention/cp.py",)),
    PullDraft(
        "kv-none", "[Refactor] Optional KV buffers in the model runner", "dev-bo", (f"{_P}/worker/model_runner.py",)
    ),
    PullDraft(
        "mla-chunk",
        "[Feature] Chunked MLA for long prefixes",
        "dev-jun",
        (f"{_P}/attention/mla_chunked.py", "tests/ut/attention/test_mla_chunked.py"),
    ),
    PullDraft(
        "topk-fast", "[Performance] Select top-k without a full sort", "dev-chi", (f"{_P}/sample/topk_sampler.py",)
    ),
    PullDraft(
        "chunked-sched", "[Feature] Chunked prefill in the Ascend scheduler", "dev-ivo", (f"{_P}/core/scheduler.py",)
    ),
    PullDraft("typo-graph", "fix some wording in graph mode", "dev-eki", (f"{_P}/compilation/acl_graph.py",)),
    PullDraft("ep-bench", "[Test] Benchmark expert parallel dispatch", "dev-gil", ("benchmarks/ops/dispatch.py",)),
    PullDraft("moe-balance", "[Feature] Balance experts every 500 steps", "dev-fen", (f"{_P}/eplb/balance.py",)),
    PullDraft("pool-metrics", "[Misc] Metrics of the KV pool", "dev-lin", (f"{_P}/metrics/pool.py",)),
    PullDraft("async-detok", "[Performance] Detokenize off the main loop", "dev-ana", (f"{_P}/entrypoints/detok.py",)),
    PullDraft("mla-pre", "[Performance] Fuse MLA preprocessing", "dev-kai", ("csrc/kernels/mla_preprocess.cpp",)),
    PullDraft(
        "graph-doc",
        "[Doc] When graph mode pays",
        "maint-lu",
        ("docs/source/user_guide/feature_guide/graph_mode.md",),
    ),
    PullDraft("sleep-wake", "[BugFix] Wake from sleep level 2", "dev-dao", (f"{_P}/worker/sleep.py",)),
    PullDraft("dash-filter", "[Misc] Filter runs by card", "dev-eki", ("tools/dashboard/src/Filter.tsx",)),
    PullDraft("image-python", "[CI] Python 3.12 in the a2 image", "maint-lu", ("Dockerfile.a2",)),
    PullDraft("ngram-fix", "[BugFix] n-gram drafts at the end of a prompt", "dev-hua", (f"{_P}/spec_decode/ngram.py",)),
    PullDraft("tp-overlap", "[Performance] Overlap all-reduce with the next layer", "dev-bo", (f"{_P}/ops/linear.py",)),
)


def _push(ago: float, pull: str, *plans: Plan) -> Event:
    return Event(hours(ago), "push", pull, plans)


def _merge(ago: float, pull: str, ending: Ending = GREEN) -> Event:
    return Event(hours(ago), "merge", pull, (plan("full", ending),))


def _outage(job: str, failure: str) -> Ending:
    return red(job, failure, runner=SICK_RUNNER)


_TRUNK = light_only(red(SMART_UNIT, "trunk-dflash", BROKEN_TRUNK))

_EVENTS = (
    _push(23.8, "dflash-layout", *light_only()),
    _push(23.6, "sleep-wake", plan("light"), plan("full")),
    _push(23.4, "quant-table", plan("light"), plan("docs"), plan("full", SKIPPED)),
    _push(22.9, "mla-chunk", plan("light", cancelled(11))),
    _push(22.7, "mla-chunk", *light_only(red(_LINT, "ruff-format"))),
    _push(
        22.3, "chunked-sched", plan("light"), plan("full", red("e2e-full (v0.20.2) / singlecard-full (0)", "vllm-api"))
    ),
    _push(22.1, "async-detok", plan("light")),
    _merge(21.9, "sleep-wake"),
    _push(21.4, "ep-bench", plan("light", cancelled(12)), plan("full", cancelled(12))),
    _push(21.2, "ep-bench", plan("light"), plan("full", _outage(_FOUR_CARDS_FULL, "runner-gone"))),
    _push(21.2, "topk-fast", plan("light", cancelled(13))),
    _push(20.98, "topk-fast", *light_only(red(_CPU, "pytest-assertion"))),
    _push(20.8, "moe-balance", plan("light"), plan("full", _outage(_FOUR_CARDS_FULL, "runner-gone"))),
    _push(20.6, "pool-metrics", *light_only(_outage(FOUR_CARDS, "runner-lost"))),
    _push(20.4, "ngram-fix", plan("light"), plan("full")),
    _push(20.3, "dash-filter", plan("light"), plan("dashboard")),
    _merge(20.0, "dflash-layout", red(UNIT, "trunk-dflash")),
    _push(19.2, "lora-merge", plan("light", cancelled(9))),
    _push(19.0, "lora-merge", *_TRUNK),
    _push(18.3, "kv-none", plan("light", cancelled(12))),
    _push(18.1, "kv-none", *light_only(red(_LINT, "mypy"))),
    _push(17.5, "vl-resize", *_TRUNK),
    _push(16.4, "typo-graph", plan("light", red("lint / validate-pr-title", "pr-title")), plan("full", SKIPPED)),
    _merge(15.0, "quant-table", red(UNIT, "trunk-dflash", BROKEN_TRUNK)),
    _push(13.9, "cp-gather", *_TRUNK),
    _push(12.4, "async-detok", plan("light", cancelled(12))),
    _push(12.2, "async-detok", plan("light", red(_CPU, "pip-index"))),
    _push(11.0, "graph-doc", plan("docs", cancelled(2))),
    _push(10.95, "graph-doc", plan("docs")),
    _push(10.1, "mla-pre", *light_only(red(NPU_BUILDS, "kernel-compile"))),
    _push(7.5, "dflash-fix", plan("light"), plan("full")),
    _merge(5.5, "dflash-fix"),
    _push(4.9, "lora-merge", plan("light")),
    _push(4.7, "vl-resize", plan("light"), plan("full")),
    _push(4.5, "image-python", plan("light"), plan("image")),
    _merge(4.2, "ngram-fix"),
    _push(3.9, "kv-none", plan("light")),
    _push(3.4, "cp-gather", plan("light")),
    _push(2.9, "topk-fast", plan("light")),
    _push(0.25, "tp-overlap", plan("light"), plan("full", QUEUED)),
)


def last_day() -> Scene:
    """The scene of the last 24 hours."""
    return Scene(_PULLS, _EVENTS)
