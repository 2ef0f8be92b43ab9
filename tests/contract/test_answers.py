"""Every memory of a table whose answers are never read has weights for each side alone, certified by both readers."""

from itertools import product

import numpy as np
import pytest

from constructions.encoders.lookup_table import lookup_table
from constructions.errors import CapacityError, HypothesisError, InputError
from constructions.heads_of_theorem_1.low_entropy_memory import low_entropy_memory
from constructions.heads_of_theorem_1.memory import build_memory
from constructions.memories.bigrams.one_head import one_head_memory
from constructions.memories.keyed_words import keyed_words_memory
from constructions.memories.knots import knots_memory
from constructions.memories.memory import Limits, Memory
from constructions.menu import BY_NAME
from constructions.model.construction import require_fit
from constructions.tasks.arrays import array_task
from constructions.tasks.table import facts_task
from constructions.unembeddings.axes import simplex
from tests.by_kernel import check_by_kernel
from tests.memories import write_memory
from verify.theorems.memories.integer_neurons import integer_margins

ATTENTION_ONLY = [name for name, kind in BY_NAME.items() if kind.attention_only]


def bigrams(tokens, answers, *, facts=None, seed=0, **given):
    """Bigrams with random answers, of which each occurs if there are enough facts."""
    contexts = np.array(list(product(range(tokens), repeat=2)))[:facts]
    labels = np.random.default_rng(seed).permutation(np.arange(len(contexts)) % answers)
    names = tuple(f"answer {i}" for i in range(answers))
    return array_task(contexts, next_tokens=labels, vocabulary=tokens, answers=names, target="labels", **given)


HOLD_BIGRAMS = {
    "knots", "last-token-heads", "newton", "object-words", "one-head", "packed-words",
    "probes", "rank-one-heads", "theorem-1",
}  # fmt: skip


def model_of(name, task, dtype):
    """The weights of a memory; one that is new may refuse what it does not take, and is skipped with its reason."""
    try:
        return BY_NAME[name].build(task, Limits(dtype)).model
    except (HypothesisError, CapacityError, InputError) as refusal:
        if name in HOLD_BIGRAMS:
            raise
        pytest.skip(f"{name} refuses: {refusal}")


def test_a_memory_that_is_new_may_refuse_and_the_others_may_not(monkeypatch):
    class Triples(Memory):
        name, needs, cost = "triples", "contexts of three tokens", "nothing"

        def build(self, task, limits):
            raise InputError("the task", "has two tokens in a context", "three")

    monkeypatch.setitem(BY_NAME, "triples", Triples())
    with pytest.raises(pytest.skip.Exception, match="triples refuses: the task has two tokens"):
        model_of("triples", bigrams(2, 2), "float32")
    monkeypatch.setitem(BY_NAME, "knots", BY_NAME["triples"])
    with pytest.raises(InputError):
        model_of("knots", bigrams(2, 2), "float32")
    assert set(BY_NAME) >= HOLD_BIGRAMS


def certified(folder, model, task):
    """The number of facts that both readers see memorized."""
    require_fit(model, task)
    assert (model.d_vocab, model.d_vocab_out) == (task.d_vocab, task.n_answers)
    proved = write_memory(folder, model, task, rank=False)
    assert proved.certificate.verdict.value == "PROVED"
    assert check_by_kernel(folder).verdict.value == "PROVED"
    return int(proved.answers.memorized("labels", 0.0).sum()) if task.target == "labels" else task.n_contexts


@pytest.mark.parametrize("answers", [1, 2, 4, 11])
@pytest.mark.parametrize("name", BY_NAME)
def test_every_memory_holds_bigrams_with_answers_of_their_own(name, answers, tmp_path):
    task = bigrams(4, answers)
    assert certified(tmp_path, model_of(name, task, "float32"), task) == 16


@pytest.mark.parametrize(("tokens", "answers"), [(1, 1), (2, 1), (2, 4), (3, 2)])
@pytest.mark.parametrize("name", ["knots", "one-head", "packed-words", "probes", "rank-one-heads"])
def test_few_tokens_and_few_answers_are_memorized(name, tokens, answers, tmp_path):
    task = bigrams(tokens, answers)
    built = BY_NAME[name].build(task, Limits("float64"))
    assert certified(tmp_path, built.model, task) == tokens**2


@pytest.mark.parametrize("margin", [0.25, 2.0])
@pytest.mark.parametrize(("tokens", "answers"), [(1, 1), (1, 3), (2, 3), (5, 2), (4, 16)])
def test_one_head_keeps_its_margin_for_any_number_of_answers(tokens, answers, margin, tmp_path):
    task = bigrams(tokens, answers)
    proved = write_memory(tmp_path, one_head_memory(task, margin=margin), task, rank=False)
    least = proved.answers.margin_lower.min()
    assert least == np.inf if answers == 1 else margin * (1 - 1e-9) < least <= margin


@pytest.mark.parametrize("answers", [1, 2, 9])
@pytest.mark.parametrize("name", ["knots", "newton", "probes"])
def test_single_tokens_are_memorized(name, answers, tmp_path):
    contexts = np.arange(7)[:, None]
    names = tuple(f"answer {i}" for i in range(answers))
    task = array_task(contexts, next_tokens=np.arange(7) % answers, vocabulary=7, answers=names, target="labels")
    built = BY_NAME[name].build(task, Limits())
    assert certified(tmp_path, built.model, task) == 7


@pytest.mark.parametrize(("answers", "d_model", "heads"), [(1, 6, 8), (3, 6, 8), (9, 6, 8), (9, 2, 10), (3, 2, 10)])
def test_the_heads_of_theorem_1_hold_labels_in_any_dimension(answers, d_model, heads, tmp_path):
    task = bigrams(4, answers)
    built = build_memory(task, d_model=d_model, d_head=2, n_heads=heads)
    assert certified(tmp_path, built.model, task) == 16


@pytest.mark.parametrize("route", ["heads", "skip connection", "embedding"])
@pytest.mark.parametrize("target", ["labels", "distributions"])
@pytest.mark.parametrize("answers", [2, 6])
def test_every_route_of_theorem_1_holds_answers_of_their_own(route, target, answers, tmp_path):
    rows = np.arange(6)[:, None] if route == "embedding" else bigrams(4, 1).contexts
    counts = np.random.default_rng(2).integers(1, 5, (len(rows), answers))
    distributions = counts / counts.sum(axis=1, keepdims=True)
    names = tuple(f"answer {i}" for i in range(answers))
    task = array_task(
        rows, distributions=distributions, vocabulary=6 if route == "embedding" else 4, answers=names, target=target
    )
    heads = {"heads": 9, "skip connection": 7, "embedding": 1}[route]
    built = build_memory(task, d_model=6, d_head=2, n_heads=heads)
    assert built.route == route
    certified(tmp_path, built.model, task)


@pytest.mark.parametrize("name", ["knots", "one-hot-distributions"])
@pytest.mark.parametrize("answers", [2, 6])
def test_distributions_over_answers_of_their_own_are_memorized(name, answers, tmp_path):
    counts = np.random.default_rng(1).integers(1, 5, (9, answers))
    names = tuple(f"answer {i}" for i in range(answers))
    distributions = counts / counts.sum(axis=1, keepdims=True)
    task = array_task(bigrams(3, 1).contexts, distributions=distributions, vocabulary=3, answers=names)
    built = BY_NAME[name].build(task, Limits("float64"))
    certified(tmp_path, built.model, task)


@pytest.mark.parametrize("answers", [1, 3, 16])
def test_a_lookup_table_holds_answers_of_their_own(answers, tmp_path):
    task = bigrams(4, answers)
    assert certified(tmp_path, lookup_table(task), task) == 16


def test_distributions_that_are_nearly_a_table_are_memorized_over_answers_of_their_own(tmp_path):
    distributions = np.full((9, 4), 0.01) + 0.96 * np.eye(4)[np.arange(9) % 4]
    names = tuple(f"answer {i}" for i in range(4))
    task = array_task(bigrams(3, 1).contexts, distributions=distributions, vocabulary=3, answers=names)
    certified(tmp_path, low_entropy_memory(task, simplex(4, 3), d_head=1), task)
    with pytest.raises(InputError, match="over 4 tokens, expected distributions over 3"):
        low_entropy_memory(task, simplex(3, 3), d_head=1)


@pytest.mark.parametrize("name", ["knots", "rank-one-heads", "newton"])
def test_a_table_costs_no_column_for_what_is_read_and_no_row_for_what_is_answered(name):
    rows = [(f"subject {i}", f"relation {j}", f"answer {(3 * i + j) % 7}") for i in range(6) for j in range(2)]
    apart = facts_task(rows)
    together = apart.in_one_vocabulary()
    sizes = []
    for task in (apart, together):
        model = BY_NAME[name].build(task, Limits()).model
        assert model.parameters == sum(tensor.size for tensor in model.tensors().values())
        sizes.append((model.d_vocab, model.d_vocab_out, model.parameters))
    (n, k, few), (n_all, k_all, many) = sizes
    assert (n, k) == (8, 7) and n_all == k_all == 15
    assert few < many


@pytest.mark.parametrize("answers", [2, 3, 11])
def test_words_under_keys_hold_answers_of_their_own(answers):
    task = bigrams(4, answers)
    model = keyed_words_memory(task).model
    assert (model.d_vocab, model.d_vocab_out) == (4, answers)
    assert (integer_margins(model, task) > 0).all()


def test_a_model_of_one_vocabulary_does_not_hold_a_task_of_two():
    task = bigrams(4, 3)
    together = task.in_one_vocabulary()
    assert together.n_answers == together.d_vocab == 7 and together.labels.min() >= 4
    model = knots_memory(together).model
    require_fit(model, together)
    with pytest.raises(InputError, match=r"3 answers, the model 7 logits; task\.in_one_vocabulary\(\)"):
        require_fit(model, task)
    with pytest.raises(InputError, match="7 tokens, the model 3 logits"):
        require_fit(knots_memory(task).model, together)


def test_memories_of_bigrams_refuse_distributions_over_answers_as_over_tokens():
    counts = np.full((4, 3), 1 / 3)
    task = array_task(bigrams(2, 1).contexts, distributions=counts, vocabulary=2, answers=("x", "y", "z"))
    for name in HOLD_BIGRAMS & set(ATTENTION_ONLY) - {"theorem-1", "last-token-heads"}:
        with pytest.raises((HypothesisError, InputError), match="distributions"):
            BY_NAME[name].build(task, Limits())
