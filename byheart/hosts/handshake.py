"""Ask the host: the library that people run must compute, in float64, the function that the certificate is about.

A configuration and tensors by name do not say what a module computes: its `forward`, hooks, masks and buffers do, and
the next version of a library. So the module itself is run on the contexts, with every operation in float64, and each
logit has to lie within the bound of such a run about what float64 computes here. That is evidence about these contexts,
no proof about the module.

Page: docs/hosts.md
"""

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.families import FAMILIES, is_of_transformer_lens
from byheart.hosts.host import CONFIG_FILE, quiet_loading, said_by
from byheart.hosts.reading import configuration_of, is_gguf, require_exact_in, tensors_of
from constructions.errors import HandshakeError, InputError
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.numeric.arrays import Float64Array, Int64Array
from constructions.tasks.vectors import Vectors
from verify.arithmetic.rounding import up
from verify.runs.formats import FLOAT64
from verify.runs.rounding import run_chunks

EXP_ULPS = 20.0
"""Assumed accuracy of the exponential in the softmax of a host, in units in the last place (`docs/rigour/runs.md`)."""

_SHARE = 1e-3  # of the least margin, by which a host may differ and still agree
_TOKENS_TOGETHER = 2**14
_FACTORS = ("residual_multiplier", "embedding_multiplier", "logits_scaling", "logit_scale", "scalar_embed_scale")


@dataclass(frozen=True)
class HandshakeResult:
    """Who was asked, or why no host was.

    Args:
        agrees: The class of the module with the library and its version; empty if nobody was asked.
        why: Why nobody was asked; empty if somebody was.
        gap: The largest difference of a logit from what float64 computes here.
        allowed: The largest that rounding allows: what differs by less passes unseen.
    """

    agrees: str = ""
    why: str = ""
    gap: float = 0.0
    allowed: float = 0.0

    def tells(self, margin: float | None) -> bool:
        """Tell whether the host's difference is too small to change an answer, given the least margin."""
        return bool(self.agrees) and (margin is None or self.gap <= _SHARE * margin)

    def said(self, margin: float | None = None, *, drawn: int | None = None) -> str:
        """Return a note for the first line.

        Args:
            margin: The least margin of what is decided, in size, where one is known. A host agrees if it differs by at
                most a thousandth of it: by more, what rounding explains too, might be another answer elsewhere.
            drawn: On how many inputs it was asked, where they are drawn of more.
        """
        if not self.agrees:
            return f"no library was asked: {self.why}"
        if not self.tells(margin):
            return (
                f"handshake too loose to tell: {self.agrees} differs by {self.gap:.2g}, more than a thousandth of the "
                "least margin; rounding may be why"
            )
        where = "" if drawn is None else f" on {drawn} drawn inputs"
        if margin is not None and _SHARE * margin < self.allowed:
            most = f"at most {_SHARE * margin:.2g} is a thousandth of the least margin"
        else:
            most = f"at most {self.allowed:.2g} is rounding"
        return f"agrees with {self.agrees}{where} (differs by {self.gap:.2g}, {most})"


def ask_host(source: Any, config: Any, model: Model, *inputs: Int64Array | Vectors) -> HandshakeResult | None:
    """Run the module of these weights, and compare its outputs with the enclosures.

    Args:
        source: What was certified: a folder or file, a module, or tensors by name.
        config: Its configuration, where that is not next to it.
        model: The model that was read from it.
        inputs: Contexts, `[T, S]`, of each length by themselves; or the task that brings vectors.

    Returns:
        Who agrees, or why nobody could be asked; none where no other program runs such weights.

    Raises:
        HandshakeError: It computes something else, or cannot be run; names the first context and the gap.
    """
    host_module = _module(source, config)
    if host_module is None:
        return None
    if isinstance(host_module, str):
        return HandshakeResult(why=host_module)
    module, name = host_module
    gap = allowed = 0.0
    for part in inputs:
        compared = _compared(module, name, model, part)
        if isinstance(compared, str):
            return HandshakeResult(why=compared)
        gap, allowed = max(gap, compared[0]), max(allowed, compared[1])
    return HandshakeResult(agrees=name, gap=gap, allowed=allowed)


@dataclass(frozen=True)
class HostAnswer:
    """The answer of a host to one prompt by greedy decoding in float64; measured, not proved.

    Args:
        host: The program.
        said: The tokens, each the first of the largest logits.
    """

    host: str
    said: tuple[int, ...]

    def words(self, proved: Sequence[int]) -> str:
        """Return a note for the first line, next to the tokens proved in real arithmetic.

        Example:
            >>> HostAnswer("the replica in torch", (1, 2)).words((1, 2)), HostAnswer("it", (1, 2)).words((1,))
            ('so does the replica in torch', 'it says 1 2')
        """
        return (
            f"so does {self.host}"
            if self.said == tuple(proved)
            else f"{self.host} says {' '.join(map(str, self.said))}"
        )


def host_answer(source: Any, config: Any, model: Model, prompt: Sequence[int], count: int) -> HostAnswer | None:
    """Run the module of these weights, or else the torch replica, on one prompt.

    Args:
        source: What was certified, as for `ask_host`.
        config: Its configuration, where that is not next to it.
        model: The model that was read from it.
        prompt: The tokens that are read first.
        count: How many tokens are said; the module reads its own.

    Returns:
        The answer; none where torch is not installed.

    Raises:
        HandshakeError: The module cannot be run.
    """
    if _missing("torch"):
        return None
    host_module = _module(source, config)
    if not isinstance(host_module, tuple):
        import torch

        from verify.torch.module import Replica

        host_module = Replica.from_model(model, dtype=torch.float64), f"the replica in torch {_version('torch')}"
    module, name = host_module
    context = list(prompt)
    with _recorded(module, model):
        for _ in range(count):
            context.append(int(float64_logits(module, np.array([context]))[0].argmax()))
    return HostAnswer(name, tuple(context[len(prompt) :]))


def _compared(module: Any, name: str, model: Model, inputs: Int64Array | Vectors) -> tuple[float, float] | str:
    """Return the largest difference on some inputs and the largest allowed one; or why they cannot be compared."""
    try:
        with _recorded(module, model):
            computed = float64_logits(module, inputs)
    except HandshakeError:
        raise
    except Exception as error:  # whatever the module of somebody else raises
        raise HandshakeError(f"{name} cannot be run in float64 on the contexts: {said_by(error)}") from error
    shape = (len(inputs), model.d_vocab_out)
    if computed.shape != shape:
        raise HandshakeError(f"{name} gives outputs of shape {computed.shape}, the tensors as read {shape}")
    gap = allowed = 0.0
    for start, evaluated, limit in run_chunks(model, inputs, number_format=FLOAT64, exp_ulps=EXP_ULPS):
        if not np.isfinite(limit).all():
            return "no bound of the rounding of a float64 run is known for this model"
        with np.errstate(invalid="ignore"):
            off = up(np.abs(computed[start : start + len(evaluated)] - evaluated))
        outside = np.flatnonzero(~(off <= limit).all(axis=1))
        if len(outside):
            first, i = start + int(outside[0]), int(outside[0])
            worst = int(np.argmax(np.where(np.isnan(off[i]), np.inf, off[i] - limit[i])))
            what = "" if isinstance(inputs, Vectors) else f" {' '.join(map(str, inputs[first]))}"
            raise HandshakeError(
                f"{name} computes something else than the tensors as read: after context {first}{what} logit {worst} "
                f"differs by {off[i, worst]:.3g}, of which rounding explains {limit[i, worst]:.3g}"
            )
        gap, allowed = max(gap, float(off.max(initial=0.0))), max(allowed, float(limit.max(initial=0.0)))
    return gap, allowed


def float64_logits(module: Any, inputs: Int64Array | Vectors) -> Float64Array:
    """Return the logits of a torch module at the last position, with every operation in float64 on the CPU; the module
    is restored.

    `module.double()` is no such run: normalizations and softmaxes of hosts cast to float32.

    Args:
        module: From tokens `[B, S]` (or vectors and queries) to logits `[B, S, N]` or `[B, N]`, or an object that has
            them as `logits`.
        inputs: Contexts, `[T, S]`, or the task that brings vectors.

    Returns:
        `[T, N]`.
    """
    import torch

    def last(*given: Any) -> Float64Array:
        output = module(*given)
        logits = getattr(output, "logits", output)
        return (logits[:, -1] if logits.ndim == 3 else logits).double().cpu().numpy()

    with _in_float64(module), torch.no_grad():
        if isinstance(inputs, Vectors):
            return last(torch.tensor(inputs.contexts_of_each), torch.tensor(inputs.queries))
        rows = max(1, _TOKENS_TOGETHER // inputs.shape[1])
        return np.concatenate([last(torch.tensor(inputs[i : i + rows])) for i in range(0, len(inputs), rows)])


@contextmanager
def _in_float64(module: Any) -> Iterator[None]:
    """Convert every parameter, buffer and cast to float64 within the block, and restore them exactly."""
    import torch
    from torch.overrides import TorchFunctionMode

    short = (torch.float32, torch.float16, torch.bfloat16)
    casts = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)

    class TrueFloat64(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in casts:
                return args[0].double()

            def longer(value: Any) -> Any:
                return torch.float64 if isinstance(value, torch.dtype) and value in short else value

            return func(*map(longer, args), **{name: longer(value) for name, value in (kwargs or {}).items()})

    # No copy of the module: pruned and weight-normed ones have none.
    kept = [(tensor, tensor.data) for tensor in (*module.parameters(), *module.buffers()) if tensor.is_floating_point()]
    flags = [(part, part.training) for part in module.modules()]
    default = torch.get_default_dtype()
    try:
        module.eval()
        torch.set_default_dtype(torch.float64)
        for tensor, data in kept:
            tensor.data = data.double().cpu()
        with TrueFloat64():
            yield
    finally:
        torch.set_default_dtype(default)
        for tensor, data in kept:
            tensor.data = data
        for part, flag in flags:
            part.training = flag


@contextmanager
def _recorded(module: Any, model: Model) -> Iterator[None]:
    """Replace the numbers that a library computes in float32 by the model's recorded ones within the block.

    Raises:
        HandshakeError: The module has others, by more than rounding explains.
    """
    import torch

    turning = [b.frequencies for b in model.blocks if isinstance(b, Attention) and b.frequencies is not None]
    layers = [b.frequencies for b in model.blocks if isinstance(b, Attention)]
    kinds = getattr(getattr(module, "config", None), "layer_types", None) or []
    memorized: list[tuple[Any, str, Any]] = []
    buffers: list[tuple[Any, Any]] = []
    config = getattr(module, "config", None)
    scaled = {
        "scaling": getattr(config, "attention_multiplier", None),
        "softmax_scale": getattr(getattr(config, "attn_config", None), "softmax_scale", None),
    }
    for part in module.modules() if turning or model.positions is not None else ():
        for name, buffer in part.named_buffers(recurse=False):
            frequencies_found = next((f for f in turning if buffer.shape == f.shape), None)
            if (kind := name.removesuffix("_inv_freq")) in kinds:
                frequencies_found = layers[kinds.index(kind)]
            if name == "embed_positions":
                angles = np.arange(len(buffer))[:, None] * turning[0]
                frequencies_found = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
            elif name in ("rotary_sin", "rotary_cos"):
                waves = getattr(np, name.removeprefix("rotary_"))(np.arange(len(buffer))[:, None] * turning[0])
                twice = next(b.turned for b in model.blocks if isinstance(b, Attention)) == "neighbours"
                frequencies_found = np.repeat(waves, 2, axis=1) if twice else np.concatenate([waves, waves], axis=1)
            elif name == "embed_scale":
                frequencies_found = float(np.float32(model.d_model**0.5))
            elif (
                not name.endswith("inv_freq") or "original" in name or frequencies_found is None
            ):  # a copy that nobody reads
                continue
            recorded = torch.tensor(frequencies_found, dtype=torch.float64)
            _require_close(name, recorded, buffer, 2.0**-10 if buffer.ndim == 2 else 0.0)
            buffers.append((buffer, buffer.data))
            buffer.data = recorded
        for name in (*_FACTORS, *(name for name, said in scaled.items() if said is not None)):
            if isinstance(value := vars(part).get(name), float):
                memorized.append((part, name, value))
                setattr(part, name, float(np.float32(value)))
    sloped = next((b.slopes for b in model.blocks if isinstance(b, Attention) and b.slopes is not None), None)
    replaced = [] if sloped is None else _with_slopes(module, sloped)
    try:
        yield
    finally:
        for buffer, data in buffers:
            buffer.data = data
        for part, name, value in (*memorized, *replaced):
            setattr(part, name, value)


def _with_slopes(module: Any, slopes: Any) -> list[tuple[Any, str, Any]]:
    """Replace a library's slope functions by the recorded slopes; return the original functions."""

    def of_bloom(*_: Any, **__: Any) -> Any:
        return slopes

    def of_mpt(heads: int, length: int, *_: Any, **__: Any) -> Any:
        return np.arange(1 - length, 1) * slopes[:, None, None]

    replaced: list[tuple[Any, str, Any]] = []
    for home in {sys.modules[type(part).__module__] for part in module.modules()}:
        for name, recorded in (("_get_alibi_slopes", of_bloom), ("build_mpt_alibi_tensor", of_mpt)):
            if (own := getattr(home, name, None)) is not None:

                def checked(*given: Any, own: Any = own, recorded: Any = recorded, **options: Any) -> Any:
                    computed = own(*given, **options)
                    exact = computed.new_tensor(recorded(*given, **options), dtype=computed.dtype)
                    _require_close("slopes", exact, computed)
                    return exact

                setattr(home, name, checked)
                replaced.append((home, name, own))
    return replaced


def _require_close(name: str, recorded: Any, found: Any, absolutely: float = 0.0) -> None:
    if not (found.double() - recorded).abs().le(2.0**-20 * recorded.abs() + absolutely).all():
        raise HandshakeError(f"the module has other {name} than the model that was read")


def _module(source: Any, config: Any) -> tuple[Any, str] | str | None:
    """Return the module that people run and its name, or why it is not asked; None if there is none."""
    if hasattr(source, "state_dict"):
        from torch.nn import ModuleDict, ModuleList, ParameterDict, ParameterList

        if isinstance(source, ModuleDict | ModuleList | ParameterDict | ParameterList):
            return f"{type(source).__name__} computes nothing"
        return source, f"{type(source).__name__} as given, torch {_version('torch')}"
    if isinstance(source, Model):
        return None
    path = Path(source) if isinstance(source, Path | str) else None
    options = configuration_of(path, config) if path is not None else config if isinstance(config, Mapping) else {}
    if path is not None and is_gguf(path) and config is None:
        return _of_tensors(path, options)
    if options.get("model_type") in FAMILIES and path is not None and path.is_dir() and config is None:
        if missing := _missing("transformers"):
            return missing
        library = importlib.import_module("transformers")
        module = _from_folder(library.AutoModelForCausalLM, path, options)
        return module, f"{type(module).__name__} of transformers {_version('transformers')}"
    if options.get("model_type") in FAMILIES:
        return _of_tensors(source, options)
    if options.get("model_type") == "gpt2":
        return _gpt2(source, path if path is not None and path.is_dir() and config is None else None, options)
    if is_of_transformer_lens(options):
        return _hooked_transformer(source, options)
    return None


def _from_folder(loader: Any, folder: Path, options: Mapping[str, Any]) -> Any:
    """Return the module as its users load it: in the type that the configuration names, or the first tensor has.

    Raises:
        InputError: Some numbers of the file are rounded then.
        HandshakeError: It cannot be loaded.
    """
    try:
        with quiet_loading():
            module = loader.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # whatever a library raises on files of somebody else
        raise HandshakeError(
            f"transformers {_version('transformers')} cannot load {folder}: {said_by(error)}"
        ) from error
    if not (options.get("dtype") or options.get("torch_dtype")):
        dtype = str(module.dtype).removeprefix("torch.")
        require_exact_in(
            folder, dtype, "the type that transformers loads the weights in, that of the first tensor of the file,",
            expected=f"weights of one type, or a dtype in {CONFIG_FILE}",
        )  # fmt: skip
    return module


def _of_tensors(source: Any, options: Mapping[str, Any]) -> tuple[Any, str] | str:
    """Return the module of a configuration, with tensors of a file, or by name, that have no module of their own.

    Raises:
        HandshakeError: It cannot be made, or has other tensors.
    """
    if options.get("model_type") == "gpt2":
        return _gpt2(source, None, options)
    if missing := _missing("transformers"):
        return missing
    library = importlib.import_module("transformers")
    try:
        with quiet_loading():
            module = library.AutoModelForCausalLM.from_config(library.AutoConfig.for_model(**options))
    except Exception as error:  # whatever a library raises on a configuration of somebody else
        raise HandshakeError(
            f"transformers {_version('transformers')} cannot make a module of the configuration: {said_by(error)}"
        ) from error
    tied = bool(getattr(module.config, "tie_word_embeddings", False))
    # The tensors themselves, not copies: a language model is large.
    _loaded(module, _tensors(source), but=("lm_head.weight",) if tied else (), assign=True)
    if tied:
        module.tie_weights()
    of = "the tensors of the file" if isinstance(source, Path | str) else "these tensors"
    return module, f"{type(module).__name__} of transformers {_version('transformers')} with {of}"


def _gpt2(source: Any, folder: Path | None, options: Mapping[str, Any]) -> tuple[Any, str] | str:
    if missing := _missing("transformers"):
        return missing
    library = importlib.import_module("transformers")

    name = f"GPT2LMHeadModel of transformers {_version('transformers')}"
    if folder is not None:
        return _from_folder(library.GPT2LMHeadModel, folder, options), name
    module = library.GPT2LMHeadModel(library.GPT2Config.from_dict(dict(options))).double()
    tensors = {key.removeprefix("transformer."): value for key, value in _tensors(source).items()}
    tensors = {key if key == "lm_head.weight" else f"transformer.{key}": value for key, value in tensors.items()}
    _loaded(module, tensors, but=("lm_head.weight",))
    return module, name


def _hooked_transformer(source: Any, options: Mapping[str, Any]) -> tuple[Any, str] | str:
    if missing := _missing("transformer_lens", "torch"):
        return missing
    import torch

    library = importlib.import_module("transformer_lens")

    try:
        hooked, described = library.HookedTransformer, library.HookedTransformerConfig
    except (AttributeError, ImportError):  # gone with version 4
        return f"transformer-lens {_version('transformer-lens')}, which is installed here, has no HookedTransformer"
    tensors = _tensors(source)
    sizes = {"d_vocab": len(tensors["embed.W_E"]), "d_vocab_out": tensors["unembed.W_U"].shape[1]}
    unset = {name: size for name, size in sizes.items() if options.get(name) in (None, -1)}  # a tokenizer sets them
    settings = {
        **options,
        **unset,
        "device": "cpu",
        "dtype": torch.float64,
        "tokenizer_name": None,
        "init_weights": False,
    }
    name = f"HookedTransformer of transformer-lens {_version('transformer-lens')}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a class that goes with version 4
        try:
            module = hooked(described.from_dict(settings), move_to_device=False)
        except Exception as error:  # whatever a library raises on a configuration of somebody else
            raise HandshakeError(f"{name} cannot be made of the configuration: {said_by(error)}") from error
    _loaded(module, tensors, but=(".attn.mask", ".attn.IGNORE", ".attn.rotary_sin", ".attn.rotary_cos"))
    return module, name


def _tensors(source: Any) -> Mapping[str, Any]:
    import torch

    return {
        name: torch.from_numpy(value if value.flags.writeable else value.copy())
        for name, value in tensors_of(source).items()
    }


def _loaded(module: Any, tensors: Mapping[str, Any], *, but: tuple[str, ...], assign: bool = False) -> None:
    """Load tensors into a float64 module; only the given ones may be missing, and none may remain."""
    exact = {name: tensor.double() for name, tensor in tensors.items()}
    mismatch = module.load_state_dict(exact, strict=False, assign=assign)
    missing = [name for name in mismatch.missing_keys if not name.endswith(but)]
    if missing or mismatch.unexpected_keys:
        raise HandshakeError(
            f"{type(module).__name__} has {missing[:3]}, which are not given, and lacks {mismatch.unexpected_keys[:3]}"
        )


def _missing(*packages: str) -> str:
    return next((f"{name} is not installed here" for name in packages if importlib.util.find_spec(name) is None), "")


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of an unknown version"


def require_plain_parameters(module: Any) -> None:
    """Refuse parameters that are computed from others whenever they are read: their stored numbers are not the map.

    Raises:
        InputError: Names the module.
    """
    for place, part in module.named_modules():
        own = dict(part.named_parameters(recurse=False)) | dict(part.named_buffers(recurse=False))
        computed = [
            name for name in own if name.endswith(("_orig", "_g", "_v")) and name[: name.rindex("_")] not in own
        ]
        if hasattr(part, "parametrizations") or any(hasattr(part, name[: name.rindex("_")]) for name in computed):
            raise InputError(
                f"{place or 'the module'} ({type(part).__name__})",
                "has parametrized weights, which are computed from others; make them plain first "
                "(torch.nn.utils.parametrize.remove_parametrizations, prune.remove)",
            )
