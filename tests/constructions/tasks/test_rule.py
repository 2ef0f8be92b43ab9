"""Rules on whole domains: what follows an input, the automaton with the fewest states, and what is refused."""

from itertools import product

import numpy as np
import pytest

from constructions.errors import FileFormatError, InputError
from constructions.tasks.rule import OWN, RuleTask, rule_task
from tests.by_kernel import read_rule_file

PLAIN = {
    "max": lambda *tokens: max(tokens),
    "min": lambda *tokens: min(tokens),
    "first": lambda *tokens: tokens[0],
    "last": lambda *tokens: tokens[-1],
    "sum": lambda *tokens: sum(tokens) % 3,
}


def all_inputs(task):
    return task.contexts_at(np.arange(task.n_contexts))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("tokens, n_ctx", [(1, 1), (1, 3), (2, 1), (5, 3)])
def test_a_rule_and_the_function_of_it_answer_alike_on_the_whole_domain(name, tokens, n_ctx):
    modulus = {"modulus": 3} if name == "sum" else {}
    task = rule_task(name, d_vocab=tokens, n_ctx=n_ctx, before=[9], after=[7, 8], **modulus)
    contexts = all_inputs(task)
    free = list(product(range(tokens), repeat=n_ctx))
    assert contexts.tolist() == [[9, *each, 7, 8] for each in free]
    expected = [PLAIN[name](*each) for each in free]
    assert task.labels_of(contexts).tolist() == expected
    own = rule_task(
        lambda inputs: np.array([PLAIN[name](*map(int, row)) for row in inputs]),
        d_vocab=tokens, n_ctx=n_ctx, before=[9], after=[7, 8],
    )  # fmt: skip
    assert own.rule == OWN and own.labels_of(contexts).tolist() == expected
    assert all(len(a) <= len(b) for a, b in zip(own.steps, task.steps, strict=True))


def test_beginnings_with_the_same_ends_become_one_state():
    task = rule_task(lambda inputs: (inputs.sum(axis=1) > 5).astype(np.int64), d_vocab=4, n_ctx=3)
    assert [len(steps) for steps in task.steps] == [1, 4, 5]  # sums above 5 need no telling apart


def test_a_function_of_the_tokens_is_called_with_integers_that_do_not_overflow():
    task = rule_task(lambda a, b: a**50 * b % 7, d_vocab=6, n_ctx=2, before=[6])
    assert task.reads.tolist() == [1, 2]
    assert task.labels_of(np.array([[6, 5, 4]])).tolist() == [5**50 * 4 % 7]
    assert rule_task(lambda *tokens: sum(tokens), d_vocab=3, n_ctx=3).answers.max() == 6
    with pytest.raises(InputError, match="before has -1, expected tokens from 0 on"):
        rule_task("max", d_vocab=3, n_ctx=2, before=[2, -1])
    with pytest.raises(InputError, match="a function of 3 tokens, expected one of 2"):
        rule_task(lambda a, b, c: a, d_vocab=2, n_ctx=2)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda x: x[:, 0] - 1, "returns -1 at the input 0 0, expected the number of a token, from 0 on"),
        (lambda a, b: b - 2, "returns -2 at the input 0 0, expected the number of a token"),
        (lambda x: x[:, 1] + 2**62, f"returns {2**62} at the input 0 0"),
        (lambda x: np.full(len(x), 2**64 - 1, dtype=np.uint64), f"returns {2**64 - 1} at the input 0 0"),
        (lambda x: np.ma.array(x[:, 0], mask=x[:, 1] > 0), "a masked array: which of its answers count"),
    ],
)
def test_an_answer_that_is_no_token_is_named_with_its_input(rule, words):
    with pytest.raises(InputError, match=words):
        rule_task(rule, d_vocab=3, n_ctx=2)


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ({"rule": "sum", "modulus": 5, "after": [4]}, "sum mod 5 of 2 tokens below 4, behind them 4"),
        ({"rule": "max", "before": [3, 2]}, "max of 2 tokens below 4, before them 3 2"),
        ({"rule": "first", "n_ctx": 1, "d_vocab": 1}, "first of 1 token below 1"),
        (
            {"rule": lambda a, b: a, "before": [5] * 5},
            "one's own function of 2 tokens below 4, before them 5 5 5 5 ...",
        ),
    ],
)
def test_the_origin_says_what_is_read_and_both_readers_say_the_same(tmp_path, given, origin):
    task = rule_task(**{"d_vocab": 4, "n_ctx": 2, **given})
    task.save(tmp_path / "task.safetensors")
    assert task.origin == read_rule_file(tmp_path / "task.safetensors").origin == f"rule: {origin}"


def test_positions_between_those_that_are_read_and_other_tokens_are_said_too(tmp_path):
    made = rule_task("max", d_vocab=3, n_ctx=3)
    tokens = (np.array([1, 2]), np.array([7]), np.array([1, 2]))
    steps = (made.steps[0][:, 1:] - 1, np.array([[0], [1]]), np.array([[0, 1], [1, 1]]))
    task = RuleTask("max", tokens, np.array([0, 2]), steps, np.array([1, 2]))
    task.save(tmp_path / "task.safetensors")
    assert (
        task.origin == read_rule_file(tmp_path / "task.safetensors").origin == "rule: max of 2 tokens, between them 7"
    )


def test_a_task_is_read_as_it_was_written(tmp_path):
    task = rule_task("sum", d_vocab=4, n_ctx=2, after=[4], modulus=5)
    task.save(tmp_path / "task.safetensors")
    found = RuleTask.load(tmp_path / "task.safetensors")
    assert found.sha256() == task.sha256() and found.origin == task.origin and found.n_contexts == 16
    assert found.guess_right == 4
    assert found.labels_of(all_inputs(task)).tolist() == task.labels_of(all_inputs(task)).tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "min"},
        {"rule": "sum mod 04"},
        {"rule": "sum mod 0"},
        {"rule": "median"},
        {"rule": 3},
        {"reads": np.array([0, 2])},
        {"reads": np.array([1, 0])},
        {"answers": np.array([0, 1, 2])},
        {"answers": np.array([1, 0, 2, 3])},
        {"answers": np.array([0, 1, 2, 3.0])},
        {"tokens": (np.arange(4), np.array([0, 2, 1, 3]))},
        {"tokens": (np.arange(4),)},
        {"tokens": (np.arange(4), np.arange(-1, 3))},
        {"steps": (np.arange(4)[None], np.zeros((4, 4), dtype=np.int64))},
        {"steps": (np.arange(1, 5)[None], np.maximum.outer(np.arange(4), np.arange(4)))},
        {"steps": (np.arange(4)[None], np.full((4, 4), 9))},
    ],
)
def test_what_is_not_the_automaton_of_its_name_is_refused(change):
    task = rule_task("max", d_vocab=4, n_ctx=2)
    fields = {name: getattr(task, name) for name in ("rule", "tokens", "reads", "steps", "answers")}
    with pytest.raises(InputError):
        RuleTask(**{**fields, **change})


@pytest.mark.parametrize(
    "given",
    [
        {"rule": "median"},
        {"d_vocab": 0},
        {"n_ctx": 0},
        {"n_ctx": 40},
        {"modulus": 3},
        {"rule": "sum", "modulus": 0},
        {"rule": lambda inputs: inputs},
        {"rule": lambda inputs: inputs[:, 0] * 0.5},
        {"rule": lambda inputs: inputs[:, 0] - 1},
        {"rule": lambda inputs: inputs[:, 0], "d_vocab": 64, "n_ctx": 5},
    ],
)
def test_a_rule_or_a_size_that_makes_no_domain_is_refused(given):
    with pytest.raises(InputError):
        rule_task(**{"rule": "max", "d_vocab": 4, "n_ctx": 2, **given})


def test_a_domain_that_python_does_not_print_is_refused_in_a_sentence():
    with pytest.raises(InputError, match=r"50257\^1024 inputs \(d_vocab\^n_ctx\), expected fewer than 2\^63"):
        rule_task("max", d_vocab=50257, n_ctx=1024)
    steps = (np.arange(16)[None], *[np.repeat(np.arange(16)[:, None], 16, axis=1)] * 3599)
    with pytest.raises(InputError, match=r"tokens make 2\^63 inputs or more"):
        RuleTask("first", (np.arange(16),) * 3600, np.arange(3600), steps, np.arange(16))


def test_an_input_outside_of_the_domain_has_no_label():
    with pytest.raises(InputError, match="position 2"):
        rule_task("max", d_vocab=4, n_ctx=2, after=[5]).labels_of(np.array([[0, 1, 4]]))


def test_a_file_of_something_else_is_refused(tmp_path):
    task = rule_task("max", d_vocab=2, n_ctx=2)
    words, arrays = task.words(), task.arrays()
    for change in ({"tokens_2": np.arange(2)}, {"labels": np.arange(2)}):
        with pytest.raises(FileFormatError):
            RuleTask.from_arrays(tmp_path, words, {**arrays, **change})
    for wrong in ({}, {"rule": [0, 1]}, {**words, "more": 1}, {"rule": f"sum mod 000000000001{'1' * 5000}"}):
        with pytest.raises(FileFormatError):
            RuleTask.from_arrays(tmp_path, wrong, arrays)
    del arrays["answers"]
    with pytest.raises(FileFormatError):
        RuleTask.from_arrays(tmp_path, words, arrays)


def test_the_most_frequent_answer_is_counted_over_the_whole_domain():
    tasks = [rule_task(rule, d_vocab=4, n_ctx=3) for rule in ("max", "min", "first", "last", "sum")]
    tasks += [rule_task(lambda inputs: inputs.prod(axis=1) % 3, d_vocab=5, n_ctx=2, before=[7], after=[1, 1])]
    tasks += [RuleTask("own", (np.arange(3),), np.array([0]), (np.array([[0, 1, 2]]),), np.array([4, 4, 1]))]
    for task in tasks:
        assert task.guess_right == np.bincount(task.labels_of(all_inputs(task))).max()
    assert tasks[-2].origin == "rule: one's own function of 2 tokens below 5, before them 7, behind them 1 1"


def _ends(tokens):
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (lambda a, b: 7 // (b - 1), "<lambda> raises ZeroDivisionError at the input 0 1: "),
        (lambda *row: [][row[0]], "raises IndexError at the input 0 0: "),
        (lambda a, b: a if b < 2 else None, "returns None at the input 0 2, expected an integer"),
        (lambda a, b: a / 2, r"returns 0\.0 at the input 0 0, expected an integer"),
        (lambda inputs: 1 // 0, "raises ZeroDivisionError at the input 0 0: .*all inputs at once"),
        (lambda tokens: {1: tokens[:, 0]}[len(tokens)], "raises KeyError: 9, expected a function of all inputs"),
        (lambda tokens: tokens[-1], r"returns int64 of shape \(2,\), expected integers \(9,\), of a function of all"),
        (_ends, "_ends raises SystemExit at the input 0 0: 1"),
    ],
)  # fmt: skip
def test_what_one_s_own_function_raises_is_said_with_the_first_such_input(rule, said):
    with pytest.raises(InputError, match=said):
        rule_task(rule, d_vocab=3, n_ctx=2)
