"""Property tests of statements about attention: strategies that draw adversarial cases, and one assertion.

    from byheart.testing import assert_holds, dana_instances

    def test_my_theorem():
        assert_holds(my_theorem, dana_instances())

It needs the extra `strategies`: pip install "byheart[strategies]".

Page: docs/own_theorem.md
"""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "byheart.testing needs Hypothesis: `pip install 'byheart[strategies]'`", name="hypothesis"
    ) from None

from byheart.testing import strategies
from byheart.testing.assertion import CounterexampleError, Tally, UndecidedWarning, assert_holds
from byheart.testing.code import as_code
from byheart.testing.strategies import *  # noqa: F403

__all__ = ["CounterexampleError", "Tally", "UndecidedWarning", "as_code", "assert_holds"]
__all__ += strategies.__all__
