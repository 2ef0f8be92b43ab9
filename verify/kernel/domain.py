"""The statement `domain`: how many inputs of the whole domain of a rule are answered as it says, and how many are not.

Page: docs/rigour/domains.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from verify.kernel import sample
from verify.kernel.certificate import FILE, Certificate
from verify.kernel.evaluation import Evaluation
from verify.kernel.files import require_fields
from verify.kernel.inputs import count_inputs
from verify.kernel.numerals import read_count
from verify.kernel.question import Stated
from verify.kernel.rule import Rule
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

ID = "domain"
PLACE = 0
TOKEN_BY_TOKEN = "rule: token by token, "
"""How the origin of the targets begins where the answers of a rule are said token by token."""

_LARGEST = 2**28  # inputs that are looked at one by one


@dataclass(frozen=True)
class Statement:
    """The numbers of inputs of a domain that are answered as the rule says, and otherwise.

    Args:
        contexts: All inputs.
        memorized: At least this many are answered by the rule.
        wrong: At least this many are not.
        guess: So many have the most frequent answer; where answers are said token by token, no more have.
        token_by_token: Whether they are.
    """

    contexts: int
    memorized: int
    wrong: int
    guess: int
    token_by_token: bool


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    values, count = record["values"], certificate.sizes["contexts"]
    token_by_token = certificate.origin.startswith(TOKEN_BY_TOKEN)
    best = "guess_most" if token_by_token else "guess_right"
    require_fields(FILE, f"{field}.values", values, ["contexts", "memorized", "wrong", best])
    if "named" in record or record["memorized"]:
        raise BadInputError(FILE, field, "has names or a mask, which no statement of a domain has")
    if read_count(FILE, f"{field}.values.contexts", values["contexts"]) != count or not count:
        raise BadInputError(FILE, f"{field}.values.contexts", f"are not the {count} of the subject")
    if certificate.criterion.asked == "at-most":
        raise BadInputError(FILE, "criterion.asked", "is a mean, but a domain is judged by its labels alone")
    memorized = read_count(FILE, f"{field}.values.memorized", values["memorized"], count)
    wrong = read_count(FILE, f"{field}.values.wrong", values["wrong"], count - memorized)
    guess = read_count(FILE, f"{field}.values.{best}", values[best], count)
    if guess == 0:
        raise BadInputError(FILE, f"{field}.values.{best}", "is 0, but every input has an answer")
    return Statement(count, memorized, wrong, guess, token_by_token)


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words."""
    wrong = f", and at least {statement.wrong} are not" if statement.wrong else ""
    right = f"at least {statement.memorized} are answered by the rule"
    text = f"Of all {statement.contexts} inputs of the domain {right}{wrong}"
    if statement.token_by_token:
        return f"{text}, token by token; no answer is that of more than {statement.guess}."
    return f"{text}; the most frequent answer alone holds {statement.guess}."


def prover_alone(statement: Statement, certificate: Certificate) -> str:
    """Return the part for which the kernel has no proof: answers of several tokens, and too many inputs; else empty."""
    if statement.token_by_token:
        return "answers said token by token"
    is_drawn = any(record["id"] == sample.ID for record in certificate.statements)
    return "so many inputs" if statement.contexts > _LARGEST and not is_drawn else ""


def stated(statement: Statement) -> Stated:
    """Return the numbers that answer the question."""
    return Stated(statement.contexts, statement.memorized, statement.wrong, statement.guess, None, None)


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement input by input; for drawn inputs, only those.

    Raises:
        NotProvedError: It is false.
        UndecidedError: Too many inputs are not decided, or there are too many.
    """
    rule = evaluation.task
    if not isinstance(rule, Rule):
        raise NotProvedError(f"{ID}: the task is not a rule on a domain")
    if rule.most_frequent != statement.guess:
        raise NotProvedError(f"{ID}: guess_right is {statement.guess}, most inputs have it {rule.most_frequent} times")
    numbers: Sequence[int] = range(rule.size)
    for record in certificate.statements:
        if record["id"] == sample.ID:
            numbers = sample.drawn_numbers(evaluation.model, rule, sample.read(sample.ID, record, certificate))
    if len(numbers) > _LARGEST:
        raise UndecidedError(f"{ID}: {len(numbers)} inputs are more than are looked at one by one")
    right, wrong = count_inputs(evaluation, rule, numbers)
    if rule.size - wrong < statement.memorized or rule.size - right < statement.wrong:
        raise NotProvedError(f"{ID}: {right} inputs are right and {wrong} are wrong, of {rule.size}")
    if right < statement.memorized or wrong < statement.wrong:
        raise UndecidedError(f"{ID}: only {right} inputs are proved to be right and {wrong} to be wrong")
    return f"{len(numbers)} inputs one by one, {right} right and {wrong} wrong"
