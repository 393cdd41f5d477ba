"""A person's word in what is told of a run: over our judgement in findings and reports, beside it in the warehouse."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from buildeye.model import WHOLE_RUN, Cause, Finding, PersonVerdict
from buildeye.pipeline.people import overrule
from buildeye.pipeline.recommend import recommend
from buildeye.pipeline.verdicts import RunVerdicts, say, take_back, verdicts_of
from buildeye.reports.jobsummary import job_summary
from buildeye.simulator import Past
from buildeye.simulator.server import running
from buildeye.warehouse import Warehouse, open_warehouse
from tests.pipeline.places import Place
from tests.reports.conftest import NOON, REPO, make_finding, make_job


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('people')}") as warehouse:
        yield warehouse


@pytest.fixture
def warehouse(opened: Warehouse) -> Warehouse:
    for table in ("default.workflow_run", "default.workflow_job", "buildeye.verdict", "buildeye.person_verdict"):
        opened.query(f"TRUNCATE TABLE {table}")
    return opened


def finding() -> Finding:
    """A run with two failed jobs: one of the code for sure, and one that nobody understands."""
    unit = make_job("unit", 71, cause=Cause.CODE, category="test-failure", summary="One test fails.")
    return make_finding(unit, make_job("e2e", 72, confidence=0.2))


def word(job: int = WHOLE_RUN, run: int = 501, **fields: object) -> PersonVerdict:
    said = PersonVerdict(REPO, run, job, Cause.INFRASTRUCTURE, "", "the host lost its disk", "octocat", NOON)
    return replace(said, **fields)  # type: ignore[arg-type]  # a table of fields


def kept(warehouse: Warehouse) -> list[str]:
    return [row["cause"] for row in warehouse.ask("verdicts_of_runs", repository=REPO, runs=[501])]


def test_without_a_word_findings_stay_as_they_are(warehouse: Warehouse) -> None:
    warehouse.write_person_verdicts([word(run=502), word(withdrawn=True), word(repository_full_name="octo/other")])
    assert overrule([finding()], warehouse, REPO) == [finding()]
    assert overrule([], warehouse, REPO) == []


def test_a_word_about_the_run_is_about_each_of_its_jobs(warehouse: Warehouse) -> None:
    warehouse.write_person_verdicts([word()])
    other = make_finding(make_job(run_id=7), run_id=7)
    told, rest = overrule([finding(), other], warehouse, REPO)
    assert rest == other
    assert {(job.verdict.cause, job.verdict.person) for job in told.jobs} == {(Cause.INFRASTRUCTURE, "octocat")}
    assert told.verdict in [job.verdict for job in told.jobs]


def test_a_word_about_one_job_may_choose_who_speaks_for_the_run(warehouse: Warehouse) -> None:
    assert finding().verdict.job_id == 71
    warehouse.write_person_verdicts([word(job=72)])
    [told] = overrule([finding()], warehouse, REPO)
    assert [job.verdict.cause for job in told.jobs] == [Cause.CODE, Cause.INFRASTRUCTURE]
    assert (told.verdict.job_id, told.verdict.person) == (72, "octocat")


def test_what_the_warehouse_holds_as_ours_stays_ours(warehouse: Warehouse) -> None:
    warehouse.write_verdicts([job.verdict for job in finding().jobs], REPO)
    before = kept(warehouse)
    warehouse.write_person_verdicts([word()])
    overrule([finding()], warehouse, REPO)
    assert kept(warehouse) == before == ["code", "unknown"]


def test_advice_is_for_what_the_person_said(warehouse: Warehouse) -> None:
    warehouse.write_person_verdicts([word(cause=Cause.INTERFERENCE)])
    [told] = recommend(overrule([finding()], warehouse, REPO))
    assert "Do not change this pull request" in told.suggestions[0].title


def test_related_pull_requests_are_told_of_interference_only(warehouse: Warehouse) -> None:
    hit = replace(finding(), related_pull_requests=(7, 8))
    for cause, related in ((Cause.INFRASTRUCTURE, ()), (Cause.INTERFERENCE, (7, 8))):
        warehouse.write_person_verdicts([word(cause=cause, said_at=NOON.replace(hour=13 + len(related)))])
        assert overrule([hit], warehouse, REPO)[0].related_pull_requests == related


def test_a_person_who_looked_is_not_told_that_a_person_has_to_look(warehouse: Warehouse) -> None:
    assert "A person has to look" in recommend([finding()])[0].suggestions[0].title
    warehouse.write_person_verdicts([word()])
    [told] = recommend(overrule([finding()], warehouse, REPO))
    assert not [each.title for each in told.suggestions if "A person has to look" in each.title]


def test_the_summary_of_a_pass_says_who_said_so(warehouse: Warehouse) -> None:
    warehouse.write_person_verdicts([word(category="disk-full")])
    told = job_summary("", overrule([finding()], warehouse, REPO), "")
    assert "| infrastructure / Disk full, said by octocat |" in told


def known(warehouse: Warehouse) -> RunVerdicts:
    run = verdicts_of(warehouse, REPO, 501)
    assert run is not None
    return run


def test_a_word_counts_though_our_clock_is_behind(warehouse: Warehouse) -> None:
    job = finding().jobs[0]
    warehouse.write_jobs([replace(job.job, started_at=NOON, repository_full_name=REPO)])
    warehouse.write_verdicts([job.verdict], REPO)
    early = NOON.replace(hour=3)
    for cause in (Cause.INFRASTRUCTURE, Cause.CONFIGURATION):
        say(warehouse, known(warehouse), word(cause=cause, said_at=early))
        assert known(warehouse).jobs[0].counts.cause is cause
    take_back(warehouse, known(warehouse).said, early)
    assert known(warehouse).jobs[0].counts == known(warehouse).jobs[0].ours


def test_a_job_that_began_after_the_word_is_ours_to_judge(warehouse: Warehouse) -> None:
    job = finding().jobs[0]
    warehouse.write_jobs([replace(job.job, started_at=NOON.replace(hour=13), repository_full_name=REPO)])
    warehouse.write_verdicts([job.verdict], REPO)
    warehouse.write_person_verdicts([word()])
    assert known(warehouse).jobs[0].counts == job.verdict
    [row] = warehouse.ask("person_verdicts_since", repository=REPO, since=NOON)
    assert row["jobs"] == []


def test_a_report_says_who_said_so_until_it_is_taken_back(tmp_path: Path, past: Past, half_day: int) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, half_day)
        assert place.run("monitor").returncode == 0
        ours, rows = place.report_texts(), place.rows()["buildeye.verdict_latest"]
        code = next(f for f in place.findings() if f["verdict"]["cause"] == "code" and f["pull_request"])
        run, number = str(code["run"]["id"]), code["pull_request"]["number"]
        said = place.run(
            "verdict", "set", run, "--cause", "infrastructure", "--why", "the host lost its disk", "--by", "octocat"
        )
        assert said.returncode == 0, said.stderr
        assert place.run("monitor").returncode == 0
        theirs = place.report_texts()
        [mine] = [f for f in place.findings() if f["run"]["id"] == code["run"]["id"]]
        text = next(t for name, t in theirs.items() if re.search(rf"-pr-{number}\.md$", name))
        assert (mine["verdict"]["cause"], mine["verdict"]["person"]) == ("infrastructure", "octocat")
        assert "- **Judged by a person:** octocat: the host lost its disk" in text
        assert "what Build-Eye judged, for the reasons that follow: `code / " in text
        assert place.rows()["buildeye.verdict_latest"] == rows
        assert place.run("verdict", "clear", run).returncode == 0
        assert place.run("monitor").returncode == 0
        assert place.report_texts() == ours
