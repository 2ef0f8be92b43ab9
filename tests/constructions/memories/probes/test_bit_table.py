"""Tables of bits: any labels and distributions, in every run of 11 and 8 bits, by as many entries as said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.errors import CapacityError
from constructions.memories.probes import bit_table
from constructions.memories.probes.bit_table import bit_table_memory, bit_table_parameters, digits_of_labels
from constructions.model.precision import SHORT, Precision
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.task import Task
from verify.provers.memorization import certify_memorization
from verify.runs.exact_runs import memorized_without_rounding
from verify.runs.formats import FORMATS


def drawn(count: int, n_ctx: int, tokens: int, answers: int, seed: int, *, distributions: bool = False) -> Task:
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, tokens, (count, n_ctx)), axis=0)
    if not distributions:
        labels = rng.integers(0, answers, len(contexts))
        return array_task(contexts, next_tokens=labels, vocabulary=max(tokens, answers), target="labels")
    positive = rng.standard_exponential((len(contexts), answers)) + 1e-3
    return array_task(
        contexts, distributions=positive / positive.sum(axis=1, keepdims=True), vocabulary=tokens, answers=answers
    )


SIZES = (st.integers(1, 40), st.integers(1, 9), st.integers(1, 40), st.integers(1, 60), st.integers(0, 2**32 - 1))


@settings(max_examples=12)
@given(st.tuples(*SIZES), st.booleans(), st.sampled_from(SHORT))
def test_any_labels_and_distributions_are_memorized_in_every_run(
    sizes: tuple[int, ...], distributions: bool, dtype: Precision
) -> None:
    task = drawn(*sizes, distributions=distributions)  # type: ignore[arg-type, misc]
    model = bit_table_memory(task, dtype=dtype).model
    assert memorized_without_rounding(model, task, FORMATS[dtype], 1e-3).all()
    assert sum(tensor.size for tensor in model.tensors().values()) == bit_table_parameters(task, dtype=dtype)


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize(
    "task", [drawn(300, 6, 90, 70, 1), drawn(60, 3, 20, 9, 2, distributions=True)], ids=["labels", "distributions"]
)
def test_it_is_certified_and_runs_in_torch(task: Task, dtype: Precision) -> None:
    pytest.importorskip("torch")
    from verify.torch.run import run

    model = bit_table_memory(task, dtype=dtype).model
    proved = certify_memorization(model, task)
    assert proved.certificate.answers.values["memorized"] == task.n_contexts
    ran = run(model, task, dtype=dtype)
    assert (ran.memorized, ran.memorized_proved, ran.within_bound) == (task.n_contexts, task.n_contexts, None)
    assert ran.max_output_error == 0.0 or task.distributions is not None


def test_many_rows_with_large_labels_stay_in_the_range_of_float16() -> None:
    """All labels together are far above 65504, and no sum of a run is."""
    task = drawn(2000, 4, 60, 53, 3)
    model = bit_table_memory(task, dtype="float16").model
    assert int(task.labels.sum()) > 40_000
    assert memorized_without_rounding(model, task, FORMATS["float16"], 1e-3).all()


def test_a_full_table_takes_less_than_two_entries_a_fact() -> None:
    task = enumerated_task(64, 2, labels=np.random.default_rng(0).integers(0, 50, 4096))
    assert 0.5 < 4096 / bit_table_parameters(task, dtype="float16") < 1.0


def test_columns_have_no_more_bits_than_their_sums_may_have() -> None:
    for precision in (5, 8):
        cells, base, _ = bit_table._plan(enumerated_task(16, 2, labels=np.arange(256) % 7), precision)
        assert 0 < (2 * len(cells.columns) + 1) * (base - 1) <= 2**precision
    assert len(cells.columns) > 2


def test_one_entry_that_is_changed_loses_its_fact() -> None:
    task = drawn(40, 3, 9, 12, 4)
    model = bit_table_memory(task, dtype="bfloat16").model
    [table] = [name for name, tensor in model.tensors().items() if name.endswith("0.mlp.W_out")]
    place = tuple(np.argwhere(model.tensors()[table] > 0)[0])

    def one_more(name: str, tensor: np.ndarray) -> np.ndarray:
        changed = tensor.copy()
        if name == table:
            changed[place] += 1.0
        return changed

    memorized = memorized_without_rounding(model.with_each(one_more), task, FORMATS["bfloat16"], 1e-3)
    assert memorized.sum() == task.n_contexts - 1


@given(st.integers(1, 3000), st.sampled_from([8, 11, 24]))
def test_digits_name_all_labels_and_their_logits_fit(kinds: int, precision: int) -> None:
    base, digits = digits_of_labels(kinds, precision)
    assert base**digits >= kinds and 3 * digits * (base // 2) ** 2 <= 2**precision


@pytest.mark.parametrize(("dtype", "longest"), [("bfloat16", 58), ("float16", 127)])
def test_contexts_are_as_long_as_every_run_is_proved(dtype: Precision, longest: int) -> None:
    task = drawn(4, longest, 3, 3, 6)
    assert memorized_without_rounding(bit_table_memory(task, dtype=dtype).model, task, FORMATS[dtype], 1e-3).all()
    with pytest.raises(CapacityError, match=f"at most {longest} tokens in .* but they have {longest + 1}"):
        bit_table_memory(drawn(4, longest + 1, 3, 3, 6), dtype=dtype)


def test_what_takes_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bit_table, "_ENTRIES", 100)
    with pytest.raises(CapacityError, match="at most 100 bits of contexts, but"):
        bit_table_memory(drawn(40, 3, 9, 12, 5))
    assert bit_table_parameters(drawn(40, 3, 9, 12, 5)) == 0
