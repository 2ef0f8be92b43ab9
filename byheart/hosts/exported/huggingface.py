"""Write a Hugging Face model with its own code, readout and tokenizer.

It holds every block as it is; only an attention that computes the last position alone becomes a causal one, where that
changes nothing at the last position, so that there are logits after every token.

Page: docs/hosts.md
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from byheart.hosts.exported import gpt2
from byheart.hosts.families.known_options import ONLY_IN_TRANSFORMERS, UNREAD_IN_TRANSFORMERS, require_known_options
from byheart.hosts.host import CONFIG_FILE, Host, quiet_loading, tokens_of, torch_logits, write_folder
from byheart.hosts.tokenizer import answer_tokens, generation_of
from constructions.errors import InputError
from constructions.formats.files import canonical_json, write_atomically
from constructions.model.blocks import Attention
from constructions.model.model import Model, assembled, block_names
from constructions.numeric.arrays import Float64Array
from constructions.tasks.any_task import ListedTask
from constructions.tasks.task import Task
from constructions.tasks.vectors import Vectors
from constructions.tasks.vocabulary import is_of_rows
from verify.runs.exact_runs import exact_runs

_MODULE = "modeling_byheart.py"
_MOST_BITS = 16
"""Sums of exact runs in more bits leave none of float32's for what normalizations and tens of layers round."""


def _convert(model: Model) -> Model:
    *_, last = [None, *(place for place, block in enumerate(model.blocks) if isinstance(block, Attention))]
    if not model.reads_tokens or last is None:
        return model
    blocks = list(model.blocks)
    looks = [block.attends for block in blocks if isinstance(block, Attention)]
    if looks[-1] == "last" and "last" not in looks[:-1]:
        blocks[last] = replace(blocks[last], attends="causal")  # pyright: ignore[reportCallIssue]
    return replace(model, blocks=tuple(blocks))


def config_of(model: Model, dtype: str) -> dict[str, Any]:
    """Return the configuration that `modeling_byheart.py` reads: the blocks, with the names of their tensors, and all
    shapes.

    Args:
        model: The model.
        dtype: The type of the weights.
    """
    options = model.options()
    blocks: list[dict[str, Any]] = []
    for name, norm_name, block in zip(*block_names(options["blocks"]), options["blocks"], strict=True):
        norm = block.get("norm")
        blocks.append({**block, "name": name, **({} if norm is None else {"norm": {**norm, "name": norm_name}})})
    return {
        "architectures": ["ByheartForCausalLM"],
        "auto_map": {
            "AutoConfig": "modeling_byheart.ByheartConfig",
            "AutoModelForCausalLM": "modeling_byheart.ByheartForCausalLM",
        },
        "model_type": "byheart",
        "dtype": dtype,
        "input": options["input"],
        "blocks": blocks,
        "shapes": {name: list(tensor.shape) for name, tensor in model.tensors().items()},
        "n_ctx": model.n_ctx,
        "vocab_size": model.d_vocab,
    }


def model_of(tensors: Mapping[str, Float64Array], config: Mapping[str, Any]) -> Model:
    """Return the model of a state dictionary with a configuration from `config_of`, possibly saved again by the
    library.

    The names and shapes there decide which tensors the library takes, so they have to be those of the blocks.

    Args:
        tensors: By name.
        config: Configuration of the ``model_type`` byheart.

    Returns:
        The model.

    Raises:
        InputError: A configuration that says anything else than that of the model does; names the option.
        KeyError: A tensor or an option is missing.
    """
    model = assembled({"blocks": [_without_names(block) for block in config["blocks"]]}, dict(tensors))
    expected = {**config_of(model, ""), "num_hidden_layers": len(model.blocks)}
    only = {name: value for name, value in expected.items() if name not in UNREAD_IN_TRANSFORMERS}
    unset = {"answers": None, "fillers": None, "titled": False, "grows": False}
    config = {name: value for name, value in config.items() if name not in unset or value != unset[name]}
    if "answers" in config:
        answers = config["answers"]
        tokens = config.get("vocab_size")
        if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < model.d_vocab:
            raise InputError("vocab_size", f"is {tokens!r}", f"at least {model.d_vocab}, the size of the embeddings")
        places = isinstance(answers, list) and all(type(place) is int for place in answers)
        if not places or not len(set(answers)) == len(answers) == model.d_vocab_out:
            raise InputError("answers", f"is {answers!r}", f"a token for each of the {model.d_vocab_out} columns")
        if not all(0 <= place < tokens for place in answers):
            raise InputError("answers", f"is {answers!r}", f"tokens below vocab_size = {tokens}")
        only |= {"vocab_size": tokens, "answers": answers}
    if "fillers" in config:
        fillers, titled = config["fillers"], config.get("titled", False)
        places = isinstance(fillers, list) and all(type(place) is int for place in fillers)
        if not places or not fillers or not all(0 <= place < model.d_vocab for place in fillers):
            raise InputError("fillers", f"is {fillers!r}", f"tokens below {model.d_vocab}")
        only |= {"fillers": fillers, "titled": titled is True} if "titled" in config else {"fillers": fillers}
    if "grows" in config:
        only |= {"grows": True}
    require_known_options(config, read=only, unread=UNREAD_IN_TRANSFORMERS, only=ONLY_IN_TRANSFORMERS)
    full_config = {"num_hidden_layers": len(model.blocks), **config}
    for name, value in only.items():
        if canonical_json(full_config[name]) != canonical_json(value):  # as texts, for 1 == 1.0 == True
            raise InputError(
                name, f"is {full_config[name]!r}", f"{value!r}, which follows from the blocks and the tensors"
            )
    return model


def _without_names(option: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a block without the names of its tensors."""
    kept = {name: value for name, value in option.items() if name != "name"}
    return kept if kept.get("norm") is None else {**kept, "norm": _without_names(kept["norm"])}


def _write(model: Model, folder: Path, dtype: str) -> None:
    write_folder(folder, model.tensors(), dtype=dtype, config=config_of(model, dtype), loader=_MODULE)


def _number_tokens(folder: Path, task: Task) -> None:
    """Give tokens that are not answers the logit -inf, and pad beginnings of texts.

    The library has only one vocabulary, for tokens and answers.
    """
    path, generation = folder / CONFIG_FILE, generation_of(task)
    sizes = {"vocab_size": generation["pad_token_id"] + 1, "answers": answer_tokens(task)}
    if task.windows is not None:
        sizes |= {"fillers": task.windows.titles.tolist(), "titled": bool(task.windows.titled)}
    config = json.loads(path.read_text(encoding="utf-8")) | sizes
    for place, content in ((path, config), (folder / "generation_config.json", generation)):
        write_atomically(place, (canonical_json(content) + "\n").encode())


def _other(model: Model, task: ListedTask, dtype: str) -> Host | None:
    """Suggest GPT-2 for whole rows of a table, because it cannot read texts longer than a context.

    Its normalizations round every number of the stream. Of words whose last bits count that is too much: what is exact
    in long integers has the code next to the weights, which rounds nothing.
    """
    facts = task.facts
    if facts is None or not is_of_rows(facts) or dtype not in gpt2.HOST.dtypes:
        return None
    if facts.target == "labels":
        runs = exact_runs(model, facts.contexts, facts.labels)
        if runs.memorized.all() and runs.bits > _MOST_BITS:
            return None
    try:
        gpt2.HOST.convert(gpt2.in_one_vocabulary(model, task)[0])
    except InputError:
        return None
    return gpt2.HOST


def _run(folder: Path, task: ListedTask, dtype: str) -> dict[str, Float64Array]:
    import torch
    from transformers import AutoModelForCausalLM  # pyright: ignore[reportMissingImports]

    from verify.torch.module import full_precision

    with quiet_loading():
        model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True, local_files_only=True).eval()
    if isinstance(task.inputs, Vectors):
        with torch.inference_mode(), full_precision():
            kind = getattr(torch, dtype)
            options = {
                "contexts": torch.tensor(task.inputs.contexts_of_each).to(kind),
                "queries": torch.tensor(task.inputs.queries).to(kind),
            }
            return {"AutoModelForCausalLM": model(**options).logits[:, -1].double().numpy()}
    entries = task.n_ctx * sum(8 * size for size in _row_sizes(model.config.shapes))
    facts = tokens_of(task)
    logits = torch_logits(partial(model, logits_to_keep=1), facts, entries=entries)
    answers = slice(facts.n_answers) if model.config.answers is None else model.config.answers
    return {"AutoModelForCausalLM": logits[:, answers]}


def _row_sizes(shapes: dict[str, list[int]]) -> list[int]:
    """Return how many entries each map produces per row."""
    return [int(np.prod(shape)) // shape[-2] for shape in shapes.values() if len(shape) > 1]


HOST = Host(
    name="huggingface",
    packages=("transformers", "torch"),
    extra="huggingface",
    dtypes=("float64", "float32", "bfloat16", "float16"),
    convert=_convert,
    write=_write,
    run=_run,
    number_tokens=_number_tokens,
    other=_other,
    instead="gpt2",
    usage="""\
from transformers import pipeline

say = pipeline("text-generation", model=FOLDER, trust_remote_code=True)
print(say(TEXT)[0]["generated_text"])""",
    usage_of_vectors="""\
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)
task = load_file(FOLDER + "/task.safetensors")
given = {name: task[name][:1].to(model.dtype) for name in ("contexts", "queries")}
print(model(**given).logits[0, -1], task["labels"][0])""",
)
