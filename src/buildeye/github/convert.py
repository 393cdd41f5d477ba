"""GitHub's JSON into the model: one function a thing, the same for REST answers and webhook events.

A field GitHub always sends must be there with the right type, or a ShapeError names it; the rest may be absent.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from buildeye.github.facts import Commit, Comparison, RateLimit
from buildeye.model import CheckRun, Job, OutsideError, PullRequest, Push, Run, Step

NEVER = datetime(1, 1, 1, tzinfo=UTC)  # GitHub's way to write "not yet" in some events


def parse_time(text: str) -> datetime | None:
    """A GitHub timestamp as an aware datetime in UTC; None for its "not yet". ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"no time zone in {text!r}")
    moment = NEVER if moment.year == 1 else moment.astimezone(UTC)
    return None if moment == NEVER else moment


class ShapeError(OutsideError):
    """JSON that is not of the shape GitHub documents; `problem` says what is wrong without saying whom to blame."""

    def __init__(self, what: str, problem: str) -> None:
        super().__init__(f"GitHub's answer about {what} {problem}; is api.base_url right?")
        self.problem = f"{what} {problem}"


class Fields:
    """One JSON object of GitHub's; `what` names it in errors (`run 7`)."""

    def __init__(self, data: object, what: str) -> None:
        if not isinstance(data, Mapping):
            raise ShapeError(what, "is not an object")
        self._data = data
        self._what = what

    def value(self, key: str) -> Any:
        """The value of a field that must be there; it may be null."""
        if key not in self._data:
            raise ShapeError(self._what, f'has no field "{key}"')
        return self._data[key]

    def number(self, key: str, default: int | None = None) -> int:
        """A whole number; with `default` the field may be absent or null."""
        value = self._data.get(key) if default is not None else self.value(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(key, "a number")
        return value

    def text(self, key: str, *, optional: bool = False) -> str:
        """A text; null is the empty text. With `optional` the field may be absent too."""
        value = self._data.get(key) if optional else self.value(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self._wrong(key, "a text")
        return value

    def required_text(self, key: str) -> str:
        """A text that is not empty."""
        if not (text := self.text(key)):
            raise self._wrong(key, "a text that is not empty")
        return text

    def time(self, key: str, *, optional: bool = True) -> datetime | None:
        """A time; None when null, or absent and `optional`."""
        text = self.text(key, optional=optional)
        try:
            return parse_time(text) if text else None
        except (ValueError, OverflowError):
            raise self._wrong(key, "a time") from None

    def epoch(self, key: str) -> datetime:
        """A time given as seconds since 1970."""
        try:
            return datetime.fromtimestamp(self.number(key), UTC)
        except (ValueError, OverflowError, OSError):
            raise self._wrong(key, "a time") from None

    def within(self, key: str) -> "Fields":
        """An object inside, empty when null or absent."""
        value = self._data.get(key)
        return Fields({} if value is None else value, f"{self._what}, {key}")

    def truth(self, key: str) -> bool:
        """Yes or no; absent or null is no."""
        value = self._data.get(key)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return bool(value)

    def objects(self, key: str, *, optional: bool = True) -> list[Any]:
        """A list, empty when null, or absent and `optional`."""
        value = self._data.get(key) if optional else self.value(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return value

    def _wrong(self, key: str, expected: str) -> ShapeError:
        return ShapeError(self._what, f'has a field "{key}" that is not {expected}')


def run_from(data: object) -> Run:
    """A workflow run. Pull requests of other repositories (GitHub lists those of forks, too) are left out."""
    fields = Fields(data, "a run")
    fields = Fields(data, f"run {fields.number('id')}")
    repository = fields.within("repository")
    return Run(
        id=fields.number("id"),
        name=fields.text("name"),
        status=fields.required_text("status"),
        conclusion=fields.text("conclusion") or None,
        event=fields.text("event"),
        workflow_id=fields.number("workflow_id", 0),
        path=fields.text("path", optional=True),
        head_sha=fields.required_text("head_sha"),
        head_branch=fields.text("head_branch"),
        run_attempt=fields.number("run_attempt", 1),
        run_number=fields.number("run_number", 0),
        created_at=fields.time("created_at", optional=False),
        run_started_at=fields.time("run_started_at"),
        updated_at=fields.time("updated_at", optional=False),
        actor=fields.within("actor").text("login", optional=True),
        triggering_actor=fields.within("triggering_actor").text("login", optional=True),
        display_title=fields.text("display_title", optional=True),
        html_url=fields.text("html_url", optional=True),
        pull_requests=_own_pull_requests(fields.objects("pull_requests"), repository.number("id", 0)),
        repository_full_name=repository.text("full_name", optional=True),
    )


def job_from(data: object, repository_full_name: str) -> Job:
    """A job of a run, with its steps in their order."""
    fields = Fields(data, "a job")
    fields = Fields(data, f"job {fields.number('id')}")
    return Job(
        id=fields.number("id"),
        run_id=fields.number("run_id"),
        name=fields.text("name"),
        status=fields.required_text("status"),
        conclusion=fields.text("conclusion") or None,
        run_attempt=fields.number("run_attempt", 1),
        workflow_name=fields.text("workflow_name", optional=True),
        head_sha=fields.text("head_sha", optional=True),
        head_branch=fields.text("head_branch", optional=True),
        created_at=fields.time("created_at"),
        started_at=fields.time("started_at"),
        completed_at=fields.time("completed_at"),
        runner_id=fields.number("runner_id", 0) or None,
        runner_name=fields.text("runner_name", optional=True) or None,
        runner_group_name=fields.text("runner_group_name", optional=True) or None,
        labels=tuple(str(label) for label in fields.objects("labels")),
        steps=tuple(_step(step) for step in fields.objects("steps")),
        html_url=fields.text("html_url", optional=True),
        repository_full_name=repository_full_name,
    )


def pull_request_from(data: object, changed_files: tuple[str, ...] = ()) -> PullRequest:
    """A pull request; GitHub sends its files apart."""
    fields = Fields(data, "a pull request")
    fields = Fields(data, f"pull request {fields.number('number')}")
    base, head = fields.within("base"), fields.within("head")
    return PullRequest(
        number=fields.number("number"),
        title=fields.text("title"),
        author=fields.within("user").text("login", optional=True),
        state=fields.text("state"),
        base_ref=base.text("ref"),
        base_sha=base.text("sha"),
        head_ref=head.text("ref"),
        head_sha=head.text("sha"),
        created_at=fields.time("created_at"),
        updated_at=fields.time("updated_at"),
        merged_at=fields.time("merged_at"),
        merge_commit_sha=fields.text("merge_commit_sha", optional=True) or None,
        html_url=fields.text("html_url", optional=True),
        changed_files=changed_files,
        repository_full_name=base.within("repo").text("full_name", optional=True),
    )


def push_from(data: object) -> Push:
    """A push, as only events tell of it; its moment is the repository's `pushed_at`, which GitHub sends as a number."""
    fields = Fields(data, "a push")
    ref = fields.required_text("ref")
    fields = Fields(data, f"the push to {ref}")
    head, repository = fields.within("head_commit"), fields.within("repository")
    author = head.within("author")
    return Push(
        repository_full_name=repository.required_text("full_name"),
        ref=ref,
        after=fields.required_text("after"),
        before=fields.text("before"),
        message=head.text("message", optional=True),
        author_name=author.text("name", optional=True),
        author_login=author.text("username", optional=True),
        committed_at=head.time("timestamp"),
        pusher=fields.within("pusher").text("name", optional=True),
        forced=fields.truth("forced"),
        deleted=fields.truth("deleted"),
        pushed_at=repository.epoch("pushed_at"),
    )


def check_run_from(data: object, repository_full_name: str) -> CheckRun:
    """A check on a commit."""
    fields = Fields(data, "a check run")
    fields = Fields(data, f"check run {fields.number('id')}")
    return CheckRun(
        repository_full_name=repository_full_name,
        id=fields.number("id"),
        name=fields.text("name"),
        status=fields.required_text("status"),
        conclusion=fields.text("conclusion") or None,
        head_sha=fields.required_text("head_sha"),
        app=fields.within("app").text("slug", optional=True) or fields.within("app").text("name", optional=True),
        started_at=fields.time("started_at"),
        completed_at=fields.time("completed_at"),
        annotations_count=fields.within("output").number("annotations_count", 0),
        details_url=fields.text("details_url", optional=True),
        html_url=fields.text("html_url", optional=True),
    )


def commit_from(data: object, changed_files: tuple[str, ...] = ()) -> Commit:
    """A commit; its author is the GitHub account, or the name in the commit when there is none."""
    fields = Fields(data, "a commit")
    sha = fields.required_text("sha")
    fields = Fields(data, f"commit {sha}")
    inner = fields.within("commit")
    login = fields.within("author").text("login", optional=True)
    return Commit(
        sha=sha,
        message=inner.text("message"),
        author=login or inner.within("author").text("name", optional=True),
        committed_at=inner.within("committer").time("date"),
        parents=tuple(Fields(parent, f"a parent of {sha}").text("sha") for parent in fields.objects("parents")),
        changed_files=changed_files,
        html_url=fields.text("html_url", optional=True),
    )


def comparison_from(data: object, commits: tuple[Commit, ...]) -> Comparison:
    """A comparison; `commits` are all of its commits, which may have come in several answers."""
    fields = Fields(data, "a comparison")
    return Comparison(
        merge_base_sha=fields.within("merge_base_commit").text("sha"),
        status=fields.text("status"),
        ahead_by=fields.number("ahead_by"),
        behind_by=fields.number("behind_by"),
        commits=commits,
        changed_files=file_names(fields.objects("files"), "a comparison"),
    )


def rate_limit_from(data: object) -> RateLimit:
    """The limit of the REST interface (`core`)."""
    core = Fields(data, "the rate limit").within("resources").within("core")
    return RateLimit(core.number("limit"), core.number("remaining"), core.epoch("reset"))


def file_names(files: list[Any], what: str) -> tuple[str, ...]:
    """Paths of changed files; a renamed file is named by both its paths."""
    names: dict[str, None] = {}
    for entry in files:
        fields = Fields(entry, f"a file of {what}")
        names[fields.required_text("filename")] = None
        if previous := fields.text("previous_filename", optional=True):
            names[previous] = None
    return tuple(names)


def _step(data: object) -> Step:
    fields = Fields(data, "a step")
    return Step(
        name=fields.text("name"),
        number=fields.number("number"),
        status=fields.text("status"),
        conclusion=fields.text("conclusion", optional=True) or None,
        started_at=fields.time("started_at"),
        completed_at=fields.time("completed_at"),
    )


def _own_pull_requests(entries: list[Any], repository_id: int) -> tuple[int, ...]:
    numbers = []
    for entry in entries:
        fields = Fields(entry, "a pull request of a run")
        base_repository = fields.within("base").within("repo").number("id", 0)
        if not repository_id or base_repository in {0, repository_id}:
            numbers.append(fields.number("number"))
    return tuple(numbers)
