r"""Labels packed into long words, which ReLU neurons unpack bit by bit: more facts than nonzero entries.

Page: docs/claims/bits.md
"""

import numpy as np

from constructions.bigrams.token_blocks import require_labelled_bigrams
from constructions.counted import counted
from constructions.encoders.scalar_label_code import numbered_labels
from constructions.errors import InputError
from constructions.models.blocks import Attention, Block, FeedForward
from constructions.models.construction import Construction
from constructions.models.model import Model
from constructions.models.precision import SIGNIFICAND, Precision, require_precision
from constructions.tasks.task import Task

_CLAIM = "The memory of packed words"
_WIDTH = 4  # of the stream behind the words: what is left of the word, the index, the digit, the answer


def packed_words_memory(
    task: Task, *, dtype: Precision = "float64", labels_per_word: int | None = None
) -> Construction[Task]:
    r"""Hold any labels of bigrams, several in each number of the embedding, with integers alone.

    With digits of c bits, $B = 2^c \ge K$, the token a carries the words $w_g(a) = \sum_{j < m} B^j l(a, g m + j)$, one
    for each of the $\lceil N / m \rceil$ groups of last tokens; the token b carries its group, as an indicator, and its
    place j in the group. One head with scores 0 brings the words of the first token to the last position,
    $-w(b) - 2 \cdot \frac12 (-w(a) - w(b)) = w(a)$; the neurons $(w_g + B^m [g = g(b)] - B^m)_ +$ leave the word of the
    group of b; and of that one block of two neurons takes each bit, from the highest on, and one of five neurons adds
    the digit to the answer if it is the one at the place j.

    Every weight is an integer, and every number that occurs too (the attention is exactly 1/2), at most $2^{m c + 1}$:
    so in the precision that is asked for nothing is rounded, neither in the weights nor in a run that adds the skip
    connection last.

    Args:
        task: Contexts of two tokens, and labels, at most 2^12 different ones. Bigrams that are not named cost the same.
        dtype: The precision in which all is exact.
        labels_per_word: m, with $m c + 1$ at most the bits of the precision; by default what gives the fewest entries.

    Returns:
        The model: one head, a block that changes the width of the stream to 4, and $m (c + 1)$ blocks of neurons.

    Raises:
        InputError: A precision that is none, or no such m.
        HypothesisError: A task of laws, or contexts of another length than 2.
        CapacityError: More than 2^12 labels.

    Source: bits taken out of words by ReLU neurons as in Vardi, Yehudai, Shamir (2021), reconstructed.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> packed_words_memory(enumerated_task(50, 2)).summary
        '2500 bigrams by 7 words of 8 labels of 6 bits for each token, 58 blocks, 2654 parameters'
    """
    require_precision(dtype)
    require_labelled_bigrams(task, _CLAIM)
    answers, labels = numbered_labels(task.labels, _CLAIM)
    bits, size = max(1, (len(answers) - 1).bit_length()), task.vocabulary_size
    most = (SIGNIFICAND[dtype] - 1) // bits
    if labels_per_word is None:
        counts = {m: entries(size, m, bits) for m in range(1, min(most, size) + 1)}
        labels_per_word = min(counts, key=counts.__getitem__)
    if not 1 <= labels_per_word <= most:
        raise InputError(f"labels_per_word = {labels_per_word}, expected 1 .. {most}: labels of {bits} bits in {dtype}")
    m, groups = labels_per_word, -(-size // labels_per_word)
    words = np.zeros((size, groups))
    first, last = task.contexts.T
    np.add.at(words, (first, last // m), np.ldexp(labels.astype(np.float64), last % m * bits))
    tokens = np.arange(size)
    W_E = np.concatenate([-words, np.eye(groups)[tokens // m], (tokens % m)[:, None]], axis=1)
    W_U, b_U = np.zeros((_WIDTH, task.n_answers)), np.full(task.n_answers, -1.0)  # what is never a label is behind by 1
    W_U[3, answers] = np.arange(len(answers))
    b_U[answers] = -(np.arange(len(answers)) ** 2) / 2.0
    blocks: list[Block] = [_first_words(groups), _one_word(groups, 2.0 ** (m * bits))]
    for digit in reversed(range(m)):
        blocks += [_taken_bit(digit * bits + bit, bit) for bit in reversed(range(bits))]
        blocks.append(_chosen_digit(digit, 2.0**bits))
    model = Model(blocks=tuple(blocks), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=np.zeros((2, W_E.shape[1])))
    return Construction(
        task,
        model,
        f"{counted(task.n_contexts, 'bigram')} by {counted(groups, 'word')} of {counted(m, 'label')} of "
        f"{counted(bits, 'bit')} for each token, {len(blocks)} blocks, {model.parameters} parameters",
    )


def entries(tokens: int, labels_per_word: int, bits: int) -> int:
    r"""The entries of a memory of packed words, zeros included, where the tokens are the answers.

    Args:
        tokens: N.
        labels_per_word: m.
        bits: c, of a label.

    Returns:
        With $G = \lceil N / m \rceil$, $d = 2 G + 1$: $(N + 4) d + 2 d G + (d + 5)(G + 1) + (18 c + 45) m + 5 N$.

    Example:
        >>> entries(50, 8, 6)
        2654
    """
    groups = -(-tokens // labels_per_word)
    width = 2 * groups + 1
    unpacking = (18 * bits + 45) * labels_per_word
    return (tokens + 4) * width + 2 * width * groups + (width + 5) * (groups + 1) + unpacking + 5 * tokens


def _first_words(groups: int) -> Attention:
    """The head that leaves, of the words of both tokens, those of the first."""
    words = np.eye(2 * groups + 1, groups)[None]
    nothing = np.zeros((1, 2 * groups + 1, 1))
    return Attention(W_Q=nothing, W_K=nothing, W_V=words, W_O=-2.0 * words.transpose(0, 2, 1))


def _one_word(groups: int, above: float) -> FeedForward:
    """The word of the group that is indicated, beside the index; `above` is larger than every word."""
    read = np.concatenate([np.eye(groups), above * np.eye(groups), np.zeros((1, groups))])
    W_in = np.concatenate([read, np.eye(2 * groups + 1)[:, -1:]], axis=1)
    W_out = np.zeros((groups + 1, _WIDTH))
    W_out[:-1, 0] = W_out[-1, 1] = 1.0
    return FeedForward(W_in=W_in, b_in=np.append(np.full(groups, -above), 0.0), W_out=W_out, skip=False)


def _taken_bit(place: int, bit: int) -> FeedForward:
    r"""Of a word v below $2^{k + 1}$ the bit k, $(v - 2^k + 1)_ + - (v - 2^k)_ +$, moved to the digit."""
    W_in, W_out = np.zeros((_WIDTH, 2)), np.zeros((2, _WIDTH))
    W_in[0] = 1.0
    W_out[:, 0] = -(2.0**place), 2.0**place
    W_out[:, 2] = 2.0**bit, -(2.0**bit)
    return FeedForward(W_in=W_in, b_in=np.array([1.0 - 2.0**place, -(2.0**place)]), W_out=W_out)


def _chosen_digit(place: int, base: float) -> FeedForward:
    r"""The digit D < B is added to the answer if the index is k, and then 0: with $i = j - k$ an integer,
    $(D - B i)_ + - (-B i)_ + - (D - B (i + 1))_ + + (-B (i + 1))_ + = D [i = 0]$."""
    W_in, W_out = np.zeros((_WIDTH, 5)), np.zeros((5, _WIDTH))
    W_in[1, :4] = -base
    W_in[2] = 1.0, 0.0, 1.0, 0.0, 1.0
    b_in = base * np.array([place, place, place - 1.0, place - 1.0, 0.0])
    W_out[:4, 3] = 1.0, -1.0, -1.0, 1.0
    W_out[4, 2] = -1.0
    return FeedForward(W_in=W_in, b_in=b_in, W_out=W_out)
