"""Mutants of the search of the Newton memory: a step that does not bend, a search that does not know where it ends."""

from tests.mutants import Mutant

STEPS = "constructions/memories/levenberg_marquardt.py"
SPENT = "tests/constructions/memories/test_newton_memory.py::"
SEARCH = "constructions/memories/newton_memory.py"


def steps(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(STEPS, original, mutated, "tests/constructions/memories/test_levenberg_marquardt.py", why)


def search(original: str, mutated: str, why: str) -> Mutant:
    return Mutant(SEARCH, original, mutated, f"{SPENT}test_a_search_whose_steps_are_spent_keeps_the_best_so_far", why)


MUTANTS = [
    steps("return _Step(straight, straight + bend)", "return _Step(straight, straight)", "a step does not bend"),
    steps("bend = 0.5 * self", "bend = self", "a step bends twice as much"),
    steps("ahead - 2.0 * self.violations + behind", "ahead - behind", "a slope passes for the bend"),
    steps("<= _BEND * np", "<= np.inf * np", "no step bends too much"),
    search(
        "                if self.left < 1:\n                    raise _StepsSpentError  #",
        "                if False:\n                    raise _StepsSpentError  #",
        "a start that was cut off passes for one that failed",
    ),
    search("self.left -= taken", "pass", "steps are not counted"),
    search("int(min(iterations, steps - first.iterations))", "iterations", "the second stage has all steps again"),
]
