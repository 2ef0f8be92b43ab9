"""A false statement is refuted by code that shows it, a true one passes, and what is undecided is neither."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import verify
from byheart.testing import (
    CounterexampleError,
    Sizes,
    UndecidedWarning,
    assert_holds,
    contexts,
    dana_instances,
    distributions,
    mahdavi_instances,
    near_singular,
    transformers,
)
from constructions.attention.capacity.generic_rank import generic_rank
from constructions.errors import InputError
from constructions.model.vector_attention import outputs
from constructions.saturated_layers.layer_readout import layer_with_read_out
from constructions.saturated_layers.saturated_heads import saturated_heads
from verify import Bounds, Proof, Verdict

ROOT = Path(__file__).parents[3]


def refuted(statement, *strategies, **options):
    """The counterexample, after its code was run and what it makes was found to violate the statement."""
    with pytest.raises(CounterexampleError) as caught:
        assert_holds(statement, *strategies, **options)
    namespace = {}
    exec(caught.value.code, namespace)
    names = list(caught.value.arguments)
    try:
        answer = statement(*(namespace[name] for name in names))
    except AssertionError:
        answer = False
    assert answer is Verdict.REFUTED or getattr(answer, "verdict", answer) in (False, Verdict.REFUTED)
    return caught.value


def rank_is_full(instance):
    size = instance.size
    sizes = {"d_model": size.d_model, "d_head": size.d_head, "n_heads": size.n_heads}
    return generic_rank(instance.contexts, **sizes) == len(instance.contexts)


FALSE = [
    (lambda n: n < 10, (st.integers(),), {"n": 10}),
    (lambda n: bool(n * n < 99), (st.integers(0),), {"n": 10}),
    (lambda a, b: a + b != 3, (st.integers(0, 5), st.integers(0, 5)), None),
    (lambda known: np.linalg.matrix_rank(known.matrix) == known.rank, (near_singular(rows=2),), None),
    (lambda known: verify.rank(known.matrix) >= 2, (near_singular(rows=2),), None),
    (lambda known: verify.nonsingular(known.matrix), (near_singular(rows=2),), None),
    (lambda known: verify.nonsingular(known.matrix).verdict, (near_singular(rows=3),), None),
    (lambda p: verify.kl(p[0], [0.0, 0.0]) < 0.1, (distributions(d_vocab=2, rows=1),), None),
    (lambda model: abs(model.W_V).max() < 1, (transformers(size=Sizes(1, 1, 1, 1, 1)),), None),
    (lambda model: abs(model.W_U).max() < 1e300, (transformers(size=Sizes(1, 1, 1, 1, 1), hostile=True),), None),
    (rank_is_full, (dana_instances(),), None),
    (lambda x: x <= 0.3, (st.fractions(0, 1),), None),
]


@pytest.mark.parametrize(("statement", "strategies", "smallest"), FALSE)
def test_a_false_statement_is_refuted_by_its_code(statement, strategies, smallest):
    found = refuted(statement, *strategies)
    assert found.code in str(found) and "does not show it" not in str(found)
    if smallest is not None:
        assert found.arguments == smallest


def test_the_printed_code_runs_in_another_program():
    def narrow(model):
        assert abs(model.W_V).max() < 1

    found = refuted(narrow, transformers(size=Sizes(1, 1, 1, 1, 1)))
    program = f"{found.code}\nprint(abs(model.W_V).max() < 1)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_a_counterexample_is_minimal():
    found = refuted(lambda rows: len(set(rows[:, -1].tolist())) > 1, contexts(d_vocab=3, n_ctx=3, min_size=2))
    assert found.arguments["rows"].shape == (2, 3)
    assert refuted(rank_is_full, dana_instances()).arguments["instance"].contexts.shape == (2, 1)


def test_the_failed_assertion_is_the_cause():
    def small(n):
        assert n < 7, "seven is too much"

    found = refuted(small, st.integers(0))
    assert "seven is too much" in str(found.__cause__)
    assert str(found).splitlines()[0] == "small is false; the smallest case found:"
    assert "small(n)  # false" in str(found)


def test_equal_seeds_find_equal_counterexamples():
    def false(known):
        return np.linalg.matrix_rank(known.matrix) == known.rank

    first, second = (refuted(false, near_singular(rows=2), seed=7).code for _ in range(2))
    assert first == second


def test_an_array_that_the_statement_changes_is_shown_as_it_was_drawn():
    def false(rows):
        rows += 5
        return len(rows) < 2

    assert refuted(false, contexts(d_vocab=2, n_ctx=1)).arguments["rows"].tolist() == [[0], [1]]


def test_code_that_does_not_show_the_violation_says_so():
    calls = []

    def opaque(make):
        calls.append(make)
        return make() < 3

    with pytest.raises(CounterexampleError, match="does not show it by itself: SyntaxError"):
        assert_holds(opaque, st.integers(0, 9).map(lambda n: lambda: n))


def test_a_class_of_the_session_is_known_to_the_code():
    script = (
        "from dataclasses import dataclass\nfrom hypothesis import strategies as st\n"
        "from byheart.testing import assert_holds\n"
        "@dataclass\nclass Local:\n    value: int\n"
        "def small(local):\n    return local.value < 3\n"
        "try:\n    assert_holds(small, st.builds(Local, st.integers(0)))\n"
        "except AssertionError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "local = Local(value=3)" in ran.stdout and "does not show" not in ran.stdout


def test_true_statements_pass_and_are_counted():
    tally = assert_holds(lambda known: verify.rank(known.matrix) == known.rank, near_singular(rows=3), max_examples=50)
    assert (tally.holds, tally.undecided, tally.cases) == (50, 0, 50)

    def sums(p):
        assert abs(p.sum() - 1) < 1e-12

    assert assert_holds(sums, p=distributions(d_vocab=3, rows=1), max_examples=50).undecided == 0


def test_theorem_1_of_mahdavi_holds_under_its_hypotheses():
    def labels_are_memorized(instance):
        task = instance.task
        heads = saturated_heads(task.contexts, task.queries, n_heads=instance.n_heads, d_head=instance.d_head)
        layer = layer_with_read_out(task, heads.W_Q, heads.W_K, d_value=task.d_out, d_inner=task.d_out)
        return bool(np.abs(outputs(layer, task) - task.labels).max() < 1e-6)

    assert assert_holds(labels_are_memorized, mahdavi_instances(), max_examples=50).holds == 50


def unknown(n):
    """Nothing is known about 1."""
    return Bounds(0, 2, "by hand") if n == 1 else Bounds(3, 3, "by hand")


UNDECIDED_WHERE_N_IS_1 = [
    lambda n: unknown(n) > 1,
    lambda n: unknown(n) >= 1,
    lambda n: not unknown(n) < 1,
    lambda n: not unknown(n) <= 1,
    lambda n: unknown(n) != 1,
    lambda n: not unknown(n) == 1,
    lambda n: unknown(n) > np.float64(1),
    lambda n: Verdict.UNDECIDED if n == 1 else Verdict.PROVED,
    lambda n: Proof(Verdict.UNDECIDED if n == 1 else Verdict.PROVED, "by hand"),
    lambda n: bool(Proof(Verdict.UNDECIDED if n == 1 else Verdict.PROVED, "by hand")),
    lambda n: not Proof(Verdict.UNDECIDED if n == 1 else Verdict.REFUTED, "by hand"),
]


@pytest.mark.parametrize("statement", UNDECIDED_WHERE_N_IS_1)
def test_an_undecided_case_is_neither_success_nor_counterexample(statement):
    with pytest.warns(UndecidedWarning, match="1 undecided"):
        tally = assert_holds(statement, st.integers(0, 3))
    assert (tally.holds, tally.undecided) == (3, 1)
    with pytest.raises(AssertionError, match=r"1 of 4 cases .* undecided, more than max_undecided = 0") as caught:
        assert_holds(statement, st.integers(0, 3), max_undecided=0)
    assert not isinstance(caught.value, CounterexampleError)
    with pytest.raises(AssertionError, match="1 of 1 cases") as caught:
        assert_holds(statement, st.just(1))
    assert not isinstance(caught.value, CounterexampleError)


def test_an_undecided_assertion_is_no_counterexample():
    def asserts(n):
        assert unknown(n) > 1

    with pytest.warns(UndecidedWarning):
        assert assert_holds(asserts, st.integers(0, 3)).undecided == 1


def test_a_refuted_case_beside_undecided_ones_is_found():
    statement = lambda n: Bounds(n, n + 1, "by hand") < 3  # noqa: E731
    assert refuted(statement, st.integers(0, 9)).arguments == {"n": 3}


def test_a_decided_verdict_is_taken_as_it_is():
    def decides_by_hand(n):
        return Verdict.PROVED if unknown(n) > 1 or n == 1 else Verdict.REFUTED

    assert assert_holds(decides_by_hand, st.integers(0, 3)).undecided == 0


def test_nothing_tried_is_no_success():
    def never(n):
        assume(False)

    with pytest.raises(AssertionError, match="nothing was tried"):
        assert_holds(never, st.integers())


def test_cases_that_miss_an_assumption_are_not_counted():
    def even(n):
        assume(n % 2 == 0)

    assert assert_holds(even, st.integers(0, 9)).cases == 5


def test_an_error_of_the_statement_is_no_counterexample_and_shows_its_case():
    def divides(n):
        return 1 / (n - 3) != 7

    with pytest.raises(ZeroDivisionError) as caught:
        assert_holds(divides, st.integers(0, 9))
    assert "n = 3" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: assert_holds(3, st.integers()), "statement is 3, expected a function"),
        (lambda: assert_holds(lambda n: True), "strategies do not fit .*missing a required argument: 'n'"),
        (lambda: assert_holds(lambda n: True, st.integers(), st.integers()), "strategies do not fit"),
        (lambda: assert_holds(lambda n: True, m=st.integers()), "strategies do not fit"),
        (lambda: assert_holds(lambda: True), "strategies are missing"),
        (lambda: assert_holds(lambda *n: True, st.integers()), r"has \* or \*\*"),
        (lambda: assert_holds(lambda n: True, 5), "n is 5, expected a Hypothesis strategy"),
        (lambda: assert_holds(lambda n: n, st.just(3.5)), r"returned 3\.5, expected True, False, a Verdict"),
        (lambda: assert_holds(lambda n: Bounds(0, 1, ""), st.just(1)), "returned Bounds"),
        (lambda: assert_holds(lambda n: True, st.integers(), max_examples=0), "max_examples = 0, expected an integer"),
        (lambda: assert_holds(lambda n: True, st.integers(), max_undecided=-1), "max_undecided = -1, expected"),
        (lambda: assert_holds(lambda n: True, st.integers(), max_examples=2.5), "max_examples = 2.5, expected an int"),
        (lambda: assert_holds(lambda n: True, st.integers(), seed="a"), "seed = 'a', expected an integer"),
        (lambda: assert_holds(lambda rows: True, contexts(d_vocab=0, n_ctx=1)), "d_vocab = 0, expected"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_statement_without_a_warning_gives_none():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_holds(lambda n: n >= 0, st.integers(0, 9))


def test_what_is_missing_without_hypothesis_is_named():
    script = "import sys; sys.modules['hypothesis'] = None; import byheart.testing"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    expected = "ModuleNotFoundError: byheart.testing needs Hypothesis: `pip install 'byheart[strategies]'`"
    assert ran.stderr.splitlines()[-1] == expected


def test_pytest_shows_the_counterexample_and_how_many_cases_were_undecided(tmp_path):
    (tmp_path / "test_own.py").write_text(
        "from hypothesis import strategies as st\nfrom byheart.testing import assert_holds\n"
        "from verify import Bounds\n\n\n"
        "def test_false():\n    assert_holds(lambda n: n < 3, st.integers(0))\n\n\n"
        "def test_partly():\n    assert_holds(lambda n: Bounds(n, 5, 'by hand') > 2, st.integers(0, 5))\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed, 1 warning" in ran.stdout
    assert "E       n = 3" in ran.stdout and "def assert_holds" not in ran.stdout
    said = "test_own.py:11: UndecidedWarning: The statement holds in 3 of 6 cases; 3 undecided; the first:"
    assert said in ran.stdout
