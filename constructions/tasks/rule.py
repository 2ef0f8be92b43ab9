r"""Tasks that a rule and a domain make instead of a list: the maximum of 4 tokens, on all inputs.

Page: docs/task.md
"""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.counted import inflected
from constructions.errors import FileFormatError, InputError
from constructions.numeric.arrays import Int64Array
from constructions.numeric.frozen_arrays import frozen_copy
from constructions.tasks.arrays import array_task
from constructions.tasks.stored import Reader, Stored, require_knows, require_reads
from constructions.tasks.task import Task

RULES = ("max", "min", "first", "last", "sum")
"""The rules that have a name; of a sum the file says `sum mod M`."""

OWN = "own"
"""The name of every other rule."""

_LARGEST_DOMAIN = 2**63
_LARGEST_TABLE = 2**26  # inputs on which a function of one's own is evaluated
_LARGEST_TOKEN = 2**31
_CHUNK = 2**16


@dataclass(frozen=True, eq=False)
class RuleTask(Stored):
    """A rule on a whole domain: all inputs with a token of $D_s$ at each position $s$, and their answers.

    The rule is an automaton that reads an input from the first position to the last: from the state $r$ it goes, at
    position $s$ and with the token `tokens[s][i]`, to the state `steps[s][r, i]`; it begins in state 0, and
    `answers` says what follows the state in which it ends. Every rule on a finite domain is one, and a rule such as the
    maximum needs no more states than tokens.

    Args:
        rule: The name: ``"max"``, ``"min"``, ``"first"``, ``"last"``, ``"sum mod M"``, or ``"own"``. It is checked: a
            rule of another name than ``"own"`` has the automaton that `rule_task` makes.
        tokens: The tokens of each position, strictly increasing, S arrays.
        reads: The positions that the rule reads, strictly increasing; the others hold one token each.
        steps: For each position, the next states, `[states, tokens]`.
        answers: What follows each last state, `[states]`.

    Raises:
        InputError: Arrays that are no such automaton, a state that no input reaches, more than $2^{63}$ inputs, or a
            name that is not that of the rule; names it.

    Example:
        >>> task = rule_task("max", d_vocab=64, n_ctx=4)
        >>> task.n_contexts, task.labels_of(np.array([[5, 63, 0, 7]])).tolist(), task.origin
        (16777216, [63], 'rule: max of 4 tokens below 64')
    """

    holds = "rule"
    rule: str
    tokens: tuple[Int64Array, ...]
    reads: Int64Array
    steps: tuple[Int64Array, ...]
    answers: Int64Array

    def __post_init__(self) -> None:
        if not isinstance(self.rule, str):
            raise InputError("rule", f"is {self.rule!r}", "a name")
        for name, dimensions in (("tokens", 1), ("steps", 2)):
            arrays = [_frozen(f"{name}_{s}", array, dimensions) for s, array in enumerate(getattr(self, name))]
            object.__setattr__(self, name, tuple(arrays))
        for name in ("reads", "answers"):
            object.__setattr__(self, name, _frozen(name, getattr(self, name), 1))
        if not self.tokens or len(self.tokens) != len(self.steps):
            raise InputError("tokens", f"has {len(self.tokens)} positions and steps {len(self.steps)}", "one each")
        states = 1
        for s, (tokens, steps) in enumerate(zip(self.tokens, self.steps, strict=True)):
            if not len(tokens) or tokens[0] < 0 or tokens[-1] >= _LARGEST_TOKEN or (np.diff(tokens) <= 0).any():
                raise InputError(f"tokens_{s}", "must be at least one token from 0 on, strictly increasing")
            if steps.shape != (states, len(tokens)):
                raise InputError(f"steps_{s}", f"has shape {steps.shape}", (states, len(tokens)))
            states = int(steps.max()) + 1
            # Only what is reached has a place: every state of a layer is the end of some beginning of an input.
            if steps.min() < 0 or len(np.unique(steps)) != states:
                raise InputError(f"steps_{s}", f"leads to states from {steps.min()} on", f"each of 0 .. {states - 1}")
        if self.answers.shape != (states,) or self.answers.min() < 0 or self.answers.max() >= _LARGEST_TOKEN:
            raise InputError("answers", f"has shape {self.answers.shape}", f"one token for each of {states} states")
        if self.n_contexts >= _LARGEST_DOMAIN:
            raise InputError("tokens", "make 2^63 inputs or more", "fewer")
        if (np.diff(self.reads) <= 0).any() or not set(self.reads.tolist()) <= set(range(self.n_ctx)):
            raise InputError("reads", f"is {self.reads.tolist()}", f"positions below {self.n_ctx}")
        self._check_name()

    def _check_name(self) -> None:
        if self.rule == OWN:
            _require_single(self.tokens, self.reads.tolist())
            return
        steps, answers = _named(self.rule, self.tokens, self.reads.tolist())
        same = all(np.array_equal(a, b) for a, b in zip((*self.steps, self.answers), (*steps, answers), strict=True))
        if not same:
            raise InputError("rule", f"is {self.rule!r}, but steps and answers are those of another")

    @property
    def target(self) -> str:
        """Kind of target: always ``labels``, which must have the strictly largest logit."""
        return "labels"

    @property
    def origin(self) -> str:
        """Source of the targets: the rule, its positions, and the tokens that are fixed in all inputs."""
        reads, own = self.reads.tolist(), "one's own function"
        parts = [f"{own if self.rule == OWN else self.rule} of {len(reads)} {inflected('token', len(reads))}"]
        domains = {tuple(self.tokens[s].tolist()) for s in reads}
        if len(domains) == 1 and (domain := domains.pop()) == tuple(range(len(domain))):
            parts[0] += f" below {len(domain)}"
        about = {"before": [*range(reads[0])], "behind": [*range(reads[-1] + 1, self.n_ctx)]}
        about["between"] = [s for s in range(reads[0], reads[-1]) if s not in reads]
        for where, places in about.items():
            if places:
                fixed = " ".join(str(self.tokens[s][0]) for s in places[:4]) + (" ..." if len(places) > 4 else "")
                parts.append(f"{where} them {fixed}")
        return f"rule: {', '.join(parts)}"

    @property
    def guess_right(self) -> int:
        """Number of inputs with the most frequent answer."""
        inputs = np.ones(1, dtype=np.int64)  # that lead to each state; all of them are fewer than 2^63
        for steps in self.steps:
            after = np.zeros(int(steps.max()) + 1, dtype=np.int64)
            np.add.at(after, steps, inputs[:, None])
            inputs = after
        counts = np.zeros(int(self.answers.max()) + 1, dtype=np.int64)
        np.add.at(counts, self.answers, inputs)
        return int(counts.max())

    @property
    def n_ctx(self) -> int:
        """Tokens in an input, S."""
        return len(self.tokens)

    @property
    def n_contexts(self) -> int:
        """Number of inputs, the product of the numbers of tokens."""
        return math.prod(len(tokens) for tokens in self.tokens)

    @property
    def most(self) -> int:
        """The largest token of any input."""
        return max(int(tokens[-1]) for tokens in self.tokens)

    def labels_of(self, contexts: Int64Array) -> Int64Array:
        """Return the answers of the rule to some inputs, `[T]`.

        Args:
            contexts: Inputs, `[T, S]`.

        Raises:
            InputError: A token that the domain does not have at that place.
        """
        contexts = np.asarray(contexts)
        states = np.zeros(len(contexts), dtype=np.int64)
        for s, (tokens, steps) in enumerate(zip(self.tokens, self.steps, strict=True)):
            place = np.minimum(np.searchsorted(tokens, contexts[:, s]), len(tokens) - 1)
            if (tokens[place] != contexts[:, s]).any():
                raise InputError("contexts", f"has a token at position {s} that is not in the domain")
            states = steps[states, place]
        return self.answers[states]

    def contexts_at(self, numbers: Int64Array) -> Int64Array:
        """Return the inputs of these numbers, counted with the last position fastest, `[T, S]`."""
        places = np.unravel_index(numbers, [len(tokens) for tokens in self.tokens])
        return np.stack([tokens[place] for tokens, place in zip(self.tokens, places, strict=True)], axis=1)

    def input_of(self, words: Sequence[str]) -> Int64Array:
        """Return the input, `[S]`, for typed tokens: all of them, or those that the rule reads.

        Raises:
            InputError: Another number of them, or one that the domain does not have at that place.
        """
        places = self.reads.tolist() if len(words) == len(self.reads) else list(range(self.n_ctx))
        if len(words) != len(places):
            raise InputError(f"the input {' '.join(words)!r}", f"has {len(words)}", f"{len(self.reads)} tokens")
        context = np.array([tokens[0] for tokens in self.tokens])
        for s, word in zip(places, words, strict=True):
            if word not in map(str, self.tokens[s].tolist()):
                domain = f"{self.tokens[s][0]} .. {self.tokens[s][-1]}"
                raise InputError("the input", f"has {word!r} at position {s}", f"a number of the domain, {domain}")
            context[s] = int(word)
        return context

    def facts(self, contexts: Int64Array, *, vocabulary: int, answers: int) -> Task:
        """Return some inputs, `[T, S]`, as a list of facts, for a model with given numbers of tokens and answers."""
        apart = None if vocabulary == answers else answers
        labels = self.labels_of(contexts)
        return array_task(contexts, next_tokens=labels, target="labels", vocabulary=vocabulary, answers=apart)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """None: tokens are numbers."""
        return ()

    @property
    def listing(self) -> None:
        """None: the inputs are not in a list."""

    def decoding(self) -> tuple[list[tuple[int, tuple[int, ...]]], set[int]]:
        """Return how many tokens precede an answer, which is any single token; and the tokens that are read."""
        return [(self.n_ctx, (0,))], set(np.unique(np.concatenate(self.tokens)).tolist())

    def echo(self) -> str:
        """Return an empty text, because the rule is printed where it is named."""
        return ""

    def looked_up(self, context: str | Sequence[str], model: Reader) -> tuple[Task, list[str]]:
        """Return the list of this one input, and its tokens.

        Raises:
            InputError: Not as many tokens as an input has, or some that the domain does not have there.
        """
        words = re.findall(r"[^\s,;]+", context) if isinstance(context, str) else list(context)
        tokens = self.input_of(words)
        facts = self.facts(tokens[None], vocabulary=model.d_vocab, answers=model.d_vocab_out)
        return facts, [str(token) for token in tokens]

    def require_fit(self, model: Reader) -> None:
        """Raise `InputError` unless a model of these sizes reads the inputs and has an output per answer."""
        require_reads(model, self.n_ctx)
        if not int(self.answers.max()) < model.d_vocab_out:
            raise InputError("task", f"has the answer {self.answers.max()}, the model {model.d_vocab_out} logits")
        require_knows(model, self.most)

    def words(self) -> dict[str, Any]:
        """Return the name."""
        return {"rule": self.rule}

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of ``task.safetensors`` by name, in the order in which they are hashed."""
        return {
            "reads": self.reads,
            **{f"tokens_{s}": tokens for s, tokens in enumerate(self.tokens)},
            **{f"steps_{s}": steps for s, steps in enumerate(self.steps)},
            "answers": self.answers,
        }

    @classmethod
    def from_arrays(cls, path: Path, words: dict[str, Any], arrays: dict[str, NDArray]) -> "RuleTask":
        """Return the task of the words and arrays that were read from `path`.

        Raises:
            FileFormatError: They are not the fields of such a task.
        """
        n_ctx = sum(name.startswith("tokens_") for name in arrays)
        names = [f"{kind}_{s}" for kind in ("tokens", "steps") for s in range(n_ctx)]
        if set(words) != {"rule"} or set(arrays) != {"reads", "answers", *names}:
            raise FileFormatError(f"{path} is not a task of a rule: it holds {sorted({**words, **arrays})}")
        try:
            return cls(
                rule=words["rule"],
                tokens=tuple(arrays[f"tokens_{s}"] for s in range(n_ctx)),
                reads=arrays["reads"],
                steps=tuple(arrays[f"steps_{s}"] for s in range(n_ctx)),
                answers=arrays["answers"],
            )
        except InputError as error:
            raise FileFormatError(f"{path} is not a task of a rule: {error}") from error


def rule_task(
    rule: str | Callable[[Int64Array], Int64Array],
    *,
    d_vocab: int,
    n_ctx: int,
    modulus: int | None = None,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
) -> RuleTask:
    r"""Return the task of a rule on all inputs of `n_ctx` tokens below `d_vocab`, perhaps between tokens that do not
    change.

    A function is evaluated on the whole domain, at most $2^{26}$ inputs, and becomes the automaton with the fewest
    states: two beginnings of inputs lead to one state if whatever follows them has the same answers.

    Args:
        rule: ``"max"``, ``"min"``, ``"first"``, ``"last"``, ``"sum"``; or a function: of one argument, from inputs
            `[T, n_ctx]`, int64, to what follows them, `[T]`; of several, from the tokens of one input to an integer.
        d_vocab: N; the tokens are 0 .. N - 1.
        n_ctx: How many of them an input has.
        modulus: For ``"sum"`` alone; N by default.
        before: Tokens that stand before them in every input, such as one for the beginning of a text.
        after: Tokens that stand after them in every input, such as one for an equals sign.

    Returns:
        The task.

    Raises:
        InputError: An unknown rule, a size below 1, a domain that is too large, or answers that are not tokens.

    Example:
        >>> even = rule_task(lambda inputs: inputs.sum(axis=1) % 2, d_vocab=10, n_ctx=3)
        >>> even.n_contexts, [len(steps) for steps in even.steps], even.origin
        (1000, [1, 2, 2], "rule: one's own function of 3 tokens below 10")
        >>> rule_task(lambda a, b: a * b % 5, d_vocab=5, n_ctx=2, after=[5]).origin
        "rule: one's own function of 2 tokens below 5, behind them 5"
    """
    for name, value in (("d_vocab", d_vocab), ("n_ctx", n_ctx), ("modulus", 1 if modulus is None else modulus)):
        if type(value) is not int or not 1 <= value < _LARGEST_TOKEN:
            raise InputError(name, f"= {value!r}", "an integer of at least 1")
    if modulus is not None and rule != "sum":
        raise InputError("modulus", f"= {modulus} is given", "none for a rule other than 'sum'")
    for name, tokens in (("before", before), ("after", after)):
        if below := [token for token in tokens if token < 0]:
            raise InputError(name, f"has {below[0]}", "tokens from 0 on")
    if d_vocab**n_ctx >= _LARGEST_DOMAIN:
        raise InputError("rule", f"is asked of {d_vocab}^{n_ctx} inputs (d_vocab^n_ctx)", "fewer than 2^63")
    free = np.arange(d_vocab, dtype=np.int64)
    domain = tuple([np.array([token]) for token in before] + [free] * n_ctx + [np.array([token]) for token in after])
    read = range(len(before), len(before) + n_ctx)
    if isinstance(rule, str):
        if rule not in RULES:
            raise InputError("rule", f"is {rule!r}", f"one of {', '.join(map(repr, RULES))}, or a function")
        name = f"sum mod {d_vocab if modulus is None else modulus}" if rule == "sum" else rule
        steps, answers = _named(name, domain, list(read))
        return RuleTask(name, domain, np.array(read, dtype=np.int64), steps, answers)
    steps, answers = _automaton(_answers_of(rule, n_ctx), d_vocab, n_ctx)
    fixed = np.zeros((1, 1), dtype=np.int64)
    last = np.arange(len(answers), dtype=np.int64)[:, None]
    whole = (*(fixed for _ in before), *steps, *(last for _ in after))
    return RuleTask(OWN, domain, np.array(read, dtype=np.int64), whole, answers)


def _answers_of(rule: Callable[..., Any], n_ctx: int) -> Callable[[Int64Array], Int64Array]:
    """Return the results of a function for rows of inputs; an exception in it names the function and the input."""
    name, by_token = getattr(rule, "__name__", type(rule).__name__), _reads_tokens(rule, n_ctx)
    hint = "" if by_token else "a function of all inputs at once, the rows of an array [T, S], as it has one argument"

    def answers(inputs: Int64Array) -> NDArray[Any]:
        # Tokens are Python's integers, which do not overflow.
        results = [rule(*row) for row in inputs.tolist()] if by_token else rule(inputs)
        if np.ma.isMaskedArray(results):
            raise TypeError("a masked array: which of its answers count?")
        return np.asarray(results)

    def checked(inputs: Int64Array) -> Int64Array:
        try:
            results = answers(inputs)
        except (Exception, SystemExit) as error:  # whatever somebody's function may raise
            place, error = _first_raising(answers, inputs, error)
            raise InputError("rule", f"{name} raises {type(error).__name__}{place}: {error}", hint) from error
        if results.shape == (len(inputs),) and results.dtype.kind in "iu":
            for place in np.flatnonzero((results < 0) | (results >= _LARGEST_TOKEN))[:1]:
                message = f"{name} returns {results[place]} at the input {_words(inputs[place])}"
                raise InputError("rule", message, "the number of a token, from 0 on")
            return results
        for row in inputs if by_token else ():
            if not isinstance(answer := rule(*row.tolist()), (int, np.integer)) or isinstance(answer, bool):
                raise InputError("rule", f"{name} returns {answer!r} at the input {_words(row)}", "an integer")
        shape = f"integers {(len(inputs),)}{f', of {hint}' if hint else ''}"
        raise InputError("rule", f"{name} returns {results.dtype} of shape {results.shape}", shape)

    return checked


def _first_raising(
    answers: Callable[[Int64Array], Any], inputs: Int64Array, error: BaseException
) -> tuple[str, BaseException]:
    """Return the first input for which a function raises, and the exception, in words; None if no single input does."""
    for row in inputs:
        try:
            answers(row[None])
        except (Exception, SystemExit) as alone:
            return f" at the input {_words(row)}", alone
    return "", error


def _words(row: Int64Array) -> str:
    return " ".join(map(str, row.tolist()))


def _reads_tokens(rule: Callable[..., Any], n_ctx: int) -> bool:
    """Tell whether a function maps the tokens of one input, rather than all inputs at once."""
    try:
        parameters = inspect.signature(rule).parameters.values()
    except (TypeError, ValueError):  # a function of numpy's own, say
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = sum(parameter.kind in kinds and parameter.default is parameter.empty for parameter in parameters)
    if needed <= 1 and not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return False
    if needed > n_ctx:
        raise InputError("rule", f"is a function of {needed} tokens", f"one of {n_ctx}")
    return True


def _named(
    rule: str, tokens: tuple[Int64Array, ...], reads: Sequence[int]
) -> tuple[tuple[Int64Array, ...], Int64Array]:
    """Return the automaton of a rule with a name: its states are the values of the rule on the tokens that were
    read.
    """
    step, modulus = _step(rule)
    _require_single(tokens, reads)
    steps: list[Int64Array] = []
    values: Int64Array | None = None
    for s, here in enumerate(tokens):
        if s not in reads:
            steps.append(np.arange(1 if values is None else len(values), dtype=np.int64)[:, None])
            continue
        value = here if modulus is None else here % modulus
        after = value[None] if values is None else step(values[:, None], value[None])
        values, numbers = np.unique(after, return_inverse=True)
        steps.append(numbers.reshape(after.shape).astype(np.int64))
    assert values is not None
    return tuple(steps), values


def _require_single(tokens: Sequence[Int64Array], reads: Sequence[int]) -> None:
    """Refuse positions that are not read but allow several tokens."""
    if not reads or any(len(tokens[s]) != 1 for s in range(len(tokens)) if s not in reads):
        raise InputError("reads", f"is {list(reads)}", "at least one position, and one token at every other")


def _step(rule: str) -> tuple[Callable[[Int64Array, Int64Array], Int64Array], int | None]:
    """Return the value of a rule after one more token, and the modulus."""
    plain: dict[str, Callable[[Int64Array, Int64Array], Int64Array]] = {
        "max": np.maximum,
        "min": np.minimum,
        "first": lambda value, token: value + 0 * token,
        "last": lambda value, token: 0 * value + token,
    }
    if rule in plain:
        return plain[rule], None
    name, _, text = rule.partition(" mod ")
    if name != "sum" or not re.fullmatch("[0-9]{1,12}", text) or not 1 <= int(text) < _LARGEST_TOKEN:
        raise InputError("rule", f"is {rule!r}", f"one of {', '.join(map(repr, plain))}, 'sum mod M' or {OWN!r}")
    modulus = int(text)
    if text != str(modulus):
        raise InputError("rule", f"is {rule!r}", f"'sum mod {modulus}'")
    return lambda value, token: (value + token) % modulus, modulus


def _automaton(
    function: Callable[[Int64Array], Int64Array], d_vocab: int, n_ctx: int
) -> tuple[tuple[Int64Array, ...], Int64Array]:
    """Return the automaton with the fewest states: going backwards from the last position, equal rows are merged."""
    size = d_vocab**n_ctx
    if size > _LARGEST_TABLE:
        raise InputError("rule", f"is a function on {size} inputs", "at most 2**26: give the automaton (RuleTask)")
    labels = np.empty(size, dtype=np.int64)
    for start in range(0, size, _CHUNK):
        numbers = np.arange(start, min(start + _CHUNK, size))
        labels[numbers] = function(np.stack(np.unravel_index(numbers, [d_vocab] * n_ctx), axis=1))
    answers, states = np.unique(labels, return_inverse=True)
    steps: list[Int64Array] = []
    for _ in range(n_ctx):
        rows = states.reshape(-1, d_vocab).astype(np.int64)
        places: dict[bytes, int] = {}
        states = np.array([places.setdefault(row.tobytes(), len(places)) for row in rows], dtype=np.int64)
        steps.append(np.frombuffer(b"".join(places), dtype=np.int64).reshape(-1, d_vocab))
    return tuple(reversed(steps)), answers


def _frozen(name: str, value: object, dimensions: int) -> Int64Array:
    array = np.asarray(value)
    if array.dtype != np.int64 or array.ndim != dimensions:
        raise InputError(name, f"is {array.dtype} of shape {array.shape}", f"int64 of {dimensions} dimensions")
    return frozen_copy(array)
