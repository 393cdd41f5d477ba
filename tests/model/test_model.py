"""The words of the house: one enum a vocabulary, light to import, and a diagnosis that is the contract's object."""

import dataclasses
import json
import subprocess
import sys

import pytest

import buildeye.model
from buildeye.model import CATEGORIES, BuildEyeError, Cause, Diagnosis, KeyLine, OutsideError, UsageError, home_cause


def test_importing_the_model_needs_the_standard_library_alone() -> None:
    code = (
        "import sys; import buildeye.model;"
        "print(sorted({n.partition('.')[0] for n in sys.modules} - set(sys.stdlib_module_names) - {'buildeye'}))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=_env())
    assert done.stdout.strip() in ("[]", "['__main__']")


def _env() -> dict[str, str]:
    (package,) = buildeye.model.__path__
    return {"PYTHONPATH": package.removesuffix("/buildeye/model")}


def test_every_cause_has_categories_and_every_category_one_home() -> None:
    assert CATEGORIES.keys() == set(Cause)
    names = [category for categories in CATEGORIES.values() for category in categories]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("category", "cause"), [("lint", Cause.CODE), ("timeout", Cause.INFRASTRUCTURE), ("of-a-pack", None)]
)
def test_a_category_is_at_home_in_a_cause(category: str, cause: Cause | None) -> None:
    assert home_cause(category) is cause


def test_a_diagnosis_prints_as_json_with_plain_words() -> None:
    printed = json.loads(json.dumps(Diagnosis("a.log", Cause.CODE, key_line=KeyLine(3, "x")).to_dict()))
    assert (printed["log"], printed["cause"], printed["key_line"]) == ("a.log", "code", {"number": 3, "text": "x"})


@pytest.mark.parametrize(
    "name", [n for n in buildeye.model.__all__ if dataclasses.is_dataclass(getattr(buildeye.model, n))]
)
def test_every_value_is_frozen(name: str) -> None:
    assert getattr(buildeye.model, name).__dataclass_params__.frozen


@pytest.mark.parametrize(("error", "code"), [(UsageError, 2), (OutsideError, 3), (BuildEyeError, 3)])
def test_an_error_knows_its_exit_code(error: type[BuildEyeError], code: int) -> None:
    assert error("x").exit_code == code
