"""SHOW, DESCRIBE and EXPLAIN, read by their tokens: the parser does not know all of their forms."""

from typing import Final

from buildeye.ask.guard.lexing import Kind, Token
from buildeye.ask.guard.sources import check_table
from buildeye.ask.guard.tables import SYSTEM_TABLES, Tables
from buildeye.ask.guard.verdict import Reason, Refused

_EXPLAINED: Final = (("AST",), ("SYNTAX",), ("QUERY", "TREE"), ("PLAN",), ("PIPELINE",), ("ESTIMATE",))
_SHOW_HINT: Final = (
    "SHOW DATABASES, TABLES, COLUMNS FROM table, CREATE TABLE table and FUNCTIONS may be asked, with LIKE"
)
_LIKE: Final = ("LIKE", "ILIKE")


def begins_query(tokens: list[Token]) -> bool:
    """Whether a SELECT or WITH begins here, within parentheses or not."""
    words = [token for token in tokens if token.text != "("]
    return bool(words) and words[0].upper in ("SELECT", "WITH")


def explained(tokens: list[Token]) -> list[Token]:
    """The query an EXPLAIN explains. Refused when it explains something else."""
    rest = tokens[1:]
    for words in _EXPLAINED:
        if tuple(token.upper for token in rest[: len(words)]) == words:
            rest = rest[len(words) :]
            break
    while len(rest) > 3 and rest[0].kind is Kind.WORD and rest[1].text == "=" and rest[2].kind is Kind.NUMBER:
        rest = rest[3:]
        if rest[0].text == ",":
            rest = rest[1:]
    if not begins_query(rest):
        raise Refused(Reason.NOT_A_READ, "EXPLAIN explains a query only", "write EXPLAIN SELECT ...")
    return rest


def described(tokens: list[Token], tables: Tables) -> list[Token] | None:
    """The query a DESCRIBE describes; None when it describes a table, which is checked here."""
    rest = tokens[2:] if len(tokens) > 1 and tokens[1].upper == "TABLE" else tokens[1:]
    if begins_query(rest):
        return rest
    _only_table(rest, tables, "write DESCRIBE TABLE database.table")
    return None


def check_show(tokens: list[Token], tables: Tables) -> None:
    """Refused unless it shows names of databases, tables, columns or functions, or how a table was made."""
    rest = [token for token in tokens[1:] if token.upper not in ("FULL", "EXTENDED")]
    what = rest[0].upper if rest else ""
    rest = rest[1:]
    if what == "CREATE" and rest:
        _only_table(rest[1:] if rest[0].upper in ("TABLE", "VIEW") else rest, tables, "write SHOW CREATE TABLE table")
    elif what in ("DATABASES", "SCHEMAS", "FUNCTIONS"):
        _only_like(rest)
    elif what in ("TABLES", "COLUMNS", "FIELDS") and not (what != "TABLES" and not rest):
        named, rest = _from(rest)
        more, rest = _from(rest)
        if what == "TABLES":
            _check_database(named, tables)
        else:
            check_table(more + named, tables)
        _only_like(rest)
    else:
        raise Refused(Reason.NOT_A_READ, f"SHOW {what} is not among what may be shown", _SHOW_HINT)


def _from(tokens: list[Token]) -> tuple[list[str], list[Token]]:
    if not tokens or tokens[0].upper not in ("FROM", "IN"):
        return [], tokens
    names, at = [], 1
    while at < len(tokens) and tokens[at].is_name:
        names.append(tokens[at].name)
        at += 1
        if at >= len(tokens) or tokens[at].text != ".":
            break
        at += 1
    return names, tokens[at:]


def _check_database(named: list[str], tables: Tables) -> None:
    if named and (len(named) > 1 or (named[0] not in tables.names and named[0] not in SYSTEM_TABLES)):
        raise Refused(Reason.UNKNOWN_TABLE, f"there is no database {'.'.join(named)[:100]} here", "see SHOW DATABASES")


def _only_table(tokens: list[Token], tables: Tables, hint: str) -> None:
    names, rest = _from([Token(Kind.WORD, "FROM"), *tokens])
    if rest and rest[0].text == "(" and names:
        from buildeye.ask.guard.callables import refuse_table_function

        raise refuse_table_function(names[-1])
    if rest or not names:
        raise Refused(Reason.UNREADABLE, "it names no single table", hint)
    check_table(names, tables)


def _only_like(tokens: list[Token]) -> None:
    rest = tokens[1:] if tokens and tokens[0].upper == "NOT" else tokens
    if len(rest) >= 2 and rest[0].upper in _LIKE and rest[1].kind is Kind.STRING:
        rest = rest[2:]
    if len(rest) == 2 and rest[0].upper == "LIMIT" and rest[1].kind is Kind.NUMBER:
        rest = []
    if rest:
        raise Refused(Reason.NOT_A_READ, f"SHOW is followed by {rest[0].text[:40]}", _SHOW_HINT)
