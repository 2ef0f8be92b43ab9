"""Mutants of the integers of the independent reader: a head whose other rows, scores or radii are forgotten."""

from tests.mutants import of

reader = of("verify/independent/exact_forward.py", "tests/verify/independent/test_exact_forward.py")

MUTANTS = [
    reader("off = 2 * longest * (1 << max(0, _UNIT - bits))", "off = 0", "a head reads nothing beside its rows"),
    reader("(4 * delta if ties else 0)", "0", "equal scores are taken for exactly equal"),
    reader("    if 2 * delta > 1 << _UNIT:", "    if False:", "scores that nobody knows are believed"),
    reader("if bits < _SOFT", "if bits < -(10**9)", "a soft head passes for a hard one"),
    reader("if len(tops) & len(tops) - 1:", "if False:", "a third is rounded to a power of two"),
    reader("radii = list(map(add, radii, rows.radii))", "pass", "the skip connection of neurons is known exactly"),
    reader("[(n << up) + b for n in column]", "[n + b for n in column]", "the skip connection has another scale"),
    reader("list(rows.radii) if block.options", "[0] * written if block.options", "that of heads is known exactly"),
    reader(
        "mixed = [-(-n * off >> rows.scale + scale) for n in largest]",
        "mixed = [0 for n in largest]",
        "what a head reads beside its rows is not moved",
    ),
    reader(
        "(sum(abs(w) * r for w, r",
        "(sum(w * r for w, r",
        "radii cancel",
    ),
    reader("active = [n if n > 0 else 0 for n in entries]", "active = entries", "neurons are linear"),
    reader("cell[: i + 1] if attends", "cell if attends", "a causal head sees what follows"),
    reader("[n << finest - exact.scale for n in exact.values])", "[0] * width)", "queries and keys have no shift"),
]
