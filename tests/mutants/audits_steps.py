"""Mutants of the claims about steps, definitions, comparisons and conclusions of Dana et al.: the audit must notice."""

from tests.mutants import Mutant, confirmed


def test_of(claim: str) -> str:
    """The test that runs the audit of a claim and asks whether it is confirmed."""
    return f"tests/verify/claims/test_{claim}.py::test_the_verdict_is_confirmed"


def of_record(claim: str, original: str, mutated: str, why: str) -> Mutant:
    return Mutant(f"verify/claims/{claim}.py", original, mutated, confirmed(claim), why)


MUTANTS = [
    # Words.
    of_record("dana_definition_1", 'judgement="slip"', 'judgement="false"', "a slip is called false"),
    of_record("dana_head_width", 'judgement="holds"', 'judgement="slip"', "what holds is a slip"),
    of_record("dana_value_rank", 'judgement="false"', 'judgement="hypothesis"', "what is refuted needs a hypothesis"),
    of_record("dana_comparisons", 'judgement="false"', 'judgement="holds"', "what is refuted holds"),
    of_record("slides_sparse_regime", 'judgement="open"', 'judgement="answered"', "what is open has an answer"),
    of_record("dana_constant_of_the_tail", 'judgement="open"', 'judgement="holds"', "what is open holds"),
    of_record("slides_quality", 'judgement="false"', 'judgement="open"', "what is refuted is open"),
    # Numbers.
    of_record("dana_definition_1", "[[rank: min(N, T, d)", "[[rank: min(N, T)", "the width does not count"),
    of_record("dana_head_width", "4 d (d_h - d)", "4 d d_h", "another saving"),
    of_record("dana_likeliest_contexts", "attained: ceil(", "attained: floor(", "another bound"),
    of_record("dana_likeliest_contexts", "N^S) + 1]]", "N^S) + 2]]", "a bound that is not reached"),
    of_record("dana_value_rank", "[[columns: H d_h + d]]", "[[columns: H d_h]]", "the skip connection does not count"),
    of_record("dana_lemma_2_determinant", "min(d, S - 1)", "min(d, S)", "the columns are independent"),
    of_record("dana_corollary_1_step", "log 2 + a log a", "log 3 + a log a", "another gap"),
    of_record("dana_corollary_1_step", "(1 + delta) / (1", "1 / (1", "another law"),
    of_record("dana_appendix_b", "min(d_h, d) + d]]", "min(d_h, d)]]", "the skip connection does not count"),
    of_record("dana_comparisons", "H + d - 1]]", "H + d]]", "another gain"),
    of_record("dana_corollary_1_count", "8 T_0]]", "4 T_0]]", "half of the parameters"),
    of_record("dana_constant_of_the_tail", "256^k", "256^(2k)", "a growth that is not there"),
    of_record("slides_zero_divergence", "[[centred: N - 1]]", "[[centred: N - 2]]", "another rank"),
    of_record("slides_zero_divergence", "[[largest: N]]", "[[largest: N - 1]]", "another rank of the logarithms"),
    of_record("slides_sparse_regime", "[[columns: N + 1]]", "[[columns: N]]", "a column is forgotten"),
    # Builders.
    Mutant(
        "verify/claims/dana_head_width.py",
        "given.W_K.transpose(0, 2, 1)",
        "given.W_Q.transpose(0, 2, 1)",
        confirmed("dana_head_width"),
        "other scores",
    ),
    Mutant(
        "constructions/encoders/parabola.py",
        "0.0 - tokens * tokens",
        "0.0 - 2.0 * tokens * tokens",
        confirmed("slides_quality"),
        "another parabola",
    ),
    # Judges.
    Mutant(
        "verify/capacity/likeliest_contexts.py",
        "carried > needed or (carried == needed and not strictly)",
        "carried >= needed",
        confirmed("dana_likeliest_contexts"),
        "greater is at least",
    ),
    Mutant(
        "verify/capacity/likeliest_contexts.py",
        ", reverse=True)",
        ")",
        confirmed("dana_likeliest_contexts"),
        "the unlikeliest contexts",
    ),
    Mutant(
        "verify/capacity/counting_matrix.py",
        "row[largest - 1] = total if others else 1",
        "row[largest - 1] = total + 1",
        confirmed("dana_lemma_2_determinant"),
        "a column that is no sum",
    ),
]
