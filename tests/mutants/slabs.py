"""Mutants of the networks of slabs and of the evidence that they have their labels."""

from tests.mutants import of

slabs = of("constructions/saturated_layers/slabs.py", "tests/constructions/saturated_layers/test_slabs.py")
mahdavi_proposition_3 = of(
    "verify/theorems/claims/mahdavi_proposition_3.py", "tests/verify/theorems/claims/test_mahdavi_proposition_3.py"
)

MUTANTS = [
    slabs("/ (2 * max(*sizes, fmpq(1)))", "* 2", "two neurons that are not on together"),
    slabs("offset = max(sizes) + 1", "offset = fmpq(0)", "the first neuron is off at some points"),
    slabs(".rank() < len(longer)", ".rank() < 0", "groups are never closed"),
    slabs("[fmpq(-levels[start - 1] - levels[start], 2)]", "[fmpq(-levels[start])]", "a slab begins at a point"),
    mahdavi_proposition_3("decided(memorized == count)", "decided(True)", "labels that are missed pass for memorized"),
]
