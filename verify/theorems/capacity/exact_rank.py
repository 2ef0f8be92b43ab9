r"""Lower bounds of ranks that are proofs: features of rational heads over a prime field.

Page: docs/rigour/linear_algebra.md, docs/claims/context_rank.md
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat, nmod_mat

from constructions.errors import HypothesisError, InputError, ResourceError
from constructions.model.exact_network import ExactFrontEnd
from constructions.numeric.arrays import Int64Array
from verify.arithmetic.exact_inputs import is_masked
from verify.forward.in_rationals import exponent_of, tokens_of

PRIME = 2**62 - 57  # 2 has the order (PRIME - 1) / 2, so that different attention weights stay different
_MOST_BITS = 2**20  # of an attention weight that is written out


@dataclass(frozen=True)
class ExactRank:
    """A proved lower bound of the rank of a rational matrix: its rank over a prime field.

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


def exact_rank(
    front_end: ExactFrontEnd, contexts: Int64Array, *, with_skip: bool = True, prime: int = PRIME
) -> ExactRank:
    r"""Prove a lower bound of the rank of the features of rational attention, over a prime field.

    The denominators of $[x_S \mid Y]$ are products of powers of the row sums $D_t$ of the attention, of the common
    denominator of the embeddings and of the denominators of W_V. Where the prime divides none of them, reduction is a
    ring homomorphism on the entries, so a minor that does not vanish modulo the prime does not vanish (Lemma X2). What
    is computed is the rank modulo the prime (Lemma X3).

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
        InputError: Contexts that are not tokens of this front end, or a modulus that is not a prime.
        HypothesisError: A score that is not an integer multiple of ln 2, or a denominator that the prime divides.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Lemma 2.

    Example:
        >>> from constructions.model.exact_network import as_rationals
        >>> one, line = as_rationals([[1]]), as_rationals([[0], [1]])
        >>> exact_rank(ExactFrontEnd(line, line, (one,), (one,), (one,)), np.array([[0, 1], [1, 1]])).lower
        2
    """
    _require_odd_prime(prime)
    instance = _Given(front_end, contexts)
    _require_unit(instance.denominator, prime, "the denominators of the embeddings")
    table, rows, skipped = nmod_mat(instance.table, prime), len(instance.contexts), with_skip * front_end.d_model
    matrix = nmod_mat(rows, skipped + front_end.n_heads * front_end.d_head, prime)
    if with_skip:
        for i, row in enumerate(instance.last.tolist()):
            for j, entry in enumerate(row):
                matrix[i, j] = entry
    for head in range(front_end.n_heads):
        numerators, denominator = front_end.W_V[head].numer_denom()
        _require_unit(denominator, prime, f"the denominators of W_V[{head}]")
        # 2^k modulo the prime costs nothing to compute, however large k is.
        powers = [[pow(2, exponent, prime) for exponent in row] for row in instance.exponents(head)]
        attention = nmod_mat(rows, instance.table.nrows(), prime)
        instance.fill(attention, powers)
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
    r"""Return the order of 2 modulo an odd prime: the number of different powers of 2 among the residues.

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


def exact_mixed_inputs(contexts: Int64Array, queries: Int64Array, W_Q: Int64Array, W_K: Int64Array) -> fmpq_mat:
    r"""Return the matrix $Z$ in rationals, for the maps $W_Q$ and $\log 2 \cdot W_K$ with integers $W_Q$, $W_K$.

    The scores are $k_i \log 2$ with integers $k = E W_K W_Q^\top e$, and the attention weights
    $2^{k_i} / \sum_j 2^{k_j}$.

    Args:
        contexts: Integer keys, `[T, n, d]`, or `[1, n, d]` if all examples share them.
        queries: Integer queries, `[T, d]`.
        W_Q: Integers, `[H, d, d_h]`.
        W_K: Integers, `[H, d, d_h]`; the key maps in units of log 2.

    Returns:
        `[T, H * d]`.

    Raises:
        InputError: Arrays that are not integers, or shapes that do not fit.
        ResourceError: Scores of one example that differ by more than 2^20 log 2.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3.

    Example:
        >>> one = np.ones((1, 1, 1), dtype=np.int64)
        >>> exact_mixed_inputs(np.array([[[0], [1]]]), np.array([[0], [1], [3]]), one, one).entries()
        [1/2, 2/3, 8/9]
    """
    rows = []
    for exponents, context in _examples(contexts, queries, W_Q, W_K):
        row: list[fmpq] = []
        for head in exponents:
            if max(head) > _MOST_BITS:
                raise ResourceError(f"scores that differ by {max(head)} log 2 give rationals too long to compute with")
            powers = [1 << k for k in head]
            weights = fmpq_mat(1, len(powers), [fmpq(power, sum(powers)) for power in powers])
            row += (weights * fmpq_mat(context)).entries()
        rows.append(row)
    return fmpq_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row])


def exact_mixed_rank(
    contexts: Int64Array, queries: Int64Array, W_Q: Int64Array, W_K: Int64Array, *, prime: int = PRIME
) -> ExactRank:
    r"""Prove a lower bound of the rank of $Z$, for the maps $W_Q$ and $\log 2 \cdot W_K$: the rank over GF(prime).

    The row of an example, times the denominators $\sum_j 2^{k_j}$ of its heads, is a row of integers. Reduction modulo
    the prime maps minors to minors, so one that does not vanish there does not vanish; and where the prime divides no
    denominator, rows are scaled by units.

    Args:
        contexts: Integer keys, `[T, n, d]`, or `[1, n, d]` if all examples share them.
        queries: Integer queries, `[T, d]`.
        W_Q: Integers, `[H, d, d_h]`.
        W_K: Integers, `[H, d, d_h]`; the key maps in units of log 2.
        prime: The prime, below $2^{63}$.

    Returns:
        The bound.

    Raises:
        InputError: Arrays that are not integers, shapes that do not fit, or a modulus that is not a prime.
        HypothesisError: The prime divides a denominator.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 4.

    Example:
        >>> one = np.ones((1, 1, 1), dtype=np.int64)
        >>> exact_mixed_rank(np.array([[[1], [2]]]), np.array([[0], [1], [3]]), one, one).lower
        1
    """
    # FLINT ends the whole process where it has to divide by what a modulus that is no prime leaves without inverse.
    if not 2 <= prime < 2**63 or not fmpz(prime).is_prime():
        raise InputError("prime", f"= {prime}", "a prime number below 2^63")
    rows = []
    for exponents, context in _examples(contexts, queries, W_Q, W_K):
        keys, row = nmod_mat(context, prime), []
        for head in exponents:
            powers = [pow(2, k, prime) for k in head]
            total = sum(powers) % prime
            if not total:
                raise HypothesisError("the rank over a prime field", "a prime that divides no denominator", str(prime))
            inverse = pow(total, -1, prime)
            weights = nmod_mat(1, len(powers), [power * inverse % prime for power in powers], prime)
            row += [int(entry) for entry in (weights * keys).entries()]
        rows.append(row)
    matrix = nmod_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row], prime)
    return ExactRank(lower=matrix.rank(), rows=len(rows), prime=prime)


def _examples(
    contexts: Int64Array, queries: Int64Array, W_Q: Int64Array, W_K: Int64Array
) -> Iterator[tuple[list[list[int]], fmpz_mat]]:
    """Yield the scores of every head in units of log 2, minus the smallest, and the keys, example by example."""
    named = {"contexts": contexts, "queries": queries, "W_Q": W_Q, "W_K": W_K}
    for (name, array), dimensions in zip(named.items(), (3, 2, 3, 3), strict=True):
        if not isinstance(array, np.ndarray) or is_masked(array) or array.dtype.kind not in "iu":
            raise InputError(name, "is not an array of integers")
        if array.ndim != dimensions or 0 in array.shape:
            raise InputError(name, f"has shape {array.shape}", f"{dimensions} dimensions of at least 1")
    d_model = queries.shape[1]
    if (
        len(contexts) not in (1, len(queries))
        or W_Q.shape != W_K.shape
        or {contexts.shape[2], W_Q.shape[1]} != {d_model}
    ):
        raise InputError(f"shapes {[array.shape for array in named.values()]}", "do not fit each other")
    maps = [
        fmpz_mat(k.tolist()) * fmpz_mat(q.tolist()).transpose() for q, k in zip(W_Q, W_K, strict=True)
    ]  # E W_K W_Q^T e
    keys = [fmpz_mat(context.tolist()) for context in contexts]
    for t, query in enumerate(queries.tolist()):
        context = keys[0 if len(keys) == 1 else t]
        column = fmpz_mat(d_model, 1, query)
        scores = [[int(score) for score in (context * (bilinear * column)).entries()] for bilinear in maps]
        yield [[score - min(head) for score in head] for head in scores], context


class _Given:
    """The inputs of rational attention over one denominator, and the exponents of its weights on the contexts
    (Lemma X1).
    """

    def __init__(self, front_end: ExactFrontEnd, contexts: Int64Array) -> None:
        self.contexts = tokens_of(front_end, contexts)
        self._front_end = front_end
        tokens, positions, d_model = front_end.d_vocab, front_end.n_ctx, front_end.d_model
        # Row s N + n of the table is x_{s,n}: a sum of two rows of W_E over W_pos.
        selection = fmpz_mat(tokens * positions, tokens + positions)
        for s in range(positions):
            for n in range(tokens):
                selection[s * tokens + n, n] = 1
                selection[s * tokens + n, tokens + s] = 1
        embeddings = fmpq_mat(tokens + positions, d_model, [*front_end.W_E.entries(), *front_end.W_pos.entries()])
        numerators, self.denominator = embeddings.numer_denom()
        self.table = selection * numerators
        self.columns = [[s * tokens + token for s, token in enumerate(context)] for context in self.contexts]
        rows = self.table.tolist()
        self.last = fmpz_mat(len(self.columns), d_model, [entry for pairs in self.columns for entry in rows[pairs[-1]]])

    def exponents(self, head: int) -> list[list[int]]:
        """Return the scores k_s of each context in units of ln 2, minus their minimum: [T, S]."""
        front_end, d_model = self._front_end, self._front_end.d_model
        bilinear = front_end.W_Q[head] * front_end.W_K[head].transpose()
        lasts = sorted({context[-1] for context in self.contexts})
        first = self.table.nrows() - front_end.d_vocab
        table = self.table.tolist()
        queries = fmpz_mat(len(lasts), d_model, [entry for token in lasts for entry in table[first + token]])
        products = fmpq_mat(queries) * bilinear * fmpq_mat(self.table.transpose()) / self.denominator**2
        scores = dict(zip(lasts, products.tolist(), strict=True))
        result = []
        for context, columns in zip(self.contexts, self.columns, strict=True):
            row = scores[context[-1]]
            exponents = [exponent_of(row[column], 1) for column in columns]
            least = min(exponents)
            result.append([exponent - least for exponent in exponents])
        return result

    def fill(self, weights: nmod_mat, powers: list[list[int]]) -> None:
        """Write the given numbers at the pairs (s, t_s) of each context into a matrix [T, S N] of zeros."""
        for t, (columns, row) in enumerate(zip(self.columns, powers, strict=True)):
            for column, power in zip(columns, row, strict=True):
                weights[t, column] = power


def _require_odd_prime(prime: int) -> None:
    if not isinstance(prime, int) or not 2 < prime < 2**63 or not fmpz(prime).is_prime():
        raise InputError("prime", f"= {prime}", "an odd prime below 2^63")


def _require_unit(value: fmpz | int, prime: int, name: str) -> None:
    if not int(value) % prime:
        raise HypothesisError("the rank over a prime field", f"a prime that does not divide {name}", f"{prime} does")
