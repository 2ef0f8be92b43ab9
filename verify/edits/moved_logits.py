r"""How far an edit moves the logits of a context, from how far it moves the stream before the last normalization.

Page: docs/claims/editing.md
"""

import numpy as np

from constructions.models.blocks import Normalization
from constructions.models.model import Model
from verify.arithmetic.rounding import Floats
from verify.forward.map_norms import SLACK, Norms

_LEAST = float(np.nextafter(0.0, 1.0))


def moved_logits(model: Model, distance: Floats, *, norms: Norms | None = None) -> Floats:
    r"""Upper bounds of the largest move of a logit where the stream moves by at most $D$ (Theorem N3), `[T]`, in nats.

    Before the last normalization, with $\epsilon$ and the gain $w$, two streams differ by at most D. Then each logit k
    differs by at most

    $$ \frac{\vert P\,\mathrm{diag}(w) W_U[:, k] \vert\, D}{\sqrt\epsilon - D/(2\sqrt d)}, $$

    $P$ the projection along the ones for layer normalization, the identity for the other; infinite where the
    denominator is not positive.

    Args:
        model: A model that ends with a normalization.
        distance: D, non-negative, `[T]`.
        norms: The norms of the maps of the same model, to be shared by several calls.

    Returns:
        The bounds; exactly 0 where D is 0.

    Example:
        >>> final = Normalization("rms", w=np.ones(4), epsilon=0.25)
        >>> model = Model(blocks=(final,), W_U=np.eye(4), W_E=np.eye(4), W_pos=np.zeros((1, 4)))
        >>> bool(1.0 < moved_logits(model, np.array([0.4]))[0] < 1.01), moved_logits(model, np.zeros(1)).tolist()
        (True, [0.0])
    """
    final = model.blocks[-1]
    assert isinstance(final, Normalization)
    steepest = float((Norms(model) if norms is None else norms).of_columns(model.W_U, final).moved.max())
    distance = np.asarray(distance, dtype=np.float64)
    with np.errstate(all="ignore"):
        spread = distance / (2.0 * np.sqrt(float(model.d_model)))
        rest = np.sqrt(final.epsilon) * (1.0 - 2.0**-50) - spread * SLACK
        # the least number above 0 covers what underflows of a quotient or a product
        moved = steepest * (distance / rest * SLACK + _LEAST) * SLACK + _LEAST
    return np.where(distance == 0.0, 0.0, np.where(rest > 0.0, moved, np.inf))
