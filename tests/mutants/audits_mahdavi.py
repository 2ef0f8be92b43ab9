"""Mutants of builders, judges and records of the claims of Mahdavi et al.: the audit itself must notice."""

from tests.mutants import Mutant, confirmed, of

PROPOSITION_1 = confirmed("mahdavi_proposition_1")
THEOREM_1 = confirmed("mahdavi_theorem_1")
PROPOSITION_2 = confirmed("mahdavi_proposition_2")
PROPOSITION_3 = confirmed("mahdavi_proposition_3")
PROPOSITION_4 = confirmed("mahdavi_proposition_4")
PROPOSITION_5 = confirmed("mahdavi_proposition_5")
APPENDIX_I = confirmed("mahdavi_appendix_i")
REMARK_1 = confirmed("mahdavi_remark_1")
WIDE_HEADS = confirmed("mahdavi_wide_heads")
ONE_TOKEN = confirmed("mahdavi_one_token")
POSITIONS = confirmed("mahdavi_sinusoidal_positions")
RANDOM_LAYER = confirmed("mahdavi_random_layer")
APPENDIX_J = confirmed("mahdavi_appendix_j")


def of_record(claim: str, original: str, mutated: str, why: str, tests: str) -> Mutant:
    return Mutant(f"verify/theorems/claims/mahdavi_{claim}.py", original, mutated, tests, why)


def of_builder(file: str, original: str, mutated: str, why: str, tests: str) -> Mutant:
    return Mutant(f"constructions/saturated_layers/{file}.py", original, mutated, tests, why)


memorized = of(
    "verify/theorems/evidence/memorized_labels.py", "tests/verify/theorems/evidence/test_memorized_labels.py"
)


def of_judge(file: str, original: str, mutated: str, why: str, tests: str) -> Mutant:
    return Mutant(f"verify/theorems/saturated_layers/{file}.py", original, mutated, tests, why)


FITTED = "        return Fit(_pseudo_inverse(queries[list(block)]), columns, np"
DRAWN = "        return Fit(rng.standard_normal((queries.shape[1], len(block))), 0.0 * columns, np"
HULL = "        return min(n_examples, copies * self.dimension + apart)"

MUTANTS = [
    # Words and numbers.
    of_record(
        "theorem_1", 'judgement="not-legible"', 'judgement="hypothesis"', "what was not read is judged", THEOREM_1
    ),
    of_record("proposition_2", 'judgement="not-legible"', 'judgement="not-judged"', "another word", PROPOSITION_2),
    of_record("appendix_i", 'judgement="not-legible"', 'judgement="open"', "what has an answer is open", APPENDIX_I),
    of_record("wide_heads", 'judgement="not-legible"', 'judgement="measured"', "another word", WIDE_HEADS),
    of_record("proposition_1", "[[printed: H (r - 1) + 1]]", "[[printed: H r + 1]]", "more is printed", PROPOSITION_1),
    of_record("proposition_2", "[[printed: H (n - 1) + 1]]", "[[printed: H n]]", "more is printed", PROPOSITION_2),
    of_record("proposition_5", "[[zero: H (d - 1)]]", "[[zero: H (d - 1) + 1]]", "0 is like other sums", PROPOSITION_5),
    of_record("appendix_i", "[[largest: H d]]", "[[largest: H (d - 1)]]", "less is answered", APPENDIX_I),
    of_record("remark_1", "[[shared: H (n - 1) + 1]]", "[[shared: H n]]", "more on a shared context", REMARK_1),
    of_record("proposition_3", "m (d + 1) + 2]]", "m (d + 1) + 1]]", "one example fewer", PROPOSITION_3),
    of_record("proposition_3", "[[within: (d + 1) (m", "[[within: (d + 2) (m", "more within reach", PROPOSITION_3),
    of_record("wide_heads", "[[generic: min(T, H d)]]", "[[generic: min(T, H d + 1)]]", "one more", WIDE_HEADS),
    of_record("one_token", "[[tokens: min(T, d)]]", "[[tokens: d]]", "more than the examples", ONE_TOKEN),
    of_record("appendix_j", "[[promise: 1009]]", "[[promise: 1025]]", "another promise for BERT", APPENDIX_J),
    of_record("appendix_j", "'291'", "'29'", "a rank below the width of a head", APPENDIX_J),
    # Builders.
    of_builder("saturated_heads", FITTED, DRAWN, "heads that fit nothing", PROPOSITION_1),
    of_builder("saturated_heads", FITTED, DRAWN, "heads that fit nothing", REMARK_1),
    of_builder("saturated_heads", FITTED, DRAWN, "heads that fit nothing", APPENDIX_J),
    of_builder(
        "layer_readout",
        "        solution += Q @ scipy",
        "        solution += 0.5 * Q @ scipy",
        "a read-out that misses the labels",
        THEOREM_1,
    ),
    of_builder(
        "shared_context",
        "    W_K = rng.integers(-9999, 10000, (n_heads, keys.shape[1], 1))",
        "    W_K = np.repeat(rng.integers(-9999, 10000, (1, keys.shape[1], 1)), n_heads, axis=0)",
        "one key direction for all heads",
        PROPOSITION_2,
    ),
    of_builder(
        "shared_context",
        "    W_K = rng.integers(-9999, 10000, (n_heads, keys.shape[1], 1))",
        "    W_K = np.repeat(rng.integers(-9999, 10000, (1, keys.shape[1], 1)), n_heads, axis=0)",
        "one key direction for all heads",
        WIDE_HEADS,
    ),
    of_builder(
        "generic_contexts",
        "    return rng.integers(1, 4, shape), rng.integers(-9999, 10000, shape)",
        "    return rng.integers(1, 4, shape), np.repeat(rng.integers(-9999, 10000, shape)[:1], n_heads, axis=0)",
        "one key map for all heads",
        APPENDIX_I,
    ),
    Mutant(
        "constructions/saturated_layers/sinusoidal_positions.py",
        "np.sin(angles), np.cos(angles)",
        "np.cos(angles), np.sin(angles)",
        POSITIONS,
        "sines and cosines change places",
    ),
    # Judges.
    memorized("memorized and proof.verdict is Verdict.PROVED", "memorized", "labels are memorized without rank"),
    memorized(
        "memorized, certified = error <= _ERROR", "memorized, certified = True", "labels that are missed are memorized"
    ),
    memorized(
        "memorized, certified = margin > 0", "memorized, certified = True", "classes that are behind are in front"
    ),
    memorized("outputs if added is None else outputs + added", "outputs", "what is added does not count"),
    memorized("(task.labels if labels is None else labels)", "task.labels", "labels of one's own are not asked for"),
    memorized("others[rows, right] = -np.inf", "pass", "a class is its own rival"),
    of_judge("affine_hull", HULL, HULL + " + 1", "a ceiling that is too high", PROPOSITION_2),
    of_judge("affine_hull", HULL, HULL + " + 1", "a ceiling that is too high", PROPOSITION_5),
    of_judge("affine_hull", HULL, HULL + " + 1", "a ceiling that is too high", ONE_TOKEN),
    of_judge("affine_hull", HULL, HULL + " - 1", "a false ceiling", APPENDIX_I),
    of_judge("affine_hull", HULL, HULL + " - 1", "a false ceiling", PROPOSITION_1),
    of_judge("output_rank", "min(n_heads * d_value, d_inner)", "n_heads * d_value", "d_o does not count", THEOREM_1),
    of_judge("output_rank", "min(n_heads * d_value, d_inner)", "d_inner", "H d_v does not count", PROPOSITION_4),
    of_judge("output_rank", "min(n_heads * d_value, d_inner)", "d_inner", "H d_v does not count", RANDOM_LAYER),
    of_judge(
        "sinusoidal_positions",
        "float(certificate.smallest_singular_value)",
        "9.0 + float(certificate.smallest_singular_value)",
        "a room that is too large",
        POSITIONS,
    ),
    Mutant(
        "verify/theorems/capacity/two_token_rank.py",
        "        return min(n_heads + 1, self.limit) if n_heads else 0",
        "        return self.limit if n_heads else 0",
        REMARK_1,
        "few heads do not count",
    ),
]
