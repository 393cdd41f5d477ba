"""Secrets are masked before anything leaves `logs/`: a quoted line must be safe to post in public.

GitHub masks the secrets it knows; logs still carry others, printed by tools that read them from elsewhere. What is a
secret says `secret_kinds.KINDS`; here is how lines are masked, one after another, fast where there is nothing to mask.
"""

import re

from buildeye.logs.secret_kinds import KINDS, Kind

MASK = "***"

_STAMPED_SHORT_WORDS = re.compile(r"(?:\d{4}-\d\d-\d\dT[\d:.]{8,18}Z)?(?:[^ ]{0,15}+ ++)*+[^ ]{0,15}+")
_SHORT_RUNS = re.compile(r"(?:[A-Za-z0-9_-]{0,15}+[^A-Za-z0-9_-]++)*+[A-Za-z0-9_-]{0,15}+")
"""A token of a known service is a run of at least 16 characters: words this short, or runs this short, hold none."""

_BLOCK_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,8}-----|Private-Lines: \d{1,3}")
_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,8}-----")
_BODY = re.compile(r"(?:^|(?<=[\s\"']))[A-Za-z0-9+/=]+(?:\\[nr]|[\"',\s\\])*$")
_INLINE_BODY = re.compile(r"(?:[ \t\"',+]|\\{1,2}[nr])*[A-Za-z0-9+/=]{12}")
_PATIENCE = 3
"""Lines of other kinds that may stand between the lines of a private key."""


class Masker:
    """Masks the lines of one log in their order: a private key spreads over lines that alone look harmless."""

    def __init__(self) -> None:
        self._left = 0
        self._column = -1

    def line(self, text: str) -> str:
        """The next line, masked. It may itself hold line feeds."""
        if "\n" in text:
            return "\n".join(map(self.line, text.split("\n")))
        if not self._left and "PRIVATE KEY" not in text and "Private-Lines" not in text:
            return _mask_kinds(text)
        return self._blocks(text)

    def _blocks(self, text: str) -> str:
        """A line that begins, continues or ends a private key."""
        done, inline = "", False
        while True:
            if self._left:
                if not (end := _BLOCK_END.search(text)):
                    return done + self._body(text)
                done += (MASK if inline else self._body(text[: end.start()])) + end[0]
                text, self._left = text[end.end() :], 0
            if not (begin := _BLOCK_BEGIN.search(text)):
                return done + _mask_kinds(text)
            done += _mask_kinds(text[: begin.start()]) + begin[0]
            text, inline, self._left, self._column = text[begin.end() :], True, _PATIENCE, -1
            if not text.strip(" \t\r\"'\\n"):
                return done + text
            if _INLINE_BODY.match(text) and not _BLOCK_END.search(text):
                return done + MASK

    def _body(self, text: str) -> str:
        """The last word of a line inside a key is masked if it is long base64, or stands where such a word stood."""
        body = _BODY.search(text)
        if body and (len(body[0].strip()) >= 16 or body.start() == self._column):
            self._left, self._column = _PATIENCE, body.start()
            return _mask_kinds(text[: body.start()]) + MASK
        self._left -= 1
        return _mask_kinds(text)


def mask(text: str) -> str:
    """`text` (a line or several) with every secret replaced by `***`; harmless prefixes such as `ghp_` stay."""
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        return Masker().line(text)
    return _mask_kinds(text)


def _may_hold_secret(text: str, lower: str) -> bool:
    """Whether a text is worth a look: what secrets of any length stand beside, or something long enough to be one.

    Written out, because most lines pass here and nowhere else: this is three times as fast as a loop or one pattern.
    """
    return (
        "pass" in lower
        or "token" in lower
        or "key" in lower
        or "secret" in lower
        or "auth" in lower
        or "://" in lower
        or "@" in lower
        or "cred" in lower
        or "pwd" in lower
        or "cookie" in lower
        or "login" in lower
        or "curl" in lower
        or "sig" in lower
        or "q~" in lower
        or not (_STAMPED_SHORT_WORDS.fullmatch(text) or _SHORT_RUNS.fullmatch(text))
    )


def _mask_kinds(text: str) -> str:
    lower = text.lower()
    if not _may_hold_secret(text, lower):
        return text
    for kind in KINDS:
        for trigger in kind.triggers:
            if trigger in lower:
                text = _mask_kind(kind, text)
                break
    return text


def _mask_kind(kind: Kind, text: str) -> str:
    def hide(match: re.Match[str]) -> str:
        if kind.judge and not kind.judge(match):
            return match[0]
        group = next(name for name in ("secret", "dq", "sq", "bare") if match.groupdict().get(name) is not None)
        start, end = (place - match.start() for place in match.span(group))
        return match[0][:start] + MASK + match[0][end:]

    return kind.pattern.sub(hide, text)


_CONTROLS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


def strip_controls(text: str) -> str:
    """A line without terminal sequences, control characters (a tab stays, line ends go) or direction marks."""
    return _CONTROLS.sub("", text)
