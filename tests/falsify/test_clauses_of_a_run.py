"""Is there a real run outside of the relation that Coq's theorems are about? Kernels and loops, clause by clause.

For each clause of the first comment of formal/float32/semantics.v a program computes a small sum or softmax in machine
numbers; the result has to be among all that the relation allows, which `tests.relation_of_runs` finds in rational
numbers. What the comment names as no run has to leave them, so that it is named for a reason.
"""

import ctypes
import ctypes.util
import math
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests import relation_of_runs
from tests.relation_of_runs import (
    Format,
    Results,
    allows,
    bfloat16,
    exactly,
    float16,
    float32,
    float64,
    linear_run,
    relu,
    softmax_run,
)

SEMANTICS = (Path(__file__).parents[2] / "formal" / "float32" / "semantics.v").read_text(encoding="utf-8")
WIDTH, TERMS, SEEDS = 64, 5, range(12)
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}
FORMATS = {"float32": float32, "bfloat16": bfloat16, "float16": float16, "float64": float64}
FAR = 1000
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
LIBM.fmaf.restype, LIBM.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3


class Neuron:
    """A sum of a few products that nearly cancel, among many that are 0, and a shift.

    Args:
        seed: Of the numbers.
        dtype: Of the numbers, of torch.
    """

    def __init__(self, seed: int, dtype: torch.dtype = torch.float32) -> None:
        rng = np.random.default_rng(seed)
        x, w = np.zeros(WIDTH), np.zeros(WIDTH)
        places = np.sort(rng.choice(WIDTH, TERMS, replace=False))
        x[places] = rng.normal(size=TERMS) * 2.0 ** rng.integers(-3, 4, TERMS)
        w[places] = rng.normal(size=TERMS)
        w[places[-1]] = -(x[places[:-1]] @ w[places[:-1]]) / x[places[-1]]
        self.x, self.w = torch.tensor(x).to(dtype), torch.tensor(w).to(dtype)
        self.b = torch.tensor(rng.normal()).to(dtype)
        self.places = places

    def numbers(self) -> tuple[np.ndarray, np.ndarray, np.float32]:
        """Return the numbers in NumPy's float32."""
        return self.x.numpy(), self.w.numpy(), np.float32(self.b.item())

    def runs(self, f: Format) -> Results:
        """Return all that the relation allows."""
        x = [exactly(self.x[i].item()) for i in self.places]
        return linear_run(f, x, [self.w[i].item() for i in self.places], [exactly(self.b.item())])


Machine = Callable[[Neuron], float]


def with_the_shift_behind(n: Neuron) -> float:
    return (n.x @ n.w + n.b).item()


def from_the_shift(n: Neuron) -> float:
    return torch.addmm(n.b.reshape(1, 1), n.x[None], n.w[:, None]).item()


def by_a_layer(n: Neuron) -> float:
    return functional.linear(n.x, n.w[None], n.b[None]).item()


def by_a_layer_of_many(n: Neuron) -> float:
    """Another kernel, for many rows and neurons."""
    return functional.linear(n.x.repeat(40, 1), n.w.repeat(33, 1), n.b.repeat(33))[17, 30].item()


def from_a_skip_row(n: Neuron) -> float:
    rows = n.b.repeat(8)[None].repeat(5, 1)
    return rows.addmm_(n.x.repeat(5, 1), n.w.repeat(8, 1).T)[3, 4].item()


def by_blas(n: Neuron) -> float:
    x, w, b = n.numbers()
    return float(np.dot(x, w) + b)


def by_einsum(n: Neuron) -> float:
    x, w, b = n.numbers()
    return float(np.einsum("i,i->", x, w) + b)


def loop(n: Neuron) -> float:
    x, w, total = n.numbers()
    for a, b in zip(x, w, strict=True):
        total = np.float32(total + np.float32(a * b))
    return float(total)


def loop_backwards(n: Neuron) -> float:
    x, w, shift = n.numbers()
    total = np.float32(0.0)
    for a, b in zip(x[::-1], w[::-1], strict=True):
        total = np.float32(total + np.float32(a * b))
    return float(np.float32(total + shift))


def eight_accumulators(n: Neuron) -> float:
    x, w, shift = n.numbers()
    totals = np.zeros(8, dtype=np.float32)
    for a, b in zip(x.reshape(-1, 8), w.reshape(-1, 8), strict=True):
        totals = totals + a * b
    while len(totals) > 1:
        totals = totals[: len(totals) // 2] + totals[len(totals) // 2 :]
    return float(totals[0] + shift)


def in_partial_sums(n: Neuron) -> float:
    """As split-K: each part of the columns by a kernel, the parts added up."""
    parts = [(n.x[i : i + 16] @ n.w[i : i + 16]) for i in range(0, WIDTH, 16)]
    return (sum(parts[1:], parts[0]) + n.b).item()


def fused(n: Neuron) -> float:
    x, w, total = n.numbers()
    for a, b in zip(x, w, strict=True):
        total = LIBM.fmaf(a, b, total)
    return float(total)


def fused_from_zero(n: Neuron) -> float:
    x, w, shift = n.numbers()
    total = 0.0
    for a, b in zip(x[::-1], w[::-1], strict=True):
        total = LIBM.fmaf(a, b, total)
    return float(np.float32(total) + shift)


def sparse(n: Neuron) -> float:
    """Where a 0 is, nothing is multiplied."""
    return (torch.sparse.mm(n.x[None].to_sparse(), n.w[:, None]) + n.b).item()


def of_neurons_that_fire(n: Neuron) -> float:
    fires = torch.nonzero(n.x)[:, 0]
    return torch.addmv(n.b[None], n.w[fires][None], n.x[fires]).item()


def in_float64(n: Neuron) -> float:
    return np.float32((n.x.double() @ n.w.double() + n.b.double()).item()).item()


def products_in_float32_sum_in_float64(n: Neuron) -> float:
    x, w, b = n.numbers()
    return float(np.float32(np.sum(x * w, dtype=np.float64) + b))


def exact_sum(n: Neuron) -> float:
    return rounded(_total(n), to="nearest")


def ties_away(n: Neuron) -> float:
    return _loop_rounded(n, "away")


def stochastic(n: Neuron) -> float:
    return _loop_rounded(n, "stochastic")


def _total(n: Neuron) -> Fraction:
    products = (Fraction(a.item()) * Fraction(b.item()) for a, b in zip(n.x, n.w, strict=True))
    return sum(products, Fraction(n.b.item()))


def _loop_rounded(n: Neuron, to: str) -> float:
    """A loop whose roundings NumPy does not have."""
    rng = np.random.default_rng(0)
    total = Fraction(n.b.item())
    for a, b in zip(n.x, n.w, strict=True):
        product = Fraction(rounded(Fraction(a.item()) * Fraction(b.item()), to=to, chance=rng.random()))
        total = Fraction(rounded(total + product, to=to, chance=rng.random()))
    return float(total)


def rounded(x: Fraction, *, to: str, chance: float = 0.5) -> float:
    """Round to float32: to the nearest number (of two the one away from 0), or to a neighbour by chance."""
    low, high = float32.down(x), float32.up(x)
    if low == high:
        return float(low)
    share = (x - low) / (high - low)
    if to == "stochastic":
        return float(high if chance < share else low)
    if share == Fraction(1, 2):
        return float(max(low, high, key=abs))
    return float(high if share > Fraction(1, 2) else low)


@contextmanager
def rounding_mode(mode: int) -> Iterator[None]:
    """Let this thread round in another mode of IEEE 754."""
    before = LIBM.fegetround()
    LIBM.fesetround(mode)
    try:
        yield
    finally:
        LIBM.fesetround(before)


def in_mode(mode: int, machine: Machine) -> Machine:
    def run(n: Neuron) -> float:
        with rounding_mode(mode):
            return machine(n)

    return run


DOWNWARD, UPWARD, TOWARD_ZERO = 0x400, 0x800, 0xC00  # of x86-64
SUMS: dict[str, list[Machine]] = {
    "sums over any tree of any order of their terms": [with_the_shift_behind, by_blas, by_einsum, loop_backwards],
    "partial sums and split accumulators": [eight_accumulators, in_partial_sums],
    "accumulators that start from a shift, a skip row or an entry of a position": [
        from_the_shift,
        by_a_layer,
        by_a_layer_of_many,
        from_a_skip_row,
        loop,
    ],
    "products that are rounded, or fused with an addition": [fused, fused_from_zero, loop],
    "products with a factor 0 that are left out": [sparse, of_neurons_that_fire],
    "stochastic rounding": [stochastic],
    "results that are kept in a longer format": [in_float64, products_in_float32_sum_in_float64, exact_sum],
    "all five rounding modes of IEEE 754": [
        ties_away,
        *(in_mode(mode, each) for mode in (DOWNWARD, UPWARD, TOWARD_ZERO) for each in (loop, with_the_shift_behind)),
    ],
}


@pytest.mark.parametrize("clause", SUMS)
def test_sums_that_machines_compute_are_in_the_relation(clause: str) -> None:
    if clause.startswith("all five") and platform.machine() != "x86_64":
        pytest.skip("the numbers of the rounding modes are those of x86-64")
    for seed in SEEDS:
        neuron = Neuron(seed)
        runs = neuron.runs(float32)
        for machine in SUMS[clause]:
            assert allows(runs, machine(neuron)), (machine, seed)


def test_these_sums_are_not_all_the_same() -> None:
    """Else nothing was tried: of most neurons several numbers come out, and the relation does not allow much more."""
    machines = [machine for each in SUMS.values() for machine in each]
    different = [len({machine(Neuron(seed)) for machine in machines}) for seed in SEEDS]
    assert sorted(different)[len(different) // 2] > 3
    for seed in SEEDS:
        neuron = Neuron(seed)
        runs = neuron.runs(float32)
        sizes = sum(abs((neuron.x[i] * neuron.w[i]).item()) for i in neuron.places) + abs(neuron.b.item())
        assert runs[-1][1] - runs[0][0] < Fraction(sizes) * 2 * TERMS / 2**22


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of the rounding modes are those of x86-64")
def test_the_modes_are_switched() -> None:
    neuron = Neuron(0)
    assert in_mode(DOWNWARD, loop)(neuron) < in_mode(UPWARD, loop)(neuron)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("machine", [with_the_shift_behind, from_the_shift, by_a_layer, by_a_layer_of_many])
def test_sums_of_every_format_are_in_its_relation(name: str, machine: Machine) -> None:
    for seed in SEEDS:
        neuron = Neuron(seed, DTYPES[name])
        assert allows(neuron.runs(FORMATS[name]), machine(neuron)), seed


def test_flushed_results_are_in_the_relation_and_operands_that_are_flushed_too() -> None:
    small = torch.tensor([3.0 * 2.0**-75, 2.0**-74, 5.0 * 2.0**-70]), torch.tensor([2.0**-65, -(2.0**-66), 2.0**-71])
    runs = linear_run(float32, [exactly(x.item()) for x in small[0]], [w.item() for w in small[1]])
    plain = (small[0] @ small[1]).item()
    assert torch.set_flush_denormal(True), "this machine does not flush"
    try:
        flushed, read = (small[0] @ small[1]).item(), (torch.tensor([plain]) * 1.0).item()
    finally:
        torch.set_flush_denormal(False)
    assert flushed == read == 0.0 < plain
    assert allows(runs, plain) and allows(runs, flushed)


def test_a_layer_of_neurons_is_in_the_relation() -> None:
    """ReLU between two sums: every result of the first may meet every order of the second."""
    for seed in SEEDS:
        first = [Neuron(100 * seed + i) for i in range(3)]
        second = np.random.default_rng(seed).normal(size=3).astype(np.float32)
        hidden = [relu(neuron.runs(float32)) for neuron in first]
        skipped = torch.tensor(0.7)
        runs = linear_run(float32, hidden, second.tolist(), [exactly(skipped.item())])
        for machine in (from_the_shift, fused, eight_accumulators):
            h = torch.relu(torch.tensor([machine(neuron) for neuron in first]))
            assert allows(runs, torch.addmv(skipped[None], torch.tensor(second)[None], h).item())


def to_bits(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Rounded to so many bits of the significand."""
    mantissa, exponent = torch.frexp(x)
    return torch.ldexp(torch.round(mantissa * 2.0**bits), exponent - bits)


def of_short_factors(bits: int) -> Machine:
    return lambda n: (to_bits(n.x, bits) @ to_bits(n.w, bits) + n.b).item()


def of_several_products(n: Neuron) -> float:
    """Each factor in two pieces of bfloat16, three products for one."""
    x, w = to_bits(n.x, 8), to_bits(n.w, 8)
    x_left, w_left = to_bits(n.x - x, 8), to_bits(n.w - w, 8)
    return (x @ w + (x @ w_left + x_left @ w) + n.b).item()


def of_quantized_weights(n: Neuron) -> float:
    step = n.w.abs().max() / 127
    return (n.x @ (torch.round(n.w / step) * step) + n.b).item()


def compensated(n: Neuron) -> float:
    x, w, total = n.numbers()
    lost = np.float32(0.0)
    for a, b in zip(x, w, strict=True):
        product = np.float32(np.float32(a * b) - lost)
        following = np.float32(total + product)
        lost = np.float32(np.float32(following - total) - product)
        total = following
    return float(total)


# --- softmax ---------------------------------------------------------------------------------------------------------

FAR_BELOW = -4096.0  # under every score that counts, so that its exponential is 0
PLACES = (3, 500, 700, 1100)  # of the positions that count; flash attention on a CPU has blocks of 512 keys
SCORES = {
    "a tie": (4.0, 4.0, 4.0, 4.0),
    "a tie behind a far smaller score": (-2048.0, 0.0, 0.0, -2048.0),
    "the largest ones come last": (0.0, 2048.0, 4096.0, 4096.0),
    "all near": (2.0, 3.5, 3.0, 4.0),
}


class Head:
    """Four positions that count, and their values.

    Args:
        scores: Of the positions.
        seed: Of the values.
        dtype: Of the numbers, of torch.
    """

    def __init__(self, scores: tuple[float, ...], seed: int, dtype: torch.dtype = torch.float32) -> None:
        self.scores = torch.tensor(scores, dtype=dtype)
        self.values = torch.tensor(np.random.default_rng(seed).normal(size=len(scores))).to(dtype)

    def spread(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return as many scores and values that flash attention needs several blocks."""
        scores, values = torch.full((1200,), FAR_BELOW, dtype=self.scores.dtype), torch.ones(1200).to(self.values)
        scores[list(PLACES)], values[list(PLACES)] = self.scores, self.values
        return scores, values

    def runs(self, f: Format, digits: int = 20) -> Results:
        """Return what the relation allows with an exponential that is right to so many binary digits."""
        scores = [Fraction(score.item()) for score in self.scores]
        return softmax_run(f, exponential_of(digits), scores, [exactly(value.item()) for value in self.values])


def exponential_of(digits: int) -> Callable[[Fraction], Results]:
    """Return one that is `usual`, and off by at most 2^-digits of its value."""

    def exponential(x: Fraction) -> Results:
        if x == 0:
            return exactly(1)
        if x <= -FAR:
            return exactly(0)
        value, error = Fraction(math.exp(x)), Fraction(1, 2**digits)
        return ((value * (1 - error), min(Fraction(1), value * (1 + error))),)

    return exponential


Attention = Callable[[Head], float]


def as_written(h: Head) -> float:
    scores, values = h.spread()
    return (torch.softmax(scores, -1) @ values).item()


def divided_behind(h: Head) -> float:
    scores, values = h.spread()
    powers = torch.exp(scores - scores.max())
    return ((powers @ values) / powers.sum()).item()


def by_the_reciprocal(h: Head) -> float:
    scores, values = h.spread()
    powers = torch.exp(scores - scores.max())
    return ((powers @ values) * powers.sum().reciprocal()).item()


def weights_by_the_reciprocal(h: Head) -> float:
    scores, values = h.spread()
    powers = torch.exp(scores - scores.max())
    return ((powers * powers.sum().reciprocal()) @ values).item()


def by_sdpa(backend: SDPBackend) -> Attention:
    def attend(h: Head) -> float:
        scores, values = h.spread()
        q, k, v = torch.zeros(3, 1, 1, len(scores), 8, dtype=scores.dtype)
        q[..., 0], k[..., 0], v[..., 0] = 1.0, scores, values
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q[:, :, :5], k, v, scale=1.0)[0, 0, 4, 0].item()

    return attend


math_of_torch, flash_of_torch = by_sdpa(SDPBackend.MATH), by_sdpa(SDPBackend.FLASH_ATTENTION)
Part = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def part_of(scores: torch.Tensor, values: torch.Tensor) -> Part:
    """Return the largest score of a block, the sum of its exponentials, and that of their products with the values."""
    powers = torch.exp(scores - scores.max())
    return scores.max(), powers.sum(), powers @ values


def merged(one: Part, other: Part) -> Part:
    """Rescale two parts to the larger maximum and add them up."""
    largest = torch.maximum(one[0], other[0])
    a, b = torch.exp(one[0] - largest), torch.exp(other[0] - largest)
    return largest, a * one[1] + b * other[1], a * one[2] + b * other[2]


def in_blocks_of(size: int) -> Attention:
    def attend(h: Head) -> float:
        part: Part = (
            torch.tensor(-torch.inf).to(h.scores),
            torch.tensor(0.0).to(h.scores),
            torch.tensor(0.0).to(h.scores),
        )
        for i in range(0, 4, size):
            part = merged(part, part_of(h.scores[i : i + size], h.values[i : i + size]))
        return (part[2] / part[1]).item()

    return attend


def of_two_halves(h: Head) -> float:
    parts = [part_of(h.scores[i : i + 1], h.values[i : i + 1]) for i in range(4)]
    _, z, t = merged(merged(parts[0], parts[3]), merged(parts[2], parts[1]))
    return (t / z).item()


HEADS: dict[str, list[Attention]] = {
    "a softmax as it is written, exp(s - max s) over its sum": [as_written, math_of_torch],
    "a division before or behind the average, or a product with the reciprocal": [
        as_written,
        divided_behind,
        by_the_reciprocal,
        weights_by_the_reciprocal,
    ],
    "sums and averages that are rescaled whenever a larger maximum comes": [
        flash_of_torch,
        in_blocks_of(1),
        in_blocks_of(2),
        in_blocks_of(3),
    ],
    "blocks that are merged as a tree": [of_two_halves],
}


@pytest.mark.parametrize("scores", SCORES)
def test_averages_that_machines_compute_are_in_the_relation(scores: str) -> None:
    machines = [machine for each in HEADS.values() for machine in each]
    different = []
    for seed in SEEDS[:6]:
        head = Head(SCORES[scores], seed)
        runs = head.runs(float32)
        found = [machine(head) for machine in machines]
        assert all(allows(runs, number) for number in found), (found, seed)
        assert runs[-1][1] - runs[0][0] < Fraction(1, 2**16)
        different.append(len(set(found)))
    assert max(different) > 1 or "far" in scores or "last" in scores  # halves of a sum are all the same


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float64"])
def test_averages_of_every_format_are_in_its_relation(name: str) -> None:
    """In 16 bits flash attention rounds exponentials for the average, and adds them up before."""
    f = FORMATS[name]
    for scores in SCORES.values():
        for seed in SEEDS[:3]:
            head = Head(scores, seed, DTYPES[name])
            runs = head.runs(f, digits=min(f.precision, 50))
            for machine in (as_written, math_of_torch, flash_of_torch):
                assert allows(runs, machine(head)), (machine, scores, seed)


def test_a_query_may_have_keys_that_are_computed_anew() -> None:
    """The score of one key, for one query by a kernel and for another one by a loop."""
    for seed in SEEDS:
        keys = [Neuron(10 * seed + i) for i in range(3)]
        q = [0.3, -1.7, 0.9]
        runs = linear_run(float32, [key.runs(float32) for key in keys], [float(np.float32(a)) for a in q])
        for machine in (by_a_layer, loop_backwards, fused):
            k = torch.tensor([machine(key) for key in keys])
            assert allows(runs, (torch.tensor(q) @ k).item())


# --- what is excluded ------------------------------------------------------------------------------------------------

Example = tuple[float, Results]
"""What a program computes, and all that the relation allows."""


def of_a_sum(machine: Machine) -> Callable[[int], Example]:
    def example(seed: int) -> Example:
        neuron = Neuron(seed)
        return machine(neuron), neuron.runs(float32)

    return example


def cut_off_at_the_largest(seed: int) -> Example:
    """Products shifted to the largest one, which has 24 bits, and what lies below cut off."""
    large, small = 2.0**24, -float(np.float32(np.random.default_rng(seed).uniform(1.0, 2.0)))
    unit = 2.0  # of the last bit of the largest
    found = large + math.trunc(small / unit) * unit
    return found, linear_run(float32, [exactly(large), exactly(small)], [1.0, 1.0])


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), dtype=torch.float32)


def entries(x: torch.Tensor) -> list[Results]:
    return [exactly(entry.item()) for entry in x]


def strassen(seed: int) -> Example:
    """The first entry of a product of two by two matrices, whose last ones are large."""
    a, b = normal(seed, 2, 2, 2)
    b[1, 1] *= 1000.0
    one, four = (a[0, 0] + a[1, 1]) * (b[0, 0] + b[1, 1]), a[1, 1] * (b[1, 0] - b[0, 0])
    five, seven = (a[0, 0] + a[0, 1]) * b[1, 1], (a[0, 1] - a[1, 1]) * (b[1, 0] + b[1, 1])
    return (one + four - five + seven).item(), linear_run(float32, entries(a[0]), b[:, 0].tolist())


def absorbed_keys(seed: int) -> Example:
    """A score as (q W_K') x in place of q (x W_K)."""
    q, x = normal(seed, 2, 2)
    W_K = normal(seed + 1000, 2, 2)
    keys = [linear_run(float32, entries(x), W_K[:, i].tolist()) for i in range(2)]
    return ((q @ W_K.T) @ x).item(), linear_run(float32, keys, q.tolist())


def folded_weights(seed: int) -> Example:
    """W_V W_O as one matrix of one column, read by (1, -1)."""
    W_V, W_O = torch.tensor([[1001.0], [1000.0]]), normal(seed, 1)
    value = linear_run(float32, [exactly(1), exactly(-1)], W_V[:, 0].tolist())
    return (torch.tensor([1.0, -1.0]) @ (W_V @ W_O)).item(), linear_run(float32, [value], W_O.tolist())


def averaged_rows(seed: int) -> Example:
    """(w X) W_V in place of w (X W_V)."""
    X, W_V = torch.tensor([[1001.0, -1000.0], [1.0, 0.0]]), normal(seed, 1).repeat(2)
    values = [linear_run(float32, entries(x), W_V.tolist()) for x in X]
    w = torch.tensor([0.5, 0.5])
    return ((w @ X) @ W_V).item(), softmax_run(float32, exponential_of(20), [Fraction(0), Fraction(0)], values)


def of_heads(attend: Attention, *scores: float) -> Callable[[int], Example]:
    """The average of values that are drawn."""

    def example(seed: int) -> Example:
        head = Head(scores, seed)
        return attend(head), head.runs(float32)

    return example


def of_values_that_cancel(attend: Attention, *scores: float) -> Callable[[int], Example]:
    """The average of two large values that cancel but for 1."""

    def example(seed: int) -> Example:
        head = Head(scores, seed)
        head.values = torch.tensor([1001.0 + seed, -1000.0 - seed])
        return attend(head), head.runs(float32)

    return example


def maximum_before_it_is_rounded(seed: int) -> Example:
    """In bfloat16, a score of 256.69 is the maximum, and stored as 256 before its exponential is taken."""
    score, value = torch.tensor(256.6893), torch.tensor(1.0 + seed / 128.0)
    power = torch.exp(score.bfloat16().float() - score)
    average = (power.bfloat16().float() * value / power).bfloat16()
    return average.item(), softmax_run(bfloat16, exponential_of(8), [Fraction(256)], [exactly(value.item())])


def by_an_approximate_reciprocal(h: Head) -> float:
    powers = torch.exp(h.scores - h.scores.max())
    return ((powers @ h.values) * to_bits(powers.sum().reciprocal(), 12)).item()


def with_a_finite_mask(seed: int) -> Example:
    """The first of two positions asks; the second is masked by -10000, and its score is larger by 20000."""
    head = Head((0.0, 20000.0), seed)
    scores = head.scores + torch.tensor([0.0, -10000.0])
    own = softmax_run(float32, exponential_of(20), [Fraction(0)], [exactly(head.values[0].item())])
    return (torch.softmax(scores, -1) @ head.values).item(), own


def without_the_maximum(h: Head) -> float:
    powers = torch.exp(h.scores)
    return ((powers @ h.values) / powers.sum()).item()


def with_an_older_maximum(h: Head) -> float:
    """Behind a masked position whose score was 4."""
    powers = torch.exp(h.scores - 4.0)
    return ((powers @ h.values) / powers.sum()).item()


def by_logsumexp(h: Head) -> float:
    return (torch.exp(h.scores - torch.logsumexp(h.scores, 0)) @ h.values).item()


def merged_by_logsumexp(h: Head) -> float:
    parts = [(h.scores[:1], h.values[:1]), (h.scores[1:], h.values[1:])]
    averages = torch.stack([torch.softmax(scores, -1) @ values for scores, values in parts])
    sizes = torch.stack([torch.logsumexp(scores, 0) for scores, _ in parts])
    return (torch.exp(sizes - torch.logsumexp(sizes, 0)) @ averages).item()


LOG2_E = torch.tensor(math.log2(math.e), dtype=torch.float32)


def by_fused_powers_of_two(h: Head) -> float:
    """2^(s log2 e - m log2 e), the product fused with the subtraction."""
    largest = (h.scores.max() * LOG2_E).item()
    exponents = [LIBM.fmaf(score.item(), LOG2_E.item(), -largest) for score in h.scores]
    powers = torch.exp2(torch.tensor(exponents))
    return ((powers @ h.values) / powers.sum()).item()


def powers_of_two_of_large_scores(seed: int) -> Example:
    """The scores times log2 e, and then their maximum: a gap of 1024 is lost."""
    least = 1.5 * 2.0**33 + 1024.0 * seed
    head = Head((least, least + 1024.0), seed)
    scaled = head.scores * LOG2_E
    powers = torch.exp2(scaled - scaled.max())
    return ((powers @ head.values) / powers.sum()).item(), head.runs(float32)


def of_short_scores(h: Head) -> float:
    return (torch.softmax(h.scores.bfloat16().float(), -1) @ h.values).item()


EXCLUDED: dict[str, list[Callable[[int], Example]]] = {
    "products of factors that were rounded to TF32, bfloat16 or another shorter format": [
        of_a_sum(of_short_factors(11)),
        of_a_sum(of_short_factors(8)),
    ],
    "several such products in place of one": [of_a_sum(of_several_products)],
    "sums of several products that are shifted to the largest one and cut off there": [cut_off_at_the_largest],
    "products of matrices by Strassen's method": [strassen],
    "products in another association": [absorbed_keys, averaged_rows],
    "weights that were multiplied with each other beforehand": [folded_weights],
    "weights that were quantized": [of_a_sum(of_quantized_weights)],
    "a number that one reader takes as it was stored, rounded, and another as it was before": [
        maximum_before_it_is_rounded
    ],
    "a quotient that is off by a unit in the last place or more": [
        of_heads(by_an_approximate_reciprocal, 4.0, 4.0, 4.0)
    ],
    "masks that add a finite number to a score": [with_a_finite_mask],
    "a softmax without the maximum": [
        of_heads(without_the_maximum, 90.0, 90.0),
        of_values_that_cancel(without_the_maximum, 0.7, 0.7),
    ],
    "a softmax with another reference than the maximum of what has been seen": [
        of_values_that_cancel(with_an_older_maximum, 4.7, 4.7)
    ],
    "exp(s - logsumexp s)": [of_heads(by_logsumexp, 100.0, 100.0, 100.0)],
    "parts that are merged by their logsumexp": [of_heads(merged_by_logsumexp, 100.0, 100.0, 100.0)],
    "powers of 2 with a rounded log2 e": [
        of_values_that_cancel(by_fused_powers_of_two, 1001.0, 1001.0),
        powers_of_two_of_large_scores,
    ],
    "scores that are kept in a shorter format": [of_heads(of_short_scores, 2.0**20, 2.0**20 + 1024.0)],
}


@pytest.mark.parametrize("clause", EXCLUDED)
def test_what_is_excluded_leaves_the_relation(clause: str) -> None:
    for example in EXCLUDED[clause]:
        found = (example(seed) for seed in range(300))
        assert any(not allows(runs, number) for number, runs in found), example


def test_compensated_sums_were_not_seen_to_leave_it() -> None:
    for seed in SEEDS:
        neuron = Neuron(seed)
        assert allows(neuron.runs(float32), compensated(neuron))


# --- the comment and this file ---------------------------------------------------------------------------------------

TRIED_ALONE = {
    "results below the smallest normal number that are flushed to 0",
    "exponentials that are rounded for the average and not for their own sum",
    "queries, keys and values that are computed anew for each query",
}


def items(before: str, behind: str) -> list[str]:
    """Return the lines of a list in the first comment, each as one string."""
    text = SEMANTICS.split(before)[1].split(behind)[0]
    return [" ".join(item.split()) for item in text.split("\n    - ")[1:]]


@pytest.mark.parametrize(
    ("found", "tried"),
    [
        (items("In the relation are", "Operands flushed"), {*SUMS, *HEADS, *TRIED_ALONE}),
        (items("Not in the relation", "Of compensated"), set(EXCLUDED)),
    ],
)
def test_every_line_of_the_comment_is_tried(found: list[str], tried: set[str]) -> None:
    assert len(found) > 10
    for item in found:
        assert [name for name in tried if item.startswith(name)] != [], item
    for name in tried:
        assert [item for item in found if item.startswith(name)] != [], name


def test_the_functions_have_the_names_of_the_semantics() -> None:
    names = (
        "rounds",
        "add",
        "sub",
        "mul",
        "div",
        "quotient",
        "fma",
        "relu",
        "sum_run",
        "given",
        "linear_run",
        "part_run",
    )
    for name in (*names, "softmax_run", *FORMATS):
        assert re.search(rf"^(?:Definition|Inductive) {name}\b", SEMANTICS, re.MULTILINE), name
        assert hasattr(relation_of_runs, name)
    for name, f in FORMATS.items():
        assert f"Definition {name} := Format {f.precision} ({f.least}) {f.safe}." in SEMANTICS
