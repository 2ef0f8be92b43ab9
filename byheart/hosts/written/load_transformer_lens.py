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

    With its tokenizer it has a row of zeros for each token that is not read (padding, unknown, answers alone), and a
    column of zeros, far below all others by its shift, for each that is not answered.
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
    found = model.load_state_dict(tensors, strict=False)
    missing = [name for name in found.missing_keys if name.rpartition(".")[2] not in BUFFERS]
    if missing or found.unexpected_keys:
        raise ValueError(f"the weights do not fit: missing {missing}, unexpected {found.unexpected_keys}")
    return model.eval()


def _answers(folder, tokenizer, columns):
    """The token that each column of the readout is."""
    named = folder / "answers.json"
    return tokenizer.convert_tokens_to_ids(json.loads(named.read_text())) if named.exists() else list(range(columns))


def _over_tokens(tensors, answers, tokens):
    read, written, shift = (tensors[name] for name in ("embed.W_E", "unembed.W_U", "unembed.b_U"))
    rows, columns = read.new_zeros(tokens, read.shape[1]), written.new_zeros(len(written), tokens)
    below = shift.new_full((tokens,), torch.finfo(shift.dtype).min / 4)
    rows[: len(read)], columns[:, answers], below[answers] = read, written, shift
    return {**tensors, "embed.W_E": rows, "unembed.W_U": columns, "unembed.b_U": below}
