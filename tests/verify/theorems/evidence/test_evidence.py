"""Evidence: what counts as proved, and of how much it may speak."""

import numpy as np
import pytest

from constructions.errors import InputError
from verify.theorems.evidence.comparison import Comparison
from verify.theorems.evidence.evidence import Evidence, Means, Method
from verify.theorems.evidence.quantifier import UNIVERSAL, Quantifier
from verify.theorems.evidence.theorems import RANK
from verify.verdict import Verdict, decided, proved

XOR = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])


def ceiling():
    return RANK.at("rank", contexts=XOR, d_model=4, d_head=4, n_heads=1, with_skip=False)


def piece(**fields) -> Evidence:
    given = {
        "role": "claim",
        "statement": "",
        "promised": "",
        "certified": "",
        "method": Method("", Means.EXACT),
        "judged": Verdict.PROVED,
    }
    return Evidence(**(given | fields))


@pytest.mark.parametrize(("condition", "verdict"), [(True, Verdict.PROVED), (False, Verdict.UNDECIDED)])
def test_what_was_not_established_is_undecided(condition, verdict):
    assert proved(condition) is verdict


@pytest.mark.parametrize(("condition", "verdict"), [(True, Verdict.PROVED), (False, Verdict.REFUTED)])
def test_what_was_decided_is_proved_or_refuted(condition, verdict):
    assert decided(condition) is verdict


def test_the_data_of_evidence_cannot_be_changed():
    data = {"rank": 3}
    found = piece(data=data)
    data["rank"] = 4
    assert found.data["rank"] == 3
    with pytest.raises(TypeError):
        found.data["rank"] = 4  # pyright: ignore[reportIndexIssue]


@pytest.mark.parametrize("quantifier", sorted(UNIVERSAL, key=str))
def test_a_number_that_was_written_down_speaks_for_nothing_but_itself(quantifier):
    width = 4
    literal = 2 * width
    for compared in ((), (Comparison(literal, "<", 9),), (Comparison(literal, "=", ceiling()),) * 0):
        with pytest.raises(InputError, match="needs a comparison with a theorem"):
            piece(certified="rank <= 8", quantifier=quantifier, compared=compared)


def test_a_theorem_about_weights_does_not_speak_for_encoders():
    bounded = (Comparison(ceiling(), "<", 4),)
    found = piece(quantifier=Quantifier.ALL_WEIGHTS, compared=bounded)
    assert found.speaks_of == f"for all weights of the shape, by {RANK.name} ({RANK.page})"
    with pytest.raises(InputError, match="for all encoders needs"):
        piece(quantifier=Quantifier.ALL_ENCODERS, compared=bounded)
    with pytest.raises(InputError, match="for all weights of the shape needs"):
        piece(quantifier=Quantifier.ALL_WEIGHTS, compared=(Comparison(ceiling(), ">=", 2),))


@pytest.mark.parametrize(
    "text", ["rank <= 3 for all weights", "no weights reach it", "for every encoder", "No transformer", "whatever H is"]
)
@pytest.mark.parametrize("field", ["statement", "certified", "method"])
def test_of_how_much_evidence_speaks_is_never_free_text(field, text):
    with pytest.raises(InputError, match="expected its quantifier to say it"):
        piece(**{field: Method(text, Means.EXACT) if field == "method" else text})


@pytest.mark.parametrize(("bound", "verdict"), [(4, Verdict.PROVED), (3, Verdict.REFUTED)])
def test_a_comparison_decides_the_verdict(bound, verdict):
    assert piece(compared=(Comparison(ceiling(), "<", bound),)).verdict is verdict


@pytest.mark.parametrize(
    ("judged", "compared", "verdict"),
    [
        (None, (), Verdict.UNDECIDED),
        (None, (Comparison(1, "<", 2),), Verdict.PROVED),
        (Verdict.UNDECIDED, (Comparison(1, "<", 2),), Verdict.UNDECIDED),
        (Verdict.PROVED, (Comparison(1, ">", 2),), Verdict.REFUTED),
    ],
)
def test_what_was_neither_judged_nor_compared_is_undecided(judged, compared, verdict):
    assert piece(judged=judged, compared=compared).verdict is verdict


def test_evidence_names_its_means_its_judge_and_its_quantifier():
    found = piece(quantifier=Quantifier.ALL_WEIGHTS, compared=(Comparison(ceiling(), "<", 4),)).summary()
    assert (found["quantifier"], found["means"]) == ("all weights of the shape", ["exact integers and rationals"])
    assert found["theorems"] == [
        {
            "name": RANK.name,
            "page": "docs/claims/capacity.md",
            "heading": "Theorem G3",
            "judge": "verify.ranks.linear_relations.rank_upper_bound_for_all_weights",
        }
    ]
    with pytest.raises(InputError, match="has no means"):
        piece(method=Method("counting"))
    with pytest.raises(InputError, match="role = 'proof', expected one of claim, counterexample"):
        piece(role="proof")
