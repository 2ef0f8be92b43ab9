r"""Rules with a state that are answered token by token: 10-digit addition, on all $10^{20}$ inputs.

A *fold* reads its input in stages, each some tokens of the prompt, and carries a state from stage to stage: the digits
of two numbers from the last to the first, and the carry. A stage may emit a token of the answer. The prompt shows the
tokens in any order, and the answer may be said in any order.

Page: docs/folds.md
"""

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.errors import FileFormatError, HypothesisError, InputError, require_at_least
from constructions.numeric.arrays import Int64Array
from constructions.numeric.frozen_arrays import frozen_copy
from constructions.tasks.stored import Reader, Stored, require_reads_tokens

OF_A_FOLD = "rule: token by token, "
"""How the origin of the answers begins where a rule with a state says them."""

OWN = "one's own"
"""The name of every rule that has no other here."""

_LARGEST_TOKEN = 2**31
_MOST_STATES = 2**16


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", tuple(int(position) for position in self.positions))
        for name in ("choices", "steps", "emits"):
            array = getattr(self, name)
            if array is None and name == "emits":
                continue
            array = np.asarray(array)
            if array.dtype != np.int64 or array.ndim != 2:
                raise InputError(name, f"is {array.dtype} of shape {array.shape}", "int64 of 2 dimensions")
            object.__setattr__(self, name, frozen_copy(array))

    @property
    def states(self) -> int:
        """Number of states before the stage."""
        return len(self.steps)

    @property
    def next_states(self) -> int:
        """Number of states after the stage."""
        return int(self.steps.max()) + 1


@dataclass(frozen=True, eq=False)
class Fold(Stored):
    """A rule with a state on a whole domain, answered token by token.

    Args:
        name: What it is called, e.g. ``"addition of 10 digits in base 10"``, or ``"one's own"``. It is checked: a rule
            of another name than that has the states, the steps and the answers of the rule that is called so.
        length: How many tokens the prompt has, $L$.
        fixed: The tokens of the prompt that are the same in all inputs, by position.
        stages: The stages, in the order in which the state goes through them; the first begins in state 0.
        answer: Which stage emits each token of the answer, in the order in which the answer is said: token
            $j$ stands at position $L + j$.

    Raises:
        InputError: A position of the prompt that no stage reads and that is not fixed, or that is read twice; a stage
            whose states are not those that the stage before leaves; or an answer that is not said once by each stage
            that emits; or a name that is not that of the rule.
    """

    holds = "fold"
    name: str
    length: int
    fixed: Mapping[int, int]
    stages: tuple[Stage, ...]
    answer: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(self.stages))
        object.__setattr__(self, "answer", tuple(int(number) for number in self.answer))
        object.__setattr__(self, "fixed", {int(place): int(token) for place, token in sorted(self.fixed.items())})
        if not self.stages or self.length < 1:
            raise InputError("stages", f"are {len(self.stages)} of {self.length} tokens", "at least one of each")
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
        least = min([*self.fixed.values(), 0])
        if least < 0 or self.largest_token >= _LARGEST_TOKEN:
            raise InputError("tokens", f"are from {least} to {self.largest_token}", "0 to 2^31 - 1")
        self._check_name()

    def _check_name(self) -> None:
        """Refuse the name of another rule, by comparing states, steps and answers; token layouts may differ."""
        if self.name == OWN:
            return
        named = _named(self.name, len(self.stages), len(self.stages[0].choices))
        same = named is not None and len(named) == len(self.stages)
        if named is None or not same or not all(map(_is_as, self.stages, named)):
            raise InputError("name", f"is {self.name!r}", f"that of these states, or {OWN!r}")

    def words(self) -> dict[str, Any]:
        """Return the name, the length, and the stages of the answer."""
        return {"rule": self.name, "length": self.length, "answer": list(self.answer), "stages": len(self.stages)}

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of ``task.safetensors`` by name, in the order in which they are hashed; none of them is
        empty.
        """
        named: dict[str, NDArray] = {}
        if self.fixed:
            named["fixed"] = np.array(list(self.fixed.items()), dtype=np.int64)
        for number, stage in enumerate(self.stages):
            if stage.positions:
                named[f"positions_{number}"] = np.array(stage.positions, dtype=np.int64)
                named[f"choices_{number}"] = stage.choices
            named[f"steps_{number}"] = stage.steps
            if stage.emits is not None:
                named[f"emits_{number}"] = stage.emits
        return named

    @classmethod
    def from_arrays(cls, path: Path, words: dict[str, Any], arrays: dict[str, NDArray]) -> "Fold":
        """Return the rule of the words and arrays that were read from `path`.

        Raises:
            FileFormatError: They are not the fields of such a rule.
        """
        try:
            fold = cls(
                words["rule"], words["length"], _fixed(arrays), _stages(words["stages"], arrays), words["answer"]
            )
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{path} is not a rule with a state: {error}") from error
        if fold.words() != words or set(fold.arrays()) != set(arrays):
            raise FileFormatError(f"{path} is not a rule with a state: it holds {sorted({**words, **arrays})}")
        return fold

    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model reads the prompts and the answers, and has an output for each token."""
        require_reads_tokens(model)
        if self.longest > model.n_ctx:
            raise InputError("task", f"takes {self.longest} positions", f"at most n_ctx = {model.n_ctx}")
        for name, size in (("d_vocab", model.d_vocab), ("d_vocab_out", model.d_vocab_out)):
            if self.largest_token >= size:
                raise InputError("task", f"has the token {self.largest_token}", f"tokens below {name} = {size}")

    @property
    def inputs(self) -> int:
        """Number of inputs, exactly."""
        return math.prod(len(stage.choices) for stage in self.stages)

    @property
    def origin(self) -> str:
        """Source of the answers: the rule, and how its inputs are read and its answers emitted."""
        return f"{OF_A_FOLD}{self.name}, read as {self.layout}"

    @property
    def layout(self) -> str:
        """The tokens in order: ``a3`` is the first one of stage 3, ``b3`` the second; the answer follows.

        Example:
            >>> addition(10).layout
            'a0..a9 [0] b0..b9 [0], answered s0..s10'
        """
        prompt: dict[int, tuple[str, int]] = {place: ("", token) for place, token in self.fixed.items()}
        for number, stage in enumerate(self.stages):
            for column, place in enumerate(stage.positions):
                prompt[place] = chr(ord("a") + column) if column < 18 else "z", number
        answer_tokens = [("s", number) for number in self.answer]
        return f"{_in_words([prompt[place] for place in range(self.length)])}, answered {_in_words(answer_tokens)}"

    @property
    def guess_most(self) -> int:
        """Upper bound of the number of inputs that share an answer.

        Of each state at most so many beginnings of inputs with the same beginning of an answer lead to it: those that
        go on with one token, each counted as often as the state before it at most is.
        """
        most, largest = [1], 1
        for stage in self.stages:
            largest = 0
            emits = np.zeros_like(stage.steps) if stage.emits is None else stage.emits
            after = [0] * stage.next_states
            for token in np.unique(emits).tolist():
                reached = [0] * stage.next_states
                for state, choice in np.argwhere(emits == token).tolist():
                    reached[int(stage.steps[state, choice])] += most[state]
                after = list(map(max, after, reached))
                largest = max(largest, sum(reached))
            most = after
        return min(largest, self.inputs)

    @property
    def longest(self) -> int:
        """Largest number of tokens that the model reads: the prompt and the answer without its last token."""
        return self.length + len(self.answer) - 1

    @property
    def largest_token(self) -> int:
        """The largest token of any prompt or answer."""
        parts = [np.array(list(self.fixed.values()), dtype=np.int64)]
        parts += [stage.choices.reshape(-1) for stage in self.stages]
        parts += [stage.emits.reshape(-1) for stage in self.stages if stage.emits is not None]
        return int(max(part.max(initial=0) for part in parts))

    def drawn(self, count: int) -> Int64Array:
        """Draw inputs with a fixed seed; return their choice at each stage, `[count, stages]`."""
        rng = np.random.default_rng(0)
        return np.stack([rng.integers(len(stage.choices), size=count) for stage in self.stages], axis=1)

    def prompts(self, choices: Int64Array) -> Int64Array:
        """Return the prompts of inputs, `[n, L]`.

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
        """Return the answers to inputs, `[n, tokens of the answer]`."""
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
    r"""Return the addition of two numbers of `digits` digits: $\mathrm{base}^{2 \cdot \mathrm{digits}}$ inputs.

    The prompt is `before`, the digits of the first number, `plus`, the digits of the second, `equals`; the answer is
    the digits of the sum. Numbers have leading zeros.

    Args:
        digits: Number of digits of each number, n.
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
    answer_length = digits + 1 if sum_digits is None else sum_digits
    if not 1 <= answer_length <= digits + 1:
        raise InputError("sum_digits", f"= {answer_length}", f"1 to {digits + 1}")
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

    stages = []
    for digit, (choices, steps, emits) in enumerate(_steps_of_addition(digits, base, answer_length)):
        positions = (first + places[digit], second + places[digit]) if digit < digits else ()
        stages.append(Stage(positions, choices, steps, emits))
    answer = range(answer_length) if first_digit_of_sum == "least" else range(answer_length - 1, -1, -1)
    name = f"addition of {digits} digits in base {base}"
    name += "" if answer_length == digits + 1 else f", {answer_length} digits of the sum"
    return Fold(name, end + len(equals), fixed, tuple(stages), tuple(answer))


Steps = tuple[Int64Array, Int64Array, Int64Array | None]
"""What a stage may read, the states behind it and what it emits, as in `Stage`."""


def _steps_of_addition(digits: int, base: int, said: int) -> list[Steps]:
    """Add with the carry as the state; the last stage emits it."""
    pairs = np.stack(np.divmod(np.arange(base**2), base), axis=1)
    steps: list[Steps] = []
    for digit in range(digits):
        total = np.arange(1 if digit == 0 else 2)[:, None] + pairs.sum(axis=1)
        steps.append((pairs, total // base, total % base if digit < said else None))
    last = np.array([[0], [1]]) if said == digits + 1 else None
    return [*steps, (np.zeros((1, 0), dtype=np.int64), np.zeros((2, 1), dtype=np.int64), last)]


def _steps_of_sum(terms: int, below: int, modulus: int) -> list[Steps]:
    """Add with the sum so far, not its remainder, as the state, because an averaging head sees the sum. The last stage
    emits it.
    """
    tokens, steps, states = np.arange(below), [], 1
    for term in range(terms):
        after = np.arange(states)[:, None] + tokens
        steps.append((tokens[:, None], after, after % modulus if term == terms - 1 else None))
        states = int(after.max()) + 1
    return steps


def _steps_of_maximum(count: int, below: int) -> list[Steps]:
    """Keep the largest token so far as the state; the last stage emits it."""
    tokens, steps = np.arange(below), []
    for place in range(count):
        after = np.maximum(np.arange(below if place else 1)[:, None], tokens)
        steps.append((tokens[:, None], after, after if place == count - 1 else None))
    return steps


def _is_as(stage: Stage, steps: Steps) -> bool:
    """Tell whether two stages read the same tokens, go to the same states and emit the same tokens."""
    if (stage.emits is None) != (steps[2] is None):
        return False
    mine = stage.choices, stage.steps, stage.emits
    return all(one is None or np.array_equal(one, other) for one, other in zip(mine, steps, strict=True))  # pyright: ignore


def _fixed(arrays: Mapping[str, NDArray]) -> dict[int, int]:
    if "fixed" not in arrays:
        return {}
    fixed = arrays["fixed"]
    if fixed.ndim != 2 or fixed.shape[1] != 2 or len(set(fixed[:, 0].tolist())) != len(fixed):
        raise InputError("fixed", f"has the shape {fixed.shape}", "a position and a token in each row, each once")
    return {int(place): int(token) for place, token in fixed}


def _stages(count: int, arrays: Mapping[str, NDArray]) -> tuple[Stage, ...]:
    stages = []
    for number in range(count):
        positions = arrays.get(f"positions_{number}", np.zeros(0, dtype=np.int64))
        choices = arrays[f"choices_{number}"] if len(positions) else np.zeros((1, 0), dtype=np.int64)
        steps, emits = arrays[f"steps_{number}"], arrays.get(f"emits_{number}")
        stages.append(Stage(tuple(positions.tolist()), choices, steps, emits))
    return tuple(stages)


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
    if steps.max() >= steps.size:
        raise InputError(f"{what}.steps", f"leads to the state {steps.max()}", f"states below {steps.size}")
    if emits is not None and (emits.shape != steps.shape or emits.min() < 0):
        raise InputError(f"{what}.emits", f"has the shape {emits.shape}", f"{steps.shape}, tokens from 0 on")


def _in_words(places: Sequence[tuple[str, int]]) -> str:
    """Return the names of places; of consecutive places only the first and the last."""
    words, start = [], 0
    while start < len(places):
        letter, number = places[start]
        if not letter:
            words.append(f"[{number}]")
            start += 1
            continue
        stop = start + 1
        step = places[stop][1] - number if stop < len(places) and places[stop][0] == letter else 0
        while abs(step) == 1 and stop < len(places) and places[stop] == (letter, number + step * (stop - start)):
            stop += 1
        words.append(f"{letter}{number}" + (f"..{letter}{places[stop - 1][1]}" if stop - start > 1 else ""))
        start = stop
    return " ".join(words)


def fold_of(
    step: Callable[[Any, tuple[int, ...]], tuple[Hashable, int | None]],
    *,
    start: Hashable,
    length: int,
    stages: Sequence[tuple[Sequence[int], Sequence[Sequence[int]]]],
    answer: Sequence[int],
    fixed: Mapping[int, int] | None = None,
) -> Fold:
    """Return a fold defined by a user's function that performs one step.

    Args:
        step: From a state and the tokens of a stage, to the next state and the token that is emitted, or none.
        start: The first state.
        length: How many tokens the prompt has.
        stages: For each stage, the positions that it reads, and what may stand there.
        answer: The stages that emit, in the order in which the answer is said.
        fixed: The tokens that are the same in all prompts, by position.

    Raises:
        HypothesisError: More than 65,536 states are reached.
        InputError: As `Fold`; or a function that fails, gives something else, or emits after some states and not after
            others in one stage.

    Example:
        >>> bits = [((place,), [(0,), (1,)]) for place in range(3)]
        >>> parities = fold_of(lambda odd, bit: (odd ^ bit[0], odd ^ bit[0]), start=0, length=3, stages=bits,
        ...                    answer=[0, 1, 2])
        >>> parities.answers(np.array([[1, 0, 1]])).tolist()
        [[1, 1, 0]]
    """
    before: list[Hashable] = [start]
    new_stages = []
    for positions, choices in stages:
        places: dict[Hashable, int] = {}
        moves = [[_stepped(step, state, tuple(tokens)) for tokens in choices] for state in before]
        steps = [[places.setdefault(state, len(places)) for state, _ in row] for row in moves]
        if len(places) > _MOST_STATES:
            raise HypothesisError("Theorem FD1", f"a rule with at most {_MOST_STATES} states", f"{len(places)}")
        emitted = [[-1 if token is None else token for _, token in row] for row in moves]
        some = any(token >= 0 for row in emitted for token in row)
        if some and any(token < 0 for row in emitted for token in row):
            what = f"emits a token after some states and tokens of the positions {list(positions)}, none after others"
            raise InputError("step", what, "a token always, or None always")
        table = np.array([list(tokens) for tokens in choices], dtype=np.int64).reshape(len(choices), len(positions))
        emits = np.array(emitted, dtype=np.int64) if some else None
        new_stages.append(Stage(tuple(positions), table, np.array(steps, dtype=np.int64), emits))
        before = list(places)
    return Fold(OWN, length, fixed or {}, tuple(new_stages), tuple(answer))


def _stepped(step: Callable[..., Any], state: Hashable, tokens: tuple[int, ...]) -> tuple[Hashable, int | None]:
    """Return the next state and the emitted token, or None, after checking the result of a user's function."""
    try:
        result = step(state, tokens)
    except Exception as error:
        raise InputError("step", f"fails on {(state, tokens)!r}: {type(error).__name__}: {error}") from error
    expected = "a state that may be a key of a dict, and a token from 0 on or None"
    if not isinstance(result, tuple) or len(result) != 2:
        raise InputError("step", f"gives {result!r} for {(state, tokens)!r}", expected)
    after, token = result
    is_token = token is None or (isinstance(token, int | np.integer) and not isinstance(token, bool) and token >= 0)
    if not is_token or not isinstance(after, Hashable):
        raise InputError("step", f"gives {result!r} for {(state, tokens)!r}", expected)
    try:
        hash(after)
    except TypeError as error:  # a tuple of what is not
        raise InputError("step", f"gives {result!r} for {(state, tokens)!r}", expected) from error
    return after, token if token is None else int(token)


def modular_sum(terms: int, *, below: int, modulus: int, equals: Sequence[int] = ()) -> Fold:
    """Return the sum of `length` tokens below a number, modulo another; parity is the sum of tokens below 2, modulo 2.

    Args:
        terms: Number of tokens.
        below: They are below this.
        modulus: Modulus of the sum.
        equals: The tokens after them.

    Example:
        >>> modular_sum(64, below=2, modulus=2, equals=[2]).inputs == 2**64
        True
    """
    require_at_least(1, terms=terms, below=below, modulus=modulus)
    name = f"sum of {terms} tokens below {below} modulo {modulus}"
    return _one_by_one(name, _steps_of_sum(terms, below, modulus), equals)


def maximum(count: int, *, below: int, equals: Sequence[int] = ()) -> Fold:
    """Return the largest of `length` tokens below a number.

    Args:
        count: Number of tokens.
        below: They are below this.
        equals: The tokens after them.
    """
    require_at_least(1, count=count, below=below)
    return _one_by_one(f"maximum of {count} tokens below {below}", _steps_of_maximum(count, below), equals)


def _one_by_one(name: str, steps: Sequence[Steps], equals: Sequence[int]) -> Fold:
    """Return a fold that reads one token per stage, followed by the tokens after all of them."""
    stages = [Stage((place,), *step) for place, step in enumerate(steps)]
    fixed = {len(stages) + place: token for place, token in enumerate(equals)}
    return Fold(name, len(stages) + len(equals), fixed, tuple(stages), (len(stages) - 1,))


def _named(name: object, stages: int, choices: int) -> list[Steps] | None:
    """Return the stages of the rule with this name, or None if it does not have this many stages and first choices."""
    number = r"([1-9]\d{0,8})"
    if match := re.fullmatch(
        f"addition of {number} digits in base {number}(?:, {number} digits of the sum)?", str(name)
    ):
        digits, base = int(match[1]), int(match[2])
        if (digits + 1, base**2) == (stages, choices):
            return _steps_of_addition(digits, base, int(match[3]) if match[3] else digits + 1)
    if match := re.fullmatch(f"sum of {number} tokens below {number} modulo {number}", str(name)):
        if (int(match[1]), int(match[2])) == (stages, choices):
            return _steps_of_sum(stages, choices, int(match[3]))
    if match := re.fullmatch(f"maximum of {number} tokens below {number}", str(name)):
        if (int(match[1]), int(match[2])) == (stages, choices):
            return _steps_of_maximum(stages, choices)
    return None
