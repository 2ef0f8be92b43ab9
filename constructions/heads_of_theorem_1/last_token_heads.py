"""Assign heads to one last token each: block-diagonal features, and one linear system per last token.

Page: docs/claims/last_token_heads.md
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from constructions.attention.families import bfloat16_rounded
from constructions.counted import counted
from constructions.encoders import association_memory, distribution_memory
from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.model.attention import softmax
from constructions.model.construction import Construction
from constructions.model.precision import Precision, require_precision, rounded_model
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.numeric.minimum_norm import RightInverse, right_inverse
from constructions.progress import Progress
from constructions.tasks.task import Task

_CLAIM = "The memory of last-token heads"
_SLACK = 1.25  # features that a class takes for each of its contexts
_SPREAD = 2.5  # standard deviation of the scores of tokens, nats; positions have half of it
_GOOD, _FAIR = 1e4, 1e5  # conditions of the features of a class; with a worse one they are drawn again
_COSTLY = 1024  # contexts of a class beyond which a fair condition will do, as for pairs, and these get their own heads
_PAIR = 128  # contexts that end with the same two tokens from which on these get heads of their own
_GATE = 80.0  # nats by which the heads of a pair prefer the position before the last
_DRAWS = 3  # of the keys with one number of heads, and of the values
_TRIES = 12  # numbers of heads, each an eighth larger than the one before
_LOOSE = 1e-3  # nats: an output that misses its targets by more is none
_WORKING_ENTRIES = 2**20  # attention weights that are worked on together


@dataclass(frozen=True, eq=False, kw_only=True)
class LastTokenHeads(Construction[Task]):
    """The heads of last tokens as a memory, with the results of the construction.

    Args:
        owner: The last token that each head belongs to, `[H]`; -1 for the last head, which is every token's.
        condition: The largest condition number of the features of one last token; estimated.
        residual: The largest deviation of the residual stream from its targets, before any rounding to `dtype`.
        fewest: The least number of heads of this construction, with which every class has as many columns as contexts.
    """

    owner: Int64Array
    condition: float
    residual: float
    fewest: int


def last_token_heads_memory(
    task: Task,
    *,
    d_head: int | None = None,
    dtype: Precision = "float64",
    seed: int = 0,
    progress: Progress | None = None,
) -> LastTokenHeads:
    r"""Memorize distributions or labels with heads that are active after one last token each, and idle after all
    others.

    Tokens and positions are one-hot. A head of the token c has the query $W_Q = e_c$, which is exactly 0 after every
    other last token; there its attention is exactly uniform. All heads have the same $W_V$, and one more head, with
    $W_Q = 0$, takes away with $W_O = -\sum_h W_O^h$ what uniform attention writes. After c the stream is

    $$ x_S + \sum_{h \text{ of } c} \Bigl( \sum_s \bigl( a^h_s - \tfrac1S \bigr) x_s \Bigr) W_V W_O^h , $$

    so the features are block-diagonal and the outputs of each token's heads solve a system of their own. Distinct
    contexts of two tokens or more have, for almost all keys, features of full rank as soon as each last token has as
    many heads as contexts; usually as many columns will do. Badly conditioned classes are drawn again, then with more
    heads.

    Args:
        task: Distinct contexts of two tokens or more.
        d_head: Dimension of the values, at most d; by default a quarter of it.
        dtype: The precision that every weight is rounded to; what is drawn is held by all of them.
        seed: Seed of the keys and values; on one machine equal arguments give equal bits.
        progress: Called with the stage, its finished share, and a detail.

    Returns:
        The weights, with `d_model` = N + S (at least K - 1 for distributions over K answers) and `d_qk` = 1.

    Raises:
        InputError: A precision that is none, or a head wider than the model.
        HypothesisError: Contexts of one token.
        CapacityError: No draw has features of full rank for some last token.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> found = last_token_heads_memory(enumerated_task(4, 3, target="distributions"))
        >>> found.summary
        '64 contexts by 81 heads of dimension 1 for 4 last tokens, d = 7, 2345 parameters'
        >>> np.bincount(found.owner + 1).tolist()
        [1, 20, 20, 20, 20]
    """
    require_precision(dtype)
    if task.n_ctx < 2:
        raise HypothesisError(_CLAIM, "contexts of two tokens or more", f"they have {task.n_ctx}")
    d_model, d_head = _dimensions(task, d_head)
    find = distribution_memory.targets if task.target == "distributions" else association_memory.targets
    W_U, targets = find(task, d_model, seed=seed)
    W_E = np.eye(task.d_vocab, d_model)
    W_pos = np.eye(task.n_ctx, d_model, task.d_vocab) / 2
    classes = _classes(task.contexts)
    best = _drawn(task, W_E, W_pos, targets, classes, d_head, seed, progress)
    if best is None:
        raise CapacityError(_CLAIM, "features of full rank for every last token", "no draw of values and keys has them")
    W_V, solved = best
    owner = np.append(np.repeat(list(classes), [len(part.keys) for part in solved]), -1)
    W_Q = np.append(W_E, np.zeros((1, d_model)), axis=0)[owner][:, :, None]
    W_K = np.zeros((len(owner), d_model, 1))
    written = np.concatenate([part.output for part in solved])
    if dtype != "float64":
        written = written.astype(np.float32).astype(np.float64)
    written = written.reshape(len(owner) - 1, d_head, -1)
    ends = np.cumsum([len(part.keys) for part in solved])
    for end, part in zip(ends.tolist(), solved, strict=True):
        if part.of_pairs:
            written[end - 1] = -written[end - 1 - part.of_pairs : end - 1].sum(axis=0)
    W_K[:-1, : task.d_vocab + task.n_ctx, 0] = np.concatenate([part.keys for part in solved])
    W_O = np.zeros((len(owner), d_head, d_model))
    W_O[:-1, :, : targets.shape[1]] = written
    W_O[-1] = -W_O[:-1].sum(axis=0)
    model = rounded_model(dana_network(W_E, W_pos, W_Q, W_K, np.tile(W_V, (len(owner), 1, 1)), W_O, W_U), dtype)
    return LastTokenHeads(
        task=task,
        model=model,
        summary=f"{counted(task.n_contexts, 'context')} by {counted(len(owner), 'head')} of dimension {d_head} for "
        f"{counted(len(classes), 'last token')}, d = {d_model}, {model.parameters} parameters",
        owner=owner,
        condition=max(part.condition for part in solved),
        residual=max(part.residual for part in solved),
        fewest=_fewest_heads(task, d_head),
    )


def _dimensions(task: Task, d_head: int | None) -> tuple[int, int]:
    """Return the number of coordinates: one per token and position, and those that distributions need
    (Proposition 2).
    """
    d_model = task.d_vocab + task.n_ctx
    if task.target == "distributions":
        d_model = max(d_model, task.n_answers - 1)
    d_head = max(1, d_model // 4) if d_head is None else d_head
    if not 1 <= d_head <= d_model:
        raise InputError("d_head", f"= {d_head}", f"1 .. d_model = {d_model}")
    return d_model, d_head


def fewest_parameters_by_last_tokens(task: Task) -> int:
    """Return a lower bound of the entries that this memory needs for a task.

    Each last token needs as many columns of features as it ends contexts.

    Args:
        task: The contexts and the targets to memorize.

    Returns:
        $(N + K + S) d + 2 d (1 + d_h) H$ with the least H.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> fewest_parameters_by_last_tokens(enumerated_task(4, 3, target="distributions"))
        1897
    """
    d_model, d_head = _dimensions(task, None)
    n_heads = _fewest_heads(task, d_head)
    return (task.d_vocab + task.n_answers + task.n_ctx) * d_model + 2 * d_model * (1 + d_head) * n_heads


def _fewest_heads(task: Task, d_head: int) -> int:
    _, counts = np.unique(task.contexts[:, -1], return_counts=True)
    return 1 + int((-(-counts // d_head)).sum())


class _Solved(NamedTuple):
    """The heads of one last token: their keys `[H_c, N + S]` and outputs `[H_c d_h, r]`.

    So many heads `of_pairs` come before the last one, which takes away with the sum of their outputs what is read at
    the position before the last.
    """

    keys: Float64Array
    output: Float64Array
    condition: float
    residual: float
    of_pairs: int = 0


def _classes(contexts: Int64Array) -> dict[int, Int64Array]:
    """Return the contexts of each last token."""
    order = np.argsort(contexts[:, -1], kind="stable")
    tokens, starts = np.unique(contexts[order, -1], return_index=True)
    return dict(zip(tokens.tolist(), np.split(order, starts[1:]), strict=True))


def _drawn(
    task: Task,
    W_E: Float64Array,
    W_pos: Float64Array,
    targets: Float64Array,
    classes: dict[int, Int64Array],
    d_head: int,
    seed: int,
    progress: Progress | None,
) -> tuple[Float64Array, list[_Solved]] | None:
    """Return values shared by all heads, and the heads of each last token; None if no draw of the values serves all
    tokens.
    """
    for draw in range(_DRAWS):
        rng = np.random.default_rng((seed, draw))
        W_V = bfloat16_rounded(rng.standard_normal((W_E.shape[1], d_head)))
        values = W_E @ W_V, W_pos @ W_V
        solved: list[_Solved] = []
        for token, rows in classes.items():
            if progress is not None:
                progress(
                    "heads",
                    len(solved) / len(classes),
                    f"{counted(len(rows), 'context')} end with {task.vocabulary[token]!r}",
                )
            right = targets[rows] - (W_E[token] + W_pos[-1])[: targets.shape[1]]
            class_heads = _of_class(task.contexts[rows], values, right, np.random.default_rng((seed, draw, token)))
            if class_heads is None:
                break
            solved.append(class_heads)
        if len(solved) == len(classes):
            return W_V, solved
    return None


def _of_class(
    contexts: Int64Array,
    values: tuple[Float64Array, Float64Array],
    right: Float64Array,
    rng: np.random.Generator,
) -> _Solved | None:
    """Return heads for the contexts of one last token: first those for rare pairs, then those for each common pair."""
    # Where all tokens are equal, the heads of their pair prefer the position before the last as well.
    before, equal = contexts[:, -2], (contexts == contexts[:, -1:]).all(axis=1)
    tokens, counts = np.unique(before[~equal], return_counts=True)
    common = tokens[counts >= _PAIR] if len(contexts) > _COSTLY else tokens[:0]
    rest = equal | ~np.isin(before, common)
    groups: list[_Solved] = []
    if rest.any():
        of_rest = _solved(contexts[rest], values, right[rest], rng)
        if of_rest is None:
            return None
        groups.append(of_rest)
    for token in common.tolist():
        rows = (before == token) & ~rest
        wanted = right[rows]
        if rest.any():  # these heads read something of all contexts
            wanted = wanted - centred_features(contexts[rows], groups[0].keys, values) @ groups[0].output
        of_pair = _solved(contexts[rows], values, wanted, rng, token)
        if of_pair is None:
            return None
        groups.append(of_pair)
    of_pairs = sum(len(part.keys) for part in groups[int(rest.any()) :])
    keys, outputs = [part.keys for part in groups], [part.output for part in groups]
    if of_pairs:
        keys.append(_gated(np.zeros((1, keys[0].shape[1])), None))
        outputs.append(np.zeros((values[0].shape[1], right.shape[1])))
    condition, residual = max(part.condition for part in groups), max(part.residual for part in groups)
    return _Solved(np.concatenate(keys), np.concatenate(outputs), condition, residual, of_pairs)


def _gated(keys: Float64Array, token: int | None) -> Float64Array:
    """Return keys that attend almost only to the position before the last, unless it does not hold the token."""
    before_last = keys.shape[1] - 2
    result = keys.copy()
    result[:, before_last] += 2.0 * _GATE  # positions are halves of unit vectors
    if token is not None:
        result[:, token] -= _GATE
    return bfloat16_rounded(result)


def _solved(
    contexts: Int64Array,
    values: tuple[Float64Array, Float64Array],
    right: Float64Array,
    rng: np.random.Generator,
    gate: int | None = None,
) -> _Solved | None:
    """Return heads for the contexts of one last token: the best draw of the fewest heads with well-conditioned
    features.

    With a gate, the token of all of them before the last, they are heads of this pair.
    """
    size, width = len(contexts), values[0].shape[1]
    n_heads = math.ceil(_SLACK * size / width)
    good = _GOOD if size <= _COSTLY and gate is None else _FAIR
    best: tuple[Float64Array, RightInverse] | None = None
    for _ in range(_TRIES):
        for _ in range(_DRAWS):
            keys = bfloat16_rounded(_SPREAD * rng.standard_normal((n_heads, sum(map(len, values)))))
            keys = keys if gate is None else _gated(keys, gate)
            try:
                inverse = right_inverse(centred_features(contexts, keys, values, of_pair=gate is not None))
            except HypothesisError:
                continue  # dependent features
            if best is None or inverse.condition < best[1].condition:
                best = keys, inverse
            if inverse.condition <= good:
                break
        if best is not None and best[1].condition <= good:
            break
        n_heads += math.ceil(n_heads / 8)
    if best is None:
        return None
    output = best[1].solve(right)
    residual = float(np.abs(best[1].matrix @ output - right).max(initial=0.0))
    return _Solved(best[0], output, best[1].condition, residual) if residual <= _LOOSE else None


def centred_features(
    contexts: Int64Array, keys: Float64Array, values: tuple[Float64Array, Float64Array], *, of_pair: bool = False
) -> Float64Array:
    r"""Return the features minus those of uniform attention, $\sum_s (a^h_s - \frac1S) x_s W_V$, for one last token.

    Args:
        contexts: Tokens, `[T, S]`.
        keys: For each head, the scores of the tokens, then twice those of the positions, `[H, N + S]`, nats.
        values: $x W_V$ of the tokens `[N, d_h]` and of the positions `[S, d_h]`.
        of_pair: Instead what they read more than $x_{S - 1} W_V$.

    Returns:
        Array `[T, H * d_h]`.

    Example:
        >>> keys, values = np.array([[0.0, np.log(3.0), 0.0, 0.0]]), (np.eye(2), np.zeros((2, 2)))
        >>> centred_features(np.array([[1, 0], [0, 0]]), keys, values).round(3).tolist()
        [[-0.25, 0.25], [0.0, 0.0]]
    """
    tokens, places = values
    n_heads, n_ctx = len(keys), contexts.shape[1]
    of_token, of_place = np.ascontiguousarray(keys[:, : len(tokens)].T), keys[:, len(tokens) :].T / 2
    result = np.empty((len(contexts), n_heads, tokens.shape[1]))
    usual = np.eye(1, n_ctx, n_ctx - 2)[0] if of_pair else np.full(n_ctx, 1.0 / n_ctx)
    step = max(1, _WORKING_ENTRIES // (n_ctx * n_heads))
    for start in range(0, len(contexts), step):
        part = contexts[start : start + step]
        surplus = softmax(of_token[part] + of_place) - usual[:, None]
        np.matmul(surplus.transpose(0, 2, 1), tokens[part] + places, out=result[start : start + step])
    return result.reshape(len(contexts), -1)
