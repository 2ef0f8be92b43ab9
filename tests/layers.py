"""Layers and their examples for the tests, and what they compute in many digits."""

from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np
from flint import fmpq, fmpq_mat
from hypothesis import strategies as st

from constructions.model.exact_network import as_rationals
from constructions.model.model import Model
from constructions.model.shapes import mahdavi_layer, mahdavi_tensors
from constructions.model.vector_attention import mixed_matrix
from constructions.saturated_layers.mixing_layer import MixingLayer
from constructions.tasks.vectors import VectorTask
from verify.certificates.certificate import MODEL_FILE, TASK_FILE
from verify.provers.memorization import certify_memorization
from verify.provers.saturation import DELTA

BITS = 1500  # of the truth: radii of saturated heads reach down to 2^-1022


def random_layer(*, n_heads=2, d_model=3, d_head=2, d_value=2, d_inner=3, d_out=2, scale=1.0, seed=0) -> Model:
    rng = np.random.default_rng(seed)
    return mahdavi_layer(
        W_Q=scale * rng.standard_normal((n_heads, d_model, d_head)),
        W_K=rng.standard_normal((n_heads, d_model, d_head)),
        W_V=rng.standard_normal((n_heads, d_model, d_value)),
        W_O=rng.standard_normal((n_heads * d_value, d_inner)),
        W_D=rng.standard_normal((d_inner, d_out)),
    )


def random_layer_task(
    *, examples=4, tokens=3, d_model=3, d_out=2, shared=True, kind="regression", seed=0
) -> VectorTask:
    rng = np.random.default_rng(seed + 1)
    return VectorTask(
        contexts=rng.standard_normal((1 if shared else examples, tokens, d_model)),
        queries=rng.standard_normal((examples, d_model)),
        labels=rng.standard_normal((examples, d_out)),
        kind=kind,
    )


def memory_layer(task: VectorTask, *, n_heads: int, d_head: int = 2, seed: int = 0) -> Model:
    """A layer of random heads whose read-out is fitted to the labels by least squares."""
    rng = np.random.default_rng(seed)
    d_model = task.d_model
    W_Q, W_K = rng.standard_normal((2, n_heads, d_model, d_head))
    mixed = mixed_matrix(task.contexts, task.queries, W_Q, W_K)
    read = np.linalg.lstsq(mixed, task.labels, rcond=None)[0]
    return mahdavi_layer(
        W_Q=W_Q,
        W_K=W_K,
        W_V=read.reshape(n_heads, d_model, task.d_out),
        W_O=np.tile(np.eye(task.d_out), (n_heads, 1)),
        W_D=np.eye(task.d_out),
    )


def changed_layer(layer: Model, **tensors) -> Model:
    return mahdavi_layer(**{**mahdavi_tensors(layer), **tensors})


def write_layer(folder: Path, layer: Model, task: VectorTask, *, rank=True, saturation=DELTA, **options):
    """The folder of a certified layer, without the summary."""
    folder.mkdir(exist_ok=True)
    layer.save(folder / MODEL_FILE)
    task.save(folder / TASK_FILE)
    certified = certify_memorization(layer, task, rank=rank, saturation=saturation, **options)
    certified.save(folder)
    return certified


@st.composite
def layers_and_tasks(draw):
    """Small layers with examples, the degenerate ones included: one token, one example, one head, one dimension."""
    d_model, d_out = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 10**6))
    kind = draw(st.sampled_from(["regression", "classification"])) if d_out > 1 else "regression"
    layer = random_layer(
        n_heads=draw(st.integers(1, 3)),
        d_model=d_model,
        d_head=draw(st.integers(1, 3)),
        d_value=draw(st.integers(1, 2)),
        d_inner=draw(st.integers(1, 3)),
        d_out=d_out,
        scale=draw(st.sampled_from([0.0, 1e-8, 1.0, 30.0, 1e4])),
        seed=seed,
    )
    task = random_layer_task(
        examples=draw(st.integers(1, 4)),
        tokens=draw(st.integers(1, 4)),
        d_model=d_model,
        d_out=d_out,
        shared=draw(st.booleans()),
        kind=kind,
        seed=seed,
    )
    return layer, task


@dataclass(frozen=True)
class Truth:
    """In many digits: theta `[T][H][n]`, Z `[T][H * d]`, outputs `[T][d_out]`."""

    theta: list
    mixed: list
    outputs: list


def truth(layer: Model, task: VectorTask) -> Truth:
    """What the layer computes, straight from the definition, in mpmath at `BITS` bits."""
    with mpmath.workprec(BITS):
        theta, mixed, outputs = [], [], []
        for t in range(task.n_examples):
            context = _many_digits(task.context(t))
            query = _many_digits(task.queries[t : t + 1])
            patterns, row, values = [], [], []
            for h in range(layer.n_heads):
                scores = context * _many_digits(layer.W_K[h]) * (query * _many_digits(layer.W_Q[h])).T
                top = max(scores)
                powers = [mpmath.exp(score - top) for score in scores]
                mass = mpmath.fsum(powers)
                pattern = mpmath.matrix([[power / mass for power in powers]])
                z = pattern * context
                patterns.append(list(pattern))
                row += list(z)
                values += list(z * _many_digits(layer.W_V[h]))
            theta.append(patterns)
            mixed.append(row)
            outputs.append(
                list(mpmath.matrix([values]) * _many_digits(mahdavi_tensors(layer)["W_O"]) * _many_digits(layer.W_U))
            )
        return Truth(theta, mixed, outputs)


def _many_digits(array: np.ndarray):
    return mpmath.matrix([[mpmath.mpf(float(x)) for x in row] for row in array])


def random_examples(examples=12, tokens=3, width=5, *, seed=0):
    """Standard normal contexts [examples, tokens, width] and queries [examples, width]."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((examples, tokens, width)), rng.standard_normal((examples, width))


def mixed_tokens(layer: MixingLayer, context: np.ndarray) -> fmpq_mat:
    r"""What it makes of integer tokens `[n, d]`, $x + \bar x \sum_h W_V^h W_O^h$ with their mean $\bar x$, exactly."""
    through = as_rationals(np.einsum("hdv,hve->de", layer.W_V, layer.W_O))
    count = len(context)
    mean = fmpq_mat(count, count, [fmpq(1, count)] * count**2)
    return as_rationals(context) + mean * as_rationals(context) * through
