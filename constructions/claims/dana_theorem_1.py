r"""Theorem 1 of Dana et al. with epsilon = 0: as many contexts as features and coordinates, at the best divergence.

Page: docs/claims/theorem_1.md
"""

import random
from dataclasses import dataclass

import numpy as np
from flint import fmpq_mat

from constructions.arrays import Int64Array
from constructions.capacity.generic_rank import generic_rank
from constructions.claims.claim import Claim, Hypothesis
from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.features.exact_skip_connection import exact_change_of_basis
from constructions.memories.memory import build_memory
from constructions.memories.parameters import paper_heads
from constructions.models.construction import Construction
from constructions.models.exact_network import ExactFrontEnd, as_rationals
from constructions.models.model import Model
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.task import Task

_DRAWS = 40  # random integer front ends have full rank in the first few draws, if their shape allows it


@dataclass(frozen=True, eq=False)
class ExactMemory:
    r"""A rational network, and the encoder $E W$ whose logits it has on the contexts.

    Args:
        model: The rational network.
        contexts: Tokens, `[T, S]`.
        targets: $E W$, `[T, N]`, integers.
    """

    model: Model
    contexts: Int64Array
    targets: fmpq_mat


def build(
    *, tokens: int, length: int, width: int, head_width: int, heads: int = 0, facts: int = 0, seed: int = 0
) -> Construction[Task]:
    r"""Weights with the logits $\log \pi_t$, up to rounding, on $T \le d + H d_h$ contexts: Theorem 1'.

    Args:
        tokens: Size of the vocabulary, $N \le d + 1$.
        length: Tokens in a context, $S$.
        width: $d$.
        head_width: $d_h \le d$.
        heads: $H$; 0 for the paper's number, $\lceil (T - d) / d_h \rceil$ and at least 1.
        facts: How many contexts, drawn from all; 0 for all $N^S$.
        seed: Of the contexts, the laws and the weights.

    Returns:
        The weights, and the laws that they hold.

    Raises:
        HypothesisError: The contexts do not have rank T with this many heads, or another hypothesis fails.
        CapacityError: No draw of the weights did.
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1, repaired.

    Example:
        >>> made = build(tokens=4, length=2, width=4, head_width=4)
        >>> made.summary
        'laws on 16 of 16 contexts of 2 tokens with 16 = d + H d_h dimensions: N = 4, d = 4, d_h = 4, H = 3'
    """
    task = _task(tokens, length, facts, seed)
    count = heads or paper_heads(task.n_contexts, width, head_width)
    built = build_memory(task, d_model=width, d_head=head_width, n_heads=count, front_end="random", seed=seed)
    summary = (
        f"laws on {task.n_contexts} of {tokens**length} contexts of {length} tokens with "
        f"{width + count * head_width} = d + H d_h dimensions: N = {tokens}, d = {width}, d_h = {head_width}, "
        f"H = {count}"
    )
    return Construction(task=task, model=built.model, summary=summary)


def exact_memory(
    *, tokens: int, length: int, width: int, head_width: int, heads: int = 0, facts: int = 0, seed: int = 0
) -> ExactMemory:
    r"""A rational network with exactly the logits of a random integer encoder of rank at most d: Theorem 1', slack 0.

    The front end has small random integers and scores in units of ln 2, so that attention is rational; the change of
    basis of `constructions.features.exact_skip_connection` does the rest.

    Args:
        tokens: $N$.
        length: $S$.
        width: $d$.
        head_width: $d_h$.
        heads: $H$; 0 for the paper's number.
        facts: How many contexts, drawn from all; 0 for all $N^S$.
        seed: Of the contexts, the encoder and the weights.

    Returns:
        The network and the logits that it is to have.

    Raises:
        CapacityError: No draw of the front end reached the targets.
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1, repaired.

    Example:
        >>> from constructions.models.exact_attention import exact_logits
        >>> made = exact_memory(tokens=3, length=2, width=3, head_width=2)
        >>> made.model.n_heads, exact_logits(made.model, made.contexts) == made.targets
        (3, True)
    """
    contexts = _contexts(tokens, length, facts, seed)
    count = heads or paper_heads(len(contexts), width, head_width)
    rng = np.random.default_rng([seed, 1])
    encoder = as_rationals(rng.integers(-9, 10, (len(contexts), width)))
    unembedding = as_rationals(rng.integers(-2, 3, (width, tokens)) + np.eye(width, tokens, dtype=np.int64))

    def integers(largest: int, rows: int, columns: int) -> fmpq_mat:
        values = rng.integers(-largest, largest + 1, (rows, columns))
        # Zeros keep the rationals short, but in few dimensions they silence a head or a token.
        return as_rationals(values if width > 2 else values + (values >= 0))

    # Small integers keep the rationals short; in d = 1 one number has to tell the tokens apart.
    least, sign = (2, 1) if width > 1 else (tokens + length, 0)
    for draw in range(_DRAWS):
        largest = least + draw // 4
        front_end = ExactFrontEnd(
            W_E=integers(largest, tokens, width),
            W_pos=integers(largest, length, width),
            # Few small vectors have different products: with many heads for d, some have to be larger.
            W_Q=tuple(integers(sign, width, 1) * (1 + head // 4 ** (width - 1)) for head in range(count)),
            W_K=tuple(integers(sign, width, 1) for _ in range(count)),
            W_V=tuple(integers(2, width, head_width) for _ in range(count)),
        )
        try:
            found = exact_change_of_basis(front_end, contexts, encoder, unembedding)
        except HypothesisError:
            continue  # of too small a rank
        return ExactMemory(found.model, contexts, encoder * unembedding)
    raise CapacityError(
        "Theorem 1'",
        f"features [x_S, Y] of rank T = {len(contexts)}",
        f"{_DRAWS} front ends with n_heads = {count}, d_head = {head_width} and d_model = {width} did not reach it",
    )


def _contexts(tokens: int, length: int, facts: int, seed: int) -> Int64Array:
    if tokens < 1 or length < 1:
        raise InputError(f"tokens = {tokens} and length = {length}, expected at least 1")
    number = tokens**length
    if not 0 <= facts <= number or (facts and number >= 2**62):
        raise InputError(f"facts = {facts}, expected 0 .. {number}, as there are {tokens}^{length} contexts")
    if not facts:
        return all_contexts(tokens, length)
    chosen = np.array(sorted(random.Random(seed).sample(range(number), facts)))
    return chosen[:, None] // tokens ** np.arange(length - 1, -1, -1) % tokens


def _task(tokens: int, length: int, facts: int, seed: int) -> Task:
    contexts = _contexts(tokens, length, facts, seed)
    positive = np.random.default_rng([seed, 1]).standard_exponential((len(contexts), tokens)) + 2.0**-20
    return array_task(contexts, laws=positive / positive.sum(axis=1, keepdims=True), vocabulary=tokens)


def _enough(
    *, tokens: int, length: int, width: int, head_width: int, heads: int, facts: int, seed: int, **_: object
) -> bool:
    """Whether almost all weights give the contexts rank T; Theorem F says so for all contexts at once."""
    contexts = _contexts(tokens, length, facts, seed)
    count = heads or paper_heads(len(contexts), width, head_width)
    if len(contexts) > width + count * head_width:
        return False
    if len(contexts) == tokens**length and length >= 2 and width <= tokens:
        return True
    return generic_rank(contexts, d_model=width, d_head=head_width, n_heads=count) == len(contexts)


def _laws_fit(*, tokens: int, length: int, width: int, facts: int, **_: object) -> bool:
    """For S = 1 the features are linear in the stream, of rank T only if the logarithms, of rank N - 1, leave room."""
    return length >= 2 or (facts or tokens) < max(tokens, width) or tokens == 1


CLAIM = Claim(
    id="dana.theorem-1",
    title="D + H d_h contexts at the smallest divergence",
    source="Dana, Pydi, Chevaleyre (2024), Theorem 1 with epsilon = 0",
    printed=(
        "For every pi of full support on T contexts, all d, d_h and H with T <= [[printed: H d_h + d]], and every "
        "gamma > 0, some attention-only transformer has d_KL(pi, transformer) <= d_KL(pi, L(N, S, d)) + gamma."
    ),
    judgement="false",
    truth=(
        "True wherever some weights give [x_S, Y] rank T, in particular for all N^S contexts, S >= 2, d_h <= d <= N; "
        "and then every encoder f = E W of d dimensions is approached, and almost every one reached exactly, without "
        "Assumption 2. With one head, XOR's four contexts cost at least [[exclusive_or: (log 2 - h) / 2]], "
        "h = h(p), whatever d and d_h are."
    ),
    page="docs/claims/theorem_1.md",
    hypotheses=(
        Hypothesis("N >= 1, S >= 1", lambda tokens, length, **_: tokens >= 1 and length >= 1),
        Hypothesis("1 <= d_h <= d", lambda width, head_width, **_: 1 <= head_width <= width),
        Hypothesis("d >= N - 1, for divergence 0", lambda tokens, width, **_: width >= tokens - 1),
        Hypothesis("contexts of generic rank T with these d, d_h, H", _enough),
        Hypothesis("S >= 2, or T < d, or T < N: the laws do not lower the rank of one position", _laws_fit),
    ),
    parameters={"tokens": 16, "length": 2, "width": 16, "head_width": 16, "heads": 0, "facts": 0, "seed": 0},
    build=build,
)
