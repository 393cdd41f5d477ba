"""What a test run prints: one line a test, the engine's talk between them, and errors that tests provoke on purpose."""

from collections.abc import Mapping
from random import Random

_AREAS = ("attention", "core", "distributed", "lora", "ops", "quantization", "sample", "spec_decode", "worker")
_DEEDS = (
    "keeps_order",
    "pads_the_last_block",
    "matches_reference",
    "rejects_bad_shape",
    "is_idempotent",
    "uses_one_copy",
)

_CHATTER = (
    "INFO {time} [model_runner.py:977] capturing graph for batch size {small}",
    "INFO {time} [worker.py:214] Loading weights took {big}.{small} seconds",
    "INFO {time} [block_pool.py:61] {big} blocks of 128 tokens, 0 errors",
    "WARNING {time} [platform.py:144] falling back to eager mode: graph size {small} is not in the list",
    "WARNING {time} [parallel_state.py:88] timeout=1800 is used for the default group",
    "(EngineCore pid={big}) INFO {time} [core.py:77] Initializing a V1 LLM engine (v0.20.2)",
    "Loading safetensors checkpoint shards: {small}% Completed | {small}/100",
    "[rank{small}]:[W{big} socket.cpp:764] [c10d] The client socket has failed to connect to [localhost] (errno: 97)",
)
_EXPECTED = (
    "ERROR {time} [validate.py:40] block size {small} is not a multiple of 16 (expected by this test)",
    "ERROR {time} [serving.py:118] request refused as it should be: prompt is longer than 2048 tokens",
    'Traceback (most recent call last):\n  File "tests/ut/core/test_retry.py", line {small}, in provoke\n'
    "    raise ConnectionError('provoked')\nConnectionError: provoked\n"
    "INFO {time} [retry.py:31] healed in attempt 2 of 3",
)


def count(lines: int) -> int:
    """How many tests a run of so many lines has."""
    return max(24, lines // 3)


def session_body(rng: Random, lines: int, words: Mapping[str, str], failing: str) -> list[str]:
    """The session header and one line a test; `failing` (a test id, or empty) is told once as FAILED."""
    total = count(lines)
    text = [
        "============================= test session starts ==============================",
        "platform linux -- Python 3.11.14, pytest-8.4.2, pluggy-1.6.0 -- /usr/local/python3.11/bin/python3",
        "cachedir: .pytest_cache",
        f"rootdir: {words['ws']}",
        "configfile: pytest.ini",
        "plugins: asyncio-1.3.0, mock-3.15.1, timeout-2.4.0",
        f"collecting ... collected {total + bool(failing)} items",
        "",
    ]
    odd = rng.randrange(total // 3, total) if failing else -1
    for number in range(total):
        area, deed = _AREAS[number * len(_AREAS) // total], rng.choice(_DEEDS)
        text += _talk(rng, number, words["month_day"])
        done = 100 * number // total
        text.append(f"tests/ut/{area}/test_{area}_{number // 8}.py::test_{deed}[{number % 8}] PASSED [{done:3}%]")
        if number == odd:
            text.append(f"{failing} FAILED [{done:3}%]")
    return text


def _talk(rng: Random, number: int, day: str) -> list[str]:
    clock = f"{day} {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
    some = rng.choices(_CHATTER, k=rng.choice((1, 2, 3)))
    if rng.random() < 0.02:
        some.append(rng.choice(_EXPECTED))
    small, big = rng.randint(1, 99), rng.randint(100, 9999)
    return [line for text in some for line in text.format(time=clock, small=small, big=big).split("\n")]


def session_ending(rng: Random, lines: int) -> list[str]:
    """The slowest tests and the summary of a run that passed."""
    slow = [
        f"{rng.uniform(1, 60):.2f}s call     tests/ut/{area}/test_{area}_0.py::test_{_DEEDS[0]}[0]" for area in _AREAS
    ]
    passed, seconds = count(lines), rng.uniform(90, 900)
    return [
        "============================= slowest durations ================================",
        *slow,
        f"========== {passed} passed, 9 skipped, 3 xfailed, 31 warnings in {seconds:.2f}s ==========",
    ]
