"""Which file in the archive of a run's logs is that of a job."""

import pytest

from buildeye.pipeline.sync.joblogs import entry_of

LONG = "e2e-full (v0.20.2, linux-aarch64-a2-4, tests/e2e/multicard/4-cards/long_sequence) / multicard-4-full (0)"


@pytest.mark.parametrize(
    ("names", "job", "found"),
    [
        (["0_lint.txt", "1_unit (3.12).txt", "unit (3.12)/1_Set up job.txt"], "unit (3.12)", "1_unit (3.12).txt"),
        (["0_build.txt", "1_build 2.txt"], "build", "0_build.txt"),
        (["3_e2e _ card (0).txt"], "e2e / card (0)", "3_e2e _ card (0).txt"),
        (["-1_lint.txt"], "lint", "-1_lint.txt"),
        (["12_My Job.txt"], "my-job", "12_My Job.txt"),
        ([f"0_{LONG[:90].replace('/', '_')}.txt"], LONG, f"0_{LONG[:90].replace('/', '_')}.txt"),
        (["0_unit.txt", "1_Unit.txt"], "unit", None),
        (["0_e2e.txt"], "e2e-full", None),
        (["lint/1_Set up job.txt", "notes.txt"], "lint", None),
        ([], "lint", None),
    ],
)
def test_the_file_of_a_job_is_found_by_its_name_or_none_is(names: list[str], job: str, found: str | None) -> None:
    assert entry_of(names, job) == found
