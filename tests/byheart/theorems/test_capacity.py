"""Tests of how many heads contexts need, and how many numbers any architecture."""

import numpy as np
import pytest

from byheart.jobs.memorize import hold
from byheart.theorems.capacity import capacity_summary
from constructions.errors import CapacityError
from constructions.memories.information_limit import information_limit
from constructions.tasks.task import Counts, make_task
from tests.small_texts import memorize_into, small_text


def test_the_fewest_heads_suffice_and_one_fewer_is_refused_with_their_number(tmp_path):
    task = small_text(facts=40)
    fewest = capacity_summary(task, d_model=11, d_head=4).fewest_heads
    figures = memorize_into(tmp_path / "out", task, d_model=11, d_head=4, n_heads=fewest)
    assert figures.verdict == "PROVED" and figures.rank_lower == figures.rank_upper == 40
    with pytest.raises(CapacityError, match=f"{fewest} heads suffice") as error:
        memorize_into(tmp_path / "less", task, d_model=11, d_head=4, n_heads=fewest - 1)
    assert error.value.fewest_heads == fewest
    assert not (tmp_path / "less").exists()


def test_the_paper_counts_more_than_there_is_on_one_last_token():
    xor = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
    task = make_task(xor, Counts.from_rows([{0: 1}] * 4), vocabulary=("0", "1"), target="labels")
    figures = capacity_summary(task, d_model=4, d_head=4, n_heads=1)
    assert (figures.paper_rank, figures.rank_lower, figures.rank_upper) == (4, 3, 3)
    assert (figures.paper_heads, figures.fewest_heads) == (0, 2)


def test_the_bounds_of_any_architecture_are_met_from_both_sides():
    task = small_text(target="labels")
    figures = capacity_summary(task)
    (fewest, most), (below, above) = figures.any_labels, figures.any_distributions
    assert fewest == information_limit(task, 64)
    built = hold(task, memory="knots", dtype="float64").model
    neurons = built.blocks[1].W_in.shape[1]
    assert most == built.parameters + 3 * (59 - neurons)  # what some labels take: a neuron for each context but one
    assert (below, above) == (60 * 11, 60 * 11 + 59 + 12 + 3) and 0 < fewest < most
