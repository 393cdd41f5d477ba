"""What a pass says at its end: its own failures are counted, earlier runs that are judged otherwise are told."""

from dataclasses import replace

from buildeye.cli.monitor import _did, _opening
from buildeye.config import Settings
from buildeye.pipeline.monitor import Pass
from buildeye.reports import WriteResult
from tests.reports.conftest import make_finding, make_job
from tests.warehouse.facts import a_change


def test_a_run_of_an_earlier_pass_that_is_judged_otherwise_now_is_not_counted_as_a_new_failure() -> None:
    new, earlier = make_finding(make_job(), run_id=501), make_finding(make_job(), run_id=100)
    changed = [replace(a_change(), run_id=100)]
    done = Pass([new.run], [new, earlier], 0, 0, WriteResult(), changed=changed)
    assert _opening(Settings(), done).endswith("1 runs: 0 passed, 0 skipped, 1 failed")
    assert "1 verdict changed" in _did(Settings(), done, dry_run=True)


def test_a_change_of_verdict_on_a_run_of_this_pass_leaves_it_counted() -> None:
    new = make_finding(make_job(), run_id=501)
    done = Pass([new.run], [new], 0, 0, WriteResult(), changed=[replace(a_change(), run_id=501)] * 2)
    assert _opening(Settings(), done).endswith("1 failed")
    assert "2 verdicts changed" in _did(Settings(), done, dry_run=True)
