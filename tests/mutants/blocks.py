"""Mutants of what evaluates blocks: each kind of block with one tensor, option or mask forgotten."""

from tests.mutants import Mutant

CONTRACT = "tests/contract/test_blocks.py"


def balls(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/in_balls.py", original, mutated, CONTRACT, f"in balls {why}")


def rationals(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/rationals.py", original, mutated, CONTRACT, f"in rationals {why}")


def looks(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/looks.py", original, mutated, CONTRACT, why)


def record(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("constructions/models/model.py", original, mutated, CONTRACT, why)


MUTANTS = [
    # Which rows are read.
    looks("cell[: position + 1]) for", "cell) for", "a causal attention reads all positions"),
    looks("cell[: position + 1]) for", "cell[: position + 2]) for", "a causal attention reads one position ahead"),
    looks("cell[: position + 1]) for", "cell[: max(position, 1)]) for", "a causal attention does not read itself"),
    looks(
        "pairs = [(row, cell) for row in cell]", "pairs = [(cell[-1], cell) for row in cell]", "the last asks for all"
    ),
    looks("pairs = [(cell[-1], cell)]", "pairs = [(cell[0], cell)]", "the first position asks"),
    looks("pairs = [(context, cell)]", "pairs = [(0, cell)]", "the first example asks for all"),
    looks("pairs = [(cell[-1], cell)]", "pairs = [(cell[-1], cell[:-1] or cell)]", "the last position is not read"),
    looks('elif only_last or block.attends == "last":', "elif True:", "every attention attends from the last position"),
    looks('elif block.attends == "causal":', "elif True:", "every attention is causal"),
    looks("blocks[place + 1 :]", "blocks[place + 2 :]", "an attention before the last computes one position"),
    looks("for pair in enumerate(row))", "for pair in ((0, t) for t in row))", "all positions are the first"),
    # Attention in balls. (That keys have no shift changes nothing: it adds one number to all scores of a look.)
    balls("None if block.b_Q is None else block.b_Q[head]", "None", "queries have no shift"),
    balls(
        "[None] * block.n_heads if block.b_V is None else block.b_V", "[None] * block.n_heads", "values have no shift"
    ),
    balls("before + output, block.b_O)", "before + output, None)", "outputs have no shift"),
    balls("_balls(block.W_Q[head])", "_balls(block.W_K[head])", "queries are made by W_K"),
    balls("_balls(block.W_K[head])", "_balls(block.W_Q[head])", "keys are made by W_Q"),
    balls("self.unit / arb(block.score_root).sqrt()", "self.unit", "scores are not scaled"),
    balls("self.unit / arb(block.score_root).sqrt()", "self.unit / block.score_root", "scores are scaled twice"),
    balls("self.unit / arb(block.score_root).sqrt()", "1 / arb(block.score_root).sqrt()", "scores count in nats"),
    balls(
        "if block.skip else None\n            features =",
        "if False else None\n            features =",
        "there is no skip",
    ),
    balls(
        "if block.skip else None\n            features =", "if True else None\n            features =", "skip is forced"
    ),
    balls("if block.norm is None else _normalized(block.norm, stream.rows)", "", "attention has no norm"),
    balls(
        "before = _rows(stream.rows.table(), given.looks",
        "before = _rows(given.rows.table(), given.looks",
        "the norm is skipped along",
    ),
    balls('_balls(inputs.queries) if block.queries == "task"', "_balls(inputs.queries) if block.skip", "rows ask"),
    balls(
        "stream = _Stream(_written(block, features, before), given.looks.cells)", "continue", "attention does nothing"
    ),
    balls(
        "return _shifted(last * _balls(model.W_U), model.b_U)", "return last * _balls(model.W_U)", "b_U is forgotten"
    ),
    balls("+ matrix(model.W_pos[positions])", "+ 0 * matrix(model.W_pos[positions])", "positions are forgotten"),
    Mutant(
        "verify/forward/in_balls.py",
        "firsts = [0 if inputs.shared else",
        "firsts = [0 if True else",
        CONTRACT,
        "in balls and in rationals all examples read the context of the first",
    ),
    # Neurons and norms in balls.
    balls(
        "neurons = _shifted(read * _balls(block.W_in), block.b_in)", "neurons = read * _balls(block.W_in)", "no b_in"
    ),
    balls("if block.skip else output, block.b_out)", "if block.skip else output, None)", "neurons have no b_out"),
    balls(
        "return _shifted(rows + output if block.skip", "return _shifted(rows + output if True", "neurons always skip"
    ),
    balls(
        "return _shifted(rows + output if block.skip", "return _shifted(rows + output if False", "neurons never skip"
    ),
    balls(
        "return _shifted(rows + output if block.skip", "return _shifted(read + output if block.skip", "norms skip along"
    ),
    balls("if block.norm is None else _normalized(block.norm, rows)", "", "neurons have no norm"),
    balls('"relu": lambda u: u.max(0)', '"relu": lambda u: u', "neurons are linear"),
    balls('"gelu": _gelu,', '"gelu": _gelu_tanh,', "GELU is its approximation"),
    balls('"gelu-tanh": _gelu_tanh,', '"gelu-tanh": _gelu,', "the approximation is GELU"),
    balls("fmpq(44715, 10**6)", "0.044715", "a decimal is rounded to float64"),
    balls('"silu": lambda u: u * _sigmoid(u)', '"silu": lambda u: _sigmoid(u)', "SiLU is the logistic function"),
    balls('if norm.kind == "layer":', 'if norm.kind == "rms":', "the two norms are exchanged"),
    balls("/ width + arb(norm.epsilon)).sqrt()", "/ width).sqrt()", "norms have no epsilon"),
    balls(
        "/ width + arb(norm.epsilon)).sqrt()", "/ width).sqrt() + arb(norm.epsilon)", "epsilon is not under the root"
    ),
    balls("/ width + arb(norm.epsilon)).sqrt()", "/ max(width - 1, 1) + arb(norm.epsilon)).sqrt()", "Bessel corrects"),
    balls("_known(x / root, unknown) * gain", "_known(x / root, unknown)", "norms have no gain"),
    balls("normalized), norm.b)", "normalized), None)", "norms have no shift"),
    Mutant(
        "verify/forward/in_balls.py",
        "unknown = arb(0, math.isqrt(width - 1) + 1)",
        "unknown = arb(0, 0.5)",
        "tests/verify/forward/test_in_balls.py",
        "in balls a norm returns at most one half",
    ),
    # The same in rationals.
    rationals("None if block.b_Q is None else block.b_Q[head]", "None", "queries have no shift"),
    rationals("None if block.b_V is None else block.b_V[head]", "None", "values have no shift"),
    rationals("return _shifted(output, block.b_O), looks.cells", "return output, looks.cells", "outputs have no shift"),
    rationals("square = score * score / root", "square = score * score", "scores are not scaled"),
    rationals("return size if score > 0 else -size", "return size", "scores are not negative"),
    rationals(
        "    if block.skip:\n        output = output + _chosen(",
        "    if False:\n        output = output + _chosen(",
        "no skip",
    ),
    rationals('asking = asked if block.queries == "task" else rows', "asking = rows", "rows of keys ask"),
    rationals(
        "neurons = _shifted(rows * _matrix(block.W_in), block.b_in)", "neurons = rows * _matrix(block.W_in)", "no b_in"
    ),
    rationals("if block.skip else output, block.b_out)", "if block.skip else output, None)", "neurons have no b_out"),
    rationals("rows + output if block.skip else output", "rows + output", "neurons always skip"),
    rationals("[max(u, fmpq(0)) for u in", "[u for u in", "neurons are linear"),
    rationals("_matrix(model.W_U), model.b_U)", "_matrix(model.W_U), None)", "b_U is forgotten"),
    rationals('block.activation != "relu"', "False", "GELU is taken for ReLU"),
    rationals(
        "isinstance(block, Normalization) or block.norm is not None", "isinstance(block, Normalization)", "norms vanish"
    ),
    Mutant(
        "constructions/models/exact_network.py",
        '(".attn.W_Q", ".attn.b_Q")',
        '".attn.W_Q"',
        "tests/constructions/models/test_exact_network.py",
        "shifts of queries are in units of ln 2",
    ),
    # The record and its file.
    record(
        "return arrays_sha256(self.options(), self.tensors())",
        "return arrays_sha256({}, self.tensors())",
        "options",
    ),
    record(
        "if unknown := sorted(set(tensors) - set(model.tensors())):", "if unknown := []:", "unknown tensors are kept"
    ),
    record("if canonical_json(stated) != canonical_json(metadata):", "if False:", "unknown options are kept"),
]
