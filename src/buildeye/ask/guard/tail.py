"""The end of a query: FORMAT and SETTINGS, which are read here and taken off."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from buildeye.ask.guard.lexing import Kind, Token, string_value, words
from buildeye.ask.guard.verdict import Limits, Reason, Refused

_FORMATS: Final = words(
    (
        "Arrow ArrowStream BSONEachRow CSV CSVWithNames CSVWithNamesAndTypes JSON JSONColumns "
        "JSONColumnsWithMetadata JSONCompact JSONCompactColumns JSONCompactEachRow JSONCompactEachRowWithNames "
        "JSONCompactEachRowWithNamesAndTypes JSONCompactStrings JSONCompactStringsEachRow JSONEachRow "
        "JSONEachRowWithProgress JSONLines JSONObjectEachRow JSONStrings JSONStringsEachRow Markdown MsgPack NDJSON "
        "Native "
        "Null ORC Parquet Pretty PrettyCompact PrettyCompactMonoBlock PrettyCompactNoEscapes PrettyJSONEachRow "
        "PrettyMonoBlock PrettyNDJSON PrettyNoEscapes PrettySpace PrettySpaceNoEscapes RowBinary RowBinaryWithNames "
        "RowBinaryWithNamesAndTypes TSV TSVRaw TSVWithNames TSVWithNamesAndTypes TabSeparated TabSeparatedRaw "
        "TabSeparatedWithNames TabSeparatedWithNamesAndTypes Values Vertical XML"
    ).lower()
)
"""Output formats that write what they are given. Template, CustomSeparated, Protobuf and Cap'n Proto read files."""

_HARMLESS: Final = words(
    "aggregate_functions_null_for_empty allow_experimental_analyzer cast_keep_nullable date_time_output_format "
    "do_not_merge_across_partitions_select_final "
    "empty_result_for_aggregation_by_empty_set enable_analyzer extremes final format_csv_delimiter "
    "group_by_use_nulls join_algorithm join_use_nulls max_block_size optimize_aggregation_in_order "
    "optimize_move_to_prewhere optimize_read_in_order output_format_csv_crlf_end_of_line "
    "output_format_decimal_trailing_zeros output_format_json_escape_forward_slashes "
    "output_format_json_named_tuples_as_objects output_format_json_quote_64bit_integers "
    "output_format_json_quote_decimals output_format_json_quote_denormals output_format_pretty_color "
    "output_format_pretty_max_rows output_format_write_statistics prefer_column_name_to_alias session_timezone "
    "totals_mode transform_null_in union_default_mode use_skip_indexes"
)
_ONLY_ON: Final = frozenset({"allow_experimental_analyzer", "enable_analyzer"})
"""The old analyzer resolves names in ways these rules were not made for."""

_LOWERED: Final = words(
    "max_execution_time max_memory_usage max_result_rows max_result_bytes max_rows_to_read max_bytes_to_read "
    "max_threads"
)
"""Limits a query may make smaller for itself."""


@dataclass(frozen=True, slots=True)
class Tail:
    """A query without its tail, and what the tail asked for."""

    body: list[Token]
    format: str | None
    settings: Mapping[str, int | str]


def cut_tail(tokens: list[Token], limits: Limits) -> Tail:
    """Take FORMAT and SETTINGS off the end, in either order. Refused: a format or a setting that is not harmless."""
    body, chosen, name = tokens, limits.settings(), None
    while True:
        if len(body) > 2 and body[-2].upper == "FORMAT" and body[-1].is_name and name is None:
            name, body = body[-1].name, body[:-2]
            check_format(name)
        elif (start := _settings_start(body)) is not None:
            _read_settings(body[start + 1 :], chosen)
            body = body[:start]
        else:
            break
    if any(_is_settings(body, at) for at in range(len(body))):
        raise Refused(Reason.SETTING, "it has SETTINGS within it", "put harmless settings at the end of the query")
    return Tail(body, name, chosen)


def _settings_start(tokens: list[Token]) -> int | None:
    depth = 0
    for at in range(len(tokens) - 1, 0, -1):
        token = tokens[at]
        if token.kind is Kind.SIGN:
            depth += (token.text in ")]") - (token.text in "([")
        if depth == 0 and _is_settings(tokens, at):
            return at
        if token.upper in ("SELECT", "FROM", "UNION") or token.text == ";":
            return None
    return None


def _is_settings(tokens: list[Token], at: int) -> bool:
    """The clause, not the table `system.settings` nor SHOW SETTINGS."""
    before = tokens[at - 1] if at else None
    is_named = before is not None and (before.text == "." or (at == 1 and before.upper == "SHOW"))
    return tokens[at].upper == "SETTINGS" and not is_named


def check_format(name: str) -> None:
    """Refused when the output format is not known to write only what it is given."""
    if name.lower() not in _FORMATS:
        raise Refused(
            Reason.FORMAT,
            f"FORMAT {name} is not among the formats known to read nothing else",
            "use JSON, JSONEachRow, CSVWithNames, TSV, Native, Parquet or PrettyCompact",
        )


def _read_settings(tokens: list[Token], chosen: dict[str, int | str]) -> None:
    for at in range(0, len(tokens), 4):
        part = tokens[at : at + 4]
        is_pair = len(part) >= 3 and part[0].is_name and part[1].text == "="
        ends = len(part) == 3 or (len(part) == 4 and part[3].text == "," and at + 4 < len(tokens))
        if not is_pair or not ends or part[2].kind not in (Kind.NUMBER, Kind.STRING, Kind.WORD):
            raise Refused(Reason.SETTING, "its SETTINGS are no list of name = value", "write SETTINGS name = 1")
        _choose(part[0].name, part[2], chosen)
    if not tokens:
        raise Refused(Reason.SETTING, "its SETTINGS are empty", "write SETTINGS name = 1, or leave the word out")


def settings_beside(given: Mapping[str, str], allowed: Mapping[str, int | str]) -> dict[str, int | str]:
    """The settings a query runs under when its client sets some beside it; those of the query itself count.

    A limit beside it is lowered to ours without a word: clients send their own defaults. Refused: one not harmless.
    """
    chosen = dict(allowed)
    for name, value in given.items():
        if not value.isascii():
            raise Refused(Reason.SETTING, f"setting {name[:60]} has a strange value", "write letters and digits")
        most = chosen.get(name)
        if name in _LOWERED and isinstance(most, int) and value.isdigit():
            chosen[name] = min(int(value), most) or most
        elif name not in chosen or name in _LOWERED:
            _choose(name, Token(Kind.NUMBER if value.isdigit() else Kind.WORD, value), chosen)
    return chosen


def _choose(name: str, given: Token, chosen: dict[str, int | str]) -> None:
    value = string_value(given) if given.kind is Kind.STRING else given.text
    if name in chosen and str(chosen[name]) == value:
        return  # what it runs under anyway
    if name in _LOWERED:
        most = chosen.get(name)
        if not value.isdigit() or int(value) < 1 or (isinstance(most, int) and int(value) > most):
            raise Refused(Reason.SETTING, f"{name} = {value} lifts a limit", f"give a number from 1 to {most or 'any'}")
        chosen[name] = int(value)
        return
    if name not in _HARMLESS or (name in _ONLY_ON and value not in ("1", "true")):
        raise Refused(
            Reason.SETTING,
            f"setting {name} = {value} may not be changed in a query",
            "leave it out; limits are set in the configuration",
        )
    chosen[name] = int(value) if given.kind is Kind.NUMBER and value.isdigit() else value
