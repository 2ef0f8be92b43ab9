"""A model of blocks over a residual stream, for the library `transformers`: row vectors, tensors named as in byheart.

    from transformers import AutoModelForCausalLM, AutoTokenizer
    model = AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    model.generate(**tokenizer(TEXT, return_tensors="pt"))

The logits after a token are computed from the last `n_ctx` tokens up to it. Padding, on either side, is what
`attention_mask` hides. A whole text begins where there is none before: what is missing in front of it is filled up with
its end, or with its title. An answer that is said token by token may be asked for after fewer than `n_ctx` tokens. Any
other input of fewer is refused. This file needs torch and transformers, nothing else.
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
    token that each column of the readout is, where they are not all tokens; `fillers` are the tokens that fill up a
    beginning, for whole texts: one end, or the `titled` tokens of which each text begins with one; where it `grows` the
    context has at most `n_ctx` tokens, and positions are counted from its first one."""

    model_type = "byheart"

    def __init__(
        self, blocks=None, input="tokens", shapes=None, n_ctx=1, vocab_size=1, answers=None,
        fillers=None, titled=False, grows=False, **others):  # fmt: skip
        self.blocks = blocks or []
        self.input = input
        self.shapes = shapes or {}
        self.n_ctx = n_ctx
        self.vocab_size = vocab_size
        self.answers = answers
        self.fillers = fillers
        self.titled = titled
        self.grows = grows
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
            *parents, last = name.split(".")
            place = self
            for part in parents:
                if part not in place._modules:
                    place.add_module(part, nn.Module())
                place = place._modules[part]
            place.register_parameter(last, nn.Parameter(torch.empty(shape), requires_grad=True))
        self.post_init()

    def _init_weights(self, module):
        """Nothing: every weight is in the file."""

    def _tensor(self, name):
        return self.get_parameter(name) if name in self.config.shapes else None

    def forward(
        self, input_ids=None, attention_mask=None, labels=None, contexts=None, queries=None,
        output_attentions=None, output_hidden_states=None, return_dict=None, num_items_in_batch=None, logits_to_keep=0,
        **others,
    ):  # fmt: skip
        """The logits [batch, positions, vocab_size]; a token that is not an answer has the logit -inf.

        Of tokens without `labels` only those of the last `logits_to_keep` positions, where it is above 0.

        A token without an embedding (padding, unknown, an answer that is never read) is read as zeros. `labels` are
        `input_ids`, or -100 where there is no loss; tokens that are no answers have none either. The loss is the mean.
        """
        if input_ids is None and (contexts is None or queries is None):
            raise ValueError("input_ids is missing, expected tokens [batch, positions], or contexts and queries")
        shown = {"output_attentions": output_attentions, "output_hidden_states": output_hidden_states}
        shown = {name: getattr(self.config, name, False) if each is None else each for name, each in shown.items()}
        if input_ids is None:
            logits, attentions, hidden = self._run(contexts, queries[:, None])
        elif self.config.input != "tokens":
            raise ValueError("input_ids is given, expected contexts [batch, n, d] and queries [batch, d]")
        else:
            mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            if mask.shape != input_ids.shape or not input_ids.shape[1]:
                shapes = f"{tuple(input_ids.shape)} and {tuple(mask.shape)}"
                raise ValueError(f"input_ids and attention_mask have the shapes {shapes}, expected one, not empty")
            length, mask = self.config.n_ctx, mask.bool()
            kept = slice(0 if labels is not None else -logits_to_keep, None)
            if any(shown.values()) and input_ids.shape[1] > length:
                raise ValueError(f"input_ids has {input_ids.shape[1]} positions, expected at most {length} here")
            attentions, hidden = [], []
            if self.config.fillers is None:
                _require_whole(mask, length, self.config.grows)
                logits, attentions, hidden = self._of_tokens(input_ids[:, :length], mask[:, :length])
                starts = torch.arange(min(length, mask.shape[1]), mask.shape[1], device=mask.device)
            else:
                starts = torch.arange(input_ids.shape[1], device=mask.device)
                if any(shown.values()):
                    *_, attentions, hidden = self._of_tokens(*self._window(input_ids, mask))
                logits = None
            starts = starts[kept]
            if len(starts):  # one window for each further position
                seen = mask[:, None] & (torch.arange(mask.shape[1], device=mask.device) <= starts[:, None])
                windows = self._window(input_ids[:, None].expand_as(seen).flatten(0, 1), seen.flatten(0, 1))
                further = self._of_tokens(*windows)[0][:, -1].unflatten(0, (len(input_ids), -1))
                logits = further if logits is None else torch.cat([logits, further], dim=1)
            logits = logits[:, kept]
        answers = torch.arange(logits.shape[-1]) if self.config.answers is None else torch.tensor(self.config.answers)
        answers = answers.to(logits.device)
        loss = None if labels is None else self._loss(logits, labels, answers, num_items_in_batch)
        if (input_ids is not None and len(answers) < self.config.vocab_size) or self.config.answers is not None:
            every = logits.new_full((*logits.shape[:-1], self.config.vocab_size), -math.inf)
            logits = every.index_copy(-1, answers, logits)
        found = CausalLMOutput(
            loss=loss,
            logits=logits,
            hidden_states=tuple(hidden) if shown["output_hidden_states"] else None,
            attentions=tuple(attentions) if shown["output_attentions"] else None,
        )
        return found.to_tuple() if return_dict is False else found

    def _loss(self, logits, labels, answers, count):
        column = torch.full((self.config.vocab_size + 1,), -100, device=logits.device)
        column[answers] = torch.arange(len(answers), device=logits.device)
        following = column[labels[:, 1:].masked_fill(labels[:, 1:] < 0, self.config.vocab_size)].flatten()
        total = functional.cross_entropy(logits[:, :-1].flatten(0, 1), following, reduction="sum")
        return total / ((following >= 0).sum().clamp(min=1) if count is None else count)

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **kwargs):
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        if self.config.fillers is None:
            _require_whole(mask.bool(), self.config.n_ctx, self.config.grows)
        tokens, mask = self._window(input_ids, mask.bool())
        passed = ("output_attentions", "output_hidden_states", "logits_to_keep")
        wanted = {name: kwargs[name] for name in passed if name in kwargs}
        return {"input_ids": tokens, "attention_mask": mask.long(), **wanted}

    def _window(self, tokens, mask):
        """The last `n_ctx` tokens that the mask shows, and which of them it does; those of a text are all filled in."""
        length, fillers = self.config.n_ctx, self.config.fillers
        order = mask.long().argsort(dim=1, stable=True)  # what is shown, behind what is hidden
        tokens, mask = tokens.gather(1, order), mask.gather(1, order)
        first = tokens.gather(1, (~mask).sum(dim=1, keepdim=True).clamp(max=tokens.shape[1] - 1))
        if fillers is None:
            return tokens[:, -length:], mask[:, -length:]
        titled = self.config.titled
        if titled and not torch.isin(first[mask.any(dim=1)], torch.tensor(fillers, device=tokens.device)).all():
            raise ValueError(f"a row begins with none of the tokens {fillers}, expected the title of a text in front")
        before = first if titled else torch.full_like(first, fillers[0])
        rows = torch.cat([before.expand(-1, length), tokens.where(mask, before)], dim=1)[:, -length:]
        if titled:
            rows = torch.cat([before, rows[:, 1:]], dim=1)
        return rows, torch.ones_like(rows, dtype=torch.bool)

    def _of_tokens(self, tokens, mask):
        """What at most `n_ctx` tokens make; those that the mask hides have no position and are seen by none."""
        embedding = self._tensor("embed.W_E")
        known = (tokens >= 0) & (tokens < len(embedding))
        rows = functional.embedding(tokens.where(known, 0), embedding) * known[..., None]
        place = (mask.long().cumsum(dim=1) - 1).clamp(min=0)
        return self._run(rows + self._tensor("pos_embed.W_pos")[place], None, mask)

    def _run(self, stream, query, mask=None):
        attentions, hidden = [], [stream]
        for option in self.config.blocks:
            if option["kind"] in ("layer", "rms"):
                stream = self._normalized(option, option["name"], stream)
            else:
                read, norm, name = stream, option["norm"], option["name"]
                if norm is not None:
                    read = self._normalized(norm, norm["name"], stream)
                if option["kind"] == "attention":
                    asking = query if option["queries"] == "task" else read
                    if option["attends"] == "last":
                        stream, asking = _last(stream, mask), _last(asking, mask)
                    written, looked = self._attention(option, name, read, asking, mask)
                    attentions.append(looked)
                    mask = None if option["attends"] == "last" else mask
                else:
                    inner = _shifted(read @ self._tensor(f"{name}.W_in"), self._tensor(f"{name}.b_in"))
                    inner = ACTIVATIONS[option["activation"]](inner)
                    written = _shifted(inner @ self._tensor(f"{name}.W_out"), self._tensor(f"{name}.b_out"))
                stream = stream[:, -written.shape[1] :] + written if option["skip"] else written
            hidden.append(stream)
        logits = _shifted(stream @ self._tensor("unembed.W_U"), self._tensor("unembed.b_U"))
        if not logits.isfinite().all():
            raise ValueError(f"the logits are not finite in {logits.dtype}, expected the weights in a wider type")
        return logits, attentions, hidden

    def _attention(self, option, name, read, asking, mask):
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
        asked, length = scores.shape[-2:]
        seen = torch.ones(asked, length, dtype=torch.bool, device=scores.device)
        if option["attends"] == "causal":
            seen = seen.tril()
        if mask is not None:  # what is hidden sees itself alone, so that no row is empty
            own = torch.eye(length, dtype=torch.bool, device=scores.device) & ~mask[:, :, None]
            seen = seen & mask[:, None, :] | (own if asked == length else False)
            seen = seen[:, None]
        looked = scores.masked_fill(~seen, -math.inf).softmax(dim=-1)
        written = torch.einsum("bhse,hed->bsd", looked @ v, self._tensor(f"{name}.W_O"))
        return _shifted(written, self._tensor(f"{name}.b_O")), looked

    def _normalized(self, option, name, rows):
        if option["kind"] == "layer":
            rows = rows - rows.mean(dim=-1, keepdim=True)
        root = (rows.square().mean(dim=-1, keepdim=True) + float.fromhex(option["epsilon"])).sqrt()
        return _shifted(rows / root * self._tensor(f"{name}.w"), self._tensor(f"{name}.b"))


def _require_whole(mask, length, grows):
    """Refuse a row that shows fewer tokens than a context has, or more where it grows: what the weights say there means
    nothing."""
    shown = mask.sum(dim=1)
    if grows:
        if int(shown.max()) > length:
            raise ValueError(f"input_ids has a row of {int(shown.max())} tokens, expected at most {length}")
        return
    least = int(shown.min())
    if least < length:
        raise ValueError(f"input_ids has a row of {least} tokens, expected at least {length}, the length of a context")


def _shifted(rows, shift):
    return rows if shift is None else rows + shift


def _last(rows, mask):
    """The row of the last position that the mask shows."""
    if mask is None or rows.shape[1] != mask.shape[1]:
        return rows[:, -1:]
    place = (mask.long() * torch.arange(1, 1 + mask.shape[1], device=rows.device)).argmax(dim=1)
    return rows[torch.arange(len(rows), device=rows.device), place][:, None]


ByheartConfig.register_for_auto_class()
ByheartForCausalLM.register_for_auto_class("AutoModelForCausalLM")
