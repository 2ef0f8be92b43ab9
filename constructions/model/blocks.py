"""Define the blocks of a model: attention, feed-forward and normalization, over a residual stream of row vectors.

A block is a record of its tensors and of the options that say what it computes; each arithmetic evaluates it by kind.

Page: docs/conventions.md
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from constructions.errors import InputError
from constructions.numeric.frozen_arrays import frozen_copy, frozen_float64

Tensor = NDArray[Any]
"""A tensor of a model: float64, or exact rationals (an array of `fmpq`)."""

Attends = Literal["last", "causal", "all"]
Turned = Literal["halves", "neighbours"]
Queries = Literal["stream", "task"]
Activation = Literal["relu", "gelu", "gelu-tanh", "gelu-bloom", "silu"]
NormalizationKind = Literal["layer", "rms"]

_LARGEST_DIMENSION = 2**31
_LARGEST_SCORE_ROOT = 2**31


@dataclass(frozen=True, eq=False)
class Normalization:
    r"""Layer normalization or root-mean-square normalization of each row of the stream.

    $$ \mathrm{layer:}\quad y = \frac{x - \bar x}{\sqrt{\overline{(x - \bar x)^2} + \epsilon}} \odot w + b, \qquad
       \mathrm{rms:}\quad y = \frac{x}{\sqrt{\overline{x^2} + \epsilon}} \odot w + b, $$

    with means over the $d$ entries and $\epsilon$ the exact float64 number given.

    Args:
        kind: ``"layer"`` or ``"rms"``.
        w: Gain, `[d_model]`.
        b: Shift, `[d_model]`, or none.
        epsilon: What is added under the root, above 0.

    Raises:
        InputError: A tensor of a wrong shape or type, or an option that is none; names it.

    Example:
        >>> Normalization("layer", w=np.ones(4), b=None, epsilon=1e-5).width
        4
    """

    kind: NormalizationKind
    w: Tensor
    b: Tensor | None = None
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        _require_option("kind", self.kind, NormalizationKind)
        if not (isinstance(self.epsilon, float) and 0 < self.epsilon < float("inf")):
            raise InputError("epsilon", f"is {self.epsilon!r}", "a finite float above 0")
        _freeze(self, {"w": 1, "b": 1})
        _require_shapes(self, {"w": (self.width,), "b": (self.width,)})

    @property
    def width(self) -> int:
        """Dimension of the rows, d."""
        return self.w.shape[0]

    def options(self) -> dict[str, Any]:
        """Return the settings of the block, besides its tensors, as plain data for JSON."""
        return {"kind": self.kind, "epsilon": self.epsilon.hex()}


@dataclass(frozen=True, eq=False)
class Attention:
    r"""Multi-head attention over the stream.

    With rows $x_1, \dots, x_S$ (after `norm`, where there is one), for each position $i$ that is computed,

    $$ \mathrm{score}^h_{ij} = \frac{1}{\sqrt m} \langle x_i W_Q^h + b_Q^h,\, x_j W_K^h + b_K^h \rangle, \qquad
       a^h_i = \mathrm{softmax}_j(\mathrm{score}^h_{ij}), $$

    $$ y_i = \sum_h \Bigl(\sum_j a^h_{ij} (x_j W_V^h + b_V^h)\Bigr) W_O^h + b_O, $$

    with $m$ = `score_root` (1: unscaled scores). Where W_K and W_V have fewer heads than W_Q, each of theirs serves
    as many heads in turn. What other hosts do beside comes in this order: queries, keys and values are cut off at
    `clip`; queries and keys pass `q_norm` and `k_norm`, each head by itself or all side by side; those at position s,
    counted from 0, are turned by the exact angles $s f_i$, $f$ = `frequencies`, pair i being entries i and i + m
    (``halves``) or 2 i and 2 i + 1 (``neighbours``); scores s become $c \tanh(s / c)$, c = `score_cap`; and $\mu_h j$
    is added, $\mu$ = `slopes`, j the position that is read. Position $i$ reads $j \le i$ (``causal``) or all $j$
    (``all``); ``last`` computes the last position alone, which reads all, and leaves a stream of one row. With `skip`
    the row $x_i$ before `norm` is added, to what `post_norm` makes of the output. With queries of the ``task`` there is
    one query $e$ for each context, instead of $x_i$, which the task brings; the stream becomes the one row $y$.

    Args:
        W_Q: Query maps, `[n_heads, d_model, d_qk]`.
        W_K: Key maps, `[n_heads, d_model, d_qk]`, or of fewer heads, whose number divides n_heads.
        W_V: Value maps, `[n_heads, d_model, d_head]`, or as many as key maps.
        W_O: Output maps, `[n_heads, d_head, d_out]`; d_out = d_model where there is a skip connection.
        b_Q: Query shifts, `[n_heads, d_qk]`, or none.
        b_K: Key shifts, as many as key maps, `[n_heads, d_qk]`, or none.
        b_V: Value shifts, likewise `[n_heads, d_head]`, or none.
        b_O: Output shift, `[d_out]`, or none.
        norm: The norm that the stream passes before the maps, or none.
        skip: Whether the stream is added to the output.
        attends: ``"last"``, ``"causal"`` or ``"all"``.
        queries: ``"stream"`` or ``"task"``.
        score_root: m, a positive integer.
        frequencies: f, at least 0, `[m]` with 2 m at most d_qk, or none.
        turned: ``"halves"`` or ``"neighbours"``.
        slopes: `[n_heads]`, or none.
        q_norm: What queries pass, of width d_qk, or n_heads d_qk: a gain for each head; or none.
        k_norm: What keys pass, likewise.
        norms_all: Whether those take the mean of all heads side by side, not of each by itself.
        clip: c above 0, or none.
        score_cap: c above 0, or none.
        post_norm: What the output passes, of width d_out, or none.

    Raises:
        InputError: A tensor of a wrong shape or type, or an option that is none; names it.

    Source: Vaswani et al. (2017); Dana et al. (2024), equation (1); Mahdavi et al. (2024), Section 3.

    Example:
        >>> one = np.ones
        >>> block = Attention(one((5, 2, 1)), one((5, 2, 1)), one((5, 2, 3)), one((5, 3, 2)))
        >>> block.n_heads, block.d_model, block.d_qk, block.d_head, block.d_out, block.parameters
        (5, 2, 1, 3, 2, 80)
    """

    W_Q: Tensor
    W_K: Tensor
    W_V: Tensor
    W_O: Tensor
    b_Q: Tensor | None = None
    b_K: Tensor | None = None
    b_V: Tensor | None = None
    b_O: Tensor | None = None
    norm: Normalization | None = None
    skip: bool = True
    attends: Attends = "last"
    queries: Queries = "stream"
    score_root: int = 1
    frequencies: Tensor | None = None
    turned: Turned = "halves"
    slopes: Tensor | None = None
    q_norm: Normalization | None = None
    k_norm: Normalization | None = None
    norms_all: bool = False
    clip: float | None = None
    score_cap: float | None = None
    post_norm: Normalization | None = None

    def __post_init__(self) -> None:
        _require_option("attends", self.attends, Attends)
        _require_option("queries", self.queries, Queries)
        _require_option("turned", self.turned, Turned)
        _require_flag("skip", self.skip)
        _require_flag("norms_all", self.norms_all)
        for name in ("clip", "score_cap"):
            require_positive(name, getattr(self, name))
        if type(self.score_root) is not int or not 1 <= self.score_root <= _LARGEST_SCORE_ROOT:
            raise InputError("score_root", f"is {self.score_root!r}", "an integer from 1 to 2**31")
        _freeze(self, {"W_Q": 3, "W_K": 3, "W_V": 3, "W_O": 3, "b_Q": 2, "b_K": 2, "b_V": 2, "b_O": 1})
        _freeze(self, {"frequencies": 1, "slopes": 1})
        n_heads, d_model, d_qk, d_head, d_out = self.n_heads, self.d_model, self.d_qk, self.d_head, self.d_out
        keys = self.key_heads if self.key_heads and n_heads % self.key_heads == 0 else n_heads
        _require_shapes(
            self,
            {
                "W_K": (keys, d_model, d_qk),
                "W_V": (keys, d_model, d_head),
                "W_O": (n_heads, d_head, d_out),
                "b_Q": (n_heads, d_qk),
                "b_K": (keys, d_qk),
                "b_V": (keys, d_head),
                "b_O": (d_out,),
                "slopes": (n_heads,),
            },
        )
        self._check_turns_and_norms()
        if n_heads and 0 in (d_qk, d_head):
            raise InputError("W_Q and W_V", f"have d_qk = {d_qk} and d_head = {d_head}", "at least 1")
        if 0 in (d_model, d_out):
            raise InputError("W_Q and W_O", f"have d_model = {d_model} and d_out = {d_out}", "at least 1")
        if self.skip and d_out != d_model:
            raise InputError("W_O", f"has d_out = {d_out}", f"d_model = {d_model} with a skip connection")
        if self.queries == "task" and (self.skip or self.norm is not None or self.attends != "last"):
            raise InputError(
                "queries of the task", "allow no skip connection and no norm, and attend from only one position"
            )
        if self.norm is not None and self.norm.width != d_model:
            raise InputError("norm", f"has the width {self.norm.width}", f"d_model = {d_model}")

    def _check_turns_and_norms(self) -> None:
        if self.frequencies is not None:
            pairs = len(self.frequencies)
            if not 1 <= pairs <= self.d_qk // 2 or not (self.frequencies >= 0).all():
                raise InputError("frequencies", f"are {pairs}", f"1 .. d_qk / 2 = {self.d_qk // 2}, none below 0")
        widths = {
            "q_norm": (self.d_qk, self.n_heads * self.d_qk),
            "k_norm": (self.d_qk, self.key_heads * self.d_qk),
            "post_norm": (self.d_out,),
        }
        for name, allowed in widths.items():
            norm = getattr(self, name)
            allowed = allowed[-1:] if self.norms_all else allowed
            if norm is not None and norm.width not in allowed:
                raise InputError(name, f"has the width {norm.width}", " or ".join(map(str, allowed)))
        if self.queries == "task" and not self.plain:
            raise InputError(
                "queries of the task", "have no positions, norms, caps or slopes, and as many keys as heads"
            )

    @property
    def plain(self) -> bool:
        """Whether the block has no extensions of other model families: no shared keys, no norm except `norm`, ..."""
        extensions = (
            self.frequencies,
            self.slopes,
            self.q_norm,
            self.k_norm,
            self.clip,
            self.score_cap,
            self.post_norm,
        )
        return self.key_heads == self.n_heads and all(extension is None for extension in extensions)

    @property
    def key_heads(self) -> int:
        """Number of heads with separate keys and values."""
        return self.W_K.shape[0]

    @property
    def n_heads(self) -> int:
        """Number of heads, the papers' H."""
        return self.W_Q.shape[0]

    @property
    def d_model(self) -> int:
        """Dimension of the rows that are read, the papers' d."""
        return self.W_Q.shape[1]

    @property
    def d_qk(self) -> int:
        """Dimension of queries and keys."""
        return self.W_Q.shape[2]

    @property
    def d_head(self) -> int:
        """Dimension of values, the papers' d_h (Dana et al.) or d_v (Mahdavi et al.)."""
        return self.W_V.shape[2]

    @property
    def d_out(self) -> int:
        """Dimension of the output rows."""
        return self.W_O.shape[2]

    @property
    def parameters(self) -> int:
        """Number of entries of all tensors."""
        return _entries(self)

    def options(self) -> dict[str, Any]:
        """Return the settings of the block, besides its tensors, as plain data for JSON."""
        return {
            "kind": "attention",
            "skip": self.skip,
            "attends": self.attends,
            "queries": self.queries,
            "score_root": self.score_root,
            "norm": None if self.norm is None else self.norm.options(),
            **_given(
                key_heads=self.key_heads if self.key_heads != self.n_heads else None,
                turned=None if self.frequencies is None else self.turned,
                norms_all=self.norms_all or None,
                **{name: getattr(self, name) for name in ("q_norm", "k_norm", "clip", "score_cap", "post_norm")},
            ),
        }


@dataclass(frozen=True, eq=False)
class FeedForward:
    r"""A layer of neurons on each row of the stream, $y = \varphi(x W_{in} + b_{in})\, W_{out} + b_{out}$.

    With a gate $y = (\varphi(x W_{gate} + b_{gate}) \odot (x W_{in} + b_{in}))\, W_{out} + b_{out}$.

    The activation is an exact real function: ``relu`` $\max(u, 0)$; ``gelu`` $u \Phi(u)$ with the normal distribution;
    ``gelu-tanh`` $\frac u2 \bigl(1 + \tanh(\sqrt{2/\pi}\,(u + 0.044715\, u^3))\bigr)$ with the decimal as written;
    ``gelu-bloom`` the same with 0.79788456 for the root, as BLOOM has it; ``silu`` $u / (1 + e^{-u})$. With `skip` the
    row before `norm` is added.

    Args:
        W_in: Input map, `[d_model, d_mlp]`.
        W_out: Output map, `[d_mlp, d_out]`; d_out = d_model where there is a skip connection.
        b_in: Input shift, `[d_mlp]`, or none.
        b_out: Output shift, `[d_out]`, or none.
        activation: ``"relu"``, ``"gelu"``, ``"gelu-tanh"``, ``"gelu-bloom"`` or ``"silu"``.
        norm: The norm that the stream passes before the maps, or none.
        skip: Whether the stream is added to the output.
        W_gate: Map of the gates, `[d_model, d_mlp]`, or none.
        b_gate: Their shift, `[d_mlp]`, or none.
        post_norm: What the output passes before the stream is added, of width d_out, or none.
        parallel: Whether the stream is read as it was before the attention in front, whose output is added to as well.

    Raises:
        InputError: A tensor of a wrong shape or type, or an option that is none; names it.

    Source: Vaswani et al. (2017); Shazeer (2020); Hendrycks, Gimpel (2016).

    Example:
        >>> FeedForward(np.ones((2, 8)), np.ones((8, 2)), activation="relu").d_mlp
        8
    """

    W_in: Tensor
    W_out: Tensor
    b_in: Tensor | None = None
    b_out: Tensor | None = None
    activation: Activation = "relu"
    norm: Normalization | None = None
    skip: bool = True
    W_gate: Tensor | None = None
    b_gate: Tensor | None = None
    post_norm: Normalization | None = None
    parallel: bool = False

    def __post_init__(self) -> None:
        _require_option("activation", self.activation, Activation)
        _require_flag("skip", self.skip)
        _require_flag("parallel", self.parallel)
        _freeze(self, {"W_in": 2, "W_out": 2, "b_in": 1, "b_out": 1, "W_gate": 2, "b_gate": 1})
        d_mlp, d_out = self.d_mlp, self.d_out
        shapes = {"W_out": (d_mlp, d_out), "b_in": (d_mlp,), "b_out": (d_out,)}
        _require_shapes(self, {**shapes, "W_gate": self.W_in.shape, "b_gate": (d_mlp,)})
        if self.W_gate is None and self.b_gate is not None:
            raise InputError("b_gate", "is given, but no W_gate")
        if self.parallel and not self.skip:
            raise InputError("parallel", "is True", "a skip connection with it")
        if self.post_norm is not None and self.post_norm.width != d_out:
            raise InputError("post_norm", f"has the width {self.post_norm.width}", f"d_out = {d_out}")
        if 0 in (self.d_model, d_out):
            raise InputError("W_in and W_out", f"have d_model = {self.d_model} and d_out = {d_out}", "at least 1")
        if self.skip and d_out != self.d_model:
            raise InputError("W_out", f"has d_out = {d_out}", f"d_model = {self.d_model} with a skip connection")
        if self.norm is not None and self.norm.width != self.d_model:
            raise InputError("norm", f"has the width {self.norm.width}", f"d_model = {self.d_model}")

    @property
    def d_model(self) -> int:
        """Dimension of the rows that are read."""
        return self.W_in.shape[0]

    @property
    def plain(self) -> bool:
        """Whether the block has no extensions of other model families: no gate, no norm except `norm`, not parallel,
        ...
        """
        beside = self.parallel or self.activation == "gelu-bloom"
        return self.W_gate is None and self.post_norm is None and not beside

    @property
    def d_mlp(self) -> int:
        """Number of neurons."""
        return self.W_in.shape[1]

    @property
    def d_out(self) -> int:
        """Dimension of the output rows."""
        return self.W_out.shape[1]

    @property
    def parameters(self) -> int:
        """Number of entries of all tensors."""
        return _entries(self)

    def options(self) -> dict[str, Any]:
        """Return the settings of the block, besides its tensors, as plain data for JSON."""
        return {
            "kind": "feed-forward",
            "skip": self.skip,
            "activation": self.activation,
            "norm": None if self.norm is None else self.norm.options(),
            **_given(post_norm=self.post_norm, parallel=self.parallel or None),
        }


Block = Attention | FeedForward | Normalization

BLOCKS: dict[str, type[Any]] = {
    "attention": Attention,
    "feed-forward": FeedForward,
    "layer": Normalization,
    "rms": Normalization,
}
"""The record of each kind of block, by the name that its options give it."""


def tensor_fields(block: Block) -> Iterator[tuple[str, Tensor]]:
    """Yield the block's tensors, without those of its `norm`, by field and in order."""
    for field in fields(block):
        value = getattr(block, field.name)
        if isinstance(value, np.ndarray):
            yield field.name, value


def norm_fields(block: Block) -> Iterator[tuple[str, Normalization]]:
    """Yield the normalizations that a block has, by field and in order."""
    for field in fields(block):
        value = getattr(block, field.name)
        if isinstance(value, Normalization):
            yield field.name, value


def frozen(name: str, value: object, dimensions: int) -> Tensor:
    """Return a read-only tensor, C-contiguous: float64 and finite, or rationals; nothing is rounded.

    It is the array itself where that is such and nobody can write to it: models share what they have in common.

    Args:
        name: Name of the tensor, for the message.
        value: The array.
        dimensions: How many it must have.

    Raises:
        InputError: Another type, another number of dimensions, a NaN or an infinity; names it.

    Example:
        >>> frozen("W_U", np.ones((2, 3)), 2).flags.writeable
        False
    """
    if np.ma.isMaskedArray(value):
        raise InputError(name, "is a masked array; fill the masked entries first")
    array = np.asarray(value)
    if array.ndim != dimensions:
        raise InputError(name, f"has shape {array.shape}", f"{dimensions} dimensions")
    if max(array.shape) > _LARGEST_DIMENSION:
        raise InputError(name, f"has shape {array.shape}", f"dimensions of at most {_LARGEST_DIMENSION}")
    if array.dtype == object:
        return _rational(name, array)
    return frozen_float64(name, array)


def _rational(name: str, array: Tensor) -> Tensor:
    result = np.empty(array.shape, dtype=object)
    for position, entry in np.ndenumerate(array):
        if not isinstance(entry, int | fmpz | fmpq):
            raise InputError(name, f"has the entry {entry!r} at {position}", "float64, or fmpq throughout")
        result[position] = fmpq(entry)
    return frozen_copy(result)


def _freeze(block: Block, dimensions: dict[str, int]) -> None:
    for name, count in dimensions.items():
        if getattr(block, name) is not None:
            object.__setattr__(block, name, frozen(name, getattr(block, name), count))


def _require_shapes(block: Block, expected: dict[str, tuple[int, ...]]) -> None:
    first, tensor = next(tensor_fields(block))
    for name, shape in expected.items():
        array = getattr(block, name)
        if array is not None and array.shape != shape:
            raise InputError(name, f"has shape {array.shape}", f"{shape} beside {first} {tensor.shape}")


def _require_option(name: str, value: object, options: Any) -> None:
    if value not in get_args(options):
        raise InputError(name, f"is {value!r}", f"one of {', '.join(map(repr, get_args(options)))}")


def _require_flag(name: str, value: object) -> None:
    if type(value) is not bool:
        raise InputError(name, f"is {value!r}", "True or False")


def require_positive(name: str, value: object) -> None:
    """Raise `InputError` unless an option is none, or a finite float above 0."""
    if value is not None and not (isinstance(value, float) and 0 < value < float("inf")):
        raise InputError(name, f"is {value!r}", "a finite float above 0, or none")


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that are not None, as plain data for JSON."""
    data = {Normalization: Normalization.options, float: float.hex}
    return {name: data.get(type(x), lambda x: x)(x) for name, x in options.items() if x is not None}


def _entries(block: Attention | FeedForward) -> int:
    norms = [norm for _, norm in norm_fields(block)]
    return sum(tensor.size for record in (block, *norms) for _, tensor in tensor_fields(record))
