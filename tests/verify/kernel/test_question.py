"""What was asked is answered by stated numbers, and never with less than a guess does."""

from typing import Any

import pytest

from verify.kernel.certificate import Certificate, Criterion
from verify.kernel.question import Stated, require_yes
from verify.kernel.verdicts import NotProvedError, UndecidedError


def answered(
    asked: str, stated: Stated, *, target: str = "labels", contexts: int | None = None, bound: float | None = None
) -> str:
    criterion = Criterion(asked, 0.001, contexts, bound)
    certificate = Certificate("", "", target, "own", {}, criterion, [], None)
    try:
        require_yes(certificate, stated)
    except (NotProvedError, UndecidedError) as error:
        return error.word
    return "PROVED"


CASES: list[tuple[dict[str, Any], Stated, str]] = [
    ({"asked": "memorized"}, Stated(4, 4, 0, 2, None, None), "PROVED"),
    ({"asked": "memorized"}, Stated(4, 4, 0, 4, None, None), "PROVED"),
    ({"asked": "memorized"}, Stated(4, 3, 0, 2, None, None), "UNDECIDED"),
    ({"asked": "memorized"}, Stated(4, 3, 1, 2, None, None), "NOT PROVED"),
    ({"asked": "at-least", "contexts": 3}, Stated(4, 3, 1, 2, None, None), "PROVED"),
    ({"asked": "at-least", "contexts": 2}, Stated(4, 2, 1, 2, None, None), "UNDECIDED"),
    ({"asked": "at-least", "contexts": 2}, Stated(4, 2, 2, 2, None, None), "NOT PROVED"),
    ({"asked": "at-most", "bound": 0.5}, Stated(4, 0, 0, 2, 0.5, 0.6), "PROVED"),
    ({"asked": "at-most", "bound": 0.5}, Stated(4, 0, 0, 2, 0.5, 0.5), "UNDECIDED"),
    ({"asked": "at-most", "bound": 0.5}, Stated(4, 0, 0, 2, 0.51, 0.6), "UNDECIDED"),
    ({"asked": "at-most", "bound": 0.5}, Stated(4, 0, 0, 2, None, 0.6), "UNDECIDED"),
    ({"asked": "at-most", "bound": 0.5}, Stated(4, 0, 0, 2, 0.5, None), "UNDECIDED"),
    ({"asked": "at-most", "bound": 0.5}, Stated(1, 0, 0, 1, 0.5, 0.6), "NOT PROVED"),
    ({"asked": "memorized", "target": "distributions"}, Stated(4, 4, 0, None, 0.5, 0.6), "PROVED"),
    ({"asked": "memorized", "target": "distributions"}, Stated(4, 4, 0, None, 0.6, 0.6), "UNDECIDED"),
    ({"asked": "memorized", "target": "distributions"}, Stated(1, 1, 0, None, 0.5, 0.6), "NOT PROVED"),
]


@pytest.mark.parametrize("asked, stated, word", CASES)
def test_a_yes_follows_from_what_is_stated(asked: dict[str, Any], stated: Stated, word: str) -> None:
    assert answered(stated=stated, **asked) == word
