"""One battery over all memories: what each takes is memorized and certified, as counted, and what it does not is
refused.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.memories.memory import Limits
from constructions.menu import BY_NAME
from constructions.model.blocks import FeedForward
from constructions.model.construction import Construction
from constructions.model.precision import Precision
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Task
from verify.provers.memorization import certify_memorization
from verify.verdict import Verdict

FORMATS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "float32": lambda tensor: tensor.astype(np.float32).astype(np.float64),
    "float16": lambda tensor: tensor.astype(np.float16).astype(np.float64),
}


def task_of(contexts: np.ndarray, labels: np.ndarray, answers: int) -> Task:
    """Facts whose answers are never read."""
    names = tuple(f"answer {i}" for i in range(answers))
    tokens = int(contexts.max()) + 1
    return array_task(contexts, next_tokens=labels, vocabulary=tokens, answers=names, target="labels")


@st.composite
def labelled(draw: st.DrawFn, *, least: int = 1, most: int = 4, complete: bool = False) -> Task:
    """Some contexts of so many tokens with any labels; all of them where `complete`."""
    tokens, n_ctx, answers = draw(st.integers(1, 6)), draw(st.integers(least, most)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    contexts = all_contexts(tokens, n_ctx)
    if not complete:
        count = draw(st.integers(1, min(len(contexts), 24)))
        contexts = contexts[np.sort(rng.permutation(len(contexts))[:count])]
    return task_of(contexts, rng.integers(0, answers, len(contexts)), answers)


@st.composite
def spread_out(draw: st.DrawFn) -> Task:
    """Random contexts, which lie in general position, with any labels."""
    n_ctx, tokens, answers = draw(st.integers(2, 4)), draw(st.integers(5, 12)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    contexts = np.unique(rng.integers(0, tokens, (20, n_ctx)), axis=0)
    return task_of(contexts, rng.integers(0, answers, len(contexts)), answers)


@st.composite
def positive_distributions(draw: st.DrawFn, *, peaked: bool = False) -> Task:
    """Distributions after random contexts; some hundred of few coordinates where `peaked`."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if peaked:
        contexts = np.unique(rng.integers(0, 20, (120, 3)), axis=0)
        logits = rng.standard_normal((len(contexts), 3)) @ rng.standard_normal((3, 20))
    else:
        tokens, n_ctx = draw(st.integers(2, 6)), draw(st.integers(1, 3))
        contexts = all_contexts(tokens, n_ctx)[:20]  # of one distribution the guess would be right
        logits = rng.standard_normal((len(contexts), draw(st.integers(2, 6))))
    distributions = np.exp(logits)
    distributions /= distributions.sum(axis=1, keepdims=True)
    names = tuple(f"answer {i}" for i in range(distributions.shape[1]))
    return array_task(contexts, distributions=distributions, vocabulary=int(contexts.max()) + 1, answers=names)


@st.composite
def sums(draw: st.DrawFn) -> Task:
    """Labels that are sums of what each token adds, modulo a number; not all of them are equal."""
    modulus, n_ctx = draw(st.integers(2, 7)), draw(st.integers(2, 3))
    contexts = all_contexts(max(4, modulus), n_ctx)
    factors = np.array(draw(st.lists(st.integers(1, 6), min_size=n_ctx, max_size=n_ctx)))
    assume((factors % modulus).any())
    return task_of(contexts, contexts @ factors % modulus, modulus)


TAKES: dict[str, st.SearchStrategy[Task]] = {
    "affine": sums(),
    "packed-words": labelled(least=2, most=2),
    "object-words": labelled(least=2, most=2),
    "probes": labelled(),
    "bit-table": labelled(most=3),
    "one-hot-distributions": positive_distributions(),
    "low-rank-distributions": positive_distributions(peaked=True),
    "knots": st.one_of(labelled(), positive_distributions()),
    "one-head": labelled(least=2, most=2),
    "rank-one-heads": st.one_of(spread_out(), labelled(least=2, most=2)),
    "newton": labelled(least=2, most=2),
    "theorem-1": labelled(least=2, most=2),
    "last-token-heads": labelled(least=2, most=3),
}
"""For each memory of the menu tasks that it must hold."""


def precisions(name: str) -> tuple[Precision, ...]:
    """The formats in which a memory is built; 16 bits have room for a few labels alone, but where nothing else is."""
    found = tuple(dtype for dtype in BY_NAME[name].exact if "16" not in dtype)
    return found or BY_NAME[name].exact or ("float32", "float64")


def proved(built: Construction, task: Task) -> bool:
    """Whether a model is certified to hold a task."""
    certificate = certify_memorization(built.model, task, built.criterion, rank=False).certificate
    return certificate.verdict is Verdict.PROVED


def another_answer(task: Task, place: int) -> Task:
    """The task with another label, or another distribution, of one context."""
    names, options = task.answers or task.vocabulary, {"vocabulary": task.d_vocab, "target": task.target}
    if task.distributions is None:
        labels = task.labels.copy()
        labels[place] = (labels[place] + 1) % task.n_answers
        return array_task(task.contexts, next_tokens=labels, answers=names, **options)
    distributions = task.distributions.copy()
    distributions[place] = np.roll(distributions[place], 1)
    return array_task(task.contexts, distributions=distributions, answers=names, **options)


def test_every_memory_of_the_menu_names_tasks_that_it_must_hold() -> None:
    assert list(TAKES) == [name for name in BY_NAME if name in TAKES] and set(TAKES) == set(BY_NAME)


@pytest.mark.parametrize("name", BY_NAME)
@given(st.data())
def test_what_it_takes_is_memorized_as_counted_and_no_other_answers_are(name: str, data: st.DataObject) -> None:
    task, dtype = data.draw(TAKES[name]), data.draw(st.sampled_from(precisions(name)))
    kind = BY_NAME[name]
    built = kind.build(task, Limits(dtype))
    assert built.task is task and proved(built, task)
    stored = built.model.tensors().values()
    assert built.model.parameters == sum(tensor.size for tensor in stored)
    assert kind.fewest(task, dtype) <= built.model.parameters
    assert all((FORMATS[dtype](tensor) == tensor).all() for tensor in stored if dtype in FORMATS)
    assert not (kind.attention_only and any(isinstance(block, FeedForward) for block in built.model.blocks))
    if task.n_answers > 1:
        place = data.draw(st.integers(0, task.n_contexts - 1))
        other = another_answer(task, place)
        apart = task.distributions is None or np.abs(task.distributions[place] - other.distributions[place]).max() > 0.1
        assert not (apart and proved(built, other))


SMALLEST = {
    "one-token": ([[0]], [0], 1),
    "one-of-several-tokens": ([[3]], [1], 4),
    "one-fact": ([[0, 1]], [2], 5),
    "exclusive-or": ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 2),
    "order-alone": ([[0, 1], [1, 0]], [0, 1], 2),
    "one-last-token": ([[n, 0] for n in range(9)], [3, 1, 4, 1, 5, 2, 6, 5, 3], 9),
    "one-label": (all_contexts(4, 2), [2] * 16, 4),
    "one-position-counts": ([[0, n, 1] for n in range(5)], [4, 3, 2, 1, 0], 5),
}
LENGTHS = {
    "packed-words": {2}, "object-words": {2}, "one-head": {2}, "rank-one-heads": {2}, "last-token-heads": {2, 3},
    "knots": {1, 2, 3}, "newton": {1, 2, 3}, "probes": {1, 2, 3}, "bit-table": {1, 2, 3},
}  # fmt: skip
"""Of each memory that holds any labels the lengths of contexts of which it holds the smallest tables."""


@pytest.mark.parametrize("case", SMALLEST)
@pytest.mark.parametrize("name", LENGTHS)
def test_the_smallest_tables_are_memorized(name: str, case: str) -> None:
    contexts, labels, vocabulary = SMALLEST[case]
    contexts = np.array(contexts)
    task = array_task(contexts, next_tokens=np.array(labels), vocabulary=vocabulary, target="labels")
    if contexts.shape[1] in LENGTHS[name]:
        for dtype in (precisions(name)[0], precisions(name)[-1]):
            assert proved(BY_NAME[name].build(task, Limits(dtype)), task)


@cache
def any_that_it_takes(name: str) -> Task:
    """A task of some facts that a memory holds."""
    if "distributions" in name:
        return enumerated_task(6, 3, target="distributions", seed=3) if name == "one-hot-distributions" else PEAKED
    contexts = all_contexts(4, 2)
    labels = contexts.sum(axis=1) % 4 if name == "affine" else np.random.default_rng(3).integers(0, 4, 16)
    return task_of(contexts, labels, 4)


def _peaked() -> Task:
    rng = np.random.default_rng(3)
    contexts = np.unique(rng.integers(0, 20, (120, 3)), axis=0)
    distributions = np.exp(rng.standard_normal((len(contexts), 3)) @ rng.standard_normal((3, 20)))
    return array_task(contexts, distributions=distributions / distributions.sum(axis=1, keepdims=True), vocabulary=20)


PEAKED = _peaked()


@pytest.mark.parametrize("name", BY_NAME)
def test_equal_seeds_give_equal_bits(name: str) -> None:
    task, dtype = any_that_it_takes(name), precisions(name)[0]
    first, second = (BY_NAME[name].build(task, Limits(dtype, seed=5)).model.sha256() for _ in range(2))
    assert first == second


DISTRIBUTIONS, LABELS = enumerated_task(3, 2, target="distributions"), enumerated_task(3, 2)
LONG, SHORT = enumerated_task(3, 3), enumerated_task(4, 1)
REFUSED: list[tuple[str, Task, str]] = [
    *((name, DISTRIBUTIONS, "needs labels, but the target is 'distributions'") for name in (
        "affine", "object-words", "one-head", "packed-words", "probes", "rank-one-heads",
    )),
    *(
        (name, LABELS, "needs distributions, but the target is 'labels'")
        for name in ("low-rank-distributions", "one-hot-distributions")
    ),
    *((name, LONG, "two tokens|2 tokens|bigrams|all contexts|one column each") for name in (
        "object-words", "one-head", "packed-words",
    )),
    *((name, SHORT, "two tokens|two or three tokens|2 tokens|2 to 8|bigrams|all contexts") for name in (
        "affine", "last-token-heads", "object-words", "one-head", "packed-words", "rank-one-heads",
    )),
    ("newton", DISTRIBUTIONS, "target is 'distributions', expected 'labels'"),
    ("affine", LABELS, "at least 10 facts, which could show a rule, but 9"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "task", "said"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_it_does_not_take_is_refused_by_name(name: str, task: Any, said: str) -> None:
    with pytest.raises((HypothesisError, CapacityError, InputError), match=said):
        BY_NAME[name].build(task, Limits(precisions(name)[-1]))


@pytest.mark.parametrize("name", BY_NAME)
def test_a_precision_that_there_is_not_is_refused(name: str) -> None:
    if name not in ("low-rank-distributions", "newton"):  # they choose theirs
        with pytest.raises(InputError, match="dtype = 'float8', expected one of"):
            BY_NAME[name].build(any_that_it_takes(name), Limits("float8"))  # pyright: ignore[reportArgumentType]
