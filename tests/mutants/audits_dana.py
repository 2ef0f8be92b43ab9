"""Mutants of builders, judges and records of the claims of Dana, Pydi and Chevaleyre: the audit itself must notice."""

from tests.mutants import confirmed, of, of_claim

dana_lemma_2 = of_claim("dana_lemma_2")
dana_theorem_1_tail = of_claim("dana_theorem_1_tail")
dana_proposition_1 = of_claim("dana_proposition_1")
dana_lemma_1 = of_claim("dana_lemma_1")
dana_theorem_3 = of_claim("dana_theorem_3")
dana_theorem_1 = of_claim("dana_theorem_1")
dana_theorem_1_parameters = of_claim("dana_theorem_1_parameters")
dana_corollary_1 = of_claim("dana_corollary_1")
dana_corollary_2 = of_claim("dana_corollary_2")
dana_theorem_2 = of_claim("dana_theorem_2")
dana_theorem_2_simple = of_claim("dana_theorem_2_simple")
dana_definition_2 = of_claim("dana_definition_2")
dana_lemma_4 = of_claim("dana_lemma_4")
generic_rank = of("constructions/attention/capacity/generic_rank.py", confirmed("dana_lemma_2"))
parameters = of("constructions/heads_of_theorem_1/parameters.py", confirmed("dana_theorem_1"))
left_out = of("constructions/heads_of_theorem_1/left_out.py", confirmed("dana_theorem_1_tail"))
sequence_encoder = of("constructions/encoders/sequence_encoder.py", confirmed("dana_proposition_1"))
sequence_encoder_by_dana_proposition_2 = of(
    "constructions/encoders/sequence_encoder.py", confirmed("dana_proposition_2")
)
approximating_sequences = of("constructions/encoders/approximating_sequences.py", confirmed("dana_definition_2"))
one_head_optimum = of("constructions/encoders/one_head_optimum.py", confirmed("dana_theorem_1"))
one_head_optimum_by_dana_theorem_3 = of("constructions/encoders/one_head_optimum.py", confirmed("dana_theorem_3"))
johnson_lindenstrauss = of("constructions/unembeddings/johnson_lindenstrauss.py", confirmed("dana_theorem_2"))
parameters_by_dana_theorem_1_parameters = of(
    "constructions/heads_of_theorem_1/parameters.py", confirmed("dana_theorem_1_parameters")
)
encoder_floor = of("verify/theorems/encoders/encoder_floor.py", confirmed("dana_proposition_1"))
encoder_floor_by_dana_proposition_2 = of("verify/theorems/encoders/encoder_floor.py", confirmed("dana_proposition_2"))
encoder_floor_by_dana_lemma_1 = of("verify/theorems/encoders/encoder_floor.py", confirmed("dana_lemma_1"))
divergence_floor = of("verify/theorems/capacity/divergence_floor.py", confirmed("dana_theorem_1"))
divergence_floor_by_dana_theorem_3 = of("verify/theorems/capacity/divergence_floor.py", confirmed("dana_theorem_3"))
sign_patterns = of("verify/theorems/capacity/sign_patterns.py", confirmed("dana_corollary_1"))
linear_relations = of("verify/ranks/linear_relations.py", confirmed("dana_lemma_2"))
linear_relations_by_dana_lemma_3 = of("verify/ranks/linear_relations.py", confirmed("dana_lemma_3"))
logit_range = of("verify/theorems/encoders/logit_range.py", confirmed("dana_lemma_4"))
low_entropy_bound = of("verify/theorems/encoders/low_entropy_bound.py", confirmed("dana_theorem_2"))
low_entropy_bound_by_dana_theorem_2_simple = of(
    "verify/theorems/encoders/low_entropy_bound.py", confirmed("dana_theorem_2_simple")
)
left_out_bound = of("verify/theorems/memories/left_out_bound.py", confirmed("dana_theorem_1_tail"))
prime_roots = of("verify/theorems/capacity/prime_roots.py", confirmed("dana_lemma_3"))
sharp_attention = of("verify/theorems/memories/sharp_attention.py", confirmed("dana_skip_head"))

MUTANTS = [
    # Words.
    dana_lemma_2('judgement="false"', 'judgement="slip"', "what is refuted is called a slip"),
    dana_lemma_2('judgement="false"', 'judgement="hypothesis"', "what is refuted needs a hypothesis"),
    dana_theorem_1_tail('judgement="hypothesis"', 'judgement="false"', "a hypothesis is forgotten"),
    dana_proposition_1('judgement="holds"', 'judgement="false"', "what holds is called false"),
    dana_lemma_1('judgement="holds"', 'judgement="redundant"', "what holds is called redundant"),
    dana_theorem_3('judgement="false"', 'judgement="invalid-proof"', "what is refuted has a gap only"),
    # Numbers in the statements.
    dana_proposition_1("0.02988", "0.02989", "the gap of a bias is another number"),
    dana_proposition_1("0.02988", "0.02987", "the gap of a bias is another number"),
    dana_lemma_2("[[printed: min(T_0, H d)]]", "[[printed: T_0]]", "the printed rank is T_0"),
    dana_lemma_2("[[printed: min(T_0, H d)]]", "[[printed: min(T_0, H d + 1)]]", "one more is printed"),
    dana_lemma_2("min(T, min(d, j) + H)", "min(T, d + H)", "Theorem G2 forgets the last tokens"),
    dana_theorem_1("[[printed: H d_h + d]]", "[[printed: H d_h]]", "the skip connection is not counted"),
    dana_theorem_1("(log 2 - h) / 2", "(log 2 - h) / 4", "half of the cost of XOR"),
    dana_theorem_1_tail("sqrt(2) P Z n", "2 P Z n", "sqrt 2 becomes 2"),
    dana_theorem_1_tail("sqrt(2) P Z n", "P Z n", "sqrt 2 becomes 1"),
    dana_theorem_1_parameters("4 (T_0 - d)", "3 (T_0 - d)", "another printed count"),
    dana_theorem_1_parameters("4 d_h ceil(", "4 d_h floor(", "heads that are not whole"),
    dana_corollary_1("4 (T - 2)", "2 (T - 2)", "half of the printed parameters"),
    dana_corollary_1("H + min(2, j)))]]", "H + 2))]]", "the number of last tokens is forgotten"),
    dana_corollary_2("[[best: 3/4]]", "[[best: 1/2]]", "the best accuracy on XOR is another one"),
    dana_theorem_2("sqrt(32 log", "sqrt(8 log", "another printed constant"),
    dana_theorem_2("(1 + 2C + C t)", "(1 + C + C t)", "another printed factor"),
    dana_theorem_2_simple("[[smaller: (1 + 2C)", "[[smaller: (1 + 3C)", "another true factor"),
    dana_definition_2("[[constant: g / (4R)", "[[constant: g / (8R)", "half of the constant"),
    dana_lemma_4("(log 2 - 2 delta) / (2 delta)]]", "(log 2 - 4 delta) / (2 delta)]]", "another least range"),
    dana_lemma_4("[[repaired: alpha log", "[[repaired: 2 alpha log", "twice the repaired range"),
    dana_theorem_3("2 epsilon^(2/3)", "2 epsilon^(3/4)", "another rate of the argument"),
    # Builders and formulas of constructions.
    generic_rank(
        "    return int(ranks[-1])\n",
        "    return min(len(contexts), n_heads * d_head + d_model * with_skip)\n",
        "the generic rank is the refuted count",
    ),
    parameters(
        "-(-(facts - d_model) // d_head))", "1 - (-(facts - d_model) // d_head))", "one head more than the paper counts"
    ),
    dana_theorem_1("n_heads=count) == len(contexts)", "n_heads=count) >= 0", "the rank hypothesis admits everything"),
    left_out(
        "exact_network(front_end, heads, change * unembedding)",
        "exact_network(front_end, heads, unembedding)",
        "W_U lacks the change of basis",
    ),
    sequence_encoder(
        "        E[self.present] = point.E\n",
        "        E[self.present] = -3.0 * point.E\n",
        "another encoder than the one that was found",
    ),
    sequence_encoder_by_dana_proposition_2(
        "        E[self.present] = point.E\n",
        "        E[self.present] = -3.0 * point.E\n",
        "another encoder than the one that was found",
    ),
    approximating_sequences(
        "    factor = 1 + delta / (2 * largest_range)",
        "    factor = 1 - delta / (2 * largest_range)",
        "the encoder is scaled down",
    ),
    one_head_optimum("logit / 2.0 - second", "logit / 2.0 + second", "weights that miss the optimum of XOR"),
    one_head_optimum_by_dana_theorem_3(
        "logit / 2.0 - second", "logit / 2.0 + second", "weights that miss the optimum of XOR"
    ),
    johnson_lindenstrauss("(2 * bits - 1)", "(2 * bits - 1 + 2 * (bits < 0) + 2 * (bits == 0))", "rows of ones"),
    parameters_by_dana_theorem_1_parameters(
        "    return max(1, -(-(facts - d_model) // d_head))",
        "    return 1 - (-(facts - d_model) // d_head)",
        "one head more than needed",
    ),
    # Judges.
    encoder_floor(
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n",
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n    lower *= 1.3\n",
        "a false floor of encoders",
    ),
    encoder_floor_by_dana_proposition_2(
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n",
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n    lower *= 1.3\n",
        "a false floor of encoders",
    ),
    encoder_floor_by_dana_lemma_1(
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n",
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n    lower *= 1.3\n",
        "a false floor of encoders",
    ),
    encoder_floor(
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n",
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n    lower *= 0.1\n",
        "an empty floor of encoders",
    ),
    encoder_floor_by_dana_proposition_2(
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n",
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n    lower *= 0.1\n",
        "an empty floor of encoders",
    ),
    encoder_floor_by_dana_lemma_1(
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n",
        "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n    lower *= 0.1\n",
        "an empty floor of encoders",
    ),
    divergence_floor(
        "    if lower > 0:\n        return DivergenceFloor(lower, Verdict.PROVED",
        "    lower *= 1.01\n    if lower > 0:\n        return DivergenceFloor(lower, Verdict.PROVED",
        "a false floor of one head",
    ),
    divergence_floor_by_dana_theorem_3(
        "    if lower > 0:\n        return DivergenceFloor(lower, Verdict.PROVED",
        "    lower *= 1.01\n    if lower > 0:\n        return DivergenceFloor(lower, Verdict.PROVED",
        "a false floor of one head",
    ),
    sign_patterns("max(1, int(heads))", "max(1, int(heads)) + 5", "Warren's count and five more"),
    linear_relations(
        "sum(rank - 1 for rank in indicator_ranks)", "sum(rank for rank in indicator_ranks)", "U2 is too weak"
    ),
    linear_relations_by_dana_lemma_3(
        "    per_head = min(d_model, d_head, differences)",
        "    per_head = min(d_model, d_head, differences - 1)",
        "U1 is false",
    ),
    logit_range(
        "        return room_r * room_s / (2 * ball(delta))",
        "        return 4 * room_r * room_s / (2 * ball(delta))",
        "a false floor of the range",
    ),
    low_entropy_bound("* 32.0 /", "* 8.0 /", "the paper's constant is halved"),
    low_entropy_bound_by_dana_theorem_2_simple(
        "return (1.0 + 4.0 * constant) / (1.0 - 2.0 * constant)",
        "return (1.0 + 3.0 * constant) / (1.0 - 2.0 * constant)",
        "another simpler factor",
    ),
    left_out_bound(
        "        return sqrt(2.0) * self.probability * self.row * self.norm",
        "        return 2.0 * self.probability * self.row * self.norm",
        "sqrt 2 becomes 2",
    ),
    left_out_bound(
        "        return sqrt(2.0) * self.probability * self.row * self.norm",
        "        return 1.0 * self.probability * self.row * self.norm",
        "sqrt 2 becomes 1",
    ),
    prime_roots("len(set(numbers)) == len(numbers)", "len(set(numbers)) < len(numbers)", "distinct primes are refused"),
    sharp_attention(
        "    return [x - y for x, y in zip(a, b, strict=True)]",
        "    return [y - x for x, y in zip(a, b, strict=True)]",
        "gaps of the other sign",
    ),
]
