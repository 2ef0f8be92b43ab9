"""Judge a statement on a whole domain by counts of right and wrong inputs that are proved again.

Page: docs/rigour/domains.md
"""

from constructions.counted import counted
from verify.certificates.certificate import DOMAIN, GUESS, GUESS_MOST, SAMPLE, Statement, StatementCheck, seed_number
from verify.verdict import Verdict


def check_counts(statement: Statement, right: int, wrong: int, guess: int, method: str) -> StatementCheck:
    """Return the verdict on a ``domain`` statement of who has proved these counts.

    Args:
        statement: The statement.
        right: Inputs that are proved to be right.
        wrong: Inputs that are proved to be wrong.
        guess: Inputs whose answer is the most frequent one; or the bound of them.
        method: How, in a few words.

    Example:
        >>> stated = Statement(DOMAIN, "", {"contexts": 9, "memorized": 7, "wrong": 1, "guess_right": 3})
        >>> check_counts(stated, 7, 2, 3, "sums").verdict.value, check_counts(stated, 6, 3, 3, "sums").verdict.value
        ('PROVED', 'REFUTED')
    """
    stored = statement.values
    contexts, memorized, others = (int(stored[name]) for name in ("contexts", "memorized", "wrong"))
    guessed = GUESS_MOST if GUESS_MOST in stored else GUESS
    values = {"contexts": contexts, "memorized": right, "wrong": wrong, guessed: guess}
    if contexts - wrong < memorized:
        return StatementCheck(
            DOMAIN, Verdict.REFUTED, f"{counted(wrong, 'input')} proved wrong, more than it leaves", values
        )
    if contexts - right < others:
        return StatementCheck(
            DOMAIN, Verdict.REFUTED, f"{counted(right, 'input')} proved right, more than it leaves", values
        )
    if guess != stored[guessed]:
        return StatementCheck(DOMAIN, Verdict.REFUTED, f"the most frequent answer holds {guess}, not so many", values)
    if right >= memorized and wrong >= others:
        return StatementCheck(DOMAIN, Verdict.PROVED, f"{right} right and {wrong} wrong: {method}", values)
    reason = f"only {counted(right, 'input')} proved right and {wrong} wrong, of {contexts}: {method}"
    return StatementCheck(DOMAIN, Verdict.UNDECIDED, reason, values)


def check_sample(statement: Statement, right: int, most_wrong: int, seed: str, method: str) -> StatementCheck:
    """Return the verdict on a ``sample`` statement, given a repeated and judged draw.

    Args:
        statement: The statement.
        right: Inputs drawn that are proved to be right.
        most_wrong: What that says of all inputs (`verify/domains/sample.py:most_wrong`).
        seed: With which was drawn.
        method: How, in a few words.
    """
    stored = statement.values
    values = {name: int(stored[name]) for name in ("contexts", "drawn")}
    values |= {"right": right, "wrong_upper": most_wrong, "seed": seed_number(seed)}
    finding = f"{right} of {values['drawn']} drawn with the seed {seed!r} are right: {method}"
    good = right >= stored["right"] and most_wrong <= stored["wrong_upper"]
    return StatementCheck(SAMPLE, Verdict.PROVED if good else Verdict.UNDECIDED, finding, values)
