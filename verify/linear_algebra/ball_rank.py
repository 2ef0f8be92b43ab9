"""Bound from below the rank of a real matrix known as balls of any precision, for irrational weights.

Page: docs/rigour/linear_algebra.md
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb, arb_mat, ctx

from constructions.errors import InputError, require_at_least
from constructions.numeric.arrays import Int64Array
from constructions.tasks.contexts import checked_contexts
from verify.verdict import Verdict

_MOST_BITS = 2**20


@dataclass(frozen=True)
class BallRank:
    """A proved lower bound of the rank of a real matrix.

    Args:
        lower: Number of pivots that are certainly not zero; the matrix has this rank or more.
        target: The rank that was to be proved.
        bits: The precision of the balls.
        rows: Rows of the pivots, in the order of elimination.
        columns: Their columns: the minor of these rows and columns is not zero.
    """

    lower: int
    target: int
    bits: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def verdict(self) -> Verdict:
        """PROVED if the target was reached, else UNDECIDED: balls never prove that a minor is zero."""
        return Verdict.PROVED if self.lower >= self.target else Verdict.UNDECIDED


def ball_rank(matrix: Callable[[], arb_mat], *, target: int, fewest_bits: int = 128, most_bits: int = 8192) -> BallRank:
    r"""Prove that a real matrix has at least some rank, with balls of rising precision.

    Gaussian elimination with complete pivoting, by the lower bounds of the absolute values. A pivot whose ball does not
    contain 0 is not 0, and the balls of the Schur complement contain the exact one; so each step adds 1 to the rank.
    The elimination ends when every ball that is left contains 0, and starts again with twice the bits while the target
    is not reached.

    Args:
        matrix: Makes the matrix, at the precision of the context: every time balls around the same real numbers.
        target: The rank to prove.
        fewest_bits: The first precision.
        most_bits: No precision above this one is tried.

    Returns:
        The first bound that reaches the target; if none does, the best one.

    Raises:
        InputError: A target below 0, or precisions out of order or above 2^20.

    Example:
        >>> two = lambda: arb_mat(2, 2, [arb(2).sqrt(), 1, 2, arb(2).sqrt()])  # of rank 1
        >>> bound = ball_rank(two, target=2, most_bits=256)
        >>> bound.lower, bound.verdict.value
        (1, 'UNDECIDED')
        >>> ball_rank(two, target=1).verdict.value
        'PROVED'
    """
    require_at_least(0, target=target)
    if not 2 <= fewest_bits <= most_bits <= _MOST_BITS:
        raise InputError("fewest_bits", f"= {fewest_bits}, most_bits = {most_bits}", "2 <= fewest <= most <= 2^20")
    best, bits = BallRank(0, target, fewest_bits, (), ()), fewest_bits
    while bits <= most_bits:
        with ctx.workprec(bits):
            pivots = _pivots(matrix().tolist())
        if len(pivots) > best.lower:
            best = BallRank(len(pivots), target, bits, *zip(*pivots, strict=True))
        if best.lower >= target:
            break
        bits *= 2
    return best


def ball_outputs(
    W_E: arb_mat, W_pos: arb_mat, heads: Sequence[tuple[arb_mat, arb_mat, arb_mat]], contexts: Int64Array
) -> arb_mat:
    r"""Return the last embeddings and the features of every context, in balls: $[x_S \mid Y]$, `[T, d + H d_h]`.

    Works at the precision of the context. Each operation of Arb returns a ball that contains the exact result for all
    numbers in its operands (Lemma X4).

    Args:
        W_E: Embeddings, `[N, d]`.
        W_pos: Positional embeddings, `[S, d]`.
        heads: W_Q `[d, d_qk]`, W_K `[d, d_qk]` and W_V `[d, d_h]` of each head; scores in nats.
        contexts: Tokens, `[T, S]`.

    Returns:
        A row for each context: the last embedding, then the features of one head after the other.

    Raises:
        InputError: Contexts that are not tokens of these embeddings.

    Source: Dana, Pydi, Chevaleyre (2024), section 2.

    Example:
        >>> import numpy as np
        >>> one, line = arb_mat([[1]]), arb_mat([[0], [1]])
        >>> [last, feature] = ball_outputs(line, line, [(one, one, one)], np.array([[1, 1]])).entries()
        >>> last, float(feature)  # (1 + 2 e^2) / (1 + e^2)
        (2.00000000000000, 1.8807970779778822)
    """
    tokens, n_ctx = W_E.nrows(), W_pos.nrows()
    array = checked_contexts(contexts, d_vocab=tokens, n_ctx=n_ctx)
    embeddings, positions = W_E.tolist(), W_pos.tolist()
    inputs = arb_mat([[a + b for a, b in zip(x, y, strict=True)] for y in positions for x in embeddings])
    columns = [[s * tokens + token for s, token in enumerate(context)] for context in array.tolist()]
    table = inputs.tolist()
    rows = [list(table[pairs[-1]]) for pairs in columns]
    for W_Q, W_K, W_V in heads:
        scores = (inputs * W_Q * (inputs * W_K).transpose()).tolist()
        values = (inputs * W_V).tolist()
        for row, pairs in zip(rows, columns, strict=True):
            # Less the score of the last position, which is there in every context: smaller exponentials.
            powers = [(scores[pairs[-1]][pair] - scores[pairs[-1]][pairs[-1]]).exp() for pair in pairs]
            total = sum(powers, arb(0))
            for column in range(W_V.ncols()):
                mixed = sum((p * values[pair][column] for p, pair in zip(powers, pairs, strict=True)), arb(0))
                row.append(mixed / total)
    return arb_mat(rows)


def _pivots(rows: list[list[arb]]) -> list[tuple[int, int]]:
    """Return the rows and columns of pivots that are certainly nonzero (Lemma X5)."""
    left, columns = dict(enumerate(rows)), list(range(len(rows[0]) if rows else 0))
    pivots: list[tuple[int, int]] = []
    while left:
        largest, place = arb(0), None
        for i, row in left.items():
            for j in columns:
                lower = row[j].abs_lower()
                if lower > largest and lower.is_finite():  # exact numbers; false for NaN, and infinity is no number
                    largest, place = lower, (i, j)
        if place is None:
            break
        pivots.append(place)
        chosen, column = left.pop(place[0]), place[1]
        columns.remove(column)
        for row in left.values():
            factor = row[column] / chosen[column]
            for j in columns:
                row[j] -= factor * chosen[j]
    return pivots
