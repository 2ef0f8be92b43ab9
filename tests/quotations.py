"""Which words stand in a source, told by short hashes of its runs of words: the texts are not ours to copy.

    python tests/quotations.py TEXT > tests/sources/NAME.runs

writes the hashes of a text. Words are those of `words`; a run is `RUN` of them, one after the other.
"""

import hashlib
import re
import sys
import unicodedata
from pathlib import Path

RUN = 8
"""Words in a run: a quotation stands in a source if all its runs do."""

DIGITS = 6
"""Hexadecimal digits of a hash: a run that is in no source is taken for one that is, one time in a thousand."""

_WORD = re.compile(r"\\?[^\W\d_]+|\d+|[^\s\w]|_")
_NO_WORDS = frozenset("${}*\\")


def words(text: str) -> list[str]:
    """The words, numbers and signs of a text, in order.

    Letters are as in the text, ligatures taken apart, words that a line end divides put together; dollars, braces and
    asterisks, which only set formulas and emphasis, are left out.
    """
    text = re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", unicodedata.normalize("NFKC", text))
    return [word for word in _WORD.findall(text) if word not in _NO_WORDS]


def runs(text: str) -> set[str]:
    """The hashes of all runs of words of a text."""
    found = words(text)
    return {_hash(found[i : i + RUN]) for i in range(len(found) - RUN + 1)}


def _hash(run: list[str]) -> str:
    return hashlib.sha256(" ".join(run).encode()).hexdigest()[:DIGITS]


if __name__ == "__main__":
    print("\n".join(sorted(runs(Path(sys.argv[1]).read_text(encoding="utf-8")))))
