"""The skill for agents says what is so: every command and every query in it runs, on facts of a simulated GitHub."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.agents.conftest import FAILING, Filled
from tests.agents.test_stdio import LOG
from tests.ask.server import every, running
from tests.pipeline.places import LIMIT, Place, environment
from tests.test_docs import FENCE, shell_lines

SKILL = Path(__file__).parents[2] / "skills" / "ci-metrics" / "SKILL.md"
TEXT = SKILL.read_text(encoding="utf-8")
COMMANDS = list(dict.fromkeys(shell_lines(TEXT)))
QUERIES = [body for language, body in FENCE.findall(TEXT) if language == "sql"]
NAMED = sorted(set(re.findall(r"`(build-eye [a-z -]+)`", TEXT)))
"""Commands that are named in a sentence or a table."""
EXAMPLES = {
    "pytorch/pytorch": "{repository}",
    "lazy/test_ts_opinfo.py::TestLazyOpInfo::test_dispatched_to_lazy_add": f"{FAILING}::TestSampler::test_topk",
    "lazy/test_ts_opinfo.py": FAILING,
    "26690112009": "{run}",
}
"""What the examples ask about, and what there is of it here."""


@pytest.fixture(scope="module")
def run(filled: Filled) -> str:
    """The number of a judged run; the place also gets a log, and test results."""
    (filled.folder / "job.log").write_text(LOG)
    place = Place(filled.folder)
    assert place.run("ingest", "junit", "junit.xml", "--run", "5", config=False).returncode == 0
    query = "SELECT run_id FROM buildeye.verdict_latest WHERE cause = 'code' ORDER BY run_id LIMIT 1"
    done = place.run("datasources", "clickhouse", "query", query, "-o", "json", config=False)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)[0]["run_id"])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus with six hours of two kinds of runners up to now."""
    moments = list(every(5, datetime.now(UTC) - timedelta(hours=6), 6))
    labels = ('{name="linux-npu",cluster="a"}', '{name="linux-cpu",cluster="b"}')
    samples = {
        f"gha_{what}_jobs{label}": [(at, number) for at in moments]
        for label, numbers in zip(labels, ((14.0, 4.0), (2.0, 2.0)), strict=True)
        for what, number in zip(("assigned", "running"), numbers, strict=True)
    }
    with running(tmp_path_factory.mktemp("prometheus"), samples) as address:
        yield address


def here(text: str, filled: Filled, run: str) -> str:
    for example, real in EXAMPLES.items():
        text = text.replace(example, real.format(repository=filled.repository, run=run))
    return text


def typed(line: str, filled: Filled, run: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    words = shlex.split(here(line, filled, run))
    done = subprocess.run(
        [*Place(filled.folder).command(), *words[1:]], cwd=filled.folder, env=environment(**variables),
        capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("line", [line for line in COMMANDS if "prometheus" not in line])
def test_every_command_of_the_skill_answers(line: str, filled: Filled, run: str) -> None:
    done = typed(line, filled, run)
    assert (done.returncode, done.stderr.removesuffix("no rows\n")) == (0, "")
    assert done.stdout
    if "-o json" in line:
        json.loads(done.stdout)


@pytest.mark.parametrize("line", [line for line in COMMANDS if "prometheus" in line])
def test_every_promql_of_the_skill_answers(line: str, filled: Filled, run: str, prometheus: str) -> None:
    done = typed(line, filled, run, BUILD_EYE_PROMETHEUS__URL=prometheus)
    assert done.returncode == 0, done.stderr
    assert "the only one" in done.stderr
    assert "linux-npu" in done.stdout if "topk" in line else "b" in done.stdout


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_of_the_skill_has_rows(query: str, filled: Filled, run: str) -> None:
    (filled.folder / "asked.sql").write_text(here(query, filled, run))
    done = typed("build-eye datasources clickhouse query @asked.sql -o json", filled, run)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)


@pytest.mark.parametrize("line", ["failures main", "streaks main", "count(DISTINCT id) AS failures FROM", "countIf("])
def test_the_examples_find_something(line: str, filled: Filled, run: str) -> None:
    command = next(each for each in COMMANDS if line in each and "--param" not in each)
    command = re.sub(r"--min \d+|-o json", "", command)
    assert len(json.loads(typed(f"{command} -o json", filled, run).stdout)) >= 1


@pytest.mark.parametrize("name", NAMED)
def test_commands_that_are_named_exist(name: str, filled: Filled, run: str) -> None:
    assert typed(f"{name} --help", filled, run).returncode == 0


def test_the_skill_says_when_to_use_it_in_few_words() -> None:
    head = TEXT.split("---")[1]
    assert re.search(r"^name: ci-metrics$", head, re.MULTILINE)
    (about,) = re.findall(r"^description: (.+)$", head, re.MULTILINE)
    assert len(about) <= 1024 and "Use for" in about
    assert TEXT.count("\n") < 300


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("SELECT count() FROM tests.all_test_runs", "no-time-bound"),
        ("SELECT count() FROM tests.test_run_s3 WHERE file = 'a'", "partial-table"),
    ],
)
def test_what_the_skill_says_is_refused_is_refused(query: str, refused: str, filled: Filled, run: str) -> None:
    done = typed(f'build-eye datasources clickhouse query "{query}"', filled, run)
    assert done.returncode == 2 and f"({refused})" in done.stderr
