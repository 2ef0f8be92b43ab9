"""Files of GGUF, written by the library of llama.cpp: their numbers, configurations and tokenizers, and forged ones."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byheart.cli.main import main
from byheart.hosts.certify import certify
from byheart.hosts.gguf_file import GGUFFile, tokenizer_json
from byheart.hosts.reading import configuration_of, model_of, read_model
from constructions.errors import ByheartError, FileFormatError, InputError

gguf = pytest.importorskip("gguf")

SIZES = [(1, 32, 2, 2, 64), (2, 64, 4, 2, 96), (3, 96, 6, 3, 160)]  # layers, width, heads, heads of keys, neurons
ALPHABET = [*"abcdefghijklmnopqrstuvwxyz", "Ġ", *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
MERGES = ["Ġ a", "Ġ b", "a b"]
TOKENS = ["<s>", *ALPHABET, *("".join(pair.split(" ")) for pair in MERGES)]


def llama_tensors(size, seed=0):
    """A random model in the names and layout of transformers, in float32."""
    layers, width, heads, key_heads, neurons = size
    n = np.random.default_rng(seed).standard_normal
    each = width // heads
    shapes = {
        "input_layernorm": (width,), "post_attention_layernorm": (width,),
        "self_attn.q_proj": (width, width), "self_attn.k_proj": (key_heads * each, width),
        "self_attn.v_proj": (key_heads * each, width), "self_attn.o_proj": (width, width),
        "mlp.gate_proj": (neurons, width), "mlp.up_proj": (neurons, width), "mlp.down_proj": (width, neurons),
    }  # fmt: skip
    tensors = {"model.embed_tokens.weight": n((len(TOKENS), width)), "model.norm.weight": n(width)}
    for layer in range(layers):
        tensors |= {f"model.layers.{layer}.{name}.weight": n(shape) / 4.0 for name, shape in shapes.items()}
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


NAMES = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip


def turned_neighbours(tensor, heads):
    """The rows of queries or keys as llama.cpp converts them."""
    return tensor.reshape(heads, 2, len(tensor) // heads // 2, tensor.shape[1]).swapaxes(1, 2).reshape(tensor.shape)


def write_llama(path, size, tensors, *, kind="F32", fields=(), tokenizer=True, arch="llama"):
    """The file that llama.cpp would make of a model, its matrices of a type."""
    layers, width, heads, key_heads, neurons = size
    writer = gguf.GGUFWriter(path, arch)
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(neurons)
    writer.add_head_count(heads)
    writer.add_head_count_kv(key_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(len(TOKENS))
    if tokenizer:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_list(TOKENS)
        writer.add_token_types([3] + [1] * (len(TOKENS) - 1))
        writer.add_token_merges(MERGES)
    for name, value in fields:
        writer.add_string(name, value) if isinstance(value, str) else writer.add_uint32(name, value)
    for name, tensor in tensors.items():
        if name.startswith("model.layers."):
            _, _, layer, part = name.removesuffix(".weight").split(".", 3)
            called = f"blk.{layer}.{NAMES[part]}.weight"
            if arch == "llama" and part in ("self_attn.q_proj", "self_attn.k_proj"):
                tensor = turned_neighbours(tensor, heads if "q_proj" in part else key_heads)
        else:
            called = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}[
                name.removesuffix(".weight")
            ] + ".weight"
        if tensor.ndim == 2 and kind != "F32":
            stored = gguf.GGMLQuantizationType[kind]
            writer.add_tensor(called, gguf.quants.quantize(tensor, stored), raw_dtype=stored)
        else:
            writer.add_tensor(called, np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def configuration(size):
    layers, width, heads, key_heads, neurons = size
    return {
        "model_type": "llama", "num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads,
        "num_key_value_heads": key_heads, "intermediate_size": neurons, "rms_norm_eps": float(np.float32(1e-5)),
        "max_position_embeddings": 64, "rope_theta": 10000.0, "tie_word_embeddings": True, "head_dim": width // heads,
    }  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_file_is_the_model_that_was_converted(size, tmp_path):
    tensors = llama_tensors(size)
    path = write_llama(tmp_path / "model.gguf", size, tensors)
    assert read_model(path).sha256() == model_of(tensors, configuration(size)).sha256()
    assert configuration_of(path)["vocab_size"] == len(TOKENS)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
def test_quantized_numbers_are_what_the_library_makes_of_them(kind, tmp_path):
    size = SIZES[0]
    tensors = llama_tensors(size, seed=3)
    path = write_llama(tmp_path / "model.gguf", size, tensors, kind=kind)
    found, stored = GGUFFile.read(path).tensors(), gguf.GGMLQuantizationType[kind]
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and "q_proj" not in name and "k_proj" not in name:
            again = gguf.quants.dequantize(gguf.quants.quantize(tensor, stored), stored)
            assert np.array_equal(found[name], again.astype(np.float64)), name


def one_tensor(path, kind, blocks):
    """A file with one matrix whose blocks are these bytes."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("token_embd.weight", blocks, raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return GGUFFile.read(path).tensors()["model.embed_tokens.weight"]


def halves(block, place):
    return float(np.frombuffer(block[place : place + 2].tobytes(), "<f2")[0])


def q4_0(block):
    d, q = halves(block, 0), block[2:]
    return [d * (int(x & 15) - 8) for x in q] + [d * (int(x >> 4) - 8) for x in q]


def q4_1(block):
    d, m, q = halves(block, 0), halves(block, 2), block[4:]
    return [d * int(x & 15) + m for x in q] + [d * int(x >> 4) + m for x in q]


def q8_0(block):
    return [halves(block, 0) * int(x) for x in block[2:].view(np.int8)]


def q4_k(block):
    d, least, scales, q = halves(block, 0), halves(block, 2), [int(x) for x in block[4:16]], block[16:]
    numbers = []
    for j in range(8):
        if j < 4:
            scale, shift = scales[j] & 63, scales[j + 4] & 63
        else:
            scale = (scales[j + 4] & 15) | (scales[j - 4] >> 6) << 4
            shift = (scales[j + 4] >> 4) | (scales[j] >> 6) << 4
        some = q[32 * (j // 2) : 32 * (j // 2) + 32]
        four = some & 15 if j % 2 == 0 else some >> 4
        numbers += [d * scale * int(x) - least * shift for x in four]
    return numbers


def q6_k(block):
    low, high, scales, d = block[:128], block[128:192], block[192:208].view(np.int8), halves(block, 208)
    numbers = []
    for i in range(256):
        half, rest = divmod(i, 128)
        group, place = divmod(rest, 32)
        four = low[64 * half + 32 * (group % 2) + place] >> (4 * (group // 2)) & 15
        two = high[32 * half + place] >> (2 * group) & 3
        numbers.append(d * int(scales[8 * half + 2 * group + place // 16]) * (int(four | two << 4) - 32))
    return numbers


@pytest.mark.parametrize(
    "kind, size, halves_at, meant",
    [("Q4_0", 18, [0], q4_0), ("Q4_1", 20, [0, 2], q4_1), ("Q8_0", 34, [0], q8_0), ("Q4_K", 144, [0, 2], q4_k),
     ("Q6_K", 210, [208], q6_k)],
)  # fmt: skip
def test_blocks_mean_what_their_format_says(kind, size, halves_at, meant, tmp_path):
    rng = np.random.default_rng(5)
    blocks = rng.integers(0, 256, (3, size), dtype=np.uint8)
    for place in halves_at:  # of so few bits that no float32 rounds
        blocks[:, place : place + 2] = (rng.integers(1, 32, 3) / 64.0).astype("<f2").view(np.uint8).reshape(3, 2)
    found = one_tensor(tmp_path / "one.gguf", kind, blocks)
    assert found.tolist() == [meant(block) for block in blocks]


def test_facts_of_a_file_are_those_of_the_folder(tmp_path, capsys):
    pytest.importorskip("tokenizers")
    size = SIZES[1]
    path = write_llama(tmp_path / "model.gguf", size, llama_tensors(size, seed=2), kind="Q8_0")
    model, rows = read_model(path), {"ab c": "d", "Ab": "z", "x yz": "b a"}
    found = certify(path, rows, handshake=False)
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(GGUFFile.read(path)))
    again = certify(model, rows, tokenizer=tmp_path / "tokenizer.json", handshake=False)
    assert {name: found[name] for name in ("facts", "memorized", "wrong", "model")} == {
        name: again[name] for name in ("facts", "memorized", "wrong", "model")
    }
    assert found["facts"] == 3 == found["memorized"] + found["wrong"]
    (tmp_path / "facts.csv").write_text("ab c,d\nAb,z\n")
    code = main(
        ["certify", str(path), "--task", str(tmp_path / "facts.csv"), "--no-header", "--no-handshake", "--json"]
    )
    assert code in (0, 1) and json.loads(capsys.readouterr().out)["facts"] == 2


def test_texts_are_cut_at_what_was_merged(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    path = write_llama(tmp_path / "model.gguf", SIZES[0], llama_tensors(SIZES[0]))
    cut = tokenizers.Tokenizer.from_str(tokenizer_json(GGUFFile.read(path)))
    assert cut.encode("ab aB<s>").tokens == ["ab", "Ġa", "B", "<s>"]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_library_agrees_with_the_tensors_of_a_file(size, tmp_path):
    pytest.importorskip("transformers")
    path = write_llama(
        tmp_path / "model.gguf", size, llama_tensors(size, seed=4), kind="Q4_1" if size[1] > 32 else "F16"
    )
    found = certify(path, [["#1", "#2", "#3"], ["#4", "#5", "#6"]], cells="tokens")
    assert "agrees with LlamaForCausalLM" in found["headline"] and "tensors of the file" in found["headline"]


def module_of(arch):
    """A random model of `transformers` of an architecture, whose every tensor counts."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(7)
    if arch == "gpt2":
        config = transformers.GPT2Config(vocab_size=len(TOKENS), n_positions=16, n_embd=32, n_layer=2, n_head=4)
        module = transformers.GPT2LMHeadModel(config)
    else:
        sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
        sizes |= {"num_key_value_heads": 2, "max_position_embeddings": 16, "vocab_size": len(TOKENS)}
        if arch == "qwen3":
            sizes |= {"head_dim": 12}
        config = transformers.AutoConfig.for_model(arch, **sizes, tie_word_embeddings=False, rms_norm_eps=1e-5)
        module = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) / 4.0)
    return module


def write_module(path, arch, module):
    """The file that llama.cpp would make of a module, with the names of its own library."""
    config = module.config
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, arch.upper()), config.num_hidden_layers)
    writer = gguf.GGUFWriter(path, arch)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_feed_forward_length(4 * config.hidden_size if arch == "gpt2" else config.intermediate_size)
    if arch == "gpt2":
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_freq_base(10000.0)
    if arch == "qwen3":
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    for name, tensor in module.state_dict().items():
        if arch == "gpt2" and name == "lm_head.weight":  # tied
            continue
        numbers = tensor.float().numpy()
        if arch == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            numbers = numbers.T
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), np.ascontiguousarray(numbers))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("arch", ["gpt2", "qwen2", "qwen3"])
def test_a_file_of_another_architecture_is_the_module_that_it_was_made_of(arch, tmp_path):
    module = module_of(arch)
    path = write_module(tmp_path / "model.gguf", arch, module)
    module.save_pretrained(tmp_path / "folder")
    read, own = read_model(path), read_model(tmp_path / "folder")
    assert read.tensors().keys() == own.tensors().keys()
    assert all(np.array_equal(tensor, own.tensors()[name]) for name, tensor in read.tensors().items())
    found = certify(path, [["#1", "#2", "#3"], ["#4", "#5", "#6"]], cells="tokens")
    assert f"agrees with {type(module).__name__} of transformers" in found["headline"]


def test_a_field_of_the_architecture_that_is_not_known_is_refused(tmp_path):
    tensors = llama_tensors(SIZES[0])
    for name, value in (("llama.rope.scaling.factor", 8), ("llama.expert_count", 4), ("qwen2.block_count", 1)):
        path = write_llama(tmp_path / "model.gguf", SIZES[0], tensors, fields=[(name, value)])
        with pytest.raises(InputError, match=name):
            read_model(path)
    path = write_llama(tmp_path / "model.gguf", SIZES[0], tensors, fields=[("llama.rope.scaling.type", "yarn")])
    with pytest.raises(InputError, match="yarn"):
        read_model(path)
    with pytest.raises(InputError, match=r"general\.architecture is 'falcon'"):
        read_model(write_llama(tmp_path / "other.gguf", SIZES[0], tensors, arch="falcon"))


def test_a_tokenizer_that_is_not_known_is_refused_where_texts_are_cut(tmp_path):
    path = write_llama(tmp_path / "none.gguf", SIZES[0], llama_tensors(SIZES[0]), tokenizer=False)
    with pytest.raises(InputError, match="has no tokenizer"):
        certify(path, [["a", "b"]], handshake=False)
    assert certify(path, [["#1", "#2"]], cells="tokens", handshake=False)["facts"] == 1


def field(name, kind, content):
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + content


def header(*fields, tensors=0, count=None, version=3, magic=b"GGUF"):
    return magic + struct.pack("<IQQ", version, tensors, len(fields) if count is None else count) + b"".join(fields)


ARCHITECTURE = field(b"general.architecture", 8, struct.pack("<Q", 5) + b"llama")
TENSOR = struct.pack("<Q", 1) + b"x" + struct.pack("<I", 2)


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", "truncated"),
        (header(magic=b"GGML"), "does not begin"),
        (header(version=1), "version 1"),
        (header(version=3 << 24), "version"),
        (header(count=2**63), "more than its bytes"),
        (header(tensors=2**63), "more than its bytes"),
        (header(ARCHITECTURE, ARCHITECTURE), "twice"),
        (header(ARCHITECTURE)[:-3], "more than its bytes"),
        (header(field(b"a", 8, struct.pack("<Q", 2**62))), "more than its bytes"),
        (header(field(b"a", 9, struct.pack("<IQ", 4, 2**62))), "more than its bytes"),
        (header(field(b"a", 9, struct.pack("<IQ", 8, 2**62))), "more than its bytes"),
        (header(field(b"a", 9, struct.pack("<IQ", 9, 1))), "type 9"),
        (header(field(b"a", 77, b"")), "type 77"),
        (header(field(b"general.alignment", 4, struct.pack("<I", 0))), "alignment"),
        (header(tensors=1) + TENSOR + struct.pack("<QQIQ", 32, 4, 999, 0), "type of number 999"),
        (header(tensors=1) + TENSOR + struct.pack("<QQIQ", 32, 4, 0, 0), "truncated"),
        (header(tensors=1) + TENSOR + struct.pack("<QQIQ", 32, 2**60, 0, 0), "truncated"),
        (header(tensors=1) + TENSOR + struct.pack("<QQIQ", 33, 4, 8, 0), "multiple of 32"),
        (header(tensors=1) + TENSOR + struct.pack("<QQIQ", 0, 4, 0, 0), "rows of 0"),
        (header(tensors=1) + struct.pack("<Q", 1) + b"x" + struct.pack("<IQQ", 9, 1, 1), "9 dimensions"),
    ],
)
def test_forged_headers_end_in_a_sentence(data, said, tmp_path, capsys):
    path = tmp_path / "forged.gguf"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=said):
        read_model(path)
    assert main(["certify", str(path), "--task", str(path)]) == 2
    assert said in capsys.readouterr().err


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    return write_llama(path, SIZES[0], llama_tensors(SIZES[0]), kind="Q4_0").read_bytes()


@given(st.data())
@settings(max_examples=60)
def test_files_that_are_cut_off_or_changed_are_read_or_refused(whole, tmp_path_factory, data):
    path = tmp_path_factory.mktemp("changed") / "model.gguf"
    cut = data.draw(st.integers(0, len(whole)))
    changed = bytearray(whole if data.draw(st.booleans()) else whole[:cut])
    for _ in range(data.draw(st.integers(0, 4))):
        if changed:
            changed[data.draw(st.integers(0, min(len(changed), 4000) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(changed)
    try:
        read_model(path)
        tokenizer_json(GGUFFile.read(path))
    except ByheartError as error:
        assert len(str(error)) > 20 and len(str(error).splitlines()) == 1


def assembled(fields, tensors, data):
    """A file of these fields, of these tensors `(name, shape, type, offset)`, and of their bytes."""
    parts = [field(name, kind, content) for name, kind, content in fields]
    for name, shape, kind, offset in tensors:
        sizes = struct.pack(f"<{len(shape)}Q", *reversed(shape))
        parts.append(
            struct.pack("<Q", len(name))
            + name
            + struct.pack("<I", len(shape))
            + sizes
            + struct.pack("<IQ", kind, offset)
        )
    head = header(*parts, tensors=len(tensors), count=len(fields))
    return head + bytes(-len(head) % 32) + data


U32, F32, TEXT = 4, 6, 8
SMALL = {  # a layer of 32 dimensions with one head
    b"context_length": (U32, 8), b"embedding_length": (U32, 32), b"block_count": (U32, 1),
    b"feed_forward_length": (U32, 32), b"attention.head_count": (U32, 1),
    b"attention.layer_norm_rms_epsilon": (F32, 1e-5), b"rope.freq_base": (F32, 1e4),
}  # fmt: skip
PARTS = [b"attn_q", b"attn_k", b"attn_v", b"attn_output", b"ffn_gate", b"ffn_up", b"ffn_down"]
SHAPES = {b"token_embd.weight": (4, 32), b"output_norm.weight": (32,), b"blk.0.attn_norm.weight": (32,),
          b"blk.0.ffn_norm.weight": (32,), **{b"blk.0." + part + b".weight": (32, 32) for part in PARTS}}  # fmt: skip


def small_file(path, *, fields=(), without=(), tensors=(), entry=None):
    """A file of the smallest model, with other fields, tensors placed elsewhere, or one number that is another."""
    said = [(b"general.architecture", TEXT, struct.pack("<Q", 5) + b"llama")]
    for name, (kind, value) in {**SMALL, **dict(fields)}.items():
        if name not in without:
            content = value if isinstance(value, bytes) else struct.pack("<I" if kind == U32 else "<f", value)
            said.append((b"llama." + name, kind, content))
    placed, data = [], b""
    for name, shape in SHAPES.items():
        placed.append((name, shape, 0, len(data)))
        numbers = np.random.default_rng(len(placed)).standard_normal(shape).astype("<f4")
        if entry is not None and name == entry[0]:
            numbers.flat[3] = entry[1]
        data += numbers.tobytes()
    for place, change in dict(tensors).items():
        name, shape, kind, offset = placed[place]
        placed[place] = tuple({"name": name, "shape": shape, "kind": kind, "offset": offset, **change}.values())
    path.write_bytes(assembled(said, placed, data))
    return path


def long_list(count):
    return struct.pack("<IQ", U32, count) + bytes(4 * count)


@pytest.mark.parametrize(
    "forged, said",
    [
        ({}, ""),
        ({"fields": [(b"context_length", (U32, 0))]}, "llama.context_length is 0, expected an integer of at least 1"),
        ({"fields": [(b"context_length", (F32, 8.0))]}, "llama.context_length is 8.0, expected an integer"),
        ({"fields": [(b"block_count", (TEXT, struct.pack("<Q", 1) + b"1"))]}, "llama.block_count is '1', expected"),
        ({"fields": [(b"attention.head_count", (9, long_list(10**5)))]}, "llama.attention.head_count is [0, 0, 0"),
        ({"fields": [(b"attention.layer_norm_rms_epsilon", (F32, np.nan))]}, "epsilon is nan, expected a finite"),
        ({"fields": [(b"attention.layer_norm_rms_epsilon", (F32, -1.0))]}, "epsilon is -1.0, expected a finite"),
        ({"fields": [(b"rope.freq_base", (F32, np.inf))]}, "llama.rope.freq_base is inf, expected a finite number"),
        ({"fields": [(b"line\n\x00" * 100, (U32, 1))]}, r"'llama.line\n\x00line"),
        ({"fields": [(b"\xff\xfe", (U32, 1))]}, r"'llama.\udcff\udcfe' = 1"),
        ({"fields": [(b"unknown%d" % i, (U32, i)) for i in range(30)]}, "and 22 more"),
        ({"without": [b"block_count"]}, "num_hidden_layers"),
        ({"tensors": {0: {"offset": 8}}}, "token_embd.weight begins at byte 8, no multiple of 32"),
        ({"tensors": {1: {"offset": 0}}}, "token_embd.weight and output_norm.weight have bytes in common"),
        ({"tensors": {5: {"offset": 2**63}}}, "blk.0.attn_k.weight ends at byte"),
        ({"tensors": {5: {"shape": (2**31, 32)}}}, "blk.0.attn_k.weight ends at byte"),
        ({"tensors": {5: {"shape": (32, 32, 0)}}}, "blk.0.attn_k.weight has rows of 0"),
        ({"tensors": {5: {"kind": 4}}}, "blk.0.attn_k.weight has the type of number 4"),
        ({"tensors": {5: {"shape": (16, 32)}}}, "k_proj"),
        ({"tensors": {5: {"name": b"blk.0.attn_q.weight"}}}, "the tensor blk.0.attn_q.weight twice"),
        ({"tensors": {5: {"name": b"blk.1.attn_k.weight"}}}, "k_proj"),
        ({"tensors": {5: {"name": b"\n" * 1000}}}, r"the tensor '\n\n"),
        ({"entry": (b"blk.0.ffn_up.weight", np.nan)}, "blk.0.ffn_up.weight (F32) has numbers that are not finite"),
        ({"entry": (b"output_norm.weight", -np.inf)}, "output_norm.weight (F32) has numbers that are not finite"),
    ],
)  # fmt: skip
def test_forged_files_are_refused_in_one_sentence_that_names_what_is_wrong(forged, said, tmp_path):
    path = small_file(tmp_path / "forged.gguf", **forged)
    if not said:
        assert read_model(path).parameters
        return
    with pytest.raises(ByheartError) as caught:
        read_model(path)
    sentence = str(caught.value)
    assert said in sentence and len(sentence.splitlines()) == 1 and sentence.isprintable()
    assert len(sentence.removeprefix(str(path))) < 1200
    assert str(path) in sentence


def test_a_scale_that_is_not_a_number_is_named_by_its_tensor(tmp_path):
    blocks = gguf.quants.quantize(np.ones((4, 32), dtype=np.float32), gguf.GGMLQuantizationType.Q4_0)
    blocks[0, :2] = np.frombuffer(np.float16(np.nan).tobytes(), np.uint8)
    with pytest.raises(FileFormatError, match=r"token_embd\.weight \(Q4_0\) has numbers that are not finite"):
        one_tensor(tmp_path / "nan.gguf", "Q4_0", blocks)
