"""Check the configuration fields that change which tokens Hugging Face's `generate` emits.

A fact is memorized if each token of its answer has the largest logit. `generate` says these tokens too where nothing
next to the model changes logits, ends early, or searches otherwise. `_FIELDS` says of every field of a generation
configuration (`transformers` 5.24, and those of earlier versions) which values leave that as it is; the others, and
fields that are not known, are refused, or named in the first line where the plain argmax is asked about all the same.

Page: docs/hosts.md
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from byheart.hosts.families import FAMILIES, is_of_transformer_lens
from byheart.hosts.host import CONFIG_FILE
from constructions.counted import counted
from constructions.errors import InputError
from constructions.formats.files import json_object

GENERATION_FILE = "generation_config.json"

PLAIN_ARGMAX = "--plain-argmax"

CUSTOM_GENERATE = Path("custom_generate", "generate.py")
"""Code that `generate` runs instead of its own, if whoever loads the model trusts it."""

_PIPELINE_FIELDS = "task_specific_params"
_PIPELINE = "text-generation"


class _Field(NamedTuple):
    """The effect of a field on greedy decoding, and the values for which it has none."""

    effect: str
    harmless: tuple[Any, ...] = ()


_PENALTY = (1, 1.0)
_FIELDS = {
    # Logits are changed before the largest is taken.
    "repetition_penalty": _Field("lowers the logits of tokens that stand there already", _PENALTY),
    "encoder_repetition_penalty": _Field("raises the logits of tokens of the prompt", _PENALTY),
    "no_repeat_ngram_size": _Field("forbids to repeat so many tokens", (0,)),
    "encoder_no_repeat_ngram_size": _Field("forbids to repeat so many tokens of the prompt", (0,)),
    "bad_words_ids": _Field("forbids tokens"),
    "suppress_tokens": _Field("forbids tokens", ([],)),
    "begin_suppress_tokens": _Field("forbids tokens at the beginning of an answer", ([],)),
    "sequence_bias": _Field("adds to the logits of tokens"),
    "guidance_scale": _Field("mixes in the logits without the prompt", _PENALTY),
    "watermarking_config": _Field("adds to the logits of a part of the tokens"),
    "forced_bos_token_id": _Field("forces the first token"),
    "force_bos_token_to_be_generated": _Field("forces the first token", (False,)),
    "forced_eos_token_id": _Field("forces the last token"),
    "exponential_decay_length_penalty": _Field("raises the logit of the end"),
    "min_length": _Field("forbids the end before so many tokens", (0,)),
    "min_new_tokens": _Field("forbids the end before so many tokens", (0,)),
    # The search is another one, or the prompt is.
    "num_beams": _Field("searches with beams", (1,)),
    "num_beam_groups": _Field("searches with beams", (1,)),
    "penalty_alpha": _Field("asks for contrastive search", (0, 0.0)),
    "dola_layers": _Field("contrasts the logits of layers"),
    "constraints": _Field("searches under constraints"),
    "force_words_ids": _Field("searches under constraints"),
    "token_healing": _Field("changes the last token of the prompt", (False,)),
    "prefix": _Field("is put before each prompt by pipeline", ("",)),
    "num_return_sequences": _Field("asks for several answers, which greedy decoding refuses", (1,)),
    # The answer ends early, by what nobody can say beforehand.
    "max_time": _Field("ends answers by the clock"),
    "stop_strings": _Field("ends answers at texts"),
    "is_assistant": _Field("ends answers where the model is unsure", (False,)),
    # Other programs say what follows.
    "assistant_ensemble_weight": _Field("mixes in what a helper proposes"),
    "forced_decoder_ids": _Field("forces tokens", ([],)),
    "generation_kwargs": _Field("may hold any option of generate", ({},)),
    # What was computed of earlier tokens may be kept, but not rounded.
    "cache_implementation": _Field(
        "may round what is kept of earlier tokens",
        ("dynamic", "dynamic_full", "static", "offloaded", "offloaded_static", "sliding_window", "hybrid",
         "hybrid_chunked", "offloaded_hybrid", "offloaded_hybrid_chunked"),
    ),
}  # fmt: skip
"""Fields that change what greedy decoding says, with the values that do not; null never does."""

_ENDS, _LENGTHS = "eos_token_id", ("max_length", "max_new_tokens")
_SAMPLES, _PADS = "do_sample", "pad_token_id"
_USUAL_LENGTH = 20  # `max_length` of the library where nothing says another; who wants more tokens says so
_FLAGS = (_SAMPLES, "use_cache")  # a cache that is 0, and not false, is neither kept nor made anew
_JUDGED = {_ENDS, *_LENGTHS, *_FLAGS, _PADS}
"""Fields of which the facts decide whether they change anything."""

_NO_EFFECT = {
    # How an answer is drawn where it is drawn, and how beams are compared where there are beams.
    *("temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff"),
    *("early_stopping", "length_penalty", "diversity_penalty", "low_memory"),
    # The order of the logits stays as it is.
    *("renormalize_logits", "remove_invalid_values"),
    # A helper proposes tokens; those that greedy decoding would not say are thrown away.
    *("use_mtp", "num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold"),
    *("prompt_lookup_num_tokens", "max_matching_ngram_size", "assistant_early_exit", "assistant_lookbehind"),
    *("target_lookbehind", "speculation_type"),
    # What is kept, compiled and returned, and in how many pieces a prompt is read.
    *("cache_config", "max_cache_len", "compile_config", "disable_compile", "prefill_chunk_size"),
    *("continuous_batching_config", "output_attentions", "output_hidden_states", "output_scores", "output_logits"),
    *("return_dict_in_generate", "return_dict", "return_legacy_cache"),
    # Tokens of other kinds of model, and where the file comes from.
    *("bos_token_id", "decoder_start_token_id", "transformers_version", "_from_model_config", "_commit_hash"),
    "_original_object_hash",
}


@dataclass(frozen=True)
class DecodedFacts:
    """The properties of facts that a field may depend on.

    Args:
        answers: The number of tokens of each prompt, with the tokens of its answer.
        read: The tokens that stand in prompts.
    """

    answers: Sequence[tuple[int, tuple[int, ...]]]
    read: Collection[int]


def require_greedy(source: Any, config: Mapping[str, Any], asked: DecodedFacts, *, plain_argmax: bool = False) -> str:
    """Refuse a model whose `generate` may emit tokens other than those with the largest logits.

    Nobody else than Hugging Face's library reads such fields, so those next to a model of another are passed over.

    Args:
        source: A folder or file of a model, or a module, whose `generation_config` is asked then.
        config: Its configuration, which held such fields in earlier versions of the library.
        asked: The facts.
        plain_argmax: Ask about the largest logits all the same.

    Returns:
        What the first line has to say of decoding; empty where nothing next to the model changes it.

    Raises:
        InputError: A field changes what is said; names all of them, with what they do.
        FileFormatError: The generation configuration is not readable.

    Example:
        >>> facts = DecodedFacts([(2, (5, 7))], {0, 1})
        >>> require_greedy(None, {"max_new_tokens": 2, "do_sample": True}, facts)
        'config.json samples unless told otherwise (do_sample = True)'
        >>> require_greedy(None, {"repetition_penalty": 1.8}, facts, plain_argmax=True)
        "by plain argmax, without config.json's repetition_penalty = 1.8"
    """
    if is_of_transformer_lens(config):
        return ""
    changes, aside = list[tuple[str, str]](), list[str]()
    for place, fields, whole in _places(source, config):
        for name, value in sorted(fields.items()):
            if value is None or (not whole and name not in _FIELDS and name not in _JUDGED):
                continue
            setting = f"{name} = {_short(value)}"
            if effect := _effect(name, value, asked):
                changes.append((f"{place}'s {setting}", f"{setting} in {place} {effect}"))
        if fields.get(_SAMPLES) is True:
            aside.append(f"{place} samples unless told otherwise ({_SAMPLES} = True)")
        pad, ends = fields.get(_PADS), _tokens(fields.get(_ENDS))
        if type(pad) is int and pad in asked.read and pad not in ends:
            aside.append(f"the {_PADS} {pad} of {place} is in prompts, so generate needs an attention_mask")
    if changes and not plain_argmax:
        raise InputError(
            "what generate says", f"is not what the largest logits say: {'; '.join(setting for _, setting in changes)}",
            f"a folder without {'it' if len(changes) == 1 else 'them'}, or {PLAIN_ARGMAX} to judge the largest "
            "logits nevertheless",
        )  # fmt: skip
    plain = [f"by plain argmax, without {', '.join(setting for setting, _ in changes)}"] if changes else []
    return "; ".join(dict.fromkeys([*plain, *aside]))


def code_not_run(source: Any, config: Mapping[str, Any]) -> str:
    """Return a note for the first line on code shipped with a Hugging Face model, which byheart never runs.

    Args:
        source: A folder or file of a model, or anything else.
        config: Its configuration.

    Example:
        >>> code_not_run(None, {"model_type": "llama", "auto_map": {"AutoModelForCausalLM": "own.Llama"}})
        'the code that auto_map names is not run'
    """
    code = ["that auto_map names"] if config.get("model_type") in FAMILIES and config.get("auto_map") else []
    if isinstance(source, Path | str) and (Path(source) / CUSTOM_GENERATE).is_file():
        code.append(f"in {CUSTOM_GENERATE.parent}")
    return f"the code {' and '.join(code)} is not run" if code else ""


def _places(source: Any, config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Return where such fields may occur, and whether all fields there count."""
    if isinstance(source, Path | str):
        path = Path(source)
        stored_configs = _read(path if path.is_dir() else path.parent)
        if stored_configs is not None:
            yield GENERATION_FILE, stored_configs, True
    elif (own := getattr(source, "generation_config", None)) is not None and hasattr(own, "to_dict"):
        yield "the module's generation_config", own.to_dict(), True
    yield CONFIG_FILE, config, False
    of_pipeline = config.get(_PIPELINE_FIELDS)
    if isinstance(of_pipeline, Mapping) and isinstance(fields := of_pipeline.get(_PIPELINE), Mapping):
        yield f"{_PIPELINE_FIELDS} of {CONFIG_FILE}", fields, False


def _read(folder: Path) -> Mapping[str, Any] | None:
    path = folder / GENERATION_FILE
    if not path.is_file():
        return None
    return json_object(path, "an object with the options of generate")


def _effect(name: str, value: Any, asked: DecodedFacts) -> str:
    """Describe the effect of a field on the answers; empty if there is none."""
    if name in _NO_EFFECT:
        return ""
    if name == _PADS:
        return "" if type(value) is int else "is not a token"
    if name in _FLAGS:
        return "" if type(value) is bool else "is not true or false"
    if name == _ENDS:
        return _ends(value, asked)
    if name in _LENGTHS:
        return _cuts(name, value, asked)
    if name not in _FIELDS:
        return "is not known here, and it may change what is said"
    field = _FIELDS[name]
    same = any(value == usual and isinstance(value, bool) == isinstance(usual, bool) for usual in field.harmless)
    return "" if same else field.effect


def _ends(value: Any, asked: DecodedFacts) -> str:
    if not all(type(token) is int for token in _tokens(value)):
        return "is not a token"
    ends = set(_tokens(value))
    cut = sum(not ends.isdisjoint(answer[:-1]) for _, answer in asked.answers)
    return f"ends {counted(cut, 'answer')} early" if cut else ""


def _cuts(name: str, value: Any, asked: DecodedFacts) -> str:
    if type(value) is not int:
        return "is not a number of tokens"
    before = name == "max_length"
    if before and value == _USUAL_LENGTH:
        return ""
    cut = sum(len(answer) + before * prompt > value for prompt, answer in asked.answers)
    return f"ends {counted(cut, 'answer')} early" if cut else ""


def _tokens(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."
