"""What tests of judges share: an edit in its folder, and functions and judges of theorems that are wrong for a test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from verify.theorems.evidence import Theorem

Change = Callable[[ModuleType, str, Callable[[Any], object]], None]
Spoil = Callable[[Theorem, Callable[..., object]], None]


@pytest.fixture
def spoil() -> Iterator[Spoil]:
    """Replaces the judge of a theorem by another function of its arguments, until the test ends."""
    before = []

    def replaced(theorem: Theorem, judge: Callable[..., object]) -> None:
        before.append((theorem, theorem.judge))
        object.__setattr__(theorem, "judge", judge)

    yield replaced
    for theorem, judge in reversed(before):
        object.__setattr__(theorem, "judge", judge)


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Change:
    """Puts a function of what it returned in the place of a function of a module, until the test ends."""
    originals: dict[tuple[str, str], Callable[..., object]] = {}

    def change(module: ModuleType, name: str, into: Callable[[Any], object]) -> None:
        original = originals.setdefault((module.__name__, name), getattr(module, name))
        monkeypatch.setattr(module, name, lambda *args, **options: into(original(*args, **options)))

    return change


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edit with its certificate, as it was written."""
    from tests.edited_models import edited
    from verify.provers.edit import save_edit

    path, done = tmp_path_factory.mktemp("edit"), edited(activation="silu", flat=1)
    save_edit(path, done.model, done.edit, done.certificate)
    return path
