"""Models that detect the order of summation: in exact arithmetic one sum is (L + 1) - L = 1, in short formats 1 or 0.

Each has that sum in another place. Of two contexts the first one has the answer 0 if the sum is above one half, and 1
otherwise; the second one has the answer 1. For L = 2^24 and float32 the first answer depends on the order, or is lost
in every one; for L = 2^20 no float32 run rounds anything, where the place has no division and no root.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from constructions.model.blocks import Attention, FeedForward, Normalization
from constructions.model.model import Model

LARGE, EXACT = 2.0**24, 2.0**20
FIRST, SECOND = 0, 1
GAP = 256.0
"""By how much a score leads that is not lost; the other rows have half of it."""


def reading(
    blocks: list[Any], rows: Any, *, positions: Any = None, readout: Any = None, shift: float = 0.0, length: int = 1
) -> Model:
    """Return a model of these blocks, whose first logit is the first entry of the last row times `readout`."""
    W_E = np.array(rows, dtype=float)
    width = blocks[-1].d_out if blocks and not isinstance(blocks[-1], Normalization) else W_E.shape[1]
    column = np.eye(width)[0] if readout is None else np.array(readout, dtype=float)
    W_pos = np.zeros((length, W_E.shape[1])) if positions is None else np.array(positions, dtype=float)
    return Model(
        tuple(blocks), W_U=np.stack([column, np.zeros(width)], axis=1), b_U=np.array([shift, 0.5]), W_E=W_E, W_pos=W_pos
    )


def neurons(W_in: Any, W_out: Any, **options: Any) -> FeedForward:
    """Return ReLU neurons, without a skip connection unless told otherwise."""
    tensors = {
        name: np.array(options.pop(name), dtype=float)
        for name in ("b_in", "b_out", "W_gate", "b_gate")
        if name in options
    }
    return FeedForward(
        np.array(W_in, dtype=float), np.array(W_out, dtype=float), **{"skip": False, **tensors, **options}
    )


def head(W_V: Any, W_O: Any, **options: Any) -> Attention:
    """Return heads that ask nothing, without a skip connection unless told otherwise."""
    W_V, W_O = np.array(W_V, dtype=float), np.array(W_O, dtype=float)
    nothing = np.zeros((*W_V.shape[:2], 1))
    tensors = {
        name: np.array(options.pop(name), dtype=float) for name in list(options) if name.startswith(("W_", "b_"))
    }
    if "slopes" in options:
        options["slopes"] = np.array(options["slopes"])
    return Attention(**{"W_Q": nothing, "W_K": nothing, "W_V": W_V, "W_O": W_O, "skip": False, **tensors, **options})


ONE = [[[1.0]]]


def embedding(large: float) -> Model:
    """Put the sum into a token's row and that of its position."""
    return reading([], [[large], [-1.0]], positions=[[1.0]], shift=-large)


def conversion(large: float) -> Model:
    """Put the sum into a weight that float32 does not hold."""
    return reading([], [[large + 1.0], [0.0]], shift=-large)


def readout(large: float) -> Model:
    """Put the sum into the products of the readout."""
    return reading([], [[large, 1.0, -large], [0.0, 0.0, 0.0]], readout=[1.0, 1.0, 1.0])


def readout_shift(large: float) -> Model:
    """Put the sum into the products of the readout and its shift."""
    return reading([], [[large, 1.0], [0.0, 0.0]], readout=[1.0, 1.0], shift=-large)


def neurons_inputs(large: float) -> Model:
    """Put the sum into what a neuron reads."""
    return reading([neurons([[1.0], [1.0], [1.0]], [[1.0]])], [[large, 1.0, -large], [0.0, 0.0, 0.0]])


def neurons_shift(large: float) -> Model:
    """Put the sum into what a neuron reads, and its shift."""
    return reading([neurons([[1.0], [1.0]], [[1.0]], b_in=[-large])], [[large, 1.0], [0.0, 0.0]])


def neurons_outputs(large: float) -> Model:
    """Put the sum into what three neurons write."""
    three = neurons([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], [[1.0], [1.0], [-1.0]])
    return reading([three], [[large, 1.0], [0.0, 0.0]])


def neurons_output_shift(large: float) -> Model:
    """Put the sum into what two neurons write, and the shift of the output."""
    return reading([neurons(np.eye(2), [[1.0], [1.0]], b_out=[-large])], [[large, 1.0], [0.0, 0.0]])


def neurons_skip(large: float) -> Model:
    """Put the sum into what two neurons write, and the row before them."""
    return reading([neurons(np.eye(2), [[-1.0, 0.0], [1.0, 0.0]], skip=True)], [[large, 1.0], [0.0, 0.0]])


def gates(large: float) -> Model:
    """Put the sum into what a gate reads."""
    gated = neurons(np.zeros((3, 1)), [[1.0]], b_in=[1.0], W_gate=np.ones((3, 1)))
    return reading([gated], [[large, 1.0, -large], [0.0, 0.0, 0.0]])


def gates_shift(large: float) -> Model:
    """Put the sum into what a gate reads, and its shift."""
    gated = neurons(np.zeros((2, 1)), [[1.0]], b_in=[1.0], W_gate=np.ones((2, 1)), b_gate=[-large])
    return reading([gated], [[large, 1.0], [0.0, 0.0]])


def gated_values(large: float) -> Model:
    """Put the sum into what a neuron reads that a gate lets through."""
    gated = neurons(np.ones((3, 1)), [[1.0]], W_gate=np.zeros((3, 1)), b_gate=[1.0])
    return reading([gated], [[large, 1.0, -large], [0.0, 0.0, 0.0]])


def heads(large: float) -> Model:
    """Put the sum into what three heads write."""
    read = [[[1.0], [0.0]], [[0.0], [1.0]], [[1.0], [0.0]]]
    return reading([head(read, [[[1.0]], [[1.0]], [[-1.0]]])], [[large, 1.0], [0.0, 0.0]])


def outputs_of_a_head(large: float) -> Model:
    """Put the sum into what three values of one head write."""
    one = head([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], [[[1.0], [1.0], [-1.0]]])
    return reading([one], [[large, 1.0], [0.0, 0.0]])


def values(large: float) -> Model:
    """Put the sum into the products of a value."""
    return reading([head(np.ones((1, 3, 1)), ONE)], [[large, 1.0, -large], [0.0, 0.0, 0.0]])


def values_shift(large: float) -> Model:
    """Put the sum into the products of a value and its shift."""
    return reading([head(np.ones((1, 2, 1)), ONE, b_V=[[-large]])], [[large, 1.0], [0.0, 0.0]])


def output_shift(large: float) -> Model:
    """Put the sum into what two values write, and the shift of the output."""
    return reading([head([np.eye(2)], np.ones((1, 2, 1)), b_O=[-large])], [[large, 1.0], [0.0, 0.0]])


def attention_skip(large: float) -> Model:
    """Put the sum into what two values write, and the row before them."""
    return reading([head([np.eye(2)], [[[-1.0, 0.0], [1.0, 0.0]]], skip=True)], [[large, 1.0], [0.0, 0.0]])


def parallel(large: float) -> Model:
    """Put the sum into what a head writes and what the neurons parallel to it write."""
    attention = head([[[1.0], [0.0], [0.0]]], [[[0.0, 0.0, 1.0]]], skip=True)
    beside = neurons(np.eye(3, 2), [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]], skip=True, parallel=True)
    rows = [[large, 1.0, 0.0], [0.0, 0.0, 0.0]]
    return reading([attention, beside], rows, readout=[0.0, 0.0, 1.0])


def average(large: float) -> Model:
    """Put the sum into the average over four positions of equal weight, whose rows are four times 1, L and -L."""
    places = [[0.0, 4.0 * large], [0.0, 4.0], [0.0, -4.0 * large], [0.0, 0.0]]
    # Where the last token is the second one, 4 less is added.
    return reading([head([[[1.0], [1.0]]], ONE)], [[0.0, 0.0], [-4.0, 0.0]], positions=places, length=4)


def judging(rows: Any, **maps: Any) -> Model:
    """Return a head that copies the mark of the first position if its score is not lost."""
    width = len(rows[0])
    mark = np.eye(width)[-1][:, None]
    return reading([head([mark], ONE, **maps)], rows, length=2)


def scores(large: float) -> Model:
    """Put the sum into the products of a score: the second token asks with ones, and its own key is half as large."""
    keys = np.zeros((1, 4, 3))
    keys[0, :3] = np.eye(3)
    rows = [[GAP * large, GAP, -GAP * large, 1.0], [GAP / 2.0, 0.0, 0.0, 0.0]]
    return judging(rows, W_Q=np.zeros((1, 4, 3)), b_Q=[[1.0, 1.0, 1.0]], W_K=keys)


def queries(large: float) -> Model:
    """Put the sum into the products of a query."""
    asked, keys = np.zeros((1, 5, 2)), np.zeros((1, 5, 2))
    asked[0, :3, 0], keys[0, 4, 0], keys[0, 3, 1] = 1.0, GAP, GAP / 2.0
    rows = [[0.0, 0.0, 0.0, 0.0, 1.0], [large, 1.0, -large, 1.0, 0.0]]
    return judging(rows, W_Q=asked, b_Q=[[0.0, 1.0]], W_K=keys)


def query_shift(large: float) -> Model:
    """Put the sum into the products of a query and its shift."""
    asked, keys = np.zeros((1, 4, 2)), np.zeros((1, 4, 2))
    asked[0, :2, 0], keys[0, 3, 0], keys[0, 2, 1] = 1.0, GAP, GAP / 2.0
    return judging([[0.0, 0.0, 0.0, 1.0], [large, 1.0, 1.0, 0.0]], W_Q=asked, b_Q=[[-large, 1.0]], W_K=keys)


def keys_sum(large: float) -> Model:
    """Put the sum into the products of a key."""
    keys = np.zeros((1, 5, 2))
    keys[0, :3, 0], keys[0, 3, 1] = 1.0, 1.0
    rows = [[large, 1.0, -large, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0, 0.0]]
    return judging(rows, W_Q=np.zeros((1, 5, 2)), b_Q=[[GAP, GAP / 2.0]], W_K=keys)


def key_shift(large: float) -> Model:
    """Put the sum into the products of a key and its shift."""
    keys = np.zeros((1, 4, 2))
    keys[0, :2, 0], keys[0, 2, 1] = 1.0, 1.0
    rows = [[large, 1.0, 0.0, 1.0], [large, 0.0, 1.0, 0.0]]
    return judging(rows, W_Q=np.zeros((1, 4, 2)), b_Q=[[GAP, GAP / 2.0]], W_K=keys, b_K=[[-large, 0.0]])


def slope(large: float) -> Model:
    """Put the sum into a score and the slope of its position: the second position is read if nothing is lost."""
    keys = np.zeros((1, 3, 2))
    keys[0, :2] = np.eye(2)
    maps = {"W_Q": np.zeros((1, 3, 2)), "b_Q": [[1.0, 1.0]], "W_K": keys}
    copy = head([[[0.0], [0.0], [1.0]]], ONE, **maps, slopes=[GAP * large])
    places = [[GAP / 2.0, 0.0, 0.0], [-GAP * large, GAP, 0.0]]
    return reading([copy], [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]], positions=places)


def mean_of_a_norm(large: float) -> Model:
    """Put the sum into the mean that a normalization takes off; what is 0 in the row shows it."""
    norm = Normalization("layer", w=np.array([4.0 * large, 1.0, 1.0, 1.0]), epsilon=2.0**-10)
    return reading([norm], [[0.0, large, 1.0, -large], [0.0, 0.0, 0.0, 0.0]], readout=[-1.0, 0.0, 0.0, 0.0])


def squares_of_a_norm(large: float) -> Model:
    """Put the sum into the squares of a normalization: without 64 ones beside L the row comes out 2^-19 larger."""
    ones, first = np.ones(64), np.sqrt(large)
    norm = Normalization("rms", w=np.ones(65), epsilon=2.0**-10)
    threshold = float(np.sqrt(65.0) * (1.0 - 16.0 / large))
    rows = np.array([[first, *ones], [2.0 * first, *ones]])
    W_U = np.zeros((65, 2))
    W_U[0, 1] = 1.0
    return Model((norm,), W_U=W_U, b_U=np.array([threshold, 0.0]), W_E=rows, W_pos=np.zeros((1, 65)))


DETECTORS: dict[str, Callable[[float], Model]] = {
    "embedding": embedding,
    "conversion": conversion,
    "readout": readout,
    "readout-shift": readout_shift,
    "neurons-inputs": neurons_inputs,
    "neurons-shift": neurons_shift,
    "neurons-outputs": neurons_outputs,
    "neurons-output-shift": neurons_output_shift,
    "neurons-skip": neurons_skip,
    "gates": gates,
    "gates-shift": gates_shift,
    "gated-values": gated_values,
    "heads": heads,
    "outputs-of-a-head": outputs_of_a_head,
    "values": values,
    "values-shift": values_shift,
    "output-shift": output_shift,
    "attention-skip": attention_skip,
    "parallel": parallel,
    "average": average,
    "scores": scores,
    "queries": queries,
    "query-shift": query_shift,
    "keys": keys_sum,
    "key-shift": key_shift,
    "slope": slope,
    "mean-of-a-norm": mean_of_a_norm,
    "squares-of-a-norm": squares_of_a_norm,
}
"""The place of the sum, and the model with this L."""


def contexts_of(place: str) -> np.ndarray:
    """Return the context whose answer hangs on the sum, and the other one."""
    if place == "average":
        return np.array([[0, 0, 0, 0], [0, 0, 0, 1]])
    if place == "slope":
        return np.array([[1, 0], [1, 1]])
    judged_by_scores = place in ("scores", "queries", "query-shift", "keys", "key-shift")
    return np.array([[0, 1], [1, 1]] if judged_by_scores else [[0], [1]])


ROUNDED = ("gates", "gates-shift", "gated-values", "parallel", "slope", "mean-of-a-norm", "squares-of-a-norm")
"""Places of which no proof knows that runs without roundings are among them, or where all runs round."""


# ---------------------------------------------------------------------------------------------------------------------
# Models that detect the range of float32; both answers hold in real arithmetic.


def underflow() -> Model:
    """Return a model whose products of 2^-160 are 0 in float32."""
    return Model((), W_U=np.eye(2) * 2.0**-60, W_E=np.eye(2) * 2.0**-100, W_pos=np.zeros((1, 2)))


def overflow() -> Model:
    """Return a model whose sum of 2^127 twice and -2^127 twice is 0 or infinite in float32, depending on the order."""
    large = 2.0**127
    return reading([], [[1.0, 0.0, 0.0, 0.0], [large, large, -large, -large]], readout=np.ones(4))


def overflow_of_scores() -> Model:
    """Return a model whose scores of 2^140 and 2^141 are both infinite in float32."""
    large = 2.0**70
    keys = np.array([[[2.0 * large], [large], [0.0]]])
    rows = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    return judging(rows, W_Q=np.zeros((1, 3, 1)), b_Q=[[large]], W_K=keys)


RANGES = {"underflow": underflow, "overflow": overflow, "overflow-of-scores": overflow_of_scores}
"""What leaves the range of float32, and the model."""


def contexts_of_range(name: str) -> np.ndarray:
    """Return the two contexts of such a model, whose answers are 0 and 1."""
    return np.array([[0, 1], [1, 1]] if name == "overflow-of-scores" else [[0], [1]])
