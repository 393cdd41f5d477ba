"""SQL text into tokens, strictly: what two readers could take for two things is refused.

The guard, its parser and the engine must read the same text, or a comment or a quote that one of them sees differently
hides a statement. So comments go, blanks of any kind become plain ones, `''` becomes `\\'`, quoted names get
backticks, and the rest must be plain ASCII. The engine is given the text put together again from these tokens.
ClickHouse's own rules: src/Parsers/Lexer.cpp.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from buildeye.ask.guard.verdict import Reason, Refused

LONGEST_QUERY: Final = 100_000
DEEPEST: Final = 60
_MOST_TOKENS: Final = 20_000
_UNICODE_BLANKS: Final = "\u00a0\u1680\u180e\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\u0085"


class Kind(Enum):
    """What a token is."""

    WORD = auto()
    QUOTED_NAME = auto()
    STRING = auto()
    NUMBER = auto()
    PARAMETER = auto()
    SIGN = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token: `text` as the engine gets it, `name` what a word or quoted name names, `before` the blanks before."""

    kind: Kind
    text: str
    name: str = ""
    before: str = ""

    @property
    def upper(self) -> str:
        """An unquoted word in capitals, '' for anything else."""
        return self.text.upper() if self.kind is Kind.WORD else ""

    @property
    def is_name(self) -> bool:
        """Whether it can name a table, column or function."""
        return self.kind in (Kind.WORD, Kind.QUOTED_NAME)


_BLANK: Final = re.compile(rf"[ \t\n\r\f\v{_UNICODE_BLANKS}]+|--[^\n]*|\#[ !][^\n]*|/\*.*?\*/", re.DOTALL)
_PATTERNS: Final = (
    (Kind.NUMBER, re.compile(r"0[xX][0-9a-fA-F]+|(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")),
    (Kind.WORD, re.compile(r"[A-Za-z_][A-Za-z0-9_]*")),
    (Kind.STRING, re.compile(r"'((?:[^'\\]|\\.|'')*)'", re.DOTALL)),
    (Kind.QUOTED_NAME, re.compile(r'`([^`\\\x00-\x1f]+)`|"([^"\\\x00-\x1f]+)"')),
    (Kind.PARAMETER, re.compile(r"\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*:\s*([A-Za-z0-9_(), ']+?)\s*\}")),
    (Kind.SIGN, re.compile(r"<=>|->|==|!=|<>|<=|>=|\|\||::|[()\[\],.*+\-/%=<>?:;]")),
)


def read_tokens(sql: str) -> list[Token]:
    """The tokens of a text. Refused: too long, or something in it has no one meaning."""
    if len(sql) > LONGEST_QUERY:
        raise Refused(Reason.TOO_LONG, f"it has {len(sql)} characters", f"at most {LONGEST_QUERY} are read")
    tokens: list[Token] = []
    at, before, depth = 0, "", 0
    while at < len(sql):
        if blank := _BLANK.match(sql, at):
            before = "\n" if "\n" in before + blank[0] else " "
            at = blank.end()
            continue
        token, at = _token(sql, at, before)
        depth += (token.text in "([") - (token.text in ")]") if token.kind is Kind.SIGN else 0
        if depth > DEEPEST or len(tokens) >= _MOST_TOKENS:
            raise Refused(Reason.TOO_LONG, "it is nested or listed too deep", f"stay under {DEEPEST} levels")
        tokens.append(token)
        before = ""
    return tokens


def written(tokens: list[Token]) -> str:
    """The text of tokens, in the lines they were in; every run of blanks is one blank."""
    return "".join(token.before + token.text for token in tokens).strip()


def string_value(token: Token) -> str:
    """What a string literal says, as far as names go: escaped quotes and backslashes undone."""
    return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)


def _token(sql: str, at: int, before: str) -> tuple[Token, int]:
    if sql.startswith("/*", at):
        raise _unknown(sql, at)
    for kind, pattern in _PATTERNS:
        if (found := pattern.match(sql, at)) is None:
            continue
        end = found.end()
        if kind is Kind.NUMBER and re.match(r"[A-Za-z_]", sql[end:]):
            raise _strange(sql, at, "a name that begins with a digit", "put a name like that in backticks")
        if kind is Kind.WORD:
            if sql.startswith("$", end):
                raise _strange(sql, at, "a `$` in a name", "put the name in backticks")
            return Token(kind, found[0], found[0], before), end
        if kind is Kind.QUOTED_NAME:
            name = found[1] or found[2]
            if not name.isprintable() or "`" in name or '"' in name:
                raise _strange(sql, at, "a quoted name with quotes or unprintable characters in it", "name it plainly")
            return Token(kind, f"`{name}`", name, before), end
        if kind is Kind.STRING:
            if "\0" in found[0]:
                raise _strange(sql, at, "a zero byte", "write it as '\\0'")
            body = re.sub(r"\\.|''", lambda m: "\\'" if m[0] == "''" else m[0], found[1], flags=re.DOTALL)
            return Token(kind, f"'{body}'", "", before), end
        if kind is Kind.PARAMETER:
            _no_identifier_parameter(found[2])
            return Token(kind, f"{{{found[1]}:{found[2]}}}", found[1], before), end
        return Token(kind, found[0], "", before), end
    raise _unknown(sql, at)


def _no_identifier_parameter(kind: str) -> None:
    if "identifier" in kind.lower():
        raise Refused(
            Reason.PARAMETER,
            "a parameter of type Identifier would name a table or column that is not seen here",
            "write the name itself",
        )


def _unknown(sql: str, at: int) -> Refused:
    character = sql[at]
    if character in "'`\"":
        return _strange(sql, at, f"a {character} that opens and does not close, or a name with escapes", "close it")
    if sql.startswith("/*", at):
        return _strange(sql, at, "a comment that does not close", "close it with */")
    if character == "{":
        return Refused(
            Reason.PARAMETER, f"braces that are no parameter: {sql[at : at + 30]!r}", "write {name:Type} or map(...)"
        )
    if character == "$":
        return _strange(sql, at, "a `$`", "write strings in single quotes and Grafana's macros as plain conditions")
    return _strange(sql, at, f"the character {character!r}", "write plain ASCII outside of strings and quoted names")


def _strange(sql: str, at: int, what: str, hint: str) -> Refused:
    line = sql.count("\n", 0, at) + 1
    return Refused(Reason.STRANGE_TEXT, f"line {line} has {what}", hint)


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())
