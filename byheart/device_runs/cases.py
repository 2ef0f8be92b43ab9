"""Build small instances of every memory for runs on a device; the theorems add theirs.

Page: docs/run.md
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from byheart.choice.chooser import offers, smallest_of
from byheart.theory import theorems
from constructions.menu import BY_NAME
from constructions.model.construction import Construction
from constructions.model.precision import SHORT, Precision
from constructions.numeric.arrays import Float64Array
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.task import Task
from constructions.tasks.vectors import VectorTask

Built = Construction[Task] | Construction[VectorTask]

TOKENS = 10
"""Tokens of a vocabulary, so that all bigrams are more than the largest batch, 64."""

SEED = 0
"""Seed of every random choice."""


@dataclass(frozen=True)
class Case:
    """An instance of a memory or of a construction.

    Args:
        kind: ``"memory"`` or ``"construction"``.
        name: That of `byheart memories`, or of the function in `constructions`.
        build: From a precision to weights that are rounded to it, and what they hold.
    """

    kind: str
    name: str
    build: Callable[[Precision], Built]


def cases() -> Iterator[Case]:
    """Return all memories of the menu, and all constructions of docs/constructions.md if the theorems are installed.

    A memory that cannot be built for a 16-bit type has the weights of float32 there. The weights of a construction are
    float64, and a run rounds them to its type.

    Example:
        >>> [case.name for case in cases() if case.kind == "construction"][:2]
        ['full_rank_attention', 'skip_connection_head']
    """
    for name in BY_NAME:
        yield Case("memory", name, _memory(name))
    if (constructed := theorems("device_cases")) is not None:
        for name, build in constructed.CONSTRUCTIONS.items():
            yield Case("construction", name, lambda _, build=build: build())


def _memory(name: str) -> Callable[[Precision], Built]:
    def build(dtype: Precision) -> Built:
        task = _task_of(name)
        offer = offers(task, names=(name,), dtype=dtype, seed=SEED)[0]
        if dtype in SHORT and offer.built is None:
            offer = offers(task, names=(name,), dtype="float32", seed=SEED)[0]
        built = smallest_of((offer,)).built
        assert built is not None  # `smallest_of` raises what the only offer raised
        return built

    return build


def _task_of(name: str) -> Task:
    """Return a hundred facts that the memory can represent: labels of all bigrams unless it needs others."""
    bigrams = all_contexts(TOKENS, 2)
    first, second = bigrams.T
    if name == "affine":
        return array_task(bigrams, next_tokens=(first + 3 * second) % TOKENS, target="labels")
    if name == "object-words":  # subjects and relations of their own: words of any type have room for these
        rng = np.random.default_rng(SEED)
        labels = rng.integers(0, TOKENS, len(bigrams))
        return array_task(bigrams + np.array([0, TOKENS]), next_tokens=labels, vocabulary=2 * TOKENS, target="labels")
    if name == "newton":  # a search, whose time grows with the facts
        return enumerated_task(5, 2, seed=SEED)
    if name.endswith("-distributions"):
        return enumerated_task(TOKENS, 2, target="distributions", distributions=_of_low_rank())
    return enumerated_task(TOKENS, 2, seed=SEED)


def _of_low_rank() -> Float64Array:
    """Return distributions of all bigrams whose logits have rank 2."""
    rng = np.random.default_rng(SEED)
    powers = np.exp(rng.normal(size=(TOKENS**2, 2)) @ rng.normal(size=(2, TOKENS)))
    return powers / powers.sum(axis=1, keepdims=True)
