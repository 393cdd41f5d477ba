"""The history of one test as a page for a person, and as values for programs."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from buildeye.cli.tables import table
from buildeye.cli.testnotes import Notes
from buildeye.logs.secrets import strip_controls

if TYPE_CHECKING:
    from buildeye.insight.flaky import Flakiness
    from buildeye.insight.testruns import CaseEnd, CaseHistory, Counts

DAY_COLUMNS: Final = ("day", "runs", "successful", "fails", "skipped", "flaky", "pass_rate")
PAGE_COLUMNS: Final = (
    "id", "file", "classname", "name", "owners", "state", "flakiness", "quarantine", "runs", "successful", "fails",
    "skipped", "flaky", "pass_rate", "seconds", "last_pass", "last_failure", "days", "jobs", "messages",
)  # fmt: skip
_SHORT: Final = 7
_JOBS: Final = 15


def page(history: "CaseHistory", notes: Notes, repository: str) -> str:
    """The page, 100 columns at most but for addresses."""
    entry = notes.entry_of(history.file, history.classname, history.name)
    owners = notes.owners_of(history.file, history.classname)
    facts = [
        ("runs", counted(history.counts) + (f", {history.seconds:.2f} s each" if history.seconds is not None else "")),
        ("state", told(history.flakiness)),
        ("owners", " ".join(owners) or "nobody"),
        ("quarantine", f"{notes.shown(entry)}: {entry.why}" if entry else "no"),
        ("last pass", _end(history.last_pass)),
        ("last failure", _end(history.last_failure)),
    ]
    blocks = [
        f"{history.id}  ({repository})",
        "\n".join(f"  {name:14}{text}" for name, text in facts),
        table(("day", "runs", "passed", "failed", "skipped", "flaky"),
              [(f"{day}", *_numbers(counts)) for day, counts in history.days]),
        table(("job", "runs", "passed", "failed", "skipped", "flaky"),
              [(strip_controls(job) or "not known", *_numbers(counts)) for job, counts in history.jobs[:_JOBS]])
        + (f"\n {len(history.jobs) - _JOBS} more jobs" if len(history.jobs) > _JOBS else ""),
    ]  # fmt: skip
    if history.messages:
        rows = [
            (strip_controls(each.text) or "(it said nothing)", str(each.fails), str(each.flaky),
             f"{each.last_at:%Y-%m-%d %H:%M}", str(each.run_id))
            for each in history.messages
        ]  # fmt: skip
        blocks.append(table(("fails as", "failed", "flaky", "last", "run"), rows))
    return "\n\n".join(blocks)


def page_row(history: "CaseHistory", notes: Notes) -> dict[str, Any]:
    """The history as JSON and YAML have it, by PAGE_COLUMNS."""
    entry = notes.entry_of(history.file, history.classname, history.name)
    return {
        "id": history.id, "file": history.file, "classname": history.classname, "name": history.name,
        "owners": list(notes.owners_of(history.file, history.classname)),
        "state": str(history.flakiness.state),
        "flakiness": flakiness_row(history.flakiness),
        "quarantine": {"why": entry.why, "since": str(entry.since), "until": str(entry.until),
                       "expired": entry.is_expired(notes.today)} if entry else None,
        **_row(history.counts),
        "seconds": None if history.seconds is None else round(history.seconds, 3),
        "last_pass": None if history.last_pass is None else asdict(history.last_pass),
        "last_failure": None if history.last_failure is None else asdict(history.last_failure),
        "days": day_rows(history),
        "jobs": [{"job": job, **_row(counts)} for job, counts in history.jobs],
        "messages": [asdict(each) for each in history.messages],
    }  # fmt: skip


def day_rows(history: "CaseHistory") -> list[dict[str, Any]]:
    """The days as CSV and JSON have them, by DAY_COLUMNS."""
    return [{"day": str(day), **_row(counts)} for day, counts in history.days]


def flakiness_row(flakiness: "Flakiness") -> dict[str, Any]:
    """A judgement as JSON has it."""
    return {
        "score": round(flakiness.score, 4), "rate": round(flakiness.rate, 4), "flaky_commits": flakiness.flaky,
        "commits": flakiness.commits, "failed_commits": flakiness.failed, "broken_commits": flakiness.broken,
        "clean_commits": flakiness.clean, "needed_commits": flakiness.needed,
        "first_flaky": flakiness.first_flaky.sha if flakiness.first_flaky else None,
        "last_flaky": flakiness.last_flaky.sha if flakiness.last_flaky else None,
        "last_flaky_at": flakiness.last_flaky.at if flakiness.last_flaky else None,
    }  # fmt: skip


def told(flakiness: "Flakiness") -> str:
    """A judgement in one line."""
    state = str(flakiness.state)
    if not flakiness.commits and not flakiness.failed:
        return f"{state}: it was never run"
    if not flakiness.flaky:
        return f"{state}: at {_commits(flakiness.commits)} it passed, at {flakiness.failed} it only failed"
    evidence = f"at {flakiness.flaky} of {_commits(flakiness.commits)}, score {flakiness.score:.3f}"
    return f"{state}: {evidence}; clean at {flakiness.clean} since, {flakiness.needed} needed"


def counted(counts: "Counts") -> str:
    """Counts in one line."""
    from buildeye.cli.testcases import percent

    flaky = f", {counts.flaky:,} flaky" if counts.flaky else ""
    runs = f"{counts.runs:,} run" if counts.runs == 1 else f"{counts.runs:,} runs"
    return (
        f"{runs}: {counts.successful:,} passed, {counts.fails:,} failed, {counts.skipped:,} skipped{flaky}, "
        f"pass rate {percent(counts.pass_rate)}"
    )


def _commits(number: int) -> str:
    return f"{number} commit" if number == 1 else f"{number} commits"


def _row(counts: "Counts") -> dict[str, Any]:
    rate = counts.pass_rate
    return {
        "runs": counts.runs, "successful": counts.successful, "fails": counts.fails, "skipped": counts.skipped,
        "flaky": counts.flaky, "pass_rate": None if rate is None else round(rate, 4),
    }  # fmt: skip


def _numbers(counts: "Counts") -> tuple[str, ...]:
    return tuple(
        str(each) for each in (counts.runs, counts.successful, counts.fails, counts.skipped, counts.flaky)
    )  # fmt: skip


def _end(end: "CaseEnd | None") -> str:
    if end is None:
        return "none in this window"
    built = f"{end.head_sha[:_SHORT] or 'commit not known'}{f' on {end.branch}' if end.branch else ''}"
    place = end.html_url or f"run {end.run_id}"
    return strip_controls(f"{end.at:%Y-%m-%d %H:%M}  {built}  {place}")
