"""The guard as a story: text, tokens, tail, kind of statement, functions, sources, discipline."""

import logging
from dataclasses import replace
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from buildeye.ask.guard.callables import check_functions
from buildeye.ask.guard.discipline import check_discipline
from buildeye.ask.guard.lexing import Kind, Token, read_tokens, written
from buildeye.ask.guard.sources import check_sources
from buildeye.ask.guard.statements import begins_query, check_show, described, explained
from buildeye.ask.guard.tables import OURS, Tables
from buildeye.ask.guard.tail import cut_tail
from buildeye.ask.guard.verdict import Allowed, Limits, Reason, Refused

_NOT_READ: Final = "only SELECT, WITH, SHOW, DESCRIBE and EXPLAIN may be asked"
_BANNED_NODES: Final = (
    exp.Command, exp.Insert, exp.Update, exp.Delete, exp.Create, exp.Drop, exp.Alter, exp.Into, exp.Set, exp.Use,
)  # fmt: skip
_LIMIT_BY_ENDS: Final = frozenset({"LIMIT", "UNION", "EXCEPT", "INTERSECT", "OFFSET", "FETCH"})


def check(sql: str, *, tables: Tables = OURS, limits: Limits | None = None) -> Allowed:
    """The statement as it may run, with the settings it must run under.

    `tables` are those that exist where it will run. Pure: nothing is asked, nothing is read.
    Refused (exit 2) says what is wrong and what to write instead.
    """
    tokens = _one_statement(read_tokens(sql))
    _no_output(tokens)
    tail = cut_tail(tokens, limits or Limits())
    allowed = Allowed(written(tail.body), (), tail.settings, tail.format)
    match tail.body[0].upper:
        case "SHOW":
            check_show(tail.body, tables)
            return allowed
        case "EXPLAIN":
            return replace(allowed, warnings=_check_query(explained(tail.body), tables)[0])
        case "DESCRIBE" | "DESC":
            query = described(tail.body, tables)
            return allowed if query is None else replace(allowed, warnings=_check_query(query, tables)[0])
        case _ if begins_query(tail.body):
            warnings, is_union = _check_query(tail.body, tables)
            return replace(allowed, warnings=warnings, is_union=is_union)
        case word:
            raise Refused(Reason.NOT_A_READ, f"it begins with {(word or tail.body[0].text)[:40]}", _NOT_READ)


def _one_statement(tokens: list[Token]) -> list[Token]:
    while tokens and tokens[-1].text == ";":
        tokens = tokens[:-1]
    if not tokens:
        raise Refused(Reason.EMPTY, "there is nothing in it", "write a SELECT")
    if any(token.text == ";" for token in tokens):
        raise Refused(Reason.SEVERAL_STATEMENTS, "it holds several statements", "ask them one at a time")
    return tokens


def _no_output(tokens: list[Token]) -> None:
    if any(token.upper in ("INTO", "OUTFILE", "INFILE") for token in tokens) and (
        tokens[0].upper in ("SELECT", "WITH", "EXPLAIN", "SHOW", "DESCRIBE", "DESC") or tokens[0].text == "("
    ):
        raise Refused(
            Reason.OUTPUT, "INTO writes a file on the machine of the engine", "leave it out, and keep the answer"
        )


def _check_query(tokens: list[Token], tables: Tables) -> tuple[tuple[str, ...], bool]:
    """The warnings, and whether it is a union."""
    check_functions(tokens)
    tree = _parsed(tokens)
    warnings = check_discipline(check_sources(tree, tokens, tables), tables)
    return warnings, isinstance(tree.unnest(), exp.SetOperation)


def _parsed(tokens: list[Token]) -> exp.Expr:
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        trees = sqlglot.parse(written(_without_limit_by(tokens)), dialect="clickhouse")
    except Exception as error:  # noqa: BLE001  the parser has bugs of its own (IndexError on `map('a')`)
        raise Refused(Reason.UNREADABLE, f"it cannot be read ({_first_line(error)})", "write it plainly") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query) or trees[0].find(*_BANNED_NODES):
        raise Refused(Reason.NOT_A_READ, "it is no plain query", _NOT_READ)
    return trees[0]


def _first_line(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deep"
    if not isinstance(error, SqlglotError):
        return "the parser gave up"
    return str(error).splitlines()[0].replace("\x1b[4m", "").replace("\x1b[0m", "").rstrip(". ")[:120]


def _without_limit_by(tokens: list[Token]) -> list[Token]:
    """The tokens for the parser, which reads no `LIMIT 1 BY a LIMIT 10`: the first of the two is left out."""
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        end = _limit_by_end(tokens, at)
        if end is None:
            kept.append(tokens[at])
            at += 1
        else:
            at = end
    return kept


def _limit_by_end(tokens: list[Token], at: int) -> int | None:
    if tokens[at].upper != "LIMIT":
        return None
    by = at + 2
    if by + 1 < len(tokens) and (tokens[by].text == "," or tokens[by].upper == "OFFSET"):
        by += 2
    values = (Kind.NUMBER, Kind.PARAMETER)
    if by >= len(tokens) or tokens[by].upper != "BY" or any(t.kind not in values for t in tokens[at + 1 : by : 2]):
        return None
    depth = 0
    for end in range(by + 1, len(tokens)):
        token = tokens[end]
        if token.upper in ("SELECT", "WITH", "FROM", "IN"):
            return None
        if token.kind is Kind.SIGN:
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth < 0 or (depth == 0 and token.upper in _LIMIT_BY_ENDS):
            return end
    return len(tokens)
