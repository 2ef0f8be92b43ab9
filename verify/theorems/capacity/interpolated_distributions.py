"""Bound on how many contexts a model of a given size can have arbitrary distributions: a count that no weights exceed.

Page: docs/claims/knots.md
"""

from constructions.errors import HypothesisError, InputError
from constructions.model.model import Model


def most_interpolated_distributions(model: Model) -> int:
    r"""Return an upper bound of the contexts on which models of this shape reach all distributions: $\lfloor k / (N -
    1) \rfloor$.

    The k entries of all tensors determine the logits by a locally Lipschitz map: products, sums, softmax, every
    activation and normalization here. Its image in the $T (N - 1)$ differences of logits is a countable union of sets
    of dimension k at most. For $T (N - 1) > k$ it has measure 0: almost no T distributions of full support are reached,
    on whichever contexts.

    Args:
        model: Any model of blocks; only its shape counts.

    Returns:
        The count.

    Raises:
        InputError: What is not a model.
        HypothesisError: One output: there is one distribution.

    Source: Madden, Fox, Thrampoulidis (2024), by another proof.

    Example:
        >>> import numpy as np
        >>> model = Model(blocks=(), W_U=np.ones((1, 3)), W_E=np.ones((3, 1)), W_pos=np.ones((1, 1)))
        >>> model.parameters, most_interpolated_distributions(model)
        (7, 3)
    """
    if not isinstance(model, Model):
        raise InputError("model", f"is {type(model).__name__}", "a Model")
    if model.d_vocab_out < 2:
        raise HypothesisError("The count of distributions", "two tokens or more", f"d_vocab_out = {model.d_vocab_out}")
    return sum(int(tensor.size) for tensor in model.tensors().values()) // (model.d_vocab_out - 1)
