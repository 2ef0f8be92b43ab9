"""Folders whose files are all in order, every hash right, and which are false only in what they claim."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from constructions.model.appended_neurons import without_neurons
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.tasks.criterion import Criterion
from constructions.tasks.prompts import PromptTask
from constructions.tasks.rule import RuleTask, rule_task
from constructions.tasks.task import Task, windows_task
from constructions.tasks.vectors import load_task
from tests import task_files
from tests.corpus.definitions import DIGITS, Figures, figures, float_above, float_below
from tests.corpus.forging import edited, rehash, restated, task_of
from tests.corpus.good_folders import LENGTH, TOKENS
from verify.certificates.certificate import Certificate, Statement, mask_text
from verify.edits.certificate import EditCertificate, EditRequest
from verify.provers.domain import subject_of_rule

Forge = Callable[[Path], Any]


@dataclass(frozen=True)
class Bad:
    """A folder that no checker may accept.

    Args:
        of: The good folder that it was made from.
        slug: What its name ends with.
        kind: The kind of statement that is attacked.
        changed: What was changed, in one line.
        forge: Changes the files of a copy of the good folder.
        expected: What a complete checker answers: ``"refuted"``, or ``"refused"`` for files that are not in order.
        honest: Whether every hash is right and every file canonical, so that only the claim is false.
    """

    of: str
    slug: str
    kind: str
    changed: str
    forge: Forge
    expected: str = "refuted"
    honest: bool = True

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        return f"{self.of}.{self.slug}"


def figures_in(folder: Path) -> tuple[Certificate, Figures]:
    """Return the certificate of a folder, and what is true of its model and task."""
    found = Certificate.load(folder)
    model, task = Model.load(folder / "model.safetensors"), load_task(folder / "task.safetensors")
    return found, figures(model, task, found.criterion.tolerance)


def mean(losses: list[Any]) -> Any:
    """Return the mean in many digits."""
    with mpmath.workdps(DIGITS):
        return mpmath.fsum(losses) / len(losses)


def strictest(folder: Path) -> dict[str, Any]:
    """Return the strongest numbers of float64 that an ``answers`` statement may state, by name."""
    found, true = figures_in(folder)
    named, stated = true.memorized, found.answers.values
    values: dict[str, Any] = {"max_upper": float_above(max(true.losses)), "mean_upper": float_above(mean(true.losses))}
    if "margin_lower" in stated:
        margins = [margin for margin, is_memorized in zip(true.margins, named, strict=True) if is_memorized]
        values["margin_lower"] = float_below(min(margins, default=mpmath.mpf(0)))
    return values


# ---------------------------------------------------------------------------------------------------------------------
# One unit too strong.


def one_unit(name: str) -> Forge:
    """Return the weakest number of float64 that is stronger than the truth, in an ``answers`` statement."""

    def forge(folder: Path) -> None:
        _, true = figures_in(folder)
        with mpmath.workdps(DIGITS):
            memorized = [
                margin for margin, is_memorized in zip(true.margins, true.memorized, strict=False) if is_memorized
            ]
            values = {
                "margin_lower": lambda: float_above(min(memorized)),
                "max_upper": lambda: float_below(max(true.losses)),
                "mean_upper": lambda: float_below(mean(true.losses)),
                "guess_lower": lambda: float_above(true.guess_lower),
            }
            restated(folder, "answers", **{name: values[name]()})

    return forge


def text_bound(name: str) -> Forge:
    """Do the same for the mean divergence over a text."""

    def forge(folder: Path) -> None:
        true = figures_in(folder)[1].over_text
        value = float_below(true) if name == "upper" else float_above(true)
        other = {"lower": 0.0} if name == "upper" else {"upper": 2.0 * value}
        restated(folder, "text-divergence", **{name: value, **other})

    return forge


def claim(id: str, mask: str | None = None, **values: Any) -> Forge:
    """Write other numbers in a statement, and another mask of the contexts that it names."""
    return lambda folder: restated(folder, id, mask, **values)


def scaled(id: str, name: str, factor: float) -> Forge:
    """Multiply a number of a statement by a factor."""

    def forge(folder: Path) -> None:
        statement = Certificate.load(folder).statement(id)
        assert statement is not None
        restated(folder, id, **{name: float(statement.values[name]) * factor})

    return forge


def shifted(id: str, **by: int) -> Forge:
    """Add to counts of a statement."""

    def forge(folder: Path) -> None:
        statement = Certificate.load(folder).statement(id)
        assert statement is not None
        restated(folder, id, **{name: int(statement.values[name]) + step for name, step in by.items()})

    return forge


MARGINS = ("labels-lookup", "labels-near-tie", "labels-most-frequent", "labels-huge", "distributions-own",
    "prompts-memorized",
           "blocks-shifts", "blocks-layer-norms", "blocks-rotary-halves", "blocks-norms-of-keys",
           "vectors-classification", "labels-at-least")  # fmt: skip
LARGEST = ("labels-lookup", "distributions-smoothed", "values-regression", "blocks-slopes", "prompts-memorized")
MEANS = ("labels-answers-apart", "distributions-own", "values-regression", "blocks-norms-of-all-heads")
GUESSES = ("labels-own", "distributions-smoothed", "values-regression", "prompts-memorized")


def units() -> list[Bad]:
    """Return folders with bounds that are one unit of float64 too strong."""
    rows = []
    for name, bases, what in (
        ("margin_lower", MARGINS, "the least margin is stated as the next number of float64 above the true one"),
        ("max_upper", LARGEST, "the largest loss is stated as the next number of float64 below the true one"),
        ("mean_upper", MEANS, "the mean loss is stated as the next number of float64 below the true one"),
        ("guess_lower", GUESSES, "the loss of a guess is stated as the next number of float64 above the least one"),
    ):
        slug = f"{name.split('_')[0]}-one-unit"
        rows += [Bad(base, slug, "answers", what, one_unit(name)) for base in bases]
    margin = Fraction(3) + Fraction(1, 2**2000)
    rows.append(
        Bad("labels-lookup", "margin-rational", "answers", "the margin is stated as 3 + 2^-2000, it is 3",
            claim("answers", margin_lower=margin)),
    )  # fmt: skip
    for name in ("lower", "upper"):
        what = f"the mean divergence over the text is stated with the {name} end one unit of float64 too strong"
        rows += [
            Bad(base, f"text-{name}-one-unit", "text-divergence", what, text_bound(name))
            for base in ("labels-most-frequent", "distributions-smoothed")
        ]
    return rows


# ---------------------------------------------------------------------------------------------------------------------
# Counts, masks and questions.


def asking(**changes: Any) -> Forge:
    """Write another question."""
    return lambda folder: edited(folder, lambda data: data["criterion"].update(changes))


def asking_for(criterion: Criterion) -> Forge:
    """Write another question."""
    return asking(**criterion.data())


def bounded_below_the_mean(folder: Path) -> None:
    """Ask for a mean one unit below the true one, and state that it is met."""
    bound = float_below(mean(figures_in(folder)[1].losses))
    edited(folder, lambda data: data["criterion"].update(bound=bound.hex()))
    restated(folder, "answers", mean_upper=bound)


def tolerance_below_the_largest(folder: Path) -> None:
    """Set the tolerance one unit below the largest loss."""
    tolerance = float_below(max(figures_in(folder)[1].losses))
    edited(folder, lambda data: data["criterion"].update(tolerance=tolerance.hex()))


def with_mask(*lost: int, **values: Any) -> Forge:
    """State that all of eight contexts are memorized except these."""
    memorized = [place not in lost for place in range(8)]
    return claim("answers", mask_text(memorized), memorized=sum(memorized), **values)


def silent_of_bounds(**values: Any) -> Forge:
    """Write an ``answers`` statement with counts alone."""
    return claim("answers", "", **dict.fromkeys(("margin_lower", "mean_upper", "max_upper", "guess_lower")), **values)


def zero_model(folder: Path) -> None:
    """Write a model whose outputs are all 0."""
    model = Model.load(folder / "model.safetensors")
    rehash_any(folder, replace(model, W_U=np.zeros_like(model.W_U)))


def vacuous(criterion: Criterion, **values: Any) -> Forge:
    """Write a model whose outputs are 0, and a question that it meets."""

    def forge(folder: Path) -> None:
        zero_model(folder)
        asking_for(criterion)(folder)
        true = figures_in(folder)[1]
        numbers = {"max_upper": float_above(max(true.losses)), "mean_upper": float_above(mean(true.losses)), **values}
        restated(folder, "answers", margin_lower=None, **numbers)

    return forge


def contradicted(id: str, **values: Any) -> Forge:
    """Write a statement twice, once with other numbers."""

    def forge(folder: Path) -> None:
        original = (folder / "certificate.json").read_bytes()
        restated(folder, id, **values)
        [other] = [each for each in _statements(folder) if each["id"] == id]
        (folder / "certificate.json").write_bytes(original)

        def doubled(data: dict[str, Any]) -> None:
            place = [each["id"] for each in data["statements"]].index(id)
            data["statements"].insert(place, other)

        edited(folder, doubled)

    return forge


def _statements(folder: Path) -> list[dict[str, Any]]:
    return Certificate.load(folder)._data()["statements"]


def counts() -> list[Bad]:
    """Return folders with false counts and masks, and questions that are not met or ask nothing."""
    return [
        Bad("labels-not-memorized", "all-memorized", "answers",
            "all eight contexts are said to be memorized, two are not",
            claim("answers", "", memorized=8, wrong=0, margin_lower=None, mean_upper=None, max_upper=None)),
        Bad("labels-not-memorized", "one-more-memorized", "answers", "the mask names one context that is lost",
            lambda folder: [asking_for(Criterion.at_least(7))(folder), with_mask(2, wrong=1)(folder)]),
        Bad("labels-at-least", "mask-of-others", "answers", "the mask names as many contexts, the first among the lost",
            with_mask(0, 1)),
        Bad("labels-at-least", "mask-of-neighbour", "answers",
            "the mask names a lost context in the place of the next one", with_mask(2, 6)),
        Bad("labels-at-least", "seven", "answers",
            "seven contexts are asked for, six are memorized", asking(contexts=7)),
        Bad("labels-lookup", "one-wrong", "answers", "one context is said to be wrong, which is memorized",
            lambda folder: [
                asking_for(Criterion.at_least(3))(folder),
                claim("answers", "e", memorized=3, wrong=1)(folder),
            ]),
        Bad("labels-at-most", "below-the-mean", "answers", "a mean one unit below the true one is asked for and stated",
            bounded_below_the_mean),
        Bad("labels-at-most", "asked-for-less", "answers",
            "a mean below the true one is asked for, nothing else is changed",
            asking(bound=(2.0**-20).hex())),
        Bad("values-at-most", "below-the-mean", "answers", "a mean one unit below the true one is asked for and stated",
            bounded_below_the_mean),
        Bad("distributions-at-most", "below-the-mean", "answers",
            "a mean one unit below the true one is asked for and stated",
            bounded_below_the_mean),
        Bad("distributions-own", "tolerance", "answers", "the tolerance is one unit below the largest divergence",
            tolerance_below_the_largest),
        Bad("values-regression", "tolerance", "answers", "the tolerance is one unit below the largest distance",
            tolerance_below_the_largest),
        Bad("distributions-beyond-tolerance", "all-memorized", "answers",
            "all distributions are said to be memorized, though beyond the tolerance",
            claim("answers", "", memorized=4, wrong=0)),
        Bad("labels-tie", "memorized", "answers", "a tie is called a strict maximum, without bounds",
            silent_of_bounds(memorized=4, wrong=0)),
        Bad("labels-tie", "tiny-margin", "answers", "a tie is said to lead by 2^-1074",
            claim("answers", "", memorized=4, wrong=0, margin_lower=2.0**-1074)),
        Bad("labels-of-one-kind", "guess", "answers", "the most frequent label is said to be rarer than it is",
            claim("answers", guess_right=2)),
        Bad("labels-lookup", "guess-of-more", "answers",
            "the most frequent label is said to be more frequent than it is",
            claim("answers", guess_right=2)),
        Bad("prompts-memorized", "guess", "answers", "the best guess is said to hold more answers than it does",
            shifted("answers", guess_right=1)),
        Bad("prompts-at-least", "all-memorized", "answers", "all four answers are said to be said, one is not",
            lambda folder: [asking_for(Criterion())(folder), silent_of_bounds(memorized=4, wrong=0)(folder)]),
        Bad("labels-at-least", "at-least-one", "answers", "one context is asked for, which a guess holds too",
            lambda folder: [zero_but_one(folder), asking_for(Criterion.at_least(1))(folder)]),
        Bad("labels-at-most", "vacuous-mean", "answers", "logits of 0 and a mean of at most 2^900 nats",
            vacuous(Criterion.at_most(2.0**900), memorized=0)),
        Bad("distributions-own", "vacuous-mean", "answers", "logits of 0 and a mean of at most 2^900 nats",
            vacuous(Criterion.at_most(2.0**900), memorized=0)),
        Bad("distributions-at-most", "vacuous-guess", "answers",
            "logits of 0, whose mean is met, and no loss of a guess is stated",
            vacuous(Criterion.at_most(2.0**9), memorized=0, guess_lower=None)),
        Bad("values-regression", "vacuous-tolerance", "answers", "outputs of 0 and a tolerance of 2^900",
            vacuous(Criterion(tolerance=2.0**900))),
        Bad("values-at-most", "vacuous-mean", "answers", "outputs of 0 and a mean of at most 2^900",
            vacuous(Criterion.at_most(2.0**900), memorized=0)),
        Bad("labels-lookup", "twice", "answers", "answers twice, with other numbers first",
            contradicted("answers", margin_lower=4.0), "refused"),
        Bad("labels-most-frequent", "text-twice", "text-divergence",
            "the divergence over the text twice, with other ends first",
            contradicted("text-divergence", lower=0.0, upper=2.0**-30), "refused"),
        Bad("values-rank", "rank-twice", "feature-rank", "the rank twice, with another singular value first",
            contradicted("feature-rank", smallest_singular_value_lower=2.0**20), "refused"),
        Bad("rule-partly", "twice", "domain", "the counts of the domain twice, all right first",
            contradicted("domain", memorized=64, wrong=0), "refused"),
    ]  # fmt: skip


def zero_but_one(folder: Path) -> None:
    """Write a model that always gives the most frequent answer."""
    model = Model.load(folder / "model.safetensors")
    labels = load_task(folder / "task.safetensors")
    assert isinstance(labels, Task)
    most = int(np.bincount(labels.labels).argmax())
    rehash_any(folder, replace(model, W_U=np.zeros_like(model.W_U), b_U=np.eye(TOKENS)[most]))
    right = (labels.labels == most).tolist()
    restated(
        folder, "answers", mask_text(right), memorized=sum(right), wrong=len(right) - sum(right),
        margin_lower=None, mean_upper=None, max_upper=None,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# A statement of another model, or about another task.


def rehash_any(folder: Path, model: Model) -> None:
    """Write another model in the place of the one that is there, of whatever task."""
    path = folder / "task.safetensors"
    if not Certificate.load(folder).subject.is_of_a_rule:
        rehash(folder, network=model, task=load_task(path))
        return
    model.save(folder / "model.safetensors")
    name_rule(folder, model, RuleTask.load(path))


def name_rule(folder: Path, model: Model, task: RuleTask) -> None:
    """Write the hashes, sizes and origin of a model and a rule."""
    task.save(folder / "task.safetensors")
    subject = subject_of_rule(model, task)

    def named(data: dict[str, Any]) -> None:
        data["subject"] |= {"model": subject.model, "task": subject.task, "origin": subject.origin}
        data["subject"]["sizes"] = dict(subject.sizes)

    edited(folder, named)


def of_another_model(change: Callable[[Model], Model]) -> Forge:
    """Write the strictest statement about one model next to another model, in the direction in which it is false."""

    def forge(folder: Path) -> None:
        model = Model.load(folder / "model.safetensors")
        if Certificate.load(folder).subject.is_of_a_rule:
            rehash_any(folder, change(model))
            return
        mine = strictest(folder)
        rehash_any(folder, change(model))
        theirs = strictest(folder)
        if all(theirs[name] >= mine[name] if name == "margin_lower" else theirs[name] <= mine[name] for name in mine):
            rehash_any(folder, model)
            mine = theirs
        restated(folder, "answers", **mine)

    return forge


def with_block(place: int, **changes: Any) -> Callable[[Model], Model]:
    """Return the model with other options or tensors of one block; a change may be a function of what was there."""

    def change(model: Model) -> Model:
        block = model.blocks[place]
        given = {name: value(getattr(block, name)) if callable(value) else value for name, value in changes.items()}
        blocks = list(model.blocks)
        blocks[place] = replace(block, **given)
        return replace(model, blocks=tuple(blocks))

    return change


def swapped(model: Model) -> Model:
    """Return the model with the columns of the readout rotated by one."""
    return replace(model, W_U=np.roll(model.W_U, 1, axis=1))


def next_float(tensor: np.ndarray) -> np.ndarray:
    """Return the tensor with its largest entry moved by one unit of float64 towards 0."""
    moved = tensor.copy()
    place = np.unravel_index(np.abs(moved).argmax(), moved.shape)
    moved[place] = np.nextafter(moved[place], 0.0)
    return moved


def layers_exchanged(model: Model) -> Model:
    """Exchange the two attentions; the second one computes the last row only."""
    first, neurons, second = model.blocks
    assert isinstance(first, Attention) and isinstance(second, Attention)
    return replace(model, blocks=(replace(second, attends="causal"), neurons, replace(first, attends="last")))


def other_epsilon(model: Model) -> Model:
    """Halve the epsilon of the first normalization."""
    block = model.blocks[0]
    assert isinstance(block, Attention) and block.norm is not None
    return with_block(0, norm=replace(block.norm, epsilon=block.norm.epsilon / 2.0))(model)


def turned_positions(model: Model) -> Model:
    """Reverse the positional embeddings."""
    return replace(model, W_pos=model.W_pos[::-1].copy())


def without_last_head(W_O: np.ndarray) -> np.ndarray:
    """Return output maps of which the last is 0."""
    return np.concatenate([W_O[:-1], np.zeros_like(W_O[-1:])])


def models() -> list[Bad]:
    """Return folders whose model differs in one option or tensor from the one that the statement is about."""
    changes: list[tuple[str, str, str, Callable[[Model], Model]]] = [
        ("labels-most-frequent", "outputs-turned", "the columns of the readout, exchanged in turn", swapped),
        ("labels-own", "positions-gone", "the positional embeddings", lambda m: replace(m, W_pos=0.0 * m.W_pos)),
        ("labels-own", "skip-gone", "the skip connection", with_block(0, skip=False)),
        ("labels-own", "heads-exchanged", "the outputs of its two heads, exchanged",
         with_block(0, W_O=lambda W: W[::-1].copy())),
        ("labels-own", "queries-for-keys", "queries and keys, exchanged",
         lambda m: with_block(0, W_Q=m.W_K, W_K=m.W_Q)(m)),
        ("labels-near-tie", "one-bit", "the last bit of one number of the readout",
         lambda m: replace(m, W_U=next_float(m.W_U))),
        ("blocks-all-positions", "root", "the root that divides the scores", with_block(0, score_root=1)),
        ("blocks-all-positions", "causal", "which rows are read", with_block(0, attends="causal")),
        ("blocks-two-layers", "layers-exchanged", "the order of its two attentions", layers_exchanged),
        ("blocks-two-layers", "neurons-gone", "the neurons", lambda m: replace(m, blocks=(m.blocks[0], m.blocks[2]))),
        ("blocks-shifts", "query-shift", "the sign of the shifts of queries", with_block(0, b_Q=lambda b: -b)),
        ("blocks-shifts", "value-shift", "the shifts of values", with_block(0, b_V=None)),
        ("blocks-shifts", "output-shift", "the shift of the output", with_block(0, b_O=None)),
        ("blocks-shifts", "shift-of-neurons", "the shift of the neurons", with_block(1, b_in=None)),
        ("blocks-shifts", "readout-shift", "the shift of the logits", lambda m: replace(m, b_U=None)),
        ("blocks-shifts", "activation", "GELU by the hyperbolic tangent or exact", with_block(1, activation="gelu")),
        ("blocks-layer-norms", "activation", "GELU exact or by the hyperbolic tangent",
         with_block(1, activation="gelu-tanh")),
        ("blocks-layer-norms", "epsilon", "the epsilon of one normalization", other_epsilon),
        ("blocks-layer-norms", "not-centred", "whether the last normalization centres",
         lambda m: replace(m, blocks=(*m.blocks[:2], replace(m.blocks[2], kind="rms")))),
        ("blocks-norm-in-the-middle", "gain", "the gains of the normalization", with_block(1, w=np.ones_like)),
        ("blocks-rotary-halves", "neighbours", "whether halves or neighbours are turned",
         with_block(0, turned="neighbours")),
        ("blocks-rotary-halves", "angles", "the order of the angles",
         with_block(0, frequencies=lambda f: f[::-1].copy())),
        ("blocks-rotary-halves", "gate-gone", "the gates", with_block(1, W_gate=None, b_gate=None)),
        ("blocks-rotary-neighbours", "one-after-the-other", "whether the neurons read what the attention reads",
         with_block(1, parallel=False)),
        ("blocks-slopes", "slopes-exchanged", "the slopes of its two heads, exchanged",
         with_block(0, slopes=lambda s: s[::-1].copy())),
        ("blocks-slopes", "activation", "BLOOM's GELU or the usual one", with_block(1, activation="gelu-tanh")),
        ("blocks-norms-of-keys", "norm-of-keys-gone", "the norm of keys", with_block(0, k_norm=None)),
        ("blocks-norms-of-keys", "score-cap", "the cap of the scores", with_block(0, score_cap=None)),
        ("blocks-norms-of-keys", "post-norm", "the norm behind the attention", with_block(0, post_norm=None)),
        ("blocks-norms-of-keys", "logit-cap", "the cap of the logits", lambda m: replace(m, logit_cap=16.0)),
        ("blocks-norms-of-all-heads", "each-by-itself", "whether heads are normalized each by itself",
         with_block(0, norms_all=False)),
        ("blocks-norms-of-all-heads", "clip", "where queries, keys and values are cut off", with_block(0, clip=None)),
        ("blocks-norms-of-all-heads", "logit-divisor", "what divides the logits",
         lambda m: replace(m, logit_divisor=3.5)),
        ("blocks-hard-head", "last-token", "the order of the positions", turned_positions),
        ("text-in-reals", "readout", "the sign of the shift of the logits", lambda m: replace(m, b_U=-m.b_U)),
        ("vectors-classification", "queries", "the queries of its two heads, exchanged",
         with_block(0, W_Q=lambda W: W[::-1].copy())),
        ("values-regression", "head-gone", "the third head", with_block(0, W_O=without_last_head)),
        ("prompts-memorized", "positions", "the order of the positions", turned_positions),
        ("rule-max", "blunt", "how sharply it attends", with_block(0, W_Q=lambda W: W / 16.0)),
        ("rule-own", "last-token", "the order of the positions", turned_positions),
    ]  # fmt: skip
    kinds, same = {"rule": "domain"}, "the statement is that of a model that differs in one thing:"
    return [
        Bad(base, slug, kinds.get(base.split("-")[0], "answers"), f"{same} {what}", of_another_model(change))
        for base, slug, what, change in changes
    ]


def with_task(change: Callable[[Any], Any]) -> Forge:
    """Write another task next to the statement."""

    def forge(folder: Path) -> None:
        model, task = Model.load(folder / "model.safetensors"), load_task(folder / "task.safetensors")
        rehash(folder, network=model, task=change(task))

    return forge


def with_arrays(change: Callable[[dict[str, Any]], Any]) -> Forge:
    """Write a task of other arrays next to the statement."""

    def forge(folder: Path) -> None:
        task = load_task(folder / "task.safetensors")
        assert isinstance(task, Task)
        arrays = task_files.parts(task)
        change(arrays)
        rehash(folder, task=task_of(arrays))

    return forge


def last_answer_changed(task: PromptTask) -> PromptTask:
    """Change the last token of the longest answer."""
    fact = max(range(task.n_contexts), key=lambda i: len(task.completions[i]))
    said = list(task.completions)
    said[fact] = (*said[fact][:-1], (said[fact][-1] + 1) % TOKENS)
    return replace(task, completions=tuple(said))


def with_rule(change: Callable[[RuleTask], RuleTask]) -> Forge:
    """Write another rule next to the statement."""

    def forge(folder: Path) -> None:
        model = Model.load(folder / "model.safetensors")
        name_rule(folder, model, change(RuleTask.load(folder / "task.safetensors")))

    return forge


def one_answer_changed(task: RuleTask) -> RuleTask:
    """Return the rule with another answer for one of its last states."""
    answers = task.answers.copy()
    answers[0] = (answers[0] + 1) % TOKENS
    return replace(task, answers=answers)


def tasks() -> list[Bad]:
    """Return folders with other targets and an unchanged statement."""
    return [
        Bad("labels-own", "label-changed", "answers", "one label of one's own is another",
            with_arrays(lambda a: a["labels"].__setitem__(3, (a["labels"][3] + 1) % TOKENS))),
        Bad("labels-lookup", "cell-changed", "answers", "one cell of the table is another",
            with_arrays(lambda a: a["counts_indices"].__setitem__(2, (a["counts_indices"][2] + 1) % TOKENS))),
        Bad("labels-own", "contexts-turned", "answers", "the contexts are exchanged in turn, the labels are not",
            with_arrays(lambda a: a.update(contexts=np.roll(a["contexts"], 1, axis=0)))),
        Bad("labels-most-frequent", "tail-counts", "text-divergence", "other counts of the tail, of the same sum",
            with_arrays(lambda a: a.update(tail_counts_data=a["tail_counts_data"][::-1].copy()))),
        Bad("distributions-smoothed", "counts-doubled", "text-divergence",
            "all counts are twice as large, the occurrences are not",
            with_arrays(lambda a: a.update(counts_data=2 * a["counts_data"]))),
        Bad("distributions-own", "distributions-turned", "answers", "the distributions are exchanged in turn",
            with_arrays(lambda a: a.update(distributions=np.roll(a["distributions"], 1, axis=0)))),
        Bad("values-regression", "value-changed", "answers", "one value is larger by 1/64",
            with_task(lambda t: replace(t, labels=t.labels + np.eye(5, 2) / 64.0))),
        Bad("values-regression", "query-changed", "answers", "one query is another",
            with_task(lambda t: replace(t, queries=np.vstack([t.queries[:-1], -t.queries[-1:]])))),
        Bad("vectors-classification", "class-changed", "answers", "the classes are exchanged in turn",
            with_task(lambda t: replace(t, labels=np.roll(t.labels, 1, axis=1)))),
        Bad("prompts-memorized", "last-token-changed", "answers", "the last token of the longest answer is another",
            with_task(last_answer_changed)),
        Bad("rule-max", "min", "domain", "the rule is the minimum", with_rule(
            lambda t: rule_task("min", d_vocab=TOKENS, n_ctx=LENGTH))),
        Bad("rule-own", "answer-changed", "domain", "one answer of the rule is another", with_rule(one_answer_changed)),
    ]  # fmt: skip


def other_text(task: Task) -> Task:
    """Return the same text with its last two characters exchanged."""
    assert task.windows is not None
    tokens = task.windows.text.copy()
    tokens[[-3, -2]] = tokens[[-2, -3]]
    return windows_task(replace(task.windows, text=tokens), vocabulary=task.vocabulary)


# ---------------------------------------------------------------------------------------------------------------------
# The other kinds of statement.


def added(id: str, **values: Any) -> Forge:
    """Add a statement."""

    def forge(folder: Path) -> None:
        found = Certificate.load(folder)
        replace(found, statements=(*found.statements, Statement(id, "", values))).save(folder)

    return forge


def rank_of_less(folder: Path) -> None:
    """State full rank of features that are all 0."""
    model = Model.load(folder / "model.safetensors")
    block = model.attention
    rehash_any(folder, replace(model, blocks=(replace(block, W_V=np.zeros_like(block.W_V)),)))
    restated(folder, "answers", margin_lower=None, mean_upper=None, max_upper=None, memorized=0)


def kinds() -> list[Bad]:
    """Return folders with false ranks, saturated heads, domains and samples."""
    return [
        Bad("rank-exact", "singular-value", "feature-rank", "the least singular value is stated one unit above 2",
            claim("feature-rank", smallest_singular_value_lower=np.nextafter(2.0, 3.0).item())),
        Bad("rank-exact", "condition", "feature-rank", "the condition number is stated one unit below 1",
            claim("feature-rank", condition_upper=np.nextafter(1.0, 0.0).item())),
        Bad("rank-exact", "both-rational", "feature-rank", "the least singular value is stated as 2 + 2^-1000",
            claim("feature-rank", smallest_singular_value_lower=Fraction(2) + Fraction(1, 2**1000))),
        Bad("rank-of-one-attention", "twice", "feature-rank", "the least singular value is stated four times as large",
            scaled("feature-rank", "smallest_singular_value_lower", 4.0)),
        Bad("values-rank", "condition", "feature-rank", "the condition number is stated as a quarter",
            scaled("feature-rank", "condition_upper", 0.25)),
        Bad("rank-of-one-attention", "no-rank", "feature-rank", "the rank of features that are all 0", rank_of_less),
        Bad("rank-of-one-attention", "columns", "feature-rank", "the columns are said to be one more than there are",
            shifted("feature-rank", columns=1)),
        Bad("labels-own", "rank-of-more-rows", "feature-rank", "full row rank of eight rows of four columns",
            added("feature-rank", rows=8, columns=4)),
        Bad("blocks-two-layers", "rank", "feature-rank", "a rank of features that a model of two layers has not",
            added("feature-rank", rows=8, columns=4)),
        Bad("blocks-layer-norms", "rank", "feature-rank", "a rank of features behind a normalization",
            added("feature-rank", rows=8, columns=4)),
        Bad("vectors-classification", "one-more", "saturation", "one more pair is said to be saturated than there is",
            one_more_saturated),
        Bad("vectors-classification", "all", "saturation", "all pairs are said to be saturated within 2^-1000",
            lambda folder: restated(folder, "saturation", delta=Fraction(1, 2**1000), saturated_lower=12)),
        Bad("vectors-classification", "pairs", "saturation", "more pairs than there are heads and examples",
            shifted("saturation", pairs=12)),
        Bad("labels-own", "saturation", "saturation", "saturated heads of a model that reads tokens",
            added("saturation", pairs=16, saturated_lower=0, delta=Fraction(1, 2))),
        Bad("rule-partly", "one-more", "domain", "one more input is said to be right", shifted("domain",
            memorized=1, wrong=-1)),
        Bad("rule-partly", "one-more-wrong", "domain", "one more input is said to be wrong",
            shifted("domain", memorized=-1, wrong=1)),
        Bad("rule-wrong", "all", "domain", "all inputs are said to be right", claim("domain", memorized=64, wrong=0)),
        Bad("rule-partly", "all-asked", "domain", "every input is asked for, 44 are right",
            asking(asked="memorized", contexts=None)),
        Bad("rule-partly", "one-more-asked", "domain", "45 inputs are asked for, 44 are right", asking(contexts=45)),
        Bad("rule-partly", "guess", "domain", "the most frequent answer is said to be rarer than it is",
            shifted("domain", guess_right=-1)),
        Bad("rule-sampled", "all", "sample", "a sample leaves nothing open", claim("sample", wrong_upper=0)),
        Bad("rule-sampled", "of-another-seed", "sample", "the seed is another, and the bound is smaller than it allows",
            claim("sample", seed=65, wrong_upper=3)),
        Bad("rule-sampled", "unprintable-seed", "sample", "the seed is no text that can be printed",
            unprintable_seed, "refused"),
    ]  # fmt: skip


def unprintable_seed(folder: Path) -> None:
    """Write a seed that is not printable."""

    def changed(data: dict[str, Any]) -> None:
        stated = data["statements"][-1]
        stated["values"]["seed"] = 1
        stated["statement"] = stated["statement"].replace("'corpus'", repr("\x01"))

    edited(folder, changed)


def one_more_saturated(folder: Path) -> None:
    """State one saturated pair more than there are."""
    statement = Certificate.load(folder).statement("saturation")
    assert statement is not None and statement.values["saturated_lower"] < statement.values["pairs"]
    restated(folder, "saturation", saturated_lower=int(statement.values["saturated_lower"]) + 1)


# ---------------------------------------------------------------------------------------------------------------------
# Edits.


def edit_claim(**values: Any) -> Forge:
    """Write other numbers in the certificate of an edit."""

    def forge(folder: Path) -> None:
        found = EditCertificate.load(folder)
        replace(found, values={**found.values, **values}).save(folder)

    return forge


def asked_otherwise(**changes: Any) -> Forge:
    """Write other contexts or answers asked of an edit, with their hash."""

    def forge(folder: Path) -> None:
        asked = EditRequest.read(folder / "contexts.json", d_vocab=3, d_vocab_out=3)
        other = replace(asked, **changes)
        (folder / "contexts.json").write_text(other.to_json())
        replace(EditCertificate.load(folder), edit=other.sha256()).save(folder)

    return forge


def edited_weights(**changes: Callable[[np.ndarray], np.ndarray]) -> Forge:
    """Write other weights of the neurons, with the hashes that follow."""

    def forge(folder: Path) -> None:
        model = with_block(1, **changes)(Model.load(folder / "model.safetensors"))
        model.save(folder / "model.safetensors")
        original = without_neurons(model, 1, layer=None, everywhere=False)
        replace(EditCertificate.load(folder), edited=model.sha256(), original=original.sha256()).save(folder)

    return forge


def last_column(factor: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that multiplies the weights of the last neuron."""

    def change(tensor: np.ndarray) -> np.ndarray:
        changed = tensor.copy()
        changed[..., -1] *= factor
        return changed

    return change


def edits() -> list[Bad]:
    """Return folders with false certificates of edits."""
    return [
        Bad("edit", "answer", "edit", "the answer that was asked for is another",
            lambda folder: asked_otherwise(answers=[
                (EditRequest.read(folder / "contexts.json", d_vocab=3, d_vocab_out=3).answers[0] + 1) % 3])(folder)),
        Bad("edit", "context", "edit", "the edited context is another", asked_otherwise(contexts=[[2, 2]])),
        Bad("edit", "context-longer", "edit", "the edited context is longer than the model reads",
            asked_otherwise(contexts=[[1, 2, 0, 1, 2]]), "refused"),
        Bad("edit", "before", "edit", "the original is said to have answered so before", edit_claim(before=1)),
        Bad("edit", "one-changed", "edit", "a kept context is said to have changed its answer",
            edit_claim(same=7, changed=1)),
        Bad("edit", "kept-more", "edit", "more contexts are said to be kept than there are",
            edit_claim(kept=80, same=80)),
        Bad("edit", "neuron-gone", "edit", "the new neuron writes nothing",
            edited_weights(W_out=lambda W: np.vstack([W[:-1], 0.0 * W[-1:]]))),
        Bad("edit", "neuron-fires-everywhere", "edit", "the new neuron fires at every context",
            edited_weights(W_in=last_column(0.0), b_in=lambda b: np.append(b[:-1], 1.0))),
        Bad("edit", "neuron-turned", "edit", "the new neuron writes the opposite",
            edited_weights(W_out=lambda W: np.vstack([W[:-1], -W[-1:]]))),
    ]  # fmt: skip


def false_claims() -> list[Bad]:
    """Return all of them."""
    return [*units(), *counts(), *models(), *tasks(), *kinds(), *edits()]
