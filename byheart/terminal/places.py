"""Folders and pages that a command reads or names."""

import json
from pathlib import Path
from shlex import quote


def require_folder(folder: Path, *, beside: bool = False) -> None:
    """Refuse what is not a folder of ours, and say of a model, which has no certificate yet, how it gets one.

    Args:
        folder: What was named.
        beside: Whether that may be a model of a host with its proof beside it: one that was edited, or exported.
    """
    from constructions.errors import InputError

    is_edit = any((folder / name).is_file() for name in ("edit.json", "proof/edit.json"))
    if is_edit and not beside:
        proves = f"`byheart check {quote(str(folder))}` proves what was changed"
        raise InputError(repr(str(folder)), f"is a model that was edited, which its own library runs; {proves}")
    if (folder / "parity.json").is_file() and (folder / "proof" / "certificate.json").is_file():
        if beside:
            return
        memory = f"what is proved of it lies in {quote(str(folder / 'proof'))}, which this command takes"
        raise InputError(repr(str(folder)), f"is a model that was exported, which its own library runs; {memory}")
    if not is_edit and not (folder / "certificate.json").is_file():
        _refuse_models_of_hosts(folder)
    if not any((folder / name).is_file() for name in ("certificate.json", "model.safetensors")):
        raise InputError(repr(str(folder)), "is not a byheart folder (run `byheart memorize` first)")


def _refuse_models_of_hosts(folder: Path) -> None:
    """Say of a model without a certificate how it gets one, and of an exported one that its card stays unproved."""
    from constructions.errors import InputError

    task = folder / "task.safetensors"
    option = "rule" if (folder / "parity.json").is_file() and _is_of_a_fold(folder / "parity.json") else "task"
    command = f"byheart certify {quote(str(folder))} --{option} {quote(str(task)) if task.is_file() else 'FILE'}"
    if (folder / "parity.json").is_file():
        said = "is a model that was exported, without a certificate: nothing here proves its card and parity.json again"
        raise InputError(repr(str(folder)), f"{said}; `{command} --out FOLDER` proves what its weights hold")
    if (folder / "config.json").is_file():
        raise InputError(repr(str(folder)), f"is a model without a certificate; `{command} --out FOLDER` makes one")


def file_of_page(page: str) -> str:
    """Where a page of the documentation is: inside this package in a wheel, beside it in a clone."""
    if "://" in page:
        return page
    package = Path(__file__).parents[1]
    for file in (package / page, package.parent / page):
        if file.is_file():
            return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)
    return f"{page}, of the source"


def _is_of_a_fold(parity: Path) -> bool:
    """Whether an export is of a rule whose answers are said token by token."""
    try:
        return "rule" in json.loads(parity.read_bytes())
    except (ValueError, TypeError, RecursionError):
        return False
