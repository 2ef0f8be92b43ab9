"""Mutants of what is read and what is answered: one vocabulary taken for the other, names that are not compared."""

from tests.mutants import Mutant

READERS = "tests/falsify/test_two_readers.py::"
TASKS = "tests/constructions/tasks/test_task.py"
ONE_HEAD = "tests/contract/test_answers.py::test_one_head_keeps_its_margin_for_any_number_of_answers"
JOB = (
    "tests/byheart/theorems/test_memorized.py::"
    "test_what_distributions_leave_unavoidable_depends_on_the_number_of_answers"
)


def of_task(original: str, mutated: str, why: str, tests: str = TASKS) -> Mutant:
    return Mutant("constructions/tasks/task.py", original, mutated, tests, why)


TWICE = "test_the_vocabulary_once_more_or_nothing_as_answers_is_refused_by_both"

MUTANTS = [
    # The reader by numpy.
    of_task("in ([], vocabulary)", "in ([],)", "one task has two files", f"{READERS}{TWICE}"),
    of_task("in ([], vocabulary)", "in (vocabulary,)", "answers may be none", f"{READERS}{TWICE}"),
    of_task('({"answers": list(self.answers)} if self.apart else {})', "{}", "answers have no hash"),
    of_task("shape = (self.n_contexts, self.n_answers)", "shape = (self.n_contexts, 10**9)", "labels are any numbers"),
    of_task("counts.indices.max() >= self.n_answers", "False", "counts of answers that are none"),
    of_task('_checked_names("answers", self.answers)', "tuple(self.answers)", "an answer may come twice"),
    of_task("else self.origin,\n        )", 'else "own",\n        )', "what is smoothed is said to be one's own"),
    of_task('origin="" if self.origin == "most frequent" else', "origin=", "another answer may come first"),
    of_task("order = np.lexsort((new[self.indices], rows))", "order = np.arange(len(rows))", "answers in no order"),
    # What is built, and what is said of it.
    Mutant(
        "constructions/memories/bigrams/one_head.py",
        "- (last == 0) * min(size - 1, 1) / 4.0) / (labels + 1)",
        "- (last == 0) * min(labels - 1, 1) / 4.0) / (labels + 1)",
        ONE_HEAD,
        "one answer for one token",
    ),
    Mutant(
        "constructions/memories/bigrams/one_head.py",
        "4.0 * (labels + 1)",
        "4.0 * (size + 1)",
        ONE_HEAD,
        "tokens for answers",
    ),
    Mutant(
        "byheart/theorems/memorized.py",
        "network.d_model >= task.n_answers - 1",
        "network.d_model >= task.d_vocab - 1",
        JOB,
        "distributions over more answers than tokens are said to fit",
    ),
]
