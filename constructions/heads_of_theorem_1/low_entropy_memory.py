"""Build a transformer that memorizes distributions close to a look-up table.

Page: docs/claims/theorem_2.md
"""

import math

import numpy as np

from constructions.attention.families import fitting_attention
from constructions.encoders.low_entropy_encoder import missing_mass, strength
from constructions.errors import HypothesisError, InputError
from constructions.model.attention import features, last
from constructions.model.construction import Construction
from constructions.model.model import Model
from constructions.numeric.minimum_norm import right_inverse
from constructions.tasks.arrays import all_contexts, array_task
from constructions.tasks.criterion import Criterion
from constructions.tasks.task import Task
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.unembedding import best

_ROUNDING = 1e-9  # nats; more than the rounding of the weights to float64, and of the promise, costs

_CLAIM = "Theorem LE1"
_DRAWS = 8


def low_entropy_memory(task: Task, unembedding: Unembedding, *, d_head: int, seed: int = 0) -> Model:
    r"""Return a transformer whose residual stream is $\lambda_t e_{g(t)}$ on every memorized context.

    g(t) is the label of the context, $\lambda_t$ its `strength`. Attention heads write the stream, a quarter more of
    them than T asks for.

    Args:
        task: Distributions over at least two tokens.
        unembedding: Vectors and encoders for those tokens; d is theirs.
        d_head: Width of a head, 1 to d.
        seed: Seed of the attention weights.

    Returns:
        The network.

    Raises:
        InputError: A task without distributions, or another number of tokens.
        HypothesisError: Contexts whose features stay dependent.

    Source: Dana, Pydi, Chevaleyre (2024), Theorems 1 and 2.

    Example:
        >>> from constructions.tasks.arrays import enumerated_task
        >>> from constructions.model.attention import logits
        >>> from constructions.unembeddings.axes import simplex
        >>> three = np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.01, 0.98]])
        >>> distributions = three[[0, 1, 2, 1, 2, 0, 2, 0, 1]]
        >>> task = enumerated_task(3, 2, target="distributions", distributions=distributions)
        >>> network = low_entropy_memory(task, simplex(3, 2), d_head=1)
        >>> powers = np.exp(logits(network, task.contexts))
        >>> bool(np.abs(powers / powers.sum(axis=1, keepdims=True) - task.distributions).max() < 1e-9)
        True
    """
    if task.distributions is None or task.n_answers != len(unembedding.vectors):
        raise InputError(
            "task",
            f"has the target {task.target!r} over {task.n_answers} tokens",
            f"distributions over {len(unembedding.vectors)}, the rows of the unembedding",
        )
    strengths = strength(
        missing_mass(task.distributions, task.labels),
        least=float(unembedding.least),
        kappa=float(unembedding.kappa),
        d_vocab=task.n_answers,
    )
    stream = strengths[:, np.newaxis] * unembedding.encoders[task.labels]
    d_model = unembedding.vectors.shape[1]
    n_heads = 1 + math.ceil(1.25 * task.n_contexts / d_head)
    for draw in range(_DRAWS):
        drawn = fitting_attention(
            d_vocab=task.d_vocab,
            n_ctx=task.n_ctx,
            d_model=d_model,
            n_heads=n_heads,
            d_head=d_head,
            seed=(seed, draw),
        )
        try:
            inverse = right_inverse(features(drawn, task.contexts))
        except HypothesisError:
            continue
        output = inverse.solve(stream - last(drawn, task.contexts))
        return drawn.network(output, unembedding.matrix())
    raise HypothesisError(
        _CLAIM, "features of rank T", f"none of {_DRAWS} draws of {n_heads} heads reaches rank {task.n_contexts}"
    )


def noisy_lookup_memory(
    *, d_vocab: int, n_ctx: int, contexts: int, noise: int, d_model: int, d_head: int, seed: int
) -> Construction[Task]:
    r"""Return a transformer that memorizes noisy look-ups in fewer dimensions than the distributions span.

    Args:
        d_vocab: Size of the vocabulary N.
        n_ctx: Length of the contexts S.
        contexts: How many contexts are memorized, T, drawn at random.
        noise: The distributions leave $\varepsilon = 1 / \mathrm{noise}$ to the tokens that are not looked up, at
            random.
        d_model: d; the unembedding is the best of the families with proved margins.
        d_head: Width of a head.
        seed: Seed of the contexts, the distributions and the weights.

    Returns:
        The network, its distributions as the task, and the bound (N1) of the mean divergence as what is asked.

    Source: sharpens Dana, Pydi, Chevaleyre (2024), Theorem 2.

    Example:
        >>> noisy_lookup_memory(d_vocab=9, n_ctx=2, contexts=10, noise=50, d_model=8, d_head=2, seed=0).summary
        '10 distributions over 9 tokens in d = 8 dimensions, 1/50 of each beside its token: simplex, kappa = 1'
    """
    generator = np.random.default_rng((23, seed))
    everything = all_contexts(d_vocab, n_ctx)
    chosen = everything[np.sort(generator.permutation(len(everything))[:contexts])]
    labels = generator.integers(0, d_vocab, contexts)
    noise_masses = generator.exponential(size=(contexts, d_vocab)) + 0.1
    noise_masses[np.arange(contexts), labels] = 0.0
    distributions = noise_masses / noise_masses.sum(axis=1, keepdims=True) / noise
    distributions[np.arange(contexts), labels] = 1.0 - 1.0 / noise
    task = array_task(chosen, distributions=distributions, vocabulary=d_vocab)
    unembedding = best(d_vocab, d_model)
    network = low_entropy_memory(task, unembedding, d_head=d_head, seed=seed)
    summary = (
        f"{contexts} distributions over {d_vocab} tokens in d = {d_model} dimensions, 1/{noise} of each beside its "
        f"token: {unembedding.family}, kappa = {unembedding.kappa}"
    )
    missing, kappa = missing_mass(distributions, labels), float(unembedding.kappa)
    lead = strength(missing, least=1.0, kappa=kappa, d_vocab=d_vocab)
    promised = (
        np.log1p((d_vocab - 1) * np.exp(-lead))
        + kappa * missing * lead
        + (distributions * np.log(distributions)).sum(axis=1)
    )
    return Construction(task, network, summary, Criterion.at_most(float(promised.mean()) + _ROUNDING))
