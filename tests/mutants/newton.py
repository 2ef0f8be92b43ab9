"""Mutants of the search of the Newton memory: wrong derivatives, a step that does not bend, a search without an end."""

from tests.mutants import Mutant

STEPS = "constructions/memories/newton/levenberg_marquardt.py"
SPENT = "tests/constructions/memories/newton/test_newton_memory.py::"
SEARCH = "constructions/memories/newton/newton_memory.py"
HEADS = "constructions/memories/newton/single_value_heads.py"
PRODUCTS = "tests/constructions/memories/newton/test_single_value_heads.py"


def steps(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(STEPS, original, mutated, "tests/constructions/memories/newton/test_levenberg_marquardt.py", why)


def search(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(
        SEARCH,
        original,
        mutated,
        f"{SPENT}test_a_search_whose_work_is_spent_keeps_the_best_so_far",
        why,
    )


def rows(original: str, mutated: str, why: str) -> Mutant:
    test = f"{SPENT}test_the_rows_of_the_second_stage_are_the_derivative_of_its_violations"
    return Mutant(SEARCH, original, mutated, test, why)


MUTANTS = [
    Mutant(HEADS, "- inputs[:, -1:]", "", PRODUCTS, "keys are not taken relative to the last"),
    Mutant(
        HEADS, "right[after, t].T", "right[after, s].T", PRODUCTS, "products of different terms are taken for equal"
    ),
    rows("columns[rows, :, labels] -= self.run.stream[facts]", "pass", "a lead forgets the column of its label"),
    rows("return weights @ self.derivative", "return -weights @ self.derivative", "the steps lead uphill"),
    Mutant(
        SEARCH,
        "ampler = safe_shape(self.table, _AMPLER * per_fact)",
        "ampler = safe_shape(self.table, per_fact)",
        f"{SPENT}test_beyond_the_second_stage_an_ampler_shape_takes_turns",
        "many facts have one shape to start with",
    ),
    steps("return _Step(straight, straight + bend)", "return _Step(straight, straight)", "a step does not bend"),
    steps("bend = 0.5 * self", "bend = self", "a step bends twice as much"),
    steps("ahead - 2.0 * self.violations + behind", "ahead - behind", "a slope passes for the bend"),
    steps("<= _BEND * np", "<= np.inf * np", "no step bends too much"),
    search(
        "                if solution.spent:\n                    raise _WorkSpentError",
        "                if False:\n                    raise _WorkSpentError",
        "a start that was cut off passes for one that failed",
    ),
    search("self.left -= solution.work", "pass", "work is not counted"),
    Mutant(
        SEARCH,
        "work=work - first.work",
        "work=work",
        f"{SPENT}test_a_start_takes_no_more_work_than_it_may",
        "the second stage has all the work again",
    ),
    Mutant(
        STEPS,
        "point_cost + step_cost > work",
        "0 > work",
        f"{SPENT}test_a_step_that_would_take_too_long_is_not_begun",
        "a step is begun whatever it takes",
    ),
]
