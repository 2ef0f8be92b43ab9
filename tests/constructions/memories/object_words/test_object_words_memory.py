"""Tables of any shape, with holes, in both orders of the columns: memorized in every run, in as many entries as
counted.
"""

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError
from constructions.memories.object_words.object_words_memory import object_words_memory, object_words_parameters
from constructions.model.blocks import Attention, FeedForward
from constructions.model.model import Model
from constructions.model.precision import Precision
from constructions.tasks.arrays import array_task, enumerated_task
from constructions.tasks.table import facts_task
from constructions.tasks.task import Task
from verify.runs.exact_runs import memorized_without_rounding
from verify.runs.formats import FORMATS


def random_table(
    subjects: int, relations: int, objects: int, *, holes: float = 0.0, seed: int = 0, subject_first: bool = True
) -> Task:
    """Random objects; of the pairs about so many are left out."""
    rng = np.random.default_rng(seed)
    rows = np.stack(np.divmod(np.arange(subjects * relations), relations), axis=1) + np.array([0, subjects])
    kept = rng.random(len(rows)) >= holes
    kept[0] = True
    rows = rows[kept] if subject_first else rows[kept][:, ::-1]
    labels = rng.integers(0, objects, len(rows))
    return array_task(rows, next_tokens=labels, vocabulary=subjects + relations, answers=objects, target="labels")


@st.composite
def tables(draw: st.DrawFn) -> Task:
    subjects, relations = draw(st.integers(1, 24)), draw(st.integers(1, 16))
    task = random_table(
        subjects,
        relations,
        draw(st.sampled_from([1, 2, 3, 6, 17, 30, 62, 63, 126, 300])),
        holes=draw(st.sampled_from([0.0, 0.4, 0.9])),
        seed=draw(st.integers(0, 2**32)),
        subject_first=draw(st.booleans()),
    )
    if draw(st.booleans()):
        return task
    both = task.contexts % max(subjects, relations)  # some tokens stand in both columns
    kept = np.unique(both, axis=0, return_index=True)[1]
    return array_task(
        both[kept], next_tokens=task.labels[kept], vocabulary=subjects + relations, answers=300, target="labels"
    )


@given(tables(), st.sampled_from(["float16", "bfloat16", "float32", "float64"]))
def test_every_run_holds_every_table_in_as_many_entries_as_are_counted(task: Task, dtype: Precision) -> None:
    fewest = object_words_parameters(task, dtype=dtype)
    if fewest == 0:
        shared = np.intersect1d(*task.contexts.T).size > 0
        said = f"objects that runs in {dtype} tell apart"
        if shared and "16" in dtype:
            said = f"float32 or float64 for tokens that stand in both columns, but the type is {dtype}"
        with pytest.raises((CapacityError, HypothesisError), match=said):
            object_words_memory(task, dtype=dtype)
        return
    built = object_words_memory(task, dtype=dtype)
    assert built.model.parameters == fewest == sum(x.size for x in built.model.tensors().values())
    assert memorized_without_rounding(built.model, task, FORMATS[dtype], 1e-3).all()


def float32_logits(model: Model, tokens: list[int], order: list[int]) -> list[float]:
    """A run of a model of heads that read one row, or both alike, and neurons: sums begin where `order` does."""
    f = np.float32

    def summed(terms: list[np.float32]) -> np.float32:
        total = f(0)
        for i in sorted(range(len(terms)), key=lambda i: (order[i % len(order)], i)):
            total = f(total + terms[i])
        return total

    def mapped(x: list, W: np.ndarray, b: np.ndarray | None, more: list | None = None) -> list:
        found = []
        for j in range(W.shape[1]):
            terms = [f(f(W[i, j]) * x[i]) for i in range(len(x))]
            terms += ([] if b is None else [f(b[j])]) + ([] if more is None else [more[j]])
            found.append(summed(terms))
        return found

    rows = [[f(x) for x in model.W_E[token]] for token in tokens]
    for block in model.blocks:
        if isinstance(block, FeedForward):
            fired = [[max(f(0), u) for u in mapped(x, block.W_in, block.b_in)] for x in rows]
            rows = [
                mapped(u, block.W_out, block.b_out, x if block.skip else None) for u, x in zip(fired, rows, strict=True)
            ]
            continue
        assert isinstance(block, Attention)
        keys, values = ([mapped(row, W[0], None) for row in rows] for W in (block.W_K, block.W_V))
        found = []
        for row in rows if block.attends == "all" else rows[-1:]:
            query = mapped(row, block.W_Q[0], None if block.b_Q is None else block.b_Q[0])
            scores = [f(query[0] * key[0]) for key in keys]
            weights = [np.exp(f(score - max(scores))) for score in scores]
            weights = [f(weight / summed(weights)) for weight in weights]
            columns = zip(*values, strict=True)
            mean = [summed([f(w * v) for w, v in zip(weights, column, strict=True)]) for column in columns]
            found.append(mapped(mean, block.W_O[0], block.b_O, row if block.skip else None))
        rows = found
    return [float(z) for z in mapped(rows[-1], model.W_U, model.b_U)]


@pytest.mark.parametrize("subject_first", [True, False])
@pytest.mark.parametrize("subjects, relations", [(6, 1), (6, 3), (6, 5), (5, 4), (12, 11)])
@pytest.mark.parametrize("objects", [5, 60])
def test_runs_in_any_order_of_summation_say_the_object(
    subjects: int, relations: int, objects: int, subject_first: bool
) -> None:
    task = random_table(subjects, relations, objects, holes=0.2, subject_first=subject_first)
    model = object_words_memory(task).model
    for order in permutations(range(3)):
        for context, label in zip(task.contexts.tolist(), task.labels.tolist(), strict=True):
            assert int(np.argmax(float32_logits(model, context, list(order)))) == label


@pytest.mark.parametrize(
    "sizes, holes, parameters",
    [
        ((300, 5, 60), 0.0, 833),
        ((2000, 6, 100), 0.0, 4326),
        ((600, 8, 60), 0.0, 1558),
        ((1000, 20, 60), 0.0, 5802),
        ((1000, 4, 60), 0.0, 1259),
        ((50, 50, 50), 0.0, 1690),
        ((100, 100, 60), 0.0, 5109),
    ],
)
def test_tables_take_as_many_entries_as_the_page_says(
    sizes: tuple[int, int, int], holes: float, parameters: int
) -> None:
    assert object_words_parameters(random_table(*sizes, holes=holes)) == parameters


def test_one_vocabulary_in_both_columns_is_memorized() -> None:
    task = enumerated_task(50, 2)
    built = object_words_memory(task)
    assert built.model.parameters == 1805
    assert memorized_without_rounding(built.model, task, FORMATS["float32"], 1e-3).all()


def pairs_of(contexts: list[tuple[int, int]], objects: int) -> Task:
    """The n-th pair means the n-th object, or the objects over again."""
    labels = np.arange(len(contexts)) % objects
    return array_task(
        np.array(contexts), next_tokens=labels, vocabulary=int(np.max(contexts)) + 1, answers=objects, target="labels"
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("contexts", [[(0, 0)], [(0, 0), (0, 1)], [(0, 0), (1, 0)], [(2, 0), (2, 1), (2, 2)]])
def test_one_first_or_last_token_that_stands_in_both_columns_is_memorized(
    contexts: list[tuple[int, int]], dtype: Precision
) -> None:
    task = pairs_of(contexts, 2)
    built = object_words_memory(task, dtype=dtype)
    assert built.model.parameters == object_words_parameters(task, dtype=dtype)
    assert memorized_without_rounding(built.model, task, FORMATS[dtype], 1e-3).all()


def alone(objects: int) -> Task:
    """So many relations of one subject, and as many objects."""
    return pairs_of([(0, 1 + j) for j in range(objects)], objects)


def ring(tokens: int) -> Task:
    """All tokens stand in both columns, and are so many objects."""
    return pairs_of([(i, (i + 1) % tokens) for i in range(tokens)], tokens)


def one_first(objects: int) -> Task:
    """One first token that is a last one as well."""
    return pairs_of([(0, j) for j in range(objects)], objects)


@pytest.mark.parametrize(
    "table, most, dtype, said",
    [
        (alone, 128, "bfloat16", "objects that runs in bfloat16 tell apart, but there are 129$"),
        (alone, 1024, "float16", "objects that runs in float16 tell apart, but there are 1025$"),
        (ring, 240, "float32", "where a token stands in both columns, but there are 241 and 241$"),
        (one_first, 632, "float32", "where a token stands in both columns, but there are 1 and 633$"),
    ],
)
def test_the_most_objects_are_memorized_and_one_more_is_refused_with_the_reason(
    table: Callable[[int], Task], most: int, dtype: Precision, said: str
) -> None:
    task = table(most)
    assert memorized_without_rounding(object_words_memory(task, dtype=dtype).model, task, FORMATS[dtype], 1e-3).all()
    with pytest.raises(CapacityError, match=said):
        object_words_memory(table(most + 1), dtype=dtype)


def test_a_word_that_is_one_more_loses_a_fact() -> None:
    task = random_table(20, 3, 60)
    model = object_words_memory(task).model
    W_E = model.W_E.copy()
    W_E[3, 0] += 1.0
    memorized = memorized_without_rounding(
        Model(model.blocks, model.W_U, model.b_U, W_E, model.W_pos), task, FORMATS["float32"], 1e-3
    )
    assert not memorized[task.contexts[:, 0] == 3].all() and memorized[task.contexts[:, 0] != 3].all()


def test_objects_of_each_relation_its_own_and_names_of_several_words_are_memorized() -> None:
    rows = [
        (f"Saint Number {i}", relation, f"{relation}: {'a long name ' * 3}{(i * k) % 7}")
        for i in range(9)
        for k, relation in enumerate(("born in", "died in", "is buried at the"), start=2)
    ]
    task = facts_task(rows)
    assert memorized_without_rounding(object_words_memory(task).model, task, FORMATS["float32"], 1e-3).all()


def test_answers_that_are_tokens_and_tokens_that_are_not_read_cost_only_their_entries() -> None:
    task = random_table(12, 3, 9)
    together = task.in_one_vocabulary()
    assert together.n_answers > 9
    assert memorized_without_rounding(object_words_memory(together).model, together, FORMATS["float32"], 1e-3).all()


def test_what_it_does_not_hold_is_said() -> None:
    with pytest.raises(HypothesisError, match="needs contexts of two or three tokens, but they have 4"):
        object_words_memory(enumerated_task(2, 4))
    distributions = array_task(
        np.array([[0, 1]]), distributions=np.array([[0.5, 0.5]]), vocabulary=2, answers=("x", "y")
    )
    with pytest.raises(HypothesisError, match="needs labels, but the target is 'distributions'"):
        object_words_memory(distributions)
    assert object_words_parameters(distributions) == object_words_parameters(enumerated_task(2, 4)) == 0
    with pytest.raises(HypothesisError, match="for tokens that stand in both columns, but the type is float16"):
        object_words_memory(enumerated_task(3, 2), dtype="float16")
    with pytest.raises(CapacityError, match="objects that runs in bfloat16 tell apart, but there are"):
        object_words_memory(random_table(60, 6, 300), dtype="bfloat16")
