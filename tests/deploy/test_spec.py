"""deploy.yaml: what may stand in it, what is said of what may not, and what is filled in when it is used."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from buildeye.config.complaints import allowed_of, dotted, keys_of
from buildeye.deploy.explain import limit_text
from buildeye.deploy.judges import (
    AttentionSettings,
    CanarySettings,
    CleanSettings,
    HttpSettings,
    ProcessSettings,
    RateSettings,
)
from buildeye.deploy.spec import (
    Profile,
    RateSource,
    ServiceSpec,
    filled,
    for_version,
    load_spec,
    saved,
    spec_of,
    starter,
    template,
)
from buildeye.deploy.spec.starter import default_of, yaml_of
from buildeye.deploy.supervisor.limits import Limits, limits_of
from buildeye.model import UsageError
from buildeye.model.deployments import SignalKind

ROOT = Path(__file__).parents[2]
LEAST = "service: web\ncommand: [./run]\nlisten: {port: 8080}\n"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(text: str) -> Path:
        path = tmp_path / "deploy.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return put


def load(path: Path, environ: dict[str, str] | None = None) -> ServiceSpec:
    """The spec of a file that gives no reason for a warning."""
    warnings: list[str] = []
    spec = load_spec(path, environ or {}, warnings.append)
    assert warnings == []
    return spec


def complaints(path: Path) -> list[str]:
    with pytest.raises(UsageError) as caught:
        load_spec(path, {}, lambda warning: None)
    return str(caught.value).splitlines()


def warnings_of(path: Path, environ: dict[str, str] | None = None) -> list[str]:
    warnings: list[str] = []
    load_spec(path, environ or {}, warnings.append)
    return warnings


def test_three_lines_are_enough(write: Write) -> None:
    spec = load(write(LEAST))
    assert (spec.service, spec.command, spec.listen.port) == ("web", ("./run",), 8080)
    assert (spec.health.interval_seconds, spec.window.hours, spec.profile) == (30, 24, Profile.DEFAULT)


@pytest.mark.parametrize("text, says", [
    (LEAST + "health:\n  interval_seconds: fast\n",
     'deploy.yaml line 5: health.interval_seconds is "fast"; a number of seconds, 1 to 3600'),
    (LEAST + "health: {interval_seconds: 0}\n",
     "deploy.yaml line 4: health.interval_seconds is 0; a number of seconds, 1 to 3600"),
    (LEAST + "health: {failures: yes}\n",
     "deploy.yaml line 4: health.failures is true; a number of probes, 1 to 100"),
    (LEAST + "health: {path: health}\n",
     'deploy.yaml line 4: health.path is "health"; a path that begins with /'),
    (LEAST + "profile: clasic\n", 'deploy.yaml line 4: profile is "clasic"; default or classic'),
    (LEAST + "stop: {signal: TREM}\n", 'deploy.yaml line 4: stop.signal is "TREM"; a signal such as TERM'),
    (LEAST + "drain: 30\n", "deploy.yaml line 4: drain is 30; a section with keys of its own"),
    (LEAST + "hooks:\n  on_anomaly: rm -rf x\n",
     'deploy.yaml line 5: hooks.on_anomaly is "rm -rf x"; a list of words, or [] for none'),
    (LEAST + "repository: web\n", 'deploy.yaml line 4: repository is "web"; OWNER/REPO, or empty'),
    ("service: ../web\ncommand: [a]\nlisten: {port: 1}\n",
     'deploy.yaml line 1: service is "../web"; a name of letters, digits, . _ and -'),
    ("service: web\ncommand: [./run, yes]\nlisten: {port: 1}\n",
     "deploy.yaml line 2: command[1] is true; a list of words such as [./run, --port, '{port}']"),
    ("service: web\ncommand: [a]\nlisten: {port: 70000}\n",
     "deploy.yaml line 3: listen.port is 70000; a port, 1 to 65535"),
    (LEAST + "environment:\n  A: b\n  DEBUG: yes\n",
     "deploy.yaml line 6: environment.DEBUG is ***; names with texts; yes, no, on and off need quotes"),
    (LEAST + "environment: {'NOT A NAME': x}\n",
     "deploy.yaml line 4: environment.NOT A NAME is ***; names with texts; yes, no, on and off need quotes"),
    (LEAST + "rate: {source: tables, dsn: [hush]}\n",
     "deploy.yaml line 4: rate.dsn is ***; an address of a database, ${NAME} for its password"),
    (LEAST + "monitoring:\n", "deploy.yaml line 4: monitoring is not a key of deploy.yaml; see docs/deploy-yaml.md"),
    (LEAST + "health:\n  intervall_seconds: 5\n",
     "deploy.yaml line 5: health.intervall_seconds is not a key of deploy.yaml; did you mean health.interval_seconds?"),
    (LEAST + "failures: 5\n",
     "deploy.yaml line 4: failures is not a key of deploy.yaml; did you mean health.failures?"),
    (LEAST + "rolback: {automatic: false}\n",
     "deploy.yaml line 4: rolback is not a key of deploy.yaml; did you mean rollback?"),
    (LEAST + "retain: 2\nretain: 3\n", "deploy.yaml line 5: retain is set a second time; keep one"),
])  # fmt: skip
def test_a_wrong_value_is_told_with_its_line_and_what_is_allowed(write: Write, text: str, says: str) -> None:
    assert complaints(write(text)) == [says]


@pytest.mark.parametrize("more, says", [
    ("window: {hours: 24, deadline_hours: 12}",
     "window.deadline_hours is below window.hours (24); the window ends first"),
    ("rate: {source: tables, dsn: 'sqlite:///x'}", "rate.source is tables and needs rate.project, which is not set"),
    ("rate: {source: query, dsn: 'sqlite:///x'}", "rate.source is query and needs rate.query, which is not set"),
    ("rate: {source: endpoint}", "rate.source is endpoint and needs rate.url, which is not set"),
    ("rate: {query: SELECT 1}",
     "rate.query is not read with rate.source none; leave it out or change the source"),
    ("rate: {fail: 0.05, warn: 0.01}", "rate.warn is below rate.fail (0.05); a warning comes first"),
    ("canary: {path: /task, command: [./try]}",
     "canary.command is a second canary beside canary.path; keep one of them"),
    ("canary: {body: x}", "canary.body is only sent with canary.path; set it or leave the body out"),
    ("health: {deadline_seconds: 5}",
     "health.deadline_seconds must be above health.minimum_uptime_seconds (10); no start could pass"),
    ("health: {successes: 100, start_interval_seconds: 300}",
     "health.deadline_seconds is too short for health.successes probes; no start could pass"),
    ("process: {restart_seconds: 90}", "process.restart_most_seconds is below process.restart_seconds (90)"),
    ("process: {slow_hours: 0.1}", "process.slow_hours is below process.window_seconds (600)"),
    ("profile: classic\nrate: {margin: 0.1}",
     "rate.margin is not read in profile classic, which decides as the first monitor; leave it out"),
    ("profile: classic\nrate: {source: endpoint, url: 'http://h'}",
     "rate.source is endpoint; profile classic reads none or tables"),
    ("environment: {LISTEN_FDS: 1}", "environment.LISTEN_FDS is set by the supervisor; leave it out"),
])  # fmt: skip
def test_keys_that_do_not_fit_each_other_are_told(write: Write, more: str, says: str) -> None:
    (complaint,) = complaints(write(LEAST + more + "\n"))
    assert complaint.split(": ", 1)[1] == says
    assert re.match(r"deploy\.yaml line [45]: ", complaint)


@pytest.mark.parametrize("switch", ["switch_command: [./flip], current_command: [./which]", "switch_file: upstream"])
def test_beside_a_switch_the_port_is_that_of_the_proxy(write: Write, switch: str) -> None:
    spec = load(write(f"service: web\ncommand: [a]\nlisten: {{port: 80, handover: port, {switch}}}\n"))
    assert (spec.listen.port, spec.listen.handover, spec.listen.switch_text) == (80, "port", "{address}\n")


@pytest.mark.parametrize("listen, says", [
    ("", "says no way to be reached; set one of listen.port, listen.socket, listen.switch_command and"),
    ("port: 1, socket: /run/x", "listen.socket is a second way to be reached beside listen.port; keep one of them"),
    ("switch_command: [./flip]", "listen.switch_command needs listen.current_command"),
    ("socket: /run/x, switch_file: f", "listen.switch_file is a second way to be reached beside listen.socket"),
    ("port: 1, handover: port", "listen.handover is only used with listen.switch_command or listen.switch_file"),
    ("port: 1, current_command: [./which]", "listen.current_command is only used with listen.switch_command"),
])  # fmt: skip
def test_there_is_exactly_one_way_to_listen(write: Write, listen: str, says: str) -> None:
    (complaint,) = complaints(write(f"service: web\ncommand: [a]\nlisten: {{{listen}}}\n"))
    assert says in complaint and complaint.startswith("deploy.yaml line 3: listen")


def test_all_complaints_come_at_once(write: Write) -> None:
    assert complaints(write("retain: 99\nzzz: 1\nhealth: {path: x}\n")) == [
        "deploy.yaml line 2: zzz is not a key of deploy.yaml; see docs/deploy-yaml.md",
        "deploy.yaml line 1: retain is 99; a number of versions, 1 to 20",
        'deploy.yaml line 3: health.path is "x"; a path that begins with /',
    ]
    assert [line.split(": ", 1)[1].split(" ")[0] for line in complaints(write("retain: 3\n"))] == [
        "service", "command", "listen",
    ]  # fmt: skip


def test_a_file_that_is_not_there_or_no_yaml_is_told(tmp_path: Path, write: Write) -> None:
    assert complaints(tmp_path / "none.yaml") == [
        f"there is no file {tmp_path}/none.yaml; build-eye deploy init writes one"
    ]
    assert "not valid YAML" in complaints(write("service: [\n"))[0]


def test_values_are_taken_as_people_write_them(write: Write) -> None:
    text = LEAST.replace("[./run]", "[./run, --port, 8080]")
    text += "stop: {signal: sigint}\nenvironment: {PORT: 8080, RATE: 0.5}\ncanary: {path: /t, body: {a: [1, x]}}\n"
    spec = load(write(text + "profile: Classic\npromote: manual\nnotify:\n"))
    assert spec.command == ("./run", "--port", "8080")
    assert spec.environment == {"PORT": "8080", "RATE": "0.5"}
    assert (spec.stop.signal, json.loads(spec.canary.body)) == ("INT", {"a": [1, "x"]})
    assert (spec.profile, spec.promote, spec.notify) == (Profile.CLASSIC, "manual", ())


@pytest.mark.parametrize("more, interval", [
    ("", 30), ("profile: classic\n", 300), ("profile: classic\nhealth: {failures: 4}\n", 300),
    ("profile: classic\nhealth: {interval_seconds: 60}\n", 60),
])  # fmt: skip
def test_the_classic_profile_has_the_pace_of_the_first_monitor(write: Write, more: str, interval: int) -> None:
    assert load(write(LEAST + more)).health.interval_seconds == interval


@pytest.mark.parametrize("more, failures", [
    ("", HttpSettings().failures), ("profile: classic\n", 3), ("profile: classic\nhealth: {failures: 5}\n", 5),
])  # fmt: skip
def test_the_classic_profile_forgives_as_many_failures_as_the_first_monitor(
    write: Write, more: str, failures: int
) -> None:
    assert load(write(LEAST + more)).health.failures == failures


def test_a_file_that_says_nothing_is_judged_by_the_judges_own_limits() -> None:
    everything = {"canary": {"path": "/task"}, "rate": {"source": "endpoint", "url": "http://h"}}
    assert limits_of(spec_of(everything)) == Limits(
        ProcessSettings(), HttpSettings(), CanarySettings(), RateSettings(), CleanSettings(), AttentionSettings()
    )


def test_a_service_that_is_not_started_again_fails_with_its_first_exit() -> None:
    assert not limits_of(spec_of({"process": {"restart": False}})).process.restarts


def test_the_limits_that_are_explained_are_the_defaults_of_the_file() -> None:
    defaults = ServiceSpec().model_dump(mode="json")
    assert [limit_text(signal, {}) for signal in SignalKind] == [limit_text(signal, defaults) for signal in SignalKind]
    assert limit_text(SignalKind.HTTP, {}) == (
        "4 checks in a row fail (8 s apart after the first failure), or 40 % of at least 15 within 10 min"
    )


SECRETS = LEAST + (
    "environment: {DB: 'postgres://me:${DB_PASSWORD}@db/x', TZ: UTC}\nnotify: ['slack://${SLACK}/chan']\n"
    "rate: {source: tables, dsn: 'postgresql://me:${DB_PASSWORD}@db/x', project: p}\n"
)
ENVIRON = {"DB_PASSWORD": "hush-db", "SLACK": "hush-slack"}


def test_variables_are_kept_as_text_and_filled_in_only_when_used(write: Write) -> None:
    spec = load(write(SECRETS), ENVIRON)
    assert "hush" not in repr(spec) + json.dumps(saved(spec))
    used = filled(spec, ENVIRON)
    assert used.environment == {"DB": "postgres://me:hush-db@db/x", "TZ": "UTC"}
    assert used.notify == ("slack://hush-slack/chan",)
    assert used.rate.dsn == "postgresql://me:hush-db@db/x"
    assert "hush" not in repr(used)


def test_a_variable_that_is_not_set_is_named_and_no_value_of_others(write: Write) -> None:
    path = write(SECRETS)
    assert warnings_of(path, {"SLACK": "hush-slack"}) == [
        "deploy.yaml line 4: environment.DB needs the variable DB_PASSWORD, which is not set here",
        "deploy.yaml line 6: rate.dsn needs the variable DB_PASSWORD, which is not set here",
    ]
    with pytest.raises(UsageError) as caught:
        filled(load(path, ENVIRON), {"SLACK": "hush-slack"})
    assert str(caught.value).startswith("web: environment.DB needs DB_PASSWORD; rate.dsn needs DB_PASSWORD: not set")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("more, key, name", [
    ("environment: {DB: 'postgres://me:hush@db/x'}", "environment.DB", "DB"),
    ("environment: {GH: ghp_hushhushhush}", "environment.GH", "GH"),
    ("rate: {source: tables, project: p, dsn: 'postgresql://me:hush@db/x'}", "rate.dsn", "RATE_DSN"),
    ("rate: {source: endpoint, url: 'https://me:hush@h/x'}", "rate.url", "RATE_URL"),
])  # fmt: skip
def test_a_secret_as_text_is_refused_and_not_shown(write: Write, more: str, key: str, name: str) -> None:
    (complaint,) = complaints(write(LEAST + more + "\n"))
    assert complaint == (
        f"deploy.yaml line 4: {key} holds a secret as text; "
        f"write ${{{name}}} for it and set that where the supervisor runs"
    )


def test_what_only_may_be_a_secret_is_warned_of(write: Write) -> None:
    path = write(LEAST + "environment: {API_TOKEN: abc, MAX_TOKENS: 4096, TOKENIZERS_PARALLELISM: 'false'}\n")
    assert warnings_of(path) == [
        "deploy.yaml line 4: environment.API_TOKEN is kept in the journal as it stands; ${API_TOKEN} would not be"
    ]


def test_an_address_that_holds_its_token_is_not_kept_in_the_journal(write: Write) -> None:
    path = write(LEAST + "notify: ['slack://a/b/c', 'json://127.0.0.1:80/x', '${MAIL}']\n")
    (warning,) = warnings_of(path, {"MAIL": "x"})
    assert warning.startswith("deploy.yaml line 4: notify[0] has no ${NAME} for its secret and is not kept")
    assert saved(load_spec(path, {"MAIL": "x"}, print))["notify"] == ["json://127.0.0.1:80/x", "${MAIL}"]


@pytest.mark.parametrize(
    "more", ["", "profile: classic\n", "canary: {path: /t}\nhooks: {on_anomaly: [a, '{version}']}\n"]
)
def test_a_spec_is_saved_as_json_and_comes_back(write: Write, more: str) -> None:
    spec = load(write(LEAST + more))
    kept = json.loads(json.dumps(saved(spec)))
    assert spec_of(kept) == spec
    assert spec_of(kept | {"of a newer version": 1, "health": kept["health"] | {"new": 2}}) == spec
    with pytest.raises(UsageError, match=r"cannot be read by this version \(health\.failures, retain\): deploy anew"):
        spec_of(kept | {"retain": "many", "health": {"failures": -1}})


@pytest.mark.parametrize("text, filled_in", [
    ("{version}", "1.2"),
    ("run-{version}-{port}-{commit}", "run-1.2-8080-abc"),
    ('{"version": "{version}", "x": {}}', '{"version": "1.2", "x": {}}'),
    ("${version} ${PORT} {Version} {other} {", "${version} ${PORT} {Version} {other} {"),
    ("awk '{print $1}'", "awk '{print $1}'"),
    ("{{port}}", "{8080}"),
])  # fmt: skip
def test_a_template_fills_in_three_words_and_leaves_other_braces_alone(text: str, filled_in: str) -> None:
    assert template(text, "1.2", 8080, "abc") == filled_in


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    assert template("{version}", "{port}", 8080) == "{port}"


@given(st.text().filter(lambda text: not re.search(r"\{(version|port|commit)\}", text)))
def test_a_text_without_the_three_words_stays(text: str) -> None:
    assert template(text, "1", 2, "3") == text


def test_a_version_is_filled_in_wherever_commands_and_folders_are(write: Write) -> None:
    text = (
        "service: web\ncommand: [./run, '{port}']\ndirectory: releases/{version}\nenvironment: {V: '{commit}'}\n"
        "listen: {switch_command: [./flip, '{version}'], current_command: [./which]}\n"
        "hooks: {before_start: ['{port}']}\n"
    )
    spec = for_version(load(write(text)), "1.2", 8080, "abc")
    assert (spec.command, spec.directory, spec.environment) == (("./run", "8080"), "releases/1.2", {"V": "abc"})
    assert (spec.listen.switch_command, spec.hooks.before_start) == (("./flip", "1.2"), ("8080",))
    assert spec.hooks.timeout_seconds == 60


def test_the_starter_is_valid_as_it_stands(write: Write) -> None:
    spec = load(write(starter("web", 8080, ("./run", "--port", "{port}"), "o/r")))
    assert spec == load(
        write("service: web\ncommand: [./run, --port, '{port}']\nrepository: o/r\nlisten: {port: 8080}\n")
    )
    assert load(write(starter("web", command=("a",), socket="/run/web.sock"))).listen.socket == "/run/web.sock"


def test_a_starter_of_nothing_lacks_only_what_is_marked_to_be_filled_in(write: Write) -> None:
    text = starter("")
    marked = [line.split(":")[0].strip() for line in text.splitlines() if line.endswith("# fill in")]
    assert marked == ["service", "command", "port"]
    assert [line.split(": ", 1)[1].split(" ")[0] for line in complaints(write(text))] == [
        "service",
        "command",
        "listen",
    ]


def test_the_starter_shows_every_key_with_its_default(write: Write) -> None:
    text = starter("web", 8080, ("./run",))
    all_set = re.sub(r"^( *)# (\w+: ?.*)$", r"\1\2", text, flags=re.MULTILINE)
    shown = yaml.safe_load(all_set)
    for path, _ in keys_of(ServiceSpec):
        value = shown
        for key in path:
            assert key in value, f"the starter has no {dotted(path)}"
            value = value[key]
    assert load(write(all_set)) == load(write(text)) == load(write(LEAST))


def test_the_page_on_deploy_yaml_says_of_every_key_what_the_model_says() -> None:
    page = (ROOT / "docs/deploy-yaml.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{dotted(path)}` | {f'`{default}`' if (default := yaml_of(default_of(info))) else 'none'} "
        f"| {allowed_of(info)} | {info.description} |"
        for path, info in keys_of(ServiceSpec)
    ]


def test_the_examples_on_the_page_can_be_loaded(write: Write) -> None:
    page = (ROOT / "docs/deploy-yaml.md").read_text()
    examples = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(examples) >= 3
    for example in examples:
        load_spec(write(example), {}, lambda warning: None)


@pytest.mark.parametrize("source", RateSource)
def test_every_rate_source_can_be_set(write: Write, source: RateSource) -> None:
    keys = {
        RateSource.NONE: "", RateSource.TABLES: "dsn: 'sqlite:///x', project: p", RateSource.ENDPOINT: "url: 'http://h'",
        RateSource.QUERY: "dsn: 'sqlite:///x', query: SELECT 1",
        RateSource.PROMETHEUS: "url: 'http://h', good: a, total: b",
    }[source]  # fmt: skip
    assert load(write(f"{LEAST}rate: {{source: {source}, {keys}}}\n")).rate.source is source
