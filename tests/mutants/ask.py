"""Mutants of what a memory answers when it is asked: what is near for what is proved, and words for the certificate."""

from tests.mutants import of

memory = of("byheart/memory.py", "tests/byheart/test_memory.py")
facts = of("constructions/tasks/task.py", "tests/byheart/test_memory.py")
said_instead = of("byheart/explanation.py", "tests/byheart/test_explanation.py")

MUTANTS = [
    memory("down(lower[best] - other_upper)", "down(middle[best] - np.delete(middle, best))", "a margin without radii"),
    memory("is_open[0] = not margin > 0.0", "is_open[0] = False", "one precision of the ladder is all"),
    memory(" if least > 0.0 else None,", ",", "a tie is an answer"),
    memory(
        'refuted = fact_fate == "memorized"',
        'refuted = fact_fate in ("memorized", "undecided")',
        "what is not decided is memorized",
    ),
    memory(
        "criterion_of_fact(task, certificate.criterion)", "certificate.criterion", "what a guess knows is memorized"
    ),
    memory("is_fact=number is not None", "is_fact=True", "whatever is asked is a fact"),
    memory(
        "if answer.token is None or not answer.memorized:", "if answer.token is None:", "an item need not be a fact"
    ),
    said_instead("if lead > 0.0:", "if lead > -2.0:", "of equal logits the first is said to lead"),
    facts("(self.contexts == tokens).all(axis=1)", "(self.contexts == tokens).any(axis=1)", "one token makes a fact"),
]
