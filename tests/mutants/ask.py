"""Mutants of what a memory answers when it is asked: what is near for what is proved, and words for the certificate."""

from tests.mutants import Mutant


def ask(original: str, mutated: str, why: str) -> Mutant:
    return Mutant("byheart/memory.py", original, mutated, "tests/byheart/test_memory.py", why)


MUTANTS = [
    ask("lower[best] - np.delete(upper, best)", "middle[best] - np.delete(middle, best)", "a margin without radii"),
    ask("is_open[0] = not margin > 0.0", "is_open[0] = False", "one precision of the ladder is all"),
    ask("token=names[best] if margin > 0.0 else None", "token=names[best]", "a tie is an answer"),
    ask('held=found == "held"', 'held=found in ("held", "undecided")', "what is not decided is held"),
    ask("criterion_of_fact(task, certificate.criterion)", "certificate.criterion", "what a guess knows is held"),
    ask("memorized=bool(len(at))", "memorized=True", "whatever is asked is a fact"),
    ask("if answer.token is None or not answer.held:", "if answer.token is None:", "an item need not be a fact"),
    Mutant(
        "byheart/explanation.py",
        "(task.contexts == tokens).all(axis=1)",
        "(task.contexts == tokens).any(axis=1)",
        "tests/byheart/test_memory.py",
        "one token makes a fact",
    ),
]
