import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.config import Settings, load_settings, pipeline_type
from buildeye.config.loading import PLAIN_VARIABLES, TOKENS, setting_keys, variable_of
from buildeye.config.secrets import masked
from buildeye.config.settings import Language
from buildeye.model import Run, UsageError

ROOT = Path(__file__).parents[1]
SEED = """\
target_repository:
  owner: vllm-project
  repo: vllm-ascend
  url: https://github.com/vllm-project/vllm-ascend
  branch: main

monitored_workflows:
  - pr_test_full.yaml
  - pr_test_light.yaml

archive_repository:
  owner: winson-00178005
  repo: build-eye
  url: https://github.com/winson-00178005/build-eye.git

monitoring:
  polling_interval_hours: 6
  lookback_hours: 24
"""
TOKEN = "ghp_" + "a1" * 18

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(text: str) -> Path:
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return put


def load(path: Path | None, environ: dict[str, str] | None = None) -> Settings:
    """Settings of a file that gives no reason for a warning."""
    warnings: list[str] = []
    settings = load_settings(path, environ or {}, warnings.append)
    assert warnings == []
    return settings


def complaints(path: Path, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(UsageError) as caught:
        load_settings(path, environ or {}, lambda warning: None)
    return str(caught.value).splitlines()


def warnings_of(path: Path, environ: dict[str, str] | None = None) -> list[str]:
    warnings: list[str] = []
    load_settings(path, environ or {}, warnings.append)
    return warnings


def test_the_original_configuration_works_as_it_is(write: Write) -> None:
    settings = load(write(SEED))
    assert settings.target_repository.full_name == "vllm-project/vllm-ascend"
    assert settings.archive_repository.full_name == "winson-00178005/build-eye"
    assert settings.workflows == ("pr_test_full.yaml", "pr_test_light.yaml")
    assert (settings.monitoring.polling_interval_hours, settings.monitoring.lookback_hours) == (6, 24)


def test_workflows_may_be_added_below_the_target_repository(write: Write) -> None:
    nightly = (
        "target_repository:\n  monitored_workflows:\n    - schedule_nightly_test_a2.yaml\n    - pr_test_full.yaml\n"
    )
    settings = load(write(nightly + "monitored_workflows: [pr_test_full.yaml]\n"))
    assert settings.workflows == ("pr_test_full.yaml", "schedule_nightly_test_a2.yaml")


def test_without_a_file_defaults_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(None) == Settings()
    assert Settings().workflows == ()


def test_the_file_in_the_working_directory_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text("report: {language: ZH}\n")
    monkeypatch.chdir(tmp_path)
    assert load(None).report.language is Language.CHINESE


def test_a_named_file_that_does_not_exist_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no configuration file .*missing\.yaml"):
        load_settings(tmp_path / "missing.yaml", {}, print)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "monitoring:\n", "monitored_workflows:\nreport: ~\n"])
def test_what_is_left_empty_keeps_its_default(write: Write, text: str) -> None:
    assert load(write(text)) == Settings()


def test_a_repository_may_be_named_by_its_address_alone(write: Write) -> None:
    text = "target_repository: {url: https://github.com/a/b.git}\narchive_repository: {url: 'git@github.com:c/d.git'}\n"
    settings = load(write(text))
    assert (settings.target_repository.full_name, settings.archive_repository.full_name) == ("a/b", "c/d")


def test_the_original_environment_variables_win_over_the_file(write: Write) -> None:
    environ = {"TARGET_REPO_OWNER": "o", "TARGET_REPO_NAME": "r", "GITHUB_TOKEN": TOKEN, "ARCHIVE_TOKEN": "second"}
    settings = load(write(SEED), environ)
    assert settings.target_repository.full_name == "o/r"
    assert settings.target_repository.url == ""
    assert settings.github_token is not None and settings.github_token.get_secret_value() == TOKEN
    assert settings.archive_token is not None and settings.archive_token.get_secret_value() == "second"


def test_an_owner_from_the_environment_keeps_the_repo_of_an_address(write: Write) -> None:
    path = write("target_repository: {url: https://github.com/a/b}\n")
    assert load(path, {"TARGET_REPO_OWNER": "fork"}).target_repository.full_name == "fork/b"


def test_any_key_can_be_set_from_the_environment(write: Write) -> None:
    environ = {
        "BUILD_EYE_MONITORING__LOOKBACK_HOURS": "48",
        "BUILD_EYE_CLASSIFICATION__CONFIDENCE_THRESHOLDS__HIGH": "0.95",
        "BUILD_EYE_MONITORED_WORKFLOWS": "a.yaml, b.yaml",
        "BUILD_EYE_REPORT__LANGUAGE": "zh",
        "BUILD_EYE_API__PER_PAGE": "",
    }
    settings = load(write(SEED), environ)
    assert settings.monitoring.lookback_hours == 48
    assert settings.classification.confidence_thresholds.high == 0.95
    assert settings.workflows == ("a.yaml", "b.yaml")
    assert (settings.report.language, settings.api.per_page) == (Language.CHINESE, 100)


def test_options_win_over_the_environment(write: Write) -> None:
    environ = {"BUILD_EYE_MONITORING__LOOKBACK_HOURS": "48"}
    settings = load_settings(write(SEED), environ, print, {"monitoring.lookback_hours": 72})
    assert settings.monitoring.lookback_hours == 72
    with pytest.raises(UsageError, match=r"^command line: monitoring\.lookback_hours is 0; a number of hours, 1 to"):
        load_settings(write(SEED), environ, print, {"monitoring.lookback_hours": 0})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('monitoring:\n  polling_interval_hours: "six"\n',
         'config.yaml line 2: monitoring.polling_interval_hours is "six"; a number of hours, 1 to 168'),
        ("monitoring:\n  polling_interval_hours: 169\n",
         "config.yaml line 2: monitoring.polling_interval_hours is 169; a number of hours, 1 to 168"),
        ("monitoring: {lookback_hours: yes}\n",
         "config.yaml line 1: monitoring.lookback_hours is true; a number of hours, 1 to 2160"),
        ("monitoring: {lookback_hours: 1.5}\n",
         "config.yaml line 1: monitoring.lookback_hours is 1.5; a number of hours, 1 to 2160"),
        ("report:\n  language: fr\n", 'config.yaml line 2: report.language is "fr"; en or zh'),
        ("monitored_workflows:\n  - a.yaml\n  - 5\n",
         "config.yaml line 3: monitored_workflows[1] is 5; a list of workflow file names"),
        ("target_repository:\n  branch: 2.10\n",
         "config.yaml line 2: target_repository.branch is 2.1; "
         "the name of a branch, in quotes if it looks like a number"),
        ("target_repository: {owner: a/b}\n",
         'config.yaml line 1: target_repository.owner is "a/b"; a GitHub user or organisation, such as "vllm-project"'),
        ("classification:\n  confidence_thresholds:\n    high: 0.5\n",
         'config.yaml line 2: classification.confidence_thresholds is {"high": 0.5}; '
         "high, medium and low, each at most the one before"),
        ("monitoring: 5\n", "config.yaml line 1: monitoring is 5; a section with keys of its own"),
        ("\n\nmonitoring: []\n", "config.yaml line 3: monitoring is []; a section with keys of its own"),
        ("api:\n  base_url: api.github.com\n",
         'config.yaml line 2: api.base_url is "api.github.com"; '
         "an http(s) address without user name, password or token in it"),
        ("pipeline_types:\n  nightly: weekly\n",
         'config.yaml line 2: pipeline_types.nightly is "weekly"; a section with names and events'),
        ("storage:\n  warehouse_dsn: sqlite://x\n",
         'config.yaml line 2: storage.warehouse_dsn is "sqlite://x"; '
         "chdb://FOLDER, or clickhouse://HOST:PORT or http(s)://HOST:PORT of a ClickHouse server"),
        ("storage:\n  log_store: https://x/y\n",
         'config.yaml line 2: storage.log_store is "https://x/y"; '
         "empty for the folder logs below data_dir, a folder, or s3://BUCKET/PREFIX"),
        ("storage:\n  log_store: s3://me:hush@bucket\n",
         'config.yaml line 2: storage.log_store is "s3://***@bucket"; '
         "empty for the folder logs below data_dir, a folder, or s3://BUCKET/PREFIX"),
        ("api:\n  rate_limit_threshold_percent: 91\n",
         "config.yaml line 2: api.rate_limit_threshold_percent is 91; a share in percent, 0 to 90"),
        ("github_app:\n  app_id: 7\n",
         'config.yaml line 1: github_app is {"app_id": 7}; '
         "app_id, installation_id and key_file, all three or none; see docs/token-setup.md"),
    ],
)  # fmt: skip
def test_a_wrong_value_says_where_it_stands_and_what_is_allowed(write: Write, text: str, told: str) -> None:
    assert complaints(write(text)) == [told]


@pytest.mark.parametrize("place", ["", "logs", "/srv/logs", "s3://bucket", "s3://bucket/some/prefix"])
def test_logs_may_be_kept_in_a_folder_or_a_bucket(write: Write, place: str) -> None:
    assert load(write(f'storage:\n  log_store: "{place}"\n')).storage.log_store == place


def test_an_app_may_be_named_in_the_environment() -> None:
    app = {"APP_ID": "7", "INSTALLATION_ID": "42", "KEY_FILE": "/etc/app.pem"}
    settings = load(None, {f"BUILD_EYE_GITHUB_APP__{key}": value for key, value in app.items()})
    assert settings.github_app.given
    assert settings.github_app.key_file == Path("/etc/app.pem")


def test_all_wrong_values_are_told_each_on_a_line(write: Write) -> None:
    text = "monitoring:\n  lookback_hours: x\n  max_runs: 0\nreport:\n  language: de\n"
    assert [line.split(" is ")[0] for line in complaints(write(text), {"BUILD_EYE_API__PER_PAGE": "1000"})] == [
        "config.yaml line 2: monitoring.lookback_hours",
        "config.yaml line 3: monitoring.max_runs",
        "environment BUILD_EYE_API__PER_PAGE: api.per_page",
        "config.yaml line 5: report.language",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("monitoring:\n\tlookback_hours: 3\n", "config.yaml line 2, column 1: not valid YAML: "),
        ("a: [1\nb: 2\n", "config.yaml line 2, column 2: not valid YAML: "),
        ("a: *nobody\n", "config.yaml line 1, column 4: not valid YAML: found undefined alias"),
        ("a: !!python/object:os.system {}\n", "config.yaml line 1, column 4: not valid YAML: could not determine"),
        ("a: 1\n---\nb: 2\n", "config.yaml line 2, column 1: not valid YAML: "),
        ("a: 1\nb: \x07\n", "config.yaml line 2: not valid YAML: special characters are not allowed"),
        ("a: 2026-99-99\n", "config.yaml: not valid YAML: month must be in 1..12"),
        ("[" * 600, "config.yaml is nested too deep to be read"),
        ("- a\n", "config.yaml line 1: a section such as monitoring: is expected here"),
        ("\nhello\n", "config.yaml line 2: a section such as monitoring: is expected here"),
    ],
)
def test_what_is_no_yaml_mapping_is_told_in_one_line(write: Write, text: str, told: str) -> None:
    (line,) = complaints(write(text))
    assert line.startswith(told)


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"a: \xff\xfe")
    assert complaints(tmp_path / "binary.yaml") == ["binary.yaml is not UTF-8 text (byte 3); save it as UTF-8"]
    assert "cannot be read" in complaints(tmp_path)[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("monitoring:\n  lookback_hour: 3\n",
         "config.yaml line 2: monitoring.lookback_hour is not a setting and is ignored; "
         "did you mean monitoring.lookback_hours?"),
        ("lookback_hours: 3\n",
         "config.yaml line 1: lookback_hours is not a setting and is ignored; did you mean monitoring.lookback_hours?"),
        ("target_repositry: {}\n",
         "config.yaml line 1: target_repositry is not a setting and is ignored; did you mean target_repository?"),
        ("qqqqq: 1\n", "config.yaml line 1: qqqqq is not a setting and is ignored; see docs/configuration.md"),
        ("5: 1\n", "config.yaml line 1: 5 is not a setting and is ignored; see docs/configuration.md"),
        (f"github_token: {TOKEN}\n",
         "config.yaml line 1: github_token is ignored; a token belongs in the environment: GITHUB_TOKEN"),
        ("monitoring:\n  max_runs: 1\n  max_runs: 2\n",
         "config.yaml line 3: monitoring.max_runs is set a second time here; only this one counts"),
    ],
)  # fmt: skip
def test_what_is_ignored_is_warned_of(write: Write, text: str, told: str) -> None:
    assert warnings_of(write(text)) == [told]


def test_a_mistyped_environment_variable_is_warned_of(write: Write) -> None:
    assert warnings_of(write(""), {"BUILD_EYE_MONITORING_LOOKBACK_HOURS": "3"}) == [
        "environment BUILD_EYE_MONITORING_LOOKBACK_HOURS is not a setting and is ignored; "
        "did you mean BUILD_EYE_MONITORING__LOOKBACK_HOURS?"
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"api:\n  per_page: {TOKEN}\n",
        f"api: {{token: hush, other: {TOKEN}}}\nreport: {TOKEN}\n",
        "monitoring: [{password: hush}]\n",
        f"target_repository: {{url: 'https://x:{TOKEN}@github.com/a/b'}}\n",
        "archive_repository: {url: 'https://x:hush@github.com/a/b'}\n",
        f"a: *{TOKEN}\n",
        f"{TOKEN}: 1\nmonitoring: 5\n",
    ],
)
def test_secrets_in_a_file_are_never_repeated(write: Write, text: str) -> None:
    warnings: list[str] = []
    with pytest.raises(UsageError) as caught:
        load_settings(write(text), {}, warnings.append)
    told = "\n".join([str(caught.value), *warnings])
    assert TOKEN not in told
    assert "hush" not in told


def test_tokens_and_passwords_show_in_no_form_of_the_settings(write: Write) -> None:
    path = write("storage: {warehouse_dsn: 'https://reader:hush@ch.example:8443/ci'}\n")
    settings = load(path, {"GITHUB_TOKEN": TOKEN, "ARCHIVE_TOKEN": TOKEN})
    for form in (repr(settings), str(settings), settings.model_dump_json(), str(settings.model_dump())):
        assert TOKEN not in form
        assert "hush" not in form
    assert settings.storage.warehouse_dsn == "https://reader:hush@ch.example:8443/ci"


@pytest.mark.parametrize("token", ["ghp_a b", "ghp_\u200b", "a\nb"])
def test_a_token_with_characters_no_token_has_is_refused_without_showing_it(write: Write, token: str) -> None:
    (line,) = complaints(write(""), {"GITHUB_TOKEN": token})
    assert line == (
        "environment GITHUB_TOKEN holds characters that no token has; copy it again, see docs/token-setup.md"
    )


def test_the_token_of_prometheus_comes_from_the_environment_alone(write: Write) -> None:
    warnings: list[str] = []
    path = write(f"prometheus_token: {TOKEN}\n")
    assert load_settings(path, {}, warnings.append).prometheus_token is None
    assert "a token belongs in the environment: PROMETHEUS_TOKEN" in warnings[0] and TOKEN not in warnings[0]
    (line,) = complaints(write(""), {"PROMETHEUS_TOKEN": "reader:two words"})
    assert line.endswith("holds characters that no token has; copy it again, see docs/prometheus.md")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prometheus: {url: 'http://reader:hush@metrics.test'}", "prometheus.url is"),
        ("prometheus: {pool_label: 'a-b'}", 'prometheus.pool_label is "a-b"; the name of a label, such as name'),
        ("prometheus: {waiting: ''}", 'prometheus.waiting is ""; a PromQL expression'),
        ("api: {status_url: 'nobody'}", 'api.status_url is "nobody"; an http(s) address, none to ask nobody, or empty'),
    ],
)
def test_what_servers_outside_are_asked_is_checked(write: Write, text: str, said: str) -> None:
    (line,) = complaints(write(text), {})
    assert said in line and "hush" not in line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"a {TOKEN} b", "a *** b"),
        ("https://me:pa@ss@host/x", "https://***@host/x"),
        ("https://host/a@b", "https://host/a@b"),
        ("github_pat_11ABCDEFG_abc", "***"),
        ("monitoring", "monitoring"),
    ],
)
def test_secrets_are_masked_by_their_look(text: str, shown: str) -> None:
    assert masked(text) == shown


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
names = st.sampled_from([str(key) for path, _ in setting_keys() for key in path])
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | scalars, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(list(Settings.model_fields)), documents, max_size=5))
def test_whatever_a_file_holds_it_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, data: object) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    try:
        load_settings(path, {}, lambda warning: None)
    except UsageError as error:
        assert all(line.startswith("any.yaml") for line in str(error).splitlines())


@pytest.mark.parametrize(
    ("name", "path", "event", "kind"),
    [
        ("Nightly-A2", "", "schedule", "nightly"),
        ("Nightly-A3", "", "workflow_dispatch", "nightly"),
        ("E2E", ".github/workflows/schedule_nightly_test_a2.yaml@refs/heads/main", "schedule", "nightly"),
        ("Weekly benchmarks", "", "schedule", "weekly"),
        ("nightly and weekly", "", "schedule", "weekly"),
        ("E2E-Full", ".github/workflows/pr_test_full.yaml", "pull_request", "pr"),
        ("E2E-Full", "", "merge_group", "pr"),
        ("Stale", "", "schedule", "other"),
        ("Release", "", "push", "other"),
        ("", "", "", "other"),
    ],
)
def test_a_run_has_the_type_its_name_says_or_else_its_event(name: str, path: str, event: str, kind: str) -> None:
    run = Run(id=1, name=name, status="completed", path=path, event=event)
    assert pipeline_type(Settings(), run) == kind


def test_a_type_that_is_changed_in_part_keeps_the_rest(write: Write) -> None:
    settings = load(write("pipeline_types:\n  nightly:\n    events: [schedule]\n  other:\n    names: [stale*]\n"))
    assert pipeline_type(settings, Run(id=1, name="Deep checks", status="", event="schedule")) == "nightly"
    assert pipeline_type(settings, Run(id=1, name="Nightly-A2", status="", event="push")) == "nightly"
    assert pipeline_type(settings, Run(id=1, name="Stale issues", status="", event="schedule")) == "other"


def test_the_example_configuration_is_read_without_a_warning() -> None:
    settings = load(ROOT / "config" / "config.yaml")
    assert settings.target_repository.full_name == "vllm-project/vllm-ascend"


def test_every_setting_and_variable_is_documented_with_what_it_may_be() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = {match[1]: match[0] for match in re.finditer(r"^\| `([a-z_.]+)` \|.*$", text, re.MULTILINE)}
    for path, info in setting_keys():
        row = rows.pop(".".join(str(key) for key in path))
        extra = info.json_schema_extra
        assert isinstance(extra, dict)
        assert str(extra["allowed"]) in row
        assert str(info.description) in row
    assert rows == {}
    for variable in (*PLAIN_VARIABLES, *TOKENS.values(), variable_of(("monitoring", "lookback_hours"))):
        assert f"`{variable}`" in text
