"""The choice of a memory: all that could are built, the smallest comes first, and each refusal says why."""

import math
from typing import NoReturn

import numpy as np
import pytest

from byheart.choice import chooser
from byheart.choice.chooser import offers, smallest_of
from byheart.choice.trial import Trial
from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.heads_of_theorem_1.menu.theorem_1 import Theorem1
from constructions.memories.information_limit import information_limit
from constructions.memories.memory import Limits, Memory
from constructions.memories.menu import newton, rank_one_heads
from constructions.memories.newton.newton_memory import newton_memory
from constructions.menu import BY_NAME
from constructions.model.blocks import Attention
from constructions.model.precision import SHORT
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.table import facts_task, table_task
from constructions.tasks.task import Task
from verify.provers.memorization import certify_memorization

QUICK = ("knots", "rank-one-heads", "packed-words")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_offer_holds_the_task_and_the_smallest_comes_first(dtype: str) -> None:
    task = enumerated_task(5, 2, seed=1)
    found = offers(task, names=tuple(BY_NAME), dtype=dtype)  # pyright: ignore[reportArgumentType]
    assert {offer.memory.name for offer in found} == set(BY_NAME)
    refused = {offer.memory.name: offer.refused for offer in found if offer.parameters == math.inf}
    assert "no such rule" in refused.pop("affine")
    assert (
        all("needs distributions" in refused.pop(f"{name}-distributions") for name in ("one-hot", "low-rank"))
        and not refused
    )
    found = found[:-3]
    sizes = [offer.parameters for offer in found]
    assert sizes == sorted(sizes) and sizes[-1] < math.inf
    assert found[0].memory.name == "newton"
    for offer in found:
        assert offer.built is not None and offer.refused == ""
        assert offer.nonzero <= offer.parameters == offer.built.model.parameters
        memorized = certify_memorization(offer.built.model, offer.built.task, offer.built.criterion)
        assert memorized.certificate.answers.values["memorized"] == memorized.certificate.subject.sizes["contexts"], (
            offer.memory.name
        )
        if dtype == "float32":
            assert all((x.astype(np.float32) == x).all() for x in offer.built.model.tensors().values())


def long_task() -> Task:
    contexts = np.unique(np.random.default_rng(0).integers(0, 6, (700, 5)), axis=0)
    return array_task(contexts, next_tokens=contexts.sum(axis=1) % 6, vocabulary=6, target="labels")


def test_what_does_not_fit_the_task_refuses_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "_MOST", 400)
    found = {offer.memory.name: offer for offer in offers(long_task())}
    assert "parameters at least, and is not built" in found["theorem-1"].refused
    assert found["knots"].built is not None
    for name in ("packed-words",):
        assert "contexts of two tokens, but they have 5" in found[name].refused
    assert "facts are more than 400: it is tried where it is named" in found["newton"].refused
    assert all(math.isinf(offer.parameters) == (offer.refused != "") for offer in found.values())


def test_in_16_bits_memories_whose_runs_are_rounded_are_not_tried() -> None:
    task = enumerated_task(4, 2, seed=2)
    for dtype in SHORT:
        names = {offer.memory.name for offer in offers(task, dtype=dtype)}
        assert names == {"affine", "object-words", "packed-words", "bit-table"}
        with pytest.raises(CapacityError, match=f"its runs in {dtype} are rounded, and nothing is proved of them"):
            smallest_of(offers(task, names=("knots",), dtype=dtype))
        assert offers(enumerated_task(3, 3), dtype=dtype)[0].memory.name == "bit-table"
    both = BY_NAME["bit-table"], BY_NAME["knots"]
    assert [offer.memory.name for offer in offers(task, memories=both)] == ["knots"]
    assert offers(task, names=("bit-table",))[0].built is not None


def test_what_is_named_is_tried_whatever_the_number_of_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_one_heads, "_MOST", 3)
    task, heads = enumerated_task(5, 2), BY_NAME["rank-one-heads"]
    assert "more than 3" in offers(task, memories=(heads,))[0].refused
    assert offers(task, names=("rank-one-heads",))[0].built is not None


def test_a_search_that_is_not_named_ends_after_so_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = (BY_NAME["knots"], BY_NAME["newton"])
    task = enumerated_task(3, 2, seed=3)
    whole = sum(sum(attempt.iterations) for attempt in newton_memory(task).attempts)
    said = "; the search was stopped after {:g} s, as its steps are counted"
    part = 0.8e6 * whole  # enough for a model, but not to the end: a step of nine facts counts as a millisecond
    monkeypatch.setattr(newton, "_UNNAMED", part)
    found = offers(task, memories=kinds[1:])[0].built
    assert found is not None and found.summary.endswith(said.format(part / 1e9))
    monkeypatch.setattr(newton, "_NAMED", 1.1 * part)
    named = offers(task, names=("newton",))[0].built
    assert named is not None and named.summary.endswith(said.format(1.1 * part / 1e9))

    monkeypatch.setattr(newton, "_UNNAMED", 1e6)
    found, refused = offers(task, memories=kinds)
    assert found.memory.name == "knots" and refused.built is None
    assert "needs more work for 9 facts, but none of 1 starts reached them with so much" in refused.refused


class Stopped(Memory):
    """One that is interrupted while it is built."""

    name, needs, cost = "stopped", "nothing", "nothing"

    def build(self, task: Task, limits: Limits) -> NoReturn:
        del task, limits
        raise KeyboardInterrupt


def test_an_interrupted_search_keeps_what_it_has_found() -> None:
    knots, heads = BY_NAME["knots"], BY_NAME["rank-one-heads"]
    kinds, task = (knots, heads, Stopped()), enumerated_task(6, 2, seed=2)
    with pytest.raises(KeyboardInterrupt):
        offers(task, memories=kinds)
    found = offers(task, memories=kinds, earlier=offers(task, memories=kinds[1:2]))
    assert {offer.memory.name for offer in found} == {"knots", "rank-one-heads"}


def test_of_the_exact_memories_the_smallest_by_its_formula_is_built_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "trial", lambda *_: Trial(every_run=True))
    contexts = np.random.default_rng(0).choice(300**2, 400, replace=False)
    pairs = np.stack(np.divmod(contexts, 300), axis=1)
    sparse = array_task(
        pairs, next_tokens=np.random.default_rng(1).integers(0, 50, 400), vocabulary=300, answers=50, target="labels"
    )
    for task, first in ((sparse, "probes"), (enumerated_task(50, 2), "object-words")):
        found = offers(task, quick=True, judged=True)
        assert smallest_of(found).memory.name == first
    words = BY_NAME["packed-words"].fewest(task, "float64")
    assert 0 < words < BY_NAME["packed-words"].fewest(task, "float32")


def test_without_neurons_only_attention_is_offered() -> None:
    task = enumerated_task(30, 2)
    names = tuple(name for name in QUICK if name != "packed-words")
    assert smallest_of(offers(task, names=names)).memory.name == "knots"
    chosen = smallest_of(offers(task, names=names, attention_only=True))
    assert chosen.memory.attention_only and chosen.memory.name == "rank-one-heads"
    assert [offer.refused for offer in offers(task, names=("knots",), attention_only=True)] == ["it has neurons"]


def test_distributions_are_for_knots_and_for_heads_of_full_rank() -> None:
    task = enumerated_task(3, 2, target="distributions")
    found = {offer.memory.name: offer for offer in offers(task, names=tuple(BY_NAME))}
    assert [name for name, offer in found.items() if offer.built] == [
        "knots",
        "one-hot-distributions",
        "bit-table",
        "theorem-1",
        "last-token-heads",
    ]
    refused = [offer.refused for offer in found.values() if not offer.built]
    assert all("'distributions'" in reason or "distributions" in reason for reason in refused)
    with pytest.raises(
        CapacityError, match=r"none of those that were tried does\. .*rank-one-heads: .*'distributions'"
    ):
        smallest_of(offers(task, names=("rank-one-heads", "newton")))


def test_no_such_memory_or_precision_is_an_error() -> None:
    task = enumerated_task(2, 2)
    with pytest.raises(InputError, match="memory is 'knot', expected one of 'smallest', 'affine', 'packed-words'"):
        offers(task, names=("knot",))
    with pytest.raises(InputError, match="dtype = 'half'"):
        offers(task, dtype="half")  # pyright: ignore[reportArgumentType]


def test_no_memory_is_below_the_information_limit() -> None:
    task = enumerated_task(12, 2)
    for offer in offers(task, names=QUICK):
        assert offer.parameters >= information_limit(task, 32)


def test_a_limit_is_kept_wherever_the_model_is_largest() -> None:
    task = enumerated_task(30, 2)
    names = ("knots", "rank-one-heads")
    widths = {offer.memory.name: offer.built.model.d_model for offer in offers(task, names=names) if offer.built}
    for limit in (dict(layers=1), dict(d_model=max(widths.values())), dict(d_head=1), dict(d_head=2)):
        for offer in offers(task, names=names, **limit):  # pyright: ignore[reportArgumentType]
            if offer.built is None:
                assert "it has 2 layers" in offer.refused or "more than" in offer.refused
                continue
            model = offer.built.model
            assert len(model.blocks) <= limit.get("layers", 9) and model.d_model <= limit.get("d_model", 999)
            heads = [block.d_head for block in model.blocks if isinstance(block, Attention)]
            assert max(heads) <= limit.get("d_head", 999)
    assert offers(task, names=("knots",), layers=1)[0].refused == "it has 2 layers"
    assert offers(task, names=("rank-one-heads",), d_model=widths["rank-one-heads"])[0].built is not None
    assert "its d_model is" in offers(task, names=("rank-one-heads",), d_model=widths["rank-one-heads"] - 1)[0].refused
    with pytest.raises(InputError, match="d_head = 0, expected at least 1"):
        offers(task, d_head=0)


def test_distributions_count_the_width_of_the_stream_behind_the_neurons() -> None:
    task = enumerated_task(
        5, 2, target="distributions"
    )  # its d_model is 2, and behind the neurons there are 4 coordinates
    assert offers(task, names=("knots",), d_model=4)[0].built is not None
    assert offers(task, names=("knots",), d_model=3)[0].refused == "its d_model is 4, more than 3"


def test_what_would_be_larger_is_not_built_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    task = enumerated_task(5, 2, target="distributions")

    with monkeypatch.context() as patched:
        patched.setattr(Theorem1, "build", lambda *_: pytest.fail("it was built"))
        assert "and is not built" in offers(task, memories=(BY_NAME["knots"], Theorem1()))[1].refused
    with monkeypatch.context() as patched:
        patched.setattr(Theorem1, "fewest", lambda *_: 0)
        assert offers(task, memories=(BY_NAME["knots"], Theorem1()))[1].built is not None
    # Nothing is smaller than what did not pass its run.
    monkeypatch.setattr(chooser, "trial", lambda built, *_: Trial(refused="no" * (len(built.model.blocks) == 2)))
    found = offers(task, memories=(BY_NAME["knots"], BY_NAME["theorem-1"]), judged=True)
    assert found[0].memory.name == "theorem-1" and found[1].refused == "no"


def test_the_only_one_that_is_asked_for_says_why_itself() -> None:
    with pytest.raises(HypothesisError, match="The memory of heads of rank one needs labels"):
        smallest_of(offers(enumerated_task(3, 2, target="distributions"), names=("rank-one-heads",)))


def test_every_memory_holds_a_table_whose_answers_are_no_tokens() -> None:
    rows = "".join(f"subject {i},{relation},answer {relation} {i}\n" for i in range(6) for relation in "pq")
    task = table_task(rows)
    assert task.apart and task.n_answers > task.d_vocab
    names = ("knots", "probes", "rank-one-heads", "last-token-heads")
    found = offers(task, names=names)
    memorized = {
        offer.memory.name
        for offer in found
        if offer.built
        and certify_memorization(offer.built.model, offer.built.task).certificate.verdict.value == "PROVED"
    }
    assert memorized == set(names)


def test_a_table_that_follows_a_rule_is_the_rule_and_nothing_larger_is_built() -> None:
    contexts = all_contexts(40, 2)
    found = offers(array_task(contexts, next_tokens=contexts.sum(axis=1) % 40, target="labels"))
    assert found[0].memory.name == "affine" and found[0].parameters == 132
    larger = {offer.memory.name for offer in found if "and is not built" in offer.refused}
    assert larger >= {"packed-words", "probes"}


@pytest.mark.parametrize("holes", [0.0, 0.4])
def test_a_table_of_subjects_and_relations_is_words_of_objects(holes: float) -> None:
    rng = np.random.default_rng(0)
    rows = [(f"s{i}", f"r{j}", f"o{rng.integers(60)}") for i in range(150) for j in range(6) if rng.random() >= holes]
    chosen = smallest_of(offers(facts_task(rows), judged=True))
    assert chosen.memory.name == "object-words" and chosen.every_run
    assert chosen.parameters < len(rows)
