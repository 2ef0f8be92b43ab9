import re
from pathlib import Path

from verify.theorems.evidence import theorems
from verify.theorems.evidence.theorem import Theorem

ROOT = Path(__file__).parents[4]
ALL = {name: value for name, value in vars(theorems).items() if isinstance(value, Theorem)}


def test_every_theorem_is_stated_on_its_page() -> None:
    assert len(ALL) > 10
    for name, theorem in ALL.items():
        text = (ROOT / theorem.page).read_text(encoding="utf-8")
        assert re.search(rf"\b{re.escape(theorem.heading)}(?![\w'])", text), name


def test_every_theorem_has_a_judge_of_its_own() -> None:
    assert all(callable(theorem.judge) for theorem in ALL.values())
