"""Collect proved properties of a construction besides its answers: ranks, coherence, errors, next to the promised ones.

Page: docs/constructions.md
"""

import importlib.util
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np

from byheart.figures import Finding
from constructions.attention.full_rank import FullRankAttention, full_rank_attention
from constructions.attention.skip_connection_head import skip_connection_head
from constructions.counted import counted
from constructions.encoders.low_entropy_encoder import LookupEncoder
from constructions.heads_of_theorem_1.memory import HeadsOfTheorem1
from constructions.model.construction import Construction
from constructions.named.full_rank_attention import FullRankMemory
from constructions.named.low_coherence_unembedding import LowCoherenceMemory
from constructions.named.saturated_heads import SaturatedMemory
from constructions.named.skip_connection_head import SkipConnectionMemory
from constructions.tasks.task import Task
from constructions.unembeddings.coherence import Unembedding
from constructions.unembeddings.johnson_lindenstrauss import paper_constant
from verify.arithmetic.decimals import decimal_above, decimal_below
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.sums import total
from verify.certificates.certificate import RANK_HEADS, RANK_WITH_SKIP, SATURATION, Certificate
from verify.forward.logits import enclose_logits
from verify.provers.answer_bounds import Answers
from verify.provers.proved import Proved
from verify.ranks.linear_relations import rank_upper_bound_for_all_weights
from verify.theorems.encoders.lookup_divergence import lookup_divergence
from verify.theorems.memories.skip_connection_error import largest_skip_error
from verify.theorems.unembeddings.coherence import certify_margins

_SHARPNESSES = (5.0, 10.0, 20.0, 40.0, 80.0)  # nats, of the table
_TYPES = ("float64", "float32")
_LISTED = 16  # distributions


@singledispatch
def findings(built: Construction[Any], proved: Proved[Answers], *, device: str = "cpu") -> tuple[Finding, ...]:
    """Return the proved properties of a construction that its certificate of answers does not include.

    Args:
        built: What was built; its class decides what is looked at.
        proved: Their certificate.
        device: The device that runs the weights, besides the CPU.

    Returns:
        The findings; of a class that is not known none.
    """
    return ()


@findings.register
def _(built: FullRankMemory, proved: Proved[Answers], *, device: str = "cpu") -> tuple[Finding, ...]:
    both = _ranks(proved.certificate, built.task, built.heads)
    return tuple(reversed(both) if built.with_skip else both)


@findings.register
def _(built: HeadsOfTheorem1, proved: Proved[Answers], *, device: str = "cpu") -> tuple[Finding, ...]:
    block = built.model.attention
    sizes: dict[str, int] = {"d_model": block.d_model, "d_head": block.d_head, "n_heads": block.n_heads}
    heads = full_rank_attention(built.task.contexts, d_vocab=built.task.d_vocab, **sizes)
    return tuple(reversed(_ranks(proved.certificate, built.task, heads)))


def _ranks(certificate: Certificate, task: Task, heads: FullRankAttention) -> list[Finding]:
    """Return the certified ranks with and without the skip connection, next to the printed one."""
    printed = ("Lemma 2: min(T, H d_h)", "Theorem 1: min(T, H d_h + d)")
    of_what = ("Y, heads alone", "[x_S | Y], heads with skip connection")
    lines = []
    for with_skip, id in enumerate((RANK_HEADS, RANK_WITH_SKIP)):
        statement = certificate.statement(id)
        if statement is None:
            text = (
                f"not certified of so many contexts; {printed[with_skip]} = {heads.promised(with_skip=bool(with_skip))}"
            )
            lines.append(Finding(f"rank of {of_what[with_skip]}", text))
            continue
        values = {name: int(value) for name, value in statement.values.items()}
        values["all_weights_upper"] = _of_all_weights(task, heads, values, with_skip=bool(with_skip))
        values["upper"] = min(values["upper"], values["all_weights_upper"])
        values["promised"] = heads.promised(with_skip=bool(with_skip))
        every = values["all_weights_upper"]
        text = f"{_certified(values)}; of any weights at most {every}; "
        text += f"{printed[with_skip]} = {values['promised']}"
        if every < values["promised"]:
            text += ", which no weights reach"
        lines.append(Finding(f"rank of {of_what[with_skip]}", text, values))
    return lines


def _of_all_weights(task: Task, heads: FullRankAttention, values: Mapping[str, int], *, with_skip: bool) -> int:
    """Return an upper bound for all weights, from the certificate or from the construction's set of contexts."""
    limiting = (heads.limiting_with_skip if with_skip else heads.limiting).tolist()
    if not 0 < len(limiting) < values["rows"]:
        return values["all_weights_upper"]
    n_heads, d_model, d_head = heads.front_end.W_V.shape
    sizes: dict[str, int] = {"d_model": d_model, "d_head": d_head, "n_heads": n_heads}
    ceiling = rank_upper_bound_for_all_weights(task.contexts, subset=limiting, with_skip=with_skip, **sizes)
    return min(values["all_weights_upper"], ceiling.rank)


@findings.register
def _(built: SkipConnectionMemory, proved: Proved[Answers], *, device: str = "cpu") -> tuple[Finding, ...]:
    network, own = built.heads.network, float(built.heads.copies[0].sharpness)
    contexts = f"all {network.d_vocab}^{network.n_ctx} contexts"  # not only those of the task
    errors = {own: largest_skip_error(network, built.model)}
    for sharpness in _SHARPNESSES:
        if sharpness != own:
            errors[sharpness] = largest_skip_error(network, skip_connection_head(network, sharpness=sharpness).model)
    table = []
    for sharpness, error in sorted(errors.items()):
        what = f"error at lambda = {sharpness:g}" + " (built)" * (sharpness == own)
        text = f"<= {decimal_above(error)}, of a logit, over {contexts}"
        table.append(Finding(what, text, {"sharpness": sharpness, "error_upper": error}))
    return (*table, *_rank_of_all_heads(proved.certificate), *_runs_beside(built, errors[own], device))


def _rank_of_all_heads(certificate: Certificate) -> list[Finding]:
    """Return the rank of the features of all heads, including the copying ones."""
    statement = certificate.statement(RANK_HEADS)
    if statement is None:
        return []
    values = {name: int(value) for name, value in statement.values.items()}
    return [Finding("rank of Y, copies among the heads", _certified(values), values)]


def _certified(rank: Mapping[str, int]) -> str:
    """Return the bounds of a rank, and the sizes of the matrix that it is of, in words."""
    lower, upper = rank["lower"], rank["upper"]
    bounds = f"exactly {lower}" if lower == upper else f"{lower} to {upper}"
    return f"{bounds} ({rank['rows']} x {rank['columns']})"


def _runs_beside(built: SkipConnectionMemory, error: float, device: str) -> list[Finding]:
    """Run the model, and judge its logits by those of the network with the skip connection, at most `error` away."""
    if importlib.util.find_spec("torch") is None:
        return []
    from verify.torch.run import run_all

    network, contexts = built.heads.network, built.task.contexts
    wanted = enclose_logits(network, contexts) + Enclosure.between(-error, error)
    lines = []
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
            lines.append(Finding(f"run in {name} on {where}", text, values))
    return lines


def _or_none(bound: float | None) -> str:
    return "none" if bound is None else decimal_above(bound)


@findings.register
def _(built: LowCoherenceMemory, proved: Proved[Answers], *, device: str = "cpu") -> tuple[Finding, ...]:
    unembedding, encoder, task = built.unembedding, built.encoder, built.task
    assert task.distributions is not None
    judged = lookup_divergence(
        unembedding.vectors,
        encoder.encoders,
        encoder.strengths,
        tokens=encoder.tokens,
        distributions=task.distributions,
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
    return (*_coherence(unembedding), mean, *_uniform_answers(encoder), *rows)


def _uniform_answers(encoder: LookupEncoder) -> list[Finding]:
    r"""Count the zero rows of the stream, as where $\kappa \varepsilon \ge (N - 1) / N$."""
    number, size = int(np.count_nonzero(encoder.strengths == 0.0)), len(encoder.strengths)
    if not number:
        return []
    text = f"{number} of {counted(size, 'distribution')}, whose encoder has the strength 0: the KL is the bound itself"
    return [Finding("uniform answers", text, {"uniform": number})]


def _coherence(unembedding: Unembedding) -> tuple[Finding, ...]:
    """Return the coherence and the margins of the vectors, judged again, next to the printed constant."""
    count, d_model = unembedding.vectors.shape
    margins = certify_margins(unembedding.vectors, unembedding.encoders)
    squared, claimed, constant = margins.coherence_squared, unembedding.coherence, paper_constant(count, d_model)
    is_proved = squared is not None and squared <= claimed**2
    text = f"at most {decimal_above(claimed)}" if is_proved else "not proved"
    text += f" ({counted(count, 'vector')}, {counted(d_model, 'dimension')}); Theorem 2: C = sqrt(32 log(N + 1) / d) = "
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
    """Return bounds of a divergence in nats, next to those of Theorem LE1 and the printed Theorem 2."""
    promised = float(bound.upper())
    text = f"in [{decimal_below(lower)}, {decimal_above(upper)}] nats; Theorem LE1: at most {decimal_above(promised)}"
    values: dict[str, float | None] = {"lower": lower, "upper": upper, "bound": promised, "printed": None}
    if printed is not None:
        values["printed"] = float(printed.upper())
        text += f"; printed: at most {decimal_above(values['printed'])}"
    return Finding(what, text, values)


@findings.register
def _(built: SaturatedMemory, proved: Proved[Answers], *, device: str = "cpu") -> tuple[Finding, ...]:
    task, n_heads = built.task, built.model.n_heads
    most = n_heads * (min(task.n_ctx, built.model.d_qk) - 1) + 1
    statement = proved.certificate.statement(RANK_HEADS)
    if statement is None:
        return ()
    values = {name: int(value) for name, value in statement.values.items()} | {"promised": most}
    text = f"{_certified(values)}; promised: any T <= H (min(n, d_h) - 1) + 1 = {most}"
    return (Finding("rank of Z, what the heads mix", text, values), *_saturation(proved.certificate))


def _saturation(certificate: Certificate) -> list[Finding]:
    """Return the pairs of a head and an example in which the head is proved to attend almost only to one token."""
    statement = certificate.statement(SATURATION)
    if statement is None:
        return []
    pairs, saturated, delta = (Fraction(statement.values[name]) for name in ("pairs", "saturated_lower", "delta"))
    text = f"at least {saturated} of {counted(int(pairs), 'pair')} of a head and an example: an attention weight above "
    text += f"1 - {decimal_above(delta)}"
    values = {"pairs": int(pairs), "saturated_lower": int(saturated), "delta_upper": rounded_up(delta)}
    return [Finding("saturated", text, values)]


def rounded_up(value: Fraction) -> float:
    """Return the least float64 number that is at least the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
