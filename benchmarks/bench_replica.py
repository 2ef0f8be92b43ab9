"""The replica beside a forward pass that computes every position of every context, as hosts do; processor time."""

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy is imported

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from constructions.models.model import Model  # noqa: E402
from constructions.models.shapes import dana_network  # noqa: E402
from verify.replica.module import Replica  # noqa: E402


def every_position(model: Model, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """A transformer of one layer as TransformerLens computes it: all positions ask, causally, and all have logits."""
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


def seconds(forward: Callable[[Tensor], Tensor], tokens: Tensor) -> float:
    start = time.process_time()
    forward(tokens)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| type | T | S | N = H = d | d_h | every position, ms | replica, ms | ratio | largest distance |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
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
            times = [(seconds(reference, tokens), seconds(replica, tokens)) for _ in range(options.repetitions)]
        slow, quick = (1000 * statistics.median(column) for column in zip(*times, strict=True))
        sizes = f"{str(dtype)[6:]} | {T} | {S} | {size} | {d_head}"
        print(f"| {sizes} | {slow:.0f} | {quick:.1f} | {slow / quick:.1f} | {apart:.1e} |", flush=True)


if __name__ == "__main__":
    main()
