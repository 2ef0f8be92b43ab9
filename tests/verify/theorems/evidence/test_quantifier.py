"""Of how much evidence may speak."""

from verify.theorems.evidence.quantifier import UNIVERSAL, Quantifier


def test_only_a_theorem_speaks_of_all():
    assert {one for one in Quantifier if one.value.startswith("all ")} == UNIVERSAL
