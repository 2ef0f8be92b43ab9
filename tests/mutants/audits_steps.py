"""Mutants of the claims about steps, definitions, comparisons and conclusions of Dana et al.: the audit must notice."""

from tests.mutants import confirmed, of, of_claim

dana_definition_1 = of_claim("dana_definition_1")
dana_head_width = of_claim("dana_head_width")
dana_value_rank = of_claim("dana_value_rank")
dana_comparisons = of_claim("dana_comparisons")
slides_sparse_regime = of_claim("slides_sparse_regime")
dana_constant_of_the_tail = of_claim("dana_constant_of_the_tail")
slides_quality = of_claim("slides_quality")
dana_likeliest_contexts = of_claim("dana_likeliest_contexts")
dana_lemma_2_determinant = of_claim("dana_lemma_2_determinant")
dana_corollary_1_step = of_claim("dana_corollary_1_step")
dana_appendix_b = of_claim("dana_appendix_b")
dana_corollary_1_count = of_claim("dana_corollary_1_count")
slides_zero_divergence = of_claim("slides_zero_divergence")
parabola = of("constructions/encoders/parabola.py", confirmed("slides_quality"))
likeliest_contexts = of("verify/theorems/capacity/likeliest_contexts.py", confirmed("dana_likeliest_contexts"))
counting_matrix = of("verify/theorems/capacity/counting_matrix.py", confirmed("dana_lemma_2_determinant"))

MUTANTS = [
    # Words.
    dana_definition_1('judgement="slip"', 'judgement="false"', "a slip is called false"),
    dana_head_width('judgement="holds"', 'judgement="slip"', "what holds is a slip"),
    dana_value_rank('judgement="false"', 'judgement="hypothesis"', "what is refuted needs a hypothesis"),
    dana_comparisons('judgement="hypothesis"', 'judgement="holds"', "a hypothesis is forgotten"),
    slides_sparse_regime('judgement="open"', 'judgement="answered"', "what is open has an answer"),
    dana_constant_of_the_tail('judgement="open"', 'judgement="holds"', "what is open holds"),
    slides_quality('judgement="not-judged"', 'judgement="open"', "what says too little is open"),
    # Numbers.
    dana_definition_1("[[rank: min(N, T, d)", "[[rank: min(N, T)", "the width does not count"),
    dana_head_width("4 d (d_h - d)", "4 d d_h", "another saving"),
    dana_likeliest_contexts("attained: ceil(", "attained: floor(", "another bound"),
    dana_likeliest_contexts("N^S) + 1]]", "N^S) + 2]]", "a bound that is not reached"),
    dana_value_rank("[[columns: H d_h + d]]", "[[columns: H d_h]]", "the skip connection does not count"),
    dana_lemma_2_determinant("min(d, S - 1)", "min(d, S)", "the columns are independent"),
    dana_corollary_1_step("log 2 + a log a", "log 3 + a log a", "another gap"),
    dana_corollary_1_step("(1 + delta) / (1", "1 / (1", "another distribution"),
    dana_appendix_b("min(d_h, d) + d]]", "min(d_h, d)]]", "the skip connection does not count"),
    dana_comparisons("H + d - 1]]", "H + d]]", "another gain"),
    dana_corollary_1_count("8 T_0]]", "4 T_0]]", "half of the parameters"),
    dana_constant_of_the_tail("256^k", "256^(2k)", "a growth that is not there"),
    slides_zero_divergence("[[centred: N - 1]]", "[[centred: N - 2]]", "another rank"),
    slides_zero_divergence("[[largest: N]]", "[[largest: N - 1]]", "another rank of the logarithms"),
    slides_sparse_regime("[[columns: N + 1]]", "[[columns: N]]", "a column is forgotten"),
    # Builders.
    dana_head_width("block.W_K.transpose(0, 2, 1)", "block.W_Q.transpose(0, 2, 1)", "other scores"),
    parabola("0.0 - tokens * tokens", "0.0 - 2.0 * tokens * tokens", "another parabola"),
    # Judges.
    likeliest_contexts(
        "carried > needed or (carried == needed and not strictly)", "carried >= needed", "greater is at least"
    ),
    likeliest_contexts(", reverse=True)", ")", "the unlikeliest contexts"),
    counting_matrix(
        "row[largest - 1] = total if others else 1", "row[largest - 1] = total + 1", "a column that is no sum"
    ),
]
