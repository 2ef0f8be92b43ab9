r"""A layer in integers: the forward pass of the independent checker, with python-flint and the standard library alone.

An integer n at scale k stands for $n / 2^k$. Weights, keys, queries, scores and the read-out are exact; the attention
weights are rounded to 128 bits, and everything after them carries the bound of that error.

Page: docs/rigour/layer.md (Lemmas Y7 and Y8).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpz_mat

from verify.arithmetic.integers import SMALL, Integers, compact, dyadic, split_matrix
from verify.independent.integer_forward import NoInformationError
from verify.independent.plain_layer_files import PlainLayer, PlainLayerTask
from verify.progress import Progress

BITS = 128
_GUARD = 32
_NEGLIGIBLE = 100  # e^-100 is less than 2^-BITS


@dataclass(frozen=True)
class IntegerLayer:
    """What a layer does with the examples of a task, in integers; each error is in units of its scale.

    Args:
        top: The largest attention weight of each pair of a head and an example, in units of 2^-BITS.
        share_error: Bound of the error of each of them.
        features: The rows of Z for each head, `[H][T * d]`.
        width: Entries of a row of one head, d.
        feature_bits: Bits of their entries.
        features_scale: Their scale.
        features_error: Bound of their error.
        outputs: The outputs, `[T][d_out]`.
        output_scale: Their scale.
        output_error: Bound of their error.
    """

    top: list[int]
    share_error: int
    features: list[Sequence[int]]
    width: int
    feature_bits: int
    features_scale: int
    features_error: int
    outputs: list[list[int]]
    output_scale: int
    output_error: int

    def feature_rows(self, with_skip: bool) -> Iterator[list[int]]:
        """The rows of Z, one per example; a layer has no skip connection."""
        for t in range(len(self.outputs)):
            yield [n for head in self.features for n in head[t * self.width : (t + 1) * self.width]]

    def saturated(self, delta: Fraction) -> tuple[int, int]:
        """How many of the largest attention weights are surely above 1 - delta, and how many may be."""
        limit = (1 - delta) * 2**BITS
        surely = sum(n - self.share_error > limit for n in self.top)
        return surely, sum(n + self.share_error > limit for n in self.top)

    def output(self, t: int, j: int) -> tuple[Fraction, Fraction]:
        """Lower and upper bound of output j of example t."""
        n = self.outputs[t][j]
        return tuple(dyadic(n + error, self.output_scale) for error in (-self.output_error, self.output_error))  # type: ignore[return-value]


def integer_layer(
    layer: PlainLayer, task: PlainLayerTask, *, feature_bits: int = SMALL, progress: Progress | None = None
) -> IntegerLayer:
    r"""The forward pass, with proved errors.

    With scores $\sigma_s$ that are exact, $|2^{128} \theta_s - A_s| \le \delta := 3 + 2n$ for the integers $A_s$ and
    $\sum_s A_s \le 2^{128}$ (Lemma Y7); so $\sum_s A_s E_s$ is within $n \delta \max |E|$ units of $2^{128} z$, and the
    outputs within that times the largest column sum of $|M|$ (Lemma Y8).

    Args:
        layer: The weights.
        task: The examples.
        feature_bits: Bits of the entries of Z, at most 128.
        progress: Called with the stage and the finished share of it.

    Returns:
        Integers and error bounds.

    Raises:
        NoInformationError: An exponential could not be enclosed as needed.

    Page: docs/rigour/layer.md
    """
    sizes, task_sizes = layer.sizes(), task.sizes()
    d_model, d_head, d_value, d_inner = (sizes[name] for name in ("d_model", "d_head", "d_value", "d_inner"))
    n_heads, d_out = sizes["n_heads"], sizes["d_out"]
    size, n_tokens, n_contexts = (task_sizes[name] for name in ("n_examples", "n_tokens", "n_contexts"))
    exact = {name: Integers.exact(tensor.values) for name, tensor in layer.tensors.items()}
    keys, queries = Integers.exact(task.contexts.values), Integers.exact(task.queries.values)
    per_context = n_tokens * d_model
    contexts = [
        fmpz_mat(n_tokens, d_model, keys.values[start : start + per_context])
        for start in range(0, n_contexts * per_context, per_context)
    ]
    asked = fmpz_mat(size, d_model, queries.values)
    inner = _matrix(exact["W_O"], 0, n_heads * d_value, d_inner) * _matrix(exact["W_D"], 0, d_inner, d_out)
    inner_rows = split_matrix(inner, d_out)

    score_scale = queries.scale + keys.scale + exact["W_Q"].scale + exact["W_K"].scale
    read_scale = exact["W_V"].scale + exact["W_O"].scale + exact["W_D"].scale
    largest_key = keys.largest()
    share_error = 3 + 2 * n_tokens
    dropped = BITS + 1 - feature_bits
    key_bits = largest_key.bit_length()

    top: list[int] = []
    features: list[Sequence[int]] = []
    outputs = fmpz_mat(size, d_out)
    column_sums = [0] * d_out
    for head in range(n_heads):
        # The score of key E_s is <E_s, W_K W_Q^T e>: one vector for each example.
        maps = _matrix(exact["W_Q"], head, d_model, d_head) * _matrix(exact["W_K"], head, d_model, d_head).transpose()
        wanted = asked * maps
        if n_contexts == 1:
            scores = split_matrix(wanted * contexts[0].transpose(), n_tokens)
        else:
            columns = split_matrix(wanted, d_model)
            scores = [
                [int(n) for n in (context * fmpz_mat(d_model, 1, column)).entries()]
                for context, column in zip(contexts, columns, strict=True)
            ]
        shares = [attention_shares(row, score_scale) for row in scores]
        top += map(max, shares)
        if n_contexts == 1:
            mixed = fmpz_mat(shares) * contexts[0]
        else:
            rows = [(fmpz_mat([row]) * context).entries() for row, context in zip(shares, contexts, strict=True)]
            mixed = fmpz_mat(size, d_model, [n for row in rows for n in row])
        block = inner_rows[head * d_value : (head + 1) * d_value]
        read = _matrix(exact["W_V"], head, d_model, d_value) * fmpz_mat(block)
        outputs += mixed * read
        for row in split_matrix(read, d_out):
            column_sums = [total + abs(n) for total, n in zip(column_sums, row, strict=True)]
        features.append(compact([int(n) >> key_bits + dropped for n in mixed.entries()], feature_bits))
        if progress is not None:
            progress("attention", (head + 1) / n_heads, f"head {head + 1} of {n_heads}")
    return IntegerLayer(
        top=top,
        share_error=share_error,
        features=features,
        width=d_model,
        feature_bits=feature_bits,
        features_scale=BITS + keys.scale - key_bits - dropped,
        features_error=2 + (n_tokens * share_error >> dropped),
        outputs=split_matrix(outputs, d_out),
        output_scale=BITS + keys.scale + read_scale,
        output_error=n_tokens * share_error * largest_key * max(column_sums),
    )


def attention_shares(scores: list[int], scale: int) -> list[int]:
    r"""The softmax of exact scores in units of $2^{-128}$, each within $3 + 2n$ of them (Lemma Y7).

    Args:
        scores: Integers at `scale`.
        scale: Their scale.

    Returns:
        As many integers, not negative, with a sum of at most $2^{128}$.

    Raises:
        NoInformationError: An exponential could not be enclosed as needed.

    Page: docs/rigour/layer.md

    Example:
        >>> [n / 2**128 for n in attention_shares([5, 5, -1000], 0)]
        [0.5, 0.5, 0.0]
    """
    top = max(scores)
    limit = _NEGLIGIBLE << scale
    with ctx.workprec(BITS + _GUARD):
        powers = [_power(score - top, scale) if top - score < limit else 0 for score in scores]
    total = sum(powers)
    return [(power << BITS) // total for power in powers]


def _power(score: int, scale: int) -> int:
    """An integer within 2 of e^(score / 2^scale) in units of 2^-BITS, for scores from -_NEGLIGIBLE to 0."""
    if score == 0:
        return 1 << BITS
    ball = arb((score, -scale)).exp()
    mantissa, exponent = map(int, ball.mid().man_exp())
    if not (ball.is_finite() and ball.rad() <= arb((1, -BITS))):
        raise NoInformationError("an exponential of an attention score could not be enclosed")
    shift = exponent + BITS
    return mantissa << shift if shift >= 0 else mantissa >> -shift


def _matrix(tensor: Integers, block: int, rows: int, columns: int) -> fmpz_mat:
    size = rows * columns
    return fmpz_mat(rows, columns, tensor.values[block * size : (block + 1) * size])
