"""Mutants of builders, judges and records of the claims of the slides: the audit itself must notice."""

from tests.mutants import Mutant, confirmed
from tests.mutants.audits_dana import FLOOR, ONE_HEAD


def test_of(claim: str, name: str = "test_the_verdict_is_confirmed") -> str:
    """The test that runs the audit of a claim and asks whether it is confirmed."""
    return f"tests/verify/claims/test_slides_{claim}.py::{name}"


THEOREM = confirmed("slides_theorem")
LEAST_SQUARES = confirmed("slides_least_squares")
WEIGHTED = confirmed("slides_weighted_least_squares")
LOW_ENTROPY = confirmed("slides_low_entropy")
MEMORY = confirmed("slides_associative_memory")


def of_record(claim: str, original: str, mutated: str, why: str, tests: str) -> Mutant:
    return Mutant(f"verify/claims/slides_{claim}.py", original, mutated, tests, why)


MUTANTS = [
    of_record("theorem", 'judgement="slip"', 'judgement="holds"', "a slip holds", THEOREM),
    of_record("least_squares", 'judgement="hypothesis"', 'judgement="slip"', "a hypothesis is a slip", LEAST_SQUARES),
    of_record("weighted_least_squares", 'judgement="false"', 'judgement="hypothesis"', "false under none", WEIGHTED),
    of_record("associative_memory", 'judgement="false"', 'judgement="holds"', "what is refuted holds", MEMORY),
    of_record("theorem", "sqrt(2) P Z n", "2 P Z n", "sqrt 2 becomes 2", THEOREM),
    of_record("theorem", "sqrt(2) P Z n", "P Z n", "sqrt 2 becomes 1", THEOREM),
    of_record("least_squares", "[[sharp: sigma^2 / 4]]", "[[sharp: sigma^2 / 3]]", "1/4 becomes 1/3", LEAST_SQUARES),
    of_record("least_squares", "[[sharp: sigma^2 / 4]]", "[[sharp: sigma^2 / 5]]", "1/4 becomes 1/5", LEAST_SQUARES),
    of_record("least_squares", "(N p)^(3/2)", "(N p)^(1/2)", "another printed bound", LEAST_SQUARES),
    of_record("weighted_least_squares", "[[sharp: s / 4]]", "[[sharp: s / 3]]", "1/4 becomes 1/3", WEIGHTED),
    of_record("low_entropy", "[[printed: (1 + 4C)", "[[printed: (1 + 3C)", "another printed factor", LOW_ENTROPY),
    of_record("associative_memory", "[[needed: 8 N log N]]", "[[needed: 4 N log N]]", "8 becomes 4", MEMORY),
    Mutant(
        "verify/capacity/divergence_floor.py",
        ONE_HEAD,
        "    lower *= 1.01\n" + ONE_HEAD,
        THEOREM,
        "a false floor of one head",
    ),
    Mutant(
        "verify/encoders/encoder_floor.py",
        FLOOR,
        FLOOR + "    lower *= 1.3\n",
        LEAST_SQUARES,
        "a false floor of encoders",
    ),
    Mutant(
        "verify/encoders/encoder_floor.py",
        FLOOR,
        FLOOR + "    lower *= 0.1\n",
        LEAST_SQUARES,
        "an empty floor of encoders",
    ),
    Mutant(
        "verify/memories/left_out_bound.py",
        "        return sqrt(2.0) * self.probability * self.row * self.norm",
        "        return 2.0 * self.probability * self.row * self.norm",
        THEOREM,
        "sqrt 2 becomes 2",
    ),
    Mutant(
        "constructions/memories/left_out.py",
        "exact_network(front_end, heads, change * unembedding)",
        "exact_network(front_end, [0 * head for head in heads], change * unembedding)",
        THEOREM,
        "W_O = 0",
    ),
    Mutant("verify/encoders/low_entropy_bound.py", "* 32.0 /", "* 8.0 /", LOW_ENTROPY, "the constant is halved"),
    Mutant(
        "constructions/memories/outer_product_memory.py",
        "    return Associations(outputs, inputs, labels, outputs[labels].T @ inputs)",
        "    return Associations(outputs, inputs, labels, outputs.T @ inputs)",
        MEMORY,
        "the sum forgets the labels",
    ),
    Mutant(
        "constructions/encoders/truncated_laws.py",
        "    W = right[:rank].T\n    return",
        "    W = right[-rank:].T\n    return",
        LEAST_SQUARES,
        "the truncation keeps the last directions",
    ),
]
