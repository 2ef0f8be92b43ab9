"""The choice among the families: each keeps its promise, and the first is the least."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, InputError
from constructions.unembeddings.coherence import kappa_bound, levenshtein_bound
from constructions.unembeddings.unembedding_families import best_family, families


@given(st.integers(2, 300), st.integers(1, 40))
def test_every_family_keeps_its_promise(count, d_model):
    found = families(count, d_model)
    for family in found:
        built = family.build()
        assert built.kappa == family.kappa and built.family == family.name
        assert built.vectors.shape == (count, d_model)
        assert not built.vectors[:, family.coordinates :].any()
        products = built.encoders.astype(np.int64) @ built.vectors.T.astype(np.int64)
        leads = (np.diag(products)[:, None] - products)[~np.eye(count, dtype=bool)]
        assert built.least <= leads.min() and leads.max() <= built.largest
        assert built.kappa >= kappa_bound(count, d_model)
        assert built.coherence >= levenshtein_bound(count, d_model)
        if built.encoders is built.vectors:
            unit = built.unit_matrix()
            cosines = unit.T @ unit - np.eye(count)
            assert np.abs(cosines).max() <= built.coherence + 1e-14
    assert [family.kappa for family in found] == sorted(family.kappa for family in found)
    if count <= d_model + 1:
        assert found[0].kappa == 1


@pytest.mark.parametrize(
    ("count", "d_model", "name", "kappa"),
    [
        (64, 64, "orthonormal basis", Fraction(1)),
        (65, 64, "simplex", Fraction(1)),
        (128, 64, "Kerdock, D = 64", Fraction(9, 7)),
        (81, 64, "Reed-Solomon, q = 9, n = 7, k = 1", Fraction(7, 6)),
        (2112, 64, "Kerdock, D = 64", Fraction(9, 7)),
        (4096, 64, "Reed-Solomon, q = 8, n = 8, k = 3", Fraction(8, 5)),
        (4097, 64, "Delsarte-Goethals, r = 1, D = 64", Fraction(5, 3)),
        (65_600, 64, "Delsarte-Goethals, r = 1, D = 64", Fraction(5, 3)),
        (33_024, 256, "Kerdock, D = 256", Fraction(17, 15)),
        (16_512, 128, "Gold, D = 128", Fraction(9, 7)),
        (1000, 512, "Reed-Solomon, q = 32, n = 16, k = 1", Fraction(16, 15)),
        (50_257, 1024, "Kerdock, D = 1024", Fraction(33, 31)),
        (50_257, 1406, "Reed-Solomon, q = 37, n = 38, k = 2", Fraction(19, 18)),
        (50_257, 4096, "Kerdock, D = 4096", Fraction(65, 63)),
    ],
)
def test_the_choice_at_the_edges_of_the_families(count, d_model, name, kappa):
    found = best_family(count, d_model)
    assert found.kappa == kappa
    assert name in [family.name for family in families(count, d_model) if family.kappa == kappa]


def test_more_dimensions_are_never_worse():
    kappas = [best_family(1000, d_model).kappa for d_model in range(64, 1100, 7)]
    assert kappas == sorted(kappas, reverse=True) and kappas[-1] == 1


@pytest.mark.parametrize("d_model", range(64, 4097, 251))
@pytest.mark.parametrize("count", [1000, 10_000, 50_257])
def test_every_dimension_from_64_has_a_family(count, d_model):
    assert best_family(count, d_model).kappa <= Fraction(5, 3)


@pytest.mark.parametrize(("count", "d_model"), [(3, 1), (5, 2), (13, 4), (10**6, 16)])
def test_what_no_family_holds_is_refused(count, d_model):
    assert families(count, d_model) == []
    with pytest.raises(CapacityError, match=f"more dimensions for N = {count} tokens, but d = {d_model}"):
        best_family(count, d_model)


@pytest.mark.parametrize("of_sizes", [families, best_family, levenshtein_bound, kappa_bound])
@pytest.mark.parametrize(
    ("count", "d_model", "message"),
    [
        (1, 4, "count = 1, expected at least 2"),
        (-3, 4, "count = -3, expected at least 2"),
        (4, 0, "d_model = 0, expected at least 1"),
        (20.5, 4, "count = 20.5, expected an integer of at least 2"),
        (4, "x", "d_model = 'x', expected an integer of at least 1"),
    ],
)
def test_sizes_without_pairs_or_coordinates_are_refused_by_name(of_sizes, count, d_model, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        of_sizes(count, d_model)
