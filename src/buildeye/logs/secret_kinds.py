"""The one table of what is a secret in a log line: `KINDS`.

What a pattern calls `secret` (or `dq`, `sq`, `bare`: a value in double quotes, single quotes or none) is hidden, all
else stays, so that a reader still sees which token it was. A `judge` looks at a match that may be harmless. Every
pattern runs in time linear in the text: nothing unbounded starts inside what it may have passed already. When in
doubt, a value is a secret.
"""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

_Judge = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of secret. `triggers` are lower-case pieces of text, one of which is in every line that holds it."""

    name: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    judge: _Judge | None = None


_VALUE = (
    r"""(?:"(?P<dq>(?:[^"\\\n]|\\[^\n])+)"|'(?P<sq>[^'\n]+)'"""
    r"""|\\{0,3}["'`]?(?P<bare>[^\s"'`,;&\\][^\s"'`,;&]*))"""
)
_SEPARATOR = r"""\\{0,3}["'`]?[ \t]{0,3}(?P<separator>:=|=>|==?|:)[ \t]{0,3}"""
_STRONG = r"(?:pass(?:word|wd|phrase|code)|(?<=_)pass|(?<=[_;-])pwd|passwort|userpwd)"
_WEAK = (
    r"(?:secret(?:[_-]?(?:access)?[_-]?key)?|tokens?(?<!s)|api[_-]?key|access[_-]?key(?:[_-]?(?:id"
    r"|secret))?|account[_-]?key"
    r"|(?:private|auth|signing|encryption|master|shared|license|service|deploy|session)[_-]?key|credentials?"
    r"|(?<=_)pat|(?<=_)auth|authtoken|webhook[_-]?url)"
)
_HARMLESS = re.compile(
    r"(?i:none|null|nil|true|false|empty|undefined|unset|dummy|str|string|bool|int|bytes|any|optional|required|default"
    r"|redacted|\[?(?:redacted|masked|hidden|filtered|secret)\]?|x{3,}|\.{2,}|-+)[)\]}]*"
    r"|[\w.:@/+-]{0,60}\*{3,}.*|[<\[({|].*|\$\{.*|\$\(.*|\$[A-Z_][A-Z0-9_]*|%[A-Z_]+%|\{\{.*"
    r"|(?:self|args|cls|os|config|settings|env|secrets|options|params|process|getpass)[.\[][\w.\[\]()]*"
    r"|[A-Za-z_][\w.]*[(\[].*|(?:\.{1,2}|~)?/[a-z][\w.-]*(?:/[\w.-]+)+/?|</?\w+>"
)
_PROSE = frozenset(
    re.findall(
        r"\w+",
        "a an and are argument as be by can cannot does expected expects flag for from has if in instead is may must "
        "not of on option or requires should that the to value via was when will with without you your",
    )
)
_MODEL_TOKEN = re.compile(
    r"(?i)(?:pad|eos|bos|unk|sep|cls|mask|stop|next|last|first|num|max|image|video|special|end)_$"
)
_UUID_OR_HEX = re.compile(r"(?i)(?:sha\d+[:-])?[0-9a-f]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _value(match: re.Match[str]) -> str:
    return next(text for name in ("dq", "sq", "bare") if (text := match[name]) is not None)


def _is_harmless(value: str) -> bool:
    return bool(_HARMLESS.fullmatch(value[:400]))


def _is_mixed(value: str) -> bool:
    """Digits, or capitals inside: no plain word."""
    return any(char.isdigit() for char in value) or (
        not value.islower() and not value.isupper() and not value.istitle()
    )


def _ends_line(match: re.Match[str]) -> bool:
    return not match.string[match.end() : match.end() + 80].split("\n")[0].strip(" \t\r,;})]\"'`\\")


def _is_loud(match: re.Match[str]) -> bool:
    return match["name"].isupper()


def _is_password(match: re.Match[str]) -> bool:
    value = _value(match)
    if _is_harmless(value) or (value.isdigit() and len(value) < 6 and match["name"].lower() == "pass"):
        return False
    quoted = match["bare"] is None
    return match["separator"] != ":" or quoted or _ends_line(match) or _is_mixed(value)


def _is_token(match: re.Match[str]) -> bool:
    value, colon = _value(match), match["separator"] == ":"
    before = match.string[max(0, match.start() - 12) : match.start()]
    if _is_harmless(value) or len(value) < (8 if colon else 6) or _MODEL_TOKEN.search(before):
        return False
    if value.isdigit():
        return len(value) >= 12
    if _is_mixed(value):
        return True
    return match["bare"] is None or (_is_loud(match) and _ends_line(match)) or (not colon and _ends_line(match))


def _is_flag_value(match: re.Match[str]) -> bool:
    value = _value(match)
    if _is_harmless(value) or value.lower().strip(".:") in _PROSE:
        return False
    if match["name"].lower().startswith("pass"):
        return True
    return len(value) >= 6 and (_is_mixed(value) or match["bare"] is None or _ends_line(match))


def _is_random(match: re.Match[str]) -> bool:
    """Long, of many different characters, in no order known: no hash, path or identifier."""
    value = match["secret"]
    if _UUID_OR_HEX.fullmatch(value) or _is_harmless(value):
        return False
    piece = max(re.split(r"[-_./]", value), key=len)
    kinds = (any(map(str.islower, piece)), any(map(str.isupper, piece)), any(map(str.isdigit, piece)))
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return len(piece) >= 12 and all(kinds) and bits >= 3.6


def _is_unmasked(match: re.Match[str]) -> bool:
    return not _is_harmless(match["secret"])


def _is_curl(match: re.Match[str]) -> bool:
    return not match["secret"].isdigit() and _is_unmasked(match)


def _token(name: str, prefix: str, body: str, *triggers: str, bound: bool = False) -> Kind:
    """A token known by its prefix, which stays; `bound` when the prefix must not follow a letter, digit or dash."""
    before = r"(?<![A-Za-z0-9_-])" if bound else ""
    return Kind(name, triggers, re.compile(f"{before}(?P<keep>{prefix})(?P<secret>{body})"))


def _pattern(name: str, pattern: str, *triggers: str, judge: _Judge | None = None) -> Kind:
    return Kind(name, triggers, re.compile(pattern), judge)


_WORD = r"[A-Za-z0-9_-]"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

KINDS: tuple[Kind, ...] = (
    _token("GitHub token", "gh[pousr]_", r"[A-Za-z0-9_]{16,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("GitHub fine-grained token", "github_pat_", r"[A-Za-z0-9_]{20,}", "github_pat_"),
    _token(
        "GitLab token",
        "gl[a-z]{2,6}-",
        r"[\w-]{16,}(?:\.[\w.-]{1,40})?",
        "glpat-",
        "glrt-",
        "glcbt-",
        "gldt-",
        "glptt-",
        "glft-",
        "glsoat-",
        "glimt-",
        "glagent-",
        "gloas-",
        bound=True,
    ),
    _token("AWS access key id", "A(?:KIA|SIA|BIA|CCA)", r"[A-Z0-9]{16}(?![A-Z0-9])", "akia", "asia", "abia", "acca"),
    _pattern(
        "AWS secret key", r"(?i)(?P<keep>secret_?(?:access_?)?key\W{1,8})(?P<secret>[A-Za-z0-9/+]{40}=?)", "secret"
    ),
    _pattern(
        "AWS session token", r"(?i)(?P<keep>(?:session|security)_?token\W{1,8})(?P<secret>[A-Za-z0-9/+=]{40,})", "token"
    ),
    _pattern(
        "Azure storage key", r"(?i)(?P<keep>(?:Account|SharedAccess)Key=)(?P<secret>[A-Za-z0-9/+]{20,}={0,2})", "key="
    ),
    _pattern("Azure client secret", r"(?P<keep>)(?P<secret>[\w.~-]{3}\dQ~[\w.~-]{31,40})", "q~"),
    _pattern(
        "Google service account key",
        r"(?P<keep>\"private_key(?:_id)?\\?\"\s{0,3}:\s{0,3}\\?\")(?P<secret>[^\"-][^\"]+)",
        "private_key",
    ),
    _token("Google API key", "AIza", rf"{_WORD}{{35}}", "aiza"),
    _token("Google OAuth token", r"(?:ya29\.|GOCSPX-|1//0)", r"[\w-]{20,}", "ya29.", "gocspx-", "1//0", bound=True),
    _token("Slack token", r"(?:xox[a-z]|xapp)-", r"[A-Za-z0-9-]{10,}", "xox", "xapp-"),
    _token("Slack webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/", r"[\w/+-]+", "hooks.slack"),
    _token("Discord webhook", r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/", r"\d+/[\w-]+", "webhooks/"),
    _token("Discord bot token", r"[MNO]", r"[A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,}", ".", bound=True),
    _token("DingTalk webhook", r"robot/send\?access_token=", r"\w+", "robot/send"),
    _token("Lark webhook", r"/open-apis/bot/(?:v2/)?hook/", r"[\w-]+", "/open-apis/"),
    _token("WeCom webhook", r"cgi-bin/webhook/send\?key=", r"[\w-]+", "webhook/send"),
    _token("Teams webhook", r"webhook\.office\.com/webhookb2/", r"[\w@/-]+", "webhookb2"),
    _token("Telegram bot token", r"\d{8,10}:", rf"AA{_WORD}{{32,34}}", ":aa"),
    _token("npm token", "npm_", r"[A-Za-z0-9]{36,}", "npm_"),
    _token("npm registry auth", r"_(?:authToken|auth|password)[ \t]?=[ \t]?\"?", r"[^\s\"*$]+", "_auth", "_password"),
    _token("PyPI token", "pypi-", rf"AgE{_WORD}{{40,}}", "pypi-"),
    _token("RubyGems key", "rubygems_", r"[a-f0-9]{48}", "rubygems_"),
    _token("NuGet key", "oy2", r"[a-z0-9]{43}", "oy2"),
    _token("crates.io token", "cio", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])", "cio", bound=True),
    _token("Docker Hub token", "dckr_[op]at_", rf"{_WORD}{{20,}}", "dckr_"),
    _pattern(
        "Docker config auth",
        r"(?P<keep>\\?\"(?:auth|identitytoken|registrytoken)\\?\"\s{0,3}:\s{0,3}\\?\")" r"(?P<secret>[\w+/=.-]{8,})",
        'auth\\"',
        'auth"',
        'token"',
    ),
    _token("Hugging Face token", r"(?:hf_|api_org_)", r"[A-Za-z0-9]{30,}", "hf_", "api_org_"),
    _token("Anthropic key", "sk-ant-(?:[a-z]{3,8}\\d\\d-)?", rf"{_WORD}{{20,}}", "sk-ant-"),
    _token("OpenAI project key", "sk-(?:proj|svcacct|admin|or-v1)-", rf"{_WORD}{{20,}}", "sk-"),
    _token("OpenAI key", "sk-", rf"(?=[a-z_-]{{0,40}}[A-Z0-9]){_WORD}{{20,}}", "sk-", bound=True),
    _token(
        "model service key",
        "(?:gsk|r8|lsv2_[ps]k|lsv2_pt)_|(?:nvapi|xai|pplx|ms)-",
        rf"(?=[a-z_-]{{0,40}}[A-Z0-9]){_WORD}{{30,}}",
        "gsk_",
        "r8_",
        "lsv2_",
        "nvapi-",
        "xai-",
        "pplx-",
        "ms-",
        bound=True,
    ),
    _token("Stripe key", "(?:[srp]k_(?:live|test)|whsec)_", r"[A-Za-z0-9]{10,}", "k_live_", "k_test_", "whsec_"),
    _token("Twilio key", "SK", r"[0-9a-f]{32}(?![0-9a-f])", "sk", bound=True),
    _token("SendGrid key", r"SG\.", r"[\w-]{16,32}\.[\w-]{16,64}", "sg.", bound=True),
    _token("Mailgun key", "key-", r"[0-9a-f]{32}(?![0-9a-f])", "key-", bound=True),
    _token("Databricks token", "dapi", r"[0-9a-f]{32}(?:-\d)?", "dapi"),
    _token(
        "Cloudflare key",
        r"(?:cf(?:k|ut|at)_|v1\.0-[0-9a-f]{24}-)",
        r"[A-Za-z0-9_-]{40,}",
        "cfk_",
        "cfut_",
        "cfat_",
        "v1.0-",
        bound=True,
    ),
    _token("DigitalOcean token", "do[opr]_v1_", r"[a-f0-9]{64}", "_v1_"),
    _token("Vault token", r"hv[sbr]\.", rf"{_WORD}{{20,}}", "hvs.", "hvb.", "hvr."),
    _pattern(
        "Vault legacy token",
        r"(?<![\w./-])(?P<keep>s\.)(?P<secret>(?=[a-z]{0,24}[A-Z0-9])[A-Za-z0-9]{24})(?![A-Za-z0-9])",
        "s.",
    ),
    _token("Terraform Cloud token", r"[A-Za-z0-9]{4}", r"[A-Za-z0-9]{10}\.atlasv1\.[\w-]{40,}", ".atlasv1."),
    _token("Heroku key", "HRKU-", rf"{_WORD}{{30,}}", "hrku-"),
    _token("Grafana token", "(?:glsa|glc)_", r"[A-Za-z0-9_+/=]{30,}", "glsa_", "glc_", bound=True),
    _token(
        "service token",
        "(?:lin_api|shp(?:at|ca|pa|ss)|sntry[su]|ATATT3|AKCp|PMAK-|pul-|dp\\.[a-z]{2}\\.|fm2_|sonar_"
        "|sq[pua]_|secret_scanning_)_?",
        r"[A-Za-z0-9_=+/-]{32,}",
        "lin_api",
        "shp",
        "sntry",
        "atatt3",
        "akcp",
        "pmak-",
        "pul-",
        "dp.",
        "fm2_",
        "sq",
        bound=True,
    ),
    _token("Alibaba or Tencent key id", "(?:LTAI|AKID)", r"[A-Za-z0-9]{12,40}", "ltai", "akid", bound=True),
    _token("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}", "age-secret"),
    _token("JSON web token", "eyJ", rf"{_WORD}{{6,}}\.{_WORD}{{6,}}\.{_WORD}{{6,}}", "eyj", bound=True),
    _pattern(
        "Authorization header",
        r"(?i)(?P<keep>authorization\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?:(?:bearer|basic|token|digest"
        r"|negotiate|apikey|aws4-hmac-sha256)[ \t]{1,3})?)(?!(?:bearer|basic|token)\b)"
        r"(?P<secret>[^\s\"'*$<\\][^\n\"']*)",
        "authorization",
    ),
    _pattern("bearer token", r"(?i)(?P<keep>bearer[ \t]{1,3})(?P<secret>[\w.~+/=-]{16,})", "bearer"),
    _pattern(
        "token header",
        r"(?i)(?P<keep>(?:x-[a-z-]{0,20}(?:key|token|secret)|private-token"
        r"|job-token)\\?[\"']?[ \t]{0,3}:[ \t]{0,3}[\"']?)(?P<secret>[^\s\"'*$]{6,})",
        "x-",
        "private-token",
        "job-token",
        judge=_is_unmasked,
    ),
    _pattern(
        "cookie",
        r"(?i)(?P<keep>cookie2?\\?[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\?[\"']?)" r"(?P<secret>[\w.-]{1,100}=[^\n\"']+)",
        "cookie",
    ),
    _pattern(
        "access token for git",
        r"(?P<keep>x-(?:access|oauth)-(?:token|basic):)(?P<secret>[^\s@*]+)(?=@)",
        "x-access",
        "x-oauth",
    ),
    _pattern(
        "password in a URL",
        r"(?P<keep>://[^\s:/@\"']{0,200}:)(?P<secret>[^\s/\"']{1,400})(?=@)",
        "://",
        judge=_is_unmasked,
    ),
    _pattern("token in a URL", r"(?P<keep>://)(?P<secret>[\w%.~+-]{20,400})(?=@)", "://"),
    _pattern(
        "database address",
        r"(?P<keep>[\w.-]{1,64}:)(?P<secret>[^\s:@/]{1,200})(?=@(?:tcp|unix)\()",
        "@tcp(",
        "@unix(",
        judge=_is_unmasked,
    ),
    _pattern(
        "Oracle address", r"(?P<keep>thin:[^/\s@]{1,64}/)(?P<secret>[^@\s]{1,200})(?=@)", "thin:", judge=_is_unmasked
    ),
    _pattern(
        "signed URL",
        r"(?i)(?P<keep>(?<![A-Za-z])(?:X-(?:Amz|Goog|Obs)-(?:Signature|Security-Token|Credential)|sig"
        r"|Signature|OSSAccessKeyId|AWSAccessKeyId)=)(?P<secret>[\w%+/=.~-]{16,})",
        "sig",
        "x-",
        "accesskeyid",
    ),
    _pattern(
        "curl user",
        r"(?P<keep>(?:^|[ \t])(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,100}:)" r"(?P<secret>[^\s\"']+)",
        "curl",
        judge=_is_curl,
    ),
    _pattern(
        "registry login",
        r"(?P<keep>login[^\n]{0,300}?[ \t](?:-p|--password)[ \t=]{0,3}[\"']?)(?!assword)"
        r"(?P<secret>[^\s\"'-][^\s\"']*)",
        "login",
        judge=_is_unmasked,
    ),
    _pattern(
        "registry user key",
        r"(?P<keep>-u[ =]?[\"']?[a-z]{2,12}(?:-[a-z0-9]{1,12}){1,3}@)(?P<secret>[A-Z0-9]{16,})",
        "login",
    ),
    _pattern(
        "Huawei Cloud key",
        r"(?i)(?P<keep>(?<![A-Za-z0-9])(?:sdk_)?(?:ak|sk)\\?[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\?[\"']?)"
        r"(?P<secret>[A-Za-z0-9]{16,64})(?![A-Za-z0-9])",
        "ak",
        "sk",
    ),
    _pattern(
        "password in the environment",
        r"(?m)(?P<keep>(?:^|(?<=[ \t]))[A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|SECRET|_TOKEN"
        r"|API_KEY|ACCESS_KEY)(?:=|:[ \t]{1,3}))(?P<secret>(?:(?<==)[^\s\"'][^\s]*"
        r"|(?<!=)[^\s\"'][^\n]*))(?=[ \t\r]*$)",
        "pass",
        "secret",
        "token",
        "key",
        judge=_is_unmasked,
    ),
    _pattern(
        "password assignment",
        rf"(?i)(?P<keep>(?P<name>{_STRONG})(?:[_-]?\d{{1,2}})?{_SEPARATOR}){_VALUE}",
        "pass",
        "pwd",
        judge=_is_password,
    ),
    _pattern(
        "token assignment",
        rf"(?i)(?P<keep>(?P<name>{_WEAK})(?:[_-]?\d{{1,2}})?{_SEPARATOR}){_VALUE}",
        "secret",
        "token",
        "key",
        "credential",
        "_pat",
        "auth",
        "webhook",
        judge=_is_token,
    ),
    _pattern(
        "command line flag",
        rf"(?i)(?P<keep>(?<![a-z-])--?[a-z-]{{0,30}}(?P<name>{_STRONG}|{_WEAK}|auth)(?:[ \t]{{1,3}}"
        rf"|[\"'],[ \t]{{0,3}}(?=[\"']))){_VALUE}".replace("bare>[^\\s", "bare>[^-\\s"),
        "--",
        "-pass",
        "-token",
        judge=_is_flag_value,
    ),
    _pattern(
        "random value of a key",
        r"(?i)(?<![a-z])(?P<keep>(?:[a-z]{0,12}_)?(?:key|secret|credential|cred|pat"
        r"|pwd)\\?[\"']?[ \t]{0,3}[:= ][ \t]{0,3}\\?[\"']?)(?P<secret>[\w+/=.-]{20,})",
        "key",
        "secret",
        "cred",
        "pat",
        "pwd",
        judge=_is_random,
    ),
)
