"""Corollary 2 of Dana et al.: the accuracy that heads reach when they hold only a part of the associations.

Page: docs/claims/corollary_2.md
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from constructions.attention.capacity.expected_accuracy import partial_task, solvable_contexts
from constructions.attention.capacity.forbidden_labelling import forbidding_multipliers
from constructions.encoders.one_head_optimum import exclusive_or_contexts
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.heads_of_theorem_1.random.labels import partial_memory
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Int64Array
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task
from verify.forward.logits import enclose_logits
from verify.theorems.capacity.parity import parity_errors
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import ONE_HEAD_LABELS, PARITY_ERRORS
from verify.verdict import Verdict, decided


def best_on_xor() -> Construction[Task]:
    """Weights of one head that hold three of the four contexts of XOR, the most that one head can.

    Attention is uniform, and the label is 1 wherever the token 1 occurs.

    Returns:
        The network, with d = 2, d_h = 1; its task is all of XOR.

    Source: refutes Dana, Pydi, Chevaleyre (2024), Corollary 2.

    Example:
        >>> best_on_xor().model.W_U.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    nothing = np.zeros((1, 2, 1))
    network = dana_network(
        W_E=np.array([[0.0, 1.0], [1.0, 1.0]]),
        W_pos=np.zeros((3, 2)),
        W_Q=nothing,
        W_K=nothing,
        W_V=np.array([[[1.0], [0.0]]]),
        W_O=np.array([[[6.0, 0.0]]]),
        W_U=np.array([[0.0, 1.0], [1.0, 0.0]]),
    )
    task = array_task(exclusive_or_contexts(), next_tokens=np.array([0, 0, 1, 1]), vocabulary=2, target="labels")
    return Construction(task, network, "3 of the 4 contexts of XOR in one head of dimension 1, d = 2")


CLAIM = Claim(
    id="dana.corollary-2",
    title="The accuracy of a memory that is too small",
    source="Dana, Pydi, Chevaleyre (2024), Corollary 2",
    kind="statement",
    quotation=(
        r"Corollary 2. Under Assumption 1, there exist an AoT $\mathcal{T}$ such that "
        r"$\mathbb{E}_{t_{1:S}}[Acc(\mathcal{T}(t_{1:S}))] \geq \frac{1}{N} + (1 - \frac{1}{N}) \frac{Hd_h + d}{To}$."
    ),
    printed=(
        "For any T contexts with a next token each, some attention-only transformer has the accuracy "
        "[[printed: 1/N + (1 - 1/N) (H d_h + d) / T]] or more."
    ),
    reading=(
        'To is T_0, and H, d_h and d are given, as "Corollary 2 states that with H = 20, the model should be able to '
        'obtain exactly 1 accuracy" (appendix B) reads it. With H free, and the bound cut at 1, it is true for S >= 2 '
        "and d >= 2, as enough heads hold all contexts. On average over independent uniform labels it holds where "
        "the contexts that are to be memorized can be."
    ),
    judgement="false",
    truth=(
        "If the K most likely contexts can be memorized, their probability m, at least K / T, is a lower bound of the "
        "accuracy; [[mean: 1/N + (1 - 1/N) m]] is its mean over independent uniform labels of the other contexts, for "
        "weights that do not depend on them. For fixed labels it can be out of reach of all weights: [[best: 3/4]] "
        "instead of [[promised: 7/8]] for XOR; for every H the parity of n bits has a best accuracy that falls to "
        "[[guess: half]]."
    ),
    wrong=(
        "on XOR one head has an accuracy of at most 3/4, where 7/8 is promised; true on average over independent "
        "uniform labels, if H d_h + d is replaced by a number of contexts that the heads can memorize"
    ),
    page="docs/claims/corollary_2.md",
    hypotheses=conditions("N >= 1 and S >= 1", "d >= 2", "1 <= d_h <= d", "H >= 1"),
    parameters={"d_vocab": 4, "n_ctx": 2, "d_model": 4, "d_head": 2, "n_heads": 4, "seed": 0},
    build=partial_memory,
)


def evidence(*, full: bool) -> Iterator[Evidence]:
    xor = best_on_xor()
    yield _bounded(xor.task)
    yield _attained(xor)
    yield _every_number_of_heads(8)
    loops = np.array([[n, n] for n in range(3)])
    cases = [
        ("XOR", xor.task.contexts, 2, 2, 1, 1),
        ("all bigrams of 2 tokens", all_contexts(2, 2), 2, 2, 1, 1),
        ("one last token", np.array([[n, 0] for n in range(3)] + [[0, 1]]), 3, 2, 1, 1),
        ("loops and more", np.vstack([loops, [[0, 1], [1, 0]]]), 3, 2, 1, 1),
    ]
    if full:
        cases += [
            ("all contexts of 3 tokens out of 2", all_contexts(2, 3), 2, 2, 2, 2),
            ("bigrams of 3 tokens", all_contexts(3, 2)[:6], 3, 2, 1, 2),
            ("all bigrams of 3 tokens", all_contexts(3, 2), 3, 3, 1, 1),
        ]
    for name, contexts, d_vocab, d_model, d_head, n_heads in cases:
        yield _mean(name, contexts, d_vocab, d_model, d_head, n_heads)


def _bounded(task: Task) -> Evidence:
    contexts, labels = task.contexts, task.labels
    d_model, d_head, n_heads = 2, 1, 1
    promised = stated(CLAIM, "printed", N=2, H=n_heads, d_h=d_head, d=d_model, T=len(contexts))
    multipliers = forbidding_multipliers(contexts, labels)
    if multipliers is None:
        multipliers = np.zeros((len(labels), 2), dtype=np.int64)  # these prove nothing
    forbidden = ONE_HEAD_LABELS.at(contexts=contexts, labels=labels, multipliers=multipliers)
    best = 1 - Fraction(1, len(contexts))
    return Evidence(
        "counterexample",
        f"The accuracy on XOR, {len(contexts)} equally likely contexts, is at most {best} with one head.",
        f"accuracy >= {promised} with d = {d_model}, d_h = {d_head}, H = {n_heads}",
        f"accuracy <= {best}",
        Method("an integer relation between the contexts", Means.EXACT),
        data={"contexts": contexts.tolist(), "labels": labels.tolist(), "multipliers": multipliers.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(forbidden, "=", Verdict.PROVED),
            Comparison(best, "<", promised),
            Comparison(best, "=", stated(CLAIM, "best")),
            Comparison(promised, "=", stated(CLAIM, "promised")),
        ),
    )


def _every_number_of_heads(largest: int) -> Evidence:
    """Parity of H + 1 bits: an accuracy below 1 for H heads of any widths, where the paper's count promises 1."""
    compared, shown = [], []
    for n_heads in range(1, largest + 1):
        size = 2 ** (n_heads + 1)
        d_head = size // (n_heads + 1)
        d_model = size - n_heads * d_head
        errors = PARITY_ERRORS.at(bits=n_heads + 1, n_heads=n_heads)
        promised = stated(CLAIM, "printed", N=2, H=n_heads, d_h=d_head, d=d_model, T=size)
        best = 1 - Fraction(errors.value, size)
        compared += [Comparison(errors, ">", 0), Comparison(best, "<", promised)]
        shown.append(str(best))
    bits = 2000  # and one head: the best accuracy is near that of a guess, and above it
    far = 1 - Fraction(parity_errors(bits, 1), 2**bits)
    compared += [Comparison(far, ">", stated(CLAIM, "guess")), Comparison(far * 19 / 20, "<", stated(CLAIM, "guess"))]
    return Evidence(
        "counterexample",
        f"Parity of H + 1 bits, H = 1 .. {largest}, all T = 2^(H + 1) contexts with one last token, equally likely: H "
        "heads of width floor(T / (H + 1)) or any other, d = T - H d_h",
        "accuracy 1, as T = H d_h + d",
        f"accuracy <= {', '.join(shown)}",
        Method("the least number of errors of polynomials of degree H", Means.EXACT),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=tuple(compared),
    )


def _attained(example: Construction[Task]) -> Evidence:
    task = example.task
    predictions = _certain_predictions(example.model, task.contexts, d_vocab=2, sizes=(2, 1, 1))
    accuracy = _accuracy(predictions, task.labels)
    best = 1 - Fraction(1, task.n_contexts)
    return Evidence(
        "repair",
        f"Weights of one head with d = 2, d_h = 1 have the accuracy {best} on XOR, the best there is.",
        f"accuracy >= {best}",
        f"accuracy = {accuracy}",
        Method("enclosure of the logits", Means.ENCLOSURES),
        decided(accuracy >= best) if accuracy is not None else Verdict.UNDECIDED,
    )


def _mean(name: str, contexts: Int64Array, d_vocab: int, d_model: int, d_head: int, n_heads: int) -> Evidence:
    """Average the accuracy over every labelling; the weights are built from the labels of the solved contexts."""
    solved = solvable_contexts(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)
    rest = np.setdiff1d(np.arange(len(contexts)), solved)
    total, least, count, certain = Fraction(0), Fraction(1), 0, True
    for chosen in product(range(d_vocab), repeat=len(solved)):
        labels = np.zeros(len(contexts), dtype=np.int64)
        labels[solved] = chosen
        predictions = _predictions(contexts, labels, solved, d_vocab=d_vocab, sizes=(d_model, d_head, n_heads))
        for others in product(range(d_vocab), repeat=len(rest)):
            labels[rest] = others
            accuracy = _accuracy(predictions, labels)
            certain = certain and accuracy is not None
            total, least, count = total + (accuracy or 0), min(least, accuracy or Fraction(0)), count + 1
    mean, share = total / count, Fraction(len(solved), len(contexts))
    formula = stated(CLAIM, "mean", N=d_vocab, m=share)
    return Evidence(
        "repair",
        f"{name}: over all {count} labellings of {len(contexts)} contexts, N = {d_vocab}, d = {d_model}, "
        f"d_h = {d_head}, H = {n_heads}, weights built from K = {len(solved)} of the labels have the mean accuracy "
        f"1/N + (1 - 1/N) K/T, and never less than K/T.",
        f"mean accuracy {formula}, accuracy >= {share}",
        f"mean accuracy = {mean}, accuracy >= {least}" if certain else "a prediction is not certain",
        Method("enclosure of the logits, and enumeration of the labels", Means.ENCLOSURES),
        decided(least >= share) if certain else Verdict.UNDECIDED,
        quantifier=Quantifier.EVERY,
        compared=(Comparison(mean, "=", formula),),
    )


def _predictions(
    contexts: Int64Array, labels: Int64Array, solved: Int64Array, *, d_vocab: int, sizes: tuple[int, int, int]
) -> list[int] | None:
    """Return the predictions of weights built from only the labels of `solved`."""
    task = partial_task(contexts, labels, solved, d_vocab=d_vocab)
    d_model, d_head, n_heads = sizes
    network = build_memory(task, d_model=d_model, d_head=d_head, n_heads=n_heads).model
    return _certain_predictions(network, contexts, d_vocab=d_vocab, sizes=sizes)


def _certain_predictions(
    network: Model, contexts: Int64Array, *, d_vocab: int, sizes: tuple[int, int, int]
) -> list[int] | None:
    """Return the token with the largest logit on each context; ties go to the first.

    `None` if one is not certain, or if the weights are not those of the given d, d_h and H over d_vocab.
    """
    if (network.d_model, network.d_head, network.n_heads) != sizes or network.d_vocab_out != d_vocab:
        return None
    logits = enclose_logits(network, contexts)
    lower, upper = logits.lower(), logits.upper()
    predictions = []
    for row in range(len(contexts)):
        # In front of all before it, and not behind any after it: exact ties go to the first.
        first = [
            i
            for i in range(d_vocab)
            if (lower[row, i] > upper[row, :i]).all() and (lower[row, i] >= upper[row, i + 1 :]).all()
        ]
        if len(first) != 1:
            return None
        predictions.append(first[0])
    return predictions


def _accuracy(predictions: list[int] | None, labels: Int64Array) -> Fraction | None:
    """Share of the equally likely contexts whose label is predicted."""
    if predictions is None:
        return None
    return Fraction(sum(int(a == b) for a, b in zip(predictions, labels.tolist(), strict=True)), len(labels))
