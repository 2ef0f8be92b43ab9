"""Tests of constructions/folds/fold.py: rules with a state, by plain arithmetic, and as files."""

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from constructions.errors import FileFormatError, HypothesisError, InputError
from constructions.folds.fold import Fold, Stage, addition, fold_of, maximum, modular_sum
from constructions.formats.tensor_file import load_tensors, save_tensors


def every_choice(fold: Fold) -> np.ndarray:
    return np.array(list(itertools.product(*(range(len(stage.choices)) for stage in fold.stages))))


LAYOUTS = [
    {},
    {"first_digit": "most", "first_digit_of_sum": "most", "plus": [7], "equals": [8, 9], "before": [6]},
    {"sum_digits": 1, "first_digit": "most"},
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("digits", "base"), [(1, 2), (2, 3), (3, 2)])
def test_a_sum_is_that_of_the_numbers_that_the_prompt_shows(digits: int, base: int, layout: dict) -> None:
    fold = addition(digits, base=base, **layout)
    choices = every_choice(fold)
    assert len(choices) == fold.inputs == base ** (2 * digits)
    start = len(layout.get("before", ()))
    second = start + digits + len(layout.get("plus", [0]))
    for prompt, answer in zip(fold.prompts(choices).tolist(), fold.answers(choices).tolist(), strict=True):
        assert len(prompt) == fold.length
        numbers = []
        for first in (start, second):
            shown = prompt[first : first + digits]
            shown = shown if layout.get("first_digit") == "most" else shown[::-1]
            numbers.append(sum(digit * base**place for place, digit in enumerate(reversed(shown))))
        said = answer if layout.get("first_digit_of_sum") == "most" else answer[::-1]
        total = sum(digit * base**place for place, digit in enumerate(reversed(said)))
        assert total == sum(numbers) % base ** len(answer)
        fixed = [*layout.get("before", ()), *layout.get("plus", [0]), *layout.get("equals", [0])]
        assert [token for place, token in enumerate(prompt) if place in fold.fixed] == fixed


@pytest.mark.parametrize(
    "fold",
    [addition(2, base=3), addition(3, base=2, sum_digits=2), modular_sum(4, below=3, modulus=5), maximum(3, below=4)],
    ids=lambda fold: fold.name,
)
def test_no_answer_is_that_of_more_inputs_than_is_said(fold: Fold) -> None:
    answers = Counter(map(tuple, fold.answers(every_choice(fold)).tolist()))
    assert max(answers.values()) <= fold.guess_most <= fold.inputs


def test_other_rules_say_what_they_are_called() -> None:
    total, largest = modular_sum(4, below=3, modulus=5, equals=[4]), maximum(3, below=4, equals=[9])
    for fold, says in ((total, lambda prompt: sum(prompt[:4]) % 5), (largest, lambda prompt: max(prompt[:3]))):
        choices = every_choice(fold)
        prompts, answers = fold.prompts(choices).tolist(), fold.answers(choices).tolist()
        assert answers == [[says(prompt)] for prompt in prompts]


@pytest.mark.parametrize(
    "fold",
    [addition(10), addition(2, plus=[10], equals=[11, 12], before=[13]), modular_sum(64, below=2, modulus=2)],
    ids=lambda fold: fold.name,
)
def test_a_file_holds_the_rule_exactly(fold: Fold, tmp_path: Path) -> None:
    fold.save(tmp_path / "task.safetensors")
    read = Fold.load(tmp_path / "task.safetensors")
    assert read.sha256() == fold.sha256() and read.origin == fold.origin and read.inputs == fold.inputs


@pytest.mark.parametrize("name", ["addition of 3 digits in base 2", "addition of 99999 digits in base 9999", "sum", ""])
def test_a_rule_of_another_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="name"):
        replace(addition(2, base=2), name=name)


@pytest.mark.parametrize("array", ["steps_0", "emits_1", "choices_1"])
def test_a_file_whose_name_is_not_that_of_its_states_is_refused(array: str, tmp_path: Path) -> None:
    path = tmp_path / "task.safetensors"
    addition(2, base=3).save(path)
    said, arrays = load_tensors(path, dtypes=("I64",))
    changed = arrays[array].copy()
    changed[0, 0], changed[0, 1] = changed[0, 1], changed[0, 0] + 2
    save_tensors(path, {**arrays, array: changed}, metadata=said)
    with pytest.raises(FileFormatError):
        Fold.load(path)


def test_a_rule_that_does_not_fit_itself_is_refused() -> None:
    one = np.zeros((1, 1), dtype=np.int64)
    stage = Stage((0,), one, one, one)
    assert Fold("one's own", 1, {}, (stage,), (0,)).inputs == 1
    for stages, length, fixed, answer in (
        ((stage,), 2, {}, (0,)),
        ((stage,), 1, {0: 0}, (0,)),
        ((stage,), 1, {}, (1,)),
        ((Stage((0,), one, one + 5, one),), 1, {}, (0,)),
        ((Stage((0,), one - 1, one, one),), 1, {}, (0,)),
        ((), 0, {}, ()),
    ):
        with pytest.raises(InputError):
            Fold("one's own", length, fixed, stages, answer)


def test_states_without_end_are_refused() -> None:
    digits = [((place,), [(0,), (1,)]) for place in range(18)]
    with pytest.raises(HypothesisError, match="states"):
        fold_of(lambda seen, token: ((seen, token), token[0]), start=(), length=18, stages=digits, answer=range(18))


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (lambda state, tokens: tokens[1], r"fails on \(0, \(0,\)\): IndexError"),
        (lambda state, tokens: 3, "gives 3 for"),
        (lambda state, tokens: (0, "x"), r"gives \(0, 'x'\) for"),
        (lambda state, tokens: (0, -1), r"gives \(0, -1\) for"),
        (lambda state, tokens: (0, True), r"gives \(0, True\) for"),
        (lambda state, tokens: ([0], 0), r"gives \(\[0\], 0\) for"),
        (lambda state, tokens: (([0],), 0), r"gives \(\(\[0\],\), 0\) for"),
        (lambda state, tokens: (0, 1 if tokens[0] else None), "emits a token after some states"),
    ],
)
def test_a_function_that_takes_no_step_is_refused_with_what_it_gives(step: object, what: str) -> None:
    with pytest.raises(InputError, match=f"step {what}"):
        fold_of(step, start=0, length=1, stages=[((0,), [(0,), (1,)])], answer=[0])  # pyright: ignore[reportArgumentType]


def test_a_function_may_count_in_numbers_of_numpy() -> None:
    fold = fold_of(
        lambda state, tokens: (0, np.int64(tokens[0])), start=0, length=1, stages=[((0,), [(3,), (4,)])], answer=[0]
    )
    assert fold.answers(every_choice(fold)).tolist() == [[3], [4]]
