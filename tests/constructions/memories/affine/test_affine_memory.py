"""Tables that are sums in a product of cyclic groups: any such rule is found, and every run in float32 computes it."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions.errors import CapacityError, HypothesisError
from constructions.memories.affine.affine_memory import affine_memory
from constructions.memories.affine.affine_rule import affine_rule
from constructions.model.blocks import FeedForward
from constructions.tasks.arrays import all_contexts, array_task, enumerated_task
from constructions.tasks.table import table_task
from constructions.tasks.task import Task
from tests.any_order import logits
from verify.provers.memorization import certify_memorization
from verify.runs.exact_runs import exact_runs


def task_of(contexts: np.ndarray, labels: np.ndarray, tokens: int = 0) -> Task:
    return array_task(contexts, next_tokens=labels, vocabulary=tokens or None, target="labels")


def in_integers(model, contexts: np.ndarray) -> list[list[Fraction]]:
    """The logits in rational numbers, where each head reads the mean of what scores highest."""
    found = []
    for context in contexts:
        x = [
            [int(a) + int(b) for a, b in zip(model.W_E[t], model.W_pos[s], strict=True)] for s, t in enumerate(context)
        ]
        x = np.array([[Fraction(v) for v in row] for row in x])
        for block in model.blocks:
            if isinstance(block, FeedForward):
                y = x @ block.W_in.astype(int) + (0 if block.b_in is None else block.b_in.astype(int))
                x = np.maximum(y, 0) @ block.W_out.astype(int) + (x if block.skip else 0)
                continue
            y = np.zeros(block.d_out, dtype=int)
            for h in range(block.n_heads):
                q = 0 if block.b_Q is None else int(block.b_Q[h, 0])
                scores = q * (x @ block.W_K[h].astype(int))[:, 0]
                lead = np.array([s == max(scores) for s in scores])
                assert all(max(scores) - s >= 1024 for s in scores[~lead])
                assert lead.sum() & (lead.sum() - 1) == 0
                y = y + (x[lead].sum(axis=0) / int(lead.sum()) @ block.W_V[h].astype(int)) @ block.W_O[h].astype(int)
            x = y.reshape(1, -1)
        found.append((x[-1] @ model.W_U.astype(int) + model.b_U.astype(int)).tolist())
    return found


def require_memorized(task: Task, *, exceptions: int = 0) -> int:
    """All facts are memorized in integers and in every run, and the model has integers alone; its number of entries."""
    rule = affine_rule(task)
    assert (~rule.follows).sum() == exceptions
    built = affine_memory(task)
    model = built.model
    assert all((tensor == np.round(tensor)).all() for tensor in model.tensors().values())
    assert sum(tensor.size for tensor in model.tensors().values()) == model.parameters
    drawn = np.random.default_rng(0).permutation(task.n_contexts)[:30]
    drawn = np.union1d(drawn, np.flatnonzero(~rule.follows)[:10])
    for row, label in zip(in_integers(model, task.contexts[drawn]), task.labels[drawn], strict=True):
        assert row[label] - max(value for i, value in enumerate(row) if i != label) >= 1
    runs = exact_runs(model, task.contexts, task.labels)
    assert runs.memorized.all() and runs.bits <= 24, runs.reason
    return model.parameters


@pytest.mark.parametrize("modulus", [2, 3, 12, 97])
def test_a_sum_of_two_tokens_takes_3_n_and_12_entries(modulus):
    contexts = all_contexts(modulus, 2) if modulus > 3 else all_contexts(modulus + 4, 2)
    size = int(contexts.max()) + 1
    parameters = require_memorized(task_of(contexts, contexts.sum(axis=1) % modulus))
    assert parameters == 3 * size + 12 or modulus <= 3


FULL = all_contexts(13, 2)
RULES = {
    "difference": (all_contexts(12, 2), lambda x: (x[:, 0] - x[:, 1]) % 12),
    "factors": (FULL, lambda x: (5 * x[:, 0] + 8 * x[:, 1] + 3) % 13),
    "factors that are no units": (all_contexts(12, 2), lambda x: (2 * x[:, 0] + 3 * x[:, 1]) % 12),
    "without a modulus": (all_contexts(10, 2), lambda x: x.sum(axis=1)),
    "product": (FULL, lambda x: x[:, 0] * x[:, 1] % 13),
    "quotient": (FULL[FULL[:, 1] > 0], lambda x: np.array([a * pow(int(b), -1, 13) % 13 for a, b in x])),
    "squares": (FULL, lambda x: (x**2).sum(axis=1) % 13),
    "exclusive or": (all_contexts(8, 2), lambda x: x[:, 0] ^ x[:, 1]),
    "three": (all_contexts(6, 3), lambda x: x.sum(axis=1) % 6),
    "three with factors": (all_contexts(9, 3), lambda x: x @ [2, -3, 5] % 9),
    "five": (all_contexts(4, 5), lambda x: x @ [1, 2, 1, 0, 3] % 4),
    "seven": (all_contexts(3, 7)[::5], lambda x: x @ [1, 2, 1, 2, 1, 2, 1] % 3),
    "eight": (all_contexts(2, 8), lambda x: x.sum(axis=1) % 2),
    "one position counts": (all_contexts(8, 3), lambda x: (3 * x[:, 1] + 1) % 8),
    "an operator between": (np.insert(FULL, 1, 13, axis=1), lambda x: (x[:, 0] + x[:, 2]) % 13),
    "some facts": (all_contexts(60, 2)[::7], lambda x: x.sum(axis=1) % 60),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_of_arithmetic_are_found_and_memorized(name):
    contexts, rule = RULES[name]
    task = task_of(contexts, rule(contexts))
    require_memorized(task)


# Of the others no exchange of two tokens permutes all answers.
ORDERED = sorted(set(RULES) - {"squares", "without a modulus", "factors that are no units", "some facts"})


@given(st.sampled_from(ORDERED), st.integers(0, 2**32 - 1))
def test_the_order_of_tokens_and_answers_does_not_matter(name, seed):
    contexts, rule = RULES[name]
    size = max(int(contexts.max()), int(rule(contexts).max())) + 1
    rng = np.random.default_rng(seed)
    tokens, answers = rng.permutation(size), rng.permutation(size)
    task = task_of(tokens[contexts], answers[rule(contexts)], size)
    require_memorized(task)


@pytest.mark.parametrize("moduli", [(4, 6), (2, 2, 3), (5, 5), (3, 9), (7,)])
def test_products_of_cyclic_groups_are_found_in_any_order(moduli):
    size = math.prod(moduli)
    coordinates = np.stack(np.unravel_index(np.arange(size), moduli), axis=1)
    contexts = all_contexts(size, 2)
    total = (coordinates[contexts[:, 0]] + coordinates[contexts[:, 1]]) % moduli
    labels = np.ravel_multi_index(tuple(total.T), moduli)
    rng = np.random.default_rng(0)
    first, second, answers = (rng.permutation(size) for _ in range(3))
    task = task_of(np.stack([first[contexts[:, 0]], second[contexts[:, 1]]], axis=1), answers[labels])
    assert math.prod(affine_rule(task).moduli) == size
    require_memorized(task)


@pytest.mark.parametrize("name", ["difference", "product", "exclusive or", "three", "quotient"])
def test_exceptions_have_neurons_of_their_own(name):
    contexts, rule = RULES[name]
    labels = rule(contexts).copy()
    size = int(labels.max()) + 1
    changed = np.random.default_rng(1).permutation(len(labels))[:3]
    labels[changed] = [(labels[changed[0]] + 1) % size, size + 3, size + 5]
    require_memorized(task_of(contexts, labels, max(int(contexts.max()) + 1, size + 6)), exceptions=3)


def test_a_product_of_which_the_zero_is_wrong_elsewhere():
    labels = FULL.prod(axis=1) % 13
    labels[[20, 60]] = 0  # no factor is 0
    labels[[3, 13]] = [5, 7]  # one is
    require_memorized(task_of(FULL, labels), exceptions=4)


def test_names_are_read_as_numbers_and_words_are_ordered_by_the_facts():
    days = "Mon Tue Wed Thu Fri Sat Sun".split()
    rows = [f"{day},{n} days later,{days[(i + n) % 7]}" for i, day in enumerate(days) for n in range(1, 7)]
    assert require_memorized(table_task("\n".join(rows) + "\n", target="labels")) < 90
    rows = [f"{a},plus,{b},{(a + b) % 24}" for a in range(0, 24, 3) for b in range(23, 0, -2)]
    assert affine_rule(table_task("\n".join(rows) + "\n", target="labels")).moduli == (24,)


@pytest.mark.parametrize("name", ["factors", "product", "three", "seven", "exclusive or", "difference"])
def test_a_run_in_float32_adds_in_any_order(name):
    contexts, rule = RULES[name]
    labels = rule(contexts).copy()
    for spoiled in (False, True):
        if spoiled:
            labels[5] = (labels[5] + 1) % 3
        model = affine_memory(task_of(contexts, labels)).model
        some = contexts[:40]
        exact = np.array([[float(v) for v in row] for row in in_integers(model, some)])
        assert (logits(model, some, 1) == exact).all()


def test_it_is_certified_in_real_arithmetic():
    for name in ("difference", "three", "product"):
        contexts, rule = RULES[name]
        task = task_of(contexts, rule(contexts))
        proved = certify_memorization(affine_memory(task).model, task)
        assert proved.certificate.verdict.value == "PROVED" and proved.answers.margin_lower.min() > 0.999


def test_what_is_no_sum_is_refused():
    for task in (
        enumerated_task(30, 2),
        enumerated_task(5, 4, seed=3),
        task_of(all_contexts(12, 2), all_contexts(12, 2).prod(axis=1) % 12),
        task_of(all_contexts(6, 2), permutations_of_three(all_contexts(6, 2))),
    ):
        with pytest.raises(HypothesisError, match="no such rule was found"):
            affine_memory(task)


def permutations_of_three(contexts: np.ndarray) -> np.ndarray:
    elements = list(permutations(range(3)))
    return np.array([elements.index(tuple(elements[a][i] for i in elements[b])) for a, b in contexts.tolist()])


def test_limits_are_named():
    with pytest.raises(HypothesisError, match="labels"):
        affine_memory(enumerated_task(2, 2, target="distributions"))
    for n_ctx in (1, 9):
        with pytest.raises(HypothesisError, match=r"contexts of 2 to 8 tokens, but contexts of \d token"):
            affine_memory(enumerated_task(2, n_ctx))
    with pytest.raises(HypothesisError, match="at least 10 facts, which could show a rule, but 4"):
        affine_memory(enumerated_task(2, 2))
    with pytest.raises(HypothesisError, match="2 to 4096 answers, but 1 answer"):
        affine_memory(task_of(all_contexts(5, 2), np.zeros(25, dtype=int)))
    contexts = np.random.default_rng(0).integers(0, 3500, (200, 2))
    large = task_of(contexts, contexts.sum(axis=1) % 3500, 3500)
    with pytest.raises(CapacityError, match="sums that 24 bits hold, but those modulo 3500 are longer"):
        affine_memory(large)
    assert affine_memory(large, dtype="float64").model.parameters == 10512
    with pytest.raises(CapacityError, match="at most 1000 exceptions of the rule, but 11"):
        contexts = all_contexts(80, 2)
        labels = contexts.sum(axis=1) % 80
        labels[:1150] = np.random.default_rng(0).integers(0, 80, 1150)
        affine_memory(task_of(contexts, labels))
