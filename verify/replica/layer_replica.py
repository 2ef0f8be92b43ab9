"""The layer as a torch module, written out in the operations that the rounding bound speaks about."""

import torch
from torch import Tensor, nn

from constructions.errors import InputError
from constructions.models.model import Model
from constructions.models.shapes import mahdavi_tensors
from verify.replica.module import full_precision


class LayerReplica(nn.Module):
    r"""A layer in torch, with parameters of the same names, shapes and convention: row vectors, unscaled scores.

    For a context $E$ and a query $e$,

    $$ q^h = e W_Q^h, \quad k^h_s = E_s W_K^h, \quad \theta^h = \mathrm{softmax}_s \langle q^h, k^h_s \rangle, \quad
       z^h = \theta^h E, \quad \mathrm{output} = [z^1 W_V^1, \dots, z^H W_V^H]\, W_O\, W_D. $$

    The softmax is written out, because the one of torch may use a faster and coarser exponential. In float32 and
    float64 the outputs obey `verify.replica.layer_rounding.layer_rounding_bound`: the forward pass takes no part in
    autocasting and no reduced-precision matrix product (TF32, bfloat16), whatever the settings around it.

    Args:
        tensors: The five tensors by name, of one floating-point type, on one device.

    Source: Mahdavi, Liao, Thrampoulidis (2024), Section 3. Page: docs/layer.md

    Example:
        >>> from constructions.models.shapes import mahdavi_layer
        >>> import numpy as np
        >>> layer = mahdavi_layer(W_Q=np.zeros((1, 2, 1)), W_K=np.zeros((1, 2, 1)), W_V=np.ones((1, 2, 1)),
        ...               W_O=np.ones((1, 1)), W_D=np.ones((1, 1)))
        >>> replica = LayerReplica.from_layer(layer, dtype=torch.float64)
        >>> replica(torch.eye(2, dtype=torch.float64)[None], torch.zeros(1, 2, dtype=torch.float64)).tolist()
        [[1.0]]
    """

    W_Q: nn.Parameter
    W_K: nn.Parameter
    W_V: nn.Parameter
    W_O: nn.Parameter
    W_D: nn.Parameter

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            self.register_parameter(name, nn.Parameter(tensor))

    @classmethod
    def from_layer(
        cls, layer: Model, *, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> "LayerReplica":
        """A replica whose parameters are the weights rounded to nearest in `dtype`.

        Args:
            layer: The exact weights.
            dtype: A floating-point type of torch.
            device: Where the parameters live.

        Returns:
            The module; `load_state_dict` of a module made from a layer of the same shapes takes its state.
        """
        if not dtype.is_floating_point:
            raise InputError(f"dtype = {dtype}, expected a floating-point type")
        return cls({name: torch.tensor(array).to(dtype).to(device) for name, array in mahdavi_tensors(layer).items()})

    def forward(self, contexts: Tensor, queries: Tensor) -> Tensor:
        """The outputs of each example.

        Args:
            contexts: Keys, `[B, n, d]`, or `[1, n, d]` if all examples share them; in the type of the parameters.
            queries: Queries, `[B, d]`.

        Returns:
            Outputs, `[B, d_out]`, in the type of the parameters.

        Raises:
            InputError: Tensors of a wrong type or shape.
        """
        self._check(contexts, queries)
        with full_precision(), torch.autocast(self.W_Q.device.type, enabled=False):
            asked = torch.einsum("bd,hde->bhe", queries, self.W_Q)
            if len(contexts) == 1:
                keys = torch.einsum("nd,hde->hne", contexts[0], self.W_K)
                scores = torch.einsum("bhe,hne->bhn", asked, keys)
            else:
                keys = torch.einsum("bnd,hde->bhne", contexts, self.W_K)
                scores = torch.einsum("bhe,bhne->bhn", asked, keys)
            exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
            theta = exponentials / exponentials.sum(dim=-1, keepdim=True)
            if len(contexts) == 1:
                mixed = torch.einsum("bhn,nd->bhd", theta, contexts[0])
            else:
                mixed = torch.einsum("bhn,bnd->bhd", theta, contexts)
            values = torch.einsum("bhd,hdv->bhv", mixed, self.W_V)
            return values.flatten(1) @ self.W_O @ self.W_D

    def _check(self, contexts: Tensor, queries: Tensor) -> None:
        d_model = self.W_Q.shape[1]
        if queries.ndim != 2 or queries.shape[1] != d_model or queries.dtype != self.W_Q.dtype:
            raise InputError(
                f"queries is {queries.dtype} of shape {tuple(queries.shape)}, expected {self.W_Q.dtype} [B, {d_model}]"
            )
        fits = contexts.ndim == 3 and contexts.shape[0] in (1, len(queries)) and contexts.shape[2] == d_model
        if not fits or contexts.shape[1] == 0 or contexts.dtype != self.W_Q.dtype:
            raise InputError(
                f"contexts is {contexts.dtype} of shape {tuple(contexts.shape)}, "
                f"expected {self.W_Q.dtype} [{len(queries)} or 1, n, {d_model}]"
            )
