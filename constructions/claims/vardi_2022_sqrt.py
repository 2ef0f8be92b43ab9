r"""Vardi et al.: a deep ReLU network of about sqrt(T) parameters for T labels, by words of bits that layers unpack.

Page: docs/claims/bit_extraction.md
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from constructions.claims.claim import Claim
from constructions.claims.zhang_2017_theorem import exact, separating_direction
from constructions.errors import HypothesisError, InputError
from constructions.models.blocks import FeedForward, tensor_fields
from constructions.models.model import Model

Int64Array = NDArray[np.int64]

REGISTERS = 6  # the code z, the word, the key, the digit, the output, and whether the key is that of the code
_CODE, _WORD, _KEY, _DIGIT, _OUTPUT, _MATCH = range(REGISTERS)


def best_items(count: int, key_bits: int, label_bits: int) -> int:
    r"""How many items a word takes for the fewest nonzero entries: $\sqrt{6 T / (8 (r + c) + 21)}$, rounded up.

    Args:
        count: T.
        key_bits: r.
        label_bits: c.

    Page: docs/claims/bit_extraction.md

    Example:
        >>> best_items(256, 13, 6)
        3
    """
    return max(1, math.ceil(math.sqrt(6 * count / (8 * (key_bits + label_bits) + 21))))


def word_blocks(codes: list[int], labels: list[int], *, items: int | None = None) -> tuple[FeedForward, ...]:
    r"""Rational ReLU blocks over six registers that put the label of a code into one of them.

    Sort the codes z, T integers below $2^r$, and put m of them with their labels, of c bits, into one word. The first
    block looks up the word of the group of z by steps at the least codes of the groups. Then each of m times r + c
    blocks take a bit from the top of the word, $\beta = (w - 2^k + 1)_+ - (w - 2^k)_+$, into the key q or the digit D;
    one block computes $[q = z] = (q - z + 1)_+ - 2 (q - z)_+ + (q - z - 1)_+$, and one adds $(D - B (1 - [q = z]))_+$
    to the output, with $B = 2^c$, and clears key, digit and match.

    Args:
        codes: Distinct integers, at least 0.
        labels: Integers, at least 0, as many.
        items: m; by default `best_items`.

    Returns:
        m (r + c + 2) + 1 blocks.

    Raises:
        InputError: Numbers that do not fit.
        HypothesisError: Two codes that are equal.

    Source: Vardi, Yehudai, Shamir (2022); Kim, Kim, Mozafari (2023). Page: docs/claims/bit_extraction.md

    Example:
        >>> len(word_blocks([0, 3, 5, 6], [1, 0, 1, 1], items=2))
        13
    """
    if not codes or len(codes) != len(labels) or min(*codes, *labels, 0) < 0 or (items is not None and items < 1):
        raise InputError(f"{len(codes)} codes, {len(labels)} labels, items = {items}, expected T >= 1 of each")
    if len(set(codes)) < len(codes):
        raise HypothesisError("Words of bits", "distinct codes", "two that are equal")
    key_bits, label_bits = (max(1, max(numbers).bit_length()) for numbers in (codes, labels))
    m = items or best_items(len(codes), key_bits, label_bits)
    order = sorted(range(len(codes)), key=codes.__getitem__)
    groups = [order[start : start + m] for start in range(0, len(order), m)]
    size = key_bits + label_bits
    words = []
    for group in groups:
        word = 0
        for i in group:
            word = word << size | codes[i] << label_bits | labels[i]
        words.append(word << size * (m - len(group)))
    blocks = [_look_up(words, [codes[group[0]] for group in groups])]
    for item in range(m):
        for bit in range(size):
            k = size * (m - item) - 1 - bit
            into = (_KEY, 2 ** (key_bits - 1 - bit)) if bit < key_bits else (_DIGIT, 2 ** (size - 1 - bit))
            blocks.append(_take_bit(k, *into))
        blocks += [_match(), _select(2**label_bits)]
    return tuple(blocks)


def word_network(points: Int64Array, labels: Int64Array, *, items: int | None = None, seed: int = 0) -> Model:
    r"""A rational ReLU network on points of R^d that puts the label of each point in front.

    One neuron takes the points to distinct codes $\langle a, x \rangle + b \ge 0$; then `word_blocks`. The output y is
    read out by $2 j y - j^2$.

    Args:
        points: Distinct integers, `[n, d]`; point i is the token i of the model.
        labels: Integers, at least 0, `[n]`.
        items: m; by default the best.
        seed: Of the direction a.

    Returns:
        The model, of width 6 behind the first block.

    Raises:
        InputError: Arrays that do not fit.
        HypothesisError: Two points that are equal.

    Source: Vardi, Yehudai, Shamir (2022). Page: docs/claims/bit_extraction.md

    Example:
        >>> word_network(np.array([[0, 1], [2, 2]]), np.array([1, 0])).d_vocab_out
        2
    """
    array = np.asarray(points)
    if array.ndim != 2 or array.dtype.kind not in "iu" or 0 in array.shape or len(labels) != len(array):
        raise InputError(f"points is {array.dtype} of shape {array.shape}, {len(labels)} labels, expected [n, d]")
    if len(np.unique(array, axis=0)) < len(array):
        raise HypothesisError("Words of bits", "distinct points", "two that are equal")
    direction, products = separating_direction(array, seed=seed)
    shift = -min(products)
    codes = [product + shift for product in products]
    writes = exact([[int(j == _CODE) for j in range(REGISTERS)]])
    first = FeedForward(exact([[a] for a in direction]), writes, exact([shift]), skip=False)
    blocks = (first, *word_blocks(codes, [int(label) for label in labels], items=items))
    W_U, b_U = read_out(int(max(labels)) + 1)
    embeddings = exact(array.tolist())
    return Model(blocks, W_U=W_U, b_U=b_U, W_E=embeddings, W_pos=exact([[0] * array.shape[1]]))


def read_out(count: int) -> tuple[Any, Any]:
    """The columns 2 j and shifts -j^2 of labels j, read from the register of the output.

    Args:
        count: Number of labels.

    Page: docs/claims/bit_extraction.md

    Example:
        >>> read_out(3)[1].tolist()
        [0, -1, -4]
    """
    W_U = exact([[2 * j if register == _OUTPUT else 0 for j in range(count)] for register in range(REGISTERS)])
    return W_U, exact([-j * j for j in range(count)])


def in_float64(model: Model) -> Model:
    """The rational model whose weights are the float64 numbers nearest to those of the given one.

    Args:
        model: Rational.

    Page: docs/claims/bit_extraction.md

    Example:
        >>> model = word_network(np.array([[0], [1]]), np.array([0, 1]))
        >>> (in_float64(model).W_U == model.W_U).all()
        np.True_
    """

    def nearest(tensor: Any) -> Any:
        found = np.empty(tensor.shape, dtype=object)
        for place, entry in np.ndenumerate(tensor):
            found[place] = fmpq(*(int(entry.p) / int(entry.q)).as_integer_ratio())
        return found

    blocks = tuple(
        replace(block, **{name: nearest(tensor) for name, tensor in tensor_fields(block)}) for block in model.blocks
    )
    b_U = None if model.b_U is None else nearest(model.b_U)
    return Model(blocks, W_U=nearest(model.W_U), b_U=b_U, W_E=nearest(model.W_E), W_pos=nearest(model.W_pos))


def _block(neurons: list[tuple[dict[int, int], int, dict[int, int]]], first: int = 0) -> FeedForward:
    """Neurons by the registers they read, their shift, and the registers they write."""
    W_in = exact([[reads.get(r, 0) for reads, _, _ in neurons] for r in range(REGISTERS)])
    W_out = exact([[writes.get(r, 0) for r in range(REGISTERS)] for _, _, writes in neurons])
    b_out = exact([first if r == _WORD else 0 for r in range(REGISTERS)]) if first else None
    return FeedForward(W_in, W_out, exact([shift for _, shift, _ in neurons]), b_out)


def _look_up(words: list[int], thresholds: list[int]) -> FeedForward:
    neurons: list[tuple[dict[int, int], int, dict[int, int]]] = []
    for before, word, least in zip(words, words[1:], thresholds[1:], strict=False):
        step = word - before
        neurons += [({_CODE: 1}, 1 - least, {_WORD: step}), ({_CODE: 1}, -least, {_WORD: -step})]
    return _block(neurons or [({}, 0, {})], first=words[0])


def _take_bit(k: int, into: int, value: int) -> FeedForward:
    return _block(
        [({_WORD: 1}, 1 - 2**k, {_WORD: -(2**k), into: value}), ({_WORD: 1}, -(2**k), {_WORD: 2**k, into: -value})]
    )


def _match() -> FeedForward:
    difference = {_KEY: 1, _CODE: -1}
    return _block([(difference, shift, {_MATCH: weight}) for shift, weight in ((1, 1), (0, -2), (-1, 1))])


def _select(base: int) -> FeedForward:
    cleared = [({register: 1}, 0, {register: -1}) for register in (_DIGIT, _KEY, _MATCH)]
    return _block([({_DIGIT: 1, _MATCH: base}, -base, {_OUTPUT: 1}), *cleared])


CLAIM = Claim(
    id="vardi-2022.sqrt",
    title="Labels by the square root of their number of parameters",
    source="Vardi, Yehudai, Shamir (2022), abstract",
    printed=(
        "ReLU networks memorize any N separated points with a number of parameters of the order of sqrt(N), up to "
        "logarithms, which is optimal. Weights of large bit complexity are necessary and sufficient for fewer "
        "parameters than points."
    ),
    judgement="holds",
    truth=(
        "With T distinct codes of r bits and labels of c bits, words of m items take [[depth: m (r + c + 2) + 1]] "
        "residual ReLU blocks of width 6 with [[entries: 6 (ceil(T / m) - 1) + m (8 (r + c) + 21)]] nonzero entries at "
        "most; for the best m that is less than [[root: 2 sqrt(6 T (8 (r + c) + 21)) + 8 (r + c) + 21]]. "
        "Words have [[bits: m (r + c)]] bits: rounded to float64, weights of more than 53 bits lose labels. P numbers "
        "of b bits hold all labellings with K labels only if P b >= [[content: T log K / log 2]]."
    ),
    reconstructed="the network and its constants: the paper was at hand in its abstract only",
    page="docs/claims/bit_extraction.md",
)
