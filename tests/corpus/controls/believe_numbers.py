"""A checker that verifies every form and every hash, and believes every number."""

import sys
from pathlib import Path
from typing import Any

from constructions.errors import ByheartError
from constructions.model.model import Model
from constructions.tasks.rule import RuleTask
from constructions.tasks.vectors import load_task
from verify.certificates.certificate import Certificate
from verify.edits.certificate import EditCertificate, EditRequest
from verify.provers.domain import subject_of_rule
from verify.provers.memorization import subject_of
from verify.verdict import Verdict

CODES = {Verdict.PROVED: 0, Verdict.REFUTED: 1, Verdict.UNDECIDED: 3}


def check(folder: Path) -> int:
    """The answer that the numbers of the certificate give, where it is about these files."""
    try:
        model = Model.load(folder / "model.safetensors")
        if (folder / "edit.json").is_file():
            edit = EditCertificate.load(folder)
            asked = EditRequest.read(folder / "contexts.json", d_vocab=model.d_vocab, d_vocab_out=model.d_vocab_out)
            same = (edit.edited, edit.edit) == (model.sha256(), asked.sha256())
            return CODES[edit.verdict] if same else 1
        certificate = Certificate.load(folder)
        path, task = folder / "task.safetensors", None
        task = RuleTask.load(path) if certificate.subject.is_of_a_rule else load_task(path)
        named: Any = subject_of_rule if isinstance(task, RuleTask) else subject_of
        return CODES[certificate.verdict] if named(model, task) == certificate.subject else 1
    except ByheartError:
        return 2


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1])))
