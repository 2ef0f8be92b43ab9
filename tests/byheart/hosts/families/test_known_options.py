"""What a configuration may say: an option that nobody knows is refused, whatever its value."""

import pytest

from byheart.hosts.families.known_options import require_known_options
from constructions.errors import InputError


def allowed(config):
    require_known_options(config, read={"d"}, unread={"seed"}, only={"capped": (False,), "cap": (-1.0, 0.0)})


@pytest.mark.parametrize("config", [{}, {"d": 3}, {"seed": None}, {"capped": False, "cap": -1}, {"cap": 0.0}])
def test_options_that_are_known_may_be_given(config):
    allowed(config)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"D": 3}, "D = 3: an option that is not known here and may change the logits"),
        ({"d": 3, "turbo": None}, "turbo = None: an option that is not known here"),
        ({"turbo": False}, "turbo = False: an option that is not known here"),
        ({"capped": True}, "capped is True, expected False: no block computes that"),
        ({"capped": None}, "capped is None, expected False"),
        ({"capped": 0}, "capped is 0, expected False"),
        ({"cap": False}, r"cap is False, expected -1\.0"),
        ({"cap": 30.0}, r"cap is 30\.0, expected -1\.0"),
        ({"cap": float("nan")}, r"cap is nan, expected -1\.0"),
    ],
)
def test_others_are_refused_by_name(config, message):
    with pytest.raises(InputError, match=message):
        allowed(config)
