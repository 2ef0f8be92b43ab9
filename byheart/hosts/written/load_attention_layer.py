"""Load the model beside this file into `torch.nn.MultiheadAttention`, with its embeddings and readout around it.

    from load_attention_layer import load
    model = load()
    model(tokens)                       # logits at every position, [batch, positions, vocabulary]; whole contexts
    model.attention[0]                  # the torch.nn.MultiheadAttention

It needs torch and safetensors, nothing else.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

FOLDER = Path(__file__).parent


class AttentionLayers(nn.Module):
    """Attention layers of torch over a residual stream; or one that reads a context of vectors with a query."""

    def __init__(self, *, reads, embed_dim, num_heads, layers, vocabulary, positions, outputs, causal, dtype):
        super().__init__()
        self.reads, self.causal = reads, causal
        kind = {"dtype": getattr(torch, dtype)}
        if reads == "tokens":
            self.embed = nn.Embedding(vocabulary, embed_dim, **kind)
            self.pos_embed = nn.Embedding(positions, embed_dim, **kind)
        self.attention = nn.ModuleList(
            nn.MultiheadAttention(embed_dim, num_heads, batch_first=True, **kind) for _ in range(layers)
        )
        self.unembed = nn.Linear(embed_dim, outputs, **kind)

    def forward(self, given, queries=None):
        """Logits [batch, positions, outputs] of tokens [batch, positions]; of vectors [batch, n, d] and queries
        [batch, d], which are padded with zeros to `embed_dim`, the outputs [batch, outputs]."""
        if self.reads == "tokens":
            length = given.shape[1]
            if length != self.pos_embed.num_embeddings:
                expected = f"expected {self.pos_embed.num_embeddings}, the length of a context"
                raise ValueError(f"the contexts have {length} tokens, {expected}")
            stream = self.embed(given) + self.pos_embed.weight[:length]
            # In this layer True hides a position.
            hidden = torch.ones(length, length, dtype=torch.bool).triu(1) if self.causal else None
            for attention in self.attention:
                stream = stream + attention(stream, stream, stream, attn_mask=hidden, need_weights=False)[0]
            return self.unembed(stream)
        width = self.attention[0].embed_dim
        keys = nn.functional.pad(given, (0, width - given.shape[-1]))
        asked = nn.functional.pad(queries, (0, width - queries.shape[-1]))[:, None]
        return self.unembed(self.attention[0](asked, keys, keys, need_weights=False)[0][:, 0])


def load(folder=FOLDER):
    """The model, on the CPU, in the type of the file."""
    model = AttentionLayers(**json.loads((Path(folder) / "config.json").read_text()))
    model.load_state_dict(load_file(Path(folder) / "model.safetensors"))
    return model.eval()
