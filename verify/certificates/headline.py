"""Phrase the answer to a question about a model: one word, one line, one verdict, for every command and both checkers.

Page: docs/rigour/certificate.md
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from constructions.counted import counted, inflected
from constructions.tasks.criterion import TOLERANCE, Criterion
from verify.arithmetic.decimals import decimal_above, decimal_below
from verify.arithmetic.exact_json import Number
from verify.kernel.domain import TOKEN_BY_TOKEN
from verify.verdict import Verdict

OF_A_RULE = "rule: "
"""How the origin of the targets begins where they are those of a rule on a domain, not of a list."""

OF_A_FOLD = TOKEN_BY_TOKEN
"""How it begins where the answers to the inputs of a domain are said token by token (`constructions/folds/fold.py`)."""

OWN = "own"
"""The origin of targets that are neither counts of a text nor cells of a table, such as a model's own outputs."""

TABLE = "table"
"""The origin of the answers of a table, one for each row."""

PROMPTS = "prompts"
"""The origin of the answers to prompts, each said whole."""

PROVER_ALONE = "(fast prover only)"
"""What the first line says behind each part of it that the kernel has no proof of."""

VACUOUS = "NO BETTER THAN A GUESS"


@dataclass(frozen=True)
class Outcome:
    """The answer to a question: verdict, first words and details.

    Args:
        verdict: PROVED for yes, REFUTED for no, UNDECIDED; the exit code follows from it.
        word: The first words of the line.
        parts: What stands behind them.
    """

    verdict: Verdict
    word: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.word}: {'; '.join(self.parts)}"

    def adding(self, *parts: str) -> "Outcome":
        """Return the outcome with more text after it."""
        return replace(self, parts=(*self.parts, *parts))


def sampled_bound(most: int, whole: int, said: str) -> str:
    """Describe what a sample implies for the set that it was drawn from.

    Args:
        most: How many of all are otherwise at most (`verify/domains/sample.py:most_wrong`).
        whole: How many there are.
        said: What these are or do.

    Example:
        >>> sampled_bound(80, 342, "are wrong")
        'at most 80 of all 342 are wrong (23.4 %), except for a draw of probability 2^-128'
    """
    share = decimal_above(Fraction(100 * most, whole), 3)
    return f"at most {most:,} of all {whole:,} {said} ({share} %), except for a draw of probability 2^-128"


def outcome(
    values: Mapping[str, Number],
    criterion: Criterion,
    *,
    target: str,
    origin: str,
    by: str = "PROVED",
) -> Outcome:
    """Return the answer to a question from numbers about the contexts, whoever obtained them.

    A yes is one only if the model is proved to do more than a guess that ignores the context (`beats_a_guess`), and a
    no if it is proved not to (`loses_to_a_guess`); otherwise the question stays open.

    Args:
        values: `contexts`, `memorized` and `wrong`, and the bounds that there are, by the names of an ``answers``
            statement, with those of a ``sample`` statement where inputs were drawn.
        criterion: The question.
        target: ``"labels"``, ``"distributions"`` or ``"values"``.
        origin: Where the targets come from (`Subject.origin`).
        by: How the numbers were obtained: ``"PROVED"``, ``"MEASURED"`` or ``"SAMPLED"``.

    Returns:
        The answer, whose text is the first line of every output.

    Example:
        >>> values = {"contexts": 3, "memorized": 3, "wrong": 0, "guess_right": 2}
        >>> print(outcome(values, Criterion(), target="labels", origin="table"))
        MEMORIZED, PROVED: 3 of 3 facts
        >>> print(outcome({**values, "memorized": 2, "wrong": 1}, Criterion(), target="labels", origin="table"))
        NOT MEMORIZED: 1 of 3 facts proved wrong, 2 memorized
    """
    contexts, memorized, wrong = (values.get(name, 0) for name in ("contexts", "memorized", "wrong"))
    verdict, whole = answer(criterion, values), criterion.asked == "memorized"
    guess_is_open = False
    if verdict is not Verdict.REFUTED and loses_to_a_guess(criterion, values, target):
        verdict, words = Verdict.REFUTED, VACUOUS
    elif verdict is Verdict.PROVED and not beats_a_guess(criterion, values, target):
        verdict, words, guess_is_open = Verdict.UNDECIDED, "NOT DECIDED", True
    elif verdict is Verdict.PROVED and origin == OWN:
        near = "NEAR" if criterion.asked == "at-most" else "REPRODUCES"  # a small mean reproduces nothing
        words = f"{near} ITS TARGETS{'' if whole else ' AS ASKED'}, {by}"
    elif verdict is Verdict.PROVED:
        words = f"{'MEMORIZED' if whole else 'AS ASKED'}, {by}"
    else:
        no = f"NOT {'MEMORIZED' if whole else 'AS ASKED'}"
        words = no if verdict is Verdict.REFUTED else "NOT DECIDED"
    noun = "input" if origin.startswith(OF_A_RULE) else "fact" if origin in (PROMPTS, TABLE) else "context"
    sampled = "drawn" in values and memorized < contexts
    if sampled:
        words = {Verdict.UNDECIDED: "SAMPLED", Verdict.REFUTED: f"{words}, SAMPLED"}.get(verdict, words)
        count = f"{values['right']:,} of {values['drawn']:,} {inflected(noun, 2)} drawn from {contexts:,} are right"
    elif criterion.asked == "at-most":  # how many are within a tolerance is not the question
        count = f"{_mean(values, verdict, target, by)} over {counted(contexts, noun)}"
    elif memorized == contexts:
        count = f"{memorized:,} of {counted(contexts, noun)}"
    elif verdict is Verdict.REFUTED and whole and words != VACUOUS:
        count = f"{wrong:,} of {counted(contexts, noun)} {by.lower()} wrong, {memorized:,} memorized"
        count += f", {contexts - memorized - wrong:,} not decided" if memorized + wrong < contexts else ""
    else:
        count = f"{memorized:,} of {counted(contexts, noun)} memorized, {wrong:,} {by.lower()} wrong"
    if target != "labels" and criterion.asked != "at-most" and criterion.tolerance != TOLERANCE:
        count += f", within {criterion.within}{_unit(target)}"
    parts = [count]
    if sampled:
        parts.append(f"{wrong:,} {by.lower()} wrong")
        parts.append(sampled_bound(int(values["wrong_upper"]), int(contexts), "are wrong"))
    if not whole:
        parts.append(f"asked: {criterion.describe(target, met=verdict is Verdict.PROVED)}")
    if guess_is_open:
        parts.append(f"what is asked is {by.lower()}, but not that a guess does less")
    if guess_is_open or words.startswith(VACUOUS):
        parts += _guess(criterion, values, target, verdict, by)
    if origin == OWN:
        parts.append("custom targets, not from counts")
    elif origin.startswith(OF_A_FOLD):
        parts.append(f"the rule is {origin.removeprefix(OF_A_FOLD)}, said token by token")
    elif origin.startswith(OF_A_RULE):
        parts.append(f"the rule is {origin.removeprefix(OF_A_RULE)}")
    return Outcome(verdict, words, tuple(parts))


def outcome_of_fact(fate: str) -> Outcome:
    """Return the outcome for a single fact, which no guess can be compared with: ``"held"``, ``"lost"`` or
    ``"undecided"``.
    """
    words = {"memorized": "FACT PROVED", "lost": "NOT MEMORIZED", "undecided": "NOT DECIDED"}
    verdicts = {"memorized": Verdict.PROVED, "lost": Verdict.REFUTED, "undecided": Verdict.UNDECIDED}
    return Outcome(verdicts[fate], words[fate], ())


def answer(criterion: Criterion, values: Mapping[str, Number]) -> Verdict:
    """Return the answer to a question from the proved numbers of an ``answers`` statement.

    Args:
        criterion: The question.
        values: `contexts`, `memorized` and `wrong`, and the bounds that there are; `mean_lower` refutes.

    Returns:
        PROVED for yes, REFUTED for no, UNDECIDED where the numbers decide neither.

    Example:
        >>> answer(Criterion(), {"contexts": 3, "memorized": 2, "wrong": 0}).value
        'UNDECIDED'
    """
    if "contexts" not in values:
        return Verdict.UNDECIDED
    if criterion.asked == "at-most":
        bound = Fraction(criterion.bound or 0.0)
        if "mean_upper" in values and values["mean_upper"] <= bound:
            return Verdict.PROVED
        return Verdict.REFUTED if "mean_lower" in values and values["mean_lower"] > bound else Verdict.UNDECIDED
    asked = values["contexts"] if criterion.contexts is None else criterion.contexts
    if values["memorized"] >= asked:
        return Verdict.PROVED
    return Verdict.REFUTED if values["contexts"] - values["wrong"] < asked else Verdict.UNDECIDED


def beats_a_guess(criterion: Criterion, values: Mapping[str, Number], target: str) -> bool:
    """Tell whether these numbers prove that a model beats the best guess that ignores the context.

    For labels: more right answers than the most frequent answer gives, or all of them where there is no other answer.
    For distributions and values, and where a mean is asked for: a mean loss, from above, below the least that any guess
        has,
    from below.

    Args:
        criterion: The question.
        values: `contexts` and `memorized`, with `guess_right`; or `mean_upper`, with `guess_lower`.
        target: ``"labels"``, ``"distributions"`` or ``"values"``.

    Example:
        >>> beats_a_guess(Criterion(), {"contexts": 9, "mean_upper": 2.0, "guess_lower": 1.5}, "distributions")
        False
    """
    if _compares_means(criterion, target):
        return "mean_upper" in values and values["mean_upper"] < values.get("guess_lower", 0)
    guess, memorized = values.get("guess_right", values.get("guess_most")), values["memorized"]
    return guess is not None and (memorized > guess or memorized == guess == values["contexts"])


def loses_to_a_guess(criterion: Criterion, values: Mapping[str, Number], target: str) -> bool:
    """Tell whether these numbers prove that the best guess that ignores the context is at least as good as a model.

    For labels: all contexts that are not proved wrong are no more than the most frequent answer gives. For
        distributions and
    values, and where a mean is asked for: a mean loss, from below, of at least what some guess has, from above; a guess
    has no loss where there is one context. Contexts that nobody has looked at count for the model.

    Args:
        criterion: The question.
        values: `contexts` and `wrong`, with `guess_right`; or `mean_lower`, with `guess_upper`.
        target: ``"labels"``, ``"distributions"`` or ``"values"``.

    Example:
        >>> values = {"contexts": 9, "memorized": 3, "wrong": 0, "guess_right": 4}
        >>> loses_to_a_guess(Criterion.at_least(1), values, "labels")
        False
    """
    contexts = values.get("contexts", 0)
    if _compares_means(criterion, target):
        known = "mean_lower" in values and "guess_upper" in values
        return contexts == 1 or (known and values["mean_lower"] >= values["guess_upper"])
    guess, most = values.get("guess_right"), contexts - values.get("wrong", 0)
    return guess is not None and most <= guess and not most == guess == contexts


def _compares_means(criterion: Criterion, target: str) -> bool:
    """Tell whether a model and a guess are compared by mean loss, rather than by the number of right answers."""
    return target != "labels" or criterion.asked == "at-most"


def _mean(values: Mapping[str, Number], verdict: Verdict, target: str, by: str) -> str:
    """Return what is known of the mean loss; of a run that was measured its own number, which bounds nothing."""
    name, unit = "mean distance" if target == "values" else "mean KL", _unit(target)
    if by == "MEASURED" and "mean_upper" in values:
        return f"{name} {float(values['mean_upper']):.4g}{unit}"
    if verdict is Verdict.REFUTED and "mean_lower" in values:
        return f"{name} at least {decimal_below(values['mean_lower'])}{unit}"
    if "mean_upper" in values:
        return f"{name} at most {decimal_above(values['mean_upper'])}{unit}"
    return name


def _guess(criterion: Criterion, values: Mapping[str, Number], target: str, verdict: Verdict, by: str) -> list[str]:
    """Return what the best guess that ignores the context gets, next to what it is compared with."""
    guess = "a guess that ignores the context"
    if not _compares_means(criterion, target):
        if "guess_right" in values:
            return [f"{guess} gets {values['guess_right']:,}"]
        return [f"{guess} gets at most {values['guess_most']:,}"] if "guess_most" in values else []
    mean = [] if criterion.asked == "at-most" else [_mean(values, verdict, target, by)]  # else it comes first
    if verdict is Verdict.REFUTED and "guess_upper" in values:
        return [*mean, f"{guess} has at most {decimal_above(values['guess_upper'])}{_unit(target)}"]
    if "guess_lower" in values:
        return [*mean, f"{guess} has at least {decimal_below(values['guess_lower'])}{_unit(target)}"]
    return []


def _unit(target: str) -> str:
    return "" if target == "values" else " nats"
