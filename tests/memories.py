"""Small networks that hold a task, made directly: random heads, and a minimum-norm output by numpy."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from constructions.model.model import Model
from constructions.model.shapes import dana_network, dana_tensors
from constructions.tasks.task import Counts, Task, make_task
from verify.provers.answer_bounds import Answers
from verify.provers.memorization import certify_memorization
from verify.provers.proved import Proved


def random_task(
    *,
    target: str = "distributions",
    facts: int = 12,
    tail: int = 5,
    n_ctx: int = 3,
    vocabulary: int = 5,
    answers: int = 0,
    seed: int = 0,
) -> Task:
    """Distinct random contexts with random counts of what follows: tokens, or so many answers of their own."""
    rng = np.random.default_rng(seed)
    everything = np.array(list(product(range(vocabulary), repeat=n_ctx)))
    contexts = everything[rng.choice(len(everything), facts + tail, replace=False)]
    following = answers or vocabulary
    rows = [
        {int(token): int(rng.integers(1, 9)) for token in rng.choice(following, rng.integers(1, 4), replace=False)}
        for _ in contexts
    ]
    kind: Any = target
    return make_task(
        contexts,
        Counts.from_rows(rows),
        vocabulary=tuple(f"token {i}" for i in range(vocabulary)),
        answers=tuple(f"answer {i}" for i in range(answers)),
        target=kind,
        facts=facts,
    )


def memory(task: Task, *, n_heads: int = 8, d_head: int = 2, d_qk: int = 2, beta: float = 1.0, seed: int = 0) -> Model:
    """A network whose logits are, up to rounding, the logs of the distributions, or 20 at the label and 0 elsewhere."""
    rng = np.random.default_rng(seed)
    width = task.n_answers
    d_model = width + 1
    front = dana_network(
        W_E=rng.standard_normal((task.d_vocab, d_model)),
        W_pos=rng.standard_normal((task.n_ctx, d_model)),
        W_Q=beta * rng.standard_normal((n_heads, d_model, d_qk)),
        W_K=rng.standard_normal((n_heads, d_model, d_qk)),
        W_V=rng.standard_normal((n_heads, d_model, d_head)),
        W_O=np.zeros((n_heads, d_head, d_model)),
        W_U=np.eye(d_model, width),
    )
    wanted = np.zeros((task.n_contexts, d_model))
    if task.distributions is None:
        wanted[np.arange(task.n_contexts), task.labels] = 20.0
    else:
        wanted[:, :width] = np.log(task.distributions)
    last, features = hidden(front, task.contexts)
    output = np.linalg.lstsq(features, wanted - last, rcond=None)[0]
    return changed(front, W_O=output.reshape(n_heads, d_head, d_model))


def hidden(network: Model, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The embedded last token and the features, in plain float64."""
    x = network.W_E[contexts] + network.W_pos[: contexts.shape[1]]
    scores = np.einsum("tq,hqk,tsr,hrk->ths", x[:, -1], network.W_Q, x, network.W_K, optimize=True)
    attention = np.exp(scores - scores.max(axis=2, keepdims=True))
    attention /= attention.sum(axis=2, keepdims=True)
    values = np.einsum("ths,tsd,hdv->thv", attention, x, network.W_V, optimize=True)
    return x[:, -1], values.reshape(len(contexts), -1)


def changed(network: Model, **tensors: np.ndarray) -> Model:
    """The network with some tensors replaced."""
    return dana_network(**{**dana_tensors(network), **tensors})


def write_memory(
    folder: Path, network: Model, task: Task, *, rank: bool = True, text_divergence: bool = True, **options: Any
) -> Proved[Answers]:
    """The files of a certified memory, with what can be stated of its features and of the rest of a text."""
    folder.mkdir(parents=True, exist_ok=True)
    certified = certify_memorization(network, task, rank=rank, text_divergence=text_divergence, **options)
    network.save(folder / "model.safetensors")
    task.save(folder / "task.safetensors")
    certified.save(folder)
    return certified


@dataclass(frozen=True)
class Truth:
    """What a network does with a task, to many more digits than float64 has."""

    features: list[list[mpmath.mpf]]  # [T, n_heads * d_head]
    last: list[list[mpmath.mpf]]  # [T, d_model]
    logits: list[list[mpmath.mpf]]  # [M, N], memorized contexts first
    divergences: list[mpmath.mpf]  # [T]
    margins: list[mpmath.mpf]  # [T]
    mean_over_all: mpmath.mpf


def truth(network: Model, task: Task, *, bits: int = 300) -> Truth:
    """Evaluate everything in mpmath, from the definitions."""
    with mpmath.workprec(bits):
        everything = [*task.contexts.tolist(), *task.tail_contexts.tolist()]
        passes = [_forward(network, context) for context in everything]
        distributions = [
            [mpmath.mpf(float(x)) for x in row] if task.distributions is not None else row
            for row in (
                task.distributions if task.distributions is not None else np.eye(task.n_answers)[task.labels].tolist()
            )
        ]
        logits = [z for _, _, z in passes]
        margins = []
        for modes, z in zip(task.modes(), logits, strict=False):
            others = [x for x, mode in zip(z, modes, strict=True) if not mode]
            least = min(x for x, mode in zip(z, modes, strict=True) if mode)
            margins.append(least - max(others) if others else mpmath.inf)
        counts = [*task.counts.dense(0, task.n_contexts, task.n_answers).tolist()]
        counts += task.tail_counts.dense(0, len(task.tail_contexts), task.n_answers).tolist()
        total = mpmath.fsum(sum(row) * _divergence(row, z) for row, z in zip(counts, logits, strict=True))
        return Truth(
            features=[features for _, features, _ in passes[: task.n_contexts]],
            last=[last for last, _, _ in passes[: task.n_contexts]],
            logits=logits,
            divergences=[_divergence(distribution, z) for distribution, z in zip(distributions, logits, strict=False)],
            margins=margins,
            mean_over_all=total / sum(map(sum, counts)),
        )


def _divergence(masses: list, logits: list[mpmath.mpf]) -> mpmath.mpf:
    total = mpmath.fsum(masses)
    log_sum = mpmath.log(mpmath.fsum(mpmath.exp(z) for z in logits))
    return (
        mpmath.fsum(m / total * (mpmath.log(m / total) - z) for m, z in zip(masses, logits, strict=True) if m) + log_sum
    )


def _forward(network: Model, context: list[int]) -> tuple[list, list, list]:
    def exact(array: np.ndarray) -> mpmath.matrix:
        return mpmath.matrix([[mpmath.mpf(float(x)) for x in row] for row in array])

    x = exact(network.W_E[context]) + exact(network.W_pos[: len(context)])
    last = x[len(context) - 1, :]
    hidden, features = last, []
    for head in range(network.n_heads):
        scores = (x * exact(network.W_K[head])) * (last * exact(network.W_Q[head])).T
        top = max(scores)
        # A weight below 2**(-90 precisions) is below every rounding here, whatever the others multiply it with.
        powers = [mpmath.exp(score - top) if score - top > -64 * mpmath.mp.prec else mpmath.mpf(0) for score in scores]
        weights = mpmath.matrix([[power / mpmath.fsum(powers) for power in powers]])
        output = weights * x * exact(network.W_V[head])
        features += list(output)
        hidden = hidden + output * exact(network.W_O[head])
    return list(last), features, list(hidden * exact(network.W_U))
