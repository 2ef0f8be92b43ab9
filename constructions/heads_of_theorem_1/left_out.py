r"""Transformers that memorize only some contexts of an encoder, and bounds for the remaining contexts.

Page: docs/claims/theorem_1_tail.md
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from constructions.attention.families import random_attention
from constructions.errors import HypothesisError, InputError
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.model.attention import features, last, logits, softmax
from constructions.model.construction import Construction
from constructions.model.exact_attention import exact_features, exact_last
from constructions.model.exact_network import ExactFrontEnd, as_rationals, exact_network, stacked
from constructions.model.front_end import FrontEnd
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.arrays import all_contexts
from constructions.tasks.task import Counts, Task, make_task, smoothed_distributions
from constructions.unembeddings.unembedding import distribution_unembedding

_PLACE = "Dana et al. (2024), Theorem 1, epsilon > 0"
_DRAWS = 200
FLOAT_DRAWS = 24
_LOOSE = 1e-3  # nats: a transformer that misses its encoder by more holds nothing


@dataclass(frozen=True, eq=False)
class PartialMemory:
    """A transformer, and an encoder that has the same logits on the memorized contexts.

    With $F$ the logits of the encoder: on the first `kept` contexts they are those of the transformer, on the others
    $F_t = E_t W_U$ with the unembedding of the transformer, so that the encoder has the form $E W$ of the paper.

    Args:
        model: The transformer; rational, or rounded to float64.
        contexts: All contexts, the kept ones first, `[M, S]`.
        kept: Number of contexts that are kept, T.
        stream: The vectors $E_t$ of the encoder on the others, in the coordinates that W_U reads, `[M - T, d]`;
            rational for a rational network.
        occurrences: How often each context occurs: its probability times a common factor, `[M]`.
        distributions: Distributions of the next token after the contexts that are omitted, `[M - T, N]`, each divided
            by its exact sum; `None` for those that the encoder itself predicts, so that it is optimal.
    """

    model: Model
    contexts: Int64Array
    kept: int
    stream: Float64Array | fmpq_mat
    occurrences: Int64Array
    distributions: Float64Array | None = None


def match_encoder(
    front_end: FrontEnd,
    contexts: Int64Array,
    *,
    kept: int,
    stream: Float64Array,
    unembedding: Float64Array,
    occurrences: Int64Array,
    distributions: Float64Array | None = None,
) -> PartialMemory:
    r"""Build the transformer of the theorem, in float64: it has the logits $E W$ on the kept contexts.

    With $G_t = [x_S \mid Y_t]$ and $[M; B] = G_1^+ E_1$, `W_U` is $M W$ and `W_O` is $B M^{-1}$, so that the logits are
    $G_t G_1^+ E_1 W$ on every context. Rounding moves the encoder with the transformer: see `PartialMemory`.

    Args:
        front_end: Embeddings and heads.
        contexts: All contexts, the kept ones first, `[M, S]`.
        kept: Number of contexts that are kept, T.
        stream: The encoder's E, `[M, d]`.
        unembedding: The encoder's W, `[d, N]`.
        occurrences: Number of times that each context occurs, `[M]`.
        distributions: Distributions after the contexts that are omitted; those of the encoder by default.

    Returns:
        The transformer next to the encoder.

    Raises:
        HypothesisError: The features of the kept contexts are dependent, or M is singular.

    Source: Dana, Pydi, Chevaleyre (2024), proof of Theorem 1.
    """
    outputs = np.hstack([last(front_end, contexts[:kept]), features(front_end, contexts[:kept])])
    if np.linalg.matrix_rank(outputs) < kept:
        raise HypothesisError(_PLACE, f"features of rank T = {kept} on the kept contexts", "they are dependent")
    solution = np.linalg.lstsq(outputs, stream[:kept], rcond=None)[0]
    d_model = stream.shape[1]
    change, heads = solution[:d_model], solution[d_model:]
    if np.linalg.matrix_rank(change) < d_model:
        raise HypothesisError(_PLACE, "an invertible change of basis M", "M is singular")
    inverse = np.linalg.inv(change)
    network = front_end.network(heads @ inverse, change @ unembedding)
    return PartialMemory(network, contexts, kept, stream[kept:] @ inverse, occurrences, distributions)


def hold_exactly(
    front_end: ExactFrontEnd,
    contexts: Int64Array,
    *,
    kept: int,
    stream: fmpq_mat,
    unembedding: fmpq_mat,
    occurrences: Int64Array,
    distributions: Float64Array | None = None,
) -> PartialMemory:
    """Build the same transformer as `match_encoder` in rational numbers: nothing is rounded.

    Args:
        front_end: Embeddings and heads.
        contexts: All contexts, the kept ones first, `[M, S]`.
        kept: Number of contexts that are kept, T.
        stream: The encoder's E, `[M, d]`.
        unembedding: The encoder's W, `[d, N]`.
        occurrences: Number of times that each context occurs, `[M]`.
        distributions: Distributions after the contexts that are omitted; those of the encoder by default.

    Returns:
        The transformer next to the encoder.

    Raises:
        HypothesisError: The features of the kept contexts are dependent, or M is singular.

    Source: Dana, Pydi, Chevaleyre (2024), proof of Theorem 1.
    """
    outputs = _outputs(front_end, contexts[:kept])
    d_model = stream.ncols()
    rows = stream.tolist()
    try:
        solution = (outputs.transpose() * (outputs * outputs.transpose()).solve(stacked(rows[:kept], d_model))).tolist()
    except ZeroDivisionError:
        raise HypothesisError(
            _PLACE, f"features of rank T = {kept} on the kept contexts", "they are dependent"
        ) from None
    change = stacked(solution[:d_model], d_model)
    if change.det() == 0:
        raise HypothesisError(_PLACE, "an invertible change of basis M", "M is singular")
    inverse = change.inv()
    d_head = front_end.d_head
    starts = range(d_model, len(solution), d_head)
    heads = [stacked(solution[start : start + d_head], d_model) * inverse for start in starts]
    network = exact_network(front_end, heads, change * unembedding)
    return PartialMemory(network, contexts, kept, stacked(rows[kept:], d_model) * inverse, occurrences, distributions)


def violating_front_end() -> FrontEnd:
    """Return two heads of width one over two tokens and two positions that determine (0, 0) badly from the other
    contexts.

    Returns:
        Embeddings and heads: N = S = 2, d = d_h = 1, H = 2.

    Example:
        >>> violating_front_end().W_Q.ravel().tolist()
        [-4.964983, -3.892345]
    """
    return FrontEnd(
        "rank-one",
        W_E=np.array([[-1.18047], [-0.258376]]),
        W_pos=np.array([[0.757614], [1.676865]]),
        W_Q=np.array([-4.964983, -3.892345]).reshape(2, 1, 1),
        W_K=np.ones((2, 1, 1)),
        W_V=np.ones((2, 1, 1)),
    )


def sharp_instance(front_end: FrontEnd, *, norm: float, occurrences: int) -> PartialMemory:
    r"""Build the encoder for which leaving one context out costs the most: $E \propto (z, -1)$, $W = w (1, -1)$.

    There is one context more than the features $[x_S \mid Y]$ have columns; the last one is omitted. Let
    $z = G_t G_1^{-1}$, and let the norm of $W$ grow. The ratio of the cost to
    $\sqrt 2 \Pr(S_2) \sqrt{1 + |z|^2} \lVert E W \rVert$ tends to $|z|^2 / (1 + |z|^2)$, and that to the printed bound
    to $\sqrt 2 |z|^2 / \sqrt{(1 + |z|^2)(2 + |z|^2)}$, which is above 1 for $|z|^2 > (3 + \sqrt{17}) / 2$.

    Args:
        front_end: Embeddings and heads with d = 1; the contexts are all $N^S$, (0, .., 0) being left out.
        norm: The norm of W; that of E is 1.
        occurrences: How often each kept context occurs; the other occurs once.

    Returns:
        The transformer next to the encoder, which predicts the distributions exactly.

    Raises:
        InputError: An embedding dimension other than 1, or another number of contexts than there are columns and one.
        HypothesisError: The features of the kept contexts are dependent, or M is singular.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> instance = sharp_instance(violating_front_end(), norm=200.0, occurrences=33)
        >>> instance.kept, instance.contexts[-1].tolist(), instance.occurrences.tolist()
        (3, [0, 0], [33, 33, 33, 1])
    """
    (d_vocab, d_model), n_ctx = front_end.W_E.shape, len(front_end.W_pos)
    contexts = np.roll(all_contexts(d_vocab, n_ctx), -1, axis=0)
    kept = len(contexts) - 1
    columns = d_model + len(front_end.W_V) * front_end.W_V.shape[2]
    if d_model != 1 or columns != kept:
        raise InputError("front_end", f"has d = {d_model} and {columns} columns", f"d = 1 and {kept} columns")
    outputs = np.hstack([last(front_end, contexts), features(front_end, contexts)])
    try:
        z = np.linalg.solve(outputs[:kept].T, outputs[kept])
    except np.linalg.LinAlgError:
        raise HypothesisError(
            _PLACE, f"features of rank T = {kept} on the kept contexts", "they are dependent"
        ) from None
    stream = np.append(z, -1.0) / np.hypot(np.linalg.norm(z), 1.0)
    return match_encoder(
        front_end,
        contexts,
        kept=kept,
        stream=stream[:, None],
        unembedding=np.array([[1.0, -1.0] + [0.0] * (d_vocab - 2)]) * (norm / np.sqrt(2.0)),
        occurrences=np.array([occurrences] * kept + [1]),
    )


def loop_instance(ratio: int, *, size: int, occurrences: int) -> PartialMemory:
    r"""Build an instance that can be checked by hand: tokens k and 1, no positions, one uniform head and one sharp one.

    In a loop (n, n) all heads read the token itself, so the loop (0, 0), left out, has k times the features of the loop
    (1, 1), kept: $z = (0, 0, k)$. The encoder has $E = (0, 0, k, -1)$ and $W = w (1, -1)$, where w is `size`.

    Args:
        ratio: k, at least 2.
        size: w, at least 1.
        occurrences: How often each kept context occurs; the other occurs once.

    Returns:
        The rational transformer beside the encoder, which predicts the distributions exactly: N = S = 2, d = d_h = 1, H
            = 2.

    Raises:
        InputError: k below 2 or w below 1.

    Source: exceeds the bound behind Dana, Pydi, Chevaleyre (2024), equation (15), by a factor that is lost there.

    Example:
        >>> loop_instance(2, size=50, occurrences=33).contexts.tolist()
        [[0, 1], [1, 0], [1, 1], [0, 0]]
    """
    if ratio < 2 or size < 1:
        raise InputError("ratio", f"= {ratio} and size = {size}", "at least 2 and 1")
    one, none = as_rationals([[1]]), as_rationals([[0]])
    front_end = ExactFrontEnd(
        W_E=as_rationals([[ratio], [1]]),
        W_pos=as_rationals([[0], [0]]),
        W_Q=(none, one),
        W_K=(one, one),
        W_V=(one, one),
    )
    return hold_exactly(
        front_end,
        np.array([[0, 1], [1, 0], [1, 1], [0, 0]]),
        kept=3,
        stream=as_rationals([[0], [0], [ratio], [-1]]),
        unembedding=as_rationals([[size, -size]]),
        occurrences=np.array([occurrences] * 3 + [1]),
    )


def random_front_end(generator: np.random.Generator) -> FrontEnd:
    """Draw attention parameters of the shape of `violating_front_end`.

    Args:
        generator: The source of randomness.

    Returns:
        Gaussian embeddings and scores: N = S = 2, d = d_h = 1, H = 2.
    """
    return FrontEnd(
        "rank-one",
        W_E=generator.standard_normal((2, 1)),
        W_pos=generator.standard_normal((2, 1)),
        W_Q=3.0 * generator.standard_normal((2, 1, 1)),
        W_K=np.ones((2, 1, 1)),
        W_V=np.ones((2, 1, 1)),
    )


def nearly_dependent_front_end(generator: np.random.Generator, gap: float) -> FrontEnd:
    """Draw two heads whose scores differ by a relative `gap`, so that their features hardly differ.

    Args:
        generator: The source of randomness.
        gap: How much the scores differ, relatively.

    Returns:
        A front end of the shape of `random_front_end`.
    """
    drawn = random_front_end(generator)
    scores = np.repeat(drawn.W_Q[:1], 2, axis=0) * np.array([1.0, 1.0 + gap]).reshape(2, 1, 1)
    return FrontEnd(drawn.kind, drawn.W_E, drawn.W_pos, scores, drawn.W_K, drawn.W_V)


def modules_instance(*, d_vocab: int, n_ctx: int, d_model: int, kept: int, seed: int) -> PartialMemory:
    r"""Memorize random distributions with the number of attention modules of the slides: $H = \lceil T / d \rceil$ of
    width d.

    All $N^S$ contexts have random distributions; the first `kept` ones are three times as frequent as the others. The
    encoder has the logarithms of the distributions.

    Args:
        d_vocab: N.
        n_ctx: S.
        d_model: d, N - 1 or N.
        kept: T.
        seed: Seed of the distributions and the weights.

    Returns:
        The transformer next to the encoder, which predicts the distributions.

    Raises:
        InputError: Sizes out of range.
        HypothesisError: The features of the kept contexts are dependent, or M is singular, in every draw.

    Source: slides of Dana (2024), the theorem on Attention-only Transformers.

    Example:
        >>> instance = modules_instance(d_vocab=3, n_ctx=2, d_model=3, kept=6, seed=0)
        >>> instance.model.W_Q.shape, instance.occurrences.tolist()
        ((2, 3, 3), [3, 3, 3, 3, 3, 3, 1, 1, 1])
    """
    contexts = all_contexts(d_vocab, n_ctx)
    if not 1 <= kept < len(contexts) or not 1 <= d_vocab - 1 <= d_model <= d_vocab:
        raise InputError(
            "N", f"= {d_vocab}, d = {d_model}, T = {kept}", f"N >= 2, N - 1 <= d <= N and T = 1 .. {len(contexts) - 1}"
        )
    generator = np.random.default_rng((11, seed))
    stream, unembedding = (
        2.0 * generator.standard_normal((len(contexts), d_model)),
        distribution_unembedding(d_model, d_vocab),
    )
    sizes = {"d_vocab": d_vocab, "n_ctx": n_ctx, "d_model": d_model, "n_heads": -(-kept // d_model), "d_head": d_model}
    occurrences = np.where(np.arange(len(contexts)) < kept, 3, 1)
    best = nearest_memorized(
        lambda draw: random_attention(**sizes, seed=(seed, draw)),
        lambda model: float(np.abs(logits(model, contexts[:kept]) - stream[:kept] @ unembedding).max()),
        contexts,
        kept=kept,
        stream=stream,
        unembedding=unembedding,
        occurrences=occurrences,
    )
    if best is None:
        raise HypothesisError(
            _PLACE,
            f"features of rank T = {kept} and an invertible M, well conditioned enough for float64",
            f"none of {FLOAT_DRAWS} draws has them",
        )
    return best


def nearest_memorized(
    draw: Callable[[int], FrontEnd], error: Callable[[Model], float], contexts: Int64Array, **given: Any
) -> PartialMemory | None:
    """Return the result of `match_encoder` for the drawn attention whose network misses its streams least, in nats.

    Args:
        draw: The front end of a draw.
        error: By how much a network misses.
        contexts: As for `match_encoder`.
        given: As for `match_encoder`.

    Returns:
        The nearest, or none if all miss by a thousandth of a nat or more.
    """
    best, smallest = None, _LOOSE
    for number in range(FLOAT_DRAWS):
        try:
            memorized = match_encoder(draw(number), contexts, **given)
        except HypothesisError:
            continue  # dependent features or a singular M: drawn again
        if (missed := error(memorized.model)) < smallest:
            best, smallest = memorized, missed
    return best


def random_instance(seed: int, *, modules: bool = False) -> PartialMemory:
    r"""Draw contexts, rational attention parameters and an encoder; memorize as many contexts as are independent.

    Vocabularies of 2 or 3 tokens, contexts of 2 or 3, d up to 3, small integers in all weights. The number of kept
    contexts is anything up to the number of columns of $[x_S \mid Y]$. Half of the encoders are random, half are aimed:
    $E$ has the column $(z_t, -1)$ for the left-out context with the longest $z_t$, and W reads that one only. Half of
    the distributions are those of the encoder, half are random.

    Args:
        seed: What is drawn depends on it alone.
        modules: Heads of width d, and as many as it takes for $H d \ge T$, as on the slides.

    Returns:
        A rational transformer next to the encoder.

    Example:
        >>> instance = random_instance(0)
        >>> instance.model.is_rational, len(instance.contexts) > instance.kept
        (True, True)
    """
    generator = np.random.default_rng((8, seed))
    for _ in range(_DRAWS):
        try:
            return _drawn(generator, modules=modules)
        except HypothesisError:
            continue  # dependent features or a singular M: drawn again
    raise HypothesisError(_PLACE, "features of full rank and an invertible M", f"none in {_DRAWS} draws of seed {seed}")


def text_instance(task: Task, *, d_model: int, d_head: int) -> PartialMemory:
    """Memorize the kept contexts of a text with as few heads as its features have columns; the tail remains.

    $T = d + H d_h$, so that the transformer that holds the distributions of the T memorized contexts is fixed on the
    tail, too. The encoder has, on the tail, the smoothed empirical distributions.

    Args:
        task: A task with the target ``distributions`` and a tail; $T - d$ must be a multiple of `d_head`.
        d_model: Embedding dimension, at least $N - 1$ and less than T.
        d_head: Width of a head.

    Returns:
        The transformer next to the encoder; kept and left-out contexts are those of the task.

    Raises:
        InputError: T - d is no positive multiple of d_h, or the task has no distributions or no tail.
        CapacityError: No front end that was drawn reaches rank T.
    """
    n_heads, rest = divmod(task.n_contexts - d_model, d_head)
    if rest or n_heads < 1 or not len(task.tail_contexts):
        raise InputError(
            "task",
            f"has {task.n_contexts} contexts and a tail of {len(task.tail_contexts)}",
            f"a tail and d_model = {d_model} more contexts than a multiple of d_head = {d_head}",
        )
    network = build_memory(task, d_model=d_model, d_head=d_head, n_heads=n_heads, front_end=random_attention).model
    distributions = smoothed_distributions(task.tail_counts, task.n_answers)
    logarithms = np.log(distributions)
    centred = logarithms - logarithms.mean(axis=1, keepdims=True)
    # Constants do not matter: the unembedding need not span them.
    reader = network.W_U - network.W_U.mean(axis=1, keepdims=True)
    return PartialMemory(
        model=network,
        contexts=np.concatenate([task.contexts, task.tail_contexts]),
        kept=task.n_contexts,
        stream=np.linalg.lstsq(reader.T, centred.T, rcond=None)[0].T,
        occurrences=np.concatenate([task.counts.totals(), task.tail_counts.totals()]),
        distributions=distributions,
    )


def as_construction(instance: PartialMemory, summary: str) -> Construction[Task]:
    """Return the weights of an instance with a task: the encoder's distributions on the kept contexts.

    Args:
        instance: An instance whose kept contexts occur more often than the others, in lexicographic order if equally
            often.
        summary: What was built, in one sentence.

    Returns:
        The weights and the task; after every context its most likely token is counted, `occurrences` times.

    Raises:
        InputError: A rational network, or kept contexts that are not the most frequent ones.

    Example:
        >>> task = as_construction(sharp_instance(violating_front_end(), norm=200.0, occurrences=33), "3 of 4").task
        >>> task.contexts.tolist(), task.tail_contexts.tolist()
        ([[0, 1], [1, 0], [1, 1]], [[0, 0]])
    """
    network = instance.model
    if network.is_rational or not isinstance(instance.stream, np.ndarray):
        raise InputError("instance", "has a rational network", "float64 weights")
    predicted = np.concatenate([logits(network, instance.contexts[: instance.kept]), instance.stream @ network.W_U])
    distributions = softmax(predicted)
    rows = [
        {int(distribution.argmax()): int(count)}
        for distribution, count in zip(distributions, instance.occurrences, strict=True)
    ]
    task = make_task(
        instance.contexts,
        Counts.from_rows(rows),
        vocabulary=tuple(map(str, range(network.d_vocab))),
        answers=tuple(map(str, range(network.d_vocab_out))),
        facts=instance.kept,
        distributions=distributions,
    )
    if (task.contexts != instance.contexts[: instance.kept]).any():
        raise InputError("instance", "keeps other contexts than the most frequent ones, in the order of a task")
    return Construction(task=task, model=network, summary=summary)


def sharp_memory(*, norm: int, occurrences: int, seed: int) -> Construction[Task]:
    r"""Memorize three of the four contexts of two tokens, for the encoder that makes the fourth as costly as possible.

    Args:
        norm: $\lVert W \rVert_2$ of the encoder; its E has norm 1.
        occurrences: How often each kept context occurs; the fourth occurs once.
        seed: 0 for the front end that exceeds the printed constant by a factor of 1.4, others for random ones.

    Returns:
        The weights, and the encoder's distributions on the three contexts as the task.

    Raises:
        HypothesisError: Another hypothesis of the theorem fails.

    Source: Dana, Pydi, Chevaleyre (2024), Theorem 1.

    Example:
        >>> sharp_memory(norm=200, occurrences=33, seed=0).summary
        '3 of 4 contexts memorized, one of probability 1/100 left out: N = S = 2, d = d_h = 1, H = 2, norm(EW) = 200'
    """
    instance = sharp_instance(seeded_front_end(seed), norm=float(norm), occurrences=occurrences)
    summary = (
        f"3 of 4 contexts memorized, one of probability 1/{3 * occurrences + 1} left out: "
        f"N = S = 2, d = d_h = 1, H = 2, norm(EW) = {norm}"
    )
    return as_construction(instance, summary)


def seeded_front_end(seed: int) -> FrontEnd:
    return random_front_end(np.random.default_rng((12, seed))) if seed else violating_front_end()


def modules_memory(*, d_vocab: int, n_ctx: int, kept: int, seed: int) -> Construction[Task]:
    r"""Memorize random distributions on T contexts with $\lceil T / d \rceil$ attention modules of width $d = N$.

    Args:
        d_vocab: N, and d.
        n_ctx: S.
        kept: T, of the $N^S$ contexts; each is three times as frequent as one that is omitted.
        seed: Seed of the distributions and the weights.

    Returns:
        The weights, and the distributions of the kept contexts as the task.

    Raises:
        HypothesisError: The contexts do not have rank T, or another hypothesis fails.
        InputError: Sizes out of range.

    Source: slides of Dana (2024), the theorem on Attention-only Transformers.

    Example:
        >>> modules_memory(d_vocab=4, n_ctx=2, kept=12, seed=0).summary
        '12 of 16 contexts memorized by 3 modules of width d = N = 4, the others, of probability 4/40, left out'
    """
    instance = modules_instance(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_vocab, kept=kept, seed=seed)
    dropped = d_vocab**n_ctx - kept
    summary = (
        f"{kept} of {d_vocab**n_ctx} contexts memorized by {-(-kept // d_vocab)} modules of width d = N = {d_vocab}, "
        f"the others, of probability {dropped}/{3 * kept + dropped}, left out"
    )
    return as_construction(instance, summary)


def _drawn(generator: np.random.Generator, *, modules: bool) -> PartialMemory:
    d_vocab, n_ctx, d_model = (int(generator.integers(low, high)) for low, high in ((2, 4), (2, 4), (1, 4)))
    contexts = generator.permutation(all_contexts(d_vocab, n_ctx))[:10]
    if modules:
        d_head, wanted = d_model, int(generator.integers(1, 7))
        n_heads = -(-wanted // d_model)
    else:
        d_head, n_heads = int(generator.integers(1, d_model + 1)), int(generator.integers(1, 4))
        wanted = int(generator.integers(1, d_model + n_heads * d_head + 1))
    front_end = _random_exact_front_end(generator, d_vocab, n_ctx, d_model, n_heads, d_head)
    contexts, kept = _independent_first(front_end, contexts, wanted)
    if modules and kept < wanted:
        raise HypothesisError(_PLACE, f"features of rank T = {wanted}", f"{kept}")
    distributions = None
    if generator.integers(2):
        distributions = generator.integers(1, 100, (len(contexts) - kept, d_vocab)).astype(np.float64)
    stream = as_rationals(generator.integers(-9, 10, (len(contexts), d_model)).tolist())
    reader = as_rationals((generator.integers(-9, 10, (d_model, d_vocab)) * int(generator.choice([1, 8, 64]))).tolist())
    if generator.integers(2):
        _aim(stream, reader, _outputs(front_end, contexts), kept)
    occurrences = np.sort(generator.integers(1, 1000, len(contexts)))[::-1].copy()
    return hold_exactly(
        front_end,
        contexts,
        kept=kept,
        stream=stream,
        unembedding=reader,
        occurrences=occurrences,
        distributions=distributions,
    )


def _random_exact_front_end(
    generator: np.random.Generator, d_vocab: int, n_ctx: int, d_model: int, n_heads: int, d_head: int
) -> ExactFrontEnd:
    def draw(rows: int, columns: int, largest: int) -> fmpq_mat:
        return as_rationals(generator.integers(-largest, largest + 1, (rows, columns)).tolist())

    return ExactFrontEnd(
        W_E=draw(d_vocab, d_model, 3),
        W_pos=draw(n_ctx, d_model, 3),
        W_Q=tuple(draw(d_model, d_head, 1) for _ in range(n_heads)),
        W_K=tuple(draw(d_model, d_head, 1) for _ in range(n_heads)),
        W_V=tuple(draw(d_model, d_head, 3) for _ in range(n_heads)),
    )


def _independent_first(front_end: ExactFrontEnd, contexts: Int64Array, wanted: int) -> tuple[Int64Array, int]:
    """Order the contexts so that at most `wanted` independent ones come first, at least one and not all."""
    outputs = _outputs(front_end, contexts).tolist()
    chosen: list[int] = []
    for t in range(len(contexts)):
        candidate = [outputs[i] for i in [*chosen, t]]
        if len(chosen) < wanted and fmpq_mat(candidate).rank() == len(candidate):
            chosen.append(t)
    if not 0 < len(chosen) < len(contexts):
        raise HypothesisError(_PLACE, "independent contexts, and one to leave out", f"{len(chosen)}")
    remaining = [t for t in range(len(contexts)) if t not in chosen]
    return contexts[chosen + remaining], len(chosen)


def _aim(stream: fmpq_mat, reader: fmpq_mat, outputs: fmpq_mat, kept: int) -> None:
    """Give the stream the column (z_t, -1) for the longest z_t, and let the reader read that column only."""
    rows = outputs.tolist()
    first = fmpq_mat(rows[:kept])
    dropped = fmpq_mat(rows[kept:])
    z = (dropped * first.transpose() * (first * first.transpose()).inv()).tolist()
    longest = max(range(len(z)), key=lambda t: sum((entry * entry for entry in z[t]), fmpq(0)))
    for t in range(len(rows)):
        stream[t, 0] = z[longest][t] if t < kept else fmpq(-int(t == kept + longest))
    for i in range(reader.nrows()):
        for j in range(reader.ncols()):
            reader[i, j] = fmpq(64 * (int(j == 0) - int(j == 1))) if i == 0 else fmpq(0)


def _outputs(front_end: ExactFrontEnd, contexts: Int64Array) -> fmpq_mat:
    """Return the columns x_S and Y of the contexts, exactly."""
    embedded, read = exact_last(front_end, contexts).tolist(), exact_features(front_end, contexts).tolist()
    return fmpq_mat([list(a) + list(b) for a, b in zip(embedded, read, strict=True)])
