"""Compare the tokenizer that programs load for a model with its ``tokenizer.json``.

`AutoTokenizer` of `transformers` reads ``tokenizer_config.json`` too, and may put a space before a text, lower its
letters, or know more tokens. Where it cannot be asked, the fields that may do so are named.

Page: docs/hosts.md
"""

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from byheart.hosts.host import quiet_loading, said_by
from byheart.hosts.tokenizer import TOKENIZER_FILE
from constructions.formats.files import json_object

TOKENIZER_CONFIG_FILE = "tokenizer_config.json"

_UNREAD = {
    # Names, lengths and sides of what is filled up or cut off, how answers are written, and chats.
    *("tokenizer_class", "name_or_path", "special_tokens_map_file", "tokenizer_file", "model_input_names", "backend"),
    *("model_max_length", "max_len", "max_length", "padding_side", "truncation_side", "pad_to_multiple_of", "stride"),
    *("padding", "truncation", "truncation_strategy", "pad_token_type_id", "chat_template", "is_local"),
    *("clean_up_tokenization_spaces", "spaces_between_special_tokens", "use_default_system_prompt", "errors"),
    *("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"),
    *("additional_special_tokens", "extra_special_tokens", "local_files_only", "return_token_type_ids"),
}
"""Fields of ``tokenizer_config.json`` that do not change how a text is cut."""


@dataclass(frozen=True)
class HostTokenizer:
    """The tokenizer that other programs use.

    Args:
        name: Its class, with the library and its version.
        encode: The numbers of a text, with what is put first and last, and without.
        decides: Whether texts have to be cut so; otherwise a difference is named.
    """

    name: str
    encode: Callable[[str], tuple[list[int], list[int]]]
    decides: bool


def host_tokenizer(given: Any, folder: Path | None, tokenizer: Any, *, ask: bool) -> tuple[HostTokenizer | None, str]:
    """Return the tokenizer to compare with, and a note for the first line if there is none or it cannot be asked.

    Args:
        given: What the caller gave to cut texts, if anything.
        folder: The folder of the model.
        tokenizer: The tokenizer of texts, an object of `tokenizers`.
        ask: Whether the library may be asked.

    Raises:
        FileFormatError: ``tokenizer_config.json`` is not readable.
    """
    if given is not None and callable(given) and hasattr(given, "backend_tokenizer"):
        return HostTokenizer(f"{type(given).__name__} as given", _encoding(given), True), ""
    if folder is None or not any((folder / name).is_file() for name in (TOKENIZER_FILE, TOKENIZER_CONFIG_FILE)):
        return None, ""
    fields = _fields(folder)
    if not ask or importlib.util.find_spec("transformers") is None:
        return None, _not_followed(fields, tokenizer)
    loaded = asked_tokenizer(folder)
    if isinstance(loaded, str):
        return None, "; ".join(filter(None, [loaded, _not_followed(fields, tokenizer)]))
    return replace(loaded, decides=given is None), ""


def asked_tokenizer(folder: Path) -> HostTokenizer | str:
    """Return the tokenizer that `AutoTokenizer` loads from a folder, or why it cannot; empty if the library is
    missing.
    """
    if importlib.util.find_spec("transformers") is None:
        return ""
    name = f"AutoTokenizer of transformers {version('transformers')}"
    try:
        library = importlib.import_module("transformers")
        with quiet_loading():
            loaded = library.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # whatever a library raises on files of somebody else
        return f"{name} cannot be asked how it cuts texts ({said_by(error)})"
    return HostTokenizer(name, _encoding(loaded), True)


def token_number(folder: Path | None, tokenizer: Any, *names: str) -> int | None:
    """Return the number of the first special token that the files next to a model name, such as ``bos_token``.

    Args:
        folder: The folder of the model.
        tokenizer: The tokenizer of texts, an object of `tokenizers`.
        names: Of the special tokens, the one that is wanted first.

    Raises:
        FileFormatError: ``tokenizer_config.json`` is not readable.
    """
    fields = {} if folder is None else _fields(folder)
    for name in names:
        value = fields.get(name)
        text = value.get("content") if isinstance(value, Mapping) else value
        if isinstance(text, str):
            return tokenizer.token_to_id(text)
    return None


def _encoding(tokenizer: Any) -> Callable[[str], tuple[list[int], list[int]]]:
    def encode(text: str) -> tuple[list[int], list[int]]:
        from transformers import logging  # pyright: ignore[reportMissingImports]

        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()  # it warns of texts that are longer than its model
        try:
            whole, bare = (
                list(tokenizer(text, add_special_tokens=with_special).input_ids) for with_special in (True, False)
            )
        finally:
            logging.set_verbosity(verbosity)
        return whole, bare

    return encode


def _fields(folder: Path) -> Mapping[str, Any]:
    path = folder / TOKENIZER_CONFIG_FILE
    if not path.is_file():
        return {}
    return json_object(path, "a tokenizer's options")


def _not_followed(fields: Mapping[str, Any], tokenizer: Any) -> str:
    """Return the fields that may change how texts are cut and that ``tokenizer.json`` does not repeat."""
    stored = json.loads(tokenizer.to_str())
    cutting = [stored.get("normalizer"), stored.get("pre_tokenizer")]
    expected = {
        "add_prefix_space": _every(cutting, "add_prefix_space"),
        "do_lower_case": _every(cutting, "lowercase"),
        "add_bos_token": [bool(tokenizer.encode("").ids)],
    }
    left: list[str] = []
    for name, value in sorted(fields.items()):
        if value is None or name in _UNREAD or (name == "added_tokens_decoder" and _are_known(value, tokenizer)):
            continue
        if any(value is not followed for followed in expected.get(name) or [False]):
            left.append(name if name == "added_tokens_decoder" else f"{name} = {value!r}"[:80])
    if not left:
        return ""
    are = "is" if len(left) == 1 else "are"
    return f"{TOKENIZER_CONFIG_FILE}'s {', '.join(left)} {are} not followed, and may cut texts otherwise"


def _every(stored: Any, name: str) -> list[Any]:
    """Return the values under a name, anywhere in a value of JSON."""
    if isinstance(stored, Mapping):
        own = [stored[name]] if name in stored else []
        return own + [part_value for part in stored.values() for part_value in _every(part, name)]
    return [part_value for part in stored for part_value in _every(part, name)] if isinstance(stored, list) else []


def _are_known(added: Any, tokenizer: Any) -> bool:
    """Tell whether ``tokenizer.json`` also contains all added tokens, with the same numbers."""
    known = {str(number): token.content for number, token in tokenizer.get_added_tokens_decoder().items()}
    if not isinstance(added, Mapping):
        return False
    return all(isinstance(x, Mapping) and known.get(str(number)) == x.get("content") for number, x in added.items())
