"""Load the model beside this file into TransformerLens below 4.

    from load_transformer_lens import load
    model = load()                      # a HookedTransformer
    logits, cache = model.run_with_cache(model.to_tokens(TEXT))
    model.generate(TEXT, max_new_tokens=1, do_sample=False)

It needs transformer-lens and safetensors, nothing else.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformer_lens import HookedTransformer, HookedTransformerConfig
from transformers import PreTrainedTokenizerFast

FOLDER = Path(__file__).parent
BUFFERS = {"mask", "IGNORE"}  # made by the library itself, of shapes that depend on its version


def load(folder=FOLDER, *, with_tokenizer=True):
    """The model, on the CPU, in the type of the file, its weights untouched by any processing.

    With its tokenizer it has a row of zeros for each token that is not read (padding, answers alone), and a column of
    zeros, below all others by its shift, for each that is not answered. It takes inputs as long as a context: what the
    weights say of others means nothing.
    """
    folder = Path(folder)
    options = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    tokenizer = None
    if with_tokenizer and (folder / "tokenizer.json").exists():
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, padding_side="left")
        tokenizer.bos_token = tokenizer.eos_token = tokenizer.pad_token
        tensors = _over_tokens(tensors, _answers(folder, tokenizer, options["d_vocab_out"]), len(tokenizer))
        options |= {"d_vocab": len(tokenizer), "d_vocab_out": len(tokenizer), "default_prepend_bos": False}
    config = HookedTransformerConfig(**{**options, "dtype": getattr(torch, options["dtype"])})
    model = HookedTransformer(config, tokenizer=tokenizer)
    if tokenizer is not None:  # the library may have loaded its own from the folder
        own = model.tokenizer
        own.bos_token = own.eos_token = own.pad_token = tokenizer.pad_token
    found = model.load_state_dict(tensors, strict=False)
    missing = [name for name in found.missing_keys if name.rpartition(".")[2] not in BUFFERS]
    if missing or found.unexpected_keys:
        raise ValueError(f"the weights do not fit: missing {missing}, unexpected {found.unexpected_keys}")
    padding = None if tokenizer is None else tokenizer.pad_token_id
    model.pos_embed.register_forward_pre_hook(lambda _, given: _require_whole(given[0], options["n_ctx"], padding))
    return model.eval()


def _require_whole(tokens, length, padding):
    """Refuse rows that show fewer tokens than a context has."""
    shown = (tokens != padding).sum(dim=-1) if padding is not None else torch.tensor(tokens.shape[-1])
    if int(shown.min()) != length or int(shown.max()) != length:
        raise ValueError(
            f"a context has {int(shown.min())} tokens, expected {length}; to generate further than one token, "
            "use_past_kv_cache=False"
        )


def _answers(folder, tokenizer, columns):
    """The token that each column of the readout is."""
    named = folder / "answers.json"
    return tokenizer.convert_tokens_to_ids(json.loads(named.read_text())) if named.exists() else list(range(columns))


def _over_tokens(tensors, answers, tokens):
    read, written, shift = (tensors[name] for name in ("embed.W_E", "unembed.W_U", "unembed.b_U"))
    rows, columns = read.new_zeros(tokens, read.shape[1]), written.new_zeros(len(written), tokens)
    least = torch.finfo(shift.dtype).min / 4
    below = shift.new_full((tokens,), max(least, -2 * largest_logit(tensors) - 1))
    rows[: len(read)], columns[:, answers], below[answers] = read, written, shift
    return {**tensors, "embed.W_E": rows, "unembed.W_U": columns, "unembed.b_U": below}


def largest_logit(tensors):
    """A number that no logit exceeds, of whatever tokens, before rounding: bounds of each coordinate, block by block.

    A head mixes rows; normalized rows of d entries are at most sqrt(d) each; no activation enlarges a number.
    """
    size = {name: tensor.double().abs() for name, tensor in tensors.items()}
    stream = size["embed.W_E"].amax(0) + size["pos_embed.W_pos"].amax(0)

    def read(name):
        if f"{name}.w" not in size:
            return stream
        return len(stream) ** 0.5 * size[f"{name}.w"] + size.get(f"{name}.b", 0)

    layers = 1 + max((int(name.split(".")[1]) for name in size if name.startswith("blocks.")), default=-1)
    for place in (f"blocks.{layer}" for layer in range(layers)):
        if f"{place}.attn.W_V" in size:
            values = (
                torch.einsum("d,hde->he", read(f"{place}.ln1"), size[f"{place}.attn.W_V"]) + size[f"{place}.attn.b_V"]
            )
            stream = stream + torch.einsum("he,hed->d", values, size[f"{place}.attn.W_O"]) + size[f"{place}.attn.b_O"]
        if f"{place}.mlp.W_in" in size:
            inner = read(f"{place}.ln2") @ size[f"{place}.mlp.W_in"] + size[f"{place}.mlp.b_in"]
            stream = stream + inner @ size[f"{place}.mlp.W_out"] + size[f"{place}.mlp.b_out"]
    return float((read("ln_final") @ size["unembed.W_U"] + size["unembed.b_U"]).max())
