"""Sums that a kernel starts with a shift, a skip row or a bias of scores, against which small terms are lost.

In every place of a model one large number stands beside many small ones in one sum; what is small decides the answer.
Added one by one to the large number they vanish, added up before they do not: so runs differ, and nothing of the answer
may be said to be proved, nor of an output that no run leaves a bound that some run leaves.
"""

from typing import Any

import numpy as np
import pytest
import torch

from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from tests.verify.runs.hostile_runs import ORDERS, hostile_run
from verify.forward.logits import logit_chunks
from verify.runs.every_run import every_run
from verify.runs.exact_runs import memorized_without_rounding
from verify.runs.formats import FLOAT32
from verify.runs.rounding import rounding_bound
from verify.torch.module import Replica

SMALL, TERMS, LARGE, MIDDLE = float(np.float32(0.7)), 512, 2.0**24, 180.0
OWN, ONE, FIRST = 0, 1, 2  # what is summed, a number that is 1, and the first of as many ones as there are terms


def at(place: int, width: int, value: float = 1.0) -> np.ndarray:
    return np.eye(width)[place] * value


def summing(width: int) -> np.ndarray:
    """All ones of the stream, to one number."""
    return np.where(np.arange(width) >= FIRST, SMALL, 0.0)[:, None]


def head(d: int, **options: Any) -> Attention:
    """A head that reads where it stands, and writes nothing unless told otherwise."""
    heads, n, _ = options.get("W_O", np.zeros((1, 1, d))).shape
    given = {"W_Q": np.zeros((heads, d, 1)), "W_K": np.zeros((heads, d, 1)), "W_V": np.zeros((heads, d, n))}
    return Attention(**{**given, "W_O": np.zeros((1, 1, d)), "skip": False, "attends": "causal", **options})


def neurons(d: int, **options: Any) -> FeedForward:
    """A neuron that is 1 and writes nothing unless told otherwise."""
    given = {"W_in": at(ONE, d)[:, None], "W_out": np.zeros((1, d)), "skip": False, "activation": "relu"}
    return FeedForward(**{**given, **options})


def many_values(large: float = 0.0) -> dict[str, Any]:
    """Many values that are 1 whatever is read and write the small terms, beside a large shift."""
    W_O = np.outer(np.full(TERMS, SMALL), at(OWN, 2))[None]
    return {"W_V": np.zeros((1, 2, TERMS)), "b_V": np.ones((1, TERMS)), "W_O": W_O, "b_O": at(OWN, 2, large)}


def many_neurons(large: float = 0.0) -> dict[str, Any]:
    """Many neurons that are 1 whatever is read and write the small terms, beside a large shift."""
    W_out = np.outer(np.full(TERMS, SMALL), at(OWN, 2))
    return {"W_in": np.zeros((2, TERMS)), "b_in": np.ones(TERMS), "W_out": W_out, "b_out": at(OWN, 2, large)}


def many_heads() -> Attention:
    """Heads that ask nothing and write the small terms, beside one that asks and writes the large one."""
    b_Q, W_O = np.zeros((9, 1)), np.zeros((9, TERMS // 8, 2))
    b_Q[-1], W_O[:-1, :, OWN], W_O[-1, 0, OWN] = 1.0, SMALL, LARGE
    maps, values = np.zeros((9, 2, 1)), np.zeros((9, 2, TERMS // 8))
    return head(2, W_Q=maps, b_Q=b_Q, W_K=maps, W_V=values, b_V=np.ones((9, TERMS // 8)), W_O=W_O)


def judging(name: str, d: int) -> Attention:
    """A head that copies the mark of the first position, if the small terms count in its query or key.

    Its score is a large number with the small terms, less a larger one; that of the second position is 0 or less.
    """
    sums, mark = np.concatenate([summing(d), np.zeros((d, 1))], 1)[None], np.zeros((1, d, 2))
    mark[0, OWN] = [1.0, -(LARGE + MIDDLE)]
    maps = {"W_Q": sums, "b_Q": np.array([[LARGE, 1.0]]), "W_K": mark}
    if name == "key shift":
        shift = np.array([[LARGE, -(LARGE + MIDDLE)]])
        maps = {"W_Q": np.zeros((1, d, 2)), "b_Q": np.ones((1, 2)), "W_K": sums, "b_K": shift}
    return head(d, W_V=at(OWN, d)[None, :, None], W_O=at(OWN, 2)[None, None], **maps)


def tilted(d: int) -> Attention:
    """A head whose second position has a large bias and many small products, the first one one product."""
    W_Q, W_K = np.zeros((1, d, TERMS + 1)), np.zeros((1, d, TERMS + 1))
    W_Q[0, ONE], W_K[0, OWN, -1] = 1.0, LARGE + MIDDLE
    W_K[0, FIRST, :TERMS] = SMALL
    return head(
        d, W_Q=W_Q, W_K=W_K, W_V=at(FIRST, d)[None, :, None], W_O=at(OWN, 2)[None, None], slopes=np.full(1, LARGE)
    )


WIDE = 2 + TERMS
OF_ALL = {"W_in": summing(WIDE), "b_in": np.array([LARGE]), "W_out": at(OWN, 2)[None]}
WITHOUT, WITH = 0.0, LARGE  # what the row has before, where the sum is

PLACES: dict[str, tuple[list[Any], float]] = {
    "attention's output shift": ([head(2, **many_values(LARGE))], WITHOUT),
    "attention's skip": ([head(2, **many_values(), skip=True)], WITH),
    "value shift": (
        [head(WIDE, W_V=summing(WIDE)[None], b_V=np.full((1, 1), LARGE), W_O=at(OWN, 2)[None, None])],
        WITHOUT,
    ),
    "neurons' shift": ([neurons(WIDE, **OF_ALL)], WITHOUT),
    "shift of neurons with gates": ([neurons(WIDE, **OF_ALL, W_gate=at(ONE, WIDE)[:, None])], WITHOUT),
    "gates' shift": (
        [neurons(WIDE, W_gate=summing(WIDE), b_gate=np.array([LARGE]), W_out=at(OWN, 2)[None])],
        WITHOUT,
    ),
    "neurons' output shift": ([neurons(2, **many_neurons(LARGE))], WITHOUT),
    "neurons' skip": ([neurons(2, **many_neurons(), skip=True)], WITH),
    "skip of an attention and neurons in parallel": (
        [head(2, skip=True), neurons(2, **many_neurons(), skip=True, parallel=True)],
        WITH,
    ),
    "attention in parallel to neurons": (
        [head(2, b_O=at(OWN, 2, LARGE), skip=True), neurons(2, **many_neurons(), skip=True, parallel=True)],
        WITHOUT,
    ),
    "neurons in parallel to an attention": (
        [head(2, **many_values(), skip=True), neurons(2, b_out=at(OWN, 2, LARGE), skip=True, parallel=True)],
        WITHOUT,
    ),
    "one head of many": ([many_heads()], WITHOUT),
}
ALL = [*PLACES, "unembedding shift", "query shift", "key shift", "bias of a score"]


def model_of(place: str) -> tuple[Model, np.ndarray]:
    """The model, and its one context: in exact arithmetic the answer is 0."""
    blocks, before = PLACES.get(place, ([], WITHOUT))
    d = blocks[0].d_model if blocks else WIDE
    d = 3 if place == "bias of a score" else d
    rows, W_U, b_U = np.ones((2, d)), np.outer(at(OWN, 2), [1.0, 0.0]), np.array([-(LARGE + MIDDLE), 0.0])
    rows[:, OWN], context = before, np.array([[0]])
    if place == "unembedding shift":
        W_U, b_U = summing(d) * [1.0, 0.0], np.array([LARGE, LARGE + MIDDLE])
    elif not blocks:
        rows[0, OWN], context, b_U = 1.0, np.array([[0, 1]]), np.array([-0.75, 0.0])
        # Nothing small is in the other row: in a sum that is looked for the first one alone has the small terms.
        rows[{"query shift": [], "key shift": [1], "bias of a score": [0]}[place], FIRST:] = 0.0
        blocks = [tilted(d) if place == "bias of a score" else judging(place, d)]
    return Model(tuple(blocks), W_U, b_U=b_U, W_E=rows, W_pos=np.zeros((2, d))), context


def torch_run(model: Model, contexts: np.ndarray) -> np.ndarray:
    """The logits by torch's `addmm`, that starts a product with the shift, or with a skip row."""

    def mapped(x: torch.Tensor, W: np.ndarray, b: np.ndarray | None, skip: torch.Tensor | None = None) -> torch.Tensor:
        start = torch.zeros(W.shape[1]) if b is None else torch.tensor(b, dtype=torch.float32)
        start = start if skip is None else skip + start
        shape = (*x.shape[:-1], W.shape[1])
        flat = torch.broadcast_to(start, shape).reshape(-1, W.shape[1])
        return torch.addmm(flat, x.reshape(-1, x.shape[-1]), torch.tensor(W, dtype=torch.float32)).reshape(shape)

    x = torch.tensor(model.W_E, dtype=torch.float32)[torch.tensor(contexts)]
    before = x
    for block in model.blocks:
        if isinstance(block, FeedForward):
            read = before if block.parallel else x
            hidden = mapped(read, block.W_in, block.b_in)
            gates = hidden if block.W_gate is None else mapped(read, block.W_gate, block.b_gate)
            hidden = gates.clamp(min=0.0) if block.W_gate is None else gates.clamp(min=0.0) * hidden
            x = mapped(hidden, block.W_out, block.b_out, x if block.skip else None)
            continue
        assert isinstance(block, Attention)
        heads = []
        for h in range(block.n_heads):
            q, k, v = (
                mapped(x, W[h], None if b is None else b[h])
                for W, b in ((block.W_Q, block.b_Q), (block.W_K, block.b_K), (block.W_V, block.b_V))
            )
            bias = torch.zeros(len(x), x.shape[1], x.shape[1])
            bias = bias if block.slopes is None else bias + block.slopes[h] * torch.arange(x.shape[1])
            scores = torch.baddbmm(bias, q, k.transpose(1, 2))
            later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            heads.append(torch.softmax(scores.masked_fill(later, -torch.inf), -1) @ v)
        before = x
        x = mapped(torch.cat(heads, -1), block.W_O.reshape(-1, block.d_out), block.b_O, x if block.skip else None)
    return mapped(x[:, -1], model.W_U, model.b_U).double().numpy()


def runs_of(model: Model, contexts: np.ndarray) -> np.ndarray:
    """The logits of runs in many orders, and in torch with one thread and two, alone and in a batch."""
    found = [hostile_run(model, contexts, np.float32, order)[0] for order in ORDERS]
    threads = torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found += [torch_run(model, np.repeat(contexts, batch, axis=0))[0] for batch in (1, 2, 64)]
            with torch.no_grad():
                found.append(Replica.from_model(model)(torch.tensor(contexts)).double().numpy()[0])
    finally:
        torch.set_num_threads(threads)
    return np.array(found)


@pytest.mark.parametrize("place", ALL)
def test_no_run_leaves_what_is_proved_whatever_its_sums_start_with(place: str) -> None:
    model, contexts = model_of(place)
    runs, [(_, exact)] = runs_of(model, contexts), list(logit_chunks(model, contexts))
    assert exact.midpoint[0].argmax() == 0
    assert set(runs.argmax(axis=1)) == {0, 1}, "the runs of this model all answer alike: the test has no teeth"
    assert every_run(model, contexts, number_format=FLOAT32).place[0] == -1
    bound = rounding_bound(model, contexts, number_format=FLOAT32)[0] + exact.radius.max()
    assert (np.abs(runs - exact.midpoint[0]) <= bound).all()
    task = array_task(contexts, next_tokens=np.zeros(1, dtype=int), vocabulary=2, answers=2, target="labels")
    assert not memorized_without_rounding(model, task, FLOAT32, 1e-3).any()
