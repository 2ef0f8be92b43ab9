"""Test a statement over a strategy: it holds, a counterexample is found, or it is undecided.

Page: docs/own_theorem.md
"""

import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, Unsatisfiable

from byheart.testing.code import as_code
from constructions.errors import InputError
from verify.quantities import Proof
from verify.verdict import Verdict, undecided_conditions

Statement = Callable[..., Any]

_PHASES = (Phase.generate, Phase.target, Phase.shrink)
_SEARCHES = 3  # each ends where no simple change makes its case smaller; the shortest of the three is shown
_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class UndecidedWarning(UserWarning):
    """Some cases of a statement that held otherwise could not be decided."""


class CounterexampleError(AssertionError):
    """A case in which a statement is false.

    Args:
        message: What is shown: the statement, and the code.
        code: Python code that makes the arguments.
        arguments: The arguments that it makes, by the names of the parameters.
    """

    def __init__(self, message: str, code: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.code, self.arguments = code, dict(arguments)


@dataclass(frozen=True)
class Tally:
    """The numbers of cases in which a statement held, and in which it was undecided.

    Example:
        >>> print(Tally(holds=198, undecided=2))
        holds in 198 of 200 cases; 2 undecided
    """

    holds: int
    undecided: int

    @property
    def cases(self) -> int:
        """Number of cases."""
        return self.holds + self.undecided

    def __str__(self) -> str:
        return f"holds in {self.holds} of {self.cases} cases; {self.undecided} undecided"


def assert_holds(
    statement: Statement,
    /,
    *strategies: st.SearchStrategy[Any],
    max_examples: int = 1000,
    max_undecided: int | None = None,
    seed: int = 0,
    **named: st.SearchStrategy[Any],
) -> Tally:
    """Try to refute a statement; raise with the smallest counterexample found, as code to paste.

    The statement says True, False, a `Verdict` or a `Proof`; or it asserts, and returns nothing. UNDECIDED is neither
    success nor counterexample. Nor is a case in which a comparison with `Bounds`, or a `Proof` in a condition, was
    false only because nothing was proved: such a case counts as undecided, whatever the statement made of it. Where
    it knows better, it returns a `Verdict`. Numbers compare as numbers: one that is only a bound, such as
    `AttentionRank.lower`, belongs into `Bounds` together with the other end.

    That no counterexample was found proves nothing about the cases that were not tried.

    Args:
        statement: A function of what the strategies draw.
        strategies: Hypothesis strategies, one for each of its first parameters.
        max_examples: How many cases to try, at least 1.
        max_undecided: How many of them may be undecided; by default all but one.
        seed: Seed of the cases: the same seed tries the same ones.
        named: Strategies by the name of a parameter.

    Returns:
        How many cases were tried, and how many of them were undecided.

    Raises:
        CounterexampleError: The statement is false for one; an `AssertionError`.
        AssertionError: Too many cases were undecided.
        InputError: Strategies that do not fit the statement, or a statement that says something else.

    Warns:
        UndecidedWarning: Some cases were undecided, which a passing test would hide.

    Example:
        >>> from byheart.testing import near_singular
        >>> import verify
        >>> def the_rank_is_proved(known):
        ...     return verify.rank(known.matrix) == known.rank
        >>> print(assert_holds(the_rank_is_proved, near_singular(rows=2), max_examples=100))
        holds in 100 of 100 cases; 0 undecided
        >>> def numpy_counts_the_rank(known):
        ...     return np.linalg.matrix_rank(known.matrix) == known.rank
        >>> assert_holds(numpy_counts_the_rank, near_singular(rows=2))
        Traceback (most recent call last):
        ...
        byheart.testing.assertion.CounterexampleError: numpy_counts_the_rank is false; the smallest case found:
        ...
    """
    __tracebackhide__ = True
    _require_integer("max_examples", max_examples, least=1)
    if max_undecided is not None:
        _require_integer("max_undecided", max_undecided, least=0)
    _require_integer("seed", seed, least=0)
    trial = _Trial(statement, _bound(statement, strategies, named))
    effort = settings(max_examples=max_examples, database=None, deadline=None, print_blob=False, phases=_PHASES)
    seeds = Random(seed)
    refuted: list[str] = []
    for _ in range(_SEARCHES):
        try:
            find(st.fixed_dictionaries(trial.strategies), trial.refutes, settings=effort, random=seeds)
        except (NoSuchExample, Unsatisfiable):
            if not refuted:
                return _accepted(trial, max_undecided)
        else:
            refuted.append(trial.refuted_code)
    raise _counterexample(trial, min(refuted, key=len))


@dataclass(frozen=True)
class _Answer:
    """The result of a statement for a case, the first question it left open, and the failed assertion."""

    verdict: Verdict
    question: str = ""
    failure: AssertionError | None = None


class _Trial:
    """Runs a statement case by case, and counts the results."""

    def __init__(self, statement: Statement, bound: inspect.BoundArguments) -> None:
        self._statement = statement
        self._signature = bound.signature
        self.strategies: dict[str, Any] = dict(bound.arguments)
        self.name = _name(statement)
        self.verdicts = dict.fromkeys(Verdict, 0)
        self.open_question = ""
        self.refuted_code = ""

    def refutes(self, arguments: Mapping[str, Any]) -> bool:
        code = as_code(**arguments)  # before the statement can change an array in place
        try:
            answer = self.judge(arguments)
        except Exception as error:
            error.add_note(f"{self.name} raised this for\n\n{code}")
            raise
        self.verdicts[answer.verdict] += 1
        self.open_question = self.open_question or answer.question
        if answer.verdict is Verdict.REFUTED:
            self.refuted_code = code  # the last one that Hypothesis tries is the smallest
        return answer.verdict is Verdict.REFUTED

    def judge(self, arguments: Mapping[str, Any]) -> _Answer:
        call = inspect.BoundArguments(self._signature, OrderedDict(arguments))
        failure = None
        with undecided_conditions() as open_questions:
            try:
                answer = self._statement(*call.args, **call.kwargs)
            except AssertionError as error:
                answer, failure = False, error
        question = open_questions[0] if open_questions else ""
        if isinstance(answer, Verdict):
            return _Answer(answer, question)
        if isinstance(answer, Proof):
            return _Answer(answer.verdict, question or answer.reason)
        if answer is not None and not isinstance(answer, bool | np.bool):
            raise InputError(
                "statement", f"{self.name} returned {answer!r}", "True, False, a Verdict, a Proof, or nothing"
            )
        if open_questions:
            return _Answer(Verdict.UNDECIDED, question)
        return _Answer(Verdict.PROVED if answer is None or answer else Verdict.REFUTED, failure=failure)

    def call_text(self) -> str:
        """Return the source of the call of the statement, with variables named like its parameters."""
        names = inspect.BoundArguments(self._signature, OrderedDict((name, name) for name in self.strategies))
        return f"{self.name}({', '.join([*names.args, *(f'{name}={name}' for name in names.kwargs)])})"

    def namespace(self) -> dict[str, Any]:
        """Return the names available to pasted code: the classes of the statement's script or session."""
        known = getattr(self._statement, "__globals__", {})
        return {name: value for name, value in known.items() if isinstance(value, type)}


def _accepted(trial: _Trial, max_undecided: int | None) -> Tally:
    __tracebackhide__ = True
    tally = Tally(trial.verdicts[Verdict.PROVED], trial.verdicts[Verdict.UNDECIDED])
    if not tally.cases:
        raise AssertionError(f"no case met the assumptions of {trial.name}: nothing was tried")
    first = f"; the first: {trial.open_question}" if trial.open_question else ""
    allowed = tally.cases - 1 if max_undecided is None else max_undecided
    if tally.undecided > allowed:
        limit = "" if max_undecided is None else f", more than max_undecided = {max_undecided}"
        raise AssertionError(f"{tally.undecided} of {tally.cases} cases of {trial.name} are undecided{limit}{first}")
    if tally.undecided:
        warnings.warn(f"{trial.name} {tally}{first}", UndecidedWarning, stacklevel=3)
    return tally


def _counterexample(trial: _Trial, code: str) -> CounterexampleError:
    """Return the smallest case with its code, after checking that running the code violates the statement too."""
    made, arguments, failure = trial.namespace(), trial.namespace(), None
    try:
        exec(code, made)
        exec(code, arguments)  # again, since the statement may change what it is given
        answer = trial.judge({name: made[name] for name in trial.strategies})
        failure = answer.failure
        doubt = "" if answer.verdict is Verdict.REFUTED else f"then the statement is {answer.verdict.value}"
    except Exception as error:
        doubt = f"{type(error).__name__}: {error}"
    call = f"{trial.call_text()}  # false" if trial.name.isidentifier() else ""
    message = f"{trial.name} is false; the smallest case found:\n\n{code}\n{call}".rstrip()
    if doubt:
        message += f"\n\nThis code does not show it by itself: {doubt}"
    counterexample = CounterexampleError(message, code, {name: arguments.get(name) for name in trial.strategies})
    counterexample.__cause__ = failure
    return counterexample


def _bound(statement: Statement, strategies: tuple[Any, ...], named: Mapping[str, Any]) -> inspect.BoundArguments:
    """Return the strategies in the places of the parameters of the statement."""
    if not callable(statement):
        raise InputError("statement", f"is {statement!r}", "a function of what the strategies draw")
    signature = inspect.signature(statement)
    if any(parameter.kind in _SEVERAL for parameter in signature.parameters.values()):
        raise InputError("statement", f"{_name(statement)}{signature} has * or **", "one parameter for each strategy")
    try:
        bound = signature.bind(*strategies, **named)
    except TypeError as error:
        raise InputError("strategies", f"do not fit {_name(statement)}{signature}: {error}") from None
    if not bound.arguments:
        raise InputError("strategies", "are missing", "one for each parameter of the statement")
    for name, strategy in bound.arguments.items():
        if not isinstance(strategy, st.SearchStrategy):
            raise InputError(name, f"is {strategy!r}", "a Hypothesis strategy, such as contexts(d_vocab=2, n_ctx=3)")
    return bound


def _require_integer(name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(name, f"= {value!r}", f"an integer of at least {least}")


def _name(statement: Statement) -> str:
    name = getattr(statement, "__name__", "")
    return name if name.isidentifier() else "The statement"
