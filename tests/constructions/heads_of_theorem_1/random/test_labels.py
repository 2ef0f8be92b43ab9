"""Random labels of all contexts are memorized, with the sizes that were asked for, and too few heads are refused."""

import numpy as np
import pytest

from constructions.errors import CapacityError, HypothesisError
from constructions.heads_of_theorem_1.random.labels import fewest_heads_memory, partial_memory, planar_memory
from constructions.model.attention import logits
from constructions.model.construction import Construction
from constructions.tasks.task import Task


def share_memorized(made: Construction[Task]) -> float:
    return float((logits(made.model, made.task.contexts).argmax(axis=1) == made.task.labels).mean())


@pytest.mark.parametrize(("n_heads", "expected"), [(0, 3), (5, 5)])
def test_the_fewest_heads_hold_every_label_and_so_do_more(n_heads: int, expected: int) -> None:
    made = fewest_heads_memory(d_vocab=3, n_ctx=2, d_model=3, d_head=2, n_heads=n_heads, seed=3)
    assert made.model.n_heads == expected and ("fewest" in made.summary) == (n_heads == 0)
    assert made.task.n_contexts == 9 and share_memorized(made) == 1


def test_two_dimensions_are_enough_for_more_than_four_labels() -> None:
    made = planar_memory(d_vocab=6, n_ctx=2, n_heads=18, d_head=2, seed=1)
    assert made.model.d_model == 2 and len(np.unique(made.task.labels)) > 4 and share_memorized(made) == 1


def test_a_part_is_memorized_and_the_others_are_the_tail() -> None:
    made = partial_memory(d_vocab=2, n_ctx=3, d_model=2, d_head=1, n_heads=2, seed=0)
    assert 0 < made.task.n_contexts < 8 and made.task.n_contexts + len(made.task.tail_contexts) == 8
    assert share_memorized(made) == 1


def test_too_few_heads_and_sizes_of_no_theorem_are_refused() -> None:
    with pytest.raises(CapacityError, match="3 heads suffice"):
        fewest_heads_memory(d_vocab=3, n_ctx=2, d_model=3, d_head=2, n_heads=2)
    with pytest.raises(HypothesisError, match="S >= 2 and d_h <= N"):
        fewest_heads_memory(d_vocab=3, n_ctx=1, d_model=3, d_head=2)
    with pytest.raises(CapacityError):
        planar_memory(d_vocab=3, n_ctx=3, n_heads=4, d_head=2, seed=0)
