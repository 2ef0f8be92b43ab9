"""Labels by one linear system: what is solved, what is refused, and how the number is read."""

import numpy as np
import pytest

from constructions.errors import CapacityError, HypothesisError
from constructions.memories.heads.label_system import (
    embeddings,
    first_that_holds,
    inverted,
    points,
    readout,
    require_labels_after_two,
)
from constructions.model.model import Model
from constructions.model.shapes import dana_network
from constructions.tasks.arrays import array_task, enumerated_task

SPARSE = array_task(np.array([[0, 1], [1, 0], [2, 2]]), next_tokens=np.array([5, 1, 6]), vocabulary=7, target="labels")


def test_distributions_and_contexts_of_one_token_are_refused() -> None:
    with pytest.raises(HypothesisError, match="Mine needs labels, but the target is 'distributions'"):
        require_labels_after_two(enumerated_task(2, 2, target="distributions"), "Mine")
    with pytest.raises(HypothesisError, match="contexts of two tokens or more"):
        require_labels_after_two(enumerated_task(2, 1), "Mine")
    require_labels_after_two(SPARSE, "Mine")


def test_the_labels_that_occur_are_points_around_0() -> None:
    assert points(SPARSE).tolist() == [0.0, -1.0, 1.0]


def test_a_system_is_solved_or_is_none() -> None:
    matrix = np.random.default_rng(0).standard_normal((3, 5))
    inverse = inverted(matrix)
    assert inverse is not None and np.abs(matrix @ inverse.solve(np.eye(3)) - np.eye(3)).max() < 1e-12
    assert inverted(matrix[:, :2]) is None
    assert inverted(np.ones((3, 5))) is None
    assert inverted(np.vstack([matrix[0], matrix[0] + 1e-12 * matrix[1], matrix[2]])) is None


@pytest.mark.parametrize("along", [np.array([0.3, 2.0, -1.0]), np.array([0.3, 0.0, 1e-9])])
def test_the_number_is_read_and_moved_by_what_heads_write(along: np.ndarray) -> None:
    output, W_U = readout(SPARSE, along, reach=4.0)
    seen = np.array([along[0], along[1] + 2.0**-9 * (abs(along[1]) < 1.0), along[2]])
    assert output[0] == 0.0 and abs(seen @ output - 1.0) < 1e-12 and np.abs(output).max() <= 2.0**9
    for label, number in zip(SPARSE.labels.tolist(), points(SPARSE).tolist(), strict=True):
        x = np.array([1.0, 0.0, 0.0]) + (number - seen[0]) * output  # the coordinate 0 is 1 at the last position
        lead = x @ W_U
        assert lead.argmax() == label and np.sort(lead)[-1] - np.sort(lead)[-2] > 0.49
        assert np.delete(lead, [1, 5, 6]).max() == -1.0


def test_the_coordinate_of_the_code_tells_the_last_position_from_the_others() -> None:
    W_E, W_pos = embeddings(SPARSE, 4, np.random.default_rng(0))
    inputs = W_E[SPARSE.contexts] + W_pos
    assert inputs[:, -1, 0].tolist() == [1.0] * 3 and not (inputs[:, 0, 0] + 1.0).any()
    assert np.linalg.matrix_rank(W_E[:, 1:]) == 3


def reader(logit: float) -> Model:
    """Reads the last token alone; leads by 3 and 2, and on the last context by this much."""
    W_E = np.zeros((7, 7))
    W_E[[1, 0, 2], [5, 1, 6]] = [3.0, 2.0, logit]
    return dana_network(
        W_E=W_E, W_pos=np.zeros((2, 7)), W_Q=np.zeros((1, 7, 1)), W_K=np.zeros((1, 7, 1)), W_V=np.zeros((1, 7, 1)),
        W_O=np.zeros((1, 1, 7)), W_U=np.eye(7),
    )  # fmt: skip


def test_the_first_draw_whose_nearest_context_has_a_margin_is_taken() -> None:
    drawn = [(None, "none"), (reader(0.09), "near"), (reader(0.11), "first"), (reader(0.5), "later")]
    found = first_that_holds(SPARSE, "Mine", "features", drawn)
    assert found.model is drawn[2][0]
    assert found.summary == "3 contexts by first, 140 parameters"


def test_without_such_a_draw_the_best_margin_is_told() -> None:
    with pytest.raises(CapacityError, match=r"Mine needs features of rank T = 3, but no draw has them; none"):
        first_that_holds(SPARSE, "Mine", "features", [(None, "none")])
    with pytest.raises(CapacityError, match=r"the best draw leaves a margin of 0\.09 with them; worse"):
        first_that_holds(SPARSE, "Mine", "features", [(reader(0.09), "near"), (reader(-1.0), "worse")])
