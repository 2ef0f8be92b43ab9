r"""Distributions of any contexts, each written by the one neuron that its context turns on, in numbers that no run
rounds.

Page: docs/claims/one_hot_distributions.md
"""

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError
from constructions.model.blocks import Attention, FeedForward
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND, Precision, require_precision, rounded_model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task

_CLAIM = "The memory of one-hot distributions"
_SHARP = 1024.0  # what other positions score less at least, so that they weigh 0
_LONGEST = 2000  # tokens: 3 S^2 <= 2^24, so that scores are exact


def one_hot_distributions_memory(task: Task, *, dtype: Precision = "float32") -> Construction[Task]:
    """Memorize distributions of any distinct contexts such that every run has the stored logits, bit for bit.

    Each of S hard heads reads the digits of one token, and their squares, so that the stream is $(x, |x|^2)$ with the
    integers x of the context. The neuron i is $(1 - 2 |x - x_i|^2)_ +$: 1 on its own context, and off on all others,
    whose distance is an integer. It writes the logarithms of its distribution, less that of the last answer.

    Args:
        task: Contexts of up to 2000 tokens, with distributions.
        dtype: The precision that every weight is rounded to, and in which sums of digits are exact.

    Returns:
        The model: one layer of attention, one of T neurons, and an unembedding that copies.

    Raises:
        HypothesisError: A task of labels, or longer contexts.
        CapacityError: So many positions that no digits have exact sums.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> one_hot_distributions_memory(enumerated_task(3, 2, target="distributions")).summary
        '9 distributions by 2 digits in base 3 and one neuron each, 126 parameters'
    """
    require_precision(dtype)
    if task.distributions is None:
        raise HypothesisError(_CLAIM, "distributions", f"the target is {task.target!r}")
    logarithms = np.log(task.distributions)
    outputs = logarithms[:, :-1] - logarithms[:, -1:] if task.n_answers > 1 else np.zeros((task.n_contexts, 1))
    W_U = np.eye(outputs.shape[1], task.n_answers) if task.n_answers > 1 else np.zeros((1, 1))
    model = one_hot_model(task, outputs, W_U, dtype)
    base, count = digits_of(task.d_vocab, task.n_ctx, SIGNIFICAND[dtype])
    return Construction(
        task,
        model,
        f"{counted(task.n_contexts, 'distribution')} by {counted(count * task.n_ctx, 'digit')} in base {base} and "
        f"one neuron each, {model.parameters} parameters",
    )


def one_hot_model(task: Task, outputs: Float64Array, W_U: Float64Array, dtype: Precision) -> Model:
    """Return the model in which the neuron of each context writes its row of the outputs, rounded.

    Args:
        task: Contexts of up to 2000 tokens.
        outputs: `[T, D]`.
        W_U: What reads them, `[D, K]`.
        dtype: The precision in which sums of digits are exact.

    Raises:
        HypothesisError: Longer contexts.
        CapacityError: So many positions that no digits have exact sums.
    """
    n_ctx, size, contexts = task.n_ctx, task.d_vocab, task.contexts
    if n_ctx > _LONGEST:
        raise HypothesisError(_CLAIM, f"contexts of at most {_LONGEST} tokens", f"they have {n_ctx}")
    base, count = digits_of(size, n_ctx, SIGNIFICAND[dtype])
    code = centred_digits(size, base, count)
    place = np.arange(n_ctx, dtype=np.float64)
    W_E, W_pos = np.zeros((size, count + 3)), np.zeros((n_ctx, count + 3))
    W_E[:, :count], W_E[:, count] = code, (code**2).sum(axis=1)
    W_pos[:, -2], W_pos[:, -1] = place, place**2
    x = code[contexts].reshape(len(contexts), -1)
    neurons = FeedForward(
        W_in=np.vstack([4.0 * x.T, np.full((1, len(x)), -2.0)]),
        b_in=1.0 - 2.0 * (x**2).sum(axis=1),
        W_out=outputs,
        skip=False,
    )
    model = Model(blocks=(_all_digits(n_ctx, count), neurons), W_U=W_U, W_E=W_E, W_pos=W_pos)
    return rounded_model(model, dtype)


def one_hot_distributions_parameters(task: Task, *, dtype: Precision = "float32") -> int:
    r"""Count the parameters of the memory of one-hot distributions; 0 if it refuses the task.

    With k digits, $d = k + 3$ and $D = \max(K - 1, 1)$ they are
    $(N + S) d + S (2 d + 1 + d (k + 1) + (k + 1) (S k + 1)) + T (S k + 2 + D) + D K$.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> one_hot_distributions_parameters(enumerated_task(3, 2, target="distributions"))
        126
    """
    n_ctx, size, outputs = task.n_ctx, task.d_vocab, max(task.n_answers - 1, 1)
    if task.distributions is None or n_ctx > _LONGEST:
        return 0
    _, k = digits_of(size, n_ctx, SIGNIFICAND[dtype])
    d = k + 3
    of_heads = n_ctx * (2 * d + 1 + d * (k + 1) + (k + 1) * (n_ctx * k + 1))
    return (size + n_ctx) * d + of_heads + task.n_contexts * (n_ctx * k + 2 + outputs) + outputs * task.n_answers


def digits_of(d_vocab: int, n_ctx: int, precision: int) -> tuple[int, int]:
    r"""Return the base B, and how many digits a token has: as few as leave all sums exact, $2 S k B^2 + 1 \le 2^p$.

    Raises:
        CapacityError: No base does.

    Example:
        >>> digits_of(103, 4, 24), digits_of(5000, 4, 24), digits_of(103, 4, 8)
        ((103, 1), (71, 2), (2, 7))
    """
    for count in range(1, max(1, (d_vocab - 1).bit_length()) + 1):
        base = next(b for b in range(2, max(d_vocab, 2) + 1) if b**count >= d_vocab)
        if 2 * n_ctx * count * base**2 + 1 <= 1 << precision:
            return base, count
    raise CapacityError(_CLAIM, f"sums of digits that {precision} bits hold", f"contexts of {n_ctx} tokens have none")


def centred_digits(d_vocab: int, base: int, count: int) -> Float64Array:
    """Return the digits of each token minus the middle one, `[tokens, count]`.

    Example:
        >>> centred_digits(4, 2, 2).tolist()
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    return (np.arange(d_vocab)[:, None] // base ** np.arange(count) % base - (base - 1) // 2).astype(np.float64)


def _all_digits(n_ctx: int, count: int) -> Attention:
    """Return a head for each position: it writes the digits, and adds the square."""
    d, wide = count + 3, n_ctx * count + 1
    W_V, W_O = np.tile(np.eye(d, count + 1), (n_ctx, 1, 1)), np.zeros((n_ctx, count + 1, wide))
    for h in range(n_ctx):
        W_O[h, :count, h * count : (h + 1) * count] = np.eye(count)
        W_O[h, count, -1] = 1.0
    return head_for_each_position(np.arange(n_ctx), W_V, W_O)


def head_for_each_position(positions: Int64Array, W_V: Float64Array, W_O: Float64Array) -> Attention:
    """Return heads that read one position each, if the stream ends in p and $p^2$ there: the score is $-1024 (p -
    h)^2$.

    Args:
        positions: h, `[n_heads]`.
        W_V: `[n_heads, d_model, d_head]`.
        W_O: `[n_heads, d_head, d_out]`.
    """
    n_heads, d = W_V.shape[:2]
    W_K = np.zeros((n_heads, d, 1))
    W_K[:, -2, 0], W_K[:, -1, 0] = 2.0 * positions, -1.0
    b_Q = np.full((n_heads, 1), _SHARP)
    return Attention(W_Q=np.zeros((n_heads, d, 1)), b_Q=b_Q, W_K=W_K, W_V=W_V, W_O=W_O, skip=False)
