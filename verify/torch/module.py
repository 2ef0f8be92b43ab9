"""Express any model as a torch module, in the operations that the rounding bounds cover.

Page: docs/run.md
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from constructions.errors import InputError
from constructions.model.blocks import Attention
from constructions.model.model import Model, block_names
from verify.forward.rotary import tables, turned_entries

Tensors = Mapping[str, Tensor]

_DENSE = 8  # times as many scores are worth a plain matrix product
_PART_ENTRIES = {"cpu": 2**22, "cuda": 2**27}  # of keys, values and scores of the heads that are worked on together
_PART_CONTEXTS = {"cpu": 512, "cuda": 2**20}  # so few that their scores stay in the cache


class Replica(nn.Module):
    r"""A model in torch: its state has the names, shapes and convention of `Model.tensors`.

    Every block is written out in sums, products, quotients, roots, exponentials and error functions; the softmax too,
    because the one of torch may use a faster and coarser exponential. In float32 and float64 the outputs obey
    `verify.runs.rounding.rounding_bound`: the forward pass takes no part in autocasting and no reduced-precision
    matrix product (TF32, bfloat16), whatever the settings around it.

    What rows have in common is computed once: before the first attention the stream holds one row for each token and
    position that occur, or for each position of a shared context.

    Args:
        model: The model whose blocks and options these are.
        tensors: The tensors by name, on one device, of one floating-point type if `dtype` is not given.
        dtype: The floating-point type to compute in, where tensors are stored in narrower ones, integers among them:
            they stay as they are, and are cast when they are read.

    Source: Dana, Pydi, Chevaleyre (2024), equations (1) and (2); Mahdavi, Liao, Thrampoulidis (2024), Section 3;
    Vaswani et al. (2017).

    Example:
        >>> from constructions.model.shapes import dana_network
        >>> import numpy as np
        >>> one = np.ones
        >>> network = dana_network(W_E=one((3, 2)), W_pos=one((4, 2)), W_Q=one((5, 2, 1)), W_K=one((5, 2, 1)),
        ...                   W_V=one((5, 2, 2)), W_O=one((5, 2, 2)), W_U=one((2, 3)))
        >>> replica = Replica.from_model(network, dtype=torch.float64)
        >>> replica(torch.tensor([[0, 1, 2, 0]])).tolist()
        [[84.0, 84.0, 84.0]]
        >>> "blocks.0.attn.W_Q" in replica.state_dict()
        True
    """

    def __init__(self, model: Model, tensors: Tensors, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self._dtype = dtype
        options = [block.options() for block in model.blocks]
        self._blocks = list(zip(*block_names(options), options, strict=True))
        self._records, self._n_ctx, self._plain = model.blocks, model.n_ctx, model.plain
        self._divisor, self._cap = model.logit_divisor, model.logit_cap
        self._reads_tokens = model.reads_tokens
        self._d_model = model.d_model
        for name, tensor in tensors.items():
            *path, last = name.split(".")
            holder: nn.Module = self
            for part in path:
                if part not in dict(holder.named_children()):
                    holder.add_module(part, nn.Module())
                holder = holder.get_submodule(part)
            if dtype is None:
                holder.register_parameter(last, nn.Parameter(tensor))
            else:
                holder.register_buffer(last, tensor)

    @classmethod
    def from_model(
        cls, model: Model, *, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> "Replica":
        """Return a replica whose parameters are the weights rounded to nearest in `dtype`.

        Args:
            model: The exact weights, in float64.
            dtype: A floating-point type of torch.
            device: The device that has the parameters.

        Returns:
            The module; `load_state_dict` of a module made from a model of the same shapes takes its state.

        Raises:
            InputError: Another type, or a rational model.
        """
        if not dtype.is_floating_point:
            raise InputError("dtype", f"= {dtype}", "a floating-point type")
        if model.is_rational:
            raise InputError("the model", "is rational", "float64: round it first")
        # Frequencies make tables of exact angles, which are rounded, not they.
        tensors = {name: x for name, x in model.tensors().items() if not name.endswith(".frequencies")}
        return cls(model, {name: torch.tensor(array).to(dtype).to(device) for name, array in tensors.items()})

    def forward(self, inputs: Tensor, queries: Tensor | None = None) -> Tensor:
        """Return the logits, or outputs, at the last position of each context.

        Args:
            inputs: Tokens, integers `[B, S]` with `S <= n_ctx`; or vectors, `[B, S, d]` in the type of the parameters,
                or `[1, S, d]` if all examples share them.
            queries: For a model that reads vectors, the queries, `[B, d]`.

        Returns:
            Outputs, `[B, d_vocab_out]`, in the type of the parameters.

        Raises:
            InputError: Tensors of a wrong type, shape or range.
        """
        tensors = self._tensors()
        self._check(inputs, queries, tensors)
        last_attention = max((i for i, (*_, o) in enumerate(self._blocks) if o["kind"] == "attention"), default=-1)
        with full_precision(), torch.autocast(inputs.device.type, enabled=False):
            rows, where = self._read(inputs, queries, tensors)
            before = rows
            for i, (prefix, norm_prefix, option) in enumerate(self._blocks):
                own = _under(prefix, tensors)
                if option["kind"] in ROW_BLOCKS:
                    rows = ROW_BLOCKS[option["kind"]](rows, option, own)
                    continue
                read = before if option.get("parallel") else rows
                if option["norm"] is not None:
                    read = _normalized(read, option["norm"], _under(norm_prefix, tensors))
                if option["kind"] == "feed-forward":
                    hidden = _shifted(read @ own["W_in"], own.get("b_in"))
                    gates = _shifted(read @ own["W_gate"], own.get("b_gate")) if "W_gate" in own else hidden
                    fired = _ACTIVATIONS[option["activation"]](gates)
                    hidden = fired * hidden if "W_gate" in own else fired
                    y = _shifted(hidden @ own["W_out"], own.get("b_out"))
                    if "post_norm" in option:
                        y = _normalized(y, option["post_norm"], _under(f"{prefix}.post_norm", tensors))
                    rows = rows + y if option["skip"] else y
                    continue
                last, record = i == last_attention or option["attends"] == "last", self._records[i]
                if not self._plain:
                    before = rows[where[:, -1] if last else where.flatten()]
                if isinstance(record, Attention) and not record.plain:
                    norms = {name: _under(f"{prefix}.{name}", tensors) for name in ("q_norm", "k_norm", "post_norm")}
                    rows, where = _attention_of_hosts(
                        before, read, where, option, {**own, **norms}, self._turns(i, where), last=last
                    )
                elif i == last_attention or option["attends"] == "last":
                    rows, where = _attention_from_last(rows, read, where, queries, option, own)
                else:
                    rows, where = _attention_from_all(rows, read, where, option, own)
            y = _shifted(rows[where[:, -1]] @ tensors["unembed.W_U"], tensors.get("unembed.b_U"))
            y = y if self._divisor is None else y / self._divisor
            return y if self._cap is None else _capped(y, self._cap)

    def _tensors(self) -> dict[str, Tensor]:
        """Return the tensors in the compute type."""
        if self._dtype is None:
            return dict(self.named_parameters())
        return {name: tensor.to(self._dtype) for name, tensor in self.named_buffers()}

    def _turns(self, place: int, where: Tensor) -> tuple[Tensor, Tensor, slice, slice] | None:
        """Return the cosines and sines `[S, m]` of a block, from exact angles, and the entries that they rotate."""
        block = self._records[place]
        if not isinstance(block, Attention) or block.frequencies is None:
            return None
        dtype = self._dtype or next(self.parameters()).dtype
        cos, sin = (torch.tensor(x.high).to(dtype).to(where.device) for x in tables(block, range(where.shape[1])))
        return cos, sin, *turned_entries(block)

    def _read(self, inputs: Tensor, queries: Tensor | None, tensors: Tensors) -> tuple[Tensor, Tensor]:
        """Return the distinct rows, `[P, d]`, and the row numbers of each context, `[B, S]`."""
        length = inputs.shape[1]
        if self._reads_tokens:
            places = torch.arange(length, device=inputs.device)
            pairs, where = torch.unique(inputs.long() * length + places, return_inverse=True)
            rows = tensors["embed.W_E"][pairs // length]
            return rows + tensors["pos_embed.W_pos"][pairs % length] if "pos_embed.W_pos" in tensors else rows, where
        rows = inputs.flatten(0, 1)
        where = torch.arange(len(rows), device=inputs.device).view(len(inputs), length)
        return rows, where if queries is None else where.expand(len(queries), length)

    def _check(self, inputs: Tensor, queries: Tensor | None, tensors: Tensors) -> None:
        dtype = tensors["unembed.W_U"].dtype
        if not self._reads_tokens:
            fits = inputs.ndim == 3 and inputs.shape[1] > 0 and inputs.shape[2] == self._d_model
            if not fits or inputs.dtype != dtype:
                raise InputError(
                    "inputs", f"is {inputs.dtype} of shape {tuple(inputs.shape)}", f"{dtype} [B, S, {self._d_model}]"
                )
            if queries is None:
                if any(option.get("queries") == "task" for *_, option in self._blocks):
                    raise InputError("queries", "are missing", f"{dtype} [B, {self._d_model}]")
            elif (
                queries.ndim != 2 or queries.shape[1] != self._d_model or len(inputs) not in (1, len(queries))
            ) or queries.dtype != dtype:
                raise InputError(
                    "queries",
                    f"is {queries.dtype} of shape {tuple(queries.shape)} beside {len(inputs)} contexts",
                    f"{dtype} [B, {self._d_model}]",
                )
            return
        if queries is not None:
            raise InputError("queries", "are given, but only a model that reads vectors has queries")
        tokens, d_vocab, n_ctx = inputs, len(tensors["embed.W_E"]), self._n_ctx
        integral = not tokens.dtype.is_floating_point and not tokens.dtype.is_complex and tokens.dtype != torch.bool
        if tokens.ndim != 2 or not integral:
            raise InputError("tokens", f"is {tokens.dtype} of shape {tuple(tokens.shape)}", "integers [B, S]")
        if not 1 <= tokens.shape[1] <= n_ctx:
            raise InputError("tokens", f"has contexts of {tokens.shape[1]} tokens", f"1 .. {n_ctx} (n_ctx)")
        if tokens.numel():
            lowest, highest = (int(end) for end in torch.aminmax(tokens))
            if lowest < 0 or highest >= d_vocab:
                raise InputError("tokens", f"holds {lowest} .. {highest}", f"0 .. {d_vocab - 1}")


def _under(prefix: str, tensors: Tensors) -> Tensors:
    """Return the tensors of one block by their short names."""
    return {name.rpartition(".")[2]: tensor for name, tensor in tensors.items() if name.rpartition(".")[0] == prefix}


def _shifted(x: Tensor, shift: Tensor | None) -> Tensor:
    return x if shift is None else x + shift


def _normalized(x: Tensor, option: dict[str, Any], own: Tensors) -> Tensor:
    y = x - x.mean(dim=-1, keepdim=True) if option["kind"] == "layer" else x
    root = torch.sqrt((y * y).mean(dim=-1, keepdim=True) + float.fromhex(option["epsilon"]))
    return _shifted(y / root * own["w"], own.get("b"))


ROW_BLOCKS: dict[str, Callable[[Tensor, dict[str, Any], Tensors], Tensor]] = {"layer": _normalized, "rms": _normalized}
"""Blocks that act on each row by itself: functions of the rows, the options and the tensors."""


def _projected(x: Tensor, maps: Tensor, shifts: Tensor | None) -> Tensor:
    """Return the images of rows under the maps of the heads, `[H, P, n]`."""
    y = torch.matmul(x, maps)
    return y if shifts is None else y + shifts[:, None]


def _of_each(x: Tensor, where: Tensor) -> Tensor:
    """Gather the rows `[H, P, n]` of each context, `[H, B, S, n]`; a view if they are already in this order."""
    first = int(where[0, 0]) if where.numel() else 0
    in_order = torch.arange(first, first + where.numel(), device=where.device).view(where.shape)
    if torch.equal(where, in_order):
        return x[:, first : first + where.numel()].unflatten(1, where.shape)
    return x[:, where]


def softmax(scores: Tensor, root: int, dim: int = -1) -> Tensor:
    if root != 1:
        scores = scores / math.sqrt(root)
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def bag_sums(weights: Tensor, where: Tensor, rows: Tensor) -> Tensor:
    """Sum `weights[h, b, s] * rows[h, where[b, s]]` over s for each context b and head h, without copies.

    A sum of S products in the type of its arguments, as the rounding bound wants it.

    Args:
        weights: `[H, B, S]`.
        where: Indices of the rows of each context, `[B, S]`.
        rows: `[H, P, n]`.

    Returns:
        The sums, `[B, H n]`.
    """
    heads, distinct, size = rows.shape
    count, length = where.shape
    bags = (where[:, None] * heads + torch.arange(heads, device=where.device)[:, None]).view(count * heads, length)
    table = rows.transpose(0, 1).reshape(distinct * heads, size)
    weights_by_bag = weights.transpose(0, 1).reshape(count * heads, length)
    return functional.embedding_bag(bags, table, mode="sum", per_sample_weights=weights_by_bag).view(
        count, heads * size
    )


def _attention_from_last(
    rows: Tensor, read: Tensor, where: Tensor, queries: Tensor | None, option: dict[str, Any], own: Tensors
) -> tuple[Tensor, Tensor]:
    """Return the stream after an attention with queries only at the last position or in the task; each row is projected
    once.
    """
    (count, length), device = where.shape, where.device
    in_order = torch.arange(count, device=device)
    if option["queries"] == "task":
        assert queries is not None
        asking, query_of = queries, in_order
    else:
        last, query_of = torch.unique(where[:, -1], return_inverse=True)
        asking = read[last]
    together = max(1, min(count, _PART_CONTEXTS[device.type]))
    order, read_of = in_order, where
    if together < count and 1 < len(asking) < count:
        # Contexts that ask alike need the same scores.
        order = torch.argsort(query_of)
        query_of, read_of = query_of[order], where[order]
    (n_heads, d_head, d_out), d_qk = own["W_O"].shape, own["W_K"].shape[2]
    # Where all heads have the same values, one computes them; gradients have to reach the maps of all.
    maps = [name for name in ("W_V", "b_V") if name in own]
    alike = not torch.is_grad_enabled() and all(bool((own[name] == own[name][:1]).all()) for name in maps)
    entries = (2 * len(read) + len(asking) + together) * (d_head + d_qk) + 4 * together * length
    step = max(1, _PART_ENTRIES[device.type] // max(1, entries))
    y = torch.zeros(count, d_out, dtype=rows.dtype, device=device)
    for start in range(0, n_heads, step):
        part = {name: tensor[start : start + step] for name, tensor in own.items() if name != "b_O"}
        if alike:
            part |= {name: own[name][:1] for name in maps}
        query = _projected(asking, part["W_Q"], part.get("b_Q"))
        keys, values = (_projected(read, part[f"W_{of}"], part.get(f"b_{of}")) for of in "KV")
        for first in range(0, count, together):
            some = slice(first, first + together)
            mixed = _mixed(query, keys, values, query_of[some], read_of[some], option["score_root"])
            y[some] += mixed @ part["W_O"].flatten(0, 1)
    y = _shifted(y[torch.argsort(order)], own.get("b_O"))
    if option["skip"]:
        y = rows[where[:, -1]] + y
    return y, in_order[:, None]


def _mixed(query: Tensor, keys: Tensor, values: Tensor, asked: Tensor, where: Tensor, root: int) -> Tensor:
    """Return the head averages of each context, `[B, H n]`.

    Args:
        query: `[H, Q, e]`.
        keys: Keys of the rows that are read, `[H, P, e]`.
        values: Values of the same rows, `[H, P, n]`, or `[1, P, n]` if all heads have the same.
        asked: Index of the query that asks in each context, `[B]`.
        where: Indices of the rows of each context, `[B, S]`.
        root: Scores are divided by its square root.
    """
    (count, length), distinct = where.shape, keys.shape[1]
    if count > 1 and where.stride(0) == 0 and distinct == length:  # all contexts have the same rows, in their order
        weights = softmax((query @ keys.transpose(1, 2))[:, asked], root)
        return (weights @ values).transpose(0, 1).flatten(1)
    lowest, highest = (int(end) for end in torch.aminmax(asked))
    query, asked = query[:, lowest : highest + 1], asked - lowest
    if query.shape[1] * distinct <= _DENSE * count * length:
        # Whole rows of heads are looked up.
        table = (query @ keys.transpose(1, 2)).flatten(1).T.contiguous()
        scores = functional.embedding(asked[:, None] * distinct + where, table)
    else:
        scores = torch.einsum("hbe,hbse->bsh", query[:, asked], _of_each(keys, where))
    weights = softmax(scores, root, dim=1)
    if len(values) == 1:
        return torch.bmm(weights.transpose(1, 2), values[0, where]).flatten(1)
    return bag_sums(weights.permute(2, 0, 1), where, values)


def _attention_from_all(
    rows: Tensor, read: Tensor, where: Tensor, option: dict[str, Any], own: Tensors
) -> tuple[Tensor, Tensor]:
    """Return the stream after an attention that every position asks."""
    count, length = where.shape
    query, keys, values = (_of_each(_projected(read, own[f"W_{of}"], own.get(f"b_{of}")), where) for of in "QKV")
    scores = query @ keys.transpose(-1, -2)
    if option["attends"] == "causal":
        later = torch.ones(length, length, dtype=torch.bool, device=where.device).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    mixed = (softmax(scores, option["score_root"]) @ values).permute(1, 2, 0, 3).flatten(2).flatten(0, 1)
    y = _shifted(mixed @ own["W_O"].flatten(0, 1), own.get("b_O"))
    if option["skip"]:
        y = rows[where.flatten()] + y
    return y, torch.arange(count * length, device=where.device).view(count, length)


def _attention_of_hosts(
    before: Tensor,
    read: Tensor,
    where: Tensor,
    option: dict[str, Any],
    own: Mapping[str, Any],
    turns: tuple[Tensor, Tensor, slice, slice] | None,
    *,
    last: bool,
) -> tuple[Tensor, Tensor]:
    """Return the stream after an attention with extensions of other hosts; its output is added to the rows `before`.

    Args:
        before: `[B, d]` where only the last position asks, otherwise `[B S, d]`.
        read: The rows that are read, `[P, d]`.
        where: Indices of those of each context, `[B, S]`.
        option: Option of the block.
        own: Its tensors, and those of its norms by name.
        turns: What `Replica._turns` gives.
        last: Whether only the last position asks.
    """
    length = where.shape[1]
    query, keys, values = (_of_each(_projected(read, own[f"W_{of}"], own.get(f"b_{of}")), where) for of in "QKV")
    if "clip" in option:
        clip = float.fromhex(option["clip"])
        query, keys, values = (x.clamp(-clip, clip) for x in (query, keys, values))
    for name in ("q_norm", "k_norm"):
        if name in option:
            x = query if name == "q_norm" else keys
            x = _normalized_heads(x, option[name], own[name], together="norms_all" in option)
            query, keys = (x, keys) if name == "q_norm" else (query, x)
    if turns is not None:
        query, keys = _turned(query, *turns), _turned(keys, *turns)
    if "key_heads" in option:
        group_size = len(query) // option["key_heads"]
        keys, values = (x.repeat_interleave(group_size, dim=0) for x in (keys, values))
    query = query[:, :, -1:] if last else query
    scores = query @ keys.transpose(-1, -2)
    root = option["score_root"]
    if "score_cap" in option or "slopes" in own:
        scores, root = scores / math.sqrt(root) if root != 1 else scores, 1
    if "score_cap" in option:
        scores = _capped(scores, float.fromhex(option["score_cap"]))
    if "slopes" in own:
        places = torch.arange(length, dtype=scores.dtype, device=scores.device)
        scores = scores + own["slopes"][:, None, None, None] * places
    if option["attends"] == "causal" and not last:
        later = torch.ones(length, length, dtype=torch.bool, device=where.device).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    mixed = (softmax(scores, root) @ values).permute(1, 2, 0, 3).flatten(2).flatten(0, 1)
    y = _shifted(mixed @ own["W_O"].flatten(0, 1), own.get("b_O"))
    if "post_norm" in option:
        y = _normalized(y, option["post_norm"], own["post_norm"])
    shape = (len(where), 1 if last else length)
    return before + y if option["skip"] else y, torch.arange(len(y), device=where.device).view(shape)


def _normalized_heads(x: Tensor, option: dict[str, Any], own: Tensors, *, together: bool) -> Tensor:
    """Normalize rows of heads `[H, B, S, n]`, each separately or all together."""
    heads, _, _, width = x.shape
    if together:
        rows = _normalized(x.permute(1, 2, 0, 3).flatten(2), option, own)
        return rows.unflatten(2, (heads, width)).permute(2, 0, 1, 3)
    tensors_of_head = {name: tensor.view(-1, 1, 1, width) for name, tensor in own.items()}
    return _normalized(x, option, tensors_of_head)


def _turned(x: Tensor, cos: Tensor, sin: Tensor, first: slice, second: slice) -> Tensor:
    a, b, y = x[..., first], x[..., second], x.clone()
    y[..., first], y[..., second] = a * cos - b * sin, b * cos + a * sin
    return y


def _capped(x: Tensor, c: float) -> Tensor:
    """Return c tanh(x / c), by the exponential, whose accuracy is assumed anyway."""
    powers = torch.exp(-2.0 * (x.abs() / c))
    return torch.copysign(c * ((1.0 - powers) / (1.0 + powers)), x)


def _gelu(x: Tensor) -> Tensor:
    return x * (0.5 * (1.0 + torch.erf(x * math.sqrt(0.5))))


def _gelu_tanh(x: Tensor, root: float = math.sqrt(2.0 / math.pi)) -> Tensor:
    return x / (1.0 + torch.exp((x + x * x * x * 0.044715) * (-2.0 * root)))


def _silu(x: Tensor) -> Tensor:
    return x / (1.0 + torch.exp(-x))


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: x.clamp(min=0.0),
    "gelu": _gelu,
    "gelu-tanh": _gelu_tanh,
    "gelu-bloom": lambda x: _gelu_tanh(x, 0.79788456),
    "silu": _silu,
}


@contextmanager
def full_precision() -> Iterator[None]:
    """Let float32 matrix products be float32 within the block, on CPU and CUDA; the settings come back afterwards.

    Torch lets TF32 or bfloat16 stand in for float32 inside matrix products, by settings of the process that any library
    may have changed. Both break every bound in terms of the unit roundoff of float32.

    Example:
        >>> with full_precision():
        ...     torch.get_float32_matmul_precision()
        'highest'
    """
    # Two generations of settings say the same thing, and torch refuses to read them while they disagree: the newer
    # ones are made strict first, so that the older one can be read, and both are put back in the opposite order.
    mkldnn = torch.backends.mkldnn.matmul  # pyright: ignore[reportAttributeAccessIssue]
    backends = (torch.backends.cuda.matmul, mkldnn)
    newer = [backend.fp32_precision for backend in backends]
    for backend in backends:
        backend.fp32_precision = "ieee"
    older = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(older)
        for backend, precision in zip(backends, newer, strict=True):
            backend.fp32_precision = precision
