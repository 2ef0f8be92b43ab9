"""Find the provers of the kinds of statement: each is one file of this folder, with the same name as the kernel's.

Page: docs/rigour/certificate.md
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from constructions.errors import InputError
from verify.certificates.certificate import Statement, StatementCheck
from verify.kernel.kinds import kinds_in, load_module
from verify.kernel.verdicts import BadInputError


class Prover(Protocol):
    """A module that proves statements of one kind again, fast and untrusted.

    A module may have more:

    - `state`, a function of a `verify.provers.evaluation.JudgedModel` that returns the statement, where it is made
      only if somebody asks for it;
    - `estimated_bytes`, a function of a model and a task, where it needs much memory;
    - `NEEDS_LOWER_LOSSES`, where it asks for bounds of all losses from below;
    - where it answers the question of a certificate in another way than context by context: `load_rule`, which reads
      the model and the rule of a folder, and `evaluation`, which returns what its statements are proved again of.
    """

    ID: str

    def check(self, statement: Statement, evaluation: Any) -> StatementCheck: ...


def read_kinds(folder: Path | None) -> list[Any]:
    """Load the kernel's modules for kinds of statement that are defined in a folder; none without a folder.

    Args:
        folder: Its folder ``kernel`` has one file for each kind, like those of `verify/kernel/`.

    Raises:
        InputError: There is no such file, or one does not define a kind of statement.
    """
    if folder is None:
        return []
    try:
        return kinds_in(folder)
    except BadInputError as error:
        raise InputError(error.file, f"{error.field} {error.problem}") from error


def prover_of(id: str) -> Any:
    """Return the module of this folder that proves statements of a kind, which somebody asks for.

    Raises:
        InputError: Its file is not there.

    Example:
        >>> prover_of("saturation").__name__
        'verify.provers.saturation'
    """
    found = find_prover(id)
    if found is None:
        raise InputError(f"a statement {id!r}", "is asked for, but its prover is not there", "a whole copy of byheart")
    return found


def find_prover(id: str, folder: Path | None = None) -> Any | None:
    """Return the module that proves statements of a kind; None if there is none.

    Args:
        id: The kind.
        folder: In its folder ``provers`` lie more files like those of this one.

    Raises:
        InputError: The file of the kind cannot be run.

    Example:
        >>> find_prover("feature-rank").__name__, find_prover("check")
        ('verify.provers.feature_rank', None)
    """
    stem, module = id.replace("-", "_"), None
    if not (stem.isascii() and stem.isidentifier()):
        return None
    if Path(__file__).with_name(f"{stem}.py").is_file():
        module = import_module(f"{__package__}.{stem}")
    elif folder is not None and (path := folder / "provers" / f"{stem}.py").is_file():
        try:
            module = load_module(path)
        except BadInputError as error:
            raise InputError(error.file, f"{error.field} {error.problem}") from error
    return module if getattr(module, "ID", None) == id else None
