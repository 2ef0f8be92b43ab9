r"""The theorem of the slides that came before the paper: Theorem 1 with sigma_1 and an unspecified constant.

Page: docs/claims/theorem_1_tail.md
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from constructions.attention.capacity.generic_rank import generic_rank
from constructions.heads_of_theorem_1.left_out import (
    PartialMemory,
    hold_exactly,
    modules_instance,
    modules_memory,
    random_instance,
)
from constructions.heads_of_theorem_1.parameters import matched_front_ends
from constructions.model.exact_network import as_rationals
from constructions.model.model import Model
from constructions.tasks.arrays import all_contexts
from verify.arithmetic.enclosure import Enclosure, largest, sqrt
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.claims.dana_theorem_1_tail import (
    at_least,
    at_most,
    holds_encoder,
    judged,
    never_exceeded,
    reached,
)
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.exclusive_or import exclusive_or_distributions, exclusive_or_floor, exclusive_or_is_met
from verify.verdict import Verdict, proved


def _full_rank(*, d_vocab: int, n_ctx: int, kept: int, **_: object) -> bool:
    """Tell whether almost all weights give the kept contexts rank T."""
    contexts = all_contexts(d_vocab, n_ctx)[:kept]
    return generic_rank(contexts, d_model=d_vocab, d_head=d_vocab, n_heads=-(-kept // d_vocab)) == kept


CLAIM = Claim(
    id="slides.theorem",
    title="The theorem of the slides, with sigma_1 and a constant",
    source="Dana, slides of 13 June 2024, the theorem on Attention-only Transformers",
    kind="statement",
    quotation=(
        r"Let $\varepsilon \geq 0$, $N_{\varepsilon}$ the smallest number of questions whose cumulative probability "
        r"is greater than $1-\varepsilon$, and $f_{W^*}$ the optimal linear mapping of rank d. There exist a "
        r"transformer $T^*$ with embedding dimension d, $\lceil \frac{N_c}{d} \rceil$ total parallel attention module "
        r"such that whose divergence with $\pi$ is $$|d_{KL}(\pi, f_{W^*}) - d_{KL}(\pi, T^*)| \le \varepsilon "
        r"\sigma_1(f_{W^*}) C(d, N, k, N_{\varepsilon})$$"
    ),
    printed=(
        "For every epsilon there is a transformer with embedding dimension d and [[modules: ceil(N_epsilon / d)]] "
        "attention modules whose d_KL(pi, transformer) differs from d_KL(pi, f) by at most epsilon sigma_1(f) "
        "C(d, N, k, N_epsilon), for the optimal linear map f of rank d."
    ),
    reading=(
        "N_c is N_epsilon, a misprint. The transformer, and what a module is, are in a picture that the copy lacks; C "
        "and k are not defined. So it is not judged. As 'dP' beside N_epsilon counts columns at the end of the slides, "
        "a module is most likely one head of width d; in that reading it would be false, as Theorem 1 for a given "
        "number of heads."
    ),
    judgement="not-judged",
    truth=(
        "Not judged. If a module is [[heads: one]] head: for [[none: epsilon = 0]], where the right-hand side "
        "vanishes whatever C is, XOR has [[facts: four]] questions, a distribution of full support after each, "
        "[[dimensions: d = 4]], so one module; the optimal map loses nothing, that head at least a certified positive "
        "number. With [[corrected: sqrt(2) P Z n]] on the right, P the probability of what is left out, Z the largest "
        "[[long: sqrt(1 + z^2)]], z the length of z_t, n := norm(WE), it holds, up to any positive gamma, for every f "
        ":= WE, if so many modules give the N_epsilon kept contexts rank N_epsilon; then the constant can be chosen "
        "to depend on the sizes only."
    ),
    reconstructed="the transformer of the theorem, which is in a picture",
    page="docs/claims/theorem_1_tail.md",
    hypotheses=(
        *conditions("N >= 2, S >= 1"),
        Hypothesis("d <= T < N^S", lambda d_vocab, n_ctx, kept, **_: d_vocab <= kept < d_vocab**n_ctx),
        *conditions("seed >= 0"),
        Hypothesis("kept contexts of generic rank T", _full_rank),
    ),
    parameters={"d_vocab": 4, "n_ctx": 2, "kept": 12, "seed": 0},
    build=modules_memory,
)

_SIZES = ((3, 2, 3, 6), (4, 2, 4, 12), (4, 2, 3, 9), (3, 3, 3, 15))


_SIZES_FULL = ((5, 2, 5, 20), (6, 2, 5, 30), (4, 3, 4, 48), (3, 4, 2, 60))


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _too_few_modules()
    yield replace(reached(CLAIM, "corrected"), role="sharper")
    yield _modules_never_exceed(
        "rational transformers with H = ceil(T / d) modules of width d <= 3, random and adversarial encoders and "
        "distributions",
        (random_instance(seed, modules=True) for seed in range(1000 if full else 60)),
    )
    sizes = _SIZES + (_SIZES_FULL if full else ())
    yield _modules_never_exceed(
        "float64 transformers that hold random distributions, with (N, S, d, T) = " + ", ".join(map(str, sizes)),
        (
            modules_instance(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, kept=kept, seed=0)
            for d_vocab, n_ctx, d_model, kept in sizes
        ),
    )
    yield _constant_of_the_sizes(kept=3)


def _modules_never_exceed(kind: str, instances: Iterable[PartialMemory]) -> Evidence:
    """The corrected bound on transformers that are proved to have the modules of the slides, and no others."""
    cases = list(instances)
    piece = never_exceeded(kind, (judged(one) for one in cases), CLAIM)
    fit = all(_has_modules(one.model, one.kept) for one in cases)
    modules = tuple(
        Comparison(one.model.n_heads, "=", stated(CLAIM, "modules", N_epsilon=one.kept, d=one.model.d_model))
        for one in cases
    )
    judged_so = piece.judged if fit else Verdict.UNDECIDED
    return replace(piece, role="sharper", judged=judged_so, compared=(*piece.compared, *modules))


def _has_modules(network: Model, kept: int) -> bool:
    """Tell whether there are ceil(T / d) heads of width d."""
    return network.d_head == network.d_model and network.n_heads == -(-kept // network.d_model)


def _too_few_modules() -> Evidence:
    p, d_model = Fraction(99, 100), 4
    contexts, _ = exclusive_or_distributions(p)
    floor = exclusive_or_floor(p)
    return Evidence(
        "part",
        f"epsilon = 0, N = 2, k = 3, d = {d_model}: the four contexts of the exclusive or have N_epsilon = "
        f"{len(contexts)}, so ceil({len(contexts)} / {d_model}) = 1 module, and an encoder of divergence 0; "
        "the divergence of one module is bounded from below",
        "divergence 0 for some weights",
        f"at least {at_least(Enclosure.exact(floor.value))} nats, and one head comes near it",
        Method(
            "a linear relation between the contexts in integers, and duality in balls; enclosures of the logits",
            Means.EXACT,
            Means.BALLS,
            Means.ENCLOSURES,
        ),
        proved(len(np.unique(contexts, axis=0)) <= d_model),
        data={"contexts": contexts.tolist()},
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(floor, ">", 0),
            Comparison(len(contexts), "=", stated(CLAIM, "facts")),
            Comparison(1, "=", stated(CLAIM, "heads")),
            Comparison(1, "=", stated(CLAIM, "modules", N_epsilon=len(contexts), d=d_model)),
            *met(CLAIM, "dimensions", d=d_model),
            *met(CLAIM, "none", epsilon=0),
            *exclusive_or_is_met(p),
        ),
    )


def _constant_of_the_sizes(*, kept: int) -> Evidence:
    """One front end for every set of kept contexts: the constant is the largest over the sets."""
    contexts, d_model = all_contexts(2, 2), 2
    front_end, _ = matched_front_ends(
        d_vocab=2, n_ctx=2, d_model=d_model, n_heads=-(-kept // d_model), d_head=d_model, seed=kept
    )
    fits = front_end.d_head == front_end.d_model == d_model and front_end.n_heads == -(-kept // d_model)
    generator = np.random.default_rng(15)
    rows, memorized = [], True
    for chosen in combinations(range(len(contexts)), kept):
        order = [*chosen, *(t for t in range(len(contexts)) if t not in chosen)]
        stream = as_rationals(generator.integers(-9, 10, (len(contexts), d_model)).tolist())
        unembedding = as_rationals([[1, 2], [0, 1]])
        instance = hold_exactly(
            front_end,
            contexts[order],
            kept=kept,
            stream=stream,
            unembedding=unembedding,
            occurrences=np.ones(len(contexts), dtype=np.int64),
        )
        memorized = memorized and holds_encoder(instance, stream * unembedding)
        rows.append(judged(instance).row)
    together = Enclosure(np.array([row.midpoint for row in rows]), np.array([row.radius for row in rows]))
    constant = sqrt(2.0) * largest(together, 0)
    return Evidence(
        "sharper",
        f"N = k = d = 2, N_epsilon = {kept}, {-(-kept // d_model)} modules: one front end has full rank on each of "
        f"the {len(rows)} sets of kept contexts, so that one C serves the distributions of the encoders, whose "
        "logits it has on the kept contexts",
        "some C that depends on the sizes only",
        f"C = {at_most(constant)}",
        Method("exact z in rational numbers", Means.EXACT),
        proved(fits and memorized and bool(np.isfinite(constant.radius))),
    )
