"""Transformers whose weights are built so that they hold facts exactly, with a proof that they do.

    import byheart

    memory = byheart.memorize({("France", "capital"): "Paris", ("Peru", "capital"): "Lima"})
    memory                              # MEMORIZED, PROVED: 2 of 2 facts, ...
    memory["Peru", "capital"]           # 'Lima', proved; KeyError for what is no fact
    memory.ask(["Peru, capital"])       # all about each answer; also for contexts that are not facts
    memory.save("out/capitals")         # weights, facts, certificate, page
    byheart.load("out/capitals")        # and back
    memory.export(to="huggingface", out="out/capitals-hf")  # for another program

Facts are a mapping, rows, a data frame, a table, a text or a file (`read_facts`); `memorize("poem.txt", whole=True)`
learns a text by heart, and `recite` says it. `certify` proves what a model of your own holds, `edit` changes facts in
one, `check_folder` proves the certificate of a folder again by the kernel, `check_memorization` by the prover that
wrote it, and `require_made_again` compares the page and the summary next to it. `audit_claims` judges the theorems of
the literature.

The names are loaded when they are first used, so that `import byheart` is quick and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byheart.editing import edit as edit
    from byheart.facts import Facts as Facts
    from byheart.facts import memorize as memorize
    from byheart.facts import read_facts as read_facts
    from byheart.figures import Figures as Figures
    from byheart.folds.proved_fold import FoldAnswer as FoldAnswer
    from byheart.folds.proved_fold import ProvedFold as ProvedFold
    from byheart.folds.proved_fold import load_fold as load_fold
    from byheart.hosts.certify import certify as certify
    from byheart.hosts.export import export as export
    from byheart.jobs.memorize import hold as hold
    from byheart.measured import require_made_again as require_made_again
    from byheart.memory import Answer as Answer
    from byheart.memory import CertifiedMemory as CertifiedMemory
    from byheart.memory import Memory as Memory
    from byheart.memory import load as load
    from byheart.reciting import recite as recite
    from byheart.report.page import report_html as report_html
    from byheart.report.page import write_report as write_report
    from byheart.theorems.audit import audit_claims as audit_claims
    from byheart.theorems.building import build_claim as build_claim
    from byheart.theorems.building import build_named as build_named
    from byheart.theorems.capacity import capacity_summary as capacity_summary
    from verify.kernel.check import check_folder as check_folder
    from verify.provers.memorization import certify_memorization as certify_memorization
    from verify.provers.memorization import check_memorization as check_memorization
    from verify.torch.run import run_all as run_all

    __version__: str
else:
    _HOME = {
        "byheart.editing": ("edit",),
        "byheart.facts": ("Facts", "memorize", "read_facts"),
        "byheart.figures": ("Figures",),
        "byheart.hosts.certify": ("certify",),
        "byheart.hosts.export": ("export",),
        "byheart.jobs.memorize": ("hold",),
        "byheart.measured": ("require_made_again",),
        "byheart.memory": ("Answer", "Memory", "CertifiedMemory", "load"),
        "byheart.folds.proved_fold": ("FoldAnswer", "ProvedFold", "load_fold"),
        "byheart.reciting": ("recite",),
        "byheart.report.page": ("report_html", "write_report"),
        "byheart.theorems.audit": ("audit_claims",),
        "byheart.theorems.building": ("build_claim", "build_named"),
        "byheart.theorems.capacity": ("capacity_summary",),
        "verify.kernel.check": ("check_folder",),
        "verify.provers.memorization": ("certify_memorization", "check_memorization"),
        "verify.torch.run": ("run_all",),
    }
    _MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

    __all__ = sorted(_MODULE_OF)

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("byheart")
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'byheart' has no attribute {name!r}{_hint(name)}")
        return getattr(import_module(_MODULE_OF[name]), name)

    def _hint(name: str) -> str:
        import difflib

        near = difflib.get_close_matches(name, __all__, n=1)
        return f"; did you mean {near[0]!r}?" if near else ""

    def __dir__() -> list[str]:
        return [*__all__, "__version__"]
