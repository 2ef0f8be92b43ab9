"""Mutants of the swaps to a large volume: they end too soon, or lose track of the coefficients."""

from tests.mutants import of

swapped = of("constructions/attention/maximal_volume.py", "tests/constructions/attention/test_maximal_volume.py")

MUTANTS = [
    swapped("abs(pivot) <= 1.0 + excess", "abs(pivot) <= 3.0 + excess", "swaps end too soon"),
    swapped("np.argmax(np.abs(coefficients))", "np.argmax(coefficients)", "negative coefficients are not seen"),
    swapped("row[s] -= 1.0", "row[s] -= 0.5", "a swap changes the coefficients wrongly"),
    swapped("coefficients[:, s] / pivot", "coefficients[:, s]", "a swap is not divided by its pivot"),
    swapped("if not np.isfinite(coefficients).all():", "if False:", "dependent rows to begin with"),
    swapped("chosen[s] = t", "chosen[t % len(chosen)] = t", "another row is swapped"),
    swapped("or not excess > 0", "or not excess >= 0", "an excess of 0, whose swaps need not end"),
]
