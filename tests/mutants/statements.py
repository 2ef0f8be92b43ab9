"""Mutants of the words of claims: numbers and relations that leave their brackets, and others inside of them."""

from tests.mutants import Mutant, confirmed
from verify.theorems.claims import REGISTER, module_of


def said(module: str, original: str, mutated: str, why: str) -> Mutant:
    """Of a statement: the test of all statements, or the audit of the claim, has to notice."""
    [id] = [id for id in REGISTER if module_of(id) == f"verify.theorems.claims.{module}"]
    lint = "test_every_number_and_relation_of_a_statement_is_one_that_the_evidence_computes"
    tests = f"tests/contract/test_claims.py::{lint}[{id}] {confirmed(module)}"
    return Mutant(f"verify/theorems/claims/{module}.py", original, mutated, tests, why)


def conditions(original: str, mutated: str, why: str) -> Mutant:
    """Of how hypotheses are read."""
    return Mutant(
        "verify/theorems/evidence/conditions.py",
        original,
        mutated,
        "tests/verify/theorems/evidence/test_conditions.py",
        why,
    )


MUTANTS = [
    said("dana_lemma_2", "[[alone: S = 1]]", "S = 1", "a condition that nobody decides"),
    said("dana_head_width", "[[narrow: d_h <= d]]", "d_h <= d", "a relation that nobody decides"),
    said("dana_head_width", "[[narrow: d_h <= d]]", "[[narrow: d_h >= d]]", "the wrong heads are narrow"),
    said("dana_proposition_2", "[[fewer: d < N - 1]]", "[[fewer: d > N - 1]]", "more dimensions leave a gap"),
    said("dana_proposition_3", "[[line: d = 1]]", "[[line: d = 2]]", "two dimensions have a price"),
    said("dana_corollary_1", "[[narrow: d_h <= 2]]", "[[narrow: d_h <= 1]]", "wider heads are left out"),
    said("dana_comparisons", "[[facts: four]]", "[[facts: five]]", "XOR is five contexts"),
    said("dana_comparisons", "[[facts: four]] contexts", "five contexts", "a word of number that nobody counts"),
    said("slides_sparse_regime", "[[sparse: d P < N_epsilon]]", "d P > N_epsilon", "another sparse regime"),
    said("mahdavi_theorem_1", "[[room: n < d]]", "[[room: n > d]]", "the counterexample has no room"),
    said("mahdavi_appendix_h", "[[threshold: 0.99]]", "0.9", "a bare decimal"),
    said("mahdavi_lemmas_1_5", "[[determinant: 2]]", "[[determinant: 3]]", "another determinant"),
    said("zhang_2017_theorem", "[[layers: two]]", "three", "another number of layers"),
    said("vardi_2022_sqrt", "[[significand: 53]]", "[[significand: 52]]", "floats of 52 bits"),
    said("kajitsuka_sato_2024_separation", "[[apart: e = r = 1/10]]", "[[apart: e = r = 1/9]]", "other distances"),
    said("huben_2023_two_layers", "[[neurons: T - 1]]", "[[neurons: T - 2]]", "one neuron is too many"),
    conditions(' and ", text)', ' or ", text)', "hypotheses joined by `and` are one"),
    conditions("tail = match.group() if match else tail", "tail = tail", "of a list of sizes the last alone counts"),
    conditions("return any(", "return all(", "one of two alternatives is not enough"),
    conditions("is Verdict.PROVED", "is not Verdict.UNDECIDED", "a condition that fails holds"),
]
