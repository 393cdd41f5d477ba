"""Who works on the simulated repository, and what ordinary pull requests are about."""

AUTHORS = (
    "dev-ana", "dev-bo", "dev-chi", "dev-dao", "dev-eki", "dev-fen", "dev-gil", "dev-hua", "dev-ivo", "dev-jun",
    "dev-kai", "dev-lin", "maint-lu", "maint-mo",
)  # fmt: skip

FORKS = frozenset(author for author in AUTHORS if author[0] == "d" and author[-1] in "aoin")
"""Authors who push to their own fork."""

_P = "vllm_ascend_sim"

TOPICS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("slot-free", "[BugFix] Free the slot mapping after a preempted request", (f"{_P}/worker/block_table.py",)),
    ("moe-gate", "[Performance] Keep the expert gate in bfloat16", (f"{_P}/ops/fused_moe.py",)),
    ("lora-rank", "[Feature] LoRA ranks up to 256", (f"{_P}/lora/punica_npu.py", "tests/ut/lora/test_punica.py")),
    ("w8a8-bias", "[BugFix] Add the bias once in W8A8 linear layers", (f"{_P}/quantization/w8a8.py",)),
    ("pp-send", "[Feature] Send hidden states asynchronously between stages", (f"{_P}/distributed/communicator.py",)),
    ("graph-keys", "[Refactor] One key for captured graphs", (f"{_P}/compilation/acl_graph.py",)),
    ("mm-cache", "[Feature] Cache encoder outputs by image digest", (f"{_P}/multimodal/encoder_cache.py",)),
    ("profiler", "[Misc] Name profiler ranges by layer", (f"{_P}/profiler/ranges.py",)),
    ("ut-speed", "[Test] Share the tiny model between unit tests", ("tests/ut/conftest.py",)),
    ("topk-bench", "[Test] Benchmark for top-k at batch 256", ("benchmarks/ops/topk.py",)),
    ("kv-pool", "[Feature] Evict from the KV pool by age", (f"{_P}/distributed/kv_transfer/pool.py",)),
    ("eplb-log", "[Misc] Say which experts moved", (f"{_P}/eplb/policy.py",)),
    ("rope-yarn", "[BugFix] Scale YaRN by the configured factor", (f"{_P}/ops/rotary_embedding.py",)),
    ("ci-cache", "[CI] Key the csrc cache by compiler version", (".github/workflows/cache_csrc.yaml",)),
    ("guide-pd", "[Doc] Prefill and decode on different nodes", ("docs/source/user_guide/pd_split.md",)),
    ("guide-quant", "[Doc] Which quantization for which card", ("docs/source/user_guide/quantization.md",)),
    ("dash-sort", "[Misc] Sort runs by queue time in the dashboard", ("tools/dashboard/src/RunTable.tsx",)),
    ("dash-dark", "[Misc] Dark colours for the dashboard", ("tools/dashboard/src/theme.ts",)),
    ("image-slim", "[CI] Smaller a2 image", ("Dockerfile.a2",)),
    ("csrc-gather", "[Performance] Gather rows without a copy", ("csrc/torch_binding.cpp", f"{_P}/ops/gather.py")),
    ("sched-fair", "[Feature] Fair share between tenants", (f"{_P}/core/scheduler.py",)),
    ("seed-rng", "[BugFix] Seeded sampling on more than one card", (f"{_P}/sample/rng.py",)),
    ("dtype-warn", "[Misc] Warn once when float16 overflows", (f"{_P}/platform.py",)),
    ("attn-mask", "[Refactor] Build attention masks lazily", (f"{_P}/attention/mask.py",)),
)
"""Key, title and changed files of ordinary pull requests; used again with another part number."""
