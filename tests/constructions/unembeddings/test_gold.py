"""Gold's forms and their sums: how many, and of what rank, by elimination over GF(2)."""

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.unembeddings.gold import gold_forms, gold_rank
from tests.constructions.quadratic_form_ranks import alternating_matrix, rank_over_gf2


@pytest.mark.parametrize(("m", "r"), [(3, 1), (4, 1), (5, 1), (5, 2), (6, 1), (6, 2), (7, 1), (8, 1)])
def test_the_nonzero_forms_are_a_linear_space_of_the_rank_promised(m, r):
    forms = np.array(list(gold_forms(m, r)))
    assert forms.shape == (2 ** (m * r), 2**m)
    # For random pairs the sum is in the family, so that nonzero forms are all the differences there are.
    members = {form.tobytes() for form in forms}
    rng = np.random.default_rng(0)
    for i, j in rng.integers(0, len(forms), (50, 2)):
        assert (forms[i] ^ forms[j]).tobytes() in members
    nonzero = forms[1:] if len(forms) < 300 else forms[1 + rng.choice(len(forms) - 1, 300, replace=False)]
    ranks = {rank_over_gf2(alternating_matrix(form)) for form in nonzero}
    assert min(ranks) == gold_rank(m, r)


@pytest.mark.parametrize(("m", "r"), [(2, 1), (3, 0), (3, 2), (4, 2), (-1, 1)])
def test_sizes_that_have_no_such_family_are_refused(m, r):
    with pytest.raises(InputError, match=f"m = {m}, r = {r}, expected m >= 3"):
        gold_forms(m, r)
