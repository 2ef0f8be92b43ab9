from byheart.jobs.memorize import hold
from experiments.built import built
from experiments.points import Point
from verify.torch.run import run


def test_it_is_the_smallest_memory_and_every_float32_run_holds_it() -> None:
    task = Point(tokens=4, d_model=1, d_head=1, heads=0).task()
    found = hold(task)
    assert found.figures.memories is not None
    sizes = [each.parameters for each in found.figures.memories if each.parameters and each.every_run]
    assert built(4) == (min(sizes), 1.0) == (found.model.parameters, 1.0)
    assert run(found.model, task, dtype="float32").memorized_proved == 16
