"""Every setting with its default, its unit, what it means and what it may be: the one place to look them up.

The sentence after a wrong value ("a number of hours, 1 to 168") is `allowed` of the field, so message, limit and
documentation cannot drift apart. Nothing here reads files or the environment; `loading` does.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_serializer, model_validator

from buildeye.config.fields import (
    GITHUB_NAME,
    NOT_ASKED,
    Address,
    AddressOrNone,
    Count,
    Folders,
    Names,
    Number,
    Section,
    counted,
    git_address,
    lowered,
    names_in_address,
    section,
    setting,
)
from buildeye.config.secrets import masked
from buildeye.config.services import Ask, Deploy, Prometheus, Serve, Webhooks

GITHUB_API = "api.github.com"
GITHUB_STATUS = "https://www.githubstatus.com"


class Repository(Section):
    """A GitHub repository; `url` is taken apart when owner and repo are not given."""

    owner: str = setting(
        "", 'a GitHub user or organisation, such as "vllm-project"', "who owns the repository", pattern=GITHUB_NAME
    )
    repo: str = setting(
        "", 'the name of a repository without its owner, such as "vllm-ascend"', "its name", pattern=GITHUB_NAME
    )
    url: Address = setting("", "an http(s) address without user name, password or token in it", "its address")
    branch: str = setting(
        "main", "the name of a branch, in quotes if it looks like a number", "its main branch", min_length=1
    )

    @model_validator(mode="before")
    @classmethod
    def _names_from_url(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("url"), str):
            return given
        return names_in_address(given["url"]) | given

    @property
    def full_name(self) -> str:
        """`owner/repo`; empty when one of them is not set."""
        return f"{self.owner}/{self.repo}" if self.owner and self.repo else ""


class TargetRepository(Repository):
    """The repository whose CI is watched."""

    owner: str = setting(
        "vllm-project",
        'a GitHub user or organisation, such as "vllm-project"',
        "who owns the watched repository",
        pattern=GITHUB_NAME,
    )
    repo: str = setting(
        "vllm-ascend",
        'the name of a repository without its owner, such as "vllm-ascend"',
        "its name",
        pattern=GITHUB_NAME,
    )
    monitored_workflows: Names = setting((), "a list of workflow file names", "more workflow files to watch")


class ArchiveRepository(Repository):
    """The git repository that reports are archived in."""

    url: Annotated[str, AfterValidator(git_address)] = setting(
        "", "an address git can push to, without password or token in it (ARCHIVE_TOKEN is used)", "its address"
    )


class Monitoring(Section):
    """How often and how far back a pass looks."""

    polling_interval_hours: Count = counted(6, "hours", 1, 168, "hours between two passes of monitor --watch")
    lookback_hours: Count = counted(24, "hours", 1, 2160, "hours a pass looks back")
    max_runs: Count = counted(2000, "runs", 1, 100000, "runs one pass reads at most")


class Api(Section):
    """How GitHub's REST interface is spoken to."""

    base_url: Address = setting(
        "https://api.github.com",
        "an http(s) address without user name, password or token in it",
        "GitHub's address; https://HOST/api/v3 for GitHub Enterprise",
        min_length=1,
    )
    timeout_seconds: Number = counted(30.0, "seconds", 1, 600, "seconds one answer may take")
    max_retries: Count = counted(4, "retries", 0, 10, "retries after a failed answer")
    per_page: Count = counted(100, "entries", 1, 100, "entries asked for in one answer")
    concurrency: Count = counted(8, "requests", 1, 32, "requests under way at once")
    rate_limit_wait_seconds: Count = counted(
        3660, "seconds", 0, 7200, "seconds one request waits at most for a rate limit to end"
    )
    rate_limit_threshold_percent: Number = setting(
        10.0,
        "a share in percent, 0 to 90",
        "share of the hourly limit left to others: with no more left, Build-Eye waits until the limit starts anew",
        ge=0,
        le=90,
    )
    status_url: AddressOrNone = setting(
        "",
        "an http(s) address, none to ask nobody, or empty for https://www.githubstatus.com where GitHub is github.com",
        "the status page that tells GitHub's incidents, in Statuspage's form",
    )

    @property
    def status_page(self) -> str:
        """The address of the status page; empty when none is to be asked."""
        if self.status_url:
            return "" if self.status_url == NOT_ASKED else self.status_url
        return GITHUB_STATUS if urlsplit(self.base_url).hostname == GITHUB_API else ""


class GithubApp(Section):
    """The installation of a GitHub App that GitHub is read as, instead of with GITHUB_TOKEN; all three or none."""

    app_id: Count = setting(0, "the number of the App, or its absence with the two others", "number of the App", ge=0)
    installation_id: Count = setting(
        0, "the number of the installation, set together with app_id and key_file", "number of the installation", ge=0
    )
    key_file: Path | None = setting(None, "a file with the App's private key (PEM)", "file with the App's private key")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if len({bool(self.app_id), bool(self.installation_id), bool(self.key_file)}) > 1:
            raise ValueError("incomplete App")
        return self

    @property
    def given(self) -> bool:
        """Whether an App is set."""
        return bool(self.app_id)


class Thresholds(Section):
    """The least probability for each word of confidence; below `low` the answer is unknown."""

    high: Number = setting(0.9, "a probability, 0 to 1", "from here on: high", ge=0, le=1)
    medium: Number = setting(0.7, "a probability, 0 to 1", "from here on: medium", ge=0, le=1)
    low: Number = setting(0.5, "a probability, 0 to 1", "from here on: low; below: unknown", ge=0, le=1)

    @model_validator(mode="after")
    def _descend(self) -> Self:
        if not self.high >= self.medium >= self.low:
            raise ValueError("thresholds do not descend")
        return self


class Classification(Section):
    """How failures are judged."""

    confidence_thresholds: Thresholds = section(
        Thresholds, "least probability for each word of confidence", "high, medium and low, each at most the one before"
    )
    known_flaky_window_days: Count = counted(21, "days", 1, 365, "days a failure's history counts")
    reconsider_days: Count = counted(
        7, "days", 0, 90, "days back to which each pass judges again what it had judged; 0: never"
    )
    related_hours_before: Count = counted(
        12, "hours", 0, 168, "hours before a failure in which others count as related"
    )
    related_hours_after: Count = counted(3, "hours", 0, 168, "hours after a failure in which others count as related")


class TestsOf(StrEnum):
    """Of which runs a pass reads the test reports."""

    NONE = "none"
    FAILED = "failed"
    ALL = "all"


class Tests(Section):
    """Test reports (JUnit XML) that runs leave as artifacts."""

    of_runs: Annotated[TestsOf, BeforeValidator(lowered)] = setting(
        TestsOf.NONE, "none, failed or all", "of which runs a pass reads test reports; each artifact costs a request"
    )
    artifact_patterns: Names = setting(
        ("*junit*", "*test-result*", "*test_result*", "*test-report*", "*test_report*", "*surefire*"),
        "a list of patterns such as junit-*",
        "names of artifacts that hold test reports, * and ? as in a shell, capitals alike",
    )
    max_artifacts: Count = counted(500, "artifacts", 1, 10000, "artifacts one pass reads at most, newest first")
    max_artifact_mib: Count = counted(256, "MiB", 1, 4096, "size of an artifact up to which it is fetched")
    folder: str = setting(
        "",
        "a folder of the repository, such as test, or empty",
        "what files are below that reports name; empty: the top of the repository. CODEOWNERS is asked with it",
    )
    quarantine: Path = setting(
        Path("config/quarantine.yaml"), "a file", "the list of tests that are known to be flaky, and until when"
    )


class Language(StrEnum):
    """The language of reports."""

    ENGLISH = "en"
    CHINESE = "zh"


class Report(Section):
    """What reports look like and where they go."""

    language: Annotated[Language, BeforeValidator(lowered)] = setting(
        Language.ENGLISH, "en or zh", "language of reports"
    )
    output_dir: Path = setting(Path("reports"), "a folder", "where reports are written")
    max_log_lines: Count = counted(50, "lines", 1, 50, "log lines shown in a report at most")


class PipelineType(Section):
    """Which runs are of one type: by name patterns first, by event second."""

    names: Names = setting(
        (), "a list of patterns such as Nightly-*", "workflow or file names, * and ? as in a shell, capitals alike"
    )
    events: Names = setting((), "a list of event names such as schedule", "events that start such runs")


def _kind(meaning: str, names: tuple[str, ...] = (), events: tuple[str, ...] = ()) -> Any:
    return setting(PipelineType(names=names, events=events), "a section with names and events", meaning)


class PipelineTypes(Section):
    """The four types; `pipelines.pipeline_type` says how a run gets its one. A key not given keeps its default."""

    weekly: PipelineType = _kind("weekly runs", names=("*weekly*",))
    nightly: PipelineType = _kind("nightly runs", names=("Nightly-*", "*nightly*"))
    pr: PipelineType = _kind("runs of pull requests", events=("pull_request", "pull_request_target", "merge_group"))
    other: PipelineType = _kind("runs that are none of these")

    @model_validator(mode="before")
    @classmethod
    def _keep_defaults(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        defaults = {name: info.default.model_dump() for name, info in cls.model_fields.items()}
        return {
            name: defaults.get(name, {}) | value if isinstance(value, dict) else value for name, value in given.items()
        }


class LogLevel(StrEnum):
    """How much the program tells of its own work."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """Plain lines for people, JSON lines for collectors."""

    TEXT = "text"
    JSON = "json"


class Logging(Section):
    """The program's own log, not the logs of CI."""

    level: Annotated[LogLevel, BeforeValidator(lowered)] = setting(
        LogLevel.INFO, "debug, info, warning or error", "least level that is logged"
    )
    format: Annotated[LogFormat, BeforeValidator(lowered)] = setting(
        LogFormat.TEXT, "text or json", "form of the lines"
    )
    file: Path | None = setting(None, "a file", "where lines go; standard error when not set")


class Storage(Section):
    """Where facts are kept, and for how long."""

    warehouse_dsn: str = setting(
        "chdb://.build-eye/warehouse",
        "chdb://FOLDER, or clickhouse://HOST:PORT or http(s)://HOST:PORT of a ClickHouse server",
        "the warehouse: a folder in process, or a server",
        pattern=r"^(chdb|https?|clickhouses?)://",
        repr=False,
    )
    data_dir: Path = setting(Path(".build-eye"), "a folder", "logs, caches and state")
    log_store: str = setting(
        "",
        "empty for the folder logs below data_dir, a folder, or s3://BUCKET/PREFIX",
        "where logs of jobs are kept",
        pattern=r"^(s3://[^/@?#]+(/[^@?#]*)?|[^:]*)$",
    )
    knowledge_dirs: Folders = setting((), "a list of folders", "folders with rule packs and advice of your own")
    retention_days: Count = counted(365, "days", 1, 3650, "days facts and logs are kept")

    @field_serializer("warehouse_dsn")
    def _without_password(self, value: str) -> str:
        return masked(value)


class Settings(Section):
    """All settings of one process. Paths are relative to the working directory; tokens show as asterisks only."""

    target_repository: TargetRepository = section(TargetRepository, "the repository whose CI is watched")
    monitored_workflows: Names = setting((), "a list of workflow file names", "workflow files watched; none named: all")
    archive_repository: ArchiveRepository = section(
        ArchiveRepository, "the repository reports are archived in; none: not archived"
    )
    monitoring: Monitoring = section(Monitoring, "how often and how far back a pass looks")
    api: Api = section(Api, "how GitHub is spoken to")
    github_app: GithubApp = section(
        GithubApp,
        "the GitHub App to read GitHub as",
        "app_id, installation_id and key_file, all three or none; see docs/token-setup.md",
    )
    classification: Classification = section(Classification, "how failures are judged")
    tests: Tests = section(Tests, "test reports that runs leave as artifacts")
    report: Report = section(Report, "what reports look like and where they go")
    pipeline_types: PipelineTypes = section(PipelineTypes, "which runs are nightly, weekly or of a pull request")
    logging: Logging = section(Logging, "the program's own log")
    storage: Storage = section(Storage, "where facts are kept, and for how long")
    prometheus: Prometheus = section(Prometheus, "the Prometheus server that knows how busy runner pools are")
    serve: Serve = section(Serve, "where the server listens")
    ask: Ask = section(Ask, "what one query may cost")
    webhooks: Webhooks = section(Webhooks, "what the door for webhooks lets in")
    deploy: Deploy = section(Deploy, "where the deploy supervisor keeps its journal and its runs")
    github_token: SecretStr | None = Field(default=None, description="from GITHUB_TOKEN; never from a file")
    archive_token: SecretStr | None = Field(default=None, description="from ARCHIVE_TOKEN; never from a file")
    prometheus_token: SecretStr | None = Field(
        default=None, description="from PROMETHEUS_TOKEN: a bearer token, or user:password; never from a file"
    )
    webhook_secret: SecretStr | None = Field(default=None, description="from GITHUB_WEBHOOK_SECRET; never from a file")
    serve_token: SecretStr | None = Field(
        default=None, description="from BUILD_EYE_TOKEN: opens the doors of build-eye serve; never from a file"
    )

    @property
    def workflows(self) -> tuple[str, ...]:
        """Watched workflow files from both places, each once, in order; empty means all."""
        return tuple(dict.fromkeys(self.monitored_workflows + self.target_repository.monitored_workflows))

    @property
    def deploy_journal(self) -> str:
        """The address of the journal of deployments."""
        return self.deploy.journal or f"sqlite:///{self.storage.data_dir / 'deploy.sqlite'}"

    @property
    def deploy_directory(self) -> Path:
        """The folder of what the deploy supervisor keeps beside its journal: a folder a run, and its sockets."""
        return Path(self.deploy.directory) if self.deploy.directory else self.storage.data_dir / "deploy"
