"""The statement `answers`: which contexts are memorized in real arithmetic, by what margin, with what loss.

Page: docs/rigour/kernel.md
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx

from verify.kernel.balls import PRECISIONS
from verify.kernel.certificate import FILE, Certificate, Mask, read_mask
from verify.kernel.evaluation import Evaluation, Found, guess, whole
from verify.kernel.files import require_fields
from verify.kernel.numerals import Number, counted, decimal_above, decimal_below, read_count, read_number
from verify.kernel.question import Stated
from verify.kernel.verdicts import BadInputError, NotProvedError, UndecidedError

ID = "answers"
PLACE = 0
_BOUNDS = ("margin_lower", "mean_upper", "max_upper", "guess_lower")


@dataclass(frozen=True)
class Statement:
    """Which contexts are memorized, at least how many are not, and the stated bounds.

    Args:
        memorized: Whether each context is stated to be memorized.
        wrong: At least this many are not memorized.
        margin_lower: In the memorized ones the logit of every mode exceeds every other by so much.
        mean_upper: A bound of the mean loss over all contexts, nats; of values that of the largest distance.
        max_upper: A bound of the largest.
        guess_lower: No guess without the context has a smaller mean loss.
        guess_right: So many contexts the most frequent label alone holds; for labels, and only then.
    """

    memorized: Mask
    wrong: int
    margin_lower: Number | None
    mean_upper: Number | None
    max_upper: Number | None
    guess_lower: Number | None
    guess_right: int | None


def read(field: str, record: dict[str, Any], certificate: Certificate) -> Statement:
    """Return the data of a statement in its one form."""
    values, labels = record["values"], certificate.target == "labels"
    require_fields(FILE, f"{field}.values", values, ["contexts", "memorized", "wrong"], [*_BOUNDS, "guess_right"])
    count = certificate.sizes["contexts"]
    if "named" in record or read_count(FILE, f"{field}.values.contexts", values["contexts"]) != count:
        raise BadInputError(FILE, f"{field}.values.contexts", f"are not the {count} of the subject, or names are given")
    memorized = read_count(FILE, f"{field}.values.memorized", values["memorized"], count)
    wrong = read_count(FILE, f"{field}.values.wrong", values["wrong"], count - memorized)
    if ("guess_right" in values) != labels or ("mean_upper" in values) != ("max_upper" in values):
        raise BadInputError(FILE, f"{field}.values", "has a guess or a bound that does not go with the others")
    best = read_count(FILE, f"{field}.values.guess_right", values["guess_right"], count) if labels else None
    bounds = [read_number(FILE, f"{field}.values.{n}", values[n]) if n in values else None for n in _BOUNDS]
    no_margin = not memorized or certificate.target == "values"
    if best == 0 or (bounds[0] is not None and (bounds[0] <= 0 or no_margin)):
        raise BadInputError(FILE, f"{field}.values", "has a guess that holds nothing, or a margin where there is none")
    margin, mean, most, guess_lower = bounds
    mask = read_mask(f"{field}.memorized", record["memorized"], count, memorized)
    return Statement(mask, wrong, margin, mean, most, guess_lower, best)


def sentence(statement: Statement, certificate: Certificate) -> str:
    """Return the statement in words; decimals are rounded so that it stays true."""
    count, memorized = statement.memorized.contexts, statement.memorized.count
    of_values = certificate.target == "values"
    unit, name = ("", "distance from the values") if of_values else (" nats", "divergence of the prediction")
    text = f"Of {counted(count, 'context')} {memorized} are memorized"
    parts = [text + (f" and {statement.wrong} are not" if statement.wrong else "")]
    if statement.margin_lower is not None:
        where = "" if memorized == count else ", where it is memorized,"
        mode = "the label" if certificate.target == "labels" else "every mode of the distribution"
        lower = decimal_below(statement.margin_lower)
        parts.append(f"the logit of {mode}{where} exceeds every other by at least {lower}")
    if statement.max_upper is not None and statement.mean_upper is not None:
        most, mean = decimal_above(statement.max_upper), decimal_above(statement.mean_upper)
        loss = f"at most {most}{unit} in every context and at most {mean}{unit} on average"
        parts.append(f"the {name} is {loss}")
    if statement.guess_lower is not None:
        lower = decimal_below(statement.guess_lower)
        parts.append(f"that of any guess without the context is at least {lower}{unit} on average")
    if statement.guess_right is not None:
        parts.append(f"the most frequent label alone holds {statement.guess_right}")
    return "; ".join(parts) + "."


def stated(statement: Statement) -> Stated:
    """Return the numbers that answer the question."""
    memorized, bounds = statement.memorized, (statement.mean_upper, statement.guess_lower)
    return Stated(memorized.contexts, memorized.count, statement.wrong, statement.guess_right, *bounds)


def check(statement: Statement, certificate: Certificate, evaluation: Evaluation) -> str:
    """Prove the statement; return how.

    Raises:
        NotProvedError: It is false; names the context or the number.
        UndecidedError: Balls of 4096 bits decide it neither way.
    """
    _check_guess(statement, evaluation)
    facts, known = evaluation.task.facts, dict(enumerate(evaluation.in_reals))
    left, how = list(range(len(facts))), "exact integers"
    for bits in (None, *PRECISIONS):
        with ctx.workprec(bits or PRECISIONS[0]):
            if bits is not None:
                how = f"balls of up to {bits} bits"
                known |= evaluation.in_balls(sorted({i for fact in left for i in facts[fact]}), bits)
            answers = dict(enumerate(_of_facts(known, facts)))
            left = [i for i, answer in answers.items() if not _follows(statement, certificate, i, answer)]
            if not left and not (left := _mean_is_open(statement, answers)):
                _check_wrong(statement, certificate, answers)
                return f"{counted(len(answers), 'context')}, by {how}"
    raise UndecidedError(f"{ID}: context {left[0]} is not decided by balls of {PRECISIONS[-1]} bits")


def _of_facts(known: dict[int, Found | None], facts: Sequence[tuple[int, ...]]) -> Iterator[Found | None]:
    """Yield the joint answer of each fact, or None unless every context of the fact has one."""
    for fact in facts:
        parts = [evaluated for i in fact if (evaluated := known[i]) is not None]
        yield whole(parts) if len(parts) == len(fact) else None


def _follows(statement: Statement, certificate: Certificate, i: int, found: Found | None) -> bool:
    """Tell whether the statement about context i follows from its evaluation; raise if the opposite follows."""
    if found is None:
        return False
    memorized = found.is_memorized(certificate.target, ball(certificate.criterion.tolerance))
    follows = memorized is not None or not statement.wrong
    if statement.memorized[i]:
        follows = memorized is True
        if memorized is False:
            raise NotProvedError(f"{ID}: context {i} is not memorized")
        if statement.margin_lower is not None and found.gap is not None:
            least = ball(statement.margin_lower)
            if found.gap < least:
                raise NotProvedError(f"{ID}: margin_lower is larger than the margin of context {i}")
            follows = follows and found.gap >= least
    if statement.max_upper is not None:
        if found.loss > ball(statement.max_upper):
            raise NotProvedError(f"{ID}: max_upper is smaller than the loss of context {i}")
        follows = follows and found.loss <= ball(statement.max_upper)
    return follows


def _mean_is_open(statement: Statement, found: dict[int, Found | None]) -> list[int]:
    """Return the contexts whose loss must be known better for the mean; empty if its bound is proved."""
    if statement.mean_upper is None:
        return []
    mean = sum((answer.loss for answer in found.values() if answer is not None), arb(0)) / len(found)
    if mean > ball(statement.mean_upper):
        raise NotProvedError(f"{ID}: mean_upper is smaller than the mean loss")
    return [] if mean <= ball(statement.mean_upper) else list(found)


def _check_wrong(statement: Statement, certificate: Certificate, found: dict[int, Found | None]) -> None:
    tolerance = ball(certificate.criterion.tolerance)
    wrong = sum(
        answer is not None and answer.is_memorized(certificate.target, tolerance) is False for answer in found.values()
    )
    if wrong < statement.wrong:
        raise NotProvedError(f"{ID}: wrong is {statement.wrong}, but {wrong} contexts are proved not to be memorized")


def _check_guess(statement: Statement, evaluation: Evaluation) -> None:
    for bits in PRECISIONS:
        with ctx.workprec(bits):
            loss, most = guess(evaluation.task)
            if most != statement.guess_right:
                raise NotProvedError(
                    f"{ID}: guess_right is {statement.guess_right}, the most frequent label holds {most}"
                )
            if statement.guess_lower is None or ball(statement.guess_lower) <= loss:
                return
            if ball(statement.guess_lower) > loss and evaluation.task.target != "values":  # of which it is a bound
                raise NotProvedError(f"{ID}: guess_lower is larger than the mean loss of the best guess")
    if statement.guess_lower != 0:
        raise UndecidedError(f"{ID}: guess_lower and the mean loss of the best guess cannot be told apart")


def ball(number: Number) -> arb:
    """Return a ball that contains the number."""
    numerator, denominator = number.as_integer_ratio()
    return arb(numerator) / arb(denominator)
