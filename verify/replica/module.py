"""The network as a torch module, written out in the operations that the rounding bound speaks about."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from constructions.errors import InputError
from constructions.models.model import Model
from constructions.models.shapes import dana_tensors


class Replica(nn.Module):
    r"""A network in torch, with parameters of the same names, shapes and convention: row vectors, unscaled scores.

    For tokens $t_1, \dots, t_S$, at the last position only,

    $$ x_s = W_E[t_s] + W_{pos}[s], \quad q^h = x_S W_Q^h, \quad k^h_s = x_s W_K^h, \quad v^h_s = x_s W_V^h, $$

    $$ a^h = \mathrm{softmax}_s \langle q^h, k^h_s \rangle, \quad z^h = \sum_s a^h_s v^h_s, \quad
       \mathrm{logits} = \Bigl(x_S + \sum_h z^h W_O^h\Bigr) W_U. $$

    The softmax is written out, because the one of torch may use a faster and coarser exponential. In float32 and
    float64 the logits obey `verify.replica.rounding.rounding_bound`: the forward pass takes no part in autocasting and
    no reduced-precision matrix product (TF32, bfloat16), whatever the settings around it.

    Args:
        tensors: The seven tensors by name, of one floating-point type, on one device.

    Source: Dana, Pydi, Chevaleyre (2024), equations (1) and (2). Page: docs/run.md

    Example:
        >>> from constructions.models.shapes import dana_network
        >>> import numpy as np
        >>> one = np.ones
        >>> network = dana_network(W_E=one((3, 2)), W_pos=one((4, 2)), W_Q=one((5, 2, 1)), W_K=one((5, 2, 1)),
        ...                   W_V=one((5, 2, 2)), W_O=one((5, 2, 2)), W_U=one((2, 3)))
        >>> replica = Replica.from_network(network, dtype=torch.float64)
        >>> replica(torch.tensor([[0, 1, 2, 0]])).tolist()
        [[84.0, 84.0, 84.0]]
    """

    W_E: nn.Parameter
    W_pos: nn.Parameter
    W_Q: nn.Parameter
    W_K: nn.Parameter
    W_V: nn.Parameter
    W_O: nn.Parameter
    W_U: nn.Parameter

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            self.register_parameter(name, nn.Parameter(tensor))

    @classmethod
    def from_network(
        cls, network: Model, *, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> "Replica":
        """A replica whose parameters are the weights rounded to nearest in `dtype`.

        Args:
            network: The exact weights.
            dtype: A floating-point type of torch.
            device: Where the parameters live.

        Returns:
            The module; `load_state_dict` of a module made from a network of the same shapes takes its state.
        """
        if not dtype.is_floating_point:
            raise InputError(f"dtype = {dtype}, expected a floating-point type")
        return cls({name: torch.tensor(array).to(dtype).to(device) for name, array in dana_tensors(network).items()})

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits after the last token of each context.

        Args:
            tokens: Integers, `[B, S]` with `S <= n_ctx`.

        Returns:
            Logits, `[B, d_vocab_out]`, in the type of the parameters.

        Raises:
            InputError: Tokens of a wrong type, shape or range.
        """
        self._check(tokens)
        with full_precision(), torch.autocast(self.W_E.device.type, enabled=False):
            x = self.W_E[tokens] + self.W_pos[: tokens.shape[1]]
            last = x[:, -1]
            queries = torch.einsum("bd,hde->bhe", last, self.W_Q)
            keys = torch.einsum("bsd,hde->bhse", x, self.W_K)
            values = torch.einsum("bsd,hde->bhse", x, self.W_V)
            scores = torch.einsum("bhe,bhse->bhs", queries, keys)
            exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
            attention = exponentials / exponentials.sum(dim=-1, keepdim=True)
            mixed = torch.einsum("bhs,bhse->bhe", attention, values)
            residual = last + torch.einsum("bhe,hed->bd", mixed, self.W_O)
            return residual @ self.W_U

    def _check(self, tokens: Tensor) -> None:
        integral = not tokens.dtype.is_floating_point and not tokens.dtype.is_complex and tokens.dtype != torch.bool
        if tokens.ndim != 2 or not integral:
            raise InputError(f"tokens is {tokens.dtype} of shape {tuple(tokens.shape)}, expected integers [B, S]")
        if not 1 <= tokens.shape[1] <= self.W_pos.shape[0]:
            raise InputError(
                f"tokens: contexts of {tokens.shape[1]} tokens, expected 1 .. {self.W_pos.shape[0]} (n_ctx)"
            )
        if tokens.numel():
            lowest, highest = (int(end) for end in torch.aminmax(tokens))
            if lowest < 0 or highest >= self.W_E.shape[0]:
                raise InputError(f"tokens holds {lowest} .. {highest}, expected 0 .. {self.W_E.shape[0] - 1}")


@contextmanager
def full_precision() -> Iterator[None]:
    """Let float32 matrix products be float32 within the block, on CPU and CUDA; the settings come back afterwards.

    Torch lets TF32 or bfloat16 stand in for float32 inside matrix products, by settings of the process that any library
    may have changed. Both break every bound in terms of the unit roundoff of float32.

    Example:
        >>> with full_precision():
        ...     torch.get_float32_matmul_precision()
        'highest'
    """
    # Two generations of settings say the same thing, and torch refuses to read them while they disagree: the newer
    # ones are made strict first, so that the older one can be read, and both are put back in the opposite order.
    mkldnn = torch.backends.mkldnn.matmul  # pyright: ignore[reportAttributeAccessIssue]
    backends = (torch.backends.cuda.matmul, mkldnn)
    newer = [backend.fp32_precision for backend in backends]
    for backend in backends:
        backend.fp32_precision = "ieee"
    older = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(older)
        for backend, precision in zip(backends, newer, strict=True):
            backend.fp32_precision = precision
