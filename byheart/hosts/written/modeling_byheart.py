"""A model of blocks over a residual stream, for the library `transformers`: row vectors, tensors named as in byheart.

    from transformers import AutoModelForCausalLM, AutoTokenizer
    model = AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)

`model(input_ids).logits[:, -1]` are the logits after a context. This file needs torch and transformers, nothing else.
"""

import math

import torch
from torch import nn
from torch.nn import functional
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

ACTIVATIONS = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu-tanh": lambda u: functional.gelu(u, approximate="tanh"),
    "silu": functional.silu,
}


class ByheartConfig(PretrainedConfig):
    """The blocks, as byheart's `Model.options` gives them, and the shape of every tensor by its name; `answers` is the
    token that each column of the readout is, where only some tokens are answers."""

    model_type = "byheart"

    def __init__(self, blocks=None, input="tokens", shapes=None, n_ctx=1, vocab_size=1, answers=None, **others):
        self.blocks = blocks or []
        self.input = input
        self.shapes = shapes or {}
        self.n_ctx = n_ctx
        self.vocab_size = vocab_size
        self.answers = answers
        self.num_hidden_layers = len(self.blocks)
        super().__init__(**others)


class ByheartForCausalLM(PreTrainedModel, GenerationMixin):
    """Logits at every position of tokens; or, for a model that reads vectors, the outputs of contexts and queries."""

    config_class = ByheartConfig
    main_input_name = "input_ids"
    _tied_weights_keys = None

    def __init__(self, config):
        super().__init__(config)
        for name, shape in config.shapes.items():
            *path, last = name.split(".")
            place = self
            for part in path:
                if part not in place._modules:
                    place.add_module(part, nn.Module())
                place = place._modules[part]
            place.register_parameter(last, nn.Parameter(torch.empty(shape), requires_grad=True))
        self.post_init()

    def _init_weights(self, module):
        """Nothing: every weight is in the file."""

    def _tensor(self, name):
        return self.get_parameter(name) if name in self.config.shapes else None

    def forward(self, input_ids=None, contexts=None, queries=None, labels=None, attention_mask=None, **others):
        if self.config.input == "tokens":
            if input_ids is None:
                raise ValueError("input_ids is missing, expected tokens [batch, positions]")
            length = input_ids.shape[1]
            if not 1 <= length <= self.config.n_ctx:
                raise ValueError(f"input_ids has {length} positions, expected 1 .. {self.config.n_ctx}")
            embedded = self.config.shapes["embed.W_E"][0]
            if self.config.answers is not None and bool((input_ids >= embedded).any()):
                raise ValueError(f"input_ids has a token that is an answer alone, expected 0 .. {embedded - 1}")
            if attention_mask is not None and not bool(attention_mask.all()):
                raise ValueError("attention_mask hides positions, expected contexts without padding")
            stream, query = self._tensor("embed.W_E")[input_ids] + self._tensor("pos_embed.W_pos")[:length], None
        else:
            if contexts is None or queries is None:
                raise ValueError("contexts [batch, n, d] or queries [batch, d] are missing")
            stream, query = contexts, queries[:, None]
        for option in self.config.blocks:
            stream = self._block(option, stream, query)
        logits = stream @ self._tensor("unembed.W_U")
        if self._tensor("unembed.b_U") is not None:
            logits = logits + self._tensor("unembed.b_U")
        if self.config.answers is not None:  # every other token is impossible
            every = logits.new_full((*logits.shape[:-1], self.config.vocab_size), -math.inf)
            logits = every.index_copy(-1, torch.tensor(self.config.answers, device=logits.device), logits)
        loss = None
        if labels is not None:
            loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return CausalLMOutput(loss=loss, logits=logits)

    def prepare_inputs_for_generation(self, input_ids, **others):
        return {"input_ids": input_ids[:, -self.config.n_ctx :]}

    def _block(self, option, stream, query):
        if option["kind"] in ("layer", "rms"):
            return self._normalized(option, option["name"], stream)
        read = stream
        if option["norm"] is not None:
            read = self._normalized(option["norm"], option["norm"]["name"], stream)
        name = option["name"]
        if option["kind"] == "attention":
            written = self._attention(option, name, read, query)
        else:
            inner = _shifted(read @ self._tensor(f"{name}.W_in"), self._tensor(f"{name}.b_in"))
            inner = ACTIVATIONS[option["activation"]](inner)
            written = _shifted(inner @ self._tensor(f"{name}.W_out"), self._tensor(f"{name}.b_out"))
        return stream[:, -written.shape[1] :] + written if option["skip"] else written

    def _attention(self, option, name, read, query):
        asking = query if option["queries"] == "task" else read
        if option["attends"] == "last":
            asking = asking[:, -1:]
        q, k, v = (
            torch.einsum("bsd,hde->bhse", rows, self._tensor(f"{name}.W_{letter}"))
            for letter, rows in (("Q", asking), ("K", read), ("V", read))
        )
        q, k, v = (
            x if self._tensor(f"{name}.b_{letter}") is None else x + self._tensor(f"{name}.b_{letter}")[:, None]
            for letter, x in (("Q", q), ("K", k), ("V", v))
        )
        scores = q @ k.transpose(-1, -2)
        if option["score_root"] != 1:
            scores = scores / math.sqrt(option["score_root"])
        if option["attends"] == "causal":
            length = scores.shape[-1]
            later = torch.ones(length, length, dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        mixed = scores.softmax(dim=-1) @ v
        written = torch.einsum("bhse,hed->bsd", mixed, self._tensor(f"{name}.W_O"))
        return _shifted(written, self._tensor(f"{name}.b_O"))

    def _normalized(self, option, name, rows):
        if option["kind"] == "layer":
            rows = rows - rows.mean(dim=-1, keepdim=True)
        root = (rows.square().mean(dim=-1, keepdim=True) + float.fromhex(option["epsilon"])).sqrt()
        return _shifted(rows / root * self._tensor(f"{name}.w"), self._tensor(f"{name}.b"))


def _shifted(rows, shift):
    return rows if shift is None else rows + shift


ByheartConfig.register_for_auto_class()
ByheartForCausalLM.register_for_auto_class("AutoModelForCausalLM")
