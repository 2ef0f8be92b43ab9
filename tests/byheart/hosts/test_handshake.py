"""The host is asked: what it computes is what was read, or the model is refused. Real libraries where they are."""

import importlib.util
import json
import sys
import types

import numpy as np
import pytest

from byheart.cli.main import main
from byheart.hosts.certify import certify, certify_rule
from byheart.hosts.families import FAMILIES
from byheart.hosts.handshake import _recorded, ask_host, float64_logits
from byheart.hosts.reading import model_of
from constructions.errors import HandshakeError, InputError
from constructions.model.blocks import Attention
from constructions.model.model import Model
from constructions.tasks.arrays import array_task
from tests.exports import MODELS, task_of, written_for
from tests.families import Host, contexts
from verify.runs.formats import FLOAT64
from verify.runs.rounding import rounding_bound

torch = pytest.importorskip("torch")
prune = pytest.importorskip("torch.nn.utils.prune")

SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 104)]
VOCABULARY, LENGTH = 11, 4


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"needs {package}")


def table(vocabulary=VOCABULARY, length=LENGTH, rows=12, seed=0):
    rng = np.random.default_rng(seed)
    contexts = np.unique(rng.integers(0, vocabulary, (rows, length)), axis=0)
    return array_task(
        contexts, next_tokens=rng.integers(0, vocabulary, len(contexts)), vocabulary=vocabulary, target="labels"
    )


def gpt2(seed):
    """A real GPT-2 of a random configuration, with weights far from where training begins, and what it says it is."""
    from transformers import GPT2Config, GPT2LMHeadModel

    rng = np.random.default_rng(seed)
    heads = int(rng.integers(1, 4))
    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=int(rng.integers(LENGTH, 9)), n_embd=heads * int(rng.integers(2, 7)),
        n_layer=int(rng.integers(1, 4)), n_head=heads, n_inner=int(rng.integers(3, 30)),
        activation_function=str(rng.choice(["gelu_new", "gelu", "relu", "silu"])),
        layer_norm_epsilon=float(rng.choice([1e-5, 1e-3, 1e-8])), scale_attn_weights=bool(rng.integers(2)),
        scale_attn_by_inverse_layer_idx=bool(rng.integers(2)), tie_word_embeddings=bool(rng.integers(2)),
    )  # fmt: skip
    torch.manual_seed(seed)
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for each in model.parameters():
            each.copy_(torch.randn_like(each) * float(rng.choice([0.1, 0.5, 1.5])))
    return model


def hooked(seed):
    """A real HookedTransformer of a random configuration, and its configuration."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    rng = np.random.default_rng(seed)
    given = {
        "n_layers": int(rng.integers(1, 4)), "d_model": int(rng.integers(4, 17)), "n_ctx": int(rng.integers(LENGTH, 9)),
        "d_head": int(rng.integers(2, 7)), "n_heads": int(rng.integers(1, 4)), "d_vocab": VOCABULARY,
        "attn_only": bool(rng.integers(2)), "normalization_type": rng.choice([None, "LN", "LNPre", "RMS", "RMSPre"]),
        "attention_dir": str(rng.choice(["causal", "bidirectional"])), "eps": float(rng.choice([1e-5, 1e-3])),
        "use_attn_scale": bool(rng.integers(2)),
    }  # fmt: skip
    if not given["attn_only"]:
        given |= {"d_mlp": int(rng.integers(3, 30)), "act_fn": str(rng.choice(["relu", "gelu", "gelu_new", "silu"]))}
    if rng.integers(2) and given["d_head"] > 1:
        width = 2 * int(rng.integers(1, given["d_head"] // 2 + 1))
        given |= {
            "positional_embedding_type": "rotary",
            "rotary_dim": width,
            "rotary_base": int(rng.choice([50, 10000])),
        }
        given |= {
            "rotary_adjacent_pairs": bool(rng.integers(2)),
            "n_key_value_heads": int(rng.choice([1, given["n_heads"]])),
        }
        given |= {"gated_mlp": bool(rng.integers(2))}
    given |= {"use_qk_norm": bool(rng.integers(2)), "parallel_attn_mlp": not given["attn_only"] and bool(seed % 2)}
    given |= {
        "attn_scores_soft_cap": float(rng.choice([-1.0, 8.0])),
        "output_logits_soft_cap": float(rng.choice([-1.0, 300.0])),
    }
    model = HookedTransformer(HookedTransformerConfig.from_dict({**given, "device": "cpu"}))
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, each in model.named_parameters():
            each.copy_(torch.randn_like(each) * float(rng.choice([0.1, 0.5, 1.0])))
            if given.get("gated_mlp") and name.endswith("mlp.b_in"):
                each.zero_()
    return model, given


@needs("transformers")
@pytest.mark.parametrize("seed", [0, 1, 2, 3, *SLOW])
def test_the_real_gpt2_agrees_and_a_configuration_that_lies_is_refused(seed, tmp_path):
    model, task = gpt2(seed), table(seed=seed)
    model.save_pretrained(tmp_path / "in")
    figures = certify(tmp_path / "in", task)
    assert "agrees with GPT2LMHeadModel of transformers" in figures["headline"]
    assert certify(tmp_path / "in", task, handshake=False)["model"] == figures["model"]
    # The file as people's code changed it: one weight of the module is not the one that is stored.
    changed = certify_refused(lambda: certify(Lying(model), task, config=model.config.to_dict()))
    assert changed.startswith("Lying as given") and "after context 0" in changed


@needs("transformer_lens")
@pytest.mark.filterwarnings("ignore:HookedTransformer is deprecated:DeprecationWarning")
@pytest.mark.parametrize("seed", [0, 1, 2, 3, *SLOW])
def test_the_real_hooked_transformer_agrees_and_hooks_are_noticed(seed, tmp_path):
    (model, config), task = hooked(seed), table(seed=seed)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    (tmp_path / "config.json").write_text(json.dumps(config))
    figures = certify(tmp_path / "model.pt", task)
    assert "agrees with HookedTransformer of transformer-lens" in figures["headline"]
    assert "agrees with HookedTransformer as given" in certify(model, task, config=config)["headline"]
    model.add_perma_hook("hook_embed", lambda embedded, hook: 1.01 * embedded)
    certify_refused(lambda: certify(model, task, config=config))


@needs("transformer_lens")
@pytest.mark.filterwarnings("ignore:HookedTransformer is deprecated:DeprecationWarning")
def test_sizes_that_a_tokenizer_would_set_are_those_of_the_tensors(tmp_path):
    (model, config), task = hooked(0), table()
    torch.save(model.state_dict(), tmp_path / "model.pt")
    for sizes in ({}, {"d_vocab": -1, "d_vocab_out": -1}):
        silent = {name: value for name, value in config.items() if name != "d_vocab"} | sizes
        (tmp_path / "config.json").write_text(json.dumps(silent))
        assert "agrees with HookedTransformer of transformer-lens" in certify(tmp_path / "model.pt", task)["headline"]


class Lying(torch.nn.Module):
    """A module that multiplies what another computes; its tensors are the other's."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def state_dict(self, *args, **options):
        return self.module.state_dict(*args, **options)

    def forward(self, tokens):
        return 1.001 * self.module(tokens).logits


def certify_refused(call):
    with pytest.raises(HandshakeError) as refusal:
        call()
    return str(refusal.value)


class Small(torch.nn.Module):
    """Embeddings and a linear readout; what a subclass does to them nobody reads off the tensors."""

    def __init__(self, linear=torch.nn.Linear):
        super().__init__()
        torch.manual_seed(0)
        self.embed = torch.nn.Embedding(VOCABULARY, 5)
        self.place = torch.nn.Embedding(LENGTH, 5)
        self.read = linear(5, VOCABULARY)

    def forward(self, tokens):
        return self.read(self.embed(tokens) + self.place(torch.arange(tokens.shape[1])))


class Shifted(torch.nn.Linear):
    def forward(self, input):
        return super().forward(input).roll(1, -1)


class Plain(torch.nn.Linear):
    """A subclass that changes nothing."""


NAMES = {
    "embed.W_E": "embed.weight",
    "pos_embed.W_pos": "place.weight",
    "unembed.W_U": "read.weight",
    "unembed.b_U": "read.bias",
}


def small(linear=torch.nn.Linear):
    module = Small(linear)
    shapes = Model((), W_U=np.zeros((5, VOCABULARY)), W_E=np.zeros((VOCABULARY, 5)), W_pos=np.zeros((LENGTH, 5)),
                   b_U=np.zeros(VOCABULARY))  # fmt: skip
    return module, shapes.options()


def masked(module):
    prune.random_unstructured(module.read, "weight", 0.5)


def hooked_read(module):
    module.read.register_forward_hook(lambda part, given, out: 2 * out)


def buffered(module):
    module.register_buffer("gain", torch.full((VOCABULARY,), 1.5))
    module.read.register_forward_hook(lambda part, given, out: out * module.gain)


def quiet_buffer(module):
    module.register_buffer("causal", torch.tril(torch.ones(LENGTH, LENGTH)))


CHANGES = [
    (Shifted, lambda module: None, HandshakeError), (torch.nn.Linear, hooked_read, HandshakeError),
    (torch.nn.Linear, buffered, HandshakeError), (torch.nn.Linear, masked, InputError),
    (torch.nn.Linear, lambda module: torch.nn.utils.parametrizations.spectral_norm(module.read), InputError),
    (torch.nn.Linear, lambda module: torch.nn.utils.parametrizations.weight_norm(module.read), InputError),
    (Plain, lambda module: None, None), (torch.nn.modules.linear.NonDynamicallyQuantizableLinear, lambda m: None, None),
    (torch.nn.Linear, quiet_buffer, None),
]  # fmt: skip


@pytest.mark.parametrize(("linear", "change", "error"), CHANGES)
def test_a_module_is_certified_as_what_it_computes_or_refused(linear, change, error):
    module, options = small(linear)
    change(module)
    task = table()
    if error is not None:
        with pytest.raises(error) as refusal:
            certify(module, task, config=options, names=NAMES)
        assert error is HandshakeError or "has parametrized weights" in str(refusal.value)
        return
    module.train()
    module.embed.eval()
    figures = certify(module, task, config=options, names=NAMES)
    assert f"agrees with {type(module).__name__} as given, torch" in figures["headline"]
    assert module.training and not module.embed.training and module.read.weight.dtype is torch.float32
    with torch.no_grad():
        right = module(torch.tensor(task.contexts))[:, -1].argmax(-1).numpy() == task.labels
    assert figures["memorized"] == right.sum()


def test_without_a_handshake_the_first_line_says_so_and_a_buffer_that_nobody_names_is_refused(tmp_path, capsys):
    module, options = small()
    figures = certify(module, table(), config=options, names=NAMES, handshake=False)
    assert figures["headline"].endswith("no library was asked: --no-handshake")
    quiet_buffer(module)
    with pytest.raises(InputError, match="buffer causal"):
        certify(module, table(), config=options, names=NAMES, handshake=False)
    MODELS["embeddings alone"].save(tmp_path / "model.safetensors")
    model = tmp_path / "model.safetensors"
    assert main(["certify", str(model), "--rule", "last", "--length", "2", "--no-handshake"]) == 1
    assert capsys.readouterr().out.split("\n")[0].endswith("no library was asked: --no-handshake")


def test_masked_arrays_are_refused_and_a_rule_asks_the_module_too():
    module, options = small()
    tensors = {name: each.numpy() for name, each in module.state_dict().items()}
    tensors = {
        ours: tensors[theirs].T if theirs == "read.weight" else tensors[theirs] for ours, theirs in NAMES.items()
    }
    masked_read = np.ma.masked_array(tensors["unembed.W_U"], mask=np.eye(5, VOCABULARY, dtype=bool))
    with pytest.raises(InputError, match=r"unembed.W_U is a masked array"):
        certify({**tensors, "unembed.W_U": masked_read}, table(), config=options)
    every, drawn = (certify_rule(module, "last", length=n, config=options, names=NAMES)["headline"] for n in (2, 3))
    assert "agrees with" in every and "drawn" not in every
    assert "on 512 drawn inputs (differs by" in drawn  # of 1331
    hooked_read(module)
    with pytest.raises(HandshakeError, match=r"logit \d+ differs by .*, of which rounding explains"):
        certify_rule(module, "last", length=2, config=options, names=NAMES)


def test_casts_to_shorter_formats_are_none_in_the_run():
    class Casting(torch.nn.Module):
        def forward(self, tokens):
            x = torch.tensor([1.0, 2.0**-40], dtype=torch.float32).float().to(torch.bfloat16).half()
            return (x.sum() + torch.softmax(tokens.double(), -1, dtype=torch.float32)).float()

    found = float64_logits(Casting(), np.array([[0, 1]]))
    assert found.dtype == np.float64 and abs(found[0].sum() - 3 - 2.0**-39) < 1e-15


def test_a_module_that_cannot_be_run_is_refused_by_its_own_error():
    class Silent(Small):
        def forward(self, tokens):
            raise KeyError("attention_mask")

    module, options = small()
    module.__class__ = Silent
    assert "KeyError: 'attention_mask'" in certify_refused(
        lambda: certify(module, table(), config=options, names=NAMES)
    )
    assert MODELS  # the models of byheart's own form are asked by nobody
    assert "library" not in certify(MODELS["embeddings alone"], table(vocabulary=7, length=3))["headline"]


@pytest.mark.parametrize(("frequency", "agrees"), [(1.0 + 2.0**-22, True), (1.001, False), (float("nan"), False)])
def test_frequencies_that_are_put_in_are_those_of_the_module(frequency, agrees):
    """A host computes them in float32; what it has instead of them must not be replaced unseen."""
    maps = np.ones((1, 2, 2))
    block = Attention(maps, maps, maps, maps, attends="causal", frequencies=np.array([0.5]))
    model = Model(blocks=(block,), W_U=np.eye(2), W_E=np.eye(2), positions=4)
    module = torch.nn.Module()
    module.register_buffer("inv_freq", torch.tensor([0.5 * frequency]))
    module.register_buffer("original_inv_freq", torch.tensor([7.0]))  # a copy that nobody reads
    if agrees:
        with _recorded(module, model):
            assert module.inv_freq.tolist() == [0.5]
    else:
        with pytest.raises(HandshakeError, match="has other inv_freq"), _recorded(module, model):
            pass
    assert module.inv_freq.dtype == torch.float32


@pytest.mark.parametrize("error", [ImportError, AttributeError])
def test_a_library_that_has_the_module_no_more_is_not_asked(error, monkeypatch, tmp_path):
    """TransformerLens from version 4 on."""

    def gone(name):
        raise error(name)

    library = types.ModuleType("transformer_lens")
    library.__spec__ = importlib.util.spec_from_loader("transformer_lens", loader=None)
    library.__getattr__ = gone
    monkeypatch.setitem(sys.modules, "transformer_lens", library)
    name = "gelu neurons"
    figures = certify(written_for("transformer-lens", tmp_path / "in", name), task_of(name))
    assert figures["verdict"] == "PROVED" and figures["headline"].endswith("has no HookedTransformer")
    assert "no library was asked: transformer-lens" in figures["headline"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_every_family_agrees_and_a_weight_that_is_changed_behind_does_not(kind):
    host = Host(kind, 1)
    model = model_of(host.tensors, host.config)
    read = contexts(model.d_vocab, min(6, model.n_ctx), 1)
    before = {name: x.clone() for name, x in host.module.named_buffers()}
    assert ask_host(host.module, None, model, read).tells(1e-9)
    assert all(x.equal(before[name]) for name, x in host.module.named_buffers())
    by_name = ask_host(host.tensors, host.config, model, read)
    assert by_name.tells(1e-9) and by_name.agrees.endswith("with these tensors")
    next(host.module.parameters()).data *= 1.0 + 2.0**-7
    with pytest.raises(HandshakeError, match="computes something else"):
        ask_host(host.module, None, model, read)


class Halved(torch.nn.Module):
    """What a model without blocks computes, but for the contexts that end with one token."""

    def __init__(self, model, wrong=None):
        super().__init__()
        self.W_E, self.W_U = (torch.nn.Parameter(torch.tensor(each)) for each in (model.W_E, model.W_U))
        self.wrong = wrong

    def forward(self, tokens):
        logits = self.W_E[tokens[:, -1]] @ self.W_U
        return torch.where(tokens[:, -1:] == (-1 if self.wrong is None else self.wrong), 0.5 * logits, logits)


def test_nobody_agrees_about_contexts_of_which_no_bound_is_known(monkeypatch):
    """The output after the first token is so near to the largest number that nothing is known of a run there."""
    rows = np.array([[9e153, 1.0], [3.0, 1.0]])
    model = Model(blocks=(), W_U=np.array([[9e153, 1.0], [1.0, 5.0]]), W_E=rows, W_pos=np.zeros((1, 2)))
    first, second = np.array([[0]]), np.array([[1]])
    assert ask_host(Halved(model), None, model, second).agrees
    with pytest.raises(HandshakeError, match="computes something else"):
        ask_host(Halved(model, 1), None, model, second)
    monkeypatch.setattr("verify.forward.rows.row_balls._LOGIT_ENTRIES", 1)  # the outputs of one context at a time
    both = np.concatenate([first, second])
    assert np.isfinite(rounding_bound(model, both, number_format=FLOAT64)).tolist() == [False, True]
    for asked in ((first,), (both,), (second, first)):
        found = ask_host(Halved(model, 0), None, model, *asked)
        assert not found.agrees and "no bound" in found.why
