"""Mutants of the trainer, the sweep and the limits of trained points."""

from tests.mutants import Mutant

LIMITS = "byheart/experiments/limits.py"
POINTS = "byheart/experiments/points.py"
TRAINING = "byheart/experiments/training.py"
HEADS = "byheart/experiments/stacked_heads.py"
LAYERS = "byheart/experiments/stacked_layers.py"
VECTORS = "byheart/experiments/layers.py"
SWEEP = "byheart/experiments/sweep.py"
FIGURE = "byheart/experiments/figure.py"
OF_LIMITS = "tests/byheart/experiments/test_limits.py"
OF_POINTS = "tests/byheart/experiments/test_points.py"
OF_TRAINING = "tests/byheart/experiments/test_training.py"
OF_HEADS = "tests/byheart/experiments/test_stacked_heads.py"
OF_LAYERS = "tests/byheart/experiments/test_stacked_layers.py"
OF_VECTORS = "tests/byheart/experiments/test_layers.py"
OF_SWEEP = "tests/byheart/experiments/test_sweep.py"
OF_FIGURE = "tests/byheart/experiments/test_figure.py"

MUTANTS = [
    Mutant(
        LIMITS,
        "return 2**bits - parity_errors(bits, point.heads)",
        "return 2**bits",
        OF_LIMITS,
        "parity is held by fewer heads than bits",
    ),
    Mutant(
        LIMITS,
        'if point.targets == "parity" and not point.neurons and point.layers == 1:',
        'if point.targets == "parity":',
        OF_LIMITS,
        "neurons and layers hold more",
    ),
    Mutant(
        LIMITS,
        "point.d_model >= point.tokens - 1",
        "point.d_model >= point.tokens + 1",
        OF_LIMITS,
        "d = N - 1 has a floor, N has one",
    ),
    Mutant(LIMITS, "table.max(axis=1)", "table.max(axis=0)", OF_LIMITS, "the best token for each label"),
    Mutant(POINTS, "rounded[likeliest] += 1 - rounded.sum(axis=1)", "pass", OF_POINTS, "laws that do not sum to one"),
    Mutant(POINTS, "score_root=self.d_head", "score_root=1", OF_HEADS, "scores of another temperature"),
    Mutant(
        POINTS,
        'attends = "last" if i == self.layers - 1 else "causal"',
        'attends = "last" if i == self.layers - 1 else "all"',
        OF_HEADS,
        "later tokens are read",
    ),
    Mutant(
        HEADS,
        "masked_fill(later, -math.inf)",
        "masked_fill(later, 0.0)",
        OF_HEADS,
        "a later token weighs something",
    ),
    Mutant(
        HEADS,
        "/ math.sqrt(point.d_head)\n        k = ",
        "\n        k = ",
        OF_HEADS,
        "scores of another temperature in the trainer",
    ),
    Mutant(
        HEADS,
        "return each.mean(1).sum()",
        "return each.mean(1).mean()",
        OF_TRAINING,
        "gradients depend on the stack",
    ),
    Mutant(
        HEADS,
        "(each * batch).sum() / batch[0].sum()",
        "each.sum() / batch[0].sum()",
        OF_TRAINING,
        "a batch is the whole",
    ),
    Mutant(
        HEADS,
        "torch.Generator().manual_seed(int(point.key[:15], 16))",
        "torch.Generator().manual_seed(0)",
        OF_TRAINING,
        "every point begins alike",
    ),
    Mutant(
        SWEEP,
        "self.held > self.ceiling",
        "self.held > self.ceiling + 1",
        OF_SWEEP,
        "a point one above its ceiling passes",
    ),
    Mutant(
        SWEEP,
        "self.loss_upper < self.floor",
        "self.loss_lower > self.floor",
        OF_SWEEP,
        "a floor is compared with the wrong end",
    ),
    Mutant(
        SWEEP,
        "if found != shapes(point):",
        "if found.keys() != shapes(point).keys():",
        OF_SWEEP,
        "weights of another size",
    ),
    Mutant(SWEEP, "if point.key != key:", "if False:", OF_SWEEP, "settings of another point"),
    Mutant(
        SWEEP,
        'if load_task(folder / "task.safetensors").sha256() != point.task().sha256():',
        "if False:",
        OF_SWEEP,
        "a task of another seed",
    ),
    Mutant(
        SWEEP,
        "answers.margin_lower > 0, ",
        "answers.margin_upper > 0, ",
        OF_SWEEP,
        "what may be held counts",
    ),
    Mutant(SWEEP, "rel_tol=1e-9", "rel_tol=1.0", OF_SWEEP, "any number is the same"),
    Mutant(
        SWEEP,
        "        if result.violation is not None:\n            break\n",
        "",
        OF_SWEEP,
        "a violation is passed over",
    ),
    Mutant(FIGURE, "left / max(", "0 * left / max(", OF_FIGURE, "every fit is perfect"),
    Mutant(POINTS, "min(self.d_head, n))", "self.d_model)", OF_FIGURE, "the heads are no part of the count"),
    Mutant(SWEEP, "if not _is_of(point, model):", "if False:", OF_SWEEP, "the weights of another shape"),
    Mutant(SWEEP, "padded and _rank(", "padded or _rank(", OF_SWEEP, "maps that are not shared"),
    Mutant(SWEEP, "lost += [] if result.violation is None else [result.violation]", "pass", OF_SWEEP, "beyond a limit"),
    Mutant(VECTORS, "places[1:]", "places[:-1]", OF_VECTORS, "the first key stands where the query does"),
    Mutant(VECTORS, "score_root=self.d_model", "score_root=self.d_head", OF_LAYERS, "scores of another temperature"),
    Mutant(
        VECTORS,
        "self.d_model if wide else self.n_ctx - 1",
        "self.d_model",
        OF_VECTORS,
        "one context counts like many",
    ),
    Mutant(LAYERS, "torch.cat((A @ own, own), dim=-2)", "torch.cat((own, own), dim=-2)", OF_LAYERS, "no first map"),
    Mutant(LAYERS, "(b @ own).squeeze(-2)", "0 * (b @ own).squeeze(-2)", OF_LAYERS, "no first shift"),
    Mutant(LAYERS, "/ math.sqrt(d)", "", OF_LAYERS, "scores of another temperature in the trainer"),
    Mutant(
        LIMITS,
        'point.context == "shared" and point.n_ctx == 1 and point.targets == "labels"',
        'point.n_ctx == 1 and point.targets == "labels"',
        OF_LIMITS,
        "keys of one's own have a ceiling",
    ),
    Mutant(LIMITS, "pvariance(", "4 * pvariance(", OF_LAYERS, "a floor above the best constant"),
    Mutant(
        SWEEP, "answers.loss_upper**2", "answers.loss_lower**2", OF_SWEEP, "the square from below is one from above"
    ),
    Mutant(SWEEP, "_rank(np.vstack((maps, shifts))) <= point.d_model", "True", OF_SWEEP, "maps behind no one map"),
    Mutant(
        SWEEP, "(found.saturated | found.unsaturated).all()", "True", OF_SWEEP, "what is open counts as not saturated"
    ),
    Mutant(SWEEP, "if least else []", "if False else []", OF_SWEEP, "left-out rows"),
]
