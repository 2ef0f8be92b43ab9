"""Decide whether the statements of a certificate answer its question with yes.

Page: docs/rigour/kernel.md
"""

from dataclasses import dataclass

from verify.kernel.certificate import Certificate
from verify.kernel.numerals import Number
from verify.kernel.verdicts import NotProvedError, UndecidedError


@dataclass(frozen=True)
class Stated:
    """The proved numbers of the first statement about a model.

    Args:
        contexts: Number of contexts.
        memorized: At least this many are memorized.
        wrong: At least this many are not.
        guess_right: So many the most frequent answer alone holds; of labels.
        mean_upper: A bound of the mean loss.
        guess_lower: No guess without the context has a smaller mean loss.
    """

    contexts: int
    memorized: int
    wrong: int
    guess_right: int | None
    mean_upper: Number | None
    guess_lower: Number | None


def require_yes(certificate: Certificate, stated: Stated) -> None:
    """Require that the answer is yes, by numbers that are proved, and that the model does more than a guess.

    Raises:
        NotProvedError: The answer is no.
        UndecidedError: The stated numbers do not give a yes.
    """
    criterion, count = certificate.criterion, stated.contexts
    if criterion.asked == "at-most":
        yes = stated.mean_upper is not None and criterion.bound is not None and stated.mean_upper <= criterion.bound
    else:
        wanted = count if criterion.contexts is None else criterion.contexts
        yes = stated.memorized >= wanted
        if count - stated.wrong < wanted:
            raise NotProvedError(
                f"the question: {wanted} contexts shall be memorized, {stated.wrong} are proved not to be"
            )
    if certificate.target == "labels" and criterion.asked != "at-most":
        best, most = stated.guess_right or 0, count - stated.wrong
        beats = stated.memorized > best or stated.memorized == best == count
        if most <= best and not most == best == count:
            raise NotProvedError("the question: the most frequent label alone does as well")
    else:
        if count == 1:
            raise NotProvedError("the question: of one context a guess does as well")
        known = stated.mean_upper is not None and stated.guess_lower is not None
        beats = known and (stated.mean_upper or 0) < (stated.guess_lower or 0)
    if not (yes and beats):
        raise UndecidedError("the question: what is stated does not answer it with more than a guess does")
