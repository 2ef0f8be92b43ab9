r"""The lower bound of Madden et al.: some transformer reaches arbitrary distributions with parameters of the order of T
(N - 1).

Page: docs/claims/knots.md
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat

from constructions.counted import counted
from constructions.memories.knots import random_distribution_knots
from constructions.model.blocks import Attention, FeedForward
from constructions.model.exact_network import as_rationals
from constructions.model.model import Model
from constructions.rational.positional_attention import exact_distributions_model
from constructions.tasks.random_facts import random_contexts
from verify.forward.in_rationals import exact_network_logits
from verify.linear_algebra.ball_rank import ball_rank
from verify.theorems.claim import Claim
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import INTERPOLATED_DISTRIBUTIONS
from verify.theorems.memories.knots import prove_knots
from verify.verdict import decided, proved

CLAIM = Claim(
    id="madden-2024.lower",
    title="A transformer of one layer that reaches arbitrary distributions",
    source="Madden, Fox, Thrampoulidis (2024), lower bounds",
    kind="statement",
    printed=(
        "A layer of attention with several heads and a network of neurons, with an activation that is real analytic "
        "and no polynomial, reaches arbitrary distributions on T contexts with parameters of the order of [[order: T "
        "(N - 1)]]; averaging the tokens is enough in place of attention."
    ),
    judgement="not-judged",
    truth=(
        "Not judged: the paper was not read. Proved here: with ReLU and [[heads: one]] head that looks at positions "
        "alone, [[enough: T (N - 1) + T - 1 + N + S]] numbers that depend on the task are enough, "
        "[[above: T - 1 + N + S]] above the bound [[order: T (N - 1)]]: all distributions of full support on any T "
        "distinct contexts, in closed form. The neurons of the source have independent values at T codes, so that some "
        "readout has any log-odds. Averages with equal weights know no order: the embeddings have to make it known."
    ),
    reconstructed="the network and the constants: the paper was at hand in its abstract only",
    page="docs/claims/knots.md",
    hypotheses=conditions("N >= 2, S >= 1", "1 <= T <= N^S <= 2^20", "seed >= 0"),
    parameters={"d_vocab": 8, "n_ctx": 4, "facts": 64, "seed": 0},
    build=random_distribution_knots,
)

_SIZES = ((2, 1, 1), (2, 1, 2), (2, 4, 9), (4, 3, 20), (8, 4, 40))  # N, S, T


_SIZES_FULL = ((16, 3, 120), (32, 3, 60))


_SMALL = 1e-15  # nats


def evidence(*, full: bool) -> Iterator[Evidence]:
    for d_vocab, n_ctx, facts in _SIZES + (_SIZES_FULL if full else ()):
        contexts = random_contexts(d_vocab=d_vocab, n_ctx=n_ctx, facts=facts, seed=0)
        log_odds = drawn_log_odds(d_vocab=d_vocab, facts=facts)
        yield _reached(exact_distributions_model(contexts, log_odds, d_vocab), contexts, log_odds)
    yield _rounded()
    for count in (3, 10, *((20,) if full else ())):
        yield _analytic(count)
    yield _averages()


def drawn_log_odds(*, d_vocab: int, facts: int) -> list[list[fmpq]]:
    """Fractions, `[T, N - 1]`: the log-odds of distributions of full support."""
    rng = np.random.default_rng([d_vocab, facts])
    return [[fmpq(int(p), int(q)) for p, q in rng.integers(1, 40, (d_vocab - 1, 2))] for _ in range(facts)]


def _chosen_numbers(model: Model) -> int | None:
    """Count the numbers that depend on the task: token values, scores, knots, jumps and offsets; None for another
    shape.
    """
    head, neurons = (*model.blocks, None, None)[:2]
    if not isinstance(head, Attention) or not isinstance(neurons, FeedForward):
        return None
    if neurons.b_in is None or neurons.b_out is None or neurons.d_model != 1 or head.n_heads != 1 or neurons.skip:
        return None
    if any(x != 1 for x in neurons.W_in.ravel()) or any(model.W_E[:, 1]) or any(model.W_pos[:, 0]):
        return None
    return model.d_vocab + model.n_ctx + neurons.b_in.size + neurons.W_out.size + neurons.b_out.size


def _reached(model: Model, contexts: np.ndarray, log_odds: list[list[fmpq]]) -> Evidence:
    facts, n_ctx = contexts.shape
    d_vocab = model.d_vocab_out
    wanted = fmpq_mat(facts, d_vocab, [y for row in log_odds for y in (*row, fmpq(0))])
    outputs = exact_network_logits(model, contexts)
    numbers = _chosen_numbers(model)
    sizes = {"T": facts, "N": d_vocab, "S": n_ctx}
    most = INTERPOLATED_DISTRIBUTIONS.at(model=model)
    compared: tuple[Comparison, ...] = (Comparison(facts, "<=", most),)
    if facts > 1 and numbers is not None:
        odds = sum(map(len, log_odds))
        compared += (
            Comparison(numbers, "=", stated(CLAIM, "enough", **sizes)),
            Comparison(odds, "=", stated(CLAIM, "order", **sizes)),
            Comparison(numbers - odds, "=", stated(CLAIM, "above", **sizes)),
            Comparison(sum(x.n_heads for x in model.blocks if isinstance(x, Attention)), "=", stated(CLAIM, "heads")),
        )
    return Evidence(
        "part",
        f"{counted(facts, 'distinct context')} of {counted(n_ctx, 'token')} out of {d_vocab}, "
        f"log-odds drawn: one head by position, "
        f"{facts - 1 or 1} ReLU neurons, rational weights, {numbers} numbers that depend on the task",
        f"the distributions, exactly, with {stated(CLAIM, 'enough', **sizes)} numbers",
        "exactly the log-odds" if outputs == wanted else "other log-odds",
        Method("exact rationals", Means.EXACT),
        decided(outputs == wanted and len(np.unique(contexts, axis=0)) == facts and numbers is not None),
        quantifier=Quantifier.SAMPLED,
        compared=compared,
    )


def _rounded() -> Evidence:
    construction = CLAIM.construct()
    proof = prove_knots(construction.model, construction.task)
    worst = None if proof.divergence_upper is None else float(proof.divergence_upper.max())
    return Evidence(
        "part",
        f"{construction.task.n_contexts} random distributions of {construction.task.d_vocab} tokens, "
        "weights rounded to float64",
        f"a divergence of {_SMALL:.0e} nats at most",
        "no distributions" if worst is None else f"at most {worst:.1e} nats",
        Method("integers, and balls for the attention", Means.EXACT, Means.BALLS),
        proved(worst is not None and worst <= _SMALL),
        {"sha256": construction.model.sha256()},
        quantifier=Quantifier.SAMPLED,
    )


def analytic_neurons(count: int) -> arb_mat:
    """Return the values of neurons u / (1 + exp(-u)), u = a z - b with drawn a and b, at z = 0, ..., count - 1."""
    drawn = np.random.default_rng(count).integers(1, 64, (2, count)).tolist()
    rows: list[Any] = []
    for z in range(count):
        inputs = [arb(a) / 16 * z - arb(b) / 4 for a, b in zip(*drawn, strict=True)]
        rows.append([u / (1 + (-u).exp()) for u in inputs])
    return arb_mat(rows)


def _analytic(count: int) -> Evidence:
    rank = ball_rank(lambda: analytic_neurons(count), target=count)
    return Evidence(
        "part",
        f"{count} neurons u / (1 + exp(-u)), which are real analytic, at {count} distinct codes, inputs drawn",
        f"rank {count}: some readout has any log-odds there",
        f"rank >= {rank.lower}",
        Method(f"elimination in balls of {rank.bits} bits", Means.BALLS),
        rank.verdict,
        quantifier=Quantifier.SAMPLED,
        compared=(Comparison(rank.lower, "=", count),),
    )


def _averages() -> Evidence:
    """Two orders of the same tokens with one last token, embeddings of tokens and of positions added."""
    contexts = [[0, 1, 2], [1, 0, 2]]
    rng = np.random.default_rng(0)
    embeddings, positions = rng.integers(-9, 10, (3, 4)).tolist(), rng.integers(-9, 10, (3, 4)).tolist()
    means = [
        as_rationals([[sum(embeddings[t][j] + positions[s][j] for s, t in enumerate(context)) for j in range(4)]])
        for context in contexts
    ]
    return Evidence(
        "boundary",
        "two contexts with the same tokens in another order, embeddings of tokens and positions added: the average of "
        "all positions, and the last position",
        "equal, so that no layer behind them tells the contexts apart",
        "equal" if means[0] == means[1] else "different",
        Method("exact integers", Means.EXACT),
        decided(means[0] == means[1] and contexts[0] != contexts[1] and contexts[0][-1] == contexts[1][-1]),
        {"contexts": contexts},
    )
