"""Mutants of what other hosts do beside, in every arithmetic and in both readers, and of how their models are read."""

from tests.mutants import of

walk = of("verify/forward/walk.py", "tests/contract/test_blocks.py")
row_balls = of("verify/forward/rows/row_balls.py", "tests/verify/forward/rows/test_row_balls.py")
row_balls_by_blocks = of("verify/forward/rows/row_balls.py", "tests/contract/test_blocks.py")
in_float64 = of("verify/forward/in_float64.py", "tests/contract/test_blocks.py")
in_dd = of("verify/forward/in_double_double.py", "tests/contract/test_blocks.py")
matrices = of("verify/forward/matrices.py", "tests/contract/test_blocks.py")
rotary = of("verify/forward/rotary.py", "tests/contract/test_blocks.py")
module = of("verify/torch/module.py", "tests/contract/test_blocks.py")
checkpoint = of("byheart/hosts/families/checkpoint.py", "tests/byheart/hosts/families/test_checkpoint.py")
of_any_family = of("byheart/hosts/families/checkpoint.py", "tests/contract/test_configurations.py")
decoder = of("byheart/hosts/families/decoder.py", "tests/byheart/hosts/families/test_decoder.py")
gpt_neox = of("byheart/hosts/families/gpt_neox.py", "tests/contract/test_families.py")
gptj = of("byheart/hosts/families/gptj.py", "tests/contract/test_families.py")
cohere = of("byheart/hosts/families/cohere.py", "tests/contract/test_families.py")
llama = of("byheart/hosts/families/llama.py", "tests/contract/test_families.py")
gemma = of("byheart/hosts/families/gemma.py", "tests/contract/test_families.py")
mpt = of("byheart/hosts/families/mpt.py", "tests/contract/test_families.py")
bloom = of("byheart/hosts/families/bloom.py", "tests/contract/test_families.py")
opt = of("byheart/hosts/families/opt.py", "tests/contract/test_families.py")
rotation = of("byheart/hosts/families/rotation.py", "tests/byheart/hosts/families/test_rotation.py")
transformer_lens = of("byheart/hosts/exported/transformer_lens.py", "tests/byheart/hosts/test_reading.py")
handshake = of("byheart/hosts/handshake.py", "tests/byheart/hosts/test_handshake.py")

MUTANTS = [
    transformer_lens('if maps.pop("b_in").any():', 'if maps.pop("b_in") is None:', "shifts behind a gate are lost"),
    transformer_lens('turned = "neighbours" if', 'turned = "halves" if', "neighbours are turned as halves"),
    transformer_lens('endswith("float64") else np.float32', 'endswith("float64") else np.float64', "long numbers"),
    handshake("2.0**-20 * recorded.abs()", "2.0**-3 * recorded.abs()", "other frequencies are replaced unseen"),
    walk(
        "rows = arithmetic.gather(*stream.before)",
        "rows = stream.rows",
        "parallel neurons read what the attention wrote",
    ),
    walk("value = arithmetic.clip(value, block.clip)", "pass", "values are not cut off"),
    walk(
        "np.repeat(np.arange(block.key_heads), block.n_heads // block.key_heads)",
        "np.tile(np.arange(block.key_heads), block.n_heads // block.key_heads)",
        "heads of keys serve in turn",
    ),
    walk("fired = arithmetic.multiply(gates, hidden)", "fired = gates", "a gate has nothing to pass"),
    row_balls(
        "spread = tall * other + wide * radius + radius * other",
        "spread = tall * other + radius * other",
        "the error of a gate is not passed on",
    ),
    row_balls_by_blocks("radii + self.cap_rounding(c)", "radii * 0.0", "logits with a cap are exact"),
    row_balls(
        "doubt = doubt + growth(numbers.unit, terms) * seen", "doubt = 0.0 * doubt", "scores with slopes are exact"
    ),
    in_float64("x[..., second] * cos + x[..., first] * sin", "x[..., second] * cos - x[..., first] * sin", "no turn"),
    in_float64("np.clip(x, -c, c)", "np.clip(x, 0.0, c)", "what is below 0 is cut off"),
    in_dd(
        "self.add(self.multiply(a, cos), -self.multiply(b, sin))",
        "self.add(self.multiply(a, cos), self.multiply(b, sin))",
        "pairs turn the wrong way",
    ),
    in_dd("ratio.high < 300.0", "ratio.high < 0.3", "in double-double the cap is reached too early"),
    matrices("self.scaled(x, root) + slope * j", "self.scaled(x, root) + slope", "balls have no positions"),
    matrices("[norm] * len(heads) if norm.width == width", "[norm] * len(heads) if False", "heads share no gain"),
    rotary(
        "slice(0, 2 * count, 2), slice(1, 2 * count, 2)",
        "slice(0, count), slice(count, 2 * count)",
        "neighbours are halves",
    ),
    module(
        "keys, values = (x.repeat_interleave(group_size, dim=0) for x in (keys, values))",
        "keys, values = (x.repeat(group_size, 1, 1, 1) for x in (keys, values))",
        "torch repeats other keys",
    ),
    module('scores = scores + own["slopes"][:, None, None, None] * places', "pass", "torch has no slopes"),
    module(
        'if option["attends"] == "causal" and not last:',
        "if False:",
        "torch reads later positions, as the first layer alone would show",
    ),
    checkpoint("if left.any() or small.any()", "if small.any()", "products are rounded"),
    checkpoint("            if left.any():", "            if False:", "gains are rounded"),
    checkpoint("        if extra:", "        if False:", "tensors of no block are passed over"),
    of_any_family(
        "        if is_tied:", "        if False:", "a readout may differ from the embeddings that it is said to be"
    ),
    of_any_family("if any(candidate != values[0] for candidate in values):", "if False:", "a field may say two things"),
    decoder(
        'return min(positions, c.count("sliding_window")) if slides else positions',
        "return positions",
        "a window is passed over",
    ),
    gpt_neox(
        "W.reshape(len(W), count, 3, e).transpose(2, 1, 0, 3)",
        "W.reshape(len(W), 3, count, e).transpose(1, 2, 0, 3)",
        "maps are not interleaved",
    ),
    gptj("W_Q, W_V, W_K = (", "W_Q, W_K, W_V = (", "values and keys are exchanged"),
    cohere('turned="neighbours"', 'turned="halves"', "halves are turned"),
    llama("frequencies=frequencies if turned[i] else None", "frequencies=frequencies", "all layers turn"),
    gemma(
        "norm(f\"{place}.{'post_attention' if first else 'pre_feedforward'}_layernorm\")",
        'norm(f"{place}.post_attention_layernorm")',
        "the norm in front of the neurons is another",
    ),
    mpt("np.concatenate([slopes[1::2], slopes[::2]])", "np.concatenate([slopes[::2], slopes[1::2]])", "order"),
    bloom("np.arange(1, 1 + 2 * (count - n), 2)", "np.arange(2, 2 + 2 * (count - n), 2)", "slopes"),
    bloom("norm=None if behind else first", "norm=first", "a norm in front stands there twice"),
    opt("[_OFFSET:]", "[:-_OFFSET]", "positions begin with the first row"),
    rotation("(turned := int(width * share)) % 2 or not turned", "not (turned := int(width * share))", "odd"),
]
