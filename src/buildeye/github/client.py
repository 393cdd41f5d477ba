"""The GitHub client: each method one question about CI, answered in the words of the model."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path, PurePosixPath
from types import MappingProxyType, TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx2

from buildeye import __version__
from buildeye.config import Settings
from buildeye.github import convert
from buildeye.github.answers import Answers
from buildeye.github.artifacts import Artifact, artifact_from, save
from buildeye.github.facts import Commit, Comparison, JobsOfRun, LogDownload, LogState, RateLimit, Stats
from buildeye.github.logfile import log_path, write_compressed
from buildeye.github.parallel import in_parallel
from buildeye.github.posting import Posting
from buildeye.github.tokens import AppTokens, FixedToken, Tokens, read_key
from buildeye.github.transport import ApiTransport, cached, environment_transport
from buildeye.github.windows import newest_first
from buildeye.github.wire import Asked, Backoff, LimitError, NotFoundError, Patience, Wire
from buildeye.model import Job, OutsideError, PullRequest, Run, UsageError

HEADERS = {
    "accept": "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
    "user-agent": f"build-eye/{__version__}",
}

COMPARED_FILES = 300  # files a comparison names at most
PULLS = "pull requests: read"

Read = TypeVar("Read")


def _now() -> datetime:
    return datetime.now(UTC)


class GitHub:
    """GitHub's REST interface for one source of tokens; a context manager. Safe to use from several threads.

    `timeout` is in seconds per answer, `retries` after faults, `concurrency` the most requests under way at once of the
    methods about many things, `rate_limit_wait` the most seconds one request waits for rate limits,
    `threshold_percent` the share of the hourly limit that is left to others. `cache_dir` None keeps no answers.
    `transport`, `sleep` and `clock` are the network, the waiting and the time. Every method raises OutsideError when
    GitHub fails or refuses.
    """

    def __init__(
        self,
        base_url: str,
        token: str | Tokens | None,
        *,
        cache_dir: Path | None,
        timeout: float = 30.0,
        retries: int = 4,
        per_page: int = 100,
        concurrency: int = 8,
        rate_limit_wait: float = 3660.0,
        threshold_percent: float = 0.0,
        transport: httpx2.BaseTransport | None = None,
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        tokens = FixedToken(token) if isinstance(token, str) else token
        self._transport = ApiTransport(transport or environment_transport(), _address(base_url), tokens, clock)
        patience = Patience(retries, rate_limit_wait, threshold_percent, backoff, sleep, clock)
        self._wire = Wire(base_url, tokens, self._transport, patience)
        options: dict[str, Any] = {"headers": HEADERS, "timeout": timeout, "follow_redirects": True}
        above = cached(self._transport, cache_dir) if cache_dir else self._transport
        self._kept = httpx2.Client(transport=above, **options)
        self._answers = Answers(self._wire, self._kept, per_page)
        self._logs = httpx2.Client(transport=self._transport, **options)
        self._per_page = per_page
        self._concurrency = concurrency
        self._clock = clock

    @classmethod
    def of(cls, settings: Settings, *, sleep: Callable[[float], None] = time.sleep) -> Self:
        """The client that the settings describe; answers are kept below `storage.data_dir`. `sleep` is how it waits."""
        network = environment_transport()
        return cls(
            settings.api.base_url,
            _tokens(settings, network),
            cache_dir=settings.storage.data_dir / "cache",
            timeout=settings.api.timeout_seconds,
            retries=settings.api.max_retries,
            per_page=settings.api.per_page,
            concurrency=settings.api.concurrency,
            rate_limit_wait=settings.api.rate_limit_wait_seconds,
            sleep=sleep,
            threshold_percent=settings.api.rate_limit_threshold_percent,
            transport=network,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close connections and cache."""
        self._kept.close()
        self._logs.close()

    @property
    def stats(self) -> Stats:
        """Requests made so far, how many the cache answered, and what is left of the rate limit."""
        return self._transport.stats

    def posting(self, owner: str, repo: str) -> Posting:
        """What writes comments and check runs of one repository."""
        return Posting(self._wire, self._logs, self._per_page, owner, repo)

    def runs(
        self,
        owner: str,
        repo: str,
        *,
        since: datetime,
        until: datetime | None = None,
        workflows: Sequence[str] = (),
        branch: str | None = None,
        event: str | None = None,
    ) -> Iterator[Run]:
        """Runs created from `since` to `until` (now), both included, each once and in GitHub's order (newest first).

        `workflows` are workflow files by name, path or shell pattern; empty means all.
        """
        filters = {key: value for key, value in (("branch", branch), ("event", event)) if value}
        for page in self.run_pages(owner, repo, since=since, until=until or self._clock(), filters=filters):
            yield from (run for run in page if of_workflows(run.path, workflows))

    def run_pages(
        self,
        owner: str,
        repo: str,
        *,
        since: datetime,
        until: datetime | None = None,
        filters: Mapping[str, str] = MappingProxyType({}),
    ) -> Iterator[list[Run]]:
        """Runs created from `since` to `until`, newest first, in pages, each once, however the list moves meanwhile.

        Without `until` the address of the first page is always the same, so that GitHub can answer "not modified".
        """
        asked = Asked(f"{owner}/{repo}", "list of runs", "actions: read")
        path = f"{_repo(owner, repo)}/actions/runs"

        def ask(window: str | None, number: int) -> tuple[list[Run], bool]:
            params = {**filters, "created": window} if window else filters
            entries, more, _ = self._answers.page(path, params, asked, "workflow_runs", number)
            return [_at_home(convert.run_from(entry), owner, repo) for entry in entries], more

        return newest_first(ask, since, until)

    def run(self, owner: str, repo: str, run_id: int) -> Run:
        """One run, in its latest attempt."""
        asked = Asked(f"{owner}/{repo}", f"run {run_id}", "actions: read")
        return _at_home(
            convert.run_from(self._answers.one(f"{_repo(owner, repo)}/actions/runs/{run_id}", asked)), owner, repo
        )

    def jobs(self, owner: str, repo: str, run_id: int, *, all_attempts: bool = False) -> list[Job]:
        """Jobs of a run: of its latest attempt, or of all."""
        asked = Asked(f"{owner}/{repo}", f"run {run_id}", "actions: read")
        params = {"filter": "all" if all_attempts else "latest"}
        pages = self._answers.pages(f"{_repo(owner, repo)}/actions/runs/{run_id}/jobs", params, asked, "jobs")
        return [convert.job_from(job, f"{owner}/{repo}") for page in pages for job in page]

    def jobs_of_runs(
        self, owner: str, repo: str, runs: Iterable[Run], *, all_attempts: bool = False
    ) -> Iterator[JobsOfRun]:
        """Jobs of many runs, several requests at once, in the order of `runs`; one that fails says so in `error`.

        LimitError: the rate limit is used up.
        """

        def collect(run: Run) -> JobsOfRun:
            try:
                return JobsOfRun(run, tuple(self.jobs(owner, repo, run.id, all_attempts=all_attempts)))
            except LimitError:
                raise
            except OutsideError as error:
                return JobsOfRun(run, error=str(error))

        return in_parallel(collect, runs, self._concurrency)

    def pull_request(self, owner: str, repo: str, number: int, *, files: bool = True) -> PullRequest:
        """One pull request, with the paths it changes (a renamed file under both) unless `files` is off."""
        asked = Asked(f"{owner}/{repo}", f"pull request {number}", PULLS)
        path = f"{_repo(owner, repo)}/pulls/{number}"
        data = self._answers.one(path, asked)
        entries = [entry for page in self._answers.pages(f"{path}/files", {}, asked) for entry in page] if files else []
        return convert.pull_request_from(data, convert.file_names(entries, f"pull request {number}"))

    def with_files(self, owner: str, repo: str, pull: PullRequest) -> PullRequest:
        """A pull request with the paths it changes and its merge base, mostly in one request.

        A comparison names at most 300 files, and none of a head that is gone: then the pull request itself is asked.
        """
        asked = Asked(f"{owner}/{repo}", f"comparison {pull.base_sha}...{pull.head_sha}", "contents: read")
        path = f"{_repo(owner, repo)}/compare/{quote(pull.base_sha, safe='')}...{quote(pull.head_sha, safe='')}"
        merge_base, entries = "", None
        try:
            _, _, data = self._answers.page(path, {}, asked, "commits", 1)
            comparison = convert.comparison_from(data, ())
            merge_base, entries = comparison.merge_base_sha, convert.Fields(data, asked.what).objects("files")
        except NotFoundError:
            pass
        what = f"pull request {pull.number}"
        if entries is None or len(entries) >= COMPARED_FILES:
            listed = self._answers.pages(
                f"{_repo(owner, repo)}/pulls/{pull.number}/files", {}, Asked(f"{owner}/{repo}", what, PULLS)
            )
            entries = [entry for page in listed for entry in page]
        return replace(pull, changed_files=convert.file_names(entries, what), merge_base_sha=merge_base)

    def changed_pull_requests(self, owner: str, repo: str) -> Iterator[list[PullRequest]]:
        """All pull requests without their files, page by page, the one changed last first."""
        asked = Asked(f"{owner}/{repo}", "list of pull requests", PULLS)
        params = {"state": "all", "sort": "updated", "direction": "desc"}
        for page in self._answers.pages(f"{_repo(owner, repo)}/pulls", params, asked):
            yield [convert.pull_request_from(entry) for entry in page]

    def pull_requests_of_commit(self, owner: str, repo: str, sha: str) -> list[PullRequest]:
        """Pull requests that hold a commit or brought it, without their files; also of runs from forks."""
        asked = Asked(f"{owner}/{repo}", f"commit {sha}", PULLS)
        pages = self._answers.pages(f"{_repo(owner, repo)}/commits/{quote(sha, safe='')}/pulls", {}, asked)
        return [convert.pull_request_from(entry) for page in pages for entry in page]

    def compare(self, owner: str, repo: str, base: str, head: str) -> Comparison:
        """What `head` has that `base` has not; each a commit, a branch or a tag."""
        asked = Asked(f"{owner}/{repo}", f"comparison {base}...{head}", "contents: read")
        path = f"{_repo(owner, repo)}/compare/{quote(base, safe='')}...{quote(head, safe='')}"
        first: list[Any] = []
        pages = self._answers.pages(path, {}, asked, "commits", first)
        commits = tuple(convert.commit_from(entry) for page in pages for entry in page)
        return convert.comparison_from(first[0], commits)

    def branch_commits(self, owner: str, repo: str, branch: str) -> Iterator[Commit]:
        """What a branch pointed to, newest first: its head, and the first parent of each; without their files.

        Pages after the first are asked of the head found there, so they stay what they are.
        """
        asked = Asked(f"{owner}/{repo}", f"branch {branch}", "contents: read")
        path = f"{_repo(owner, repo)}/commits"
        entries, more, _ = self._answers.page(path, {"sha": branch}, asked, None, 1)
        first = [convert.commit_from(entry) for entry in entries]
        if not first:
            return
        following = self._answers.pages(path, {"sha": first[0].sha}, asked, number=2) if more else ()
        wanted: str | None = first[0].sha
        for page in chain([first], ([convert.commit_from(entry) for entry in page] for page in following)):
            for commit in page:
                if commit.sha == wanted:
                    yield commit
                    wanted = next(iter(commit.parents), None)

    def commit(self, owner: str, repo: str, sha: str) -> Commit:
        """One commit with the paths it changes."""
        asked = Asked(f"{owner}/{repo}", f"commit {sha}", "contents: read")
        first: list[Any] = []
        pages = self._answers.pages(f"{_repo(owner, repo)}/commits/{quote(sha, safe='')}", {}, asked, "files", first)
        entries = [entry for page in pages for entry in page]
        return convert.commit_from(first[0], convert.file_names(entries, f"commit {sha}"))

    def rate_limit(self) -> RateLimit:
        """What is left of the rate limit; asking costs nothing of it."""
        return convert.rate_limit_from(self._answers.one("/rate_limit", Asked("the rate limit", "rate limit")))

    def read_job_log(self, owner: str, repo: str, job_id: int, read: Callable[[Iterable[bytes]], Read]) -> Read:
        """What `read` makes of a job's log; it is called again when the connection breaks while it reads.

        NotFoundError: GitHub does not have the log, or no longer.
        """
        asked = Asked(f"{owner}/{repo}", f"log of job {job_id}", "actions: read")
        path = f"{_repo(owner, repo)}/actions/jobs/{job_id}/logs"
        return self._wire.get(self._logs, path, {}, asked, lambda response: read(response.iter_bytes()))

    def read_run_logs(
        self, owner: str, repo: str, run_id: int, attempt: int, read: Callable[[Iterable[bytes]], Read]
    ) -> Read:
        """What `read` makes of the zip of all logs of an attempt; as `read_job_log`."""
        asked = Asked(f"{owner}/{repo}", f"log of run {run_id}", "actions: read")
        path = f"{_repo(owner, repo)}/actions/runs/{run_id}/attempts/{attempt}/logs"
        return self._wire.get(self._logs, path, {}, asked, lambda response: read(response.iter_bytes()))

    def download_job_log(self, owner: str, repo: str, job_id: int, into: Path) -> LogDownload:
        """Keep a job's log as `into/JOB_ID.log.zst`; one that is there already is not asked for again."""
        target = log_path(into, job_id)
        if target.exists():
            return LogDownload(job_id, LogState.SAVED, target, target.stat().st_size)
        try:
            size = self.read_job_log(owner, repo, job_id, lambda chunks: write_compressed(chunks, target))
        except NotFoundError:
            return LogDownload(job_id, LogState.EXPIRED)
        return LogDownload(job_id, LogState.SAVED, target, size)

    def download_job_logs(self, owner: str, repo: str, job_ids: Iterable[int], into: Path) -> Iterator[LogDownload]:
        """Logs of many jobs, several at once, in the order of `job_ids`; one that fails says so in its state."""

        def download(job_id: int) -> LogDownload:
            try:
                return self.download_job_log(owner, repo, job_id, into)
            except OutsideError as error:
                return LogDownload(job_id, LogState.FAILED, error=str(error))

        return in_parallel(download, job_ids, self._concurrency)

    def artifacts(self, owner: str, repo: str, run_id: int | None = None) -> Iterator[Artifact]:
        """Artifacts of one run, or of all in GitHub's order (newest first, a page asked for when it is reached)."""
        asked = Asked(f"{owner}/{repo}", f"artifacts of run {run_id}" if run_id else "artifacts", "actions: read")
        place = f"/actions/runs/{run_id}/artifacts" if run_id else "/actions/artifacts"
        for page in self._answers.pages(f"{_repo(owner, repo)}{place}", {}, asked, "artifacts"):
            yield from map(artifact_from, page)

    def download_artifact(self, owner: str, repo: str, artifact: Artifact, into: Path) -> Path | None:
        """Save the zip of an artifact as `into/ID.zip`, checked by its digest; None when GitHub no longer has it."""
        asked = Asked(f"{owner}/{repo}", f"artifact {artifact.name}", "actions: read")
        path = f"{_repo(owner, repo)}/actions/artifacts/{artifact.id}/zip"
        try:
            return self._wire.get(self._logs, path, {}, asked, lambda answer: save(answer.iter_bytes(), artifact, into))
        except NotFoundError:
            return None


def _tokens(settings: Settings, network: httpx2.BaseTransport) -> Tokens | None:
    """The App when one is set, else GITHUB_TOKEN, else nobody."""
    app, api = settings.github_app, settings.api
    if app.given and app.key_file is not None:
        _address(api.base_url)
        return AppTokens(
            api.base_url, app.app_id, app.installation_id, read_key(app.key_file),
            transport=network, clock=_now, timeout=api.timeout_seconds, retries=api.max_retries,
        )  # fmt: skip
    return FixedToken(settings.github_token.get_secret_value()) if settings.github_token else None


def _address(base_url: str) -> httpx2.URL:
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL as error:
        raise UsageError(f"api.base_url is no address ({error}); GitHub's is https://api.github.com") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise UsageError("api.base_url is no http(s) address; GitHub's is https://api.github.com")
    return url


def _repo(owner: str, repo: str) -> str:
    return f"/repos/{quote(owner, safe='')}/{quote(repo, safe='')}"


def of_workflows(path: str, workflows: Sequence[str]) -> bool:
    """Is a run's workflow file one of those named by file, path or shell pattern? With none named: yes."""
    if not workflows:
        return True
    plain = path.partition("@")[0]
    names = (plain, PurePosixPath(plain).name)
    return any(fnmatchcase(name, pattern) for pattern in workflows for name in names)


def _at_home(run: Run, owner: str, repo: str) -> Run:
    """The run with its repository named, which GitHub leaves out of some answers."""
    return run if run.repository_full_name else replace(run, repository_full_name=f"{owner}/{repo}")
