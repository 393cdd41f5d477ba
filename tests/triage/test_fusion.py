"""Evidence to probabilities, and the file of weights: every number in it is asked for, and nothing is asked in vain."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import buildeye.triage.evidence
from buildeye.model import CATEGORIES, Cause, Diagnosis, Evidence, UsageError
from buildeye.triage.evidence.ground import MOVING
from buildeye.triage.evidence.piece import Piece
from buildeye.triage.fusion import SUREST, believe, calibrated, is_guess, rows_of, weight_of
from buildeye.triage.judge import BRANCH_WIDE
from buildeye.triage.weights import Prior, Weights, packaged_weights, read_weights
from tests.triage.cases import diagnosis

PACKAGED = packaged_weights()
TABLES = """
[causes]
code = "code"
flaky = "code"
infrastructure = "infrastructure"
broken-trunk = "interference"

[prior.causes]
code = 0.6
infrastructure = 0.4

[prior.elsewhere]
"" = 0.2
test = 0.1

[prior.chance]
"" = 0.05
test = 0.5

[prior.kinds]
broken-trunk = 1.0

[prior.kinds-of]

[groups]
test = ["test-failure"]
style = ["lint"]

[mute]
style = ["base-broken"]

[evidence.base-broken]
broken-trunk = 3.0
code = -1.0
"""
SMALL = read_weights(TABLES)
GUESS = (Evidence("words", "like.lint", "an odd line", "its words are like those of linters"),)


def _ids() -> set[str]:
    """What the judges call their pieces, as the source writes it."""
    found = {f"{moved}{end}" for moved in MOVING.values() for end in ("", "-by-change")}
    found |= {f"person-said-{cause}" for cause in PACKAGED.causes.values()}
    for path in Path(buildeye.triage.evidence.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Piece":
                name = node.args[0]
                names = [name.body, name.orelse] if isinstance(name, ast.IfExp) else [name]
                found |= {str(each.value) for each in names if isinstance(each, ast.Constant)}
    return found


def test_every_piece_has_a_row_of_weights_and_every_row_a_judge() -> None:
    assert set(PACKAGED.evidence) == _ids()


def test_only_pieces_that_there_are_can_be_muted() -> None:
    assert set().union(*PACKAGED.mute.values()) <= _ids()
    assert PACKAGED.mute.keys() <= PACKAGED.groups.keys()


def test_a_category_is_in_one_group_and_is_one_of_the_vocabulary() -> None:
    members = [category for group in PACKAGED.groups.values() for category in group]
    assert len(members) == len(set(members))
    assert set(members) <= {category for every in CATEGORIES.values() for category in every}
    prior = PACKAGED.prior
    for rows in (prior.elsewhere, prior.chance, prior.kinds_of):
        assert rows.keys() <= PACKAGED.groups.keys() | {""}


def test_every_explanation_is_a_cause_or_a_kind_of_interference() -> None:
    kinds = {name for name, cause in PACKAGED.causes.items() if cause is Cause.INTERFERENCE}
    assert kinds <= set(CATEGORIES[Cause.INTERFERENCE])
    assert kinds >= BRANCH_WIDE
    assert PACKAGED.causes.keys() - kinds == {"code", "flaky", "configuration", "infrastructure"}
    assert PACKAGED.prior.causes.keys() == {"code", "configuration", "infrastructure"}
    for shares in (PACKAGED.prior.kinds, *PACKAGED.prior.kinds_of.values()):
        assert shares.keys() <= kinds


def test_what_is_probable_before_is_told_in_shares_of_the_whole() -> None:
    prior = PACKAGED.prior
    for shares in (prior.causes, prior.kinds, *prior.kinds_of.values()):
        assert sum(shares.values()) == pytest.approx(1)
    assert all(0 <= share <= 1 for row in (prior.elsewhere, prior.chance) for share in row.values())


def test_every_row_names_an_explanation() -> None:
    assert all(PACKAGED.evidence.values())


PIECES = st.lists(
    st.builds(Piece, st.sampled_from(sorted(PACKAGED.evidence)), st.floats(0, 4), st.just(""), st.just("")), max_size=12
)
DIAGNOSES = st.builds(
    diagnosis,
    cause=st.sampled_from(list(Cause)),
    category=st.sampled_from([category for every in CATEGORIES.values() for category in every]),
    confidence=st.floats(0, 1),
    evidence=st.sampled_from([(), GUESS]),
)


@given(DIAGNOSES, PIECES)
def test_probabilities_sum_to_one_whatever_is_found(of: Diagnosis, pieces: list[Piece]) -> None:
    belief = believe(of, pieces, PACKAGED)
    assert sum(belief.explanations.values()) == pytest.approx(1)
    assert sum(belief.causes.values()) == pytest.approx(1)
    assert all(0 <= share <= 1 + 1e-9 for share in belief.explanations.values())
    assert PACKAGED.causes[belief.best] is not PACKAGED.causes[belief.rival]


@given(DIAGNOSES, PIECES)
def test_the_best_explanation_is_of_the_likeliest_cause(of: Diagnosis, pieces: list[Piece]) -> None:
    belief = believe(of, pieces, PACKAGED)
    cause = PACKAGED.causes[belief.best]
    assert belief.of_cause(cause) == pytest.approx(max(belief.causes.values()))
    of_it = [share for name, share in belief.explanations.items() if PACKAGED.causes[name] is cause]
    assert belief.explanations[belief.best] == max(of_it)


@given(DIAGNOSES, PIECES, st.randoms(use_true_random=False))
def test_the_order_of_pieces_does_not_matter(of: Diagnosis, pieces: list[Piece], chance: "object") -> None:
    shuffled = list(pieces)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a Random
    one, other = believe(of, pieces, PACKAGED).explanations, believe(of, shuffled, PACKAGED).explanations
    assert one == pytest.approx(other)


BROKEN = Piece("base-broken", 1.0, "", "")


def test_a_piece_moves_what_its_row_says_by_its_strength() -> None:
    of = diagnosis(confidence=0.5)
    before, after = believe(of, [], SMALL).explanations, believe(of, [BROKEN], SMALL).explanations
    assert after["broken-trunk"] / before["broken-trunk"] > 1 > after["code"] / before["code"]
    twice = believe(of, [Piece("base-broken", 2.0, "", "")], SMALL)
    assert twice.best == "broken-trunk"
    assert twice.rival == "infrastructure"
    assert weight_of(Piece("base-broken", 2.0, "", ""), twice, of, SMALL) == 2 * 3.0


def test_muted_evidence_says_nothing_of_its_kind() -> None:
    lint = diagnosis(category="lint")
    assert rows_of(BROKEN, lint, SMALL) == {}
    assert believe(lint, [BROKEN], SMALL) == believe(lint, [], SMALL)
    assert rows_of(BROKEN, diagnosis(), SMALL) == {"broken-trunk": 3.0, "code": -1.0}


def test_a_guess_is_in_no_group_so_nothing_is_muted_for_it() -> None:
    guess = diagnosis(category="lint", evidence=GUESS)
    assert is_guess(guess) and not is_guess(diagnosis())
    assert rows_of(BROKEN, guess, SMALL) != {}
    assert believe(diagnosis(evidence=GUESS), [], SMALL).of_cause(Cause.INTERFERENCE) == pytest.approx(0.2)
    assert believe(diagnosis(), [], SMALL).of_cause(Cause.INTERFERENCE) == pytest.approx(0.1)


def test_before_history_a_cause_is_as_probable_as_its_reader_says_of_what_is_not_somebody_elses() -> None:
    belief = believe(diagnosis(confidence=0.8), [], SMALL)
    assert belief.of_cause(Cause.CODE) == pytest.approx(0.9 * 0.8)
    assert belief.explanations["flaky"] == pytest.approx(belief.explanations["code"])
    doubted = believe(diagnosis(confidence=0.1), [], SMALL)
    assert doubted.of_cause(Cause.CODE) == pytest.approx(0.9 * 0.6)
    unknown = believe(Diagnosis("job 11"), [], SMALL)
    assert unknown.of_cause(Cause.INFRASTRUCTURE) == pytest.approx(0.8 * 0.4)


def test_evidence_without_a_row_says_nothing() -> None:
    odd = Piece("no-such-piece", 9.0, "", "")
    assert believe(diagnosis(), [odd], SMALL) == believe(diagnosis(), [], SMALL)


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_surer_the_reader_the_surer_the_cause_it_named(one: float, other: float) -> None:
    low, high = sorted([one, other])
    shares = [believe(diagnosis(confidence=c), [], PACKAGED).of_cause(Cause.CODE) for c in (low, high)]
    assert shares[0] <= shares[1] + 1e-9


POINTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=6).map(
    lambda points: tuple(zip(sorted(x for x, _ in points), sorted(y for _, y in points), strict=True))
)


def _with(points: tuple[tuple[float, float], ...]) -> Weights:
    return Weights({}, Prior({}, {}, {}, {}, {}), {}, calibration=points)


@given(POINTS, st.floats(0, 1), st.floats(0, 1))
def test_calibration_keeps_the_order_and_is_never_quite_sure(
    points: tuple[tuple[float, float], ...], one: float, other: float
) -> None:
    low, high = sorted([one, other])
    told = [calibrated(each, _with(points)) for each in (low, high)]
    assert 0 <= told[0] <= told[1] + 1e-9
    assert told[1] <= SUREST


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_packaged_calibration_does_so_too(one: float, other: float) -> None:
    low, high = sorted([one, other])
    assert calibrated(low, PACKAGED) <= calibrated(high, PACKAGED) + 1e-9 <= SUREST + 1e-9


def test_between_measured_points_calibration_runs_straight() -> None:
    weights = _with(((0.5, 0.4), (0.7, 0.6), (0.9, 0.8)))
    stated = {0.2: 0.4, 0.5: 0.4, 0.6: 0.5, 0.7: 0.6, 0.8: 0.7, 0.9: 0.8, 1.0: 0.8}
    assert {each: round(calibrated(each, weights), 9) for each in stated} == stated
    assert calibrated(0.4, _with(())) == 0.4


WRONG = {
    "no TOML": ("[causes", "weights cannot be read: "),
    "a table is missing": (TABLES.replace("[prior.kinds-of]\n", ""), "weights cannot be read: 'kinds-of'"),
    "a table is none": ('causes = "code"', "weights cannot be read: "),
    "no share for all other groups": (TABLES.replace('"" = 0.05\n', ""), "weights cannot be read: "),
    "a cause nobody knows": (TABLES.replace('"infrastructure"', '"weather"'), "'weather' is not a valid Cause"),
    "an explanation nobody knows": (TABLES + "moon = 1.0\n", r"not in \[causes\]: moon"),
    "a kind of one": (TABLES.replace("[prior.kinds]\n", "[prior.kinds]\nmoon = 1.0\n"), r"\[causes\]: moon"),
    "a point of one number": (TABLES + "[calibration]\npoints = [[0.5]]\n", "weights cannot be read: "),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG.keys())
def test_a_file_of_weights_that_cannot_be_read_is_told_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as told:
        read_weights(text)
    assert "\n" not in str(told.value)


def test_weights_are_named_by_what_is_in_the_file() -> None:
    assert SMALL.digest == read_weights(TABLES).digest != read_weights(TABLES + "# new\n").digest
    assert len(PACKAGED.digest) == 12
    assert packaged_weights() is PACKAGED
