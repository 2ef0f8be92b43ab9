r"""What is proved of a construction beside its answers: ranks, coherence, errors, each next to what is promised.

Page: docs/constructions.md
"""

import importlib.util
import math
from fractions import Fraction
from functools import singledispatch
from typing import Any

from byheart.figures import Finding
from constructions.attention.full_rank import FullRankAttention, full_rank_attention
from constructions.attention.skip_connection_head import skip_connection_head
from constructions.memories.memory import HeadsOfTheorem1
from constructions.models.construction import Construction
from constructions.named.full_rank_attention import FullRankMemory
from constructions.named.low_coherence_unembedding import LowCoherenceMemory
from constructions.named.saturated_heads import SaturatedMemory
from constructions.named.skip_connection_head import SkipConnectionMemory
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.johnson_lindenstrauss import paper_constant
from verify.arithmetic.decimals import decimal_above, decimal_below
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.sums import total
from verify.capacity.attention_rank import attention_rank
from verify.certificates.certificate import FEATURE_RANK
from verify.certificates.memorization import MemorizationCertificate
from verify.encoders.lookup_divergence import lookup_divergence
from verify.forward.logits import enclose_logits
from verify.memories.skip_connection_error import largest_skip_error
from verify.unembeddings.coherence import certify_margins

_SHARPNESSES = (5.0, 10.0, 20.0, 40.0, 80.0)  # nats, of the table
_TYPES = ("float64", "float32")
_LISTED = 16  # distributions


@singledispatch
def findings(built: Construction[Any], proved: MemorizationCertificate, *, device: str = "cpu") -> tuple[Finding, ...]:
    """What is proved of a construction, beside what its certificate says of its answers.

    Args:
        built: What was built; its class decides what is looked at.
        proved: Their certificate.
        device: Where weights are run, beside the CPU.

    Returns:
        The findings; of a class that is not known none.
    """
    return ()


@findings.register
def _(built: FullRankMemory, proved: MemorizationCertificate, *, device: str = "cpu") -> tuple[Finding, ...]:
    return _ranks(built, built.heads, alone_first=not built.with_skip)


@findings.register
def _(built: HeadsOfTheorem1, proved: MemorizationCertificate, *, device: str = "cpu") -> tuple[Finding, ...]:
    block = built.model.attention
    sizes = {"d_model": block.d_model, "d_head": block.d_head, "n_heads": block.n_heads}
    heads = full_rank_attention(built.task.contexts, d_vocab=built.task.d_vocab, **sizes)
    return _ranks(built, heads, alone_first=False)


def _ranks(built: Construction[Any], heads: FullRankAttention, *, alone_first: bool) -> tuple[Finding, ...]:
    """The rank of the features, of these weights and of all, without and with the skip connection."""
    both = [_rank(built, heads, with_skip=False), _rank(built, heads, with_skip=True)]
    return tuple(both if alone_first else reversed(both))


def _rank(built: Construction[Any], heads: FullRankAttention, *, with_skip: bool) -> Finding:
    limiting = heads.limiting_with_skip if with_skip else heads.limiting
    found = attention_rank(built.model, built.task.contexts, with_skip=with_skip, limiting=limiting)
    promised = heads.promised(with_skip=with_skip)
    of_what = "[x_S | Y], heads with skip connection" if with_skip else "Y, heads alone"
    printed = "Theorem 1: min(T, H d_h + d)" if with_skip else "Lemma 2: min(T, H d_h)"
    these = f"exactly {found.lower}" if found.exact else f"at least {found.lower}"
    text = f"{these} ({found.rows} x {found.columns}); of any weights at most {found.upper}; {printed} = {promised}"
    if found.upper < promised:
        text += ", which no weights reach"
    values = {
        "rows": found.rows,
        "columns": found.columns,
        "lower": found.lower,
        "upper": found.upper,
        "promised": promised,
    }
    return Finding(f"rank of {of_what}", text, values)


@findings.register
def _(built: SkipConnectionMemory, proved: MemorizationCertificate, *, device: str = "cpu") -> tuple[Finding, ...]:
    network, own = built.heads.network, float(built.heads.copies[0].sharpness)
    contexts = f"all {network.d_vocab}^{network.n_ctx} contexts"  # not only those of the task
    table = []
    for sharpness in sorted({*_SHARPNESSES, own}):
        model = built.model if sharpness == own else skip_connection_head(network, sharpness=sharpness).model
        error = largest_skip_error(network, model)
        what = f"error at lambda = {sharpness:g}" + " (built)" * (sharpness == own)
        text = f"<= {decimal_above(error)}, of a logit, over {contexts}"
        table.append(Finding(what, text, {"sharpness": sharpness, "error_upper": error}))
    return (*table, *_runs_beside(built, device))


def _runs_beside(built: SkipConnectionMemory, device: str) -> list[Finding]:
    """Run the model, and judge its logits by those of the network with the skip connection."""
    if importlib.util.find_spec("torch") is None:
        return []
    from verify.replica.run import run_all

    network, contexts = built.heads.network, built.task.contexts
    error = largest_skip_error(network, built.model)
    wanted = enclose_logits(network, contexts) + Enclosure.between(-error, error)
    found = []
    for where in dict.fromkeys(("cpu", device)):
        runs = run_all(built.model, built.task, dtypes=_TYPES, logits=[(0, wanted)], device=where)
        for name, run in runs.items():
            judged = {True: "below", False: "ABOVE", None: "not judged by"}[run.within_bound]
            text = (
                f"off the network with skip connection by {run.max_output_error:.3g}, measured; {judged} the bound of "
                f"error and rounding, {_or_none(run.largest_bound)}"
            )
            values = {
                "largest_difference": run.max_output_error,
                "largest_bound": run.largest_bound,
                "below": None if run.within_bound is None else int(run.within_bound),
            }
            found.append(Finding(f"run in {name} on {where}", text, values))
    return found


def _or_none(bound: float | None) -> str:
    return "none" if bound is None else decimal_above(bound)


@findings.register
def _(built: LowCoherenceMemory, proved: MemorizationCertificate, *, device: str = "cpu") -> tuple[Finding, ...]:
    unembedding, encoder, task = built.unembedding, built.encoder, built.task
    assert task.laws is not None
    judged = lookup_divergence(
        unembedding.vectors, encoder.encoders, encoder.strengths, tokens=encoder.tokens, distributions=task.laws
    )
    least, largest = proved.answers.mean_loss()
    mean = _divergence("KL, mean of all rows", least, largest, total(judged.bound, 0) / task.n_contexts, None)
    rows = [
        _divergence(
            f"KL of row {row + 1}",
            float(proved.answers.loss_lower[row]),
            float(proved.answers.loss_upper[row]),
            judged.bound[row],
            None if judged.printed is None else judged.printed[row],
        )
        for row in range(min(task.n_contexts, _LISTED))
    ]
    return (*_coherence(unembedding), mean, *rows)


def _coherence(unembedding: Unembedding) -> tuple[Finding, ...]:
    """The coherence and the leads of the vectors, judged anew, beside the constant that is printed."""
    count, d_model = unembedding.vectors.shape
    margins = certify_margins(unembedding.vectors, unembedding.encoders)
    squared, claimed, constant = margins.coherence_squared, unembedding.coherence, paper_constant(count, d_model)
    is_proved = squared is not None and squared <= claimed**2
    text = f"at most {decimal_above(claimed)}" if is_proved else "not proved"
    text += f" ({count} vectors, {d_model} dimensions); Theorem 2: C = sqrt(32 log(N + 1) / d) = "
    text += decimal_above(constant) + (", with which it says nothing" if constant >= Fraction(1, 2) else "")
    kappa = margins.kappa
    return (
        Finding(
            "coherence",
            text,
            {"coherence_upper": rounded_up(claimed) if is_proved else None, "printed": rounded_up(constant)},
        ),
        Finding(
            "kappa",
            "not proved"
            if kappa is None
            else f"at most {decimal_above(kappa)}, the largest lead of a token over the least",
            {"kappa_upper": None if kappa is None else rounded_up(kappa)},
        ),
    )


def _divergence(what: str, lower: float, upper: float, bound: Enclosure, printed: Enclosure | None) -> Finding:
    """A divergence between its bounds, nats, beside what Theorem LE1 and the printed Theorem 2 promise."""
    promised = float(bound.upper())
    text = f"in [{decimal_below(lower)}, {decimal_above(upper)}] nats; Theorem LE1: at most {decimal_above(promised)}"
    values: dict[str, float | None] = {"lower": lower, "upper": upper, "bound": promised, "printed": None}
    if printed is not None:
        values["printed"] = float(printed.upper())
        text += f"; printed: at most {decimal_above(values['printed'])}"
    return Finding(what, text, values)


@findings.register
def _(built: SaturatedMemory, proved: MemorizationCertificate, *, device: str = "cpu") -> tuple[Finding, ...]:
    task, n_heads = built.task, built.model.n_heads
    rank = proved.certificate.statement(FEATURE_RANK)
    most = n_heads * (min(task.n_ctx, built.model.d_qk) - 1) + 1
    shape = f"({task.n_examples} x {n_heads * task.d_model})"
    these = (
        f"exactly {task.n_examples} {shape}, that of all examples"
        if rank is not None
        else "not proved to be that of the examples"
    )
    text = f"{these}; promised: any T <= H (min(n, d_h) - 1) + 1 = {most}"
    values = {"rows": task.n_examples, "lower": None if rank is None else task.n_examples, "promised": most}
    return (Finding("rank of Z, what the heads mix", text, values),)


def rounded_up(value: Fraction) -> float:
    """The least float64 number that is at least the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
