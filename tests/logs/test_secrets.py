"""What must be masked in a quoted line, and what must stay readable.

Every secret here is made at run time from a prefix and random characters, so that the file itself holds none.
"""

import base64
import random
import string
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.logs.secret_kinds import KINDS, Kind
from buildeye.logs.secrets import Masker, mask, strip_controls

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM, HEX = LOWER + UPPER + DIGITS, "0123456789abcdef"
BASE64 = ALNUM + "+/"

Planted = tuple[str, str]
"""A piece of text, and the secret in it."""


def some(rng: random.Random, count: int, alphabet: str = ALNUM) -> str:
    """`count` random characters, with a small letter, a capital and a digit where the alphabet has them."""
    sure = [pool[rng.randrange(len(pool))] for pool in (LOWER, UPPER, DIGITS) if set(pool) <= set(alphabet)]
    return "".join(sure) + "".join(rng.choice(alphabet) for _ in range(count - len(sure)))


def uuid(rng: random.Random) -> str:
    return "-".join(some(rng, count, HEX) for count in (8, 4, 4, 4, 12))


def pem_body(rng: random.Random, lines: int = 3) -> list[str]:
    return [some(rng, 64, BASE64) for _ in range(lines)] + [some(rng, 22, BASE64) + "=="]


def made(template: str, count: int = 24, alphabet: str = ALNUM) -> Callable[[random.Random], Planted]:
    """`template` with its `@@` replaced by a random secret."""

    def make(rng: random.Random) -> Planted:
        secret = some(rng, count, alphabet)
        return template.replace("@@", secret), secret

    return make


def made_uuid(template: str) -> Callable[[random.Random], Planted]:
    def make(rng: random.Random) -> Planted:
        secret = uuid(rng)
        return template.replace("@@", secret), secret

    return make


def dotted(template: str, *counts: int) -> Callable[[random.Random], Planted]:
    """Several random parts with dots between them."""

    def make(rng: random.Random) -> Planted:
        secret = ".".join(some(rng, count) for count in counts)
        return template.replace("@@", secret), secret

    return make


SECRETS: dict[str, list[Callable[[random.Random], Planted]]] = {
    "GitHub token": [made(f"gh{letter}_@@", 36) for letter in "pousr"],
    "GitHub fine-grained token": [made("github_" + "pat_@@", 82, ALNUM + "_")],
    "GitLab token": [made("glpat" + "-@@", 20), made("glrt" + "-@@", 20), made("glcbt" + "-64_@@", 20)],
    "AWS access key id": [made("AK" + "IA@@", 16, UPPER + DIGITS), made("AS" + "IA@@", 16, UPPER + DIGITS)],
    "AWS secret key": [
        made("aws_secret_access_key = @@", 40, BASE64),
        made("AWS_SECRET_ACCESS_KEY=@@", 40, BASE64),
        made('"SecretAccessKey": "@@"', 40, BASE64),
    ],
    "AWS session token": [made("AWS_SESSION_TOKEN=@@", 300, BASE64), made("aws_session_token: '@@'", 120, BASE64)],
    "Azure storage key": [made("AccountName=x;AccountKey=@@==;EndpointSuffix=y", 86, BASE64)],
    "Azure client secret": [lambda rng: ((s := some(rng, 3) + "8Q~" + some(rng, 34)), s)],
    "Google service account key": [made('"private_key_id": "@@"', 40, HEX)],
    "Google API key": [made("AI" + "za@@", 35)],
    "Google OAuth token": [made("ya" + "29.@@", 60), made("GOC" + "SPX-@@", 28)],
    "Slack token": [made(f"xo{kind}-@@", 40) for kind in ("xb", "xp", "xa", "xs")],
    "Slack webhook": [made("https://hooks.slack.com/services/T0/B0/@@")],
    "Discord webhook": [made("https://discord.com/api/webhooks/123456789/@@", 68)],
    "Discord bot token": [lambda rng: ((s := f"M{some(rng, 23)}.{some(rng, 6)}.{some(rng, 38)}"), s[1:])],
    "DingTalk webhook": [made("https://oapi.dingtalk.com/robot/send?access_token=@@", 64, HEX)],
    "Lark webhook": [made_uuid("https://open.feishu.cn/open-apis/bot/v2/hook/@@")],
    "WeCom webhook": [made_uuid("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=@@")],
    "Teams webhook": [made("https://x.webhook.office.com/webhookb2/a@b/IncomingWebhook/@@", 32, HEX)],
    "Telegram bot token": [made("https://api.telegram.org/bot123456789:AA@@/getMe", 33)],
    "npm token": [made("npm" + "_@@", 36)],
    "npm registry auth": [made("//registry.example/:_authToken=@@", 36), made("_auth = @@", 20)],
    "PyPI token": [made("pypi" + "-AgE@@", 160)],
    "RubyGems key": [made("rubygems" + "_@@", 48, HEX)],
    "NuGet key": [made("oy" + "2@@", 43, LOWER + DIGITS)],
    "crates.io token": [made("ci" + "o@@", 32)],
    "Docker Hub token": [made("dckr" + "_pat_@@", 27), made("dckr" + "_oat_@@", 32)],
    "Docker config auth": [made('{"auths":{"x":{"auth": "@@=="}}}', 22)],
    "Hugging Face token": [made("h" + "f_@@", 34)],
    "Anthropic key": [made("sk" + "-ant-api03-@@", 95)],
    "OpenAI project key": [made("sk" + "-proj-@@", 100)],
    "OpenAI key": [made("sk" + "-@@", 48), made("sk" + "-@@", 32, HEX)],
    "model service key": [made("nv" + "api-@@", 64), made("gs" + "k_@@", 52), made_uuid("ms" + "-@@")],
    "Stripe key": [made("sk" + "_live_@@"), made("rk" + "_test_@@"), made("wh" + "sec_@@", 32)],
    "Twilio key": [made("S" + "K@@", 32, HEX)],
    "SendGrid key": [dotted("S" + "G.@@", 22, 43)],
    "Mailgun key": [made("ke" + "y-@@", 32, HEX)],
    "Databricks token": [made("da" + "pi@@", 32, HEX)],
    "Cloudflare key": [made("v1.0-0123456789abcdef01234567-@@", 146, HEX), made("CLOUDFLARE_API_TOKEN=@@", 40)],
    "DigitalOcean token": [made("do" + "p_v1_@@", 64, HEX)],
    "Vault token": [made("hv" + "s.@@", 90)],
    "Vault legacy token": [made("s" + ".@@", 24)],
    "Terraform Cloud token": [lambda rng: (f"{some(rng, 14)}.atlas" + "v1." + (s := some(rng, 64)), s)],
    "Heroku key": [made("HR" + "KU-AA@@", 58), made_uuid("HEROKU_API_KEY=@@")],
    "Grafana token": [made("gl" + "sa_@@_01234567", 32)],
    "service token": [made("shp" + "at_@@", 32, HEX), made("lin_" + "api_@@", 40)],
    "Alibaba or Tencent key id": [made("LT" + "AI@@", 20), made("AK" + "ID@@", 32)],
    "age key": [made("AGE-SEC" + "RET-KEY-1@@", 58, UPPER + DIGITS)],
    "JSON web token": [dotted("ey" + "J@@", 30, 90, 43)],
    "Authorization header": [
        made("Authorization: Bearer @@"),
        made("> authorization: token @@"),
        made("http.https://github.com/.extraheader=AUTHORIZATION: basic @@"),
        made("'Authorization': 'Basic @@=='"),
        made('{"Authorization": "@@"}'),
    ],
    "bearer token": [made("sent bearer @@ to the proxy")],
    "token header": [made("PRIVATE-TOKEN: @@", 20), made("X-Auth-Key: @@", 37, HEX), made("X-Vault-Token: @@")],
    "cookie": [made("Cookie: theme=dark; session=@@"), made("Set-Cookie: sid=@@; HttpOnly")],
    "access token for git": [made("x-access-token:@@@github.com/a/b")],
    "password in a URL": [made("https://user:@@@host/path", 8), made("redis://:@@@cache:6379/0", 9)],
    "token in a URL": [made("https://@@@git.example/a/b.git", 40)],
    "database address": [made("root:@@@tcp(127.0.0.1:3306)/db", 10)],
    "Oracle address": [made("jdbc:oracle:thin:scott/@@@//db:1521/x", 9)],
    "signed URL": [
        made("https://b.s3.example/k?X-Amz-Signature=@@&X-Amz-Expires=1", 64, HEX),
        made("https://s.example/k?X-Goog-Signature=@@", 256, HEX),
        made("https://a.blob.example/x?se=2026&sig=@@%3D&sp=r", 43),
        made("https://o.example/k?Expires=1&Signature=@@", 28),
    ],
    "curl user": [made("curl -sSf -u admin:@@ https://x.example"), made("+ curl --user 'a:@@' https://x.example", 9)],
    "registry login": [made("docker login -u me -p @@ swr.cn-north-4.example", 64, HEX)],
    "registry user key": [
        lambda rng: (f"docker login -u cn-north-4@{(s := some(rng, 20, UPPER + DIGITS))} -p x swr.example", s)
    ],
    "Huawei Cloud key": [
        made("HUAWEICLOUD_SDK_AK=@@", 20, UPPER + DIGITS),
        made("sk: @@", 40),
        made("AccessKey=@@", 20),
    ],
    "password in the environment": [
        made("DB_PASSWORD=@@&(!x", 9),
        made("  MY_SECRET: @@", 12),
        made("declare -x GH_TOKEN=@@", 12),
        made("MYSQL_PASSWORD: @@ two words", 9, LOWER),
    ],
    "password assignment": [
        made("password=@@", 8, LOWER),
        made("passwd: @@", 8),
        made('{"user": "x", "password": "@@", "a": 1}', 9),
        made('msg="{\\"password\\":\\"@@\\"}"', 9),
        made("connect(password='@@')", 9),
        made("db_pass=@@", 8),
        made("Server=x;Pwd=@@;Database=y", 8),
        made("--password=@@", 8),
        made('password: "@@ and more"', 8),
    ],
    "token assignment": [
        made("token=@@"),
        made("secret: @@"),
        made("client_secret='@@'", 8, LOWER),
        made("api_key=@@", 8),
        made("?access_token=@@&x=1"),
        made("GITEE_TOKEN=@@", 32, HEX),
        made("credentials: @@"),
    ],
    "command line flag": [
        made("tool --password @@ --verbose", 8, LOWER),
        made("vllm serve m --api-key @@"),
        made("['tool', '--token', '@@', 'x']"),
        made('tool --secret "@@"', 9),
    ],
    "random value of a key": [made("key: @@", 32), made("the key @@ was used", 32), made("cred: @@", 24)],
}
CASES = [(kind, index) for kind, makers in SECRETS.items() for index in range(len(makers))]


def test_the_table_of_kinds_has_an_example_of_each() -> None:
    names = [kind.name for kind in KINDS]
    assert sorted(names) == sorted(SECRETS)
    assert len(set(names)) == len(names) >= 35


@pytest.mark.parametrize(("kind", "index"), CASES)
def test_a_secret_of_each_kind_is_masked_and_the_mask_is_stable(kind: str, index: int) -> None:
    for seed in range(20):
        text, secret = SECRETS[kind][index](random.Random(seed))
        assert secret in text
        masked = mask(text)
        assert secret not in masked and (len(secret) < 20 or secret[3:-3] not in masked), (text, masked)
        assert "***" in masked
        assert mask(masked) == masked


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_masks_an_example_of_its_own_without_help_of_the_others(kind: Kind) -> None:
    texts = [make(random.Random(seed))[0] for make in SECRETS[kind.name] for seed in range(3)]
    hits = [text for text in texts if any(t in text.lower() for t in kind.triggers) and kind.pattern.search(text)]
    assert hits


@settings(max_examples=150, deadline=None)
@given(
    case=st.sampled_from(CASES),
    seed=st.integers(0, 2**32),
    before=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    after=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    gap=st.sampled_from([" ", "\t", "\n", " > ", ", "]),
)
def test_a_planted_secret_never_survives_whatever_stands_around_it(
    case: tuple[str, int], seed: int, before: str, after: str, gap: str
) -> None:
    kind, index = case
    text, secret = SECRETS[kind][index](random.Random(seed))
    masked = mask(f"{before}{gap}{text}\n{after}")
    assert secret not in masked and (len(secret) < 20 or secret[3:-3] not in masked)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("gh" + "p_@@", "ghp_***"),
        ("password=@@", "password=***"),
        ("https://user:@@@host/x", "https://user:***@host/x"),
        ("Authorization: Bearer @@", "Authorization: Bearer ***"),
        ('{"token": "@@"}', '{"token": "***"}'),
        ("sk" + "-ant-api03-@@", "sk-ant-api03-***"),
        ("https://x.example/a?X-Amz-Signature=@@&b=1", "https://x.example/a?X-Amz-Signature=***&b=1"),
        ("docker login -u me -p @@ host", "docker login -u me -p *** host"),
        ("tool --password @@ --verbose", "tool --password *** --verbose"),
    ],
)
def test_the_mask_keeps_what_says_which_secret_it_was(template: str, expected: str) -> None:
    assert mask(template.replace("@@", some(random.Random(1), 40))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "HEAD is now at 3b18e512dba79e4c8300dd08aeb37f8e728b8dad Fix the scheduler",
        "request 123e4567-e89b-42d3-a456-426614174000 failed",
        "Digest: sha256:" + "0123456789abcdef" * 4,
        "registry.example:5000/ns/image@sha256:" + "0123456789abcdef" * 4,
        "docker pull https://registry.example:5000/ns/image:v1@sha256:" + "0123456789abcdef" * 4,
        "SyntaxError: Unexpected token '}'",
        "SyntaxError: Unexpected token < in JSON at position 0",
        "max_tokens=5",
        "tokens: 512",
        "num_prompt_tokens=1024, max_num_batched_tokens: 8192",
        "next_token=151643 eos_token_id: 151645 pad_token='<|endoftext|>' bos_token=None",
        '"eos_token": "<|im_end|>", "unk_token": null',
        "tokenizer=Qwen/Qwen3-8B-Instruct, tokenizer_mode=auto",
        "FAILED tests/test_login.py::test_password_is_checked - assert 1 == 2",
        "FAILED tests/test_auth.py::test_token[password-secret-key] - KeyError: 'token'",
        "tests/ops/test_rope.py::test_rotary[dtype0-128-True-1024-secret_key] PASSED",
        "::add-mask::***",
        "password=***",
        "token: ***",
        "https://***@github.com/a/b",
        "https://x-access-token:***@github.com/a/b",
        "AUTHORIZATION: basic ***",
        "/home/runner/work/_temp/password_file/secrets/key.pem: no such file",
        'File "/usr/lib/python3.11/site-packages/token.py", line 10, in secret',
        "PWD=/home/runner/work/repo",
        "OLDPWD=/root/secret-service",
        "data = 'aGVsbG8gd29ybGQ='",
        "password: str, token: Optional[str] = None, api_key: str | None = None",
        "api_key='EMPTY'",
        "password=None secret=null token=''",
        "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
        "password=$DB_PASSWORD token=${TOKEN}",
        "token = os.environ['HF_TOKEN']",
        "self.token = self.get_token(name)",
        "Cache restored from key: Linux-pip-3.11-0123456789abcdef0123456789abcdef01234567",
        "cache key node-cache-Linux-x64-npm-" + "0123456789abcdef" * 4,
        "KeyError: 'model.layers.0.self_attn.qkv_proj.weight'",
        "keyword=argument, monkey: banana, key=value",
        "The secret is that there is none; the password must be long",
        "use --token to log in, --password is required",
        "--password-stdin was given, --token-file /run/token",
        "author: build, authenticity: unknown, authentication failed for user",
        "http://localhost:8080/health and http://127.0.0.1:3000/a@b",
        "git clone ssh://git@github.com/a/b.git",
        "git@github.com:a/b.git, user@host:/path",
        "docker run --user 1000:1000 -u 0:0 image",
        "received signal sig=11, exit code 139",
        "2026-01-01T00:00:00.0000000Z ##[error]Process completed with exit code 1.",
        "pip install task-scheduler-with-a-long-name==1.0 risk-free-disk-helper",
        "npm_config_registry=http://npm.example npm_lifecycle_event=test",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----",
        "1 passed, 2 failed, pass=3 fail=0 skip=1",
        "ssh key fingerprint SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og",
        "integrity sha512-" + "aB3/" * 21 + "==",
        "test_s.some_attribute_name_here s.strip().lower()",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert mask(text) == text


def private_key(rng: random.Random, kind: str) -> tuple[list[str], list[str]]:
    body = pem_body(rng)
    return [f"-----BEGIN {kind}-----", *body, f"-----END {kind}-----"], body


@pytest.mark.parametrize(
    "kind", [f"{kind}PRIVATE KEY" for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")] + ["PGP PRIVATE KEY BLOCK"]
)
@pytest.mark.parametrize("prefix", ["", "    ", "2026-01-01T00:00:00.0000000Z ", "job\tstep\t2026-01-01T00:00:00Z "])
def test_a_private_key_is_masked_line_by_line_and_as_one_text(kind: str, prefix: str) -> None:
    lines, body = private_key(random.Random(1), kind)
    lines = ["before the key", *(prefix + line for line in lines), "after"]
    masker = Masker()
    for masked in (mask("\n".join(lines)), "\n".join(map(masker.line, lines))):
        assert not any(line in masked for line in body)
        assert masked.split("\n")[0] == "before the key" and masked.split("\n")[-1] == "after"
        assert f"{prefix}***" in masked and f"BEGIN {kind}" in masked
        assert mask(masked) == masked


@pytest.mark.parametrize("newline", ["\\n", "\\\\n", " ", "\\r\\n"])
@pytest.mark.parametrize("ending", [True, False])
def test_a_private_key_in_one_line_is_masked(newline: str, ending: bool) -> None:
    lines, body = private_key(random.Random(2), "PRIVATE KEY")
    masked = mask('{"type": "service_account", "private_key": "' + newline.join(lines if ending else lines[:-1]) + '"}')
    assert not any(line in masked for line in body)
    assert masked.startswith('{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----***')


def test_a_private_key_between_lines_of_other_processes_is_masked() -> None:
    lines, body = private_key(random.Random(3), "RSA PRIVATE KEY")
    mixed = [part for line in lines for part in (line, "INFO 12:00:00 the server is up")]
    masked = mask("\n".join(mixed))
    assert not any(line in masked for line in body)
    assert masked.count("INFO 12:00:00 the server is up") == len(lines)


def test_a_putty_key_is_masked() -> None:
    body = pem_body(random.Random(4))
    masked = mask("\n".join(["Private-Lines: 4", *body, "Private-MAC: 12"]))
    assert not any(line in masked for line in body)


def test_the_mention_of_a_private_key_does_not_hide_the_lines_after_it() -> None:
    text = "\n".join(["expected -----BEGIN PRIVATE KEY----- here", "error: the file is empty", "exit code 1"])
    assert mask(text) == text


def test_base64_of_credentials_is_masked_in_a_header_of_git() -> None:
    secret = base64.b64encode(b"x-access-token:" + b"abc123" * 5).decode()
    assert mask(f"extraheader = AUTHORIZATION: basic {secret}") == "extraheader = AUTHORIZATION: basic ***"


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "gh" + "p_", "password=", 'password="', "key ", "://a:", "x-", "A", "s.", "login -p", "token: '", "AKIA",
     "Cookie: a", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "sk-", "-u a:", "a.", "thin:a/", "\\", "secret_",
     "--a", "_", "="],
)  # fmt: skip
def test_long_hostile_lines_are_masked_in_linear_time(piece: str) -> None:
    mask(piece * (200_000 // len(piece)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext", "plain\ttext"),
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\x08c\x7fd\r\n", "abcd"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1bPquery\x1b\\x", "x"),
        ("\x1b(Bcharset\x1bc", "charset"),
        ("cut \x1b[3", "cut "),
        ("admin\u202etxt.exe", "admintxt.exe"),
        ("中文 and é stay", "中文 and é stay"),
    ],
)
def test_control_sequences_are_removed(text: str, expected: str) -> None:
    assert strip_controls(text) == expected


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    stripped = strip_controls(text)
    assert not any((ord(char) < 32 and char != "\t") or 0x7F <= ord(char) < 0xA0 for char in stripped)
    assert strip_controls(stripped) == stripped
