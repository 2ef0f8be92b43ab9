r"""A rational network with exactly the logits of a random integer encoder.

Page: docs/claims/theorem_1.md
"""

from dataclasses import dataclass

import numpy as np
from flint import fmpq_mat

from constructions.attention.exact_skip_connection import exact_change_of_basis
from constructions.errors import CapacityError, HypothesisError
from constructions.heads_of_theorem_1.parameters import paper_heads
from constructions.model.exact_network import ExactFrontEnd, as_rationals
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.random_facts import drawn_contexts

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


def exact_memory(
    *, d_vocab: int, n_ctx: int, d_model: int, d_head: int, n_heads: int = 0, facts: int = 0, seed: int = 0
) -> ExactMemory:
    r"""Return a rational network with exactly the logits of a random integer encoder of rank at most d: Theorem 1',
    slack 0.

    The front end has small random integers and scores in units of ln 2, so that attention is rational; the change of
    basis of `constructions.attention.exact_skip_connection` does the rest.

    Args:
        d_vocab: $N$.
        n_ctx: $S$.
        d_model: $d$.
        d_head: $d_h$.
        n_heads: $H$; 0 for the paper's number.
        facts: How many contexts, drawn from all; 0 for all $N^S$.
        seed: Seed of the contexts, the encoder and the weights.

    Returns:
        The network and the logits that it is to have.

    Raises:
        CapacityError: No draw of the front end reached the targets.
        InputError: An argument out of range.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1, repaired.

    Example:
        >>> from constructions.model.exact_attention import exact_logits
        >>> made = exact_memory(d_vocab=3, n_ctx=2, d_model=3, d_head=2)
        >>> made.model.n_heads, exact_logits(made.model, made.contexts) == made.targets
        (3, True)
    """
    contexts = drawn_contexts(d_vocab, n_ctx, facts, seed)
    count = n_heads or paper_heads(len(contexts), d_model, d_head)
    rng = np.random.default_rng([seed, 1])
    encoder = as_rationals(rng.integers(-9, 10, (len(contexts), d_model)))
    unembedding = as_rationals(rng.integers(-2, 3, (d_model, d_vocab)) + np.eye(d_model, d_vocab, dtype=np.int64))

    def integers(largest: int, rows: int, columns: int) -> fmpq_mat:
        values = rng.integers(-largest, largest + 1, (rows, columns))
        # Zeros keep the rationals short, but in few dimensions they silence a head or a token.
        return as_rationals(values if d_model > 2 else values + (values >= 0))

    # Small integers keep the rationals short; in d = 1 one number has to tell the tokens apart.
    least, sign = (2, 1) if d_model > 1 else (d_vocab + n_ctx, 0)
    for draw in range(_DRAWS):
        largest = least + draw // 4
        front_end = ExactFrontEnd(
            W_E=integers(largest, d_vocab, d_model),
            W_pos=integers(largest, n_ctx, d_model),
            # Few small vectors have different products: with many heads for d, some have to be larger.
            W_Q=tuple(integers(sign, d_model, 1) * (1 + head // 4 ** (d_model - 1)) for head in range(count)),
            W_K=tuple(integers(sign, d_model, 1) for _ in range(count)),
            W_V=tuple(integers(2, d_model, d_head) for _ in range(count)),
        )
        try:
            change_of_basis = exact_change_of_basis(front_end, contexts, encoder, unembedding)
        except HypothesisError:
            continue  # of too small a rank
        return ExactMemory(change_of_basis.model, contexts, encoder * unembedding)
    raise CapacityError(
        "Theorem 1'",
        f"features [x_S, Y] of rank T = {len(contexts)}",
        f"{_DRAWS} front ends with n_heads = {count}, d_head = {d_head} and d_model = {d_model} did not reach it",
    )
