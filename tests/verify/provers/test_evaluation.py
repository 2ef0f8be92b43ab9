"""What the provers of several kinds share is computed once, and what a certificate does not ask is not."""

from constructions.progress import silent
from constructions.tasks.criterion import Criterion
from tests.memories import memory, random_task
from verify.provers.evaluation import JudgedModel, OnContexts
from verify.provers.memorization import certify_memorization


def test_what_several_provers_need_is_computed_once():
    task = random_task()
    judged = JudgedModel(model=memory(task), task=task, criterion=Criterion(), progress=silent)
    calls = []
    assert [judged.once("rank", lambda: calls.append(1) or 7) for _ in range(3)] == [7, 7, 7] and calls == [1]
    assert judged.answers is judged.answers


def test_contexts_are_judged_one_by_one_and_say_by_which_arithmetic():
    task = random_task()
    network = memory(task)
    made = certify_memorization(network, task).certificate
    about = {"certificate": made, "asked": made.criterion, "criterion": made.criterion, "progress": silent}
    on_contexts = OnContexts(model=network, task=task, **about)
    assert on_contexts.path.startswith("proved bounds: ") and on_contexts.asides == ()
    assert on_contexts.check_runs(made.answers) is None
