"""Mutants of what other hosts do beside, in every arithmetic and in both readers, and of how their models are read."""

from tests.mutants import Mutant

CONTRACT = "tests/contract/test_blocks.py"
FAMILIES, SHARED = "tests/contract/test_families.py", ("checkpoint", "decoder", "known_options", "rotation")


def of(file: str, original: str, mutated: str, why: str) -> Mutant:
    return Mutant(file, original, mutated, CONTRACT, why)


def reader(name: str, original: str, mutated: str, why: str) -> Mutant:
    tests = f"tests/byheart/hosts/families/test_{name}.py" if name in SHARED else FAMILIES
    return Mutant(f"byheart/hosts/families/{name}.py", original, mutated, tests, why)


WALK, ROWS, PAIRS = "verify/forward/walk.py", "verify/forward/row_balls.py", "verify/forward/in_pairs.py"
FLOATS, MATRICES, BALLS = (
    "verify/forward/in_float64.py",
    "verify/forward/matrices.py",
    "verify/independent/ball_forward.py",
)
TORCH = "verify/replica/module.py"

MUTANTS = [
    of(
        WALK,
        "rows = arithmetic.taken(*stream.before)",
        "rows = stream.rows",
        "parallel neurons read what the attention wrote",
    ),
    of(WALK, "value = arithmetic.clipped(value, block.clip)", "pass", "values are not cut off"),
    of(
        WALK,
        "np.repeat(np.arange(block.key_heads), block.n_heads // block.key_heads)",
        "np.tile(np.arange(block.key_heads), block.n_heads // block.key_heads)",
        "heads of keys serve in turn",
    ),
    of(WALK, "fired = arithmetic.multiplied(gates, hidden)", "fired = gates", "a gate has nothing to pass"),
    Mutant(
        ROWS,
        "spread = tall * other + wide * radius + radius * other",
        "spread = tall * other + radius * other",
        "tests/verify/forward/test_row_balls.py",
        "the error of a gate is not passed on",
    ),
    of(ROWS, "radii + self.cap_rounding(c)", "radii * 0.0", "logits with a cap are exact"),
    Mutant(
        ROWS,
        "doubt = doubt + growth(numbers.unit, 4) * seen",
        "doubt = 0.0 * doubt",
        "tests/verify/forward/test_row_balls.py",
        "scores with slopes are exact",
    ),
    of(FLOATS, "x[..., second] * cos + x[..., first] * sin", "x[..., second] * cos - x[..., first] * sin", "no turn"),
    of(FLOATS, "np.clip(x, -c, c)", "np.clip(x, 0.0, c)", "what is below 0 is cut off"),
    of(
        PAIRS,
        "self.add(self.times(a, cos), -self.times(b, sin))",
        "self.add(self.times(a, cos), self.times(b, sin))",
        "pairs turn the wrong way",
    ),
    of(PAIRS, "ratio.high < 300.0", "ratio.high < 0.3", "in pairs the cap is reached too early"),
    of(MATRICES, "self.scaled(x, root) + slope * j", "self.scaled(x, root) + slope", "balls have no positions"),
    of(MATRICES, "[norm] * len(heads) if norm.width == width", "[norm] * len(heads) if False", "heads share no gain"),
    of(
        "verify/forward/rotary.py",
        "slice(0, 2 * count, 2), slice(1, 2 * count, 2)",
        "slice(0, count), slice(count, 2 * count)",
        "neighbours are halves",
    ),
    of(BALLS, "row[i] * sin + row[j] * cos", "row[j] * cos - row[i] * sin", "the second reader turns nothing"),
    of(
        BALLS,
        "angle = place[number] * f",
        "angle = (place[number] + 1) * place[number] * f",
        "its positions are others",
    ),
    of(BALLS, "scores = [_capped(s, arb(float.fromhex(self.cap))) for s in scores]", "pass", "it knows no cap"),
    of(BALLS, 'self._map("V", head // shared)', 'self._map("V", head % shared)', "it repeats other values"),
    of(
        TORCH,
        "keys, values = (x.repeat_interleave(each, dim=0) for x in (keys, values))",
        "keys, values = (x.repeat(each, 1, 1, 1) for x in (keys, values))",
        "torch repeats other keys",
    ),
    of(TORCH, 'scores = scores + own["slopes"][:, None, None, None] * places', "pass", "torch has no slopes"),
    of(
        TORCH,
        'if option["attends"] == "causal" and not last:',
        "if False:",
        "torch reads later positions, as the first layer alone would show",
    ),
    Mutant(
        "verify/independent/plain/plain_model.py",
        '{**shapes, "W_gate"',
        '{**shapes, "W_gates"',
        "tests/verify/independent/plain/test_plain_model.py",
        "a gate may have any shape",
    ),
    reader("checkpoint", "if left.any() or small.any()", "if small.any()", "products are rounded"),
    reader("checkpoint", "            if left.any():", "            if False:", "gains are rounded"),
    reader("checkpoint", "        if left:", "        if False:", "tensors of no block are passed over"),
    reader(
        "decoder",
        'return min(positions, c.count("sliding_window")) if slides else positions',
        "return positions",
        "a window is passed over",
    ),
    reader(
        "gpt_neox",
        "W.reshape(len(W), count, 3, e).transpose(2, 1, 0, 3)",
        "W.reshape(len(W), 3, count, e).transpose(1, 2, 0, 3)",
        "maps are not interleaved",
    ),
    reader("gptj", "W_Q, W_V, W_K = (", "W_Q, W_K, W_V = (", "values and keys are exchanged"),
    reader("cohere", 'turned="neighbours"', 'turned="halves"', "halves are turned"),
    reader("llama", "frequencies=frequencies if turned[i] else None", "frequencies=frequencies", "all layers turn"),
    reader(
        "gemma",
        "norm(f\"{place}.{'post_attention' if first else 'pre_feedforward'}_layernorm\")",
        'norm(f"{place}.post_attention_layernorm")',
        "the norm in front of the neurons is another",
    ),
    reader(
        "mpt", "np.concatenate([slopes[1::2], slopes[::2]])", "np.concatenate([slopes[::2], slopes[1::2]])", "order"
    ),
    reader("bloom", "np.arange(1, 1 + 2 * (count - n), 2)", "np.arange(2, 2 + 2 * (count - n), 2)", "slopes"),
    reader("bloom", "norm=None if behind else first", "norm=first", "a norm in front stands there twice"),
    reader("opt", "[_OFFSET:]", "[:-_OFFSET]", "positions begin with the first row"),
    reader("rotation", "(turned := int(width * share)) % 2 or not turned", "not (turned := int(width * share))", "odd"),
]
