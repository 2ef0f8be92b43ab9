"""Mutants of bounds that some run nearly reaches: half of them, or without one of their terms, a run is outside."""

from tests.mutants import of

REPLICA = "tests/falsify/test_runs_near_their_bound.py"
RUNS = "tests/falsify/test_exact_sums_near_their_bound.py"
HARDLY = "tests/falsify/test_neurons_that_hardly_fire.py"
SQUARES = "tests/falsify/test_squares_near_their_bound.py"
EDGES = "tests/falsify/test_edges_of_bounds.py::test_no_number_is_proved_that_is_better_than_the_truth"

judge = of("verify/edits/judge.py", "tests/falsify/test_kept_leads.py")
rows = of("verify/forward/rows/row_balls.py", REPLICA)
rounding = of("verify/runs/rounding.py", REPLICA)
in_runs = of("verify/runs/in_runs.py", RUNS)
in_reals = of("verify/runs/in_reals.py", RUNS)
boxes = of("verify/runs/boxes.py", RUNS)
bounded_runs = of("verify/runs/bounded_runs.py", "tests/falsify/test_recited_windows.py")
reciting = of("byheart/reciting.py", "tests/falsify/test_recited_windows.py")
handshake = of(
    "byheart/hosts/handshake.py",
    "tests/byheart/hosts/test_handshake.py::test_nobody_agrees_about_contexts_of_which_no_bound_is_known",
)
ask = of(
    "byheart/cli/ask.py",
    "tests/byheart/cli/test_ask.py::test_a_fact_that_is_not_proved_to_be_memorized_exits_3_and_says_so",
)
checking = of(
    "experiments/checking.py",
    "tests/experiments/test_checking.py::test_a_model_with_one_weight_at_the_next_number_is_another_one",
)
sweep = of("experiments/sweep.py", "tests/experiments/test_sweep.py::test_a_tie_is_not_memorized")
hardly_fires_by_judge = of("verify/edits/judge.py", HARDLY)
nearby = of("verify/divergence/kullback_leibler.py", "tests/verify/divergence/test_kullback_leibler.py")
leak = of("verify/edits/leak.py", "tests/verify/edits/test_leak.py")
moved = of("verify/edits/moved_logits.py", "tests/verify/edits/test_moved_logits.py")
products = of("verify/arithmetic/enclosure.py", "tests/falsify/test_products_near_their_bound.py")
answers = of("verify/provers/answer_bounds.py", "tests/verify/provers/test_answer_bounds.py")
gram = of("verify/linear_algebra/gram.py", SQUARES)
norms = of("verify/linear_algebra/norms.py", SQUARES)
memorization = of("verify/provers/memorization.py", EDGES)
ladder = of(
    "verify/forward/ladder.py",
    "tests/verify/forward/test_ladder.py::test_matrices_at_the_ends_of_float64_are_decided_rightly_or_not_at_all",
)
stated_answers = of("verify/provers/answers.py", EDGES)

MUTANTS = [
    judge("lead > 2.0 * moved[chosen]", "lead > moved[chosen]", "two logits move towards each other"),
    rows("* norms.slipped", "* norms.moved", "a mean that is off moves all entries the same way"),
    rows(
        "growth(self.numbers.unit, length + 3) * (sizes + radius)",
        "growth(self.numbers.unit, 3) * (sizes + radius)",
        "an average rounds but three times",
    ),
    rows(
        "np.all(sizes <= self.numbers.elsewhere.largest)",
        "np.any(sizes <= self.numbers.elsewhere.largest)",
        "one context that overflows among others that do not",
    ),
    rounding(" + radius + around)", " + radius)", "the exact outputs are those of float64"),
    rounding(" + radius + around)", " + around)", "a run is what float64 computes"),
    rounding("np.abs(value - again) + ", "", "two evaluations are the same"),
    in_runs("lead = (gap - 2.0 * error)", "lead = (gap - error)", "one of two scores is off"),
    in_reals("gap = (gap - 2.0 * error)", "gap = (gap - error)", "one of two scores is off in real arithmetic"),
    in_reals("moved = 2.0 * length * tail", "moved = 1.0 * length * tail", "values have one sign"),
    in_runs("np.full(len(top), length + 3)", "np.full(len(top), count + 3)", "rows that are not read round nothing"),
    boxes("error = error @ np.abs(block.W_out) + ", "error = ", "the sums of neurons are not rounded"),
    bounded_runs("up(logits.radius + bound", "up(0.0 * logits.radius + bound", "exact logits are their middles"),
    reciting(
        "same = labels[at] == windows.text[places]",
        "same = labels[at] == labels[at]",
        "a window that goes on in two ways is right twice",
    ),
    handshake("if not np.isfinite(limit).all():", "if False:", "anything is within infinity"),
    ask(" or (answer.is_fact and not answer.memorized)", "", "what is not proved is proved"),
    checking("atol=2.0**-40", "atol=2.0**-20", "a weight that moved is the same"),
    sweep("answers.margin_lower > 0, ", "answers.margin_lower >= 0, ", "a tie is memorized"),
    sweep("answers.margin_upper <= 0", "answers.margin_upper < 0", "a tie is not wrong"),
    hardly_fires_by_judge("inside.upper(), writes)", "inside.midpoint, writes)", "a neuron may fire"),
    nearby("logits.midpoint.shape).max(axis=1)", "logits.midpoint.shape).min(axis=1)", "one logit is known badly"),
    nearby("0.5 * off * off, 2.0 * off)", "0.5 * off * off, 1.0 * off)", "a distribution far from the prediction"),
    nearby("off * np.sqrt(2.0 * least)", "off * np.sqrt(least)", "a fair coin"),
    nearby("+ 0.5 * off * off,", "+ 0.25 * off * off,", "a fair coin"),
    leak("np.maximum(exponent.upper(), _LOWEST)", "np.maximum(exponent.midpoint, _LOWEST)", "exponents are rounded"),
    leak("(exp(largest) * factor).upper()", "(exp(largest) * factor).midpoint", "powers are rounded"),
    moved("radii.max(axis=1)", "radii.min(axis=1)", "the logit that moves least counts"),
    moved("(distance == 0.0).all(axis=1)", "(distance == 0.0).any(axis=1)", "one position that stays is enough"),
    products("weight *= gamma(n)", "weight *= 0.5 * gamma(n)", "half of the roundings of a product"),
    products("y.midpoint, gamma(n))", "y.midpoint, 0.5 * gamma(n))", "half of the roundings by norms"),
    answers("losses[0] > tolerance", "losses[0] >= tolerance", "a loss at the tolerance is wrong"),
    answers("losses[1] <= tolerance", "losses[1] < tolerance", "a loss at the tolerance is not memorized"),
    gram("k.error + product_error(norms, (size, size), size)", "k.error", "the square of a factor is not rounded"),
    gram("(size, size), inner), block)", "(size, size), inner) / 2, block)", "half of the roundings of a product"),
    norms(
        "return roundings(inner) * norms", "return 0.5 * roundings(inner) * norms", "half of the roundings of a product"
    ),
    norms("/ (1 - arb(gamma(flat.size)))", "/ (1 - arb(0.5 * gamma(flat.size)))", "half of the roundings of squares"),
    norms("/ (1 + arb(gamma(flat.size)))", "/ (1 + arb(0.5 * gamma(flat.size)))", "half of the roundings of squares"),
    stated_answers(
        "<= float(answers.margin_lower[places].min())",
        "<= float(answers.margin_upper[places].min())",
        "a margin that may be is one that is",
    ),
    stated_answers('own["max_upper"] <= stored["max_upper"] and ', "", "a loss is bounded by anything"),
    stated_answers(' and own["mean_upper"] <= stored["mean_upper"]', "", "a mean is bounded by anything"),
    ladder("if not 0.0 < radius < np.inf:  #", "if not len(known):  #", "no gap underflows or overflows"),
]
