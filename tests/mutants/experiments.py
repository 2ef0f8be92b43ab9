"""Mutants of the trainer, the sweep and the limits of trained points."""

from tests.mutants import of

limits = of("experiments/limits.py", "tests/experiments/test_limits.py")
points = of("experiments/points.py", "tests/experiments/test_points.py")
points_by_stacked_heads = of("experiments/points.py", "tests/experiments/test_stacked_heads.py")
stacked_heads = of("experiments/stacked_heads.py", "tests/experiments/test_stacked_heads.py")
stacked_heads_by_training = of("experiments/stacked_heads.py", "tests/experiments/test_training.py")
sweep = of("experiments/sweep.py", "tests/experiments/test_sweep.py")
checking = of("experiments/checking.py", "tests/experiments/test_checking.py")
page = of("experiments/page.py", "tests/experiments/test_page.py")
dana_4 = of("experiments/figures/dana_4.py", "tests/experiments/test_page.py")
figure = of("experiments/figure.py", "tests/experiments/test_figure.py")
points_by_figure = of("experiments/points.py", "tests/experiments/test_figure.py")
layers = of("experiments/layers.py", "tests/experiments/test_layers.py")
layers_by_stacked_layers = of("experiments/layers.py", "tests/experiments/test_stacked_layers.py")
stacked_layers = of("experiments/stacked_layers.py", "tests/experiments/test_stacked_layers.py")
limits_by_stacked_layers = of("experiments/limits.py", "tests/experiments/test_stacked_layers.py")

MUTANTS = [
    limits(
        "return 2**bits - parity_errors(bits, point.heads)",
        "return 2**bits",
        "parity is memorized by fewer heads than bits",
    ),
    limits(
        'if point.targets == "parity" and not point.neurons and point.layers == 1:',
        'if point.targets == "parity":',
        "neurons and layers hold more",
    ),
    limits(
        "point.d_model >= point.tokens - 1", "point.d_model >= point.tokens + 1", "d = N - 1 has a floor, N has one"
    ),
    limits("table.max(axis=1)", "table.max(axis=0)", "the best token for each label"),
    points("rounded[likeliest] += 1 - rounded.sum(axis=1)", "pass", "distributions that do not sum to one"),
    points_by_stacked_heads("score_root=self.d_head", "score_root=1", "scores of another temperature"),
    points_by_stacked_heads(
        'attends = "last" if i == self.layers - 1 else "causal"',
        'attends = "last" if i == self.layers - 1 else "all"',
        "later tokens are read",
    ),
    stacked_heads("for k in keys[: i + 1]", "for k in keys", "a later token weighs something"),
    stacked_heads('w["0.W_Q"] / math.sqrt(point.d_head)', 'w["0.W_Q"]', "scores of another temperature in the trainer"),
    stacked_heads_by_training("-1).mean(1).sum()", "-1).mean(1).mean()", "gradients depend on the stack"),
    stacked_heads_by_training("samples[step % len(samples)]", "0 * samples[0]", "a batch is its first context"),
    stacked_heads_by_training(
        "torch.Generator().manual_seed(int(point.key[:15], 16))",
        "torch.Generator().manual_seed(0)",
        "every point begins alike",
    ),
    stacked_heads(
        "(k * q).sum(-1) if s == i else", "(k * k).sum(-1) if s == i else", "the last token asks its own key"
    ),
    stacked_heads("weights = a[s].movedim(2 + s, 1)", "weights = a[0].movedim(2 + s, 1)", "one weight for all"),
    sweep("self.memorized > self.ceiling", "self.memorized > self.ceiling + 1", "a point one above its ceiling passes"),
    sweep("self.loss_upper < self.floor", "self.loss_lower > self.floor", "a floor is compared with the wrong end"),
    sweep("if found != shapes(point):", "if found.keys() != shapes(point).keys():", "weights of another size"),
    checking('if point.key != row.get("key"):', "if False:", "settings of another point"),
    checking(
        'if load_task(folder / "task.safetensors").sha256() != point.task().sha256():',
        "if False:",
        "a task of another seed",
    ),
    sweep("answers.margin_lower > 0, ", "answers.margin_upper > 0, ", "what may be memorized counts"),
    checking("- float(found)) <= slack", "- float(found)) <= 1.0", "any number is the same"),
    sweep("        if result.violation is not None:\n            break\n", "", "a violation is passed over"),
    figure("if self.of_printed_size(", "if True or (", "numbers of another size are drawn"),
    figure("left / max(", "0 * left / max(", "every fit is perfect"),
    points_by_figure("n + self.heads * min(self.d_head, n)", "n", "the heads are no part of the count"),
    checking("if not _is_of(point, model):", "if False:", "the weights of another shape"),
    checking("padded and _rank(", "padded or _rank(", "maps that are not shared"),
    checking("[*lost, result.violation]", "lost", "beyond a limit"),
    layers("places[1:]", "places[:-1]", "the first key stands where the query does"),
    layers_by_stacked_layers("score_root=self.d_model", "score_root=self.d_head", "scores of another temperature"),
    layers("self.d_model if wide else self.n_ctx - 1", "self.d_model", "one context counts like many"),
    stacked_layers("torch.cat((A @ own, own), dim=-2)", "torch.cat((own, own), dim=-2)", "no first map"),
    stacked_layers("(b @ own).squeeze(-2)", "0 * (b @ own).squeeze(-2)", "no first shift"),
    stacked_layers("/ math.sqrt(d)", "", "scores of another temperature in the trainer"),
    limits(
        'point.context == "shared" and point.n_ctx == 1 and point.targets == "labels"',
        'point.n_ctx == 1 and point.targets == "labels"',
        "keys of one's own have a ceiling",
    ),
    limits_by_stacked_layers("pvariance(", "4 * pvariance(", "a floor above the best constant"),
    sweep("answers.loss_upper**2", "answers.loss_lower**2", "the square from below is one from above"),
    checking("_rank(np.vstack((maps, shifts))) <= point.d_model", "True", "maps behind no one map"),
    sweep("(found.saturated | found.unsaturated).all()", "True", "what is open counts as not saturated"),
    checking("if left else []", "if False else []", "left-out rows"),
    sweep('about.get("point") != point.settings()', "False", "weights of another point under a key"),
    sweep("np.isfinite(each).all() for each", "True for each", "weights that are not finite"),
    sweep("failed[key] = str(error)", "raise", "a file that is not of its point ends the sweep"),
    checking("if folder.is_dir():", "if False:", "the folder of a point is not looked at"),
    checking("result is None and not wrong", "result is None", "weights that are wrong count as not there"),
    checking("grid - keys, keys - grid", "grid - keys, set()", "points beyond the grid"),
    checking("picture.read_bytes() != drawn.svg().encode()", "False", "a picture of another table"),
    checking("findings.get(name, []) != list(drawn.rows())", "False", "findings of another table"),
    checking("        if len(line) != len(names)\n", "        if False\n", "a line that was cut"),
    figure("own < max(share", "own < 0 * max(share", "a root fits better, and it is linear"),
    figure("if len(low) < 4:", "if len(low) < 2:", "two places are on a line"),
    figure('"confirmed" if all(steady) else', '"confirmed" if steady[0] else', "one seed falls"),
    dana_4('"confirmed" if all(met) and linear else', '"confirmed" if met[0] else', "a slope by where one stops"),
    page(".endswith(each.curve)", ".endswith('')", "a sentence speaks for the runs of other curves"),
    points("self.heads * min(self.d_head, n)", "self.heads * self.d_head", "a head wider than its input"),
]
