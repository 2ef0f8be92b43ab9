r"""Labels packed into long words, which ReLU neurons unpack bit by bit: more facts than nonzero entries.

Page: docs/claims/bits.md
"""

import math

import numpy as np

from constructions.counted import counted
from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.memories.codes.scalar_label_code import numbered_labels
from constructions.model.blocks import Attention, Block, FeedForward
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.model.precision import SIGNIFICAND, Precision, require_precision
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.task import Task

_CLAIM = "The memory of packed words"


def packed_words_memory(
    task: Task, *, dtype: Precision = "float64", labels_per_word: int | None = None
) -> Construction[Task]:
    r"""Memorize any labels of bigrams, several in each number of the embedding, such that no run rounds a word.

    With digits of c bits, $B = 2^c$, the token b carries the words $w_g(b) = \sum_{i < m} B^i l(g m + i, b)$, one for
    each group g of first tokens, and minus the bits of its own number: those of its group as signs, those of its place
    in the group as they are. One head with scores 0 brings those of the first token. One layer keeps the word of the
    group of the first token, which no bit pushes down, the next one the multiple $B^{-i} w$ of the place i; then each
    block finds one bit above the digit, from the highest on, and takes the one before away. What is left is the digit
    and a fraction below it, of at most $(K - 1) / (B - 1)$, which the readout has room for.

    Args:
        task: Contexts of two tokens, and labels, at most `most_kinds` different ones. Bigrams that are not named
            cost the same.
        dtype: The precision in which every run is exact up to the readout, in any order of summation.
        labels_per_word: m, such that the words fit; by default what gives the fewest entries.

    Returns:
        The model: one head, a layer that picks the word, one that picks the digit, and $c (m - 1) + 1$ that strip it.

    Raises:
        InputError: A precision that is none, or no such m.
        HypothesisError: A task of distributions, or contexts of another length than 2.
        CapacityError: More labels.

    Source: bits taken out of words by ReLU neurons as in Vardi, Yehudai, Shamir (2021), reconstructed.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> packed_words_memory(enumerated_task(50, 2), dtype="float32").summary
        '2,500 bigrams by 17 words of 3 labels of 6 bits for each token, 16 blocks, 2459 parameters'
    """
    require_precision(dtype)
    _require_labelled_bigrams(task)
    answers, labels = numbered_labels(task.labels, _CLAIM)
    size, kinds, precision = task.d_vocab, len(answers), SIGNIFICAND[dtype]
    if kinds > most_kinds(precision):
        raise CapacityError(_CLAIM, f"at most {most_kinds(precision)} different labels in {dtype}", f"{kinds}")
    bits = digit_bits(kinds, precision)
    m = labels_per_word
    fitting = [m for m in range(1, size + 1) if _fits(size, m, kinds, bits, precision)]
    if m is None:
        m = min(fitting, key=lambda m: entries(size, m, kinds, precision, task.n_answers))
    if m not in fitting:
        what = f"labels of {bits} bits for {counted(size, 'token')} in {dtype}"
        raise InputError("labels_per_word", f"= {m}", f"1 .. {max(fitting)}: {what}")
    groups = -(-size // m)
    group_bits, place_bits = (groups - 1).bit_length(), (m - 1).bit_length()
    words = np.zeros((size, groups))
    first, last = task.contexts.T
    np.add.at(words, (last, first // m), np.ldexp(labels.astype(np.float64), first % m * bits))
    tokens = np.arange(size)
    code = np.hstack([2.0 * _bits(tokens // m, group_bits) - 1.0, _bits(tokens % m, place_bits)])
    W_E = np.hstack([words, -code])
    blocks: list[Block] = [
        _first_code(groups, group_bits + place_bits),
        _one_word(groups, group_bits, place_bits, 2.0 ** (m * bits)),
        _one_digit(m, bits),
        *_stripped(m, bits, kinds),
    ]
    W_U, b_U = _readout(answers, _fraction(kinds, bits) if m > 1 else 0.0, task.n_answers)
    model = Model(blocks=tuple(blocks), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=np.zeros((2, W_E.shape[1])))
    return Construction(
        task,
        model,
        f"{counted(task.n_contexts, 'bigram')} by {counted(groups, 'word')} of {counted(m, 'label')} of "
        f"{counted(bits, 'bit')} for each token, {len(blocks)} blocks, {model.parameters} parameters",
    )


def _require_labelled_bigrams(task: Task) -> None:
    if task.n_ctx != 2:
        raise HypothesisError(_CLAIM, "contexts of two tokens", f"they have {task.n_ctx}")
    if task.target != "labels":
        raise HypothesisError(_CLAIM, "labels", f"the target is {task.target!r}")


def packed_words_parameters(task: Task, *, dtype: Precision = "float32") -> int:
    """Count the parameters of the packed-words memory of a task; 0 if it refuses the task.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> packed_words_parameters(enumerated_task(50, 2))
        2459
    """
    kinds, precision, size = len(np.unique(task.labels)), SIGNIFICAND[dtype], task.d_vocab
    if task.target != "labels" or task.n_ctx != 2 or kinds > most_kinds(precision):
        return 0
    bits = digit_bits(kinds, precision)
    fitting = [m for m in range(1, size + 1) if _fits(size, m, kinds, bits, precision)]
    return min(entries(size, m, kinds, precision, task.n_answers) for m in fitting)


def most_kinds(precision: int) -> int:
    """Return how many labels can be told apart by digits of any number of bits; above it, rounding the logits is too
    large.

    Example:
        >>> most_kinds(24), most_kinds(53)
        (1007, 4096)
    """
    return min(2**12, math.ceil(math.sqrt(2.0 ** (precision - 3) * (0.5 - 2.0**-6))) - 1)


def digit_bits(kinds: int, precision: int) -> int:
    """Return the bits c of a digit, enough to read its label despite the lower fraction and the rounding of the logits.

    Example:
        >>> digit_bits(50, 24), digit_bits(64, 24), digit_bits(2, 53)
        (6, 7, 2)
    """
    bits = max(1, (kinds - 1).bit_length())
    while (1 - _fraction(kinds, bits)) / 2 - 2.0**-6 <= max(2.0**-8, 2.0 ** (3 - precision) * kinds**2):
        bits += 1
    return bits


def entries(d_vocab: int, labels_per_word: int, kinds: int, precision: int, outputs: int) -> int:
    r"""Return the entries of a memory of packed words, zeros included.

    Args:
        d_vocab: N.
        labels_per_word: m.
        kinds: Different labels, K.
        precision: Bits of the format.
        outputs: Logits.

    Returns:
        With $G = \lceil N / m \rceil$, k and j the bits of a group and of a place, $d = G + k + j$ and $n = c (m - 1)$:
        $(N + 4) d + 2 d (k + j) + (d + 1) (G + j) + (G + j) (1 + j) + m (j + 3) + 15 n + 2$ outputs.

    Example:
        >>> entries(50, 7, 50, 53, 50)
        1815
    """
    m = labels_per_word
    groups = -(-d_vocab // m)
    j = (m - 1).bit_length()
    read = (groups - 1).bit_length() + j
    width = groups + read
    strip = 15 * digit_bits(kinds, precision) * (m - 1)
    picked = (width + 1) * (groups + j) + (groups + j) * (1 + j) + m * (j + 3)
    of_heads = 2 * width + 2 * width * max(read, 1)
    return (d_vocab + 2) * width + of_heads + picked + strip + 2 * outputs


def _fits(d_vocab: int, m: int, kinds: int, bits: int, precision: int) -> bool:
    """Tell whether every sum of a word, its offset and the steps of its bits stays within the significand of a
    format.
    """
    if m == 1:
        return True
    groups, steep = -(-d_vocab // m), _gain(kinds, bits)
    steps = steep if precision < 53 else 2 * steep  # the judge adds what is positive and what is negative in float64
    of_word, of_digit = 1 + (groups - 1).bit_length(), 1 + 2 * (m - 1).bit_length()
    terms = max(6, of_word, of_digit, steps)  # of a sum, in units of a word: below 2^(m bits)
    return terms << (m * bits) <= 1 << precision


def _gain(kinds: int, bits: int) -> int:
    r"""Return the slope $2^e$ of a step narrower than the unreached gap, $2^{-e} \le 1 -$ fraction."""
    gain = 1
    while 1.0 / gain > 1.0 - _fraction(kinds, bits):
        gain *= 2
    return gain


def _fraction(kinds: int, bits: int) -> float:
    return (kinds - 1) / (2**bits - 1)


def _bits(n: Int64Array, count: int) -> Float64Array:
    """Return the lowest bits, least significant first."""
    return (n[:, None] >> np.arange(count) & 1).astype(np.float64)


def _first_code(groups: int, read: int) -> Attention:
    """Return the head that leaves, of minus both codes, that of the first token: $-b + 2 \\cdot \\frac12 (a + b)$."""
    width, columns = groups + read, max(read, 1)
    chosen = np.zeros((1, width, columns))
    chosen[0, groups:] = np.eye(read, columns)
    nothing = np.zeros((1, width, 1))
    return Attention(W_Q=nothing, W_K=nothing, W_V=chosen, W_O=-2.0 * chosen.transpose(0, 2, 1))


def _one_word(groups: int, group_bits: int, place_bits: int, top: float) -> FeedForward:
    """Return the word of the group whose signs match the stream; others are lowered by at least `top` per differing
    bit.
    """
    signs = 2.0 * _bits(np.arange(groups), group_bits) - 1.0
    W_in = np.zeros((groups + group_bits + place_bits, groups + place_bits))
    W_in[:groups, :groups] = np.eye(groups)
    W_in[groups : groups + group_bits, :groups] = top / 2.0 * signs.T
    W_in[groups + group_bits :, groups:] = np.eye(place_bits)
    b_in = np.append(np.full(groups, -group_bits * top / 2.0), np.zeros(place_bits))
    W_out = np.zeros((groups + place_bits, 1 + place_bits))
    W_out[:groups, 0] = 1.0
    W_out[groups:, 1:] = np.eye(place_bits)
    return FeedForward(W_in=W_in, b_in=b_in, W_out=W_out, skip=False)


def _one_digit(m: int, bits: int) -> FeedForward:
    """Return $B^{-i} w$ for place i: each neuron is lowered by $B^{m - i}$ per differing bit."""
    places = np.arange(m)
    place_bits, scale = _bits(places, (m - 1).bit_length()), 2.0 ** (-places * bits)
    down = 2.0 ** (m * bits) * scale
    W_in = np.vstack([scale, down * (2.0 * place_bits - 1.0).T])
    return FeedForward(W_in=W_in, b_in=-down * place_bits.sum(axis=1), W_out=np.ones((m, 1)), skip=False)


def _stripped(m: int, bits: int, kinds: int) -> list[FeedForward]:
    """Remove the bits above the digit, one per block: $b = (2^e (v - t) + 1)_+ - (2^e (v - t))_ +$ next to v,
    subtracted in the next block.

    Whether b is 0 or 1, v is no more than `fraction` above an integer, so never in between.
    """
    if m == 1:
        return []
    gain = float(_gain(kinds, bits))
    blocks, above = [], None
    for place in reversed(range(bits, m * bits)):
        threshold = 2.0**place
        rows = [[gain, gain, 1.0]] if above is None else [[gain, gain, 1.0], [-gain * above, -gain * above, -above]]
        shifts = np.array([1.0 - gain * threshold, -gain * threshold, 0.0])
        readers = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0]])
        blocks.append(FeedForward(W_in=np.array(rows), b_in=shifts, W_out=readers, skip=False))
        above = threshold
    blocks.append(FeedForward(W_in=np.array([[1.0], [-(2.0**bits)]]), W_out=np.ones((1, 1)), skip=False))
    return blocks


def _readout(answers: Int64Array, fraction: float, outputs: int) -> tuple[Float64Array, Float64Array]:
    """Return logits $c y - c^2 / 2 - c h$ with c centred and h half the fraction, of which the digit below y has the
    largest.
    """
    kinds = len(answers)
    half, centred = np.floor(32.0 * fraction) / 64.0, np.arange(kinds) - (kinds - 1) / 2.0
    W_U, b_U = np.zeros((1, outputs)), np.full(outputs, -float(kinds**2) - 1.0)  # what is never a label is behind
    W_U[0, answers] = centred
    b_U[answers] = -(centred**2) / 2.0 - centred * ((kinds - 1) / 2.0 + half)
    return W_U, b_U
