"""Which jobs fail most on a branch, how sure that is, and as what: ranked as PyTorch's guide ranks them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from buildeye.model import Cause
from buildeye.model.shares import wilson
from buildeye.warehouse import Warehouse

_RANK: Final = {str(cause): place for place, cause in enumerate(Cause)}
"""Of causes with equal counts the first in the vocabulary leads, so that `unknown` comes last."""


@dataclass(frozen=True, slots=True)
class FailingJob:
    """A job's failures on a branch within a time. All counts are of distinct jobs, re-runs included.

    `failures` ended with `failure`; `timed_out` timed out or could not start and are counted apart; `runs` are both and
    those that passed. `causes` and `signatures` with the number of failures that had each, most first; `unjudged`
    failures have no verdict, `undiagnosed` no signature. `flaky`: our verdict holds so many to be flaky, whatever the
    cause.
    `run_id`, `job_id`: the newest failure, which ended at `last_failure` (aware, UTC).
    """

    name: str
    workflows: tuple[str, ...]
    failures: int
    timed_out: int
    runs: int
    last_failure: datetime
    causes: tuple[tuple[str, int], ...] = ()
    signatures: tuple[tuple[str, int], ...] = ()
    unjudged: int = 0
    undiagnosed: int = 0
    flaky: int = 0
    run_id: int = 0
    job_id: int = 0

    @property
    def rate(self) -> float:
        """Share of its runs that ended with `failure`, from 0 to 1."""
        return self.failures / self.runs

    @property
    def rate_interval(self) -> tuple[float, float]:
        """Where the rate truly lies, with 95 %: Wilson's interval."""
        return wilson(self.failures, self.runs)

    @property
    def cause(self) -> str:
        """The cause most of the judged failures have; '' when none was judged."""
        return self.causes[0][0] if self.causes else ""

    @property
    def signature(self) -> str:
        """The signature most of the diagnosed failures have; '' when none was diagnosed."""
        return self.signatures[0][0] if self.signatures else ""


def top_failures(
    warehouse: Warehouse, repository: str, branch: str, since: datetime, until: datetime, limit: int = 10
) -> tuple[FailingJob, ...]:
    """The jobs of `repository` (`owner/name`) that failed most on a branch, most failures first, equal ones by name.

    Two questions, however many jobs: the second only looks at the jobs the first ranked.
    Raises what `Warehouse.ask` raises.
    """
    asked = {"repository": repository, "branch": branch, "since": since, "until": until}
    ranked = warehouse.ask("top_failures", **asked, limit=limit)
    if not ranked:
        return ()
    details = warehouse.ask("failed_as", **asked, names=[row["name"] for row in ranked])
    return failing_jobs(ranked, details)


def failing_jobs(ranked: Iterable[Mapping[str, Any]], details: Iterable[Mapping[str, Any]]) -> tuple[FailingJob, ...]:
    """The answers of `top_failures` and `failed_as` as one, in the order of the first; that of `details` is none."""
    known: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in details:
        known[row["name"]].append(row)
    return tuple(_failing_job(row, known[row["name"]]) for row in ranked)


def _failing_job(row: Mapping[str, Any], details: list[Mapping[str, Any]]) -> FailingJob:
    causes: Counter[str] = Counter()
    signatures: Counter[str] = Counter()
    for each in details:
        causes[each["cause"]] += each["failures"]
        signatures[each["signature"]] += each["failures"]
    unjudged, undiagnosed = causes.pop("", 0), signatures.pop("", 0)
    newest = max(details, key=lambda each: (each["newest"], each["id"]), default={"run_id": 0, "id": 0})
    return FailingJob(
        row["name"], tuple(row["workflows"]), row["failures"], row["timed_out"], row["runs"], row["last_failure"],
        tuple(sorted(causes.items(), key=lambda each: (-each[1], _RANK.get(each[0], len(_RANK)), each[0]))),
        tuple(sorted(signatures.items(), key=lambda each: (-each[1], each[0]))),
        unjudged, undiagnosed, sum(each["flaky"] for each in details), newest["run_id"], newest["id"],
    )  # fmt: skip


COLUMNS: Final = (
    "name", "workflows", "failures", "runs", "rate", "rate_low", "rate_high", "timed_out", "last_failure", "cause",
    "causes", "unjudged", "flaky", "signature", "signatures", "undiagnosed", "run_id", "job_id",
)  # fmt: skip


def as_row(job: FailingJob) -> dict[str, Any]:
    """A failing job as JSON and CSV have it, by COLUMNS."""
    low, high = job.rate_interval
    return {
        "name": job.name,
        "workflows": list(job.workflows),
        "failures": job.failures,
        "runs": job.runs,
        "rate": round(job.rate, 4),
        "rate_low": round(low, 4),
        "rate_high": round(high, 4),
        "timed_out": job.timed_out,
        "last_failure": job.last_failure,
        "cause": job.cause or None,
        "causes": [{"cause": cause, "failures": count} for cause, count in job.causes],
        "unjudged": job.unjudged,
        "flaky": job.flaky,
        "signature": job.signature or None,
        "signatures": [{"signature": signature, "failures": count} for signature, count in job.signatures],
        "undiagnosed": job.undiagnosed,
        "run_id": job.run_id,
        "job_id": job.job_id,
    }
