"""Which functions may be called: the listed ones. Everything else is refused, with the reason where it is known.

`functions.txt` lists the functions of ClickHouse 26 that compute from their arguments and touch nothing else. A new
function of a later engine, or one a server's owner made, is unknown and therefore refused.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from buildeye.ask.guard.lexing import Kind, Token, string_value, words
from buildeye.ask.guard.verdict import Reason, Refused

TABLE_FUNCTIONS: Final = frozenset({"numbers", "zeros", "generate_series", "generateseries", "values", "null"})
"""Table functions, in small letters, that make rows out of their arguments."""

DENIED: Final = (
    (
        r"file|filesystem\w*|file\w*|formatrow\w*|groupformat|format_?schema|structureto\w+|catboost\w*|"
        r"deltalakelocal\w*|iceberglocal\w*|paimonlocal\w*|infile|outfile|region\w+|loadfile|naivebayesclassifier\w*|"
        r"showcertificate|flamegraph|sqlite",
        Reason.FILE,
        "reads files of the machine",
    ),
    (
        r"url|urlcluster|s3\w*|gcs|oss|cosn|hdfs\w*|azure\w+|iceberg(?!bucket|hash|truncate)\w*|hudi\w*|deltalake\w*|"
        r"paimon\w*|remote|remotesecure|cluster|clusterallreplicas|mysql|postgresql|mongodb|redis|jdbc|odbc|bigquery|"
        r"ytsaurus|prometheusquery\w*|arrowstream|arrowflight|ai[a-z]+|kafka|rabbitmq|nats|zookeeper\w*",
        Reason.NETWORK,
        "asks other machines",
    ),
    (
        r"executable\w*|python|eval|evalmlmethod|fuzz\w+|input|loop|merge|view|viewexplain|viewifpermitted|chdb|"
        r"dictionary|dict(get|has|isin)\w*|joinget\w*|getscalar|__\w+|addressto\w+|demangle|mergetree\w+|"
        r"timeseries(selector|data|metrics|metricfamilies|tags|samples)|generaterandom|"
        r"(global)?(not)?(null)?in(ignoreset)?|hascolumnintable|generateserialid|aggthrow",
        Reason.INDIRECT,
        "runs, reads or makes something that this query does not show",
    ),
    (
        r"getsetting\w*|getserversetting|getmergetreesetting|getmacro|getserverport|tcpport|getclienthttpheader|"
        r"hostname|fqdn|displayname|serveruuid|(current|enabled|default)(user|roles?|profiles?|handler|requesturl)|"
        r"user|session_user|authenticateduser|connectionid|connection_id|(initial)?queryid|(initial_)?query_id|"
        r"currentqueryid|current_query_id|initialquerystarttime|initial_query_start_time|buildid|getoskernelversion|"
        r"globalvariable|transaction\w+|tid|pg\w+|shardnum|shardcount|hasthreadfuzzer|getmaxtablename\w+|partitionid",
        Reason.SECRET,
        "tells about the server and its users, not about CI",
    ),
    (r"sleep|sleepeachrow|logtrace|throwif|hierarchicalkmeans", Reason.STALL, "holds the engine without an answer"),
)
"""Functions refused by name, and why; the patterns match the whole name in small letters."""

_COMBINATORS: Final = re.compile(
    "(simplestate|ordefault|distinct|resample|foreach|argmax|argmin|ornull|tuple|merge|state|array|null|map|if)$"
)
_TAKES_LAMBDA: Final = re.compile(
    r"array(map|filter|fill|reversefill|split|reversesplit|exists|all|count|first|firstindex|firstornull|last|"
    r"lastindex|lastornull|sum|avg|min|max|product|cumsum|cumsumnonnegative|sort|reversesort|partialsort|"
    r"partialreversesort|fold|compact|difference|normalizedgini)|map(apply|filter|exists|all|sort|reversesort|"
    r"partialsort|partialreversesort)"
)
_TAKES_AGGREGATE_NAME: Final = frozenset({"arrayreduce", "arrayreduceinranges", "initializeaggregation"})
KEYWORDS_BEFORE_PARENTHESIS: Final = words(
    "ALL AND ANTI ANY APPLY ARRAY AS ASOF BETWEEN BY CASE COLUMNS CROSS CUBE DISTINCT ELSE END EXCEPT EXISTS "
    "FILTER FROM FULL GLOBAL HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LEFT LIKE LIMIT MATERIALIZED NOT "
    "OFFSET ON OR OUTER OVER PREWHERE QUALIFY RIGHT ROLLUP SELECT SEMI SETS SOME THEN UNION USING VALUES WHEN "
    "WHERE WITH REPLACE EXCLUDE DESC ASC"
)
_TYPES: Final = words(
    "array nullable lowcardinality tuple map decimal decimal32 decimal64 decimal128 decimal256 fixedstring "
    "datetime datetime32 datetime64 time64 enum enum8 enum16 nested variant dynamic json object interval"
)
_OPERANDS: Final = (Kind.STRING, Kind.NUMBER, Kind.PARAMETER, Kind.QUOTED_NAME)


@cache
def known_functions() -> frozenset[str]:
    """The listed functions, in small letters: the engine tells cases apart, and no two differ in case alone."""
    text = files("buildeye.ask.guard").joinpath("functions.txt").read_text("utf-8")
    return frozenset(word.lower() for line in text.splitlines() if not line.startswith("#") for word in line.split())


def is_known(name: str) -> bool:
    """Whether a scalar, aggregate or window function may be called; aggregate suffixes (`sumIf`) are seen through."""
    name = name.lower()
    if _why_denied(name):
        return False
    while name not in known_functions():
        shorter = _COMBINATORS.sub("", name)
        if shorter in (name, ""):
            return False
        name = shorter
    return True


def check_functions(tokens: list[Token]) -> None:
    """Refused when a function is called, or handed to another function, that is not known to be harmless."""
    for at, token in enumerate(tokens):
        if token.upper == "APPLY":
            _check_apply(tokens, at)
        if not token.is_name or not _opens(tokens, at + 1):
            continue
        if token.upper == "IN":
            _check_in(tokens, at)
        elif not _is_syntax(token, tokens, at):
            check_function(token.name)
            _check_first_argument(token.name.lower(), tokens, at)


def check_function(name: str) -> None:
    """Refused when the function is not known to be harmless."""
    if is_known(name) or name.lower() in TABLE_FUNCTIONS:
        return
    if denied := _why_denied(name.lower()):
        raise Refused(denied[0], f"{name}() {denied[1]}", "ask the tables of the warehouse instead")
    raise Refused(
        Reason.UNKNOWN_FUNCTION,
        f"{name}() is not among the functions known to be harmless",
        "check its spelling, or say it with ClickHouse's own functions",
    )


def refuse_table_function(name: str) -> Refused:
    """The refusal of a table function."""
    denied = _why_denied(name.lower())
    return Refused(
        denied[0] if denied else Reason.TABLE_FUNCTION,
        f"table function {name}() {denied[1] if denied else 'is not known to be harmless'}",
        f"read from a table, or from {', '.join(sorted(TABLE_FUNCTIONS - {'generateseries', 'null'}))}",
    )


def _why_denied(name: str) -> tuple[Reason, str] | None:
    for pattern, reason, what in DENIED:
        if re.fullmatch(pattern, name):
            return reason, what
    return None


def _opens(tokens: list[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].text == "("


def _is_syntax(token: Token, tokens: list[Token], at: int) -> bool:
    """Whether the word before a parenthesis is no function: a keyword, or a type after `AS` or `::`."""
    if token.kind is not Kind.WORD:
        return False
    if token.name.lower() in _TYPES and not is_known(token.name):
        return True
    return token.upper in KEYWORDS_BEFORE_PARENTHESIS


def _check_in(tokens: list[Token], at: int) -> None:
    before = tokens[at - 1] if at else None
    is_operator = before is not None and (
        before.kind in _OPERANDS
        or before.text in (")", "]")
        or before.upper in ("NOT", "GLOBAL", "END", "NULL", "TRUE", "FALSE")
        or (before.kind is Kind.WORD and before.upper not in KEYWORDS_BEFORE_PARENTHESIS)
    )
    if not is_operator:
        raise Refused(Reason.INDIRECT, "in() as a function can name a table", "write `value IN (...)`")


def _check_apply(tokens: list[Token], at: int) -> None:
    """`* APPLY f`, `* APPLY(f)`, `* APPLY(x -> ...)`."""
    rest = [token for token in tokens[at + 1 : at + 4] if token.text != "("]
    if not rest or not rest[0].is_name:
        raise Refused(Reason.INDIRECT, "APPLY is followed by no function", "write * APPLY(function)")
    if not (len(rest) > 1 and rest[1].text == "->"):
        check_function(rest[0].name)


def _check_first_argument(function: str, tokens: list[Token], at: int) -> None:
    """`arrayMap(f, values)` calls f, and `arrayReduce('f', values)` too."""
    first, has_more = _first_argument(tokens, at + 1)
    if function in _TAKES_AGGREGATE_NAME and first:
        name = re.match(r"\w+", string_value(first[0])) if first[0].kind is Kind.STRING else None
        if name is None or len(first) != 1:
            raise Refused(Reason.INDIRECT, f"{function}() needs the name of an aggregate", "write it as a string")
        check_function(name[0])
    if not _TAKES_LAMBDA.fullmatch(function) or not has_more or _is_lambda(first):
        return
    for place, token in enumerate(first):
        # The engine reads `+f`, `(f)` and `f AS g` as f, so every name that calls nothing itself counts.
        if token.is_name and token.upper != "AS" and not _opens(first, place + 1):
            check_function(token.name)


def _is_lambda(argument: list[Token]) -> bool:
    """`x -> ...` or `(x, y) -> ...`, and nothing before it."""
    at = 0
    while at < len(argument) and (argument[at].is_name or argument[at].text in ("(", ")", ",")):
        at += 1
    return at < len(argument) and argument[at].text == "->"


def _first_argument(tokens: list[Token], at: int) -> tuple[list[Token], bool]:
    depth = 0
    inside: list[Token] = []
    for token, depth in _depths(tokens, at):
        if depth == 0 or (depth == 1 and token.text == ","):
            return inside[1:], depth == 1
        inside.append(token)
    return inside[1:], False


def _depths(tokens: list[Token], at: int) -> Iterator[tuple[Token, int]]:
    depth = 0
    for token in tokens[at:]:
        if token.kind is Kind.SIGN:
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        yield token, depth
