"""What is written of a certificate that was made: itself."""

from constructions.folds.fold import addition
from constructions.memories.heads.adder import adder
from constructions.tasks.rule import rule_task
from tests.domains import max_of_four
from tests.memories import memory, random_task
from verify.certificates.certificate import Certificate
from verify.provers.domain import certify_domain, certify_fold
from verify.provers.memorization import certify_memorization
from verify.provers.proved import Proved


def test_every_certificate_is_made_and_saved_alike(tmp_path):
    task = random_task()
    made = {
        "contexts": certify_memorization(memory(task), task, rank=True),
        "domain": certify_domain(max_of_four(), rule_task("max", d_vocab=8, n_ctx=4)),
        "fold": certify_fold(adder(2, base=2), addition(2, base=2)),
    }
    for name, proved in made.items():
        assert isinstance(proved, Proved)
        (tmp_path / name).mkdir()
        proved.save(tmp_path / name)
        assert Certificate.load(tmp_path / name) == proved.certificate
        files = {path.name for path in (tmp_path / name).iterdir()}
        assert files == {"certificate.json"}
