"""Mutants of builders, judges and records of the claims beyond the three sources: the audit itself must notice."""

from tests.mutants import Mutant, confirmed


def test_of(claim: str, name: str = "test_the_verdict_is_confirmed") -> str:
    """The test that runs the audit of a claim and asks whether it is confirmed."""
    return f"tests/verify/claims/test_{claim}.py::{name}"


def of_record(claim: str, original: str, mutated: str, why: str) -> Mutant:
    return Mutant(f"verify/claims/{claim}.py", original, mutated, confirmed(claim), why)


def of_judge(claim: str, original: str, mutated: str, why: str, name: str) -> Mutant:
    return Mutant(f"verify/claims/{claim}.py", original, mutated, test_of(claim, name), why)


ZHANG, MADDEN, KIM = "zhang_2017_theorem", "madden_2024_lower", "kim_2023_labels"
NEURON, LAYERS, FOUR = "huben_2023_head_is_neuron", "huben_2023_two_layers", "bubeck_2020_four"
WORDS, NEXT = "vardi_2022_sqrt", "kajitsuka_sato_2025_next_token"
MAPPING, RECALL = "kajitsuka_sato_2024_separation", "nichani_2024_additive"
LAYER, ZIPF = "nichani_2024_mlp_memory", "cabannes_2024_scaling"

MUTANTS = [
    # Words.
    of_record(ZHANG, 'judgement="holds"', 'judgement="slip"', "what holds is called a slip"),
    of_record(FOUR, 'judgement="holds"', 'judgement="open"', "what holds is called open"),
    of_record(MAPPING, 'judgement="not-judged"', 'judgement="holds"', "what is not decided holds"),
    of_record(RECALL, 'judgement="not-judged"', 'judgement="holds"', "what is not decided holds"),
    of_record(LAYER, 'judgement="measured"', 'judgement="holds"', "what is measured holds"),
    of_record(ZIPF, 'judgement="not-judged"', 'judgement="measured"', "what is not decided is an observation"),
    # Numbers in the statements.
    of_record(ZHANG, "[[printed: 2 n + d]]", "[[printed: 2 n + d + 1]]", "one weight more is printed"),
    of_record(ZHANG, "[[fewer: 2 n + d - 1]]", "[[fewer: 2 n + d - 2]]", "one weight fewer is enough"),
    of_record("madden_2024_upper", "floor(k / (N - 1))", "floor(k / N)", "a law has N log-odds"),
    of_record("madden_2024_upper", "m (d + 1) + 1", "m (d + 2) + 1", "neurons lose no number"),
    of_record(MADDEN, "T (N - 1) + T - 1 + N + S", "T (N - 1) + N + S", "the places are not counted"),
    of_record(NEURON, "[[leak: (S - 1) 2^(-M)", "[[leak: (S - 1) 2^(-M - 1)", "half of the leak"),
    of_record(NEURON, "[[near: exp(-b)]]", "[[near: exp(-2 b)]]", "gates that are nearer to ReLU"),
    of_record(LAYERS, "[[heads: 18]]", "[[heads: 15]]", "heads of fewer entries"),
    of_record(LAYERS, "[[width: 3]]", "[[width: 2]]", "a narrower stream"),
    of_record(FOUR, "[[slabs: 2 ceil(n / (d + 1)) - 1]]", "[[slabs: 2 ceil(n / (d + 1)) - 2]]", "one neuron fewer"),
    of_record(
        FOUR, "[[printed: 4 ceil(n / d)]]", "[[printed: 4 floor(n / d)]]", "groups that are not full are left out"
    ),
    of_record(WORDS, "[[depth: m (r + c + 2) + 1]]", "[[depth: m (r + c + 1) + 1]]", "one block fewer for an item"),
    of_record(WORDS, "m (8 (r + c) + 21)]]", "m (8 (r + c) + 19)]]", "two entries fewer for an item"),
    of_record(WORDS, "[[content: T log K / log 2]]", "[[content: T log K]]", "nats are called bits"),
    of_record(KIM, "[[entries: 2 N + S + K + 2]]", "[[entries: 2 N + S + K - 2]]", "the head is not counted"),
    of_record(NEXT, "[[code: S + b]]", "[[code: b]]", "codes that do not know the length"),
    of_record(NEXT, "T log K / (b log 2)", "T log K / log 2", "bits are called numbers"),
    of_record(MAPPING, "[[printed: 2 (log n)^2", "[[printed: 2^999999 (log n)^2", "it is larger"),
    of_record(MAPPING, "[[digits: 3 * 10^9]]", "[[digits: 3 * 10^8]]", "a tenth of the zeros"),
    of_record(RECALL, "[[margin: 1]]", "[[margin: 2]]", "twice the lead"),
    of_record(LAYER, "[[quadratic: 48]]", "[[quadratic: 96]]", "twice as many are stored"),
    of_record(LAYER, "[[matrix: 64]]", "[[matrix: 8]]", "a matrix misses some of few"),
    of_record(ZIPF, "[[tail: P^(1 - a) / (a - 1)", "[[tail: P^(1 - a)", "the integral lacks its factor"),
    # Builders.
    Mutant(
        "constructions/rational/interpolating_network.py",
        "        places, jumps, slope = [fmpq(codes[0] - 1), *places], [values[0]], values[0]",
        "        places, jumps, slope = [fmpq(codes[0] - 1), *places], [values[0]], zeros",
        confirmed(ZHANG),
        "the first neuron goes on",
    ),
    Mutant(
        "constructions/rational/neurons_as_heads.py",
        "W_E[1:, :width], W_pos[1, width] = embeddings, one",
        "W_E[1:, :width], W_pos[:, width] = embeddings, one",
        confirmed(NEURON),
        "the null token has a key",
    ),
    Mutant(
        "constructions/rational/two_layers.py",
        "W_E = exact([[2 * value, 0, 0] for value in values]",
        "W_E = exact([[value, 0, 0] for value in values]",
        confirmed(LAYERS),
        "the last token is counted like the one before it",
    ),
    # Judges.
    Mutant(
        "verify/capacity/interpolated_laws.py",
        "// (model.d_vocab_out - 1)",
        "// model.d_vocab_out",
        "tests/verify/capacity/test_interpolated_laws.py",
        "a count that is too small",
    ),
    Mutant(
        "verify/evidence/words.py",
        "held += all(row[label] > other for",
        "held += all(row[label] >= other for",
        "tests/verify/evidence/test_words.py",
        "labels that are level are in front",
    ),
    Mutant(
        "verify/evidence/words.py",
        "held=held if fits and whole else 0",
        "held=held if fits else 0",
        "tests/verify/evidence/test_words.py",
        "two points of one code are held",
    ),
    Mutant(
        "verify/evidence/words.py",
        "held=held if fits and whole else 0",
        "held=held if whole else 0",
        "tests/verify/evidence/test_words.py",
        "other blocks are called residual ones",
    ),
    of_judge(
        ZIPF,
        "missed = (right <= logits.max(axis=1)).tolist()",
        "missed = (right < logits.max(axis=1)).tolist()",
        "labels that are level are stored",
        "test_the_mass_that_is_missed_is_counted_in_fractions",
    ),
    of_judge(
        RECALL,
        "and _are_disjoint(table))]),",
        "and True)]),",
        "answers that relations share are disjoint",
        "test_a_table_whose_relations_share_answers_is_not_confirmed",
    ),
    of_judge(
        ZHANG,
        "decided(found == wanted and one and",
        "decided(one and",
        "values that are missed are met",
        "test_a_network_with_one_entry_changed_is_refuted",
    ),
    of_judge(
        MAPPING,
        "decided(complete and unrepeated and",
        "decided(unrepeated and",
        "some sequences are all",
        "test_sequences_that_are_not_all_or_repeat_a_token_are_refuted",
    ),
    # Evidence, and what several audits share.
    Mutant(
        "verify/evidence/evidence.py",
        "parts += [] if self.judged is None else [self.judged]",
        "parts += []",
        "tests/verify/evidence/test_evidence.py",
        "what was not judged passes beside comparisons",
    ),
    Mutant(
        "verify/evidence/evidence.py",
        "parts += [] if self.judged is None else [self.judged]",
        "parts += [Verdict.PROVED if self.judged is None else self.judged]",
        "tests/verify/evidence/test_evidence.py",
        "a piece without verdict and comparisons is proved",
    ),
    Mutant(
        "verify/evidence/largest_rank.py",
        ', Comparison(rank.lower, "=", largest)),',
        ",),",
        "tests/verify/evidence/test_largest_rank.py",
        "a rank that is not reached is the largest",
    ),
    Mutant(
        "verify/evidence/largest_rank.py",
        'compared=(Comparison(ceiling, "=", largest), Comparison(rank.lower, "=", largest))',
        'compared=(Comparison(ceiling, ">=", 1), Comparison(rank.lower, ">=", 1))',
        "tests/verify/evidence/test_largest_rank.py",
        "any rank is the one that is stated",
    ),
    Mutant(
        "verify/evidence/largest_rank.py",
        "proved(as_said)",
        "proved(True)",
        "tests/verify/evidence/test_largest_rank.py",
        "a layer that is another one is as said",
    ),
    Mutant(
        "verify/evidence/attended_tokens.py",
        "exact_mixed_inputs(context[None], context, scores, identity)",
        "exact_mixed_inputs(context[None], context, identity, scores)",
        "tests/verify/evidence/test_attended_tokens.py",
        "scores of the other token on the left",
    ),
    Mutant(
        "verify/evidence/attended_tokens.py",
        "as_rationals(context) + mixed",
        "mixed",
        "tests/verify/evidence/test_attended_tokens.py",
        "a layer without its skip connection",
    ),
    Mutant(
        "verify/evidence/unread_heads.py",
        "certify_full_row_rank(enclose_mixed_inputs(heads_as_layer(heads), unlabelled(contexts, queries)))",
        "certify_full_row_rank(queries[:1])",
        "tests/verify/evidence/test_unread_heads.py",
        "heads that are silent mix independent inputs",
    ),
    Mutant(
        "verify/evidence/formula.py",
        "or (operation is pow and b.denominator != 1)",
        "or operation is pow",
        "tests/verify/evidence/test_formula.py",
        "powers of fractions are not exact",
    ),
    Mutant(
        "verify/evidence/formula.py",
        "or self.value.denominator != 1:",
        "or False:",
        "tests/verify/evidence/test_formula.py",
        "the numerator of a fraction is its value",
    ),
]
