"""Mutants of the search for codes, and of the neurons through them: codes that collide, slopes that are forgotten."""

from tests.mutants import of

code = of(
    "constructions/memories/codes/positional_code.py", "tests/constructions/memories/codes/test_positional_code.py"
)
knot = of("constructions/memories/knots.py", "tests/constructions/memories/test_knots.py")

MUTANTS = [
    code("if len(np.unique(code.codes)) == count:", "if True:", "codes may collide"),
    code("if len(np.unique(contexts, axis=0)) < count:", "if False:", "contexts may repeat"),
    code("if base**n_ctx <= 2**bits:", "if base**n_ctx <= 2 ** (bits + 1):", "numbers to a base are too long"),
    code("free = np.flatnonzero(~taken.any_of(codes))", "free = np.arange(len(codes))", "codes are never taken"),
    code("taken.take(codes[chosen])", "pass", "codes are forgotten"),
    code(
        "apart = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)",
        "apart = np.ones(len(free), dtype=bool)",
        "contexts with the same last token may collide",
    ),
    code("largest = (2**bits - 1) // int(weights.sum())", "largest = 2**bits // len(weights)", "codes are too long"),
    code("last = place[ranks].max(axis=1)", "last = place[ranks].min(axis=1)", "contexts are known too early"),
    code(
        "taken = listed[np.searchsorted(self.codes, codes)] == codes",
        "taken = np.zeros(codes.shape, dtype=bool)",
        "long codes are never taken",
    ),
    knot("lacking = outputs[i + 1] - value - slope * gap", "lacking = outputs[i + 1] - value", "slopes add nothing"),
    knot("value += slope * gap", "value = outputs[i + 1]", "what was missed is forgotten"),
    knot("if abs(lacking) > miss:", "if abs(lacking) > 9 * miss:", "labels are missed"),
    knot("b_in=-(knots.signs * knots.places)", "b_in=-(knots.places)", "neurons to the left set in elsewhere"),
    knot("b_out=knots.middle", "b_out=0.0 * knots.middle", "the context in the middle has no output"),
]
