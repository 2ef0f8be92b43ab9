"""Mutants of the counts of dimensions: a cycle, a component, a size or a step forgotten."""

from tests.mutants import of

counted = of(
    "constructions/attention/capacity/sub_alphabet.py", "tests/constructions/attention/capacity/test_sub_alphabet.py"
)
joined = of(
    "constructions/attention/capacity/gain_forest.py", "tests/constructions/attention/capacity/test_gain_forest.py"
)
eliminated = of(
    "constructions/attention/capacity/generic_rank.py", "tests/constructions/attention/capacity/test_generic_rank.py"
)
profiled = of(
    "constructions/attention/capacity/rank_profile.py", "tests/constructions/attention/capacity/test_rank_profile.py"
)
listed = of("constructions/named/context_rows.py", "tests/constructions/named/test_context_rows.py")
labelled = of("constructions/named/labelled_contexts.py", "tests/constructions/named/test_labelled_contexts.py")
shown = of("byheart/theorems/rank_profile.py", "tests/byheart/theorems/test_rank_profile.py")

MUTANTS = [
    profiled("self.upper < self.printed", "self.lower < self.printed", "a count that may hold is said to fail"),
    profiled(
        "zip((True, False), lower_bounds",
        "zip((False, True), lower_bounds",
        "the skip connection is counted with the heads alone",
    ),
    profiled(
        "heads * d_head + (d_model if with_skip else 0)",
        "heads * d_head + d_model",
        "the heads alone have more columns",
    ),
    profiled(
        "each_adds_one = np.minimum(np.arange(n_heads + 1)",
        "each_adds_one = np.minimum(d_head * np.arange(n_heads + 1)",
        "a head adds its width to any contexts",
    ),
    listed("header=header)\n", "header=False)\n", "names of columns are a context"),
    labelled("if earlier != place:", "if False:", "equal contexts are two"),
    shown("if each.printed_fails:", "if each.lower < 1:", "other cells have a frame"),
    eliminated("rank_of_first + further\n", "rank_of_first\n", "columns add nothing in the first rows"),
    eliminated("- rank_of_first + further", "+ further", "heads alone are counted with the skip connection"),
    eliminated("np.arange(widths[0], ends[-1])", "np.arange(ends[-1])", "the first columns count among the others"),
    eliminated("for row in range(rank_of_first) for", "for row in range(rank) for", "rows of pivots count twice"),
    joined("return of_left - of_right + gain", "return 0", "no cycle has gains"),
    joined("kept, of_right - of_left - gain", "kept, of_right - of_left", "an edge of the tree has no gain"),
    joined("height += above[other]", "height = above[other]", "only the last step is counted"),
    counted("self.joined + len(self.basis)", "self.joined", "cycles add no difference"),
    counted("for counted in (self.members, self.places, self.pairs):", "for counted in ():", "joined parts are lost"),
    counted("variations.sizes[c] - 1, variations.free[c]", "variations.free[c]", "a class has no size"),
    counted(
        "if not 0 < count == occurrences[-token]:", "if not 0 < count:", "the rarest token is that of the first count"
    ),
    counted("(np.bincount(columns.ravel()) == 1)", "(np.bincount(columns.ravel()) <= 2)", "two rows share their key"),
]
