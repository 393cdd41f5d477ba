"""The GitHub client: each method one question about CI, answered in the words of the model."""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx2

from buildeye import __version__
from buildeye.config import Settings
from buildeye.github import convert
from buildeye.github.artifacts import Artifact, artifact_from, save
from buildeye.github.facts import Commit, Comparison, JobsOfRun, LogDownload, LogState, RateLimit, Stats
from buildeye.github.logfile import log_path, write_compressed
from buildeye.github.parallel import in_parallel
from buildeye.github.transport import ApiTransport, cached, environment_transport
from buildeye.github.windows import WINDOW_CAP, halves, window_text
from buildeye.github.wire import Asked, Backoff, NotFoundError, Patience, Wire, read_json
from buildeye.model import Job, OutsideError, PullRequest, Run, UsageError

HEADERS = {
    "accept": "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
    "user-agent": f"build-eye/{__version__}",
}


def _now() -> datetime:
    return datetime.now(UTC)


class GitHub:
    """GitHub's REST interface for one token; use it as a context manager. Safe to use from several threads.

    `timeout` is in seconds per answer, `retries` after faults, `concurrency` the most requests under way at once of the
    methods about many things, `rate_limit_wait` the most seconds one request waits for rate limits. `cache_dir` None
    keeps no answers. `transport`, `sleep` and `clock` are the network, the waiting and the time. Every method raises
    OutsideError when GitHub fails or refuses.
    """

    def __init__(
        self,
        base_url: str,
        token: str | None,
        *,
        cache_dir: Path | None,
        timeout: float = 30.0,
        retries: int = 4,
        per_page: int = 100,
        concurrency: int = 8,
        rate_limit_wait: float = 900.0,
        transport: httpx2.BaseTransport | None = None,
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._transport = ApiTransport(transport or environment_transport(), _address(base_url), token)
        self._wire = Wire(base_url, token, self._transport, Patience(retries, rate_limit_wait, backoff, sleep, clock))
        options: dict[str, Any] = {"headers": HEADERS, "timeout": timeout, "follow_redirects": True}
        above = cached(self._transport, cache_dir) if cache_dir else self._transport
        self._answers = httpx2.Client(transport=above, **options)
        self._logs = httpx2.Client(transport=self._transport, **options)
        self._per_page = per_page
        self._concurrency = concurrency
        self._clock = clock

    @classmethod
    def of(cls, settings: Settings, *, sleep: Callable[[float], None] = time.sleep) -> Self:
        """The client that the settings describe; answers are kept below `storage.data_dir`. `sleep` is how it waits."""
        token = settings.github_token.get_secret_value() if settings.github_token else None
        return cls(
            settings.api.base_url,
            token,
            cache_dir=settings.storage.data_dir / "cache",
            timeout=settings.api.timeout_seconds,
            retries=settings.api.max_retries,
            per_page=settings.api.per_page,
            concurrency=settings.api.concurrency,
            rate_limit_wait=settings.api.rate_limit_wait_seconds,
            sleep=sleep,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close connections and cache."""
        self._answers.close()
        self._logs.close()

    @property
    def stats(self) -> Stats:
        """Requests made so far, how many the cache answered, and what is left of the rate limit."""
        return self._transport.stats

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

        `workflows` are workflow files by name, path or shell pattern; empty means all. GitHub shows 1000 runs of a
        search, so a window with more is read in halves.
        """
        filters = {key: value for key, value in (("branch", branch), ("event", event)) if value}
        seen: set[int] = set()
        for data in self._window(owner, repo, since, until or self._clock(), filters):
            run = convert.run_from(data)
            if run.id not in seen and (not workflows or _of_workflows(run.path, workflows)):
                seen.add(run.id)
                yield _at_home(run, owner, repo)

    def run(self, owner: str, repo: str, run_id: int) -> Run:
        """One run, in its latest attempt."""
        asked = Asked(f"{owner}/{repo}", f"run {run_id}", "actions: read")
        return _at_home(convert.run_from(self._json(f"{_repo(owner, repo)}/actions/runs/{run_id}", asked)), owner, repo)

    def jobs(self, owner: str, repo: str, run_id: int, *, all_attempts: bool = False) -> list[Job]:
        """Jobs of a run: of its latest attempt, or of all."""
        asked = Asked(f"{owner}/{repo}", f"run {run_id}", "actions: read")
        params = {"filter": "all" if all_attempts else "latest"}
        pages = self._pages(f"{_repo(owner, repo)}/actions/runs/{run_id}/jobs", params, asked, "jobs")
        return [convert.job_from(job, f"{owner}/{repo}") for page in pages for job in page]

    def jobs_of_runs(
        self, owner: str, repo: str, runs: Iterable[Run], *, all_attempts: bool = False
    ) -> Iterator[JobsOfRun]:
        """Jobs of many runs, several requests at once, in the order of `runs`; one that fails says so in `error`."""

        def collect(run: Run) -> JobsOfRun:
            try:
                return JobsOfRun(run, tuple(self.jobs(owner, repo, run.id, all_attempts=all_attempts)))
            except OutsideError as error:
                return JobsOfRun(run, error=str(error))

        return in_parallel(collect, runs, self._concurrency)

    def pull_request(self, owner: str, repo: str, number: int, *, files: bool = True) -> PullRequest:
        """One pull request, with the paths it changes (a renamed file under both) unless `files` is off."""
        asked = Asked(f"{owner}/{repo}", f"pull request {number}", "pull requests: read")
        path = f"{_repo(owner, repo)}/pulls/{number}"
        data = self._json(path, asked)
        entries = [entry for page in self._pages(f"{path}/files", {}, asked) for entry in page] if files else []
        return convert.pull_request_from(data, convert.file_names(entries, f"pull request {number}"))

    def pull_requests_of_commit(self, owner: str, repo: str, sha: str) -> list[PullRequest]:
        """Pull requests that hold a commit or brought it, without their files; also of runs from forks."""
        asked = Asked(f"{owner}/{repo}", f"commit {sha}", "pull requests: read")
        pages = self._pages(f"{_repo(owner, repo)}/commits/{quote(sha, safe='')}/pulls", {}, asked)
        return [convert.pull_request_from(entry) for page in pages for entry in page]

    def compare(self, owner: str, repo: str, base: str, head: str) -> Comparison:
        """What `head` has that `base` has not; each a commit, a branch or a tag."""
        asked = Asked(f"{owner}/{repo}", f"comparison {base}...{head}", "contents: read")
        path = f"{_repo(owner, repo)}/compare/{quote(base, safe='')}...{quote(head, safe='')}"
        first: list[Any] = []
        pages = self._pages(path, {}, asked, "commits", first)
        commits = tuple(convert.commit_from(entry) for page in pages for entry in page)
        return convert.comparison_from(first[0], commits)

    def commit(self, owner: str, repo: str, sha: str) -> Commit:
        """One commit with the paths it changes."""
        asked = Asked(f"{owner}/{repo}", f"commit {sha}", "contents: read")
        first: list[Any] = []
        pages = self._pages(f"{_repo(owner, repo)}/commits/{quote(sha, safe='')}", {}, asked, "files", first)
        entries = [entry for page in pages for entry in page]
        return convert.commit_from(first[0], convert.file_names(entries, f"commit {sha}"))

    def rate_limit(self) -> RateLimit:
        """What is left of the rate limit; asking costs nothing of it."""
        return convert.rate_limit_from(self._json("/rate_limit", Asked("the rate limit", "rate limit")))

    def download_job_log(self, owner: str, repo: str, job_id: int, into: Path) -> LogDownload:
        """Keep a job's log as `into/JOB_ID.log.zst`; one that is there already is not asked for again."""
        target = log_path(into, job_id)
        if target.exists():
            return LogDownload(job_id, LogState.SAVED, target, target.stat().st_size)
        asked = Asked(f"{owner}/{repo}", f"log of job {job_id}", "actions: read")
        path = f"{_repo(owner, repo)}/actions/jobs/{job_id}/logs"
        try:
            size = self._wire.get(
                self._logs, path, {}, asked, lambda response: write_compressed(response.iter_bytes(), target)
            )
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
        for page in self._pages(f"{_repo(owner, repo)}{place}", {}, asked, "artifacts"):
            yield from map(artifact_from, page)

    def download_artifact(self, owner: str, repo: str, artifact: Artifact, into: Path) -> Path | None:
        """Save the zip of an artifact as `into/ID.zip`, checked by its digest; None when GitHub no longer has it."""
        asked = Asked(f"{owner}/{repo}", f"artifact {artifact.name}", "actions: read")
        path = f"{_repo(owner, repo)}/actions/artifacts/{artifact.id}/zip"
        try:
            return self._wire.get(self._logs, path, {}, asked, lambda answer: save(answer.iter_bytes(), artifact, into))
        except NotFoundError:
            return None

    def _window(
        self, owner: str, repo: str, since: datetime, until: datetime, filters: Mapping[str, str]
    ) -> Iterator[Any]:
        asked = Asked(f"{owner}/{repo}", "list of runs", "actions: read")
        params = {**filters, "created": window_text(since, until)}
        first: list[Any] = []
        for page in self._pages(f"{_repo(owner, repo)}/actions/runs", params, asked, "workflow_runs", first):
            total = convert.Fields(first[0], "the list of runs").number("total_count")
            parts = halves(since, until) if total >= WINDOW_CAP else ()
            if parts:
                for start, end in parts:
                    yield from self._window(owner, repo, start, end, filters)
                return
            yield from page

    def _pages(
        self,
        path: str,
        params: Mapping[str, str],
        asked: Asked,
        key: str | None = None,
        first: list[Any] | None = None,
    ) -> Iterator[list[Any]]:
        """The entries of each page, below `key` or at the top; the whole first answer is put into `first`."""
        seen = 0
        number = 0
        more = True
        while more:
            number += 1
            numbered: dict[str, str | int] = {**params, "per_page": self._per_page, "page": number}
            data, linked = self._answer(path, asked, numbered)
            if number == 1 and first is not None:
                first.append(data)
            entries = _entries(data, key, asked)
            seen += len(entries)
            yield entries
            more = bool(entries) and _has_more(data, linked, seen, len(entries) >= self._per_page)

    def _json(self, path: str, asked: Asked) -> Any:
        return self._answer(path, asked, {})[0]

    def _answer(self, path: str, asked: Asked, params: Mapping[str, str | int]) -> tuple[Any, bool | None]:
        """The JSON of an answer, and whether its Link header names a next page (None without such a header)."""

        def read(response: httpx2.Response) -> tuple[Any, bool | None]:
            linked = "next" in response.links if "link" in response.headers else None
            return read_json(response), linked

        data, linked = self._wire.get(self._answers, path, params, asked, read)
        if data is None:
            raise OutsideError(
                f"the answer for {asked.repository} ({asked.what}) is not JSON; is api.base_url GitHub's interface?"
            )
        return data, linked


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


def _entries(data: Any, key: str | None, asked: Asked) -> list[Any]:
    if key is not None:
        return convert.Fields(data, f"{asked.repository}, {asked.what}").objects(key, optional=False)
    if not isinstance(data, list):
        raise OutsideError(
            f"GitHub's answer about {asked.repository}, {asked.what}, is not a list; is api.base_url right?"
        )
    return data


def _has_more(data: Any, linked: bool | None, seen: int, full: bool) -> bool:
    if linked is not None:
        return linked
    total = data.get("total_count", data.get("total_commits")) if isinstance(data, dict) else None
    return seen < total if isinstance(total, int) else full


def _of_workflows(path: str, workflows: Sequence[str]) -> bool:
    plain = path.partition("@")[0]
    names = (plain, PurePosixPath(plain).name)
    return any(fnmatchcase(name, pattern) for pattern in workflows for name in names)


def _at_home(run: Run, owner: str, repo: str) -> Run:
    """The run with its repository named, which GitHub leaves out of some answers."""
    return run if run.repository_full_name else dataclasses.replace(run, repository_full_name=f"{owner}/{repo}")
