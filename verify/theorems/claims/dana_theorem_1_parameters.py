r"""Theorem 1 of Dana et al., the number of parameters, and the networks that do with half of it.

Page: docs/claims/parameters.md
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from flint import fmpq_mat

from constructions.heads_of_theorem_1.parameters import (
    matched_front_ends,
    matched_memories,
    paper_heads,
    parameter_count,
    shared_count,
    shared_directions_memory,
)
from constructions.model.exact_network import ExactFrontEnd
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import all_contexts
from constructions.tasks.task import Task
from verify.certificates.certificate import FEATURE_RANK
from verify.certificates.parameter_count import shared_attention_parameters, stored_parameters
from verify.forward.in_rationals import exact_outputs
from verify.provers.memorization import certify_memorization
from verify.theorems.claim import Claim, Hypothesis
from verify.theorems.evidence import Comparison, Evidence, Means, Method, Quantifier, failed, met, stated
from verify.theorems.evidence.conditions import conditions
from verify.theorems.evidence.theorems import RANK
from verify.verdict import Verdict, decided, proved


def _reachable(*, d_vocab: int, n_ctx: int, d_model: int, d_head: int, **_: object) -> bool:
    """Theorem S5: all contexts have generic rank min(N^S, d + H d_h)."""
    facts = d_vocab**n_ctx
    return facts <= d_model + paper_heads(facts, d_model, d_head) * d_head


CLAIM = Claim(
    id="dana.theorem-1-parameters",
    title="The number of parameters",
    source="Dana, Pydi, Chevaleyre (2024), Theorem 1 and Remarks 1",
    kind="statement",
    quotation=(
        r"$\mathcal{T}$ has $d(S+2N+4d_hH)$ parameters, [...] with $Hd_h + d = T_0$ attention heads, and uses $d(S + "
        r"2N + 4(T_0$ [lost] $d))$ parameters. In that case"
    ),
    printed=(
        "The transformer has [[entries: d (S + 2 N + 4 d_h H)]] parameters; without contexts left out, "
        "[[printed: d (S + 2 N + 4 (T_0 - d))]]."
    ),
    reading=(
        'The second number with "$Hd_h + d = T_0$ attention heads", as the sentence says; the minus sign that the '
        "copy lost is in the same number of Corollary 1. How many heads hold T_0 contexts is `dana.theorem-1`."
    ),
    judgement="holds",
    truth=(
        "It holds: the first is the number of entries of all tensors with [[widths: d_qk = d_h]], and the second the "
        "same for [[filled: H d_h + d = T_0]]. If d_h does not divide T_0 - d, so that the last head is not filled, "
        "there are [[corrected: d (S + 2 N + 4 d_h ceil((T_0 - d) / d_h))]], more. W_Q^h W_K^h := lambda_h u v with "
        "the same u and v in all heads has the same largest rank: [[enough: d (S + 2 N + 2 d_h H) + 2 d + H]] "
        "numbers are enough."
    ),
    page="docs/claims/parameters.md",
    hypotheses=(
        *conditions("N >= 2, S >= 2", "1 <= d_h <= d", "N - 1 <= d <= N", "seed >= 0"),
        Hypothesis("N^S <= d + H d_h", _reachable),
    ),
    parameters={"d_vocab": 4, "n_ctx": 2, "d_model": 4, "d_head": 2, "seed": 0},
    build=shared_directions_memory,
)

_SIZES = ((4, 2, 4, 2), (3, 3, 3, 2), (5, 2, 5, 3))


_SIZES_FULL = ((6, 2, 6, 4), (3, 3, 2, 1), (4, 2, 3, 3), (5, 2, 4, 4), (6, 2, 6, 3))


def evidence(*, full: bool) -> Iterator[Evidence]:
    yield _first_form(200 if full else 30)
    for d_vocab, n_ctx, d_model, d_head in _SIZES + (_SIZES_FULL if full else ()):
        task, generic, shared = matched_memories(d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, d_head=d_head, seed=0)
        yield _second_form(task, generic)
        yield _shared(task, shared)
    yield _same_rank(400 if full else 60)


def _first_form(shapes: int) -> Evidence:
    generator = np.random.default_rng(16)
    compared = []
    for _ in range(shapes):
        d_vocab, n_ctx, d_model, n_heads = (int(n) for n in generator.integers(1, 9, 4))
        d_head = int(generator.integers(1, d_model + 1))
        maps, back = (n_heads, d_model, d_head), (n_heads, d_head, d_model)
        tensors = map(np.zeros, ((d_vocab, d_model), (n_ctx, d_model), maps, maps, maps, back, (d_model, d_vocab)))
        network = dana_network(*tensors)
        printed = stated(CLAIM, "entries", N=d_vocab, S=n_ctx, d=d_model, d_h=d_head, H=n_heads)
        compared += [
            Comparison(_stored(network), "=", printed),
            *met(CLAIM, "widths", d_qk=network.attention.d_qk, d_h=network.d_head),
        ]
    return Evidence(
        "claim",
        f"{shapes} files of networks of random shapes with d_qk = d_h, N, S, d, H up to 8",
        "d (S + 2 N + 4 d_h H) numbers",
        f"so many in {sum(one.verdict is Verdict.PROVED for one in compared[::2])} of {shapes} files",
        Method("counting the entries of the tensors in the file", Means.EXACT),
        compared=tuple(compared),
    )


def _second_form(task: Task, network: Model) -> Evidence:
    shape = {**{name: _letters(task, network)[name] for name in ("N", "S", "d")}, "T_0": task.n_contexts}
    printed, corrected = stated(CLAIM, "printed", **shape), stated(CLAIM, "corrected", **shape, d_h=network.d_head)
    count = _stored(network)
    divides = (task.n_contexts - network.d_model) % network.d_head == 0
    sizes = {"d_model": network.d_model, "d_head": network.d_head, "n_heads": network.n_heads - 1}
    fewer = RANK.at("rank", contexts=task.contexts, **sizes, with_skip=True)
    return Evidence(
        "claim" if divides else "boundary",
        f"{_shape(task, network)}: {task.n_contexts} contexts memorized with H = ceil((T - d) / d_h) heads, and one "
        f"head "
        f"fewer does not reach the rank; d_h {'divides' if divides else 'does not divide'} T - d",
        f"{printed} numbers",
        f"{count} numbers in the file = {corrected}; features of rank {task.n_contexts} and distributions certified",
        Method("counting, and enclosures of features and logits", Means.EXACT, Means.ENCLOSURES),
        Verdict.all_of([_holds_all(task, network), decided(count == parameter_count(**_counted(task, network)))]),
        quantifier=Quantifier.ALL_WEIGHTS,
        compared=(
            Comparison(count, "=" if divides else ">", printed),
            *(met if divides else failed)(CLAIM, "filled", **_letters(task, network), T_0=task.n_contexts),
            Comparison(count, "=", corrected),
            Comparison(fewer, "<", task.n_contexts),
        ),
    )


def _shared(task: Task, network: Model) -> Evidence:
    free, stored = shared_attention_parameters(network), _stored(network)
    counted, letters = _counted(task, network), _letters(task, network)
    least, paper = shared_count(**counted), parameter_count(**counted)
    agrees = free == least and stored == parameter_count(**counted, d_qk=1)
    return Evidence(
        "sharper",
        f"{_shape(task, network)}: the same {task.n_contexts} contexts memorized, W_Q^h W_K^h = lambda_h u v exactly; "
        f"the file, which repeats u and v, has {stored} numbers",
        f"d (S + 2 N + 2 d_h H) + 2 d + H = {least} numbers are enough, of the paper's {paper}",
        f"{free} numbers; features of rank {task.n_contexts} and distributions certified",
        Method(
            "exact products of the float64 weights, counting, and enclosures of features and logits",
            Means.EXACT,
            Means.ENCLOSURES,
        ),
        Verdict.all_of([_holds_all(task, network), decided(agrees)]),
        compared=(Comparison(free, "=", stated(CLAIM, "enough", **letters)),),
    )


def _same_rank(pairs: int) -> Evidence:
    generator = np.random.default_rng(17)
    equal, deficient, matched = 0, 0, True
    for seed in range(pairs):
        d_vocab, n_ctx, d_model = (int(n) for n in generator.integers(2, 4, 3))
        n_heads, d_head = int(generator.integers(1, 6)), int(generator.integers(1, d_model + 1))
        contexts = generator.permutation(all_contexts(d_vocab, n_ctx))[:16]
        generic, shared = matched_front_ends(
            d_vocab=d_vocab, n_ctx=n_ctx, d_model=d_model, n_heads=n_heads, d_head=d_head, seed=seed
        )
        matched = matched and generic.W_Q[0].ncols() == d_head and _differ_in_attention_only(generic, shared)
        ranks = [exact_outputs(front_end, contexts).rank() for front_end in (generic, shared)]
        equal += ranks[0] == ranks[1]
        deficient += ranks[0] < min(len(contexts), d_model + n_heads * d_head)
    return Evidence(
        "sharper",
        f"{pairs} pairs of rational front ends that differ in W_Q and W_K only, d_qk = d_h against shared rank "
        f"one, on up to 16 contexts; {deficient} pairs have less than min(T, d + H d_h)",
        "the same rank of [x_S, Y]",
        f"the same exact rank in {equal} of {pairs} pairs",
        Method("rank over the rational numbers", Means.EXACT),
        decided(matched and equal == pairs),
    )


def _differ_in_attention_only(generic: ExactFrontEnd, shared: ExactFrontEnd) -> bool:
    """Tell whether the networks differ only in attention, and the second one has shared attention of rank one."""
    forms = [query * key.transpose() for query, key in zip(shared.W_Q, shared.W_K, strict=True)]
    return (
        (generic.W_E, generic.W_pos, generic.W_V) == (shared.W_E, shared.W_pos, shared.W_V)
        and all(form.rank() == 1 for form in forms)
        and fmpq_mat([form.entries() for form in forms]).rank() == 1
    )


def _holds_all(task: Task, network: Model) -> Verdict:
    certificate = certify_memorization(network, task, rank=True).certificate
    return proved(certificate.verdict is Verdict.PROVED and certificate.statement(FEATURE_RANK) is not None)


def _stored(network: Model) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        network.save(path)
        return stored_parameters(path)


def _letters(task: Task, network: Model) -> dict[str, int]:
    sizes = task.d_vocab, task.n_ctx, network.d_model, network.d_head, network.n_heads
    return dict(zip(("N", "S", "d", "d_h", "H"), sizes, strict=True))


def _counted(task: Task, network: Model) -> dict[str, int]:
    """Return the sizes under the argument names of the functions that count parameters."""
    names = ("d_vocab", "n_ctx", "d_model", "d_head", "n_heads")
    return dict(zip(names, _letters(task, network).values(), strict=True))


def _shape(task: Task, network: Model) -> str:
    return ", ".join(f"{letter} = {size}" for letter, size in _letters(task, network).items())
