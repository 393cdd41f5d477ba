"""What a query reads from: every place where ClickHouse takes a name for a table, by the parser and by the tokens.

In the embedded engine a name that is no table is a file, in FROM, in JOIN and on the right of IN alike. So a name must
be a table we know or the name of a WITH query that is in sight. The tokens are looked through as well, so that a
construct the parser reads in another way than the engine hides no table.
"""

import difflib
from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from buildeye.ask.guard.callables import TABLE_FUNCTIONS, refuse_table_function
from buildeye.ask.guard.lexing import Kind, Token
from buildeye.ask.guard.tables import PARTIAL, SYSTEM_TABLES, TEST_RUNS, Name, Tables
from buildeye.ask.guard.verdict import Reason, Refused

_FROM_INSIDE: Final = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "OVERLAY", "POSITION", "LTRIM", "RTRIM"})
_SECRETIVE: Final = {name.lower() for name in SYSTEM_TABLES}


def check_table(parts: list[str], tables: Tables) -> Name:
    """The table a dotted name names. Refused: partial, secret or unknown ones."""
    name = (parts[0], parts[1]) if len(parts) == 2 else (tables.default_database, parts[-1])
    if name in PARTIAL:
        raise Refused(
            Reason.PARTIAL_TABLE,
            f"{'.'.join(name)} holds only part of the test runs, so every count from it is wrong",
            "ask tests.all_test_runs, with a time bound and an equality on file, name, classname or job_id",
        )
    if len(parts) <= 2 and tables.has(name):
        return name
    if name[0].lower() in _SECRETIVE:
        raise Refused(
            Reason.SYSTEM_TABLE,
            f"{'.'.join(parts)} tells about the server, its users and their queries",
            "of the system tables tables, columns, databases, functions and the like may be asked",
        )
    raise Refused(Reason.UNKNOWN_TABLE, f"there is no table {'.'.join(parts)[:100]} here", _nearest(name[1], tables))


def check_sources(tree: exp.Expr, tokens: list[Token], tables: Tables) -> list[tuple[exp.Table, Name]]:
    """The real tables a query reads, one entry a place. Refused when one of them may not be read."""
    found = []
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            _check_table_function(table.this)
        elif table.args.get("db") or table.name not in visible_queries(table):
            found.append((table, check_table([part.name for part in table.parts], tables)))
    for node in tree.find_all(exp.Lateral, exp.Unnest):
        raise refuse_table_function(node.key)
    _check_in(tree, tables)
    _check_tokens(tokens, {name for cte in tree.find_all(exp.CTE) for name in [cte.alias]}, tables)
    return found


def visible_queries(node: exp.Expr) -> set[str]:
    """The names of the WITH queries that a table name at this place may mean. Scalars (`5 AS x`) are no tables."""
    names: set[str] = set()
    inside: exp.Expr | None = node
    own: exp.Expr | None = None
    while inside is not None:
        if isinstance(inside, exp.CTE):
            own = inside
        if isinstance(clause := inside.args.get("with_"), exp.With):
            names |= {
                cte.alias
                for cte in clause.expressions
                if not cte.args.get("scalar") and (cte is not own or clause.args.get("recursive"))
            }
        inside = inside.parent
    return names


def _nearest(name: str, tables: Tables) -> str:
    known = {f"{database}.{table}": table for database, names in tables.names.items() for table in names}
    near = [full for full, table in known.items() if table == name] or [
        full for full, table in known.items() if difflib.SequenceMatcher(None, table, name).ratio() > 0.8
    ]
    if near:
        return f"did you mean {sorted(near)[0]}?  For all of them write SHOW TABLES FROM default"
    return "see SHOW TABLES FROM default, FROM tests and FROM buildeye; for a value in an array write has(array, value)"


def _check_table_function(function: exp.Expr) -> None:
    name = function.name if isinstance(function, exp.Anonymous) else getattr(function, "sql_name", lambda: "")()
    if name.lower() not in TABLE_FUNCTIONS:
        raise refuse_table_function(name or function.key)


def _check_in(tree: exp.Expr, tables: Tables) -> None:
    """`value IN name` and `value IN (name)` read the table `name`."""
    for node in tree.find_all(exp.In):
        several = node.expressions
        right = node.args.get("field") or (several[0] if len(several) == 1 else None)
        while isinstance(right, exp.Paren):
            right = right.this
        if not isinstance(right, exp.Column | exp.Identifier | exp.Dot | exp.Table):
            continue
        parts = [part.name for part in right.parts] if hasattr(right, "parts") else [right.name]
        if len(parts) == 1 and parts[0] in visible_queries(node):
            continue
        if (name := check_table(parts, tables)) in TEST_RUNS:
            raise Refused(
                Reason.NO_TIME_BOUND,
                f"IN {'.'.join(name)} reads the whole table",
                "write a sub-query with a time bound and an equality",
            )


def _check_tokens(tokens: list[Token], queries: set[str], tables: Tables) -> None:
    for at, token in enumerate(tokens):
        if token.is_name and token.name.lower() in _SECRETIVE and (after := _names(tokens, at))[1:]:
            check_table(after[:2], tables)
        if token.upper == "IN":
            _check_right_of_in(tokens, at, queries, tables)
        if token.upper not in ("FROM", "JOIN") or (token.upper == "FROM" and _is_no_source(tokens, at)):
            continue
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if following is None or following.text == "(" or _is_array_join(tokens, at):
            continue
        if not following.is_name:
            raise Refused(
                Reason.FILE,
                f"{token.upper} {following.text[:60]} is no table but a file or a parameter",
                "write the name of a table",
            )
        parts = _names(tokens, at + 1)
        after_names = at + 2 * len(parts)
        if after_names < len(tokens) and tokens[after_names].text == "(":
            if parts[0].lower() not in TABLE_FUNCTIONS or len(parts) > 1:
                raise refuse_table_function(parts[-1])
        elif len(parts) > 1 or parts[0] not in queries:
            check_table(parts, tables)


def _check_right_of_in(tokens: list[Token], at: int, queries: set[str], tables: Tables) -> None:
    start = at + 1
    while start < len(tokens) and tokens[start].text == "(":
        start += 1
    parts = _names(tokens, start)
    after = start + 2 * len(parts) - 1
    is_call = after < len(tokens) and tokens[after].text == "("
    is_alone = start == at + 1 or (after < len(tokens) and tokens[after].text == ")")
    if parts and tokens[start].is_name and is_alone and not is_call and not (len(parts) == 1 and parts[0] in queries):
        check_table(parts, tables)


def _names(tokens: list[Token], at: int) -> list[str]:
    """The parts of the dotted name that begins at a token."""
    return list(_dotted(tokens, at))


def _dotted(tokens: list[Token], at: int) -> Iterator[str]:
    while at < len(tokens) and (tokens[at].is_name or tokens[at].kind is Kind.STRING):
        yield tokens[at].name or tokens[at].text
        if at + 1 >= len(tokens) or tokens[at + 1].text != ".":
            return
        at += 2


def _is_no_source(tokens: list[Token], at: int) -> bool:
    """`a IS DISTINCT FROM b`, `extract(year FROM a)`, `trim(BOTH ' ' FROM a)`."""
    if tokens[at - 1].upper == "DISTINCT" and at > 1 and tokens[at - 2].upper in ("IS", "NOT"):
        return True
    depth = 0
    for back in range(at - 1, 0, -1):
        text = tokens[back].text if tokens[back].kind is Kind.SIGN else ""
        depth += (text == ")") - (text == "(")
        if depth < 0:
            return tokens[back - 1].upper in _FROM_INSIDE
        if tokens[back].upper == "SELECT" and depth == 0:
            return False
    return False


def _is_array_join(tokens: list[Token], at: int) -> bool:
    return tokens[at].upper == "JOIN" and tokens[at - 1].upper == "ARRAY"
