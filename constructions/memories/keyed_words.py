r"""Any contexts in about $\sqrt T$ numbers: words of keys and labels, exactly over the integers and in no float format.

Page: docs/claims/bits.md
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from constructions.errors import HypothesisError, InputError, require_at_least
from constructions.memories.codes.positional_code import PositionalCode, positional_code
from constructions.model.blocks import Attention, Block, FeedForward, Tensor
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.numeric.arrays import Int64Array
from constructions.tasks.task import Task

_CLAIM = "The memory of keyed words"
_CODE, _WORD, _KEY, _DIGIT, _HIT, _ANSWER = range(6)  # the coordinates of the stream behind the attention
_NEURON = 6  # entries that are not 0 for each group of contexts
_ITEM = 21  # entries that are not 0 for each item, beside 8 for each of its bits


def keyed_words_memory(task: Task, *, labels_per_word: int | None = None, seed: int = 0) -> Construction[Task]:
    r"""Memorize any labels of any distinct contexts in words of m keys and labels each, in exact integers.

    One head with scores in units of $\ln 2$, by position alone, makes of a context its code z, an integer of r bits.
    The sorted codes are cut into groups of m. Two neurons for each group write the word of the group of z,
    $w_1 + \sum_g (w_g - w_{g - 1}) [z \ge \theta_g]$, whose items are $2^c$ times a code plus its label. Blocks of two
    neurons take the word apart bit by bit; of each item the code becomes a key q, and the label, a digit
    $D < B = 2^c$, is added to the answer if $[q = z] = (q - z + 1)_ + - 2 (q - z)_ + + (q - z - 1)_ +$ is 1, by
    $(D - B (1 - [q = z]))_ +$.

    With $m \approx \sqrt{6 T / (8 (r + c) + 21)}$ that takes about $2 \sqrt{6 T (8 (r + c) + 21)}$ entries that are not
    0, the largest of them as long as a word, m (r + c) bits. No float format holds such words: what is built is a model
    of rational tensors, evaluated exactly.

    Args:
        task: Contexts and labels.
        labels_per_word: m; by default what gives the fewest entries that are not 0.
        seed: Seed of the codes; equal arguments give equal integers.

    Returns:
        The rational model: an attention, and $m (r + c + 2) + 1$ blocks of neurons on a stream of width 6.

    Raises:
        InputError: No such m.
        HypothesisError: A task of distributions.
        CapacityError: No code of 52 bits was found.

    Source: codes, words and bit extraction as in Vardi, Yehudai, Shamir (2021), Kim, Kim, Mozafari (2023) and
    Kajitsuka, Sato (2025), reconstructed.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> xor = enumerated_task(2, 2, labels=np.array([0, 1, 1, 0]))
        >>> keyed_words_memory(xor, labels_per_word=2).summary
        '4 contexts by 2 words of 2 keys of 2 bits with labels of 1, 12 blocks, 105 entries that are not 0'
    """
    if task.target != "labels":
        raise HypothesisError(_CLAIM, "labels", f"the target is {task.target!r}")
    code = positional_code(task.contexts, task.d_vocab, binary=True, seed=seed)
    answers, labels = np.unique(task.labels, return_inverse=True)
    key_bits, bits = max(1, code.bits), max(1, (len(answers) - 1).bit_length())
    m = fewest_entries(task.n_contexts, key_bits + bits) if labels_per_word is None else labels_per_word
    if not 1 <= m <= task.n_contexts:
        raise InputError("labels_per_word", f"= {m}", f"1 .. {task.n_contexts}, the number of contexts")
    blocks: list[Block] = [_numbering(code), *word_blocks(code.codes.tolist(), labels.tolist(), items=m)]
    model = _model(task, code, answers, blocks)
    return Construction(
        task,
        model,
        f"{task.n_contexts} contexts by {-(-task.n_contexts // m)} words of {m} keys of {key_bits} bits with labels of "
        f"{bits}, {len(blocks)} blocks, {model.nonzero} entries that are not 0",
    )


def fewest_entries(count: int, bits: int) -> int:
    r"""Return how many items per word need the fewest nonzero entries.

    Args:
        count: T.
        bits: Number of bits of an item, r + c.

    Returns:
        m, about $\sqrt{6 T / (8 (r + c) + 21)}$.

    Example:
        >>> fewest_entries(256, 19)
        3
    """
    cost = 8 * bits + _ITEM
    best = math.isqrt(_NEURON * count // cost) or 1
    return min((best, best + 1), key=lambda m: _NEURON * -(-count // m) + cost * m)


def word_blocks(codes: Sequence[int], labels: Sequence[int], *, items: int) -> tuple[FeedForward, ...]:
    """Return residual blocks on a stream of width 6 that write the label of the code in coordinate 0 into coordinate 5.

    Args:
        codes: Distinct integers, at least 0.
        labels: Integers, at least 0, as many.
        items: m, how many codes with their labels are in a word.

    Returns:
        m (r + c + 2) + 1 blocks.

    Raises:
        InputError: Numbers that do not fit.
        HypothesisError: Two codes that are equal.

    Example:
        >>> len(word_blocks([0, 3, 5, 6], [1, 0, 1, 1], items=2))
        13
    """
    if not codes or len(codes) != len(labels) or min(*codes, *labels, items - 1) < 0:
        raise InputError(f"{len(codes)} codes, {len(labels)} labels, items", f"= {items}", "T >= 1 of each from 0 on")
    if len(set(codes)) < len(codes):
        raise HypothesisError(_CLAIM, "distinct codes", "two that are equal")
    key_bits, bits = (max(1, max(numbers).bit_length()) for numbers in (codes, labels))
    order = sorted(range(len(codes)), key=codes.__getitem__)
    written = [(codes[t] << bits) + labels[t] for t in order]
    groups = [written[i : i + items] for i in range(0, len(written), items)]
    words = [sum(item << (key_bits + bits) * j for j, item in enumerate(group)) for group in groups]
    blocks = [_word_of_group(words, [group[0] >> bits for group in groups])]
    for j in reversed(range(items)):
        for bit in reversed(range(key_bits + bits)):
            goal = (_KEY, bit - bits) if bit >= bits else (_DIGIT, bit)
            blocks.append(_taken_bit(j * (key_bits + bits) + bit, *goal))
        blocks += [_compared(), _chosen_digit(1 << bits)]
    return tuple(blocks)


def rounded_integers(model: Model, significand: int) -> Model:
    """Return the model with integer tensors, each rounded to a given number of bits; nothing else is rounded.

    Args:
        model: A rational model of integers.
        significand: Bits of the numbers, at least 1; 53 is what float64 holds.

    Returns:
        The rational model.

    Raises:
        InputError: A model of other tensors, or no such significand.

    Example:
        >>> one = np.array([[1]], dtype=object)
        >>> rounded_integers(Model(blocks=(), W_U=(2**60 + 1) * one, W_E=one, W_pos=one), 53).W_U[0, 0] == 2**60
        True
    """
    require_at_least(1, significand=significand)
    if not model.is_rational:
        raise InputError("the model", "has float64 tensors", "integers")

    def rounded(_: str, tensor: Tensor) -> Tensor:
        result = _zeros(*tensor.shape)
        for place, entry in np.ndenumerate(tensor):
            if entry.q != 1:
                raise InputError("the model", f"has the entry {entry}", "integers")
            result[place] = _nearest(int(entry.p), significand)
        return result

    return model.with_each(rounded)


def _nearest(n: int, bits: int) -> int:
    unit = 1 << max(0, n.bit_length() - bits)
    return round(Fraction(n, unit)) * unit


def _zeros(*shape: int) -> Tensor:
    return np.full(shape, 0, dtype=object)


def _model(task: Task, code: PositionalCode, answers: Int64Array, blocks: list[Block]) -> Model:
    size, n_ctx = task.d_vocab, task.n_ctx
    W_E, W_pos = _zeros(size, 2), _zeros(n_ctx, 2)
    W_E[:, 0] = [int(value) for value in code.values]
    # Scores in units of ln 2, less that of the last position, which is 1 there and asks with it.
    W_pos[:, 1] = [1 + int(weight).bit_length() - int(code.weights[-1]).bit_length() for weight in code.weights]
    W_U, b_U = _zeros(6, task.n_answers), _zeros(task.n_answers)
    b_U[:] = -1  # what is never a label is behind by 1
    for j, answer in enumerate(answers):
        W_U[_ANSWER, answer], b_U[answer] = 2 * j, -j * j
    return Model(blocks=tuple(blocks), W_U=W_U, b_U=b_U, W_E=W_E, W_pos=W_pos)


def _numbering(code: PositionalCode) -> Attention:
    """Return the head that attends by position only and writes the code of the context."""
    score, value, output = _zeros(1, 2, 1), _zeros(1, 2, 1), _zeros(1, 1, 6)
    score[0, 1, 0] = value[0, 0, 0] = 1
    output[0, 0, _CODE] = sum(int(weight) for weight in code.weights)
    return Attention(W_Q=score, W_K=score, W_V=value, W_O=output, skip=False)


def _neurons(inputs: list[dict[int, int]], shifts: list[int], outputs: list[dict[int, int]]) -> FeedForward:
    """Return neurons described by the coordinates that each reads and writes."""
    W_in, W_out, b_in = _zeros(6, len(inputs)), _zeros(len(inputs), 6), _zeros(len(inputs))
    b_in[:] = shifts
    for i, (read, written) in enumerate(zip(inputs, outputs, strict=True)):
        for coordinate, weight in read.items():
            W_in[coordinate, i] = weight
        for coordinate, weight in written.items():
            W_out[i, coordinate] = weight
    return FeedForward(W_in=W_in, b_in=b_in, W_out=W_out)


def _word_of_group(words: list[int], least: list[int]) -> FeedForward:
    """Return the first word, and at the least code of each later group its difference from the previous word."""
    inputs, shifts, outputs = [{_CODE: 1}] * (2 * (len(words) - 1)), [], []
    for before, word, first in zip(words, words[1:], least[1:], strict=False):
        shifts += [1 - first, -first]
        outputs += [{_WORD: word - before}, {_WORD: before - word}]
    block, b_out = _neurons(inputs, shifts, outputs), _zeros(6)
    b_out[_WORD] = words[0]
    return replace(block, b_out=b_out)


def _taken_bit(place: int, goal: int, bit: int) -> FeedForward:
    """Move bit k of a word v below $2^{k + 1}$, $(v - 2^k + 1)_+ - (v - 2^k)_+$, to another coordinate."""
    high, low = 1 << place, 1 << bit
    return _neurons([{_WORD: 1}] * 2, [1 - high, -high], [{_WORD: -high, goal: low}, {_WORD: high, goal: -low}])


def _compared() -> FeedForward:
    """Test whether the key, reduced to 0, equals the code."""
    apart = {_KEY: 1, _CODE: -1}
    outputs = [{_HIT: 1}, {_HIT: -2}, {_HIT: 1}, {_KEY: -1}]
    return _neurons([apart, apart, apart, {_KEY: 1}], [1, 0, -1, 0], outputs)


def _chosen_digit(base: int) -> FeedForward:
    """Add the digit, below the base, to the answer where the key was the code; digit and hit are 0 then."""
    inputs = [{_DIGIT: 1, _HIT: base}, {_DIGIT: 1}, {_HIT: 1}]
    return _neurons(inputs, [-base, 0, 0], [{_ANSWER: 1}, {_DIGIT: -1}, {_HIT: -1}])
