"""A rule on a domain and the inputs that a sample draws, read, hashed and counted by the standard library alone.

Page: docs/rigour/domains.md
"""

import hashlib
import json
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count as numbers
from itertools import pairwise
from math import comb
from pathlib import Path

from constructions.errors import FileFormatError
from verify.independent.plain.plain_arrays import PlainArray, reading
from verify.independent.plain.plain_task import read_words, task_sha256

_LARGEST_TOKEN = 2**31
_LARGEST_DOMAIN = 2**63


@dataclass(frozen=True)
class PlainRule:
    """The tokens of each position, the automaton that reads them, and the hash.

    Args:
        rule: The name.
        reads: The positions that it reads.
        tokens: Of each position.
        steps: Of each position, state and token the next state.
        answers: What follows each last state.
        sha256: The hash.
    """

    rule: str
    reads: list[int]
    tokens: list[list[int]]
    steps: list[list[list[int]]]
    answers: list[int]
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "PlainRule":
        """Read what `constructions.tasks.rule.RuleTask.save` writes, and nothing else.

        Raises:
            FileFormatError: The file is missing or is not such a file; or the automaton is not that of its name.
        """
        with reading(path, "rule"):
            words, arrays = read_words(path, "rule")
            length = sum(name.startswith("tokens_") for name in arrays)
            names = [f"{kind}_{s}" for kind in ("tokens", "steps") for s in range(length)]
            numeric = {"reads": 1, **{name: 2 if name.startswith("steps") else 1 for name in names}, "answers": 1}
            if not length or set(words) != {"rule"} or set(arrays) != set(numeric):
                raise FileFormatError(f"{path} is no rule on a domain: it has the arrays {sorted(arrays)}")
            for name, dimensions in numeric.items():
                shape = arrays[name].shape
                if arrays[name].values.typecode != "q" or len(shape) != dimensions or 0 in shape:
                    raise FileFormatError(f"{path}: {name} is of another type or shape than in a rule")
            rule = words["rule"]
            if not isinstance(rule, str):
                raise FileFormatError(f"{path}: rule is no text")
            tokens = [list(arrays[f"tokens_{s}"].values) for s in range(length)]
            steps = [_rows(arrays[f"steps_{s}"]) for s in range(length)]
            answers, reads = list(arrays["answers"].values), list(arrays["reads"].values)
            _require_automaton(path, tokens, steps, answers)
            if reads != sorted(set(reads) & set(range(length))):
                raise FileFormatError(f"{path}: reads does not name positions")
            if not reads or any(len(here) != 1 for s, here in enumerate(tokens) if s not in reads):
                raise FileFormatError(f"{path}: positions that are not read hold several tokens")
            if rule != "own" and _named(rule, tokens, reads) != (steps, answers):
                raise FileFormatError(f"{path} is called {rule!r}, but its automaton is that of another rule")
            return cls(rule, reads, tokens, steps, answers, task_sha256("rule", words, arrays, numeric))

    @property
    def size(self) -> int:
        """How many inputs there are."""
        return math.prod(map(len, self.tokens))

    @property
    def origin(self) -> str:
        """Where the targets come from, as certificates say it."""
        said = f"rule: {self.rule}" if self.rule != "own" else "rule: one's own function"
        said += f" of {len(self.reads)} token{'s' * (len(self.reads) != 1)}"
        first = self.tokens[self.reads[0]]
        if all(self.tokens[s] == first for s in self.reads) and first == list(range(len(first))):
            said += f" below {len(first)}"
        others = [s for s in range(len(self.tokens)) if s not in self.reads]
        start, end = self.reads[0], self.reads[-1]
        for where, places in (
            ("before", [s for s in others if s < start]),
            ("behind", [s for s in others if s > end]),
            ("between", [s for s in others if start < s < end]),
        ):
            if places:
                shown = [str(self.tokens[s][0]) for s in places]
                said += f", {where} them {' '.join(shown[:4] + ['...'] * (len(shown) > 4))}"
        return said

    def most_frequent(self) -> int:
        """How many inputs have the answer that most have."""
        inputs = [1]
        for step in self.steps:
            reached = Counter[int]()
            for count, row in zip(inputs, step, strict=True):
                for state in row:
                    reached[state] += count
            inputs = [reached[state] for state in range(len(reached))]
        answered = Counter[int]()
        for count, answer in zip(inputs, self.answers, strict=True):
            answered[answer] += count
        return max(answered.values())

    def sizes(self) -> dict[str, int]:
        """The sizes of the task by the names of a certificate."""
        return {"contexts": self.size, "context_length": len(self.tokens), "all_contexts": self.size}


def _rows(found: PlainArray) -> list[list[int]]:
    return [list(found.row(i)) for i in range(found.shape[0])]


def _require_automaton(path: Path, tokens: list[list[int]], steps: list[list[list[int]]], answers: list[int]) -> None:
    """Increasing tokens; from one state on, each step leads to states that are all reached; an answer for each last."""
    states = 1
    for here, step in zip(tokens, steps, strict=True):
        good = bool(here) and here[0] >= 0 and here[-1] < _LARGEST_TOKEN and all(a < b for a, b in pairwise(here))
        reached = {state for row in step for state in row}
        good = good and len(step) == states and all(len(row) == len(here) for row in step)
        if not good or reached != set(range(len(reached))):
            raise FileFormatError(f"{path}: tokens and steps are those of no automaton")
        states = len(reached)
    if len(answers) != states or not all(0 <= answer < _LARGEST_TOKEN for answer in answers):
        raise FileFormatError(f"{path}: answers are not one token for each last state")
    if not math.prod(map(len, tokens)) < _LARGEST_DOMAIN:
        raise FileFormatError(f"{path}: the domain has 2^63 inputs or more")


def _named(rule: str, tokens: list[list[int]], reads: list[int]) -> tuple[list[list[list[int]]], list[int]] | None:
    """The automaton of a rule with a name, whose states are the values so far in increasing order."""
    sums: Callable[[int, int], int] | None = None
    modulus = 0
    if rule.startswith("sum mod "):
        text = rule.removeprefix("sum mod ")
        modulus = int(text) if text.isascii() and text.isdigit() else 0
        if text != str(modulus) or not 1 <= modulus < _LARGEST_TOKEN:
            return None
        sums = lambda value, token: (value + token) % modulus  # noqa: E731
    step = {"max": max, "min": min, "first": lambda value, _: value, "last": lambda _, token: token}.get(rule, sums)
    if step is None:
        return None
    steps: list[list[list[int]]] = []
    values: list[int] | None = None
    for s, here in enumerate(tokens):
        if s not in reads:
            steps.append([[state] for state in range(1 if values is None else len(values))])
            continue
        each = [token % modulus for token in here] if modulus else here
        after = [each] if values is None else [[step(value, token) for token in each] for value in values]
        values = sorted({value for row in after for value in row})
        places = {value: place for place, value in enumerate(values)}
        steps.append([[places[value] for value in row] for row in after])
    assert values is not None
    return steps, values


def drawn_numbers(key: list[str | int], size: int) -> list[int]:
    """The inputs that a hash draws, increasing.

    Args:
        key: The hashes of model and rule, how many are drawn, and the seed.
        size: How many inputs there are.
    """
    wanted = min(int(key[2]), size)
    text = json.dumps(["sample", *key], separators=(",", ":"), ensure_ascii=True)
    secret, bits, chosen = hashlib.sha256(text.encode()).digest(), (size - 1).bit_length(), set[int]()
    for turn in numbers() if wanted < size else ():
        if len(chosen) == wanted:
            return sorted(chosen)
        block = hashlib.sha256(secret + turn.to_bytes(8, "big")).hexdigest()
        place = int(bin(int(block, 16) | 1 << 256)[3 : 3 + bits] or "0", 2)
        if place < size:
            chosen.add(place)
    return list(range(size))


def leaves_at_most(size: int, drawn: int, missed: int, wrong: int) -> bool:
    r"""Whether more than `wrong` of all inputs would leave at most `missed` of those drawn with probability <= 2^-128.

    $\sum_{i \le k} \binom{W}{i} \binom{M - W}{N - i} 2^{128} \le \binom MN$ for $W$ = `wrong` + 1, in integers.
    """
    if wrong >= size - drawn + missed:
        return True  # the others are right
    next_one = wrong + 1
    least = max(0, drawn - (size - next_one))
    part = comb(next_one, least) * comb(size - next_one, drawn - least)
    ways = 0
    for i in range(least, missed + 1):
        ways += part
        left = size - next_one - drawn + i + 1
        part = part * (next_one - i) * (drawn - i) // ((i + 1) * left)
    return ways << 128 <= comb(size, drawn)


def most_wrong(size: int, drawn: int, missed: int) -> int:
    """The least number that `leaves_at_most` accepts: so many of all inputs can be wrong at most, but for a rare draw.

    Example:
        >>> most_wrong(10**6, 10_000, 0), most_wrong(100, 100, 7)
        (8788, 7)
    """
    return bisect_left(range(size + 1), True, lo=missed, key=lambda wrong: leaves_at_most(size, drawn, missed, wrong))
