"""The text for an agent: never over its tokens, the known first, then lines that matter, always the same."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs.brief import LEAST, brief, lines_for, tokens
from buildeye.logs.diagnose import LogReading, read_log
from buildeye.logs.ruleset import RuleSet, load_ruleset
from buildeye.logs.source import LogFile, open_logs
from buildeye.model import (
    Cause,
    Cost,
    Determinism,
    Diagnosis,
    Evidence,
    Excerpt,
    KeyLine,
    LogLine,
    Suggestion,
    UsageError,
)

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
FOUND = Diagnosis(
    log="job.log",
    cause=Cause.CODE,
    category="test-failure",
    determinism=Determinism.DETERMINISTIC,
    confidence=0.94,
    summary='test_topk: unexpected argument mode. Step "Run unit tests" failed.',
    key_line=KeyLine(50, "E   TypeError: unexpected keyword argument 'mode'"),
    excerpts=(Excerpt(40, 60, "the key line and what belongs to it"), Excerpt(90, 91, "how it ended")),
    evidence=(Evidence("rule", "python.unexpected", "E", "They disagree.", 50),),
    files=("tests/test_sampler.py",),
    tests=("test_topk", "test_topp"),
    suggestions=(Suggestion("Run it alone", Cost.LOW, ("From the root",), "pytest test_topk"),),
    retry_helps=False,
)
READ = LogReading(FOUND, tuple(LogLine(n, f"line {n} of the log") for n in (*range(40, 61), 90, 91)))


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return load_ruleset()


def test_with_room_enough_everything_is_there_in_order() -> None:
    assert brief(READ, 2000).splitlines() == [
        "code/test-failure, deterministic, 0.94; key line 50",
        'summary: test_topk: unexpected argument mode. Step "Run unit tests" failed.',
        "re-run: will not help",
        "tests: test_topk, test_topp",
        "files: tests/test_sampler.py",
        "lines 40-60: the key line and what belongs to it",
        *(f"{n}: line {n} of the log" for n in range(40, 50)),
        "50: E   TypeError: unexpected keyword argument 'mode'",
        *(f"{n}: line {n} of the log" for n in range(51, 61)),
        "lines 90-91: how it ended",
        "90: line 90 of the log",
        "91: line 91 of the log",
        "advice 1 (low): Run it alone $ pytest test_topk",
        "  - From the root",
    ]


def test_with_little_room_the_lines_next_to_the_key_line_stay_and_gaps_are_marked() -> None:
    lines = brief(READ, 200).splitlines()
    numbers = [int(line.split(":")[0]) for line in lines if line.split(":")[0].isdigit()]
    assert 50 in numbers
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert f"… {60 - numbers[-1]} lines left out" in lines


@pytest.mark.parametrize("most", [50, 60, 80, 120])
def test_the_least_room_still_holds_the_verdict_and_the_key_line(most: int) -> None:
    lines = brief(READ, most).splitlines()
    assert lines[0] == "code/test-failure, deterministic, 0.94; key line 50"
    assert lines[1].startswith("summary: test_topk")
    assert any(line.startswith("50: E   Type") for line in lines)


def test_too_little_room_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 50"):
        brief(READ, LEAST - 1)


ANY = st.text(max_size=200)
LETTERS = st.text("ab c", max_size=200)


def readings(text: st.SearchStrategy[str]) -> st.SearchStrategy[LogReading]:
    """Readings of a log of up to 20 lines of such text, with excerpts that may lie outside of it."""

    def made(texts: list[str], key: int, spans: list[tuple[int, int]], summary: str, steps: list[str]) -> LogReading:
        d = Diagnosis(
            "a.log", Cause.CODE, "test-failure", confidence=0.9, summary=summary,
            key_line=KeyLine(key, texts[0]) if key else None,
            excerpts=tuple(Excerpt(start, start + more, summary) for start, more in spans), tests=tuple(texts),
            suggestions=(Suggestion(summary, Cost.LOW, tuple(steps), summary),), files=tuple(steps), retry_helps=True,
        )  # fmt: skip
        return LogReading(d, tuple(LogLine(n, line) for n, line in enumerate(texts, 1)))

    spans = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 30)), max_size=4)
    texts = st.lists(text, min_size=1, max_size=20)
    return st.builds(made, texts, st.integers(0, 25), spans, text, st.lists(text, max_size=3))


@given(readings(ANY), st.integers(LEAST, 700))
def test_it_is_never_over_its_tokens_and_always_the_same(reading: LogReading, most: int) -> None:
    text = brief(reading, most)
    assert tokens(text) <= most
    assert text == brief(reading, most)


@given(readings(LETTERS), st.integers(LEAST, 700))
def test_no_line_is_quoted_twice(reading: LogReading, most: int) -> None:
    quoted = [line.split(":")[0] for line in brief(reading, most).splitlines() if line[:1].isdigit()]
    assert len(quoted) == len(set(quoted))


COUNTS = [("", 0), ("word", 2), ("a b c d e f g h", 8), ("====", 2), ("0123456789", 5), ("编译失败", 8), ("x\n", 2),
          ("supercalifragilistic", 7), ("    x", 2)]  # fmt: skip


@pytest.mark.parametrize(("text", "count"), COUNTS)
def test_tokens_are_counted_with_care(text: str, count: int) -> None:
    assert tokens(text) == count


@given(st.text())
def test_a_text_has_at_least_a_token_for_each_3_2_characters(text: str) -> None:
    assert tokens(text) >= len(text) / 3.2


@given(st.lists(st.text()))
def test_lines_together_cost_at_most_what_they_cost_alone(lines: list[str]) -> None:
    alone = [line + "\n" for line in lines]
    assert tokens("".join(alone)) <= sum(map(tokens, alone))


def test_a_secret_does_not_reach_the_agent(rules: RuleSet) -> None:
    token = "ghp_" + "a1B2" * 9
    text = f"using {token}\nE   AssertionError: assert 3 == 2\n##[error]Process completed with exit code 1.\n"
    reading = read_log(LogFile.of("a.log", text.encode()), rules, show=lines_for(500))
    assert token not in brief(reading, 500)


def _ours(name: str) -> bool:
    return int(hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest(), 16) % 2 == 0


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the corpus is not at {CORPUS}")
@pytest.mark.parametrize("most", [50, 400])
def test_real_logs_keep_their_key_line(rules: RuleSet, most: int) -> None:
    for path in [p for p in sorted((CORPUS / "cases").iterdir()) if _ours(p.name)][:30]:
        for log in open_logs(str(path / "log.gz")):
            with log:
                reading = read_log(log, rules, show=lines_for(most))
        text = brief(reading, most)
        assert tokens(text) <= most
        key = reading.diagnosis.key_line
        assert not key or f"\n{key.number}: " in text, path.name
