"""Mutants of what evaluates blocks: each kind of block with one tensor, option or mask forgotten."""

from tests.mutants import Mutant, of

CONTRACT = "tests/contract/test_blocks.py"


def balls(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/in_balls.py", original, mutated, CONTRACT, f"in balls {why}")


def rationals(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("verify/forward/in_rationals.py", original, mutated, CONTRACT, f"in rationals {why}")


record = of("constructions/model/model.py", CONTRACT)

MUTANTS = [
    # Neurons and norms in balls.
    balls('"relu": lambda u: u.max(0)', '"relu": lambda u: u', "neurons are linear"),
    balls('"gelu": _gelu,', '"gelu": lambda u: _gelu_tanh(u, arb(1.5957691)),', "GELU is its approximation"),
    balls('"gelu-tanh": lambda u: _gelu_tanh(u, (arb(8) / arb.pi()).sqrt()),', '"gelu-tanh": _gelu,', "the converse"),
    balls("fmpq(2 * 79788456, 10**8)", "fmpq(2 * 797884561, 10**9)", "BLOOM's activation has the root of others"),
    balls("fmpq(44715, 10**6)", "0.044715", "a decimal is rounded to float64"),
    balls('"silu": lambda u: u * _sigmoid(u)', '"silu": lambda u: _sigmoid(u)', "SiLU is the logistic function"),
    balls('if norm.kind == "layer":', 'if norm.kind == "rms":', "the two norms are exchanged"),
    balls("/ width + arb(norm.epsilon)).sqrt()", "/ width).sqrt()", "norms have no epsilon"),
    balls(
        "/ width + arb(norm.epsilon)).sqrt()", "/ width).sqrt() + arb(norm.epsilon)", "epsilon is not under the root"
    ),
    balls("/ width + arb(norm.epsilon)).sqrt()", "/ max(width - 1, 1) + arb(norm.epsilon)).sqrt()", "Bessel corrects"),
    balls("_known(x / root, unknown) * gain", "_known(x / root, unknown)", "norms have no gain"),
    Mutant(
        "verify/forward/in_balls.py",
        "unknown = arb(0, math.isqrt(width - 1) + 1)",
        "unknown = arb(0, 0.5)",
        "tests/verify/forward/test_in_balls.py",
        "in balls a norm returns at most one half",
    ),
    # The same in rationals.
    rationals("square = score * score / root", "square = score * score", "scores are not scaled"),
    rationals("return size if score > 0 else -size", "return size", "scores are not negative"),
    rationals("[max(u, fmpq(0)) for u in", "[u for u in", "neurons are linear"),
    rationals('block.activation != "relu"', "False", "GELU is taken for ReLU"),
    rationals(
        'isinstance(block, Normalization) or getattr(block, "norm", None) is not None',
        "isinstance(block, Normalization)",
        "norms vanish",
    ),
    Mutant(
        "constructions/model/exact_network.py",
        '(".attn.W_Q", ".attn.b_Q")',
        '".attn.W_Q"',
        "tests/constructions/model/test_exact_network.py",
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
