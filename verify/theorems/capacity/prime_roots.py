r"""Numbers that satisfy no polynomial equation with integer coefficients: exponentials of square roots of primes.

Page: docs/claims/generic_embeddings.md
"""

from collections.abc import Sequence

from flint import fmpz

from verify.verdict import Verdict, proved


def independent_exponentials(primes: Sequence[int]) -> Verdict:
    r"""Judge whether no polynomial over the integers but 0 vanishes at $(e^{\sqrt{p_1}}, \dots, e^{\sqrt{p_n}})$.

    Why it is rigorous: square roots of distinct primes are linearly independent over the rationals (Besicovitch 1940),
    and exponentials of algebraic numbers that are linearly independent over the rationals are algebraically
    independent (Lindemann and Weierstrass). What is left to check is that the numbers are distinct primes.

    Args:
        primes: The $p_i$.

    Returns:
        PROVED for distinct primes; UNDECIDED for other numbers.

    Source: Dana, Pydi, Chevaleyre (2024), Lemma 3.

    Example:
        >>> independent_exponentials([2, 3]).value, independent_exponentials([2, 2]).value
        ('PROVED', 'UNDECIDED')
    """
    numbers = [int(number) for number in primes]
    return proved(len(numbers) > 0 and len(set(numbers)) == len(numbers) and all(fmpz(n).is_prime() for n in numbers))
