"""Mutants of the judge of knots: a doubt, an end, a knot or a direction forgotten."""

from tests.mutants import of

knots = of("verify/theorems/memories/knots.py", "tests/verify/theorems/memories/test_knots.py")

MUTANTS = [
    knots(", *piece.values[before:after]]", "]", "knots between the bounds of a number are not looked at"),
    knots("piece.at(b, after)", "piece.at(a, before)", "only the lower bound of a number is looked at"),
    knots("piece.at(a, before)", "piece.at(b, after)", "only the upper bound of a number is looked at"),
    knots("np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)", "lower, upper", "ends are rounded to nearest"),
    knots("x.upper().ceil()", "x.lower().floor()", "attention weights are only bounded from below"),
    knots("if (reads & written).any():", "if False:", "scores that depend on tokens pass for those that do not"),
    knots("(of_positions[s] + v)", "(v)", "what positions add to the number is left out"),
    knots("value += jump * (knot - knots[0])", "pass", "neurons to the left add nothing at the first knot"),
    knots("slope -= jump", "pass", "neurons to the left have no slope before they end"),
    knots("(np.abs(neurons.W_in) != 1.0).any()", "False", "input weights are taken to be 1"),
    knots("or head.score_root != 1", "", "scores that are scaled pass for those that are not"),
    knots("min(a * v, b * v), max(a * v, b * v)", "a * v, b * v", "a negative value has its bounds exchanged"),
    knots("near = max(passed - 1, 0)", "near = passed", "the slope after a knot is taken from the next one"),
]
