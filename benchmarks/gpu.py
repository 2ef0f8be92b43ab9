"""The stages of a proof with their products on a device, as shares of the rate at which it multiplies matrices.

    python benchmarks/gpu.py --device cuda --facts 16384 65536

Random weights and contexts: the time does not depend on them.
"""

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from flint import ctx
from torch.utils.flop_counter import FlopCounterMode

from constructions.features.minimum_norm import right_inverse
from constructions.models.attention import features as read_features
from constructions.models.model import Model
from constructions.models.shapes import dana_network
from constructions.products import multiplier
from verify.arithmetic.products import multiplying
from verify.forward.heads import enclose_features
from verify.forward.logits import logit_chunks
from verify.linear_algebra.gram import distance, factor, gram, smallest_eigenvalue_estimate
from verify.linear_algebra.norms import radius_norm
from verify.replica.device import device_name, select_device
from verify.replica.device_products import products_on
from verify.replica.module import Replica

Result = TypeVar("Result")


class Counted:
    """A multiplier that counts what is multiplied, and for how long."""

    def __init__(self, inner) -> None:
        self.inner, self.operations, self.seconds = inner, 0, 0.0
        self.name, self.least, self.side = inner.name, inner.least, inner.side

    def __call__(self, a, b, terms=None, /):
        start = time.perf_counter()
        result = self.inner(a, b, terms)
        self.seconds += time.perf_counter() - start
        self.operations += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        return result


def rate_of(device: torch.device, size: int) -> float:
    """Operations per second of a float64 product of squares that lie on the device; the best of three."""
    left, right = (torch.rand(size, size, dtype=torch.float64, device=device) for _ in range(2))
    best = 0.0
    for _ in range(4):
        start = time.perf_counter()
        float((left @ right)[0, 0])  # waits for the device
        best = max(best, 2.0 * size**3 / (time.perf_counter() - start))
    return best


def random_model(facts: int, d_model: int, d_head: int, tokens: int) -> tuple[Model, np.ndarray]:
    """Heads with a quarter more features than facts, and contexts of four tokens."""
    rng = np.random.default_rng(0)
    heads = -(-5 * facts // (4 * d_head))
    model = dana_network(
        W_E=rng.standard_normal((tokens, d_model)),
        W_pos=rng.standard_normal((4, d_model)),
        W_Q=rng.standard_normal((heads, d_model, d_head)) / d_model,
        W_K=rng.standard_normal((heads, d_model, d_head)),
        W_V=rng.standard_normal((heads, d_model, d_head)),
        W_O=rng.standard_normal((heads, d_head, d_model)) / facts,
        W_U=rng.standard_normal((d_model, tokens)),
    )
    contexts = rng.choice(tokens**4, facts, replace=False)[:, None] // tokens ** np.arange(4) % tokens
    return model, contexts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--facts", type=int, nargs="+", default=[16384])
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--head-dim", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rate", type=int, default=8192, help="side of the squares whose product is the unit")
    parser.add_argument("--least", type=int, default=2**27, help="multiplications that are worth the way")
    options = parser.parse_args()
    device = select_device(options.device)
    with products_on(options.device, least=options.least):
        rate = rate_of(device, options.rate)
        print(f"{device_name(device)}: {rate / 1e12:.3g} TFLOP/s, {options.rate} x {options.rate}, float64\n")
        for facts in options.facts:
            measure(*random_model(facts, options.dim, options.head_dim, options.tokens), device, rate)


def measure(model: Model, contexts: np.ndarray, device: torch.device, rate: float) -> None:
    found = multiplier()
    assert found is not None
    counted = Counted(found)
    print(f"T = {len(contexts)}, {model.n_heads} heads of dimension {model.d_head}, d = {model.d_model}\n")
    print("| stage | seconds | TFLOP | share of the rate | share of the time in products |")
    print("|---|---|---|---|---|", flush=True)

    def stage(name: str, work: Callable[[], Result]) -> Result:
        counted.operations, counted.seconds = 0, 0.0
        start = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start
        row(name, seconds, counted.operations, f"{counted.seconds / seconds:.2f}")
        return result

    def row(name: str, seconds: float, operations: float, products: str) -> None:
        share = operations / (seconds * rate)
        print(f"| {name} | {seconds:.3g} | {operations / 1e12:.3g} | {share:.2f} | {products} |", flush=True)

    with ctx.workprec(128), multiplying(counted):
        targets = np.random.default_rng(1).standard_normal((len(contexts), model.d_model))
        stage("weights solved for", lambda: right_inverse(read_features(model, contexts)).solve(targets))
        features = stage("enclosed features", lambda: enclose_features(model, contexts))
        b = np.ascontiguousarray(features.midpoint)
        k = stage("Gram matrix", lambda: gram(b))
        shift = 0.75 * stage("smallest eigenvalue, estimated", lambda: smallest_eigenvalue_estimate(k))
        root = stage("Cholesky factor", lambda: factor(k, shift))
        if root is not None:
            bound = (shift - stage("distance", lambda: distance(k, shift, root))).sqrt()
            verdict = "PROVED" if bound > radius_norm(features) else "UNDECIDED"
        else:
            verdict = "UNDECIDED"
        stage("enclosed logits", lambda: sum(len(x) for _, x in logit_chunks(model, contexts)))
    replica = Replica.from_model(model, dtype=torch.float64).to(device)
    tokens = torch.tensor(contexts, device=device)
    with torch.no_grad():
        with FlopCounterMode(display=False) as operations:
            forward(replica, tokens)
        start = time.perf_counter()
        forward(replica, tokens)
        row("replica", time.perf_counter() - start, operations.get_total_flops(), "")
    memory = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else 0.0
    print(f"\nfull row rank of the features: {verdict}; {memory:.1f} GiB of the device at most\n", flush=True)


def forward(replica: Replica, tokens: torch.Tensor) -> float:
    """All contexts, a few at a time; the sum waits for the device."""
    return float(sum(replica(part).sum() for part in tokens.split(4096)))


if __name__ == "__main__":
    main()
