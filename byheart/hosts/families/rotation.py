"""Compute the frequencies of rotary positions in float32, like the hosts; afterwards they are data.

Page: docs/hosts.md
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from byheart.hosts.families.checkpoint import Checkpoint
from constructions.errors import InputError
from verify.arithmetic.rounding import Floats


def rotation(c: Checkpoint, width: int, *, base: float = 10000.0, share: float = 1.0, of: str | None = None) -> Floats:
    """Return the frequencies that the configuration asks for.

    Args:
        c: The configuration.
        width: Of queries and keys.
        base: Where nothing is said.
        share: Share of the entries that are turned, where nothing is said.
        of: The kind of layer, where the parameters are given by kind.

    Returns:
        Float64 numbers, `[m]`.

    Raises:
        InputError: Frequencies that depend on the length, or a field that is not known.
    """
    settings = c.fields("rope_parameters", also=("rope_scaling",))
    if of is not None and of in settings:
        if not isinstance(settings[of], Mapping):
            c.refuse("rope_parameters", f"an object with fields of its own for {of}")
        settings = dict(settings[of])
    base = _one_number(c, settings, "rope_theta", base, also=("rotary_emb_base",))
    share = _one_number(c, settings, "partial_rotary_factor", share, also=("rotary_pct",))
    kind = settings.pop("rope_type", settings.pop("type", "default"))
    if not isinstance(kind, str) or kind not in _KINDS:
        why = ": its frequencies depend on the length" if kind in ("dynamic", "longrope") else ""
        raise InputError(f"{c.family} with rope_type", f"{kind}{why}; not read")
    if (turned := int(width * share)) % 2 or not turned:
        raise InputError(c.family, f"turns {turned} entries of {width}", "an even number")
    frequencies = _KINDS[kind](c, powers(base, turned), settings)
    settings.pop("type", None)
    if settings:
        name, value = sorted(settings.items())[0]
        raise InputError(f"{c.family} with {name}", f"= {value!r} in its rotary positions is not supported")
    return np.asarray(frequencies, dtype=np.float64)


def _one_number(c: Checkpoint, said: dict[str, Any], name: str, usual: float, *, also: tuple[str, ...]) -> float:
    """Return a number from the parameters or, in older files, next to them.

    Raises:
        InputError: It is none, or there are two.
    """
    beside = c.number(name, usual, also=also)
    if said.get(name) is None:
        said.pop(name, None)
        return beside
    value = _number(c, said, name)
    if c.field(name, also=also) is not None and value != beside:
        raise InputError(f"{c.family} with {name}", f"= {beside!r}, but {value!r} among its rotary positions", "one")
    return value


def powers(base: float, turned: int) -> Any:
    """Return 1 / base^(2 i / turned) for i = 0, 1, ..., each in float32."""
    exponents = np.arange(0, turned, 2, dtype=np.float32) / np.float32(turned)
    return np.float32(1.0) / np.power(np.float64(base), exponents.astype(np.float64)).astype(np.float32)


def _linear(c: Checkpoint, found: Any, said: dict[str, Any]) -> Any:
    return found / np.float32(_number(c, said, "factor"))


def _llama3(c: Checkpoint, found: Any, said: dict[str, Any]) -> Any:
    factor, low, high = (_number(c, said, name) for name in ("factor", "low_freq_factor", "high_freq_factor"))
    length = _number(c, said, "original_max_position_embeddings")
    waves = np.float32(2.0 * np.pi) / found
    slow, fast = waves > np.float32(length / low), waves < np.float32(length / high)
    slowed = np.where(slow, found / np.float32(factor), found)
    smooth = (np.float32(length) / waves - np.float32(low)) / np.float32(high - low)
    between = (np.float32(1.0) - smooth) * slowed / np.float32(factor) + smooth * slowed
    return np.where(~slow & ~fast, between, slowed)


def _number(c: Checkpoint, said: dict[str, Any], name: str) -> float:
    value = said.pop(name, None)
    if type(value) not in (int, float) or not 0 < value < float("inf"):
        raise InputError(f"{c.family} with {name}", f"= {value!r} of its rotary positions", "a number above 0")
    return float(value)


_KINDS: Mapping[str, Any] = {"default": lambda c, found, said: found, "linear": _linear, "llama3": _llama3}
