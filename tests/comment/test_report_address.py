"""Where a comment sends people for the whole report."""

import pytest

from buildeye.config import Settings
from buildeye.pipeline.comment import report_address
from tests.reports.comment_samples import pull_request_finding, unjudged
from tests.reports.conftest import make_finding, make_job

PATH = "reports/2026/05/28/unknown-pr-9829.md"


@pytest.mark.parametrize(
    ("archive", "address"),
    [
        ({}, ""),
        ({"url": "/srv/archive.git"}, ""),
        ({"owner": "octo", "repo": "archive"}, f"https://github.com/octo/archive/blob/main/{PATH}"),
        ({"url": "https://github.com/octo/archive.git"}, f"https://github.com/octo/archive/blob/main/{PATH}"),
        ({"url": "git@example.test:octo/archive.git"}, f"https://example.test/octo/archive/blob/main/{PATH}"),
        ({"url": "ssh://git@example.test:2222/octo/archive"}, f"https://example.test/octo/archive/blob/main/{PATH}"),
        ({"url": "http://example.test:8080/octo/archive"}, f"http://example.test:8080/octo/archive/blob/main/{PATH}"),
        (
            {"url": "https://example.test/octo/archive", "branch": "ci/reports #1"},
            f"https://example.test/octo/archive/blob/ci/reports%20%231/{PATH}",
        ),
    ],
)
def test_the_archive_has_a_page_for_each_report(archive: dict[str, str], address: str) -> None:
    settings = Settings.model_validate({"archive_repository": archive})
    assert report_address(settings, pull_request_finding(make_finding(make_job()))) == address


def test_what_nobody_judged_has_no_report() -> None:
    settings = Settings.model_validate({"archive_repository": {"owner": "octo", "repo": "archive"}})
    assert report_address(settings, pull_request_finding(make_finding(unjudged()))) == ""
    assert report_address(settings, pull_request_finding()) == ""
