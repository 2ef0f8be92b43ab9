"""The replica beside a forward pass that computes every position of every context, as hosts do; processor time."""

import argparse
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from measure import medians, print_head, print_row
from torch import Tensor

from constructions.model.model import Model
from constructions.model.shapes import dana_network
from verify.torch.module import Replica


def every_position(model: Model, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """Return a transformer of one layer as TransformerLens computes it: all positions ask, causally, and all have
    logits.
    """
    own = {name.rpartition(".")[2]: torch.tensor(array).to(dtype) for name, array in model.tensors().items()}

    def forward(tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = own["W_E"][tokens] + own["W_pos"][:length]
        q, k, v = (torch.einsum("bsd,hde->bhse", x, own[f"W_{of}"]) for of in "QKV")
        scores = q @ k.transpose(-1, -2)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = torch.softmax(scores.masked_fill(later, -math.inf), dim=-1) @ v
        return (x + torch.einsum("bhse,hed->bsd", mixed, own["W_O"])) @ own["W_U"]

    return forward


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print_head("type", "T", "S", "N = H = d", "d_h", "every position, ms", "replica, ms", "ratio", "largest distance")
    for dtype, T, S, size, d_head in (
        (torch.float32, 1024, 4, 64, 64),
        (torch.float64, 1024, 4, 64, 64),
        (torch.float32, 1024, 2, 64, 64),
        (torch.float32, 1024, 8, 64, 64),
        (torch.float32, 1024, 4, 64, 16),
        (torch.float32, 4096, 4, 64, 64),
    ):
        rng = np.random.default_rng(0)
        model = dana_network(
            W_E=rng.standard_normal((size, size)) / 8, W_pos=rng.standard_normal((S, size)) / 8,
            W_Q=rng.standard_normal((size, size, d_head)) / 8, W_K=rng.standard_normal((size, size, d_head)) / 8,
            W_V=rng.standard_normal((size, size, d_head)) / 8, W_O=rng.standard_normal((size, d_head, size)) / 64,
            W_U=rng.standard_normal((size, size)) / 8,
        )  # fmt: skip
        tokens = torch.tensor(rng.choice(size**S, T, replace=False)[:, None] // size ** np.arange(S) % size)
        replica, reference = Replica.from_model(model, dtype=dtype), every_position(model, dtype)
        with torch.inference_mode():
            apart = float((replica(tokens) - reference(tokens)[:, -1]).abs().max())
            rivals = {"slow": partial(reference, tokens), "quick": partial(replica, tokens)}
            slow, quick = (1000 * seconds for seconds in medians(rivals, options.repetitions).values())
        sizes = str(dtype)[6:], T, S, size, d_head
        print_row(*sizes, f"{slow:.0f}", f"{quick:.1f}", f"{slow / quick:.1f}", f"{apart:.1e}")


if __name__ == "__main__":
    main()
