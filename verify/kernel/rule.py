"""Read a task file that is a rule on a whole domain: an automaton that reads an input from left to right.

Page: docs/rigour/domains.md
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from verify.kernel.files import Tensor, require_fields, sha256_of
from verify.kernel.model import Model
from verify.kernel.numerals import counted
from verify.kernel.task import FILE, Context, Task
from verify.kernel.verdicts import BadInputError

TASK = "rule"
_TOGETHER = 2**16  # inputs that are looked at together
_FEW = 64  # inputs that are looked at first, to know how long the others take
_LARGEST_TOKEN = 2**31
_LARGEST_DOMAIN = 2**63

Steps = list[list[int]]  # of each state and token the next state


@dataclass(frozen=True)
class Rule:
    """The allowed tokens at each position, and the answer to each such input.

    Args:
        name: That of the rule; "own" if it has none.
        reads: The positions that it looks at, in increasing order.
        tokens: For each position, those that stand there, in increasing order.
        steps: For each position, the next state for each state and token; the first state is 0.
        answers: The answer of each last state.
        sha256: The hash.
    """

    name: str
    reads: list[int]
    tokens: list[list[int]]
    steps: list[Steps]
    answers: list[int]
    sha256: str
    target = "labels"
    first = "domain"
    statements = frozenset(("domain", "runs", "sample"))

    @property
    def size(self) -> int:
        """Number of inputs."""
        return math.prod(map(len, self.tokens))

    def sizes(self) -> dict[str, int]:
        """Return the sizes under the names of a certificate."""
        return {"contexts": self.size, "context_length": len(self.tokens), "all_contexts": self.size}

    def misfit(self, model: Model) -> str:
        """Explain why a model cannot read or answer the task; empty if it can."""
        if (
            not model.reads_tokens
            or model.positions < len(self.tokens)
            or max(map(max, self.tokens)) >= model.vocabulary
        ):
            return "reads no tokens, too few of them, or too short inputs"
        return "" if max(self.answers) < model.outputs else "has no output for an answer of the rule"

    def parts(self) -> Iterator[Task]:
        """Yield all inputs in batches."""
        return (self.part(numbers) for numbers in some_at_a_time(self.size))

    def part(self, numbers: Iterable[int]) -> Task:
        """Return the inputs with these numbers, and their labels, as a task; the last position varies fastest."""
        inputs = [self._input(number) for number in numbers]
        labels = [self._label(input_tokens) for input_tokens in inputs]
        return Task(self.target, self.origin, max(self.answers) + 1, inputs, labels, None, [], [], self.sha256, None)

    def _input(self, number: int) -> Context:
        tokens = []
        for here in reversed(self.tokens):
            number, place = divmod(number, len(here))
            tokens.append(here[place])
        return tuple(reversed(tokens))

    @cached_property
    def _places(self) -> list[dict[int, int]]:
        return [{token: place for place, token in enumerate(here)} for here in self.tokens]

    def _label(self, context: Context) -> int:
        state = 0
        for step, places, token in zip(self.steps, self._places, context, strict=True):
            state = step[state][places[token]]
        return self.answers[state]

    @cached_property
    def most_frequent(self) -> int:
        """Number of inputs with the most frequent answer, counted by the paths to each state."""
        inputs = {0: 1}
        for step in self.steps:
            after: Counter[int] = Counter()
            for state, count in inputs.items():
                for following in step[state]:
                    after[following] += count
            inputs = after
        answered: Counter[int] = Counter()
        for state, count in inputs.items():
            answered[self.answers[state]] += count
        return max(answered.values())

    @cached_property
    def origin(self) -> str:
        """Source of the targets in the words of certificates."""
        description = f"rule: {self.name if self.name != 'own' else 'one' + chr(39) + 's own function'}"
        description += f" of {counted(len(self.reads), 'token')}"
        first = self.tokens[self.reads[0]]
        if first == list(range(len(first))) and all(self.tokens[s] == first for s in self.reads):
            description += f" below {len(first)}"
        others = [s for s in range(len(self.tokens)) if s not in self.reads]
        for where, places in (
            ("before", [s for s in others if s < self.reads[0]]),
            ("behind", [s for s in others if s > self.reads[-1]]),
            ("between", [s for s in others if self.reads[0] < s < self.reads[-1]]),
        ):
            if places:
                shown = [str(self.tokens[s][0]) for s in places[:4]] + ["..."] * (len(places) > 4)
                description += f", {where} them {' '.join(shown)}"
        return description


def some_at_a_time(count: int) -> Iterator[range]:
    """Yield the numbers below a count, in small batches first and then some thousands at a time."""
    ends = [0, *range(min(_FEW, count), count, _TOGETHER), count]
    return (range(start, end) for start, end in pairwise(ends))


def read(words: dict[str, Any], arrays: dict[str, Tensor]) -> Rule:
    """Return the rule of these words and arrays.

    Raises:
        BadInputError: They are anything but a rule in its one form; or the automaton is not that of its name.
    """
    require_fields(FILE, "metadata", words, ["task", "rule"])
    if not isinstance(words["rule"], str):
        raise BadInputError(FILE, "rule", "is not a text")
    length = sum(name.startswith("tokens_") for name in arrays)
    order = {"reads": 1, **{f"tokens_{s}": 1 for s in range(length)}, **{f"steps_{s}": 2 for s in range(length)}}
    order["answers"] = 1
    require_fields(FILE, "arrays", arrays, order)
    for name, axes in order.items():
        if arrays[name].values.typecode != "q" or len(arrays[name].shape) != axes or 0 in arrays[name].shape:
            raise BadInputError(FILE, name, f"is of another type, empty, or has not {axes} axes")
    tokens = [list(arrays[f"tokens_{s}"].values) for s in range(length)]
    tables = [arrays[f"steps_{s}"] for s in range(length)]
    steps = [[list(table.row(state)) for state in range(table.shape[0])] for table in tables]
    answers, reads = list(arrays["answers"].values), list(arrays["reads"].values)
    if reads != sorted(set(reads) & set(range(length))):
        raise BadInputError(FILE, "reads", "does not name positions in increasing order")
    if any(len(here) != 1 for s, here in enumerate(tokens) if s not in set(reads)):
        raise BadInputError(FILE, "tokens", "are several at a position that is not read")
    _require_automaton(tokens, steps, answers)
    if words["rule"] != "own" and _named(words["rule"], tokens, set(reads)) != (steps, answers):
        raise BadInputError(FILE, "rule", f"is {words['rule'][:40]!r}, but the automaton is that of another rule")
    return Rule(words["rule"], reads, tokens, steps, answers, sha256_of(words, {name: arrays[name] for name in order}))


def _require_automaton(tokens: list[list[int]], steps: list[Steps], answers: list[int]) -> None:
    """Require increasing tokens, steps to states 0, 1, ... that are all reached, and an answer for each final state."""
    states = 1
    for s, (here, step) in enumerate(zip(tokens, steps, strict=True)):
        if here[0] < 0 or here[-1] >= _LARGEST_TOKEN or any(a >= b for a, b in pairwise(here)):
            raise BadInputError(FILE, f"tokens_{s}", "do not increase, or are too large")
        reached = {state for row in step for state in row}
        if len(step) != states or len(step[0]) != len(here) or reached != set(range(len(reached))):
            raise BadInputError(FILE, f"steps_{s}", "are those of no automaton")
        states = len(reached)
    if len(answers) != states or not all(0 <= answer < _LARGEST_TOKEN for answer in answers):
        raise BadInputError(FILE, "answers", "are not one token for each last state")
    if math.prod(map(len, tokens)) >= _LARGEST_DOMAIN:
        raise BadInputError(FILE, "tokens", "make 2^63 inputs or more")


def _named(name: str, tokens: list[list[int]], reads: set[int]) -> tuple[list[Steps], list[int]] | None:
    """Return the automaton of a named rule, or none for any other rule.

    Its states are the values so far, in increasing order.
    """
    modulus = name.removeprefix("sum mod ")
    of_one: Callable[[int], int] = lambda token: token  # noqa: E731
    of_two: dict[str, Callable[[int, int], int]] = {
        "max": max,
        "min": min,
        "first": lambda value, token: value,
        "last": lambda value, token: token,
    }
    if modulus != name and modulus.isascii() and modulus.isdigit() and len(modulus) <= 10:
        m = int(modulus)
        if str(m) != modulus or not 1 <= m < _LARGEST_TOKEN:
            return None
        of_one, of_two[name] = (lambda token: token % m), (lambda value, token: (value + token) % m)
    if name not in of_two:
        return None
    steps: list[Steps] = []
    values: list[int] | None = None
    for s, here in enumerate(tokens):
        if s not in reads:
            steps.append([[state] for state in range(1 if values is None else len(values))])
            continue
        residue = [of_one(token) for token in here]
        after = [residue] if values is None else [[of_two[name](value, token) for token in residue] for value in values]
        values = sorted({value for row in after for value in row})
        places = {value: place for place, value in enumerate(values)}
        steps.append([[places[value] for value in row] for row in after])
    return steps, values or []
