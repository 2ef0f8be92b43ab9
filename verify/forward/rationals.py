r"""What a rational model computes, in exact rationals and integers, and the rank of its features over a prime field.

Page: docs/rigour/exact.md
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat, nmod_mat

from constructions.arrays import Int64Array
from constructions.errors import HypothesisError, InputError, ResourceError
from constructions.models.blocks import Attention, Block, FeedForward, Normalization, Tensor
from constructions.models.exact_network import ExactFrontEnd, as_rationals, exact_network
from constructions.models.model import Model
from constructions.tasks.vectors import VectorTask
from verify.arithmetic.given_numbers import is_masked
from verify.forward.in_balls import first_rows
from verify.forward.looks import Cells, Looks, looks_of, only_last_is_read

PRIME = 2**62 - 57  # 2 has the order (PRIME - 1) / 2, so that different attention weights stay different
_MOST_BITS = 2**24  # of one attention weight before normalization


@dataclass(frozen=True)
class ExactRank:
    """A proved lower bound of the rank of a rational matrix: what it is over a prime field.

    Args:
        lower: The rank over GF(prime); the rational matrix has this rank or more.
        rows: Number of rows.
        prime: The prime.
    """

    lower: int
    rows: int
    prime: int

    @property
    def full(self) -> bool:
        """Whether the rows are proved to be linearly independent."""
        return self.lower == self.rows


def exact_outputs(front_end: ExactFrontEnd, contexts: Int64Array) -> fmpq_mat:
    r"""The last embeddings and the features of every context, exactly: $[x_S \mid Y]$, `[T, d + H d_h]`.

    The attention of a head to position s is $2^{k_s - k} / \sum_r 2^{k_r - k}$ with the least score k of the context: a
    quotient of integers.

    Args:
        front_end: The rational front end.
        contexts: Tokens, `[T, S]`.

    Returns:
        A row for each context: the last embedding, then the features of one head after the other.

    Raises:
        InputError: Contexts that are not tokens of this front end.
        HypothesisError: A score that is no integer multiple of ln 2.
        ResourceError: Scores of a context that differ by more than 2^24 ln 2.

    Example:
        >>> from constructions.models.exact_network import as_rationals
        >>> one, line = as_rationals([[1]]), as_rationals([[0], [1]])
        >>> exact_outputs(ExactFrontEnd(line, line, (one,), (one,), (one,)), np.array([[0, 1], [1, 1]]))
        [2, 32/17]
        [2,   9/5]
    """
    silent = [fmpq_mat(front_end.d_head, front_end.d_model)] * front_end.n_heads
    network = exact_network(front_end, silent, fmpq_mat(front_end.d_model, 1))
    rows, cells = first_rows(network, np.array(_tokens(front_end, contexts)), _matrix)
    looks = looks_of(network.attention, cells, only_last=True)
    features = _features(network.attention, rows, rows, looks).tolist()
    columns = front_end.n_heads * front_end.d_head  # a network without heads has a silent one
    joined = [
        row + features[look][:columns] for row, (look,) in zip(_last(rows, cells).tolist(), looks.cells, strict=True)
    ]
    return _chosen(joined, range(len(joined)), front_end.d_model + columns)


def exact_network_logits(model: Model, inputs: Int64Array | VectorTask) -> fmpq_mat:
    r"""The logits of a rational model, exactly: `[T, d_vocab_out]`, in nats.

    Its scores $\frac{1}{\sqrt m} \langle q, k \rangle$ are in units of $\ln 2$ and have to be integers where they are
    looked at.

    Args:
        model: The rational model: any stack of attention and ReLU blocks.
        inputs: Tokens, `[T, S]`, or the task that brings vectors, whose float64 numbers are dyadic rationals.

    Returns:
        A row for each context.

    Raises:
        InputError: Inputs that the model cannot read, or a model of float64 tensors.
        HypothesisError: A score that is no integer multiple of ln 2, or a block whose values are not rational.
        ResourceError: Scores of a context that differ by more than 2^24 ln 2.

    Example:
        >>> from constructions.models.exact_network import as_rationals, exact_network
        >>> one, line = as_rationals([[1]]), as_rationals([[0], [1]])
        >>> front_end = ExactFrontEnd(line, line, (one,), (one,), (one,))
        >>> exact_network_logits(exact_network(front_end, (one,), as_rationals([[5, 0]])), np.array([[0, 1]]))
        [330/17, 0]
        >>> outputs = np.array([[fmpq(2)], [fmpq(1, 3)]])
        >>> neurons = FeedForward(np.array([[fmpq(1), fmpq(-1)]]), outputs, skip=False)
        >>> embeddings, one = np.array([[fmpq(-1)], [fmpq(2)]]), np.array([[fmpq(1)]])
        >>> model = Model(blocks=(neurons,), W_U=one, W_E=embeddings, W_pos=0 * one)
        >>> exact_network_logits(model, np.array([[0], [1]]))
        [1/3]
        [  4]
    """
    if not model.is_rational:
        raise InputError("the model has float64 tensors, expected rationals: balls enclose what float64 tensors do")
    for place, block in enumerate(model.blocks):
        _require_rational(place, block)
    rows, cells = first_rows(model, inputs, as_rationals if isinstance(inputs, VectorTask) else _matrix)
    if only_last_is_read(model.blocks, -1):
        rows, cells = _last(rows, cells), [(t,) for t in range(len(cells))]
    for place, block in enumerate(model.blocks):
        if isinstance(block, Attention):
            asked = as_rationals(inputs.queries) if isinstance(inputs, VectorTask) else rows
            only_last = only_last_is_read(model.blocks, place)
            rows, cells = _attended(block, rows, cells, asked, only_last=only_last)
        elif isinstance(block, FeedForward):
            rows = _fed_forward(block, rows)
    return _shifted(_last(rows, cells) * _matrix(model.W_U), model.b_U)


def exact_rank(
    front_end: ExactFrontEnd, contexts: Int64Array, *, with_skip: bool = True, prime: int = PRIME
) -> ExactRank:
    r"""Prove a lower bound of the rank of the features of a rational front end, over a prime field.

    The denominators of $[x_S \mid Y]$ are products of powers of the row sums $D_t$ of the attention, of the common
    denominator of the embeddings and of the denominators of W_V. Where the prime divides none of them, reduction is a
    ring homomorphism on the entries, so a minor that does not vanish modulo the prime does not vanish.

    The bound is a proof whatever the prime. It is a good one if different attention weights remain different: 2 has to
    have a large order modulo the prime. (Modulo $2^{61} - 1$ it has the order 61.)

    Args:
        front_end: The rational front end.
        contexts: Tokens, `[T, S]`.
        with_skip: Whether the last embeddings are among the columns.
        prime: The prime, below $2^{63}$.

    Returns:
        The bound.

    Raises:
        InputError: Contexts that are not tokens of this front end, or a modulus that is no prime.
        HypothesisError: A score that is no integer multiple of ln 2, or a denominator that the prime divides.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Lemma 2.

    Example:
        >>> from constructions.models.exact_network import as_rationals
        >>> one, line = as_rationals([[1]]), as_rationals([[0], [1]])
        >>> exact_rank(ExactFrontEnd(line, line, (one,), (one,), (one,)), np.array([[0, 1], [1, 1]])).lower
        2
    """
    _require_odd_prime(prime)
    given = _Given(front_end, contexts)
    _require_unit(given.denominator, prime, "the denominators of the embeddings")
    table, rows, skipped = nmod_mat(given.table, prime), len(given.contexts), with_skip * front_end.d_model
    matrix = nmod_mat(rows, skipped + front_end.n_heads * front_end.d_head, prime)
    if with_skip:
        for i, row in enumerate(given.last.tolist()):
            for j, entry in enumerate(row):
                matrix[i, j] = entry
    for head in range(front_end.n_heads):
        numerators, denominator = front_end.W_V[head].numer_denom()
        _require_unit(denominator, prime, f"the denominators of W_V[{head}]")
        # 2^k modulo the prime costs nothing to compute, however large k is.
        powers = [[pow(2, exponent, prime) for exponent in row] for row in given.exponents(head)]
        attention = nmod_mat(rows, given.table.nrows(), prime)
        given.fill(attention, powers)
        # Common factors of a block, such as the denominators of the values, do not change a rank.
        values = (attention * (table * nmod_mat(numerators, prime))).tolist()
        for i, (row, weights) in enumerate(zip(values, powers, strict=True)):
            total = sum(weights)
            _require_unit(total, prime, f"the row sums of the attention of head {head}")
            inverse = pow(total, -1, prime)
            for j, entry in enumerate(row, start=skipped + head * front_end.d_head):
                matrix[i, j] = entry * inverse
    return ExactRank(lower=matrix.rank(), rows=rows, prime=prime)


def order_of_two(prime: int) -> int:
    r"""The order of 2 modulo an odd prime: the number of different powers of 2 among the residues.

    The order divides p - 1; from p - 1 every prime factor is taken away as long as 2 to the remaining power stays 1.

    Args:
        prime: An odd prime, below $2^{63}$.

    Returns:
        The least k >= 1 with $2^k = 1$ modulo the prime.

    Raises:
        InputError: No odd prime below $2^{63}$.

    Example:
        >>> order_of_two(PRIME) == (PRIME - 1) // 2, order_of_two(2**61 - 1)
        (True, 61)
    """
    _require_odd_prime(prime)
    order = prime - 1
    for factor, _ in fmpz(order).factor():
        while order % int(factor) == 0 and pow(2, order // int(factor), prime) == 1:
            order //= int(factor)
    return order


def _require_rational(place: int, block: Block) -> None:
    """Raise a `HypothesisError` where rational rows do not become rational rows."""
    found = None
    if isinstance(block, Normalization) or block.norm is not None:
        found = "has a normalization"
    elif isinstance(block, FeedForward) and block.activation != "relu":
        found = f"has the activation {block.activation!r}"
    if found:
        raise HypothesisError(
            "exact evaluation", "attention and ReLU blocks without normalization", f"block {place} {found}"
        )


def _attended(
    block: Attention, rows: fmpq_mat, cells: Cells, asked: fmpq_mat, *, only_last: bool
) -> tuple[fmpq_mat, Cells]:
    """The stream after an attention; `asked` are the queries of the task, where it takes those."""
    looks = looks_of(block, cells, only_last=only_last)
    asking = asked if block.queries == "task" else rows
    output = _features(block, rows, asking, looks)
    output = output * _matrix(block.W_O.reshape(output.ncols(), block.d_out))
    if block.skip:
        output = output + _chosen(rows.tolist(), looks.queries, block.d_model)
    return _shifted(output, block.b_O), looks.cells


def _features(block: Attention, rows: fmpq_mat, asking: fmpq_mat, looks: Looks) -> fmpq_mat:
    """What the heads mix: a row for each look, the heads side by side."""
    features: list[list[fmpq]] = [[] for _ in looks.queries]
    for head in range(block.n_heads):
        queries = _shifted(asking * _matrix(block.W_Q[head]), None if block.b_Q is None else block.b_Q[head]).tolist()
        keys = _shifted(rows * _matrix(block.W_K[head]), None if block.b_K is None else block.b_K[head]).tolist()
        values = _shifted(rows * _matrix(block.W_V[head]), None if block.b_V is None else block.b_V[head]).tolist()
        for read, numbers in looks.groups.items():
            queried = _chosen(queries, [looks.queries[number] for number in numbers], block.d_qk)
            scores = queried * _chosen(keys, read, block.d_qk).transpose()
            weights = [weight for row in scores.tolist() for weight in _weights(row, block.score_root)]
            means = fmpq_mat(len(numbers), len(read), weights) * _chosen(values, read, block.d_head)
            for number, row in zip(numbers, means.tolist(), strict=True):
                features[number] += row
    return _chosen(features, range(len(features)), block.n_heads * block.d_head)


def _weights(scores: list[fmpq], root: int) -> list[fmpq]:
    """The softmax of scores in units of ln 2, before they are divided by the square root of the given integer."""
    exponents = [_exponent(score, root) for score in scores]
    least = min(exponents)
    powers = [1 << _bounded(exponent - least) for exponent in exponents]
    return [fmpq(power, sum(powers)) for power in powers]


def _exponent(score: fmpq, root: int) -> int:
    if root == 1 and score.q == 1:
        return int(score.p)
    square = score * score / root
    size = math.isqrt(int(square.p))
    if square.q != 1 or size * size != int(square.p):
        found = f"one is {score} ln 2" if root == 1 else f"one is {score} / sqrt({root}) ln 2"
        raise HypothesisError("exact attention", "scores that are integer multiples of ln 2", found)
    return size if score > 0 else -size


def _fed_forward(block: FeedForward, rows: fmpq_mat) -> fmpq_mat:
    neurons = _shifted(rows * _matrix(block.W_in), block.b_in)
    fired = fmpq_mat(neurons.nrows(), neurons.ncols(), [max(u, fmpq(0)) for u in neurons.entries()])
    output = fired * _matrix(block.W_out)
    return _shifted(rows + output if block.skip else output, block.b_out)


def _last(rows: fmpq_mat, cells: Cells) -> fmpq_mat:
    return _chosen(rows.tolist(), [cell[-1] for cell in cells], rows.ncols())


def _chosen(table: list[list[fmpq]], chosen: Sequence[int], columns: int) -> fmpq_mat:
    return fmpq_mat(len(chosen), columns, [entry for i in chosen for entry in table[i]])


def _shifted(matrix: fmpq_mat, shift: Tensor | None) -> fmpq_mat:
    """The matrix with one vector added to each row."""
    return matrix if shift is None else matrix + _chosen([shift.tolist()], [0] * matrix.nrows(), len(shift))


def _matrix(tensor: Tensor) -> fmpq_mat:
    rows, columns = tensor.shape
    return fmpq_mat(rows, columns, tensor.ravel().tolist())


class _Given:
    """The inputs of a front end over one denominator, and the exponents of its attention on the contexts: for ranks."""

    def __init__(self, front_end: ExactFrontEnd, contexts: Int64Array) -> None:
        self.contexts = _tokens(front_end, contexts)
        self._front_end = front_end
        tokens, positions, width = front_end.d_vocab, front_end.n_ctx, front_end.d_model
        # Row s N + n of the table is x_{s,n}: a sum of two rows of W_E over W_pos.
        selection = fmpz_mat(tokens * positions, tokens + positions)
        for s in range(positions):
            for n in range(tokens):
                selection[s * tokens + n, n] = 1
                selection[s * tokens + n, tokens + s] = 1
        embeddings = fmpq_mat(tokens + positions, width, [*front_end.W_E.entries(), *front_end.W_pos.entries()])
        numerators, self.denominator = embeddings.numer_denom()
        self.table = selection * numerators
        self.columns = [[s * tokens + token for s, token in enumerate(context)] for context in self.contexts]
        rows = self.table.tolist()
        self.last = fmpz_mat(len(self.columns), width, [entry for pairs in self.columns for entry in rows[pairs[-1]]])

    def exponents(self, head: int) -> list[list[int]]:
        """The scores k_s of each context in units of ln 2, less their minimum: [T, S]."""
        front_end, width = self._front_end, self._front_end.d_model
        bilinear = front_end.W_Q[head] * front_end.W_K[head].transpose()
        lasts = sorted({context[-1] for context in self.contexts})
        first = self.table.nrows() - front_end.d_vocab
        table = self.table.tolist()
        queries = fmpz_mat(len(lasts), width, [entry for token in lasts for entry in table[first + token]])
        products = fmpq_mat(queries) * bilinear * fmpq_mat(self.table.transpose()) / self.denominator**2
        scores = dict(zip(lasts, products.tolist(), strict=True))
        result = []
        for context, columns in zip(self.contexts, self.columns, strict=True):
            row = scores[context[-1]]
            exponents = [_exponent(row[column], 1) for column in columns]
            least = min(exponents)
            result.append([exponent - least for exponent in exponents])
        return result

    def fill(self, weights: nmod_mat, powers: list[list[int]]) -> None:
        """Write the given numbers at the pairs (s, t_s) of each context, into a matrix [T, S N] of zeros."""
        for t, (columns, row) in enumerate(zip(self.columns, powers, strict=True)):
            for column, power in zip(columns, row, strict=True):
                weights[t, column] = power


def _bounded(exponent: int) -> int:
    if exponent > _MOST_BITS:
        raise ResourceError(f"scores that differ by {exponent} ln 2 give rationals too long to compute with")
    return exponent


def _require_odd_prime(prime: int) -> None:
    if not isinstance(prime, int) or not 2 < prime < 2**63 or not fmpz(prime).is_prime():
        raise InputError(f"prime = {prime}, expected an odd prime below 2^63")


def _require_unit(value: fmpz | int, prime: int, name: str) -> None:
    if not int(value) % prime:
        raise HypothesisError("the rank over a prime field", f"a prime that does not divide {name}", f"{prime} does")


def _tokens(front_end: ExactFrontEnd, contexts: Int64Array) -> list[list[int]]:
    if is_masked(contexts):
        raise InputError("contexts is a masked array, expected integers; fill the masked entries first")
    array = np.asarray(contexts)
    if array.ndim != 2 or array.dtype.kind not in "iu" or array.shape[1] != front_end.n_ctx or not len(array):
        raise InputError(
            f"contexts is {array.dtype} of shape {array.shape}, expected integers [T, {front_end.n_ctx}] with T >= 1"
        )
    if array.min() < 0 or array.max() >= front_end.d_vocab:
        raise InputError(f"contexts has tokens outside 0 .. {front_end.d_vocab - 1}")
    return array.tolist()
