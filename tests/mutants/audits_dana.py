"""Mutants of builders, judges and records of the claims of Dana, Pydi and Chevaleyre: the audit itself must notice."""

from tests.mutants import Mutant, confirmed


def test_of(claim: str, name: str) -> str:
    """The test that runs the audit of a claim and asks whether it is confirmed."""
    return f"tests/verify/claims/test_dana_{claim}.py::{name}"


PROPOSITION_1 = confirmed("dana_proposition_1")
PROPOSITION_2 = confirmed("dana_proposition_2")
LEMMA_1 = confirmed("dana_lemma_1")
LEMMA_2 = confirmed("dana_lemma_2")
LEMMA_3 = confirmed("dana_lemma_3")
LEMMA_4 = confirmed("dana_lemma_4")
SKIP_HEAD = confirmed("dana_skip_head")
THEOREM_1 = confirmed("dana_theorem_1")
TAIL = confirmed("dana_theorem_1_tail")
PARAMETERS = confirmed("dana_theorem_1_parameters")
COROLLARY_1 = confirmed("dana_corollary_1")
COROLLARY_2 = confirmed("dana_corollary_2")
THEOREM_2 = "tests/contract/test_claims.py::test_the_verdict_is_confirmed[dana.theorem-2]"
SIMPLE = confirmed("dana_theorem_2_simple")
DEFINITION_2 = confirmed("dana_definition_2")
THEOREM_3 = confirmed("dana_theorem_3")


def of_record(claim: str, original: str, mutated: str, why: str, tests: str) -> Mutant:
    return Mutant(f"verify/claims/dana_{claim}.py", original, mutated, tests, why)


def of_builder(file: str, original: str, mutated: str, why: str, tests: str) -> Mutant:
    return Mutant(f"constructions/{file}.py", original, mutated, tests, why)


def of_judge(file: str, original: str, mutated: str, why: str, tests: str) -> Mutant:
    return Mutant(f"verify/{file}.py", original, mutated, tests, why)


FLOOR = "    lower = max(0.0, float(lower_sum(np.array(bounds)))) if bounds else 0.0\n"
ONE_HEAD = "    if lower > 0:\n        return DivergenceFloor(lower, Verdict.PROVED"

MUTANTS = [
    # Words.
    of_record("lemma_2", 'judgement="false"', 'judgement="slip"', "what is refuted is called a slip", LEMMA_2),
    of_record("lemma_2", 'judgement="false"', 'judgement="hypothesis"', "what is refuted needs a hypothesis", LEMMA_2),
    of_record("theorem_1_tail", 'judgement="slip"', 'judgement="false"', "a slip is called false", TAIL),
    of_record(
        "proposition_1", 'judgement="hypothesis"', 'judgement="false"', "a hypothesis is forgotten", PROPOSITION_1
    ),
    of_record("lemma_1", 'judgement="holds"', 'judgement="redundant"', "what holds is called redundant", LEMMA_1),
    of_record("theorem_3", 'judgement="invalid-proof"', 'judgement="false"', "an invalid proof refutes", THEOREM_3),
    # Numbers in the statements.
    of_record("proposition_1", "0.02988", "0.02989", "the gap of a bias is another number", PROPOSITION_1),
    of_record("proposition_1", "0.02988", "0.02987", "the gap of a bias is another number", PROPOSITION_1),
    of_record("lemma_2", "[[printed: min(T_0, H d)]]", "[[printed: T_0]]", "the printed rank is T_0", LEMMA_2),
    of_record(
        "lemma_2", "[[printed: min(T_0, H d)]]", "[[printed: min(T_0, H d + 1)]]", "one more is printed", LEMMA_2
    ),
    of_record("lemma_2", "min(T, min(d, j) + H)", "min(T, d + H)", "Theorem U forgets the last tokens", LEMMA_2),
    of_record(
        "theorem_1", "[[printed: H d_h + d]]", "[[printed: H d_h]]", "the skip connection is not counted", THEOREM_1
    ),
    of_record("theorem_1", "(log 2 - h) / 2", "(log 2 - h) / 4", "half of the cost of XOR", THEOREM_1),
    of_record("theorem_1_tail", "sqrt(2) P Z n", "2 P Z n", "sqrt 2 becomes 2", TAIL),
    of_record("theorem_1_tail", "sqrt(2) P Z n", "P Z n", "sqrt 2 becomes 1", TAIL),
    of_record("theorem_1_parameters", "4 (T_0 - d)", "3 (T_0 - d)", "another printed count", PARAMETERS),
    of_record("theorem_1_parameters", "4 d_h ceil(", "4 d_h floor(", "heads that are not whole", PARAMETERS),
    of_record("corollary_1", "4 (T - 2)", "2 (T - 2)", "half of the printed parameters", COROLLARY_1),
    of_record("corollary_1", "H + min(2, j)", "H + 2", "the number of last tokens is forgotten", COROLLARY_1),
    of_record("corollary_2", "[[best: 3/4]]", "[[best: 1/2]]", "the best accuracy on XOR is another one", COROLLARY_2),
    of_record("theorem_2", "sqrt(32 log", "sqrt(8 log", "another printed constant", THEOREM_2),
    of_record("theorem_2", "(1 + 2C + C t)", "(1 + C + C t)", "another printed factor", THEOREM_2),
    of_record("theorem_2_simple", "[[smaller: (1 + 2C)", "[[smaller: (1 + 3C)", "another true factor", SIMPLE),
    of_record("definition_2", "[[constant: g / (4R)", "[[constant: g / (8R)", "half of the constant", DEFINITION_2),
    of_record(
        "lemma_4", "(log 2 - 2 delta) / (2 delta)]]", "(log 2 - 4 delta) / (2 delta)]]", "another least range", LEMMA_4
    ),
    of_record("lemma_4", "[[repaired: alpha log", "[[repaired: 2 alpha log", "twice the repaired range", LEMMA_4),
    of_record("theorem_3", "2 epsilon^(2/3)", "2 epsilon^(3/4)", "another rate of the argument", THEOREM_3),
    # Builders and formulas of constructions.
    of_builder(
        "capacity/generic_rank",
        "    return int(ranks[-1])\n",
        "    return min(len(contexts), n_heads * d_head + d_model * with_skip)\n",
        "the generic rank is the refuted count",
        LEMMA_2,
    ),
    of_builder(
        "memories/parameters",
        "-(-(facts - width) // d_head))",
        "1 - (-(facts - width) // d_head))",
        "one head more than the paper counts",
        THEOREM_1,
    ),
    of_judge(
        "claims/dana_theorem_1",
        "n_heads=count) == len(contexts)",
        "n_heads=count) >= 0",
        "the rank hypothesis admits everything",
        THEOREM_1,
    ),
    of_builder(
        "memories/left_out",
        "exact_network(front_end, heads, change * unembedding)",
        "exact_network(front_end, heads, unembedding)",
        "W_U lacks the change of basis",
        TAIL,
    ),
    of_builder(
        "encoders/sequence_encoder",
        "        E[self.present] = point.E\n",
        "        E[self.present] = -3.0 * point.E\n",
        "another encoder than the one that was found",
        PROPOSITION_1,
    ),
    of_builder(
        "encoders/sequence_encoder",
        "        E[self.present] = point.E\n",
        "        E[self.present] = -3.0 * point.E\n",
        "another encoder than the one that was found",
        PROPOSITION_2,
    ),
    of_builder(
        "encoders/approximating_sequences",
        "    factor = 1 + delta / (2 * largest_range)",
        "    factor = 1 - delta / (2 * largest_range)",
        "the encoder is scaled down",
        DEFINITION_2,
    ),
    of_builder(
        "memories/one_head_optimum",
        "logit / 2.0 - second",
        "logit / 2.0 + second",
        "weights that miss the optimum of XOR",
        THEOREM_1,
    ),
    of_builder(
        "memories/one_head_optimum",
        "logit / 2.0 - second",
        "logit / 2.0 + second",
        "weights that miss the optimum of XOR",
        THEOREM_3,
    ),
    of_builder(
        "unembeddings/johnson_lindenstrauss",
        "(2 * bits - 1)",
        "(2 * bits - 1 + 2 * (bits < 0) + 2 * (bits == 0))",
        "rows of ones",
        THEOREM_2,
    ),
    of_builder(
        "memories/parameters",
        "    return max(1, -(-(facts - width) // d_head))",
        "    return 1 - (-(facts - width) // d_head)",
        "one head more than needed",
        PARAMETERS,
    ),
    # Judges.
    of_judge("encoders/encoder_floor", FLOOR, FLOOR + "    lower *= 1.3\n", "a false floor of encoders", PROPOSITION_1),
    of_judge("encoders/encoder_floor", FLOOR, FLOOR + "    lower *= 1.3\n", "a false floor of encoders", PROPOSITION_2),
    of_judge("encoders/encoder_floor", FLOOR, FLOOR + "    lower *= 1.3\n", "a false floor of encoders", LEMMA_1),
    of_judge(
        "encoders/encoder_floor", FLOOR, FLOOR + "    lower *= 0.1\n", "an empty floor of encoders", PROPOSITION_1
    ),
    of_judge(
        "encoders/encoder_floor", FLOOR, FLOOR + "    lower *= 0.1\n", "an empty floor of encoders", PROPOSITION_2
    ),
    of_judge("encoders/encoder_floor", FLOOR, FLOOR + "    lower *= 0.1\n", "an empty floor of encoders", LEMMA_1),
    of_judge(
        "capacity/divergence_floor", ONE_HEAD, "    lower *= 1.01\n" + ONE_HEAD, "a false floor of one head", THEOREM_1
    ),
    of_judge(
        "capacity/divergence_floor", ONE_HEAD, "    lower *= 1.01\n" + ONE_HEAD, "a false floor of one head", THEOREM_3
    ),
    of_judge(
        "capacity/sign_patterns",
        "max(1, int(found))",
        "max(1, int(found)) + 5",
        "Warren's count and five more",
        COROLLARY_1,
    ),
    of_judge(
        "capacity/linear_relations",
        "sum(rank - 1 for rank in indicator_ranks)",
        "sum(rank for rank in indicator_ranks)",
        "U2 is too weak",
        LEMMA_2,
    ),
    of_judge(
        "capacity/linear_relations",
        "    per_head = min(d_model, d_head, differences)",
        "    per_head = min(d_model, d_head, differences - 1)",
        "U1 is false",
        LEMMA_3,
    ),
    of_judge(
        "encoders/logit_range",
        "        return room_r * room_s / (2 * ball(delta))",
        "        return 4 * room_r * room_s / (2 * ball(delta))",
        "a false floor of the range",
        LEMMA_4,
    ),
    of_judge("encoders/low_entropy_bound", "* 32.0 /", "* 8.0 /", "the paper's constant is halved", THEOREM_2),
    of_judge(
        "encoders/low_entropy_bound",
        "return (1.0 + 4.0 * constant) / (1.0 - 2.0 * constant)",
        "return (1.0 + 3.0 * constant) / (1.0 - 2.0 * constant)",
        "another simpler factor",
        SIMPLE,
    ),
    of_judge(
        "memories/left_out_bound",
        "        return sqrt(2.0) * self.probability * self.row * self.norm",
        "        return 2.0 * self.probability * self.row * self.norm",
        "sqrt 2 becomes 2",
        TAIL,
    ),
    of_judge(
        "memories/left_out_bound",
        "        return sqrt(2.0) * self.probability * self.row * self.norm",
        "        return 1.0 * self.probability * self.row * self.norm",
        "sqrt 2 becomes 1",
        TAIL,
    ),
    of_judge(
        "linear_algebra/prime_roots",
        "len(set(numbers)) == len(numbers)",
        "len(set(numbers)) < len(numbers)",
        "distinct primes are refused",
        LEMMA_3,
    ),
    of_judge(
        "memories/sharp_attention",
        "    return [x - y for x, y in zip(a, b, strict=True)]",
        "    return [y - x for x, y in zip(a, b, strict=True)]",
        "gaps of the other sign",
        SKIP_HEAD,
    ),
]
