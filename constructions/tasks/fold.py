r"""Rules with a state that are answered token by token: 10-digit addition, on all $10^{20}$ inputs.

A *fold* reads its input in stages, each some tokens of the prompt, and carries a state from stage to stage: the digits
of two numbers from the last to the first, and the carry. A stage may emit a token of the answer. The prompt shows the
tokens in any order, and the answer may be said in any order.

Page: docs/folds.md
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from constructions.arrays import Int64Array
from constructions.errors import InputError, require_at_least


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of a fold.

    Args:
        positions: Where in the prompt the tokens of the stage stand, k of them; none for a stage that only emits.
        choices: What these tokens may be, `[C, k]`, each row once.
        steps: The state after the stage, `[states, C]`.
        emits: The token of the answer that the stage emits, `[states, C]`; `None` where it emits none.
    """

    positions: tuple[int, ...]
    choices: Int64Array
    steps: Int64Array
    emits: Int64Array | None = None

    @property
    def states(self) -> int:
        """How many states there may be before the stage."""
        return len(self.steps)

    @property
    def next_states(self) -> int:
        """How many states there may be after the stage."""
        return int(self.steps.max()) + 1


@dataclass(frozen=True, eq=False)
class Fold:
    """A rule with a state on a whole domain, answered token by token.

    Args:
        name: What it is called, e.g. ``"addition of 10 digits in base 10"``.
        length: How many tokens the prompt has, $L$.
        fixed: The tokens of the prompt that are the same in all inputs, by position.
        stages: The stages, in the order in which the state goes through them; the first begins in state 0.
        answer: Which stage emits each token of the answer, in the order in which the answer is said: token
            $j$ stands at position $L + j$.

    Raises:
        InputError: A position of the prompt that no stage reads and that is not fixed, or that is read twice; a stage
            whose states are not those that the stage before leaves; or an answer that is not said once by each stage
            that emits.
    """

    name: str
    length: int
    fixed: Mapping[int, int]
    stages: tuple[Stage, ...]
    answer: tuple[int, ...]
    inputs: int = field(init=False)

    def __post_init__(self) -> None:
        read = [position for stage in self.stages for position in stage.positions]
        everywhere = sorted([*read, *self.fixed])
        if everywhere != list(range(self.length)):
            raise InputError(
                "stages", f"read the positions {sorted(read)}", f"each of the {self.length} that is not fixed, once"
            )
        states = 1
        for number, stage in enumerate(self.stages):
            _require_stage(number, stage, states)
            states = stage.next_states
        emitting = [number for number, stage in enumerate(self.stages) if stage.emits is not None]
        if not self.answer or sorted(self.answer) != emitting:
            raise InputError("answer", f"is said by the stages {list(self.answer)}", f"each of {emitting} once")
        inputs = 1
        for stage in self.stages:
            inputs *= len(stage.choices)
        object.__setattr__(self, "inputs", inputs)

    @property
    def longest(self) -> int:
        """How many tokens the model reads at most: the prompt and all of the answer but its last token."""
        return self.length + len(self.answer) - 1

    @property
    def largest_token(self) -> int:
        """The largest token of any prompt or answer."""
        parts = [np.array(list(self.fixed.values()), dtype=np.int64)]
        parts += [stage.choices.reshape(-1) for stage in self.stages]
        parts += [stage.emits.reshape(-1) for stage in self.stages if stage.emits is not None]
        return int(max(part.max(initial=0) for part in parts))

    def prompts(self, choices: Int64Array) -> Int64Array:
        """The prompts of inputs, `[n, L]`.

        Args:
            choices: Which choice each input has at each stage, `[n, stages]`.
        """
        prompts = np.empty((len(choices), self.length), dtype=np.int64)
        for position, token in self.fixed.items():
            prompts[:, position] = token
        for stage, chosen in zip(self.stages, choices.T, strict=True):
            prompts[:, list(stage.positions)] = stage.choices[chosen]
        return prompts

    def answers(self, choices: Int64Array) -> Int64Array:
        """The answers to inputs, `[n, tokens of the answer]`."""
        state = np.zeros(len(choices), dtype=np.int64)
        emitted = {}
        for number, (stage, chosen) in enumerate(zip(self.stages, choices.T, strict=True)):
            if stage.emits is not None:
                emitted[number] = stage.emits[state, chosen]
            state = stage.steps[state, chosen]
        return np.stack([emitted[number] for number in self.answer], axis=1)


def addition(
    digits: int = 10,
    *,
    base: int = 10,
    first_digit: str = "least",
    first_digit_of_sum: str = "least",
    plus: Sequence[int] = (0,),
    equals: Sequence[int] = (0,),
    before: Sequence[int] = (),
    sum_digits: int | None = None,
) -> Fold:
    r"""The sum of two numbers of so many digits: $\mathrm{base}^{2 \cdot \mathrm{digits}}$ inputs.

    The prompt is `before`, the digits of the first number, `plus`, the digits of the second, `equals`; the answer is
    the digits of the sum. Numbers have leading zeros.

    Args:
        digits: Of each number, n.
        base: At least 2; the digits are the tokens 0 to base - 1.
        first_digit: ``"least"`` or ``"most"``: the digit of a number that comes first.
        first_digit_of_sum: Likewise of the sum.
        plus: The tokens between the numbers.
        equals: The tokens after the second number.
        before: The tokens before the first number.
        sum_digits: How many digits of the sum are said, from the least on; by default n + 1.

    Raises:
        InputError: A size that is too small, or an unknown order.

    Example:
        >>> fold = addition(2, plus=[10], equals=[11])
        >>> fold.inputs, fold.prompts(np.array([[57, 99, 0]])).tolist(), fold.answers(np.array([[57, 99, 0]])).tolist()
        (10000, [[5, 9, 10, 7, 9, 11]], [[2, 9, 1]])
    """
    require_at_least(1, digits=digits)
    require_at_least(2, base=base)
    said = digits + 1 if sum_digits is None else sum_digits
    if not 1 <= said <= digits + 1:
        raise InputError("sum_digits", f"= {said}", f"1 to {digits + 1}")
    orders = {"least": range(digits), "most": range(digits - 1, -1, -1)}
    for name, order in (("first_digit", first_digit), ("first_digit_of_sum", first_digit_of_sum)):
        if order not in orders:
            raise InputError(name, f"= {order!r}", "'least' or 'most'")
    places = {digit: place for place, digit in enumerate(orders[first_digit])}  # of the digit of weight base^digit
    first, second = len(before), len(before) + digits + len(plus)
    end = second + digits
    fixed = dict(enumerate(before))
    fixed |= {first + digits + i: token for i, token in enumerate(plus)}
    fixed |= {end + i: token for i, token in enumerate(equals)}

    pairs = np.stack(np.divmod(np.arange(base**2), base), axis=1)
    sums = pairs.sum(axis=1)
    stages = []
    for digit in range(digits):
        carries = np.arange(1 if digit == 0 else 2)[:, None]
        total = carries + sums
        emits = total % base if digit < said else None
        stages.append(Stage((first + places[digit], second + places[digit]), pairs, total // base, emits))
    nothing = np.zeros((1, 0), dtype=np.int64)
    last = np.array([[0], [1]]) if said == digits + 1 else None
    stages.append(Stage((), nothing, np.zeros((2, 1), dtype=np.int64), last))
    answer = range(said) if first_digit_of_sum == "least" else range(said - 1, -1, -1)
    name = f"addition of {digits} digits in base {base}"
    return Fold(name, end + len(equals), fixed, tuple(stages), tuple(answer))


def _require_stage(number: int, stage: Stage, states: int) -> None:
    """Refuse a stage whose arrays do not fit each other or the states before it."""
    what = f"stages[{number}]"
    choices, steps, emits = stage.choices, stage.steps, stage.emits
    if choices.ndim != 2 or choices.shape[1] != len(stage.positions) or not len(choices):
        raise InputError(f"{what}.choices", f"has the shape {choices.shape}", f"[choices, {len(stage.positions)}]")
    if choices.size and choices.min() < 0:
        raise InputError(f"{what}.choices", f"has the token {choices.min()}", "tokens from 0 on")
    if len(np.unique(choices, axis=0)) != len(choices):
        raise InputError(f"{what}.choices", "has a row twice", "each input once")
    if steps.shape != (states, len(choices)) or steps.min() < 0:
        raise InputError(
            f"{what}.steps", f"has the shape {steps.shape}", f"({states}, {len(choices)}), states from 0 on"
        )
    if emits is not None and (emits.shape != steps.shape or emits.min() < 0):
        raise InputError(f"{what}.emits", f"has the shape {emits.shape}", f"{steps.shape}, tokens from 0 on")


def shown(fold: Fold, choices: Int64Array) -> Iterator[tuple[list[int], list[int]]]:
    """The prompts and answers of inputs, as lists."""
    yield from zip(fold.prompts(choices).tolist(), fold.answers(choices).tolist(), strict=True)
