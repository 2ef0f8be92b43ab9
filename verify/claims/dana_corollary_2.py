"""What is certified about Corollary 2: an accuracy out of reach of all weights, and the mean over random labels.

Page: docs/claims/corollary_2.md
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from constructions.arrays import Int64Array
from constructions.capacity.expected_accuracy import partial_task, solvable_contexts
from constructions.capacity.forbidden_labelling import forbidding_multipliers
from constructions.claims.dana_corollary_2 import CLAIM, best_on_xor
from constructions.memories.memory import build_memory
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.tasks.arrays import all_contexts
from constructions.tasks.task import Task
from verify.claims.comparison import Comparison
from verify.claims.evidence import Evidence, Means, Method
from verify.claims.formula import stated
from verify.claims.quantifier import Quantifier
from verify.claims.theorems import ONE_HEAD_LABELS
from verify.forward.logits import enclose_logits
from verify.verdict import Verdict, decided


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify that Corollary 2 is false, and instances of what is true.

    Args:
        full: Whether to certify larger and more instances.

    Yields:
        The evidence, as soon as it is certified.
    """
    xor = best_on_xor()
    yield _bounded(xor.task)
    yield _attained(xor)
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
    for name, contexts, n_tokens, d_model, d_head, n_heads in cases:
        yield _mean(name, contexts, n_tokens, d_model, d_head, n_heads)


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


def _attained(example: Construction[Task]) -> Evidence:
    task = example.task
    predictions = _certain_predictions(example.model, task.contexts, n_tokens=2, sizes=(2, 1, 1))
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


def _mean(name: str, contexts: Int64Array, n_tokens: int, d_model: int, d_head: int, n_heads: int) -> Evidence:
    """Average the accuracy over every labelling; the weights are built from the labels of the solved contexts."""
    solved = solvable_contexts(contexts, d_model=d_model, d_head=d_head, n_heads=n_heads)
    rest = np.setdiff1d(np.arange(len(contexts)), solved)
    total, least, count, certain = Fraction(0), Fraction(1), 0, True
    for chosen in product(range(n_tokens), repeat=len(solved)):
        labels = np.zeros(len(contexts), dtype=np.int64)
        labels[solved] = chosen
        found = _predictions(contexts, labels, solved, n_tokens=n_tokens, sizes=(d_model, d_head, n_heads))
        for others in product(range(n_tokens), repeat=len(rest)):
            labels[rest] = others
            accuracy = _accuracy(found, labels)
            certain = certain and accuracy is not None
            total, least, count = total + (accuracy or 0), min(least, accuracy or Fraction(0)), count + 1
    mean, share = total / count, Fraction(len(solved), len(contexts))
    formula = stated(CLAIM, "mean", N=n_tokens, m=share)
    return Evidence(
        "repair",
        f"{name}: over all {count} labellings of {len(contexts)} contexts, N = {n_tokens}, d = {d_model}, "
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
    contexts: Int64Array, labels: Int64Array, solved: Int64Array, *, n_tokens: int, sizes: tuple[int, int, int]
) -> list[int] | None:
    """What weights predict that see the labels of `solved` only."""
    task = partial_task(contexts, labels, solved, n_tokens=n_tokens)
    d_model, d_head, n_heads = sizes
    network = build_memory(task, d_model=d_model, d_head=d_head, n_heads=n_heads).model
    return _certain_predictions(network, contexts, n_tokens=n_tokens, sizes=sizes)


def _certain_predictions(
    network: Model, contexts: Int64Array, *, n_tokens: int, sizes: tuple[int, int, int]
) -> list[int] | None:
    """The token with the largest logit on each context, the first of equals.

    `None` if one is not certain, or if the weights are not those of the given d, d_h and H over n_tokens.
    """
    if (network.d_model, network.d_head, network.n_heads) != sizes or network.d_vocab_out != n_tokens:
        return None
    logits = enclose_logits(network, contexts)
    lower, upper = logits.lower(), logits.upper()
    found = []
    for row in range(len(contexts)):
        # In front of all before it, and not behind any after it: exact ties go to the first.
        first = [
            i
            for i in range(n_tokens)
            if (lower[row, i] > upper[row, :i]).all() and (lower[row, i] >= upper[row, i + 1 :]).all()
        ]
        if len(first) != 1:
            return None
        found.append(first[0])
    return found


def _accuracy(predictions: list[int] | None, labels: Int64Array) -> Fraction | None:
    """Share of the equally likely contexts whose label is predicted."""
    if predictions is None:
        return None
    return Fraction(sum(int(a == b) for a, b in zip(predictions, labels.tolist(), strict=True)), len(labels))
