"""Mutants of what a memory answers when it is asked: what is near for what is proved, and words for the certificate."""

from tests.mutants import Mutant

RIGHT = "right = bool(modes.any() and lower[modes].min() > upper[~modes].max(initial=-np.inf))"


def ask(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("byheart/memory.py", original, mutated, "tests/byheart/test_memory.py", why)


MUTANTS = [
    ask(RIGHT, "right = bool(modes.any())", "an answer that is proved wrong is called held"),
    ask(RIGHT, RIGHT.replace("lower", "middle").replace("upper", "middle"), "a label may lead by its midpoint alone"),
    ask("lower[best] - np.delete(upper, best)", "middle[best] - np.delete(middle, best)", "a margin without radii"),
    ask("is_open[0] = not margin > 0.0", "is_open[0] = False", "one rung of the ladder is all"),
    ask("token=names[best] if margin > 0.0 else None", "token=names[best]", "a tie is an answer"),
    ask("held=right and (everything or int(at[0]) in held)", "held=right", "the certificate is not asked"),
    ask(
        "held=right and (everything or int(at[0]) in held)",
        "held=everything or int(at[0]) in held",
        "only the certificate is asked",
    ),
    ask("memorized=bool(len(at))", "memorized=True", "whatever is asked is a fact"),
    Mutant(
        "byheart/explanation.py",
        "(task.contexts == tokens).all(axis=1)",
        "(task.contexts == tokens).any(axis=1)",
        "tests/byheart/test_memory.py",
        "one token makes a fact",
    ),
    ask("np.zeros(task.n_answers, dtype=bool)", "np.ones(task.n_answers, dtype=bool)", "no fact is every fact"),
    ask(
        'everything = answers is None or answers.values["held"] == task.n_contexts',
        "everything = True",
        "some that are held are all",
    ),
]
