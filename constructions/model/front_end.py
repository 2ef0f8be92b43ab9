"""Everything that the features of a context depend on."""

from dataclasses import dataclass

from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.numeric.arrays import Float64Array


@dataclass(frozen=True, eq=False)
class FrontEnd:
    """Embeddings and heads without W_O and W_U: everything that the features of a context depend on.

    Args:
        kind: The name of its recipe, one of `full_rank_attention.FRONT_ENDS` but never ``"auto"``.
        W_E: Embeddings, `[d_vocab, d_model]`.
        W_pos: Positional embeddings, `[n_ctx, d_model]`.
        W_Q: Query maps, `[n_heads, d_model, d_qk]`.
        W_K: Key maps, `[n_heads, d_model, d_qk]`.
        W_V: Value maps, `[n_heads, d_model, d_head]`.
    """

    kind: str
    W_E: Float64Array
    W_pos: Float64Array
    W_Q: Float64Array
    W_K: Float64Array
    W_V: Float64Array

    def network(self, W_O: Float64Array, W_U: Float64Array) -> Model:
        """Return the network with `W_U` and stacked head outputs, `[n_heads * d_head, d_model]`.

        Raises:
            InputError: A tensor of a wrong shape or type, or with a NaN or an infinity; names it.
        """
        n_heads, d_model, d_head = self.W_V.shape
        W_O = W_O.reshape(n_heads, d_head, d_model)
        return dana_network(self.W_E, self.W_pos, self.W_Q, self.W_K, self.W_V, W_O, W_U)
