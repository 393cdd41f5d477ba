"""The larger stories of the three weeks: main broken by one merge, by two together, a version that moved, a bad hour.

Times are hours before now. While main is broken here, `weeks.QUIET` keeps ordinary work away.
"""

from collections.abc import Iterator

from buildeye.model import Cause, Determinism
from buildeye.simulator.events import GREEN, SKIPPED, Ending, Event, Plan, PullDraft, Scene, hours, plan, red
from buildeye.simulator.facts import Truth

BROKEN_TRUNK = Truth(Cause.INTERFERENCE, "broken-trunk")
CONCURRENT_MERGE = Truth(Cause.INTERFERENCE, "concurrent-merge")
VERSION_MATRIX = Truth(Cause.INTERFERENCE, "version-matrix")
FLAKY_TEST = Truth(Cause.CODE, "test-failure", Determinism.FLAKY)

UNIT = "e2e-full (v0.20.2) / unit"
SMART_UNIT = "smart test (v0.20.2) / smart-ut (a2 x1)"
SINGLE = "e2e-light (v0.20.2) / singlecard-light (0)"
FOUR_CARDS = "e2e-light (v0.20.2) / multicard-4-light (0)"
NPU_BUILDS = (SMART_UNIT, SINGLE, FOUR_CARDS)
"""The jobs of E2E-Light that build the kernels."""

_P = "vllm_ascend_sim"


def light_only(light: Ending = GREEN) -> tuple[Plan, ...]:
    """The runs of a push to a pull request that is not labelled ready."""
    return plan("light", light), plan("full", SKIPPED)


def broken_trunk() -> Scene:
    """Nine days ago one merge breaks a test on main; five later pull requests fail alike; a fix ends it."""
    breaker = PullDraft(
        "rope-split", "[Refactor] Split the rotary cache by head size", "dev-gil", (f"{_P}/ops/rotary_embedding.py",)
    )
    fix = PullDraft(
        "rope-share", "[BugFix] Share the rotary cache again", "maint-mo", (f"{_P}/ops/rotary_embedding.py",)
    )
    victims = (
        PullDraft("tok-stream", "[Feature] Stream token ids", "dev-ana", (f"{_P}/entrypoints/stream.py",)),
        PullDraft("moe-pad", "[BugFix] Pad experts to the tile", "dev-bo", (f"{_P}/ops/fused_moe.py",)),
        PullDraft("kv-int8", "[Feature] KV cache in int8", "dev-dao", (f"{_P}/attention/kv_int8.py",)),
        PullDraft("log-ranks", "[Misc] Log ranks at start", "dev-eki", (f"{_P}/worker/worker.py",)),
        PullDraft("eagle-tree", "[Feature] Draft trees for EAGLE", "dev-hua", (f"{_P}/spec_decode/eagle.py",)),
    )
    failing = red(SMART_UNIT, "trunk-rope", BROKEN_TRUNK)
    events = [
        Event(hours(222), "push", breaker.key, light_only()),
        Event(hours(216), "merge", breaker.key, (plan("full", red(UNIT, "trunk-rope")),)),
        Event(hours(211.6), "push", fix.key, light_only()),
        Event(hours(210), "merge", fix.key, (plan("full"),)),
    ]
    for number, pull in enumerate(victims):
        events.append(Event(hours(214.9 - 0.6 * number), "push", pull.key, light_only(failing)))
        events.append(Event(hours(207.5 - 0.6 * number), "push", pull.key, light_only()))
    return Scene((breaker, fix, *victims), tuple(events))


def concurrent_merges() -> Scene:
    """Six days ago two pull requests pass alone and merge within minutes; together they break main."""
    rename = PullDraft(
        "slots-api", "[Refactor] Slots are split by the layout", "dev-kai", (f"{_P}/worker/block_table.py",)
    )
    user = PullDraft(
        "pcp-layout",
        "[Feature] Input batches for prefill context parallelism",
        "dev-lin",
        (f"{_P}/worker/pcp_layout.py", "tests/ut/worker/test_input_batch_pcp.py"),
    )
    later = PullDraft("bench-json", "[Misc] Write benchmark results as JSON", "dev-ivo", ("benchmarks/report.py",))
    fix = PullDraft(
        "pcp-slots", "[BugFix] Split slots by the layout in PCP", "maint-lu", (f"{_P}/worker/pcp_layout.py",)
    )
    failing = red(UNIT, "merge-collision", CONCURRENT_MERGE)
    trunk = red(UNIT, "merge-collision", BROKEN_TRUNK)
    return Scene(
        (rename, user, later, fix),
        (
            Event(hours(150), "push", rename.key, (plan("light"), plan("full"))),
            Event(hours(149.5), "push", user.key, (plan("light"), plan("full"))),
            Event(hours(149), "push", later.key, (plan("light"), plan("full"))),
            Event(hours(145), "merge", rename.key, (plan("full"),)),
            Event(hours(144.8), "merge", user.key, (plan("full", failing),)),
            Event(hours(142.9), "merge", later.key, (plan("full", trunk),)),
            Event(hours(142), "push", fix.key, light_only()),
            Event(hours(140.5), "merge", fix.key, (plan("full"),)),
        ),
    )


def flaky_test() -> Scene:
    """Five times one test fails and, on the same commit, passes in the next attempt."""
    topics = (
        (440.0, "detok-batch", "[Performance] Detokenize in batches", f"{_P}/entrypoints/detokenizer.py"),
        (318.0, "stop-words", "[BugFix] Stop words across blocks", f"{_P}/sample/stop.py"),
        (196.0, "beam-prune", "[Feature] Prune beams early", f"{_P}/sample/beam.py"),
        (74.0, "usage-stats", "[Misc] Count reused blocks", f"{_P}/metrics/usage.py"),
        (21.8, "prefix-log", "[Misc] Log prefix cache hits once a minute", f"{_P}/core/prefix_log.py"),
    )
    failing = red(SINGLE, "flaky-eviction", FLAKY_TEST)
    pulls = tuple(PullDraft(key, title, "dev-fen", (path,)) for _, key, title, path in topics)
    pushes = (plan("light", failing, GREEN), plan("full", SKIPPED))
    return Scene(pulls, tuple(Event(hours(ago), "push", key, pushes) for ago, key, _, _ in topics))


def index_outage() -> Scene:
    """Eleven days ago the package cache is away for an hour; four unrelated pull requests meet it."""
    topics = (
        ("guided-json", "[Feature] Guided decoding for JSON lists", "dev-jun", f"{_P}/guided/json.py"),
        ("alloc-trim", "[Performance] Trim the allocator at sleep", "dev-chi", f"{_P}/worker/allocator.py"),
        ("vision-pos", "[BugFix] Positions of the second image", "dev-bo", f"{_P}/multimodal/positions.py"),
        ("rm-v0", "[Refactor] Remove the old engine path", "maint-mo", f"{_P}/engine.py"),
    )
    failing = red("smart test (v0.20.2) / smart-ut (cpu x0)", "pip-index")
    pulls = tuple(PullDraft(key, title, author, (path,)) for key, title, author, path in topics)
    pushes = (plan("light", failing, GREEN), plan("full", SKIPPED))
    return Scene(
        pulls, tuple(Event(hours(264.5 - 0.2 * number), "push", pull.key, pushes) for number, pull in enumerate(pulls))
    )


_NIGHTS = 20
_SINGLE_NODE, _MULTI_NODE = "single-node (mla-graph)", "multi-node (pd-disaggregated)"
_MATRIX = red("e2e (main) / singlecard (0)", "vllm-api", VERSION_MATRIX)
_BAD_NIGHTS: dict[tuple[str, int], Ending] = {
    ("nightly-a3", 0): red(_MULTI_NODE, "hccl-timeout"),
    ("nightly-a3", 1): red(_MULTI_NODE, "hccl-timeout"),
    ("nightly-a3", 9): red(_SINGLE_NODE, "npu-unavailable"),
    ("nightly-a3", 15): red(_SINGLE_NODE, "runner-lost", runner="a3-4-02"),
    ("nightly-a2", 4): red("single-node-accuracy (qwen3-dense)", "oom-killed"),
    ("nightly-a2", 12): red("doc-test", "artifact-upload"),
    ("vllm-main", 3): _MATRIX,
    ("vllm-main", 4): _MATRIX,
    ("vllm-main", 5): _MATRIX,
    ("csrc", 6): red("build-ARM64-a2-ubuntu-cache", "csrc-cache"),
    ("csrc", 14): red("build-X64-a2-ubuntu-cache", "disk-full"),
    ("weekly", 1): red("accuracy (gsm8k)", "job-timeout"),
}
_HOURS = {"nightly-a3": 20.9, "nightly-a2": 8.2, "vllm-main": 13.0, "csrc": 17.0}


def schedules() -> Scene:
    """Nightly, daily and weekly timers; the bad nights are in a table by workflow and nights before the last."""

    def timers() -> Iterator[Event]:
        for workflow, hour in _HOURS.items():
            for night in range(_NIGHTS):
                ending = _BAD_NIGHTS.get((workflow, night), GREEN)
                yield Event(hours(24 * night + hour), "timer", plans=(plan(workflow, ending),))
        for week in range(3):
            ending = _BAD_NIGHTS.get(("weekly", week), GREEN)
            yield Event(hours(24 * 7 * week + 40), "timer", plans=(plan("weekly", ending),))

    return Scene(events=tuple(timers()))
