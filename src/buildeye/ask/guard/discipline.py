"""The guide's discipline: no scan of all test runs, no join without a key, one repository at a time.

Source: PyTorch's CI metrics guide (large tables need a time bound and an equality; limit to one repository).
"""

from collections.abc import Callable, Iterator
from typing import Final

from sqlglot import exp

from buildeye.ask.guard.tables import SYSTEM_TABLES, TEST_RUNS, Name, Tables
from buildeye.ask.guard.verdict import Reason, Refused

_TIME: Final = "time_inserted"
_KEYS: Final = frozenset({"file", "name", "classname", "job_id"})
_REPOSITORY: Final = frozenset({"repository_full_name", "full_name", "dynamoKey"})
_CLAUSES: Final = ("where", "prewhere", "group")
_EPOCH_YEARS: Final = ("19", "0")
_YEAR_2000: Final = 946_684_800


def check_discipline(sources: list[tuple[exp.Table, Name]], tables: Tables) -> tuple[str, ...]:
    """Refused: test runs without bounds, joins without a key. Else warnings, one a table."""
    warnings: dict[str, None] = {}
    for table, name in sources:
        select = table.find_ancestor(exp.Select)
        if select is None:
            raise Refused(
                Reason.UNREADABLE, f"{'.'.join(name)} is read outside of a SELECT", "write SELECT ... FROM it"
            )
        if name in TEST_RUNS:
            _check_test_runs(table, select, name)
        if name in tables.several_repositories and not _names_repository(select):
            warnings[
                f"{'.'.join(name)} covers several repositories: add repository_full_name = 'owner/name', "
                "unless you mean all of them."
            ] = None
    _check_joins(sources)
    return tuple(warnings)


def _check_test_runs(table: exp.Table, select: exp.Select, name: Name) -> None:
    conditions = list(_conditions(table, select))
    shown = ".".join(name)
    if not any(_holds(condition, lambda one: _bounds_time(one, table)) for condition in conditions):
        raise Refused(
            Reason.NO_TIME_BOUND,
            f"{shown} is huge, and this SELECT reads all of its time",
            f"add {_TIME} >= now() - INTERVAL 7 DAY to the WHERE of the SELECT that reads it",
        )
    if not any(_holds(condition, lambda one: _is_equality(one, table)) for condition in conditions):
        raise Refused(
            Reason.NO_EQUALITY,
            f"{shown} is huge, and this SELECT reads every test of the time it asks for",
            "add an equality to the WHERE of the SELECT that reads it: file = '...', or classname, name or job_id, "
            "with = or IN",
        )


def _conditions(table: exp.Table, select: exp.Select) -> Iterator[exp.Expr]:
    """WHERE, PREWHERE, and ON where the table itself is joined by it."""
    for clause in ("where", "prewhere"):
        if (node := select.args.get(clause)) is not None:
            yield node.this
    join = table.find_ancestor(exp.Join, exp.Select)
    if (
        isinstance(join, exp.Join)
        and (on := join.args.get("on")) is not None
        and join.side.upper() not in ("RIGHT", "FULL")
    ):
        yield on


def _holds(condition: exp.Expr, test: Callable[[exp.Expr], bool]) -> bool:
    """Whether the test holds for every row the condition lets through: one of AND, all of OR, nothing under NOT."""
    if isinstance(condition, exp.Paren):
        return _holds(condition.this, test)
    if isinstance(condition, exp.And):
        return _holds(condition.this, test) or _holds(condition.expression, test)
    if isinstance(condition, exp.Or):
        return _holds(condition.this, test) and _holds(condition.expression, test)
    return test(condition)


def _bounds_time(one: exp.Expr, table: exp.Table) -> bool:
    if isinstance(one, exp.Between):
        return _is_time(one.this, table) and _is_bound(one.args["low"])
    if isinstance(one, exp.GTE | exp.GT | exp.EQ) and _is_time(one.this, table) and _is_bound(one.expression):
        return True
    if isinstance(one, exp.LTE | exp.LT | exp.EQ) and _is_time(one.expression, table) and _is_bound(one.this):
        return True
    return isinstance(one, exp.In) and _is_time(one.this, table) and all(_is_bound(each) for each in _listed(one))


def _is_time(side: exp.Expr, table: exp.Table) -> bool:
    """The time column, bare or within functions such as toDate()."""
    while isinstance(side, exp.Func | exp.Paren) and not isinstance(side, exp.AggFunc):
        columns = list(side.find_all(exp.Column))
        if len(columns) != 1:
            return False
        side = columns[0]
    return isinstance(side, exp.Column) and side.name == _TIME and _belongs(side, table)


def _is_bound(side: exp.Expr) -> bool:
    """A value that is the same for every row, and no beginning of all time."""
    if not _is_constant(side):
        return False
    inner = side
    while not isinstance(inner, exp.Literal):
        below = [each for each in inner.iter_expressions() if not isinstance(each, exp.DataType)]
        if len(below) != 1:
            return True
        inner = below[0]
    if inner.is_string:
        return not inner.name.startswith(_EPOCH_YEARS)
    return not (inner.is_number and float(inner.name) < _YEAR_2000) or isinstance(side, exp.Interval)


def _is_equality(one: exp.Expr, table: exp.Table) -> bool:
    if isinstance(one, exp.EQ):
        return (_is_key(one.this, table) and _is_constant(one.expression)) or (
            _is_key(one.expression, table) and _is_constant(one.this)
        )
    if isinstance(one, exp.In):
        return _is_key(one.this, table) and all(_is_constant(each) for each in _listed(one))
    return False


def _listed(one: exp.In) -> list[exp.Expr]:
    """What stands to the right of IN."""
    return [*one.expressions, *(one.args[name] for name in ("field", "query") if one.args.get(name) is not None)]


def _is_key(side: exp.Expr, table: exp.Table) -> bool:
    if isinstance(side, exp.Paren):
        return _is_key(side.this, table)
    if isinstance(side, exp.Tuple):
        return any(_is_key(each, table) for each in side.expressions)
    return isinstance(side, exp.Column) and side.name in _KEYS and _belongs(side, table)


def _is_constant(side: exp.Expr) -> bool:
    """No column of a row in it; a sub-query and a value named in WITH are constants."""
    scalars = _scalars(side)
    return all(
        column.name in scalars and not column.table
        for column in side.find_all(exp.Column)
        if not _is_within_query(column, side)
    )


def _scalars(node: exp.Expr) -> set[str]:
    return {
        cte.alias
        for cte in _scalar_queries(node)
        if isinstance(cte.this, exp.Subquery) or cte.this.find(exp.Column) is None
    }


def _is_within_query(node: exp.Expr, top: exp.Expr) -> bool:
    above: exp.Expr | None = node
    while above is not None and above is not top:
        if isinstance(above, exp.Query):
            return True
        above = above.parent
    return isinstance(top, exp.Query)


def _belongs(column: exp.Column, table: exp.Table) -> bool:
    """Whether the column is the table's own, and no other value that the query has given its name to."""
    if column.table:
        return column.table == table.alias_or_name
    select = table.find_ancestor(exp.Select)
    return select is not None and not any(
        alias.alias == column.name and all(inner.name != column.name for inner in alias.this.find_all(exp.Column))
        for alias in (*select.find_all(exp.Alias), *_scalar_queries(column))
    )


def _scalar_queries(node: exp.Expr) -> Iterator[exp.Expr]:
    """The values named in WITH that are in sight."""
    above: exp.Expr | None = node
    while above is not None:
        if isinstance(clause := above.args.get("with_"), exp.With):
            yield from (cte for cte in clause.expressions if cte.args.get("scalar"))
        above = above.parent


def _names_repository(select: exp.Select) -> bool:
    clauses = [select.args[name] for name in _CLAUSES if select.args.get(name) is not None]
    clauses += [join.args["on"] for join in select.args.get("joins") or () if join.args.get("on") is not None]
    return any(node.name in _REPOSITORY for clause in clauses for node in clause.find_all(exp.Identifier, exp.Literal))


def _check_joins(sources: list[tuple[exp.Table, Name]]) -> None:
    facts = {id(table): name for table, name in sources if name[0] not in SYSTEM_TABLES}
    for table, name in sources:
        join = table.find_ancestor(exp.Join, exp.Select)
        if id(table) not in facts or not isinstance(join, exp.Join) or join.args.get("using"):
            continue
        select = table.find_ancestor(exp.Select)
        others = [other for other in facts if other != id(table) and _is_in(other, sources, select)]
        if not others or select is None:
            continue
        conditions = [join.args.get("on"), *(select.args[c].this for c in ("where", "prewhere") if select.args.get(c))]
        if not any(condition is not None and _holds(condition, _links) for condition in conditions):
            raise Refused(
                Reason.HUGE_JOIN,
                f"{'.'.join(name)} is joined without a key, so every row meets every row",
                "join ON an equality of two columns, such as j.run_id = r.id",
            )


def _is_in(wanted: int, sources: list[tuple[exp.Table, Name]], select: exp.Select | None) -> bool:
    return any(id(table) == wanted and table.find_ancestor(exp.Select) is select for table, _ in sources)


def _links(one: exp.Expr) -> bool:
    if not isinstance(one, exp.EQ | exp.NullSafeEQ):
        return False
    left, right = one.this.find(exp.Column), one.expression.find(exp.Column)
    return left is not None and right is not None and (not left.table or left.table != right.table)
