"""What no weights can do without."""

import numpy as np
import pytest

from constructions.memories.information_limit import information_limit
from constructions.tasks.arrays import array_task


@pytest.mark.parametrize(("labels", "bits", "least"), [([0, 1, 2, 3], 1, 8), ([0, 1, 2, 3], 3, 3), ([5, 5], 8, 0)])
def test_the_information_limit_is_that_of_counting(labels: list[int], bits: int, least: int) -> None:
    contexts = np.arange(len(labels))[:, None]
    task = array_task(contexts, next_tokens=np.array(labels), vocabulary=6, target="labels")
    assert information_limit(task, bits) == least
