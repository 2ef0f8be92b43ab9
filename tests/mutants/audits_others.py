"""Mutants of builders, judges and records of the claims beyond the three sources: the audit itself must notice."""

from tests.mutants import confirmed, of, of_claim

zhang_2017_theorem = of_claim("zhang_2017_theorem")
bubeck_2020_four = of_claim("bubeck_2020_four")
kajitsuka_sato_2024_separation = of_claim("kajitsuka_sato_2024_separation")
nichani_2024_additive = of_claim("nichani_2024_additive")
nichani_2024_mlp_memory = of_claim("nichani_2024_mlp_memory")
cabannes_2024_scaling = of_claim("cabannes_2024_scaling")
madden_2024_upper = of_claim("madden_2024_upper")
madden_2024_lower = of_claim("madden_2024_lower")
huben_2023_head_is_neuron = of_claim("huben_2023_head_is_neuron")
huben_2023_two_layers = of_claim("huben_2023_two_layers")
vardi_2022_sqrt = of_claim("vardi_2022_sqrt")
kim_2023_labels = of_claim("kim_2023_labels")
kajitsuka_sato_2025_next_token = of_claim("kajitsuka_sato_2025_next_token")
interpolating_network = of("constructions/rational/interpolating_network.py", confirmed("zhang_2017_theorem"))
neurons_as_heads = of("constructions/rational/neurons_as_heads.py", confirmed("huben_2023_head_is_neuron"))
two_layers = of("constructions/rational/two_layers.py", confirmed("huben_2023_two_layers"))
interpolated_distributions = of(
    "verify/theorems/capacity/interpolated_distributions.py",
    "tests/verify/theorems/capacity/test_interpolated_distributions.py",
)
words = of("verify/theorems/evidence/words.py", "tests/verify/theorems/evidence/test_words.py")
cabannes_2024_scaling_by_cabannes_2024_scaling = of(
    "verify/theorems/claims/cabannes_2024_scaling.py",
    "tests/verify/theorems/claims/test_cabannes_2024_scaling.py::test_the_mass_that_is_missed_is_counted_in_fractions",
)
nichani_2024_additive_by_nichani_2024_additive = of(
    "verify/theorems/claims/nichani_2024_additive.py",
    "tests/verify/theorems/claims/test_nichani_2024_additive.py::test_a_table_whose_relations_share_answers_is_not_confirmed",
)
zhang_2017_theorem_by_zhang_2017_theorem = of(
    "verify/theorems/claims/zhang_2017_theorem.py",
    "tests/verify/theorems/claims/test_zhang_2017_theorem.py::test_a_network_with_one_entry_changed_is_refuted",
)
kajitsuka_sato_2024_separation_by_kajitsuka_sato_2024_separation = of(
    "verify/theorems/claims/kajitsuka_sato_2024_separation.py",
    "tests/verify/theorems/claims/test_kajitsuka_sato_2024_separation.py::test_sequences_that_are_n"
    "ot_all_or_repeat_a_token_are_refuted",
)
evidence = of("verify/theorems/evidence/evidence.py", "tests/verify/theorems/evidence/test_evidence.py")
largest_rank = of("verify/theorems/evidence/largest_rank.py", "tests/verify/theorems/evidence/test_largest_rank.py")
attended_tokens = of(
    "verify/theorems/evidence/attended_tokens.py", "tests/verify/theorems/evidence/test_attended_tokens.py"
)
unread_heads = of("verify/theorems/evidence/unread_heads.py", "tests/verify/theorems/evidence/test_unread_heads.py")
formula = of("verify/theorems/evidence/formula.py", "tests/verify/theorems/evidence/test_formula.py")

MUTANTS = [
    # Words.
    zhang_2017_theorem('judgement="not-judged"', 'judgement="holds"', "what was not read holds"),
    bubeck_2020_four('judgement="not-judged"', 'judgement="open"', "what was not read is open"),
    kajitsuka_sato_2024_separation('judgement="not-judged"', 'judgement="holds"', "what is not decided holds"),
    nichani_2024_additive('judgement="not-judged"', 'judgement="holds"', "what is not decided holds"),
    nichani_2024_mlp_memory('judgement="not-judged"', 'judgement="measured"', "what was not read is measured"),
    cabannes_2024_scaling('judgement="not-judged"', 'judgement="measured"', "what is not decided is an observation"),
    # Numbers in the statements.
    zhang_2017_theorem("[[printed: 2 n + d]]", "[[printed: 2 n + d + 1]]", "one weight more is printed"),
    zhang_2017_theorem("[[fewer: 2 n + d - 1]]", "[[fewer: 2 n + d - 2]]", "one weight fewer is enough"),
    madden_2024_upper("floor(k / (N - 1))", "floor(k / N)", "a distribution has N log-odds"),
    madden_2024_upper("m (d + 1) + 1", "m (d + 2) + 1", "neurons lose no number"),
    madden_2024_lower("T (N - 1) + T - 1 + N + S", "T (N - 1) + N + S", "the places are not counted"),
    huben_2023_head_is_neuron("[[leak: (S - 1) 2^(-M)", "[[leak: (S - 1) 2^(-M - 1)", "half of the leak"),
    huben_2023_head_is_neuron("[[near: exp(-b)]]", "[[near: exp(-2 b)]]", "gates that are nearer to ReLU"),
    huben_2023_two_layers("[[heads: 18]]", "[[heads: 15]]", "heads of fewer entries"),
    huben_2023_two_layers("[[width: 3]]", "[[width: 2]]", "a narrower stream"),
    bubeck_2020_four("[[slabs: 2 ceil(n / (d + 1)) - 1]]", "[[slabs: 2 ceil(n / (d + 1)) - 2]]", "one neuron fewer"),
    bubeck_2020_four(
        "[[printed: 4 ceil(n / d)]]", "[[printed: 4 floor(n / d)]]", "groups that are not full are left out"
    ),
    vardi_2022_sqrt("[[depth: m (r + c + 2) + 1]]", "[[depth: m (r + c + 1) + 1]]", "one block fewer for an item"),
    vardi_2022_sqrt("m (8 (r + c) + 21)]]", "m (8 (r + c) + 19)]]", "two entries fewer for an item"),
    vardi_2022_sqrt("[[content: T log K / log 2]]", "[[content: T log K]]", "nats are called bits"),
    kim_2023_labels("[[entries: 2 N + S + K + 2]]", "[[entries: 2 N + S + K - 2]]", "the head is not counted"),
    kajitsuka_sato_2025_next_token("[[code: S + b]]", "[[code: b]]", "codes that do not know the length"),
    kajitsuka_sato_2025_next_token("T log K / (b log 2)", "T log K / log 2", "bits are called numbers"),
    kajitsuka_sato_2024_separation("[[printed: 2 (log n)^2", "[[printed: 2^999999 (log n)^2", "it is larger"),
    kajitsuka_sato_2024_separation("[[digits: 3 * 10^9]]", "[[digits: 3 * 10^8]]", "a tenth of the zeros"),
    nichani_2024_additive("[[margin: 1]]", "[[margin: 2]]", "twice the lead"),
    nichani_2024_mlp_memory("[[quadratic: 48]]", "[[quadratic: 96]]", "twice as many are stored"),
    nichani_2024_mlp_memory("[[matrix: 64]]", "[[matrix: 8]]", "a matrix misses some of few"),
    cabannes_2024_scaling("[[tail: P^(1 - a) / (a - 1)", "[[tail: P^(1 - a)", "the integral lacks its factor"),
    # Builders.
    interpolating_network(
        "        places, jumps, slope = [fmpq(codes[0] - 1), *places], [values[0]], values[0]",
        "        places, jumps, slope = [fmpq(codes[0] - 1), *places], [values[0]], zeros",
        "the first neuron goes on",
    ),
    neurons_as_heads(
        "W_E[1:, :d_model], W_pos[1, d_model] = embeddings, one",
        "W_E[1:, :d_model], W_pos[:, d_model] = embeddings, one",
        "the null token has a key",
    ),
    two_layers(
        "W_E = exact([[2 * value, 0, 0] for value in values]",
        "W_E = exact([[value, 0, 0] for value in values]",
        "the last token is counted like the one before it",
    ),
    # Judges.
    interpolated_distributions("// (model.d_vocab_out - 1)", "// model.d_vocab_out", "a count that is too small"),
    words(
        "memorized += all(row[label] > other for",
        "memorized += all(row[label] >= other for",
        "labels that are level are in front",
    ),
    words(
        "memorized=memorized if fits and whole else 0",
        "memorized=memorized if fits else 0",
        "two points of one code are memorized",
    ),
    words(
        "memorized=memorized if fits and whole else 0",
        "memorized=memorized if whole else 0",
        "other blocks are called residual ones",
    ),
    cabannes_2024_scaling_by_cabannes_2024_scaling(
        "missed = (right <= logits.max(axis=1)).tolist()",
        "missed = (right < logits.max(axis=1)).tolist()",
        "labels that are level are stored",
    ),
    nichani_2024_additive_by_nichani_2024_additive(
        "and _are_disjoint(table))]),", "and True)]),", "answers that relations share are disjoint"
    ),
    zhang_2017_theorem_by_zhang_2017_theorem(
        "decided(computed == wanted and one and", "decided(one and", "values that are missed are met"
    ),
    kajitsuka_sato_2024_separation_by_kajitsuka_sato_2024_separation(
        "decided(complete and unrepeated and", "decided(unrepeated and", "some sequences are all"
    ),
    # Evidence, and what several audits share.
    evidence(
        "parts += [] if self.judged is None else [self.judged]",
        "parts += []",
        "what was not judged passes beside comparisons",
    ),
    evidence(
        "parts += [] if self.judged is None else [self.judged]",
        "parts += [Verdict.PROVED if self.judged is None else self.judged]",
        "a piece without verdict and comparisons is proved",
    ),
    largest_rank(', Comparison(rank.lower, "=", largest)),', ",),", "a rank that is not reached is the largest"),
    largest_rank(
        'compared=(Comparison(ceiling, "=", largest), Comparison(rank.lower, "=", largest))',
        'compared=(Comparison(ceiling, ">=", 1), Comparison(rank.lower, ">=", 1))',
        "any rank is the one that is stated",
    ),
    largest_rank("proved(as_said)", "proved(True)", "a layer that is another one is as said"),
    attended_tokens(
        "exact_mixed_inputs(context[None], context, scores, identity)",
        "exact_mixed_inputs(context[None], context, identity, scores)",
        "scores of the other token on the left",
    ),
    attended_tokens("as_rationals(context) + mixed", "mixed", "a layer without its skip connection"),
    unread_heads(
        "certify_full_row_rank(enclose_mixed_inputs(heads_as_layer(heads), unlabelled(contexts, queries)))",
        "certify_full_row_rank(queries[:1])",
        "heads that are silent mix independent inputs",
    ),
    formula("or (operation is pow and b.denominator != 1)", "or operation is pow", "powers of fractions are not exact"),
    formula("or self.value.denominator != 1:", "or False:", "the numerator of a fraction is its value"),
]
