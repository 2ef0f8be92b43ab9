"""Contexts of several lengths in one array, and what a model computes of them, all lengths in one precision.

A shorter context has -1 behind its end, as in the walk (`verify.forward.walk.Prefixes`).

Page: docs/claims/editing.md
"""

from collections.abc import Iterator, Sequence
from typing import get_args

import numpy as np

from constructions.model.model import Model
from constructions.numeric.arrays import BoolArray, Float64Array, Int64Array
from verify.arithmetic.enclosure import Enclosure
from verify.forward.ladder import Precision, leads, rising_of_parts
from verify.forward.logits import logit_chunks
from verify.forward.map_norms import Norms
from verify.forward.stem import Stem

_BEHIND = -1


def in_one_array(rows: Sequence[Sequence[int]]) -> Int64Array:
    """Return contexts as one array, `[T, S]`.

    Example:
        >>> in_one_array([[3], [1, 2]]).tolist()
        [[3, -1], [1, 2]]
    """
    contexts = np.full((len(rows), max(map(len, rows), default=1)), _BEHIND, dtype=np.int64)
    for context, row in zip(contexts, rows, strict=True):
        context[: len(row)] = row
    return contexts


def lengths_of(contexts: Int64Array) -> Int64Array:
    """How many tokens each context has, `[T]`."""
    return (contexts != _BEHIND).sum(axis=1)


def token_lists(contexts: Int64Array) -> list[list[int]]:
    """Return the tokens of each context.

    Example:
        >>> token_lists(np.array([[3, -1], [1, 2]]))
        [[3], [1, 2]]
    """
    return [row[:length] for row, length in zip(contexts.tolist(), lengths_of(contexts).tolist(), strict=True)]


def by_length(contexts: Int64Array) -> list[tuple[Int64Array, Int64Array]]:
    """Return the places of the contexts of each length, `[T']`, and these contexts, `[T', S']`, shorter ones first."""
    lengths = lengths_of(contexts)
    parts = []
    for length in np.unique(lengths).tolist():
        places = np.flatnonzero(lengths == length)
        parts.append((places, contexts[places, :length]))
    return parts


def rising(
    model: Model,
    contexts: Int64Array,
    is_open: BoolArray,
    *,
    precisions: Sequence[Precision] = get_args(Precision),
    norms: Norms | None = None,
    stem: Stem | None = None,
) -> Iterator[tuple[Precision, Int64Array, Enclosure]]:
    """Enclose the logits of the contexts that are open, in one precision after the other.

    Args:
        model: The weights.
        contexts: As `in_one_array` has them.
        is_open: Whether to enclose each context, `[T]`; the caller closes those that it has decided.
        precisions: As for `verify.forward.ladder.rising_of_parts`.
        norms: Likewise.
        stem: Likewise.

    Returns:
        Iterator of the precision, the contexts, and the enclosure of their logits.
    """
    parts = by_length(contexts)
    places = [own for own, _ in parts]
    left = [is_open] if len(parts) == 1 else [is_open[own] for own in places]
    given = [each for _, each in parts]
    rungs = rising_of_parts(model, given, left, precisions=precisions, norms=norms, stem=stem)
    for precision, _, part, rows, logits in rungs:
        yield precision, places[part][rows], logits
        for own, still in zip(places, left, strict=True):
            if still is not is_open:
                still[:] = is_open[own]


def decide_answers(
    model: Model,
    contexts: Int64Array,
    *,
    precisions: Sequence[Precision] = get_args(Precision),
    stem: Stem | None = None,
) -> Int64Array:
    """Return the place of the largest logit of each context in exact arithmetic, `[T]`; -1 where it is not decided."""
    answer, is_open = np.full(len(contexts), -1), np.ones(len(contexts), dtype=bool)
    for _, rows, logits in rising(model, contexts, is_open, precisions=precisions, stem=stem):
        best, lead = leads(logits)
        proved = lead > 0.0
        answer[rows[proved]], is_open[rows[proved]] = best[proved], False
    return answer


def about(model: Model, contexts: Int64Array, *, stem: Stem | None = None) -> Float64Array:
    """About what a model computes, `[T, outputs]`: the middles of enclosures, in balls where the stem has the rows."""
    found, rows = np.zeros((len(contexts), model.d_vocab_out)), list(map(tuple, token_lists(contexts)))
    known = [] if stem is None else stem.known(rows)
    if stem is not None and known:
        for start, _, balls in stem.outputs(model, [rows[place] for place in known]):
            found[known[start : start + balls.nrows()]] = [[float(x.mid()) for x in row] for row in balls.tolist()]
    left = np.setdiff1d(np.arange(len(contexts)), known)
    for places, part in by_length(contexts[left]):
        for start, logits in logit_chunks(model, part):
            found[left[places[start : start + len(logits)]]] = logits.midpoint
    return found
