"""Distributions of low rank: every run is within the tolerance, with fewer entries for a larger one."""

import numpy as np
import pytest

from byheart.choice.chooser import offers
from constructions.errors import CapacityError, HypothesisError
from constructions.memories.low_rank_distributions import low_rank_distributions_memory
from constructions.memories.one_hot_distributions import one_hot_distributions_memory
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from tests.any_order import logits
from verify.provers.memorization import certify_memorization
from verify.runs.exact_runs import memorized_without_rounding
from verify.runs.formats import FLOAT32


def distributions_of(facts: int, answers: int, *, rank: int = 0, spread: float = 1.0, seed: int = 0) -> Task:
    """Random distributions, whose logarithms have a given rank but for a constant, or singular values that fall."""
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, 20, (2 * facts, 3)), axis=0)[:facts]
    scale = np.ones(rank) / np.sqrt(rank) if rank else 0.7 ** np.arange(answers)
    z = spread * (rng.standard_normal((facts, len(scale))) * scale) @ rng.standard_normal((len(scale), answers))
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    distributions = powers / powers.sum(axis=1, keepdims=True)
    return array_task(contexts, distributions=distributions, vocabulary=20, answers=tuple(map(str, range(answers))))


@pytest.mark.parametrize("tolerance", [1e-3, 1e-2, 0.1])
def test_every_run_is_within_the_tolerance(tolerance):
    task = distributions_of(120, 25, spread=0.7)
    found = low_rank_distributions_memory(task, tolerance=tolerance, work=3e9)
    assert found.criterion.tolerance == tolerance
    assert found.model.parameters < one_hot_distributions_memory(task).model.parameters
    assert memorized_without_rounding(found.model, task, FLOAT32, tolerance).all()
    proved = certify_memorization(found.model, task, found.criterion)
    assert proved.certificate.verdict.value == "PROVED"
    run = logits(found.model, task.contexts, 1).astype(np.float64)
    log_distribution = run - run.max(axis=1, keepdims=True)
    log_distribution -= np.log(np.exp(log_distribution).sum(axis=1, keepdims=True))
    assert task.distributions is not None
    assert (task.distributions * (np.log(task.distributions) - log_distribution)).sum(axis=1).max() <= tolerance
    assert (run.argmax(axis=1) == task.labels).all()


def test_the_more_is_allowed_the_smaller_it_is_and_the_rank_there_is_is_found():
    task = distributions_of(150, 30, spread=0.7, seed=1)
    sizes = [
        low_rank_distributions_memory(task, tolerance=each, work=3e9).model.parameters for each in (1e-3, 1e-2, 0.1)
    ]
    assert sizes[0] > sizes[1] > sizes[2]
    assert (
        low_rank_distributions_memory(distributions_of(150, 30, rank=4, spread=2.0), work=3e9).model.W_U.shape[0] <= 4
    )


def test_peaked_distributions_keep_their_likeliest_answer():
    task = distributions_of(100, 12, rank=8, spread=4.0, seed=2)
    found = low_rank_distributions_memory(task, tolerance=0.2, work=3e9)
    assert memorized_without_rounding(found.model, task, FLOAT32, 0.2).all()


def test_what_no_smaller_rank_holds_is_refused():
    with pytest.raises(CapacityError, match=r"a rank below 2 within 0.001 nats, but none was found"):
        low_rank_distributions_memory(enumerated_task(3, 2, target="distributions"))
    with pytest.raises(CapacityError, match="none was found"):
        low_rank_distributions_memory(distributions_of(60, 10, spread=3.0), tolerance=1e-9, work=1e8)
    with pytest.raises(CapacityError, match="none was found"):
        low_rank_distributions_memory(distributions_of(60, 10), work=0.0)
    with pytest.raises(HypothesisError, match="needs distributions"):
        low_rank_distributions_memory(enumerated_task(3, 2))


def test_the_choice_is_told_the_tolerance():
    task = distributions_of(120, 25, spread=0.7)
    ranks = []
    for tolerance in (1e-3, 0.1):
        (offer,) = offers(task, names=("low-rank-distributions",), tolerance=tolerance)
        assert offer.built is not None and offer.built.criterion.tolerance == tolerance
        ranks.append(offer.built.model.W_U.shape[0])
    assert ranks[0] > ranks[1]
