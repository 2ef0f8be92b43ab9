"""Theorem 1 with epsilon = 0: what one head cannot do whatever its weights, and what the repaired theorem builds.

Page: docs/claims/theorem_1.md
"""

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.claims.dana_theorem_1 import CLAIM, exact_memory, paper_heads
from constructions.memories.memory import build_memory
from constructions.memories.one_head_optimum import (
    exclusive_or_contexts,
    exclusive_or_optimum,
    line_contexts,
    line_optimum,
)
from constructions.models.exact_network import ExactFrontEnd
from constructions.models.model import Model
from constructions.models.shapes import dana_tensors
from constructions.tasks.arrays import array_task
from constructions.tasks.task import Task
from verify.arithmetic.enclosure import Enclosure
from verify.arithmetic.rounding import up
from verify.capacity.divergence_floor import DivergenceFloor, collinear_divergence_floor, one_head_divergence_floor
from verify.certificates.certificate import FEATURE_RANK
from verify.certificates.memorization import certify_memorization
from verify.claims.evidence import Evidence
from verify.divergence.kullback_leibler import divergence, mean_upper_bound
from verify.forward.float64 import enclose_logits
from verify.forward.rationals import exact_network_logits
from verify.verdict import Verdict, decided, proved

Int64Array = NDArray[np.int64]
Float64Array = NDArray[np.float64]

_CLOSE = 1e-5  # nats; a floor is called sharp if weights are certified that are so close to it
_TINY = 1e-9  # nats; what roundings may leave of a divergence that is 0
_EXACT = ((2, 2, 2, 1, 0), (2, 3, 2, 2, 0), (3, 2, 3, 2, 0), (3, 3, 3, 3, 0), (8, 2, 8, 8, 0), (9, 6, 8, 4, 40))
_EXACT_FULL = ((4, 3, 4, 4, 0), (9, 2, 9, 9, 0), (12, 8, 11, 5, 46))
_ROUNDED = ((16, 2, 16, 16, 0), (32, 2, 32, 32, 0), (17, 8, 16, 16, 1024))
_ROUNDED_FULL = ((10, 3, 10, 8, 0), (45, 2, 45, 45, 0), (4, 5, 4, 4, 0), (33, 8, 32, 16, 2000))


def evidence(*, full: bool) -> Iterator[Evidence]:
    """Certify the counterexamples for all weights, and instances of the repaired theorem.

    Args:
        full: Whether to certify other laws, longer contexts and larger memories as well.

    Yields:
        The evidence.

    Page: docs/claims/theorem_1.md
    """
    yield from _exclusive_or(Fraction(99, 100), length=3)
    yield from _line(Fraction(9, 10), pieces=192 if full else 96)
    if full:
        for odds, length in ((Fraction(3, 5), 3), (Fraction(9, 10), 5), (Fraction(9999, 10000), 8)):
            yield from _exclusive_or(odds, length=length)
        yield from _line(Fraction(99, 100), pieces=192)
    yield _one_head_more()
    for sizes in _EXACT + (_EXACT_FULL if full else ()):
        yield _exact(*sizes)
    for sizes in _ROUNDED + (_ROUNDED_FULL if full else ()):
        yield _rounded(*sizes)


def _exclusive_or(p: Fraction, *, length: int) -> Iterator[Evidence]:
    contexts, laws = exclusive_or_contexts(length), [[p, 1 - p]] * 2 + [[1 - p, p]] * 2
    floor = one_head_divergence_floor(contexts, laws)
    width, head_width = 2, 2
    yield _impossible(
        f"XOR: the {len(contexts)} contexts of {length} tokens with 1 head of any width d_h, in any d, and laws ({p}, "
        f"{1 - p}) on two of them, ({1 - p}, {p}) on the others, relation {floor.relation}",
        f"mean divergence <= gamma for every gamma > 0, as {_count(len(contexts), width, head_width)} and d >= N - 1",
        floor,
        "a linear relation in integers, and duality with rational multipliers in balls",
        {"contexts": contexts.tolist(), "laws": _texts(laws), "relation": list(floor.relation)},
    )
    if length == 3:
        network = exclusive_or_optimum(float(np.log(float(p / (1 - p)))), size=2.0**40)
        yield _sharp("XOR", floor, network, contexts, laws)


def _line(p: Fraction, *, pieces: int) -> Iterator[Evidence]:
    contexts = line_contexts()
    rest = (1 - p) / 2
    laws = [[p if token == own else rest for token in range(3)] for own in range(3)]
    floor = collinear_divergence_floor(contexts, laws, pieces=pieces)
    width, head_width = 2, 1
    yield _impossible(
        f"Collinear: {len(contexts)} contexts of {contexts.shape[1]} tokens with 1 head of width 1, in any d, and laws "
        f"that give {p} to one token each and {rest} to the others",
        f"mean divergence <= gamma for every gamma > 0, as {_count(len(contexts), width, head_width)} and d >= N - 1",
        floor,
        f"duality with rational multipliers in balls, on {floor.certificates} intervals",
        {"contexts": contexts.tolist(), "laws": _texts(laws)},
    )
    table = np.array([[float(entry) for entry in law] for law in laws])
    yield _sharp("Collinear", floor, line_optimum(table), contexts, laws)


def _impossible(statement: str, promised: str, floor: DivergenceFloor, method: str, data: dict[str, Any]) -> Evidence:
    certified = f"mean divergence >= {_down(floor.lower)} nats for all weights"
    if floor.verdict is not Verdict.PROVED:
        certified = "no positive lower bound"
    return Evidence("counterexample", statement, promised, certified, floor.verdict, method, data)


def _sharp(
    name: str, floor: DivergenceFloor, network: Model, contexts: Int64Array, laws: list[list[Fraction]]
) -> Evidence:
    upper = _mean_divergence(network, contexts, laws)
    return Evidence(
        "counterexample",
        f"{name}: weights with {network.n_heads} head, d = {network.d_model}, d_h = {network.d_head}, that come within "
        f"{_CLOSE} nats of the lower bound, which is therefore sharp",
        f"least mean divergence known within {_CLOSE} nats",
        f"it is in [{_down(floor.lower)}, {_up(upper)}] nats",
        proved(0 < floor.lower <= upper < math.inf and Fraction(upper) - Fraction(floor.lower) <= Fraction(_CLOSE)),
        "enclosures of the logits",
        {name: tensor.tolist() for name, tensor in dana_tensors(network).items()},
    )


def _one_head_more() -> Evidence:
    contexts, p = exclusive_or_contexts(), Fraction(99, 100)
    laws = [[p, 1 - p]] * 2 + [[1 - p, p]] * 2
    task = array_task(contexts, laws=np.array([[float(entry) for entry in law] for law in laws]), vocabulary=2)
    built = build_memory(task, d_model=2, d_head=2, n_heads=2, front_end="random")
    worst, verdict = _certified(built.model, task, width=2, head_width=2, heads=2)
    return Evidence(
        "repair",
        f"XOR with {_sizes(built.model)}, where [x_S, Y] has rank T = {task.n_contexts}",
        "divergence 0 up to rounding",
        f"divergence <= {_up(worst)} nats after every context",
        verdict,
        "enclosures of features and logits",
        {"contexts": contexts.tolist(), "laws": _texts(laws)},
    )


def _exact(tokens: int, length: int, width: int, head_width: int, facts: int) -> Evidence:
    built = exact_memory(tokens=tokens, length=length, width=width, head_width=head_width, facts=facts)
    front_end = built.model.front_end
    found = exact_network_logits(built.model, built.contexts)
    count = facts or tokens**length
    same = (
        found == built.targets
        and _has_sizes(front_end, width=width, head_width=head_width, heads=paper_heads(count, width, head_width))
        and len(np.unique(built.contexts, axis=0)) == len(built.contexts) == count
        and found.rank() == min(count, width, tokens)
    )
    return Evidence(
        "repair",
        f"T = {len(built.contexts)} of {tokens**length} contexts of {length} tokens over {tokens}: a rational network "
        f"of {_sizes(front_end)} with the logits of an encoder of rank {found.rank()}",
        f"logits E W exactly (gamma = 0), as {_count(len(built.contexts), width, head_width)}",
        "equal as rational numbers" if same else "not equal, or not of these sizes",
        decided(same),
        "exact rational arithmetic",
        {"tokens": tokens, "length": length, "width": width, "head_width": head_width, "facts": facts},
    )


def _rounded(tokens: int, length: int, width: int, head_width: int, facts: int) -> Evidence:
    parameters = {"tokens": tokens, "length": length, "width": width, "head_width": head_width, "facts": facts}
    made = CLAIM.construct(**parameters)
    count = facts or tokens**length
    heads = paper_heads(count, width, head_width)
    worst, verdict = _certified(made.model, made.task, width=width, head_width=head_width, heads=heads)
    return Evidence(
        "repair",
        f"float64 weights of {_sizes(made.model)} that hold laws over {made.task.vocabulary_size} tokens after "
        f"{made.task.n_contexts} of {tokens**length} contexts of {length} tokens",
        f"divergence 0 up to rounding, as {_count(count, width, head_width)} and d >= N - 1",
        f"divergence <= {_up(worst)} nats after every context",
        verdict if made.task.n_contexts == count else Verdict.REFUTED,
        "enclosures of features and logits",
        parameters,
    )


def _certified(network: Model, task: Task, *, width: int, head_width: int, heads: int) -> tuple[float, Verdict]:
    """The largest divergence, and whether it, the rank of the features and the sizes are proved."""
    found = certify_memorization(network, task, rank=True, witness=False)
    worst = float(found.answers.loss_upper.max())
    certificate = found.certificate
    return worst, Verdict.all_of(
        [
            proved(certificate.statement(FEATURE_RANK) is not None),
            certificate.verdict,
            proved(worst <= _TINY),
            decided(_has_sizes(network, width=width, head_width=head_width, heads=heads)),
        ]
    )


def _has_sizes(network: Model | ExactFrontEnd, *, width: int, head_width: int, heads: int) -> bool:
    """Whether the network is as large as the paper counts, and no larger."""
    return (network.d_model, network.d_head, network.n_heads) == (width, head_width, heads)


def _sizes(network: Model | ExactFrontEnd) -> str:
    return f"d = {network.d_model}, d_h = {network.d_head}, H = {network.n_heads}"


def _mean_divergence(network: Model, contexts: Int64Array, laws: list[list[Fraction]]) -> float:
    """Upper bound of the mean divergence of laws that are decimal fractions, nats.

    Their integer numerators over the common denominator are exact floats.
    """
    denominator = np.lcm.reduce([entry.denominator for law in laws for entry in law])
    weights = np.array([[float(entry * int(denominator)) for entry in law] for law in laws])
    logits: Enclosure = enclose_logits(network, contexts)
    return mean_upper_bound(up(divergence(logits, weights).upper()))


def _count(n_contexts: int, width: int, head_width: int) -> str:
    """The paper's count of what the heads and the skip connection hold, beside the number of contexts."""
    heads = paper_heads(n_contexts, width, head_width)
    total = heads * head_width + width
    below = "" if total == n_contexts else f" <= {total}"
    return f"T = {n_contexts}{below} = {heads} * {head_width} + {width} = H d_h + d"


def _texts(laws: list[list[Fraction]]) -> list[list[str]]:
    return [[str(entry) for entry in law] for law in laws]


def _down(value: float) -> str:
    return str(Context(prec=10, rounding=ROUND_FLOOR).create_decimal(Decimal(value)))


def _up(value: float) -> str:
    return str(Context(prec=10, rounding=ROUND_CEILING).create_decimal(Decimal(value)))
