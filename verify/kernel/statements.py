"""Read, phrase and order the statements of a certificate, each by the module of its kind.

Page: docs/rigour/kernel.md
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from verify.kernel.certificate import FILE, Certificate
from verify.kernel.evaluation import FORMATS, Evaluation
from verify.kernel.kinds import find_statement
from verify.kernel.verdicts import BadInputError

_REAL = "real arithmetic"


class Kind(Protocol):
    """A kind of statement: a module that reads its data, phrases it, and proves it (`kinds.py`).

    A module may have more: `PLACE`, 0 for what answers the question, which comes first, 1 and 2 for what stands behind
    it, a statement for each number format; and `prover_alone`, which says what of a statement the kernel has no proof
    of.
    """

    ID: str

    def read(self, field: str, record: dict[str, Any], certificate: Certificate) -> Any: ...

    def sentence(self, statement: Any, certificate: Certificate) -> str: ...

    def check(self, statement: Any, certificate: Certificate, evaluation: Evaluation) -> str: ...


class Known(NamedTuple):
    """A statement that was read, and its kind."""

    kind: Any
    statement: Any


def find_kind(id: str, kinds: Sequence[Any]) -> Any | None:
    """Return the module of a kind, from this folder or from the given ones."""
    return find_statement(id) or next((kind for kind in kinds if kind.ID == id), None)


def read_statements(certificate: Certificate, kinds: Sequence[Any] = ()) -> list[Known | str]:
    """Read each statement of a certificate; for an unknown kind, only its `id`.

    Raises:
        BadInputError: A statement is anything but one of its kind in its one form, has a sentence that its numbers do
            not make, or does not stand at its place.
    """
    statements = list[Known | str]()
    for place, record in enumerate(certificate.statements):
        kind = find_kind(record["id"], kinds)
        if kind is None:
            statements.append(record["id"])
            continue
        field = f"statements[{place}]"
        statement = kind.read(field, record, certificate)
        if record["statement"] != kind.sentence(statement, certificate):
            raise BadInputError(FILE, f"{field}.statement", "is not the sentence that its numbers make")
        statements.append(Known(kind, statement))
    require_order(certificate, kinds)
    return statements


def group_of(id: str, kinds: Sequence[Any] = ()) -> int:
    """Return the position of a kind: 0 for the answer to the question, 1 and 2 for those by number format, 3 for
    others.
    """
    return getattr(find_kind(id, kinds), "PLACE", 3)


def place_of(record: dict[str, Any], kinds: Sequence[Any] = ()) -> tuple[int, int]:
    """Return the sort key of a statement within its group, by number format."""
    group, formats = group_of(record["id"], kinds), (_REAL, *FORMATS)
    return group, formats.index(record["named"]["format"]) if group in (1, 2) else 0


def require_order(certificate: Certificate, kinds: Sequence[Any] = ()) -> None:
    """Reject statements that are out of order or stated twice.

    The answer to the question comes first; then runs and texts by format, each format once; then every other kind,
    each once.

    Raises:
        BadInputError: The statements are in another order, or two state the same.
    """
    places = [place_of(record, kinds) for record in certificate.statements]
    if places != sorted(places):
        raise BadInputError(FILE, "statements", "stand in another order")
    ids = [record["id"] for record in certificate.statements]
    if len(set(zip(places, ids, strict=True))) != len(ids):
        raise BadInputError(FILE, "statements", "state the same twice")
