"""The job summary: bounded, and what others wrote in it is shown, not obeyed."""

import re

from markdown_it import MarkdownIt

from buildeye.model import Finding
from buildeye.reports.jobsummary import LARGEST, job_summary


def test_it_tells_causes_first_and_then_each_failed_run(samples: dict[str, list[Finding]]) -> None:
    findings = [*samples["code"], *samples["infrastructure"]]
    lines = job_summary("o/r · last 24 h · 9 runs", findings, "reports/ 2 written").splitlines()
    assert lines[:3] == ["### Build-Eye", "", "o/r · last 24 h · 9 runs"]
    assert lines[-1] == "reports/ 2 written"
    assert [line.split(" |")[0] for line in lines if line.startswith(("| code", "| infra"))] == [
        "| code", "| infrastructure"
    ]  # fmt: skip
    assert sum(line.startswith("| [") for line in lines) == len(findings)


def test_runs_that_were_stopped_on_purpose_are_not_told(samples: dict[str, list[Finding]]) -> None:
    assert "|" not in job_summary("o", samples["cancelled"], "c")


def test_what_does_not_fit_is_counted_and_the_size_is_kept(samples: dict[str, list[Finding]]) -> None:
    many = samples["code"] * 5000
    text = job_summary("o", many, "the end", largest=20_000)
    told = sum(line.startswith("| [") for line in text.splitlines())
    assert len(text.encode()) <= 20_000
    assert 0 < told < len(many)
    assert f"{len(many) - told} more failed runs are in the reports." in text
    assert text.endswith("the end\n")
    assert LARGEST < 1024 * 1024


def test_hostile_titles_and_logs_make_no_markup(samples: dict[str, list[Finding]]) -> None:
    html = MarkdownIt("commonmark").enable("table").render(job_summary("o", samples["hostile"], "c"))
    assert "<script" not in html
    assert re.findall(r'href="([^"]*)"', html) == [
        link for link in re.findall(r'href="([^"]*)"', html) if link.startswith("https://github.com/vllm-project/")
    ]
    assert "\x1b" not in html
