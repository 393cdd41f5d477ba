"""The diagnosis contract as JSON Schema (docs/diagnosis.md)."""

from typing import Any

from jsonschema import Draft202012Validator

from buildeye.model import CATEGORIES, Cause, Cost, Determinism


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": required | optional,
        "required": list(required),
        "additionalProperties": False,
    }


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


TEXT = {"type": "string", "pattern": r"^[^\x00-\x08\x0b-\x1f\x7f]*$"}
"""Text without terminal control characters."""
LINE = {"type": "integer", "minimum": 1}
KINDS = ["job", "step", "rule", "baseline", "words", "history", "infrastructure"]

DIAGNOSIS = _object(
    {
        "log": {"type": "string", "minLength": 1},
        "cause": {"enum": [cause.value for cause in Cause]},
        "category": {"type": "string", "pattern": r"^[a-z][a-z0-9-]*$"},
        "determinism": {"enum": [word.value for word in Determinism]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "summary": TEXT | {"minLength": 1},
        "key_line": {"anyOf": [{"type": "null"}, _object({"number": LINE, "text": TEXT})]},
        "excerpts": _list(_object({"start": LINE, "end": LINE, "why": TEXT})),
        "evidence": _list(
            _object(
                {"kind": {"enum": KINDS}, "id": TEXT, "quote": TEXT, "why": TEXT},
                line={"anyOf": [{"type": "null"}, LINE]},
            )
        ),
        "files": _list(TEXT),
        "tests": _list(TEXT),
        "signature": TEXT,
        "suggestions": _list(
            _object(
                {"title": TEXT, "cost": {"enum": [cost.value for cost in Cost]}, "steps": _list(TEXT), "command": TEXT}
            )
        ),
    },
    retry_helps={"type": ["boolean", "null"]},
    rule_set=TEXT,
)
_VALIDATOR = Draft202012Validator(DIAGNOSIS)


def check(diagnosis: dict[str, Any]) -> None:
    """Fails with every way in which one object is not what the contract says."""
    problems = [f"{error.json_path}: {error.message[:200]}" for error in _VALIDATOR.iter_errors(diagnosis)]
    assert not problems, problems
    cause, category = Cause(diagnosis["cause"]), diagnosis["category"]
    if cause in (Cause.NONE, Cause.UNKNOWN):
        assert category == cause.value
    else:
        assert category in {name for names in CATEGORIES.values() for name in names} - {"none", "unknown"}
        assert diagnosis["confidence"] >= 0.5
        assert diagnosis["signature"]
    assert all(excerpt["start"] <= excerpt["end"] for excerpt in diagnosis["excerpts"])
    order = ["low", "medium", "high"]
    costs = [order.index(suggestion["cost"]) for suggestion in diagnosis["suggestions"]]
    assert costs == sorted(costs), "suggestions come cheapest first"
