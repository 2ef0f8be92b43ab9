"""Consume the tensors and the configuration of a third-party decoder one by one, so that nothing is overlooked.

A reader asks for every field and every tensor that it knows; `finished` refuses what nobody asked for, naming the
family and the field. Numbers that a host computes itself, such as frequencies, are computed as it does, in float32.

Page: docs/hosts.md
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from byheart.hosts.families.known_options import ONLY_IN_TRANSFORMERS, UNREAD_IN_TRANSFORMERS, UnknownFieldError
from constructions.errors import InputError
from constructions.model.blocks import Activation, Block, Normalization, NormalizationKind
from constructions.model.model import Model
from verify.arithmetic.double_double import two_product, two_sum
from verify.arithmetic.rounding import Floats

ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
_UNREAD = {
    *UNREAD_IN_TRANSFORMERS,
    # Dropout and what weights begin with, which a trained model no longer has; how it was cut into parts.
    *("resid_pdrop", "embd_pdrop", "attn_pdrop", "attention_dropout", "hidden_dropout", "resid_dropout"),
    *("embed_dropout", "dropout", "layerdrop", "classifier_dropout", "residual_dropout", "embedding_dropout"),
    *("initializer_range", "init_std", "init_device", "emb_pdrop", "summary_type", "summary_use_proj"),
    *("summary_activation", "summary_proj_to_labels", "summary_first_dropout", "predict_special_tokens"),
    *("activation_dropout", "tokenizer_class", "name_or_path", "cache_implementation", "n_inner"),
    "auto_map",  # code of its own, which nobody runs who does not ask for it; the first line names it
}
_ONLY = {
    **ONLY_IN_TRANSFORMERS,
    "pretraining_tp": (1, None),
    "is_decoder": (False, True),
    "is_llama_config": (True, False),
    "rope_interleaved": (False,),
}
_PUBLISHED: dict[str, dict[str, tuple[Any, ...]]] = {
    "falcon": {"apply_residual_connection_post_layernorm": (False,)},
    "gemma": {"hidden_activation": ("gelu_pytorch_tanh", None)},
    "gemma2": {"sliding_window_size": (4096, None)},
    "phi3": {"attention_bias": (False,)},
    "qwen2": {"use_mrope": (False,)},
    "smollm3": {"pretraining_tp": (1, 2, None)},
    "starcoder2": {
        "activation_function": ("gelu", "gelu_pytorch_tanh"),
        "attention_softmax_in_fp32": (True, False),
        "scale_attention_softmax_in_fp32": (True, False),
        "scale_attn_weights": (True,),
        "mlp_type": ("default",),
        "norm_type": ("layer_norm",),
    },
}
"""Fields of the configurations that families are published with, and that their modules in `transformers` do not read:
with these values they say what the module computes, or nothing of it."""
BUFFERS = (".rotary_emb.inv_freq", ".attn.masked_bias", ".attn.bias", ".attention.bias", ".attention.masked_bias")
"""How masks and constants end that older versions of `transformers` store, of any type, and make themselves."""

_LEAST = 2.0**-960  # products above are as exact as their rounding says


class Checkpoint:
    """A configuration and tensors, and which of them have been read.

    Args:
        tensors: By the names of the host.
        config: Its configuration.
    """

    def __init__(self, tensors: Mapping[str, Floats], config: Mapping[str, Any]) -> None:
        self.family = str(config["model_type"])
        self._tensors, self._config = dict(tensors), dict(config)
        self._asked, self._taken = {"model_type", "architectures", "dtype", "torch_dtype"}, set[str]()
        self._called: dict[str, str] = {}
        architectures = config.get("architectures") or []
        if (
            not isinstance(architectures, list | tuple)
            or len(architectures) > 1
            or not all(isinstance(name, str) for name in architectures)
        ):
            self.refuse("architectures", "one, in a list")

    def refuse(self, name: str, expected: str) -> None:
        """Raise the `InputError` about a field.

        Raises:
            InputError: Always.
        """
        called = self._called.get(name, name)
        raise InputError(f"{self.family} with {called}", f"= {self._config.get(called)!r} is not read", expected)

    def field(self, name: str, default: Any = None, *, also: Sequence[str] = ()) -> Any:
        """Return the value of a configuration field, under its name or its older names.

        Raises:
            InputError: It says two things.
        """
        self._asked |= {name, *also}
        values_by_name = {
            candidate: self._config[candidate] for candidate in (name, *also) if self._config.get(candidate) is not None
        }
        values = list(values_by_name.values())
        self._called[name] = next(iter(values_by_name), name)
        if any(candidate != values[0] for candidate in values):
            other = " and ".join(f"{candidate} = {value!r}" for candidate, value in values_by_name.items())
            raise InputError(f"{self.family} with {other}", "gives two values for one field that has two names", "one")
        return values[0] if values else default

    def count(self, name: str, default: Any = None, *, also: Sequence[str] = ()) -> int:
        """Read a field that is an integer of at least 1."""
        value = self.field(name, default, also=also)
        if type(value) is not int or value < 1:
            self.refuse(name, "an integer of at least 1")
        return int(value)

    def flag(self, name: str, default: bool) -> bool:
        """Read a Boolean field."""
        value = self.field(name, default)
        if type(value) is not bool:
            self.refuse(name, "true or false")
        return bool(value)

    def number(self, name: str, default: Any = None, *, also: Sequence[str] = ()) -> float:
        """Read a field that is a finite number above 0."""
        value = self.field(name, default, also=also)
        if type(value) not in (int, float) or not 0 < value < float("inf"):
            self.refuse(name, "a finite number above 0")
        return float(value)

    def each(self, name: str, count: int, *values: Any) -> list[Any] | None:
        """Read a field with one of the allowed values per layer; None if it is missing."""
        listed = self.field(name)
        if listed is None or listed == []:
            return None
        if not isinstance(listed, list | tuple) or len(listed) != count or any(one not in values for one in listed):
            self.refuse(name, f"one of {', '.join(map(repr, values))} for each of {count} layers")
        return list(listed)

    def fields(self, name: str, *, also: Sequence[str] = ()) -> dict[str, Any]:
        """Read a field that contains fields; empty if it is missing."""
        value = self.field(name, {}, also=also)
        if not isinstance(value, Mapping):
            self.refuse(name, "an object with fields of its own")
        return dict(value)

    def only(self, name: str, *values: Any) -> None:
        """Require the given value of a field, which may be missing."""
        stored = self.field(name)
        if stored is not None and not any(stored == value and type(stored) is type(value) for value in values):
            self.refuse(name, " or ".join(map(repr, values)))

    def activation(self, name: str, default: str) -> Activation:
        """Return a field that names an activation."""
        value = self.field(name, default)
        if not isinstance(value, str) or value not in ACTIVATIONS:
            self.refuse(name, ", ".join(ACTIVATIONS))
        return ACTIVATIONS[value]

    def runs_in(self, number: float) -> float:
        """Return a number as the host has it, in the type that it runs in: that of the configuration, or float32."""
        dtype_name = str(self._config.get("dtype") or self._config.get("torch_dtype")).removeprefix("torch.")
        if dtype_name == "bfloat16":
            bits = np.float32(number).view(np.uint32)
            return float(
                ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).astype(np.uint32).view(np.float32)
            )
        return float({"float16": np.float16, "float64": np.float64}.get(dtype_name, np.float32)(number))

    def has(self, name: str) -> bool:
        """Tell whether a tensor exists."""
        return name in self._tensors

    def take(self, name: str, *shape: int | None) -> Floats:
        """Read a tensor, of the given shape if there is one.

        Raises:
            InputError: There is none, or it has another shape.
        """
        if name not in self._tensors:
            raise missing_tensor(self.family, name, self._tensors)
        self._taken.add(name)
        tensor = self._tensors[name]
        if shape and (
            len(shape) != tensor.ndim or any(a not in (None, b) for a, b in zip(shape, tensor.shape, strict=True))
        ):
            raise InputError(f"{self.family}: {name}", f"has shape {tensor.shape}", shape)
        return tensor

    def norm(
        self, kind: NormalizationKind, name: str, epsilon: float, *, shift: bool = False, offset: bool = False
    ) -> Normalization:
        """Read a normalization, whose gain may be stored minus 1."""
        w = self.take(f"{name}.weight").reshape(-1)
        if offset:
            total, left = two_sum(w, np.ones_like(w))
            if left.any():
                raise InputError(
                    f"{self.family}: 1 + {name}.weight", f"is not a float64 number in {int((left != 0).sum())} places"
                )
            w = total
        return Normalization(kind, w, self.take(f"{name}.bias", len(w)) if shift else None, epsilon)

    def linear(self, name: str, rows: int | None, columns: int | None, *, shift: bool) -> tuple[Floats, Floats | None]:
        """Read a map stored as [out, in] into our layout, [in, out], with its shift."""
        W = self.take(f"{name}.weight", columns, rows).T
        return W, self.take(f"{name}.bias", W.shape[1]) if shift else None

    def readout(self, embeddings: Floats, name: str = "lm_head", *, tied: bool) -> Floats:
        """Return W_U: the host's own if it exists, otherwise the embeddings if the configuration says so.

        Raises:
            InputError: There is one that is not the embeddings, and the configuration says that it is.
        """
        is_tied, own = self.flag("tie_word_embeddings", tied), f"{name}.weight"
        if is_tied and not self.has(own):
            return embeddings.T
        W_U = self.take(own, None, embeddings.shape[1])
        if is_tied:
            require_tied(own, W_U, embeddings)
        return W_U.T

    def scaled(self, what: str, tensor: Floats, factor: float) -> Floats:
        """Return a tensor times a number, exactly.

        Raises:
            InputError: A product is not a float64 number.
        """
        product, left = two_product(tensor, np.full(tensor.shape, factor))
        small = (np.abs(product) < _LEAST) & (tensor != 0.0)
        if left.any() or small.any() or not np.isfinite(product).all():
            raise InputError(f"{self.family}: {what} times {factor!r}", "is not a float64 number in some places")
        return product

    def finished(self, blocks: Sequence[Block], W_E: Floats, W_U: Floats, **ends: Any) -> Model:
        """Return the model, after checking that every field and every tensor was read.

        Raises:
            InputError: One has not; names it.
        """
        if type(vocab_size := self.field("vocab_size", len(W_E))) is not int or vocab_size != len(W_E):
            self.refuse("vocab_size", f"{len(W_E)}, the rows of the embeddings")
        left = {name: x for name, x in sorted(self._config.items()) if name not in self._asked and name not in _UNREAD}
        only = {**_ONLY, **_PUBLISHED.get(self.family, {})}
        for name, value in left.items():
            usual = only.get(name, (value,))
            if not any(value == each and type(value) is type(each) for each in usual):
                self.refuse(name, repr(usual[0]))
        if unknown := {name: x for name, x in left.items() if name not in only}:
            raise UnknownFieldError(f"{self.family} with", unknown)
        extra = sorted(candidate for candidate in set(self._tensors) - self._taken if not candidate.endswith(BUFFERS))
        if extra:
            raise InputError(
                f"{self.family}: the tensors {', '.join(extra[:4])} ({len(extra)} in all)", "belong to no block"
            )
        return Model(blocks=tuple(blocks), W_U=W_U, W_E=W_E, **ends)


def require_tied(name: str, W_U: Floats, embeddings: Floats) -> None:
    """Refuse a separate readout if the configuration ties it to the embeddings.

    Earlier versions of `transformers` read with the embeddings then, and later ones with what is stored.

    Args:
        name: Name of the readout, for the message.
        W_U: The readout, `[d_vocab, d]`.
        embeddings: W_E.

    Raises:
        InputError: They differ.
    """
    if not np.array_equal(W_U, embeddings):
        raise InputError(
            "tie_word_embeddings",
            f"is true, in the configuration or by default, but {name} is stored and is not the embeddings: it depends "
            "on the version of transformers which of them computes the logits",
            f"false in the configuration, or weights without {name}",
        )


def missing_tensor(family: str, name: str, tensors: Collection[str]) -> InputError:
    """Return the error for a missing tensor; it names a tensor with the same name after a prefix.

    Args:
        family: Whose tensor it is.
        name: Name of the tensor.
        tensors: The names of those that are there.

    Example:
        >>> print(missing_tensor("llama", "norm.weight", ["_orig_mod.norm.weight"]))
        llama has no tensor 'norm.weight', which its configuration asks for, but '_orig_mod.norm.weight', with ...
    """
    value, expected = f"has no tensor {name!r}, which its configuration asks for", ""
    if longer_name := min(
        (tensor_name for tensor_name in tensors if tensor_name.endswith(f".{name}")), key=len, default=""
    ):
        prefix = longer_name.removesuffix(name)
        wrapped = "a prefix"
        if prefix.startswith("_orig_mod."):
            prefix, wrapped = "_orig_mod.", "which torch.compile puts there"
        value = f"{value}, but {longer_name!r}, with {prefix!r} before it, {wrapped}"
        expected = f"names without it (name.removeprefix({prefix!r}) of each)"
    return InputError(family, value, expected)
