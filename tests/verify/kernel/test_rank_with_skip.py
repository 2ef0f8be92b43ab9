"""With the embedded last token beside it the matrix has a rank of its own; vectors have no such matrix."""

from pathlib import Path

import pytest

from constructions.tasks.criterion import Criterion
from tests.layers import random_layer, random_layer_task
from tests.verify.kernel import folders
from tests.verify.kernel.test_rank_heads import with_ranks
from verify.kernel.check import outcome

NUMBERS = {"rows": 5, "columns": 7, "lower": 4, "upper": 4, "all_weights_upper": 5}


@pytest.mark.parametrize(
    "change, expected",
    [
        ({}, "PROVED"),
        ({"lower": 5, "upper": 5}, "NOT PROVED"),
        ({"lower": 3, "upper": 3}, "NOT PROVED"),
        ({"all_weights_upper": 4}, "UNDECIDED"),
        ({"columns": 3, "lower": 2, "upper": 2, "all_weights_upper": 3}, "NOT PROVED"),
    ],
)
def test_bounds_that_are_one_off(change: dict[str, int], expected: str, tmp_path: Path) -> None:
    folder = with_ranks(tmp_path)
    assert folders.certificate(folder)["statements"][2]["values"] == NUMBERS
    folder = folders.changed(folder, 2, **change)
    assert outcome(folder)[1].startswith(expected), outcome(folder)


def test_vectors_have_no_skip_connection(tmp_path: Path) -> None:
    layer, task = random_layer(), random_layer_task()
    folder = folders.written(tmp_path, layer, task, Criterion.at_most(1e300), rank_of_heads=True)
    data = folders.certificate(folder)
    data["statements"][1]["id"] = "rank-with-skip"
    assert outcome(folders.changed(folders.rewritten(folder, data), 1))[1].startswith("NOT PROVED: rank-with-skip")
