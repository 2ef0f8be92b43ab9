"""Mutants of bounds that some run nearly reaches: half of them, or without one of their terms, a run is outside."""

from tests.mutants import of

REPLICA = "tests/verify/replica/test_reached_bounds.py"
RUNS = "tests/verify/runs/test_reached_bounds.py"

kept = of("verify/independent/edit_check.py", "tests/falsify/test_kept_leads.py")
judge = of("verify/edits/judge.py", "tests/falsify/test_kept_leads.py")
divergence = of("verify/independent/ball_divergence.py", "tests/verify/independent/test_ball_divergence.py")
rows = of("verify/forward/row_balls.py", REPLICA)
rounding = of("verify/replica/rounding.py", REPLICA)
sums = of("verify/runs/exact_sums.py", RUNS)
boxes = of("verify/runs/boxes.py", RUNS)
reciting = of("byheart/reciting.py", "tests/byheart/test_recited_windows.py")
handshake = of(
    "byheart/hosts/handshake.py",
    "tests/byheart/hosts/test_handshake.py::test_nobody_agrees_about_contexts_of_which_no_bound_is_known",
)
ask = of(
    "byheart/command/ask.py",
    "tests/byheart/command/test_ask.py::test_a_fact_that_is_not_proved_to_be_memorized_exits_3_and_says_so",
)
checking = of(
    "byheart/experiments/checking.py",
    "tests/byheart/experiments/test_checking.py::test_a_model_with_one_weight_at_the_next_number_is_another_one",
)
sweep = of("byheart/experiments/sweep.py", "tests/byheart/experiments/test_sweep.py::test_a_tie_is_not_held")
ladder = of(
    "verify/forward/ladder.py",
    "tests/verify/forward/test_ladder.py::test_matrices_at_the_ends_of_float64_are_decided_rightly_or_not_at_all",
)

MUTANTS = [
    kept("twice = 2 * moved", "twice = moved", "two logits move towards each other"),
    judge("lead > 2.0 * moved[chosen]", "lead > moved[chosen]", "two logits move towards each other"),
    divergence("value + arb(0, 2 * self.error)", "value + arb(0, self.error)", "softmax and law are apart by 2"),
    divergence("arb(0, 2 * self.error).exp()", "arb(0, self.error).exp()", "both logits of a quotient are off"),
    rows("* norms.slipped", "* norms.moved", "a mean that is off moves all entries the same way"),
    rows(
        "growth(self.numbers.unit, length + 3) * (sizes + radius)",
        "growth(self.numbers.unit, 3) * (sizes + radius)",
        "an average rounds but three times",
    ),
    rounding(" + radius + around)", " + radius)", "the exact outputs are those of float64"),
    rounding(" + radius + around)", " + around)", "a run is what float64 computes"),
    rounding("np.abs(value - again) + ", "", "two evaluations are the same"),
    sums("lead = (gap - 2.0 * error)", "lead = (gap - error)", "one of two scores is off"),
    sums("gap = (gap - 2.0 * error)", "gap = (gap - error)", "one of two scores is off in real arithmetic"),
    sums("(2.0 * length * tail", "(1.0 * length * tail", "values have one sign"),
    sums("np.full(len(top), length + 3)", "np.full(len(top), count + 3)", "rows that are not read round nothing"),
    boxes("error = error @ np.abs(block.W_out) + ", "error = ", "the sums of neurons are not rounded"),
    reciting("up(logits.radius + bound", "up(0.0 * logits.radius + bound", "exact logits are their middles"),
    reciting(
        "same = labels[at] == windows.text[places]",
        "same = labels[at] == labels[at]",
        "a window that goes on in two ways is right twice",
    ),
    handshake("np.isfinite(bounds).all()", "np.isfinite(bounds).any()", "anything is within infinity"),
    ask(" or (answer.memorized and not answer.held)", "", "what is not proved is proved"),
    checking("atol=2.0**-40", "atol=2.0**-20", "a weight that moved is the same"),
    sweep("answers.margin_lower > 0, ", "answers.margin_lower >= 0, ", "a tie is held"),
    sweep("answers.margin_upper <= 0", "answers.margin_upper < 0", "a tie is not wrong"),
    divergence("lower = divergence.lower()", "lower = divergence.mid()", "the middle of a ball is below it"),
    ladder("if not 0.0 < radius < np.inf:  #", "if not len(known):  #", "no gap underflows or overflows"),
]
