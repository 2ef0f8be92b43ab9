"""The choice of a memory: all that could are built, the smallest comes first, and each refusal says why."""

import math

import numpy as np
import pytest

from constructions.errors import CapacityError, InputError
from constructions.memories import choice
from constructions.memories.choice import BY_NAME, MEMORIES, information_limit, offers, smallest_of
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from verify.certificates.memorization import certify_memorization

QUICK = ("knots", "one-head", "block-heads", "cross-heads", "packed-words", "rank-one-heads", "steps")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_offer_holds_the_task_and_the_smallest_comes_first(dtype: str) -> None:
    task = enumerated_task(7, 2, seed=1)
    found = offers(task, dtype=dtype)  # pyright: ignore[reportArgumentType]
    assert {offer.kind.name for offer in found} == set(BY_NAME)
    sizes = [offer.parameters for offer in found]
    assert sizes == sorted(sizes) and sizes[-1] < math.inf
    assert found[0].kind.name == "newton"
    for offer in found:
        assert offer.built is not None and offer.refused == ""
        assert offer.nonzero <= offer.parameters == offer.built.model.parameters
        held = certify_memorization(offer.built.model, offer.built.task, offer.built.criterion)
        assert held.certificate.headline().startswith("HELD, PROVED"), offer.kind.name
        if dtype == "float32":
            assert all((x.astype(np.float32) == x).all() for x in offer.built.model.tensors().values())


def long_task() -> Task:
    contexts = np.unique(np.random.default_rng(0).integers(0, 6, (700, 5)), axis=0)
    return array_task(contexts, next_tokens=contexts.sum(axis=1) % 6, vocabulary=6, target="labels")


def test_what_does_not_fit_the_task_refuses_and_says_why() -> None:
    found = {offer.kind.name: offer for offer in offers(long_task())}
    assert found["knots"].built is not None and found["rank-one-heads"].built is not None
    assert "expected 2" in found["one-head"].refused
    for name in ("block-heads", "cross-heads", "packed-words"):
        assert "contexts of two tokens, but they have 5" in found[name].refused
    assert "facts are more than 600: it is tried where it is named" in found["newton"].refused
    assert all(math.isinf(offer.parameters) == (offer.refused != "") for offer in found.values())


def test_what_is_named_is_tried_whatever_the_number_of_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_MOST", {"knots": 3})
    task = enumerated_task(3, 2)
    assert "more than 3" in next(offer for offer in offers(task) if offer.kind.name == "knots").refused
    assert offers(task, names=("knots",))[0].built is not None


def test_without_neurons_only_attention_is_offered() -> None:
    task = enumerated_task(30, 2)
    names = tuple(name for name in QUICK if name not in ("packed-words", "rank-one-heads", "steps"))
    assert smallest_of(offers(task, names=names)).kind.name == "knots"
    chosen = smallest_of(offers(task, names=names, attention_only=True))
    assert chosen.kind.attention_only and chosen.kind.name == "block-heads"
    assert [offer.refused for offer in offers(task, names=("knots",), attention_only=True)] == ["it has neurons"]


def test_laws_are_for_knots_alone() -> None:
    task = enumerated_task(3, 2, target="laws")
    found = offers(task)
    assert [offer.kind.name for offer in found if offer.built] == ["knots"]
    assert all("laws" in offer.refused for offer in found[1:])
    with pytest.raises(CapacityError, match=r"none of those that were tried does\. .*one-head: .*'laws'"):
        smallest_of(offers(task, names=("one-head", "cross-heads")))


def test_no_such_memory_or_precision_is_an_error() -> None:
    task = enumerated_task(2, 2)
    with pytest.raises(InputError, match="memory is 'knot', expected one of 'knots', 'one-head'"):
        offers(task, names=("knot",))
    with pytest.raises(InputError, match="dtype = 'half'"):
        offers(task, dtype="half")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("labels", "bits", "least"), [([0, 1, 2, 3], 1, 8), ([0, 1, 2, 3], 3, 3), ([5, 5], 8, 0)])
def test_the_information_limit_is_that_of_counting(labels: list[int], bits: int, least: int) -> None:
    contexts = np.arange(len(labels))[:, None]
    task = array_task(contexts, next_tokens=np.array(labels), vocabulary=6, target="labels")
    assert information_limit(task, bits) == least


def test_no_memory_is_below_the_information_limit() -> None:
    task = enumerated_task(12, 2)
    for offer in offers(task, names=QUICK):
        assert offer.parameters >= information_limit(task, 32)


def test_names_are_distinct_and_pages_named() -> None:
    assert len(BY_NAME) == len(MEMORIES)
    assert all(memory.page.startswith("docs/") and memory.needs and memory.cost for memory in MEMORIES)
