r"""The rank of the features of contexts for the very weights of a model, from both sides.

Page: docs/rigour/certificate.md
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb_mat, ctx, fmpz_mat

from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array
from constructions.tasks.any_task import Listing
from constructions.tasks.vectors import Vectors
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.integers import Integers, split
from verify.forward.heads import beside_last, features_in_balls, last_in_balls, mixed_inputs_in_balls
from verify.forward.walk import contexts_of
from verify.linear_algebra.ball_rank import ball_rank
from verify.linear_algebra.rank import rank_bracket
from verify.linear_algebra.row_rank import certify_full_row_rank
from verify.ranks.linear_relations import rank_upper_bound_for_all_weights
from verify.verdict import Verdict

_LARGEST_IN_BALLS = 2**18  # rows * columns * rank of a matrix that is eliminated in balls
_LARGEST_EXACT = 2**24  # rows * columns * rank of an integer matrix that is eliminated
_MOST_BITS = 1024


@dataclass(frozen=True)
class RankOfWeights:
    r"""Proved bounds of the rank of the features of T contexts: $Y$ or $[x_S \mid Y]$ for tokens, $Z$ for vectors.

    Args:
        rows: T.
        columns: $H d_h$, with the skip connection $d$ more; for vectors $H d$.
        lower: The rank for these weights is at least this.
        upper: It is at most this.
        all_weights_upper: No weights of a model of these sizes have a larger one.
        method: The method that proved the lower bound, in a few words.
    """

    rows: int
    columns: int
    lower: int
    upper: int
    all_weights_upper: int
    method: str


def rank_of_weights(
    model: Model, task: Listing, features: Enclosure, *, with_skip: bool, widened: float = 1.0
) -> RankOfWeights:
    r"""Bound the rank of the features of the contexts, in real arithmetic, from both sides.

    From below: every matrix of the set that holds the features is proved to have that rank, in float64 with bounded
    roundings or, where that leaves a gap and the matrix is small, in balls of more bits. From above: the shape; where
    that is not reached, `rank_upper_bound_of_weights`, which holds for these weights, and
    `rank_upper_bound_for_all_weights`. The features involve exponentials, so that nothing else bounds their rank from
    above: an enclosure that is wider than a point holds matrices of full rank.

    Args:
        model: One attention.
        task: The contexts.
        features: Their features without the skip connection, enclosed, `[T, columns]`.
        with_skip: Whether $x_S$ stands next to them; for tokens alone.
        widened: The radii are multiplied by this power of two before a lower bound is proved in float64, so that a
            machine that rounds otherwise proves it too.

    Returns:
        The bounds.

    Raises:
        BlasError: The BLAS of this machine fails its probes.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> from constructions.model.shapes import dana_network
        >>> from verify.forward.heads import enclose_features
        >>> task = table_task("a,a,a,x\nb,b,a,x\na,b,a,y\nb,a,a,y\n")
        >>> rng = np.random.default_rng(0)
        >>> maps = {name: rng.standard_normal((1, 4, 4)) for name in ("W_Q", "W_K", "W_V", "W_O")}
        >>> model = dana_network(W_E=rng.standard_normal((task.d_vocab, 4)), W_pos=rng.standard_normal((3, 4)),
        ...                      W_U=rng.standard_normal((4, 2)), **maps)
        >>> found = rank_of_weights(model, task, enclose_features(model, task.contexts), with_skip=False)
        >>> found.lower, found.upper, found.all_weights_upper
        (3, 3, 3)
    """
    matrix = beside_last(model, contexts_of(model, task.inputs), features) if with_skip else features
    rows, columns = matrix.shape
    lower, method = rank_in_float64(Enclosure(matrix.midpoint, widened * matrix.radius))
    upper = all_weights = min(rows, columns)
    if lower < upper:
        all_weights = min(upper, _upper_for_all_weights(model, task, with_skip=with_skip))
        upper = min(all_weights, rank_upper_bound_of_weights(model, task, with_skip=with_skip))
    if lower < upper and rows * columns * upper <= _LARGEST_IN_BALLS:
        lower_bound = ball_rank(lambda: _in_balls(model, task, with_skip=with_skip), target=upper, most_bits=_MOST_BITS)
        lower, method = max((lower, method), (lower_bound.lower, f"balls of {lower_bound.bits} bits"))
    return RankOfWeights(rows, columns, lower, upper, all_weights, method)


def rank_in_float64(matrix: Enclosure) -> tuple[int, str]:
    """Prove a rank that every matrix of a set has at least, in float64 with bounded roundings.

    Args:
        matrix: The set, `[rows, columns]`.

    Returns:
        The rank, and what proved it, in a few words.
    """
    rows, columns = matrix.shape
    upright = matrix if rows <= columns else matrix.T
    certificate = certify_full_row_rank(upright)
    if certificate.verdict is Verdict.PROVED:
        return min(rows, columns), certificate.method
    return rank_bracket(matrix).lower, "singular vectors"


def rank_upper_bound_of_weights(model: Model, task: Listing, *, with_skip: bool) -> int:
    r"""Bound the rank of the features from above by ranks of integer matrices, for these weights.

    A float64 is an integer over a power of two, so that the rows $x_{ts}$ that the heads read, $x_{ts} V_h$ (the maps
    $V_h = W_V^h$; for vectors the identity) and their differences are exact, and their ranks are those of integer
    matrices. Each bound writes the features as a sum of matrices whose rows lie in known spaces, whatever the attention
    weights, of which it is only used that those of a head sum to 1 (Lemma C2).

    Args:
        model: One attention.
        task: The contexts.
        with_skip: Whether $x_S$ stands beside the features.

    Returns:
        The smallest of the bounds; the number of columns where the integer matrices are too large to eliminate.

    Example:
        >>> from constructions.tasks.table import table_task
        >>> from constructions.model.shapes import dana_network
        >>> task, flat = table_task("a,a,x\nb,a,x\na,b,y\n"), np.ones((1, 2, 1))
        >>> model = dana_network(W_E=np.ones((4, 2)), W_pos=np.zeros((2, 2)), W_Q=flat, W_K=flat, W_V=flat,
        ...                      W_O=np.ones((1, 1, 2)), W_U=np.eye(2))
        >>> rank_upper_bound_of_weights(model, task, with_skip=True)  # both tokens are one vector
        1
    """
    read, lasts, apart = _exact_rows(model, task)
    identity = fmpz_mat([[int(i == j) for j in range(model.d_model)] for i in range(model.d_model)])
    if not model.reads_tokens:
        maps = [identity] * model.n_heads
    else:
        maps = [_matrix(_exact(W_V), W_V.shape[1]) for W_V in model.attention.W_V]
    together = _side_by_side(maps, model.d_model)
    differences = [_rank(apart, weight_map) for weight_map in maps]
    skipped = _rank(lasts, identity) if with_skip else 0
    bounds = [skipped + sum(_rank(read, weight_map) for weight_map in maps)]
    if with_skip:
        bounds.append(skipped + sum(differences))
    elif maps:
        bounds.append(_rank(lasts, together) + sum(differences))
        bounds.append(_rank(read, together) + sum(differences) - max(differences))
    return min(bounds)


def _upper_for_all_weights(model: Model, task: Listing, *, with_skip: bool) -> int:
    """Return the upper bound for all weights; for vectors, the bound of these weights, in which no weights occur."""
    if not model.reads_tokens:
        return rank_upper_bound_of_weights(model, task, with_skip=False)
    block = model.attention
    sizes = {"d_model": block.d_model, "d_head": block.d_head, "n_heads": block.n_heads, "with_skip": with_skip}
    return rank_upper_bound_for_all_weights(contexts_of(model, task.inputs), **sizes).rank


def _in_balls(model: Model, task: Listing, *, with_skip: bool) -> arb_mat:
    """Return the matrix at the precision of the context."""
    if not model.reads_tokens:
        return mixed_inputs_in_balls(model, task.inputs, ctx.prec)
    features = features_in_balls(model, task.inputs, ctx.prec)
    if not with_skip:
        return features
    last = last_in_balls(model, task.inputs, ctx.prec)
    return arb_mat([[*a, *b] for a, b in zip(last.tolist(), features.tolist(), strict=True)])


def _exact_rows(model: Model, task: Listing) -> tuple[fmpz_mat, fmpz_mat, fmpz_mat]:
    """Return the distinct rows that the heads read, those at last positions, and the differences of a row and its last
    one.

    All in one unit, which changes no rank.
    """
    inputs = task.inputs
    if isinstance(inputs, Vectors):
        exact = split(_exact(inputs.contexts), inputs.d_model)
        contexts = [exact[start : start + task.n_ctx] for start in range(0, len(exact), task.n_ctx)]
    else:
        assert model.W_E is not None and model.W_pos is not None
        exact = split(_exact(np.concatenate([model.W_E, model.W_pos])), model.d_model)
        tokens, positions = exact[: model.d_vocab], exact[model.d_vocab :]
        table = [[_sum(token, position) for token in tokens] for position in positions[: task.n_ctx]]
        contexts = [[table[s][token] for s, token in enumerate(context)] for context in inputs.tolist()]
    read = {tuple(row) for rows in contexts for row in rows}
    lasts = {tuple(rows[-1]) for rows in contexts}
    pairs = {(tuple(row), tuple(rows[-1])) for rows in contexts for row in rows[:-1]}
    apart = {tuple(a - b for a, b in zip(row, last, strict=True)) for row, last in pairs}
    return _stacked(read, model.d_model), _stacked(lasts, model.d_model), _stacked(apart, model.d_model)


def _exact(array: Float64Array) -> list[int]:
    return Integers.exact(array.ravel().tolist()).values


def _sum(row: Sequence[int], other: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(row, other, strict=True)]


def _stacked(rows: Iterable[Sequence[int]], width: int) -> fmpz_mat:
    return _matrix([entry for row in rows for entry in row], width)


def _matrix(entries: Sequence[int], width: int) -> fmpz_mat:
    return fmpz_mat(len(entries) // width, width, list(entries))


def _side_by_side(maps: Iterable[fmpz_mat], rows: int) -> fmpz_mat:
    """Concatenate the maps into one matrix; their different units scale columns, which does not change a rank."""
    tables = [weight_map.tolist() for weight_map in maps]
    return fmpz_mat([[entry for table in tables for entry in table[i]] for i in range(rows)])


def _rank(rows: fmpz_mat, through: fmpz_mat) -> int:
    """Return the rank of the product, exactly; its smaller side where the product is too large to eliminate."""
    smaller = min(rows.nrows(), rows.ncols(), through.ncols())
    if smaller == 0 or rows.nrows() * through.ncols() * smaller > _LARGEST_EXACT:
        return smaller
    return (rows * through).rank()
