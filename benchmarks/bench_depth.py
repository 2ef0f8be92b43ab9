"""Models of the shape of GPT-2 with random weights: radii, what they decide, processor times against a plain forward.

python benchmarks/bench_depth.py               two and four layers, in float64
python benchmarks/bench_depth.py --double-double  the same in double-double too
python benchmarks/bench_depth.py --gpt2        twelve layers of width 768 over 50257 tokens, float64 and double-double
"""

import argparse
from dataclasses import dataclass, replace

import numpy as np
from measure import timed

from constructions.model.blocks import Attention, Block, FeedForward, Normalization
from constructions.model.model import Model
from verify.forward.in_double_double import InDoubleDouble
from verify.forward.ladder import bits_needed, decide_argmax
from verify.forward.map_norms import Norms
from verify.forward.rows.row_balls import logit_balls


@dataclass(frozen=True)
class Shape:
    """Layers, width, heads, length of a context, tokens, contexts."""

    layers: int
    width: int
    heads: int
    length: int
    tokens: int
    contexts: int


SMALL = Shape(2, 64, 4, 16, 200, 100)
MEDIUM = Shape(4, 256, 8, 32, 1000, 100)
GPT2 = Shape(12, 768, 12, 16, 50257, 100)


def gpt2_like(shape: Shape, seed: int = 0) -> Model:
    """Causal attention and neurons behind layer normalizations; float32 weights N(0, 0.02^2), residual ones smaller."""
    rng = np.random.default_rng(seed)
    d, heads, n = shape.width, shape.heads, shape.width // shape.heads

    def tensor(*size: int, deviation: float = 0.02) -> np.ndarray:
        return rng.normal(0.0, deviation, size).astype(np.float32).astype(np.float64)

    def norm() -> Normalization:
        return Normalization("layer", w=np.ones(d), b=np.zeros(d))

    residual = 0.02 / np.sqrt(2.0 * shape.layers)
    blocks: list[Block] = []
    for _ in range(shape.layers):
        blocks.append(
            Attention(
                W_Q=tensor(heads, d, n),
                W_K=tensor(heads, d, n),
                W_V=tensor(heads, d, n),
                W_O=tensor(heads, n, d, deviation=residual),
                b_Q=tensor(heads, n),
                b_K=tensor(heads, n),
                b_V=tensor(heads, n),
                b_O=tensor(d),
                norm=norm(),
                attends="causal",
                score_root=n,
            )
        )
        blocks.append(
            FeedForward(
                W_in=tensor(d, 4 * d),
                W_out=tensor(4 * d, d, deviation=residual),
                b_in=tensor(4 * d),
                b_out=tensor(d),
                activation="gelu-tanh",
                norm=norm(),
            )
        )
    W_E = tensor(shape.tokens, d)
    return Model((*blocks, norm()), W_U=W_E.T, W_E=W_E, W_pos=tensor(shape.length, d))


def plain_forward(model: Model, contexts: np.ndarray) -> np.ndarray:
    """Return the logits in float64, as one writes it in NumPy."""
    x = model.W_E[contexts] + model.W_pos[: contexts.shape[1]]
    seen = np.tri(contexts.shape[1], dtype=bool)
    for block in model.blocks:
        if isinstance(block, Normalization):
            x = _normalized(x, block)
        elif isinstance(block, Attention):
            z = _normalized(x, block.norm)
            q, k, v = (
                (z @ w.transpose(1, 0, 2).reshape(block.d_model, -1) + np.asarray(b).reshape(-1))
                .reshape(*z.shape[:2], block.n_heads, -1)
                .transpose(0, 2, 1, 3)
                for w, b in ((block.W_Q, block.b_Q), (block.W_K, block.b_K), (block.W_V, block.b_V))
            )
            scores = np.where(seen, q @ k.transpose(0, 1, 3, 2) / np.sqrt(block.score_root), -np.inf)
            powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
            mixed = (powers / powers.sum(axis=-1, keepdims=True)) @ v
            x = x + mixed.transpose(0, 2, 1, 3).reshape(*z.shape[:2], -1) @ block.W_O.reshape(-1, block.d_out)
            x = x + block.b_O
        else:
            h = _normalized(x, block.norm) @ block.W_in + block.b_in
            h = 0.5 * h * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (h + 0.044715 * h * h * h)))
            x = x + h @ block.W_out + block.b_out
    return x[:, -1] @ model.W_U


def _normalized(x: np.ndarray, norm: Normalization | None) -> np.ndarray:
    assert norm is not None
    centred = x - x.mean(axis=-1, keepdims=True)
    y = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + norm.epsilon) * norm.w
    return y if norm.b is None else y + norm.b


def measure(shape: Shape, *, double_double: bool, repetitions: int) -> None:
    """One model: print its radii, what they decide, and the times."""
    model = gpt2_like(shape)
    contexts = np.random.default_rng(1).integers(0, shape.tokens, (shape.contexts, shape.length))
    print(f"\n{shape}", flush=True)
    norms = Norms(model)
    _, seconds = timed(lambda: list(logit_balls(model, contexts[:1], norms=norms)))
    print(f"norms once: {seconds:.1f} s", flush=True)
    step = max(1, 2**21 // (4 * shape.width * shape.length))
    plain, ball = [], []
    radius, logits = 0.0, np.empty(0)
    # In turns, so that other work on the machine slows both alike.
    for _ in range(repetitions):
        parts, seconds = timed(
            lambda: [plain_forward(model, contexts[i : i + step]) for i in range(0, len(contexts), step)]
        )
        plain.append(seconds)
        logits = np.concatenate(parts)
        found, seconds = timed(lambda: [each[1:] for each in logit_balls(model, contexts, norms=norms)])
        ball.append(seconds)
        radius = max(float(radii.max()) for _, radii in found)
        distance = np.abs(np.concatenate([value for value, _ in found]) - logits).max()
        print(
            f"plain {plain[-1]:.3f} s, balls {ball[-1]:.3f} s, ratio {ball[-1] / plain[-1]:.2f}, radius {radius:.3g}, "
            f"logits deviate by {logits.std():.3g}, the forwards differ by {distance:.2g}",
            flush=True,
        )
    print(
        f"ratio of the least times {min(ball) / min(plain):.2f}, bits for 1e-4: "
        f"{bits_needed(model, contexts, 1e-4, norms=norms)}",
        flush=True,
    )
    precisions = ("float64", "double-double") if double_double else ("float64",)
    decided, seconds = timed(lambda: decide_argmax(model, contexts, norms=norms, precisions=precisions))
    print(f"argmax: {decided.summary()}; {seconds:.1f} s, {seconds / min(plain):.1f} plain forwards", flush=True)
    if double_double:
        found, seconds = timed(lambda: list(logit_balls(model, contexts, norms=norms, numbers=InDoubleDouble())))
        widest = max(float(radii.max()) for _, _, radii in found)
        print(
            f"double-double: radius {widest:.3g}, {seconds:.1f} s, {seconds / min(plain):.1f} plain forwards",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--double-double", action="store_true", help="in double-double too")
    parser.add_argument("--gpt2", action="store_true", help="twelve layers of width 768 instead")
    parser.add_argument("--contexts", type=int, default=100, help="contexts that are decided (default: 100)")
    arguments = parser.parse_args()
    if arguments.gpt2:
        measure(replace(GPT2, contexts=arguments.contexts), double_double=True, repetitions=2)
        return
    for shape in (SMALL, MEDIUM):
        measure(replace(shape, contexts=arguments.contexts), double_double=arguments.double_double, repetitions=5)


if __name__ == "__main__":
    main()
