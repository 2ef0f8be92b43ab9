"""Mutants of the walk: which rows are read, how blocks are put together, what one arithmetic alone brings."""

from tests.mutants import Mutant, of

CONTRACT = "tests/contract/test_blocks.py"


walk = of("verify/forward/walk.py", CONTRACT)
lengths = of(
    "verify/forward/walk.py",
    "tests/contract/test_blocks.py::test_contexts_of_several_lengths_give_what_each_gives_alone",
)
idle = of("verify/forward/walk.py", "tests/verify/forward/test_idle_heads.py")
pairs = of("verify/forward/attention_pairs.py", "tests/verify/forward/test_attention_pairs.py")


def matrices(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/matrices.py", original, mutated, CONTRACT, f"in matrices {why}")


def rows(original: str, mutated: str, why: str) -> Mutant:
    of_rows = ("rows/test_row_balls", "test_idle_heads", "test_heads")
    tests = " ".join(f"tests/verify/forward/{name}.py" for name in of_rows)
    return Mutant("verify/forward/rows/row_balls.py", original, mutated, tests, why)


elsewhere = of("verify/forward/rows/row_balls.py", "tests/verify/runs/test_rounding.py")

MUTANTS = [
    # Which rows are read.
    pairs('if block.attends == "all":', "if False:", "who reads all positions is causal"),
    pairs(
        "np.tri(length, dtype=bool)", "np.tri(length, k=1, dtype=bool)", "a causal attention reads one position ahead"
    ),
    pairs("np.tri(length, dtype=bool)", "np.tri(length, k=-1, dtype=bool)", "a causal attention does not read itself"),
    pairs("read[:, -1:], read, everything", "read[:, :1], read, everything", "the first position asks"),
    pairs('if only_last or block.attends == "last":', "if True:", "every attention attends from the last position"),
    pairs("first + every[:, None]", "0 * every[:, None]", "the first example asks for all"),
    pairs("first + every[:, None]", "every[:, None]", "a part of the examples asks for the first ones"),
    pairs("before * width + cells[:, position]", "cells[:, position]", "prefixes that end alike are the same"),
    pairs(
        "pairs[there, position] = pair.reshape(-1) + found",
        "pairs[there, position] = pair.reshape(-1)",
        "pairs are mixed up",
    ),
    pairs("there[places] * length + position", "there[places] * length", "the first position stands for all"),
    pairs("int(cells.max(initial=0)) + 2", "int(cells.max(initial=0)) + 1", "an end is taken for a row"),
    lengths("places[alike] = behind.cells + found", "places[alike] = behind.cells", "lengths are mixed up"),
    lengths("cells[alike, :length]", "cells[alike]", "what is behind an end is read"),
    pairs("contexts + width * np.arange(length)", "contexts + 0 * np.arange(length)", "all positions are the first"),
    # Blocks.
    walk(
        "    if block.skip:\n        # In parallel",
        "    if False:\n        # In parallel",
        "neurons have no skip connection",
    ),
    walk("    if block.skip:\n        # In parallel", "    if True:\n        # In parallel", "neurons always skip"),
    walk("arithmetic.activate(hidden, block.activation)", "hidden", "neurons are linear"),
    walk("block.W_in, block.b_in)", "block.W_in, None)", "neurons have no shift"),
    walk("block.W_out, block.b_out)", "block.W_out, None)", "neurons write without a shift"),
    walk(
        "return rows if block.norm is None else arithmetic.normalize(rows, block.norm)",
        "return rows",
        "no block has a norm",
    ),
    walk("heads(asking, block.W_Q, block.b_Q)", "heads(asking, block.W_K, block.b_Q)", "queries are made by W_K"),
    walk("heads(asking, block.W_Q, block.b_Q)", "heads(asking, block.W_Q, None)", "queries have no shift"),
    walk("heads(read, block.W_V, block.b_V)", "heads(read, block.W_V, None)", "values have no shift"),
    walk("            asking = stream.queries\n", "            pass\n", "rows ask in the place of the task"),
    walk("        if block.b_O is not None:\n            y = arithmetic.add_bias(y, block.b_O)\n", "", "no b_O"),
    walk(
        'if not block.skip or block.queries == "task":',
        "if True:",
        "attention has no skip connection",
    ),
    walk(
        "gather(arithmetic.materialize(self.stream.rows), asked), y)",
        "gather(arithmetic.materialize(self.read), asked), y)",
        "the norm is skipped along",
    ),
    walk("model.W_U, model.b_U)", "model.W_U, None)", "the readout has no shift"),
    walk("embed(rows, model.W_pos[positions])", "embed(rows, 0 * model.W_pos[positions])", "no positions"),
    walk(
        "np.zeros(count, dtype=np.int64) if inputs.shared else",
        "np.zeros(count, dtype=np.int64) if True else",
        "one context",
    ),
    walk("only_last_is_read(model.blocks, -1) else stream", "True else stream", "the first row is the last"),
    # Heads that are idle.
    idle(
        "busy = np.flatnonzero(~idle[row_of[group[0]]])", "busy = np.flatnonzero(idle[row_of[group[0]]])", "exchanged"
    ),
    idle(
        "rest if heads is None else arithmetic.subtract(self._rest([], length), rest)",
        "self._rest([], length) if heads else rest",
        "busy heads are idle as well",
    ),
    idle(
        "y = arithmetic.add(arithmetic.project_output(mixed, block, busy), y)",
        "y = arithmetic.project_output(mixed, block, busy)",
        "idle heads write nothing",
    ),
    idle('np.argsort(np.concatenate(groups), kind="stable")', "np.concatenate(groups)", "contexts are permuted"),
    Mutant(
        "verify/forward/idle_heads.py",
        "idle if b_Q is None else idle & (b_Q == 0).all(axis=1)",
        "idle",
        "tests/verify/forward/test_idle_heads.py",
        "a shift asks nothing",
    ),
    # Matrices of FLINT.
    matrices("y if b is None else self.add_bias(y, b)", "y", "maps have no shift"),
    matrices("pairs.allowed[position]].tolist()", "slice(None)].tolist()", "every attention reads all positions"),
    matrices("0 if alike else place % positions", "0", "the first position asks for all"),
    matrices(
        "self._chosen(table, read, v.ncols())", "self._chosen(table, read[::-1], v.ncols())", "values stand in reverse"
    ),
    matrices("self.weights(row, root)", "self.weights(row, 1)", "scores are not scaled"),
    matrices("self.exact(a) + self.exact(b)", "self.exact(a)", "positions are forgotten"),
    # Rows of floats.
    rows("inner * terms_of", "0.0 * terms_of", "products round for nothing"),
    rows("terms = min(terms, int(rows.nonzero.sum(axis=1).max(initial=0)))", "terms = 0", "no entry rounds"),
    rows("nonzero=(a != 0.0) | (b != 0.0)", "nonzero=(a + b != 0.0)", "what cancels here is 0 elsewhere"),
    rows(
        "nonzero = None if self.nonzero is None else self.nonzero[chosen]",
        "nonzero = self.nonzero",
        "zeros of other rows",
    ),
    rows("np.fmin(rows.through(norms)[:, 0], raised(mixed.radius @ sizes))", "0.0 * rows.radius", "heads are exact"),
    rows("raised(mixed.radius @ sizes))", "0.5 * raised(mixed.radius @ sizes))", "half of what the heads are off"),
    rows("rows.whole() + others.whole()\n        if", "rows.whole()\n        if", "a branch is exact"),
    rows(
        "rows.whole()[read].mean(axis=1), row_norms",
        "0.0 * rows.whole()[read].mean(axis=1), row_norms",
        "idle heads are exact",
    ),
    rows("growth(self.numbers.unit, length + 3) * (sizes + radius)", "0.0 * sizes", "a mean does not round"),
    rows(
        "asked_of[part][:, None], read_of[part]", "asked_of[part][:, None], read_of[part][:, ::-1]", "scores in reverse"
    ),
    rows(
        "stream_of(arithmetic, model, some), range(last)",
        "stream_of(arithmetic, model, some), range(0)",
        "blocks are left out",
    ),
    rows("only_last=True, first=first)", "only_last=True)", "later examples ask what the first ones ask"),
    elsewhere("value.radius + theta * largest", "value.radius", "weights of idle heads are equal elsewhere"),
    elsewhere(" + 2.0 * length + 12.0)", ")", "the sums of idle heads do not round elsewhere"),
    elsewhere(
        "2.0 * often * (self.numbers.exponential + 1.0) + 2.0 * length",
        "2.0 * length",
        "the exponentials of idle heads are exact elsewhere",
    ),
    elsewhere(
        "terms_of = terms_of + rows.whole()[:, None] * norms.frobenius",
        "terms_of = terms_of",
        "what rows may be off by rounds for nothing elsewhere",
    ),
    elsewhere(
        "terms + (numbers.elsewhere is not None)",
        "terms",
        "the weights that sparse rows meet are converted for nothing",
    ),
    # What heads read.
    Mutant(
        "verify/forward/heads.py",
        "pattern = _patterns(arithmetic, heads, query, key)",
        "pattern = _patterns(arithmetic, heads, heads.query, heads.key)",
        "tests/verify/forward/test_heads.py",
        "the first head stands for all",
    ),
    rows("self._raised(doubt)[:, :, 0]), axis=2)", "0.0 * doubt[:, :, 0]), axis=2)", "scores are exact"),
]
