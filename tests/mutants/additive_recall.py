"""Mutants of the memory of additive recall: a relation, a subject or a number that is off."""

from tests.mutants import Mutant


def additive(original: str, mutated: str, why: str) -> Mutant:
    file, tests = (
        "constructions/memories/bigrams/additive_recall.py",
        "tests/constructions/memories/bigrams/test_additive_recall.py",
    )
    return Mutant(file, original, mutated, tests, why)


MUTANTS = [
    additive("W_O=-2.0 * values", "W_O=2.0 * values", "a token that is subject and relation is both at once"),
    additive("sign[moved] = -1.0", "pass", "what the first token holds is read with the wrong sign"),
    additive("np.ceil(0.5 + max(", "np.floor(max(", "another relation's answers are too near"),
    additive(
        "(len(relation_answers) - 1) ** 2 / 8", "(len(relation_answers) - 1) / 8", "nor far enough for many answers"
    ),
    additive("code.columns[0] - apart * numbers[r] ** 2", "code.columns[0]", "relations of large number win"),
    additive("W_U[_CONSTANT] = -1.0", "W_U[_CONSTANT] = 0.0", "answers that never occur tie"),
    additive("if len(relation_answers) > 1]", "]", "relations of one answer take a coordinate"),
    additive("[_RELATION] if position == 0", "[_FIRST] if position == 0", "the relation is not moved"),
    additive("if None not in shared:", "if False:", "shared answers are not refused by name"),
    additive("if rounded.sha256() != model.sha256():", "if False:", "rounded entries pass for exact ones"),
    additive("key=lambda found: found[0].parameters", "key=lambda found: -found[0].parameters", "the larger is taken"),
]
