"""The forms of Kerdock and of Delsarte and Goethals: how many, and how far apart, by elimination over GF(2)."""

import numpy as np
import pytest

from constructions.errors import InputError
from constructions.unembeddings.delsarte_goethals import delsarte_goethals_forms
from tests.constructions.quadratic_form_ranks import least_rank_of_differences


@pytest.mark.parametrize(("m", "r"), [(2, 0), (4, 0), (4, 1), (6, 0), (8, 0)])
def test_all_differences_have_the_rank_promised(m, r):
    forms = list(delsarte_goethals_forms(m, r))
    assert len(forms) == 2 ** ((m - 1) * (r + 1)) and not forms[0].any()
    assert least_rank_of_differences(forms) == m - 2 * r


@pytest.mark.parametrize(("m", "r"), [(6, 1), (8, 1), (8, 2), (10, 1)])
def test_random_differences_have_the_rank_promised(m, r):
    rng = np.random.default_rng(m + r)
    total = 2 ** ((m - 1) * (r + 1))
    wanted = set(rng.integers(0, min(total, 20_000), 12).tolist())
    forms = []
    for index, form in enumerate(delsarte_goethals_forms(m, r)):
        if index in wanted:
            forms.append(form)
        if index == max(wanted):
            break
    assert least_rank_of_differences(forms) >= m - 2 * r


def test_the_first_forms_of_a_family_are_the_kerdock_set():
    small = list(delsarte_goethals_forms(6, 0))
    large = delsarte_goethals_forms(6, 2)
    assert all(np.array_equal(form, next(large)) for form in small)


@pytest.mark.parametrize(("m", "r"), [(0, 0), (3, 0), (-2, 0), (4, 2), (4, -1)])
def test_sizes_that_have_no_such_family_are_refused(m, r):
    with pytest.raises(InputError, match=f"m = {m}, r = {r}, expected an even m"):
        delsarte_goethals_forms(m, r)
