"""Mutants of the memory of steps: a number, a step or a bound that is off; what is built is then not what is proved."""

from tests.mutants import of

steps = of("constructions/memories/heads/steps.py", "tests/constructions/memories/heads/test_steps.py")

MUTANTS = [
    steps("shares[-1] -= 1", "shares[-1] -= 0", "what the skip connection adds is counted twice"),
    steps("math.log(task.n_ctx - 1) - slope", "-slope", "the other positions do not count"),
    steps("2.0 * math.log(16.0 * count)", "0.5 * math.log(16.0 * count)", "the steps are not steep enough"),
    steps("_ROOM = 0.5", "_ROOM = 8.0", "codes that roundings mix up are taken"),
    steps("W_U[1] = -1.0", "W_U[1] = 0.0", "tokens that are never answers are not behind"),
    steps("float(np.abs(scores).max()) + 6.0", "0.0 + 6.0", "roundings of long scores are not counted"),
]
