"""Which run, or job of it, a person means: a number, or the address of its page on GitHub."""

import re
from dataclasses import dataclass

from buildeye.model import UsageError

_ADDRESS = re.compile(
    r"https?://[^/\s]+/(?P<repository>[^/\s]+/[^/\s]+)/actions/runs/(?P<run>\d{1,18})"
    r"(?:/attempts/\d+)?(?:/job/(?P<job>\d{1,18}))?/?(?:[?#]\S*)?"
)


@dataclass(frozen=True, slots=True)
class RunAddress:
    """A run; `job_id` when one job of it was named, `repository` (`owner/name`) when the address told."""

    run_id: int
    job_id: int | None = None
    repository: str = ""


def run_address(text: str) -> RunAddress:
    """The run that a number or an address means. UsageError says what is understood."""
    given = text.strip()
    if given.isascii() and given.isdigit() and len(given) <= 18:
        return RunAddress(int(given))
    found = _ADDRESS.fullmatch(given)
    if found is None:
        raise UsageError(
            f'RUN is "{text}"; give the number of a run, or the address of its page or of a job\'s page: '
            "https://github.com/OWNER/REPO/actions/runs/NUMBER"
        )
    return RunAddress(int(found["run"]), int(found["job"]) if found["job"] else None, found["repository"])
