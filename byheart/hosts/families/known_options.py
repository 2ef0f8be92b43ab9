"""Allowed values of Hugging Face configuration fields; unknown fields are rejected.

Page: docs/hosts.md
"""

from collections.abc import Collection, Mapping
from typing import Any

from constructions.errors import InputError

UNREAD_IN_TRANSFORMERS = frozenset(
    {
        # What is stored or returned beside the logits, and the heads of other tasks.
        *("use_cache", "output_past", "output_hidden_states", "output_attentions", "output_scores", "return_dict"),
        *("return_dict_in_generate", "dtype", "torch_dtype", "use_bfloat16", "torchscript", "tf_legacy_loss"),
        *("id2label", "label2id", "_num_labels", "num_labels", "problem_type", "finetuning_task"),
        *("task_specific_params", "gradient_checkpointing", "is_decoder"),
        # Names, and how texts become tokens.
        *("_name_or_path", "transformers_version", "tokenizer_class", "prefix"),
        # Who has converted or trained the weights.
        *("transformers.js_config", "unsloth_version", "unsloth_fixed", "_commit_hash"),
        *("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id"),
        # What `generate` makes of the logits (`byheart/hosts/decoding.py`).
        *("max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups"),
        *("diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty"),
        *("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences"),
        *("forced_bos_token_id", "forced_eos_token_id", "remove_invalid_values", "exponential_decay_length_penalty"),
        *("suppress_tokens", "begin_suppress_tokens"),
    }
)
"""Options of every configuration of Hugging Face's `transformers` of which no logits depend."""

ONLY_IN_TRANSFORMERS: Mapping[str, tuple[Any, ...]] = {
    "add_cross_attention": (False,),
    "is_encoder_decoder": (False,),
    "tie_encoder_decoder": (False,),
    "cross_attention_hidden_size": (None,),
    "chunk_size_feed_forward": (0,),
    "is_causal": (True,),
    "quantization_config": (None,),
    "pruned_heads": ({}, None),
    "_attn_implementation_autoset": (False, True),
    "attn_implementation": (None, "eager", "sdpa", "flash_attention_2"),
}
"""Options of every configuration of `transformers` that may change logits, with the values that do not."""


class UnknownFieldError(InputError):
    """Fields of a configuration that are not known here; `fields` has their names.

    Args:
        argument: As of `InputError`: whose configuration it is.
        fields: The fields, with their values.
    """

    def __init__(self, argument: str, fields: Mapping[str, Any]) -> None:
        listed = ", ".join(f"{name} = {value!r}" for name, value in fields.items())
        what = "an option that is" if len(fields) == 1 else "options that are"
        super().__init__(
            argument,
            f"{listed}: {what} not known here and may change the logits",
            "none (`certify --ignore-field NAME` passes over it where the library that runs the model agrees)",
        )
        self.fields = tuple(fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return InputError, (self.argument, self.value, self.expected)


def require_known_options(
    config: Mapping[str, Any],
    *,
    read: Collection[str],
    unread: Collection[str],
    only: Mapping[str, tuple[Any, ...]],
) -> None:
    """Refuse a configuration that may define a different function than the one read from it.

    An option that is not known here may change what the host computes, so it is refused whatever it says.

    Args:
        config: By name.
        read: Options that the caller reads and checks.
        unread: Options of which the logits are known not to depend.
        only: Options that are known to change the logits, with the values that change nothing, the default first.

    Raises:
        UnknownFieldError: Other options; names all of them.
        InputError: Another value of one in `only`; names it.

    Example:
        >>> require_known_options({"d": 2, "seed": 5}, read={"d"}, unread={"seed"}, only={"capped": (False,)})
        >>> require_known_options({"d": 2, "turbo": 5}, read={"d"}, unread={"seed"}, only={"capped": (False,)})
        Traceback (most recent call last):
        ...
        byheart.hosts.families.known_options.UnknownFieldError: the configuration has turbo = 5: an option that is ...
    """
    for name in sorted(config):
        if name in only:
            # 0 == False and 1 == True, but a number is no truth value.
            flag = isinstance(config[name], bool)
            if not any(flag == isinstance(usual, bool) and config[name] == usual for usual in only[name]):
                raise InputError(name, f"is {config[name]!r}", f"{only[name][0]!r}: no block computes that")
    if unknown := sorted(set(config) - set(only) - set(read) - set(unread)):
        raise UnknownFieldError("the configuration has", {name: config[name] for name in unknown})
