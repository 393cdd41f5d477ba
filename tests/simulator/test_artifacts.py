"""Artifacts of the simulated repository: listed, signed, expired, and telling the same tests as the logs."""

import hashlib
import io
import re
import zipfile

import httpx2
import pytest

from buildeye.simulator import Past
from buildeye.simulator.artifacts import Artifact, artifacts_of
from buildeye.simulator.logs import render_log


@pytest.fixture(scope="module")
def made(past: Past) -> list[Artifact]:
    return list(artifacts_of(past).values())


def _in(past: Past, path: str) -> str:
    return f"/repos/{past.full_name}/actions{path}"


def _fresh(past: Past, made: list[Artifact], conclusion: str) -> Artifact:
    return next(
        a for a in made
        if a.name.startswith("junit-") and a.job.conclusion == conclusion and not past.log_expired(a.job)
    )  # fmt: skip


def test_artifacts_are_listed_newest_first_and_by_run(client: httpx2.Client, past: Past, made: list[Artifact]) -> None:
    first = client.get(_in(past, "/artifacts?per_page=100")).json()
    assert first["total_count"] == len(made)
    assert [each["id"] for each in first["artifacts"]] == [a.id for a in made[:100]]
    assert [a.created_at for a in made] == sorted((a.created_at for a in made), reverse=True)
    run = made[0].job.run_id
    of_run = client.get(_in(past, f"/runs/{run}/artifacts?per_page=100")).json()["artifacts"]
    assert [each["id"] for each in of_run] == [a.id for a in made if a.job.run_id == run]
    named = client.get(_in(past, f"/artifacts?name={made[0].name}")).json()["artifacts"]
    assert {each["name"] for each in named} == {made[0].name}


def test_a_zip_is_behind_a_signed_redirect_and_has_its_digest(
    client: httpx2.Client, past: Past, made: list[Artifact]
) -> None:
    wanted = _fresh(past, made, "success")
    told = client.get(_in(past, f"/artifacts/{wanted.id}")).json()
    answer = client.get(told["archive_download_url"])
    assert answer.status_code == 302
    content = client.get(answer.headers["location"]).content
    assert told["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert told["size_in_bytes"] == len(content)
    assert client.get(f"/_stored/artifacts/{wanted.id}.zip").status_code == 403


def test_old_ones_have_expired(client: httpx2.Client, past: Past, made: list[Artifact]) -> None:
    old = next(a for a in made if past.log_expired(a.job))
    assert client.get(_in(past, f"/artifacts/{old.id}")).json()["expired"] is True
    assert client.get(_in(past, f"/artifacts/{old.id}/zip")).status_code == 410
    assert client.get(_in(past, "/artifacts/1")).status_code == 404
    assert client.get(_in(past, "/runs/1/artifacts")).status_code == 404


@pytest.mark.parametrize("conclusion", ["success", "failure"])
def test_a_report_tells_the_same_tests_as_the_log(
    client: httpx2.Client, past: Past, made: list[Artifact], conclusion: str
) -> None:
    wanted = _fresh(past, made, conclusion)
    content = client.get(_in(past, f"/artifacts/{wanted.id}/zip"), follow_redirects=True).content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        xml = archive.read("reports/unit/junit.xml").decode()
    log = render_log(past, wanted.job).decode()
    assert xml.count("<testcase") == len(re.findall(r"::\S+ (?:PASSED|FAILED) \[", log))
    assert bool(re.search(r"::\S+ FAILED \[", log)) == ("<failure" in xml) == (conclusion == "failure")
