"""The audit certifies what it says, and nothing that is not so."""

from dataclasses import replace

import pytest

from constructions.claims.mahdavi_appendix_c import CLAIM
from constructions.models.construction import Construction
from constructions.models.shapes import mahdavi_layer, mahdavi_tensors
from verify.claims import mahdavi_appendix_c as audit
from verify.claims.audit import NEEDED
from verify.verdict import Verdict


def test_all_evidence_is_certified_and_enough_for_the_judgement():
    found = list(audit.evidence(full=False))
    assert all(piece.verdict is Verdict.PROVED for piece in found)
    assert NEEDED[CLAIM.judgement] <= {piece.role for piece in found}


@pytest.mark.slow
def test_larger_evidence_is_certified():
    assert all(piece.verdict is Verdict.PROVED for piece in audit.evidence(full=True))


PARAMETERS = {"heads": 3, "tokens": 3, "width": 4, "head_width": 3, "outputs": 2, "shared": 1}


def test_a_layer_for_the_labels_themselves_proves_nothing():
    made = CLAIM.construct(**PARAMETERS)
    assert isinstance(made, Construction) and audit._memorized(made, PARAMETERS).verdict is Verdict.PROVED
    tensors = mahdavi_tensors(made.model)
    swapped = mahdavi_layer(**{**tensors, "W_D": tensors["W_D"][::-1].copy()})  # the skip connection adds other entries
    assert audit._memorized(replace(made, model=swapped), PARAMETERS).verdict is Verdict.UNDECIDED
    quiet = mahdavi_layer(**{**tensors, "W_V": 0.0 * tensors["W_V"]})
    assert audit._memorized(replace(made, model=quiet), PARAMETERS).verdict is Verdict.UNDECIDED


def test_other_examples_prove_nothing():
    made = CLAIM.construct(**PARAMETERS, seed=1)
    assert isinstance(made, Construction) and audit._memorized(made, PARAMETERS).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("change", [{"head_width": 4}, {"outputs": 1}, {"heads": 2}])
def test_a_layer_of_other_sizes_than_asked_for_proves_nothing(change):
    made = CLAIM.construct(**{**PARAMETERS, **change})
    assert isinstance(made, Construction)
    assert audit._memorized(made, {**PARAMETERS, **change}).verdict is Verdict.PROVED
    assert audit._memorized(made, PARAMETERS).verdict is Verdict.UNDECIDED
