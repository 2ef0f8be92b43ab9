"""Mutants of the prover of rules with a state."""

from tests.mutants import of

paths = of("verify/folds/paths.py", "tests/verify/folds/test_paths.py")
means = of("verify/folds/means.py", "tests/verify/folds/test_means.py")
boxes = of("verify/folds/boxes.py", "tests/verify/folds/test_boxes.py")
greedy = of("verify/folds/decoding.py", "tests/verify/folds/test_decoding.py")
judge = of("verify/folds/fold_answers.py", "tests/verify/folds/test_fold_answers.py")
rows = of("verify/folds/rows.py", "tests/verify/folds/test_rows.py")
fold = of("constructions/folds/fold.py", "tests/constructions/folds/test_fold.py")
typed = of("constructions/folds/typed.py", "tests/constructions/folds/test_typed.py")
leads = of("verify/folds/least_leads.py", "tests/verify/folds/test_least_leads.py")
exported = of("byheart/hosts/fold_export.py", "tests/byheart/hosts/test_fold_export.py")
again = of("byheart/hosts/exported_fold.py", "tests/byheart/hosts/test_exported_fold.py")
asked = of("byheart/folds/proved_fold.py", "tests/byheart/folds/test_proved_fold.py")

MUTANTS = [
    paths("allowed &= token == last", "pass", "any token may be the last"),
    paths("allowed &= stage_moves.emits == label", "pass", "any token may be the label"),
    paths("states[:, self.after[starts]] =", "states[:, : len(starts)] =", "states without a move are left out"),
    paths("return parts[self._filled(parts)]", "return parts[1:][self._filled(parts[1:])]", "a part of a cell is lost"),
    means("value = up(value + radius)", "value = up(value)", "values are exact"),
    means("up(above * lower))", "up(above * upper))", "what is below the level has the largest weight"),
    means("bound = np.full(len(cells), math.inf)", "bound = level", "a level that is not proved bounds"),
    boxes("middle + shift]", "middle]", "half of a box is lost"),
    boxes("+ (np.abs(middle) + np.abs(half)) * 2.0**-50", "* 0.5", "halves are too small"),
    rows("heads.value.size[read] + heads.value.radius[read]", "0.0 * heads.value.size[read]", "means are exact"),
    judge("self.left += 1", "pass", "an input that nothing decides is right"),
    judge("elif token != paths.label:", "elif False:", "a single input is right"),
    judge("if self.in_reals else None", "", "real arithmetic decides a run"),
    judge("(ahead >= 0.0)", "(ahead >= -1e9)", "any input is wrong"),
    greedy("- others) > 0.0).all()", "- others) >= 0.0).all()", "of two equal logits one is the largest"),
    judge("if len(attentions) != 1:", "if not attentions:", "two layers are one"),
    fold("total // base, total % base", "total // base, total % (base + 1)", "a digit may be the base"),
    fold("return min(largest, self.inputs)", "return 1", "no two inputs have one answer"),
    fold("same or not all(map(_is_as", "same and not all(map(_is_as", "any states have any name"),
    typed("int(number) >= base**digits", "False", "a number has more digits than are read"),
    typed("if tokens[place] != token:", "if False:", "what is the same in all inputs may be any token"),
    typed("or max(answer) >= _base(fold)", "", "any token is a digit"),
    leads(
        "own = up(logits[:, paths.label] + radii[:, paths.label])", "own = 0.5 * logits[:, paths.label]", "half a lead"
    ),
    leads("wanted=max(0.0, share * smallest)", "wanted=0.0", "nothing beyond 0 is proved"),
    leads("if not work.left and work.wrong is None:", "if True:", "what is not proved is a bound"),
    exported("if host.name != HOST:", "if False:", "every host decodes"),
    exported("if not allow_loss and", "if False and", "what is refuted is written"),
    again("measured.right < measured.inputs", "False", "the host may say something else"),
    again("if not 0 <= right <= inputs:", "if False:", "generate may be right on more than it was asked"),
    again("if len(prompt) != fold.length:", "if False:", "two numbers are a prompt"),
    asked("list(said) == answer[: len(said)]", "True", "what the model says is right"),
    asked("True if is_whole else None", "True", "what is not decided is right"),
]
