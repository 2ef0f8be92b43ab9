"""Build a look-up table of all bigrams: one head per first token, and outputs in closed form.

Page: docs/claims/look_up_table.md
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from constructions.encoders.association_memory import targets
from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.model.construction import Construction
from constructions.model.exact_network import ExactFrontEnd, as_floats, as_rationals, exact_network
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import enumerated_task
from constructions.tasks.task import Task

Array = NDArray[Any]

_CLAIM = "The look-up table"
_NEARLY_SINGULAR = 1e-6  # of N: a float64 table that close to a singular one would be useless


def lookup_front_end(d_vocab: int, *, gap: int, position: Sequence[fmpq | float] | None = None) -> ExactFrontEnd:
    r"""Return N heads over the rationals; head r tells whether the first of two tokens is r.

    Tokens are the unit vectors, `W_pos` is $p$ at the first position and 0 at the second, and `W_V` is the identity. Of
    head r the score of the first position exceeds that of the second by `gap` if the first token is r, and falls short
    of it by as much otherwise, whatever the second token is. With $\sigma = \sum_n p_n \ne 0$ that is

    $$ W_Q W_K^\top [c, n] = \mathrm{gap} \cdot (2 [n = r] + \kappa_c), \qquad
       \kappa_c = (2 [c = r] - 1 - 2 p_r) / \sigma, $$

    of rank two, so that `d_qk` = 2 is enough.

    Args:
        d_vocab: Size of the vocabulary N, which is also the width, the number of heads and their dimension.
        gap: Difference of the two scores in units of ln 2.
        position: $p$, N rationals, or floats that count as the rationals they are; by default minus the first unit
            vector, for which all scores are integers.

    Returns:
        The front end.

    Raises:
        InputError: No token, or a position of another length.
        HypothesisError: $\sigma = 0$, for which no such scores exist.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> front_end = lookup_front_end(3, gap=8)
        >>> front_end.n_heads, front_end.d_head, front_end.W_Q[0].ncols()
        (3, 3, 2)
    """
    p = _position(d_vocab, position)
    total = sum(p, fmpq(0))
    if total == 0:
        raise HypothesisError(_CLAIM, "a first position whose entries do not sum to 0", f"they sum to {total}")
    identity = as_rationals(np.eye(d_vocab))
    queries, keys = [], []
    for r in range(d_vocab):
        queries.append(as_rationals([[1, (2 * int(c == r) - 1 - 2 * p[r]) / total] for c in range(d_vocab)]))
        keys.append(as_rationals([[2 * gap * int(n == r), gap] for n in range(d_vocab)]))
    return ExactFrontEnd(
        W_E=identity,
        W_pos=as_rationals([p, [0] * d_vocab]),
        W_Q=tuple(queries),
        W_K=tuple(keys),
        W_V=(identity,) * d_vocab,
    )


def lookup_output(wanted: Array, attention: Any, position: Sequence[Any]) -> Array:
    r"""Return, in closed form, the outputs of the heads of `lookup_front_end` that add up to given vectors.

    Let $a \ne \frac12$ be the attention of head r to a first token r, $v_n = e_n + p$ and $F_{n,c}$ what the heads
    shall write on the bigram (n, c); sums over absent indices are meant. With $m = 1 + a (N - 2)$,

    $$ G = \frac{m \sum_n v_n F_n - (\mathbf 1 + N p) F}{\sigma m - N (1 + \sigma)}, \quad
       O = \frac{F - G}{m}, \quad g_n = \frac{v_n F_n - v_n O}{\sigma}, \quad
       O^n_c = \frac{a O_c + g_n - F_{n,c}}{2 a - 1}, $$

    where $F = \sum_n F_n$ and $O$ is the sum of the outputs $O^n$. Nothing but field operations takes part: rational
    arrays give exact outputs.

    Args:
        wanted: $F$, indexed by first token, second token and coordinate, `[N, N, r]`; float64, or objects of fmpq.
        attention: $a$, a number of the same kind.
        position: $p$, N numbers of the same kind.

    Returns:
        W_O of each head, `[N, N, r]`.

    Raises:
        HypothesisError: $a = \frac12$, or one of the denominators is 0: the features are singular.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> wanted = np.arange(8.0).reshape(2, 2, 2)
        >>> p = np.array([-1.0, 0.0])
        >>> W_O = lookup_output(wanted, 0.75, p)
        >>> features = np.array([0.25 * (np.eye(2)[0] + p) + 0.75 * np.eye(2)[1],  # head 1 on the bigram (0, 1)
        ...                      0.75 * (np.eye(2)[0] + p) + 0.25 * np.eye(2)[1]])
        >>> (features[1] @ W_O[0] + features[0] @ W_O[1]).round(12).tolist(), wanted[0, 1].tolist()
        ([2.0, 3.0], [2.0, 3.0])
    """
    d_vocab = len(wanted)
    p = np.array(list(position), dtype=wanted.dtype)
    total = p.sum()
    mixed = 1 + attention * (d_vocab - 2)
    determinant = total * mixed - d_vocab * (1 + total)
    for name, value in (("2 a - 1", 2 * attention - 1), ("m", mixed), ("sigma", total), ("det", determinant)):
        if value == 0:
            raise HypothesisError(
                _CLAIM, "features that are not singular", f"{name} = 0 for N = {d_vocab}, a = {attention}"
            )
    along = np.array([wanted[n, n] + p @ wanted[n] for n in range(d_vocab)])  # v_n F_n
    summed = wanted.sum(axis=0)
    shift = (along.sum(axis=0) * mixed - (summed.sum(axis=0) + (p @ summed) * d_vocab)) / determinant
    output = (summed - shift) / mixed
    correction = (along - (output + p @ output)) / total
    return (output * attention + correction[:, np.newaxis] - wanted) / (2 * attention - 1)


def exact_lookup_table(
    stream: fmpq_mat, W_U: fmpq_mat, *, gap: int, position: Sequence[fmpq | float] | None = None
) -> Model:
    """Return a rational network with a given residual stream on every bigram.

    Args:
        stream: The stream on the bigrams in lexicographic order, `[N^2, N]`.
        W_U: The unembedding, `[N, N_out]`.
        gap: Difference of the scores in units of ln 2, not 0.
        position: $p$, as in `lookup_front_end`.

    Returns:
        The network, of N heads of dimension N: $T = N^2 = H d_h$.

    Raises:
        InputError: Shapes that do not fit.
        HypothesisError: The features are singular.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> from constructions.model.exact_attention import exact_logits
        >>> stream, one = as_rationals([[1, 2], [3, 4], [5, 6], [7, 8]]), as_rationals([[1, 0], [0, 1]])
        >>> bigrams = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> exact_logits(exact_lookup_table(stream, one, gap=3), bigrams) == stream
        True
    """
    d_vocab = stream.ncols()
    if stream.nrows() != d_vocab**2 or d_vocab == 0:
        raise InputError("stream", f"has {stream.nrows()} rows and {d_vocab} columns", "N^2 and N")
    p = _position(d_vocab, position)
    front_end = lookup_front_end(d_vocab, gap=gap, position=p)
    wanted = np.array(stream.entries(), dtype=object).reshape(d_vocab, d_vocab, d_vocab)
    wanted = wanted - np.array(front_end.W_E.entries(), dtype=object).reshape(d_vocab, d_vocab)
    powers = fmpq(2) ** abs(gap)
    attention = powers / (1 + powers) if gap >= 0 else 1 / (1 + powers)
    outputs = lookup_output(wanted, attention, p)
    return exact_network(front_end, [as_rationals(output) for output in outputs], W_U)


def lookup_table(task: Task, *, gap: float = 8.0, total: float = -2.0) -> Model:
    r"""Memorize the labels of bigrams, up to all $N^2 = H d_h$, with N heads of dimension N = d.

    The uniform position $p = (\sigma / N) \mathbf 1$ of `lookup_front_end`, the outputs of `lookup_output`, and the
    stream of `constructions.encoders.association_memory.targets`. For $\sigma = -2$ the features are nonsingular for
    every gap but 0, unless N = 2, when they never are; at a gap of 8 nats their condition number is about 3 N, and
    about N for $\sigma = -N/2$. So the weights are small, and low precision is enough.

    Args:
        task: Contexts of two tokens, and labels.
        gap: Difference of the scores in nats, not 0.
        total: $\sigma$, not 0.

    Returns:
        The network; its logits have the label in front by log N + 34 nats on the contexts of the task.

    Raises:
        InputError: Contexts that are not bigrams, or a gap or total that is not a finite number.
        HypothesisError: The features are singular, or nearly so.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> from constructions.model.attention import logits
        >>> task = enumerated_task(5, 2)
        >>> network = lookup_table(task)
        >>> bool((logits(network, task.contexts).argmax(axis=1) == task.labels).all())
        True
        >>> network.n_heads * network.d_head == task.n_contexts
        True
    """
    if task.n_ctx != 2:
        raise InputError("task", f"has contexts of {task.n_ctx} tokens", "2")
    if not (np.isfinite(gap) and np.isfinite(total)):
        raise InputError("gap", f"= {gap} and total = {total}", "finite numbers")
    d_vocab = task.d_vocab
    attention = float(1.0 / (1.0 + np.exp(-gap)))
    margin = d_vocab + total * (d_vocab - 1 - attention * (d_vocab - 2))
    nearest = min(abs(margin) / d_vocab, abs(total), abs(2 * attention - 1))
    if not nearest > _NEARLY_SINGULAR:
        raise HypothesisError(
            _CLAIM,
            "total != 0, gap != 0 and N + total (N - 1 - a (N - 2)) != 0 for the attention a",
            f"N = {d_vocab}, gap = {gap}, total = {total}",
        )
    W_U, stream = targets(task, d_vocab)
    wanted = np.zeros((d_vocab, d_vocab, d_vocab))
    first, second = task.contexts.T
    wanted[first, second, : stream.shape[1]] = stream
    p = [total / d_vocab] * d_vocab
    front_end = lookup_front_end(d_vocab, gap=1, position=p)
    return dana_network(
        W_E=as_floats(front_end.W_E),
        W_pos=as_floats(front_end.W_pos),
        W_Q=np.stack([as_floats(query) for query in front_end.W_Q]),
        W_K=gap * np.stack([as_floats(key) for key in front_end.W_K]),
        W_V=np.stack([as_floats(value) for value in front_end.W_V]),
        W_O=lookup_output(wanted - np.eye(d_vocab), attention, p),
        W_U=W_U,
    )


def random_lookup_table(*, d_vocab: int, gap: int, seed: int) -> Construction[Task]:
    """Return the look-up table of all bigrams, with random labels.

    Args:
        d_vocab: Size of the vocabulary N, not 2.
        gap: Difference of the scores in nats, at least 1.
        seed: Seed of the labels.

    Returns:
        The network of N heads of dimension N.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Corollary 1.

    Example:
        >>> random_lookup_table(d_vocab=3, gap=8, seed=0).summary
        'all 9 bigrams over 3 tokens, in 3 heads of dimension 3 = d'
    """
    task = enumerated_task(d_vocab, 2, seed=seed)
    network = lookup_table(task, gap=float(gap))
    summary = (
        f"all {task.n_contexts} bigrams over {d_vocab} tokens, in {network.n_heads} heads of dimension "
        f"{network.d_head} = d"
    )
    return Construction(task, network, summary)


def _position(d_vocab: int, position: Sequence[fmpq | float] | None) -> list[fmpq]:
    require_at_least(1, d_vocab=d_vocab)
    if position is None:
        return [fmpq(-int(n == 0)) for n in range(d_vocab)]
    if len(position) != d_vocab:
        raise InputError("position", f"has {len(position)} entries", d_vocab)
    return as_rationals([position]).entries()
