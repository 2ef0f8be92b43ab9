"""The graphs of ONNX; what onnxruntime computes of them is in tests/contract/test_hosts.py."""

import numpy as np
import pytest

from byheart.hosts.exported.onnx_graph import HOST, NATIVE_FILE, PLAIN_FILE
from constructions.tasks.arrays import enumerated_task
from tests.exports import MODELS, attention, of_tokens, task_of
from verify import enclose_logits

onnx = pytest.importorskip("onnx", reason="needs `pip install 'byheart[onnx]'`")


@pytest.mark.parametrize(("file", "opset", "native"), [(PLAIN_FILE, 18, 0), (NATIVE_FILE, 23, 1)])
def test_one_graph_has_the_operator_attention_and_the_other_is_plain(file, opset, native, tmp_path):
    model = MODELS["network of one attention"]
    HOST.write(HOST.convert(model), tmp_path, "float64")
    graph = onnx.load(tmp_path / file)
    assert [each.version for each in graph.opset_import] == [opset]
    assert [node.op_type for node in graph.graph.node].count("Attention") == native
    tensors = {each.name: onnx.numpy_helper.to_array(each) for each in graph.graph.initializer}
    assert all(np.array_equal(tensors[name], tensor) for name, tensor in model.tensors().items())


@pytest.mark.parametrize("name", ["causal attention with shifts", "gelu neurons", "layer normalization as in GPT-2"])
def test_the_reference_evaluation_of_onnx_agrees(name, tmp_path):
    from onnx.reference import ReferenceEvaluator

    from byheart.hosts.parity import parity

    task = task_of(name)
    HOST.write(HOST.convert(MODELS[name]), tmp_path, "float64")
    (logits,) = ReferenceEvaluator(str(tmp_path / PLAIN_FILE)).run(None, {"tokens": task.contexts})
    assert parity(MODELS[name], task, {"onnx": logits}, dtype="float64", exact=True)["onnx"].agrees is True


def test_no_attribute_rounds_the_scale_of_the_scores(tmp_path):
    model = HOST.convert(MODELS["causal attention with shifts"])
    assert model.blocks[0].score_root == 1
    HOST.write(model, tmp_path, "float64")
    (node,) = (node for node in onnx.load(tmp_path / NATIVE_FILE).graph.node if node.op_type == "Attention")
    assert {each.name: each.f for each in node.attribute if each.name == "scale"} == {"scale": 1.0}


@pytest.mark.parametrize("attends", ["last", "all", "causal"])
def test_attention_without_heads_is_one_of_a_head_that_writes_nothing(attends, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs `pip install 'byheart[onnx]'`")
    model = of_tokens(attention(n_heads=0, attends=attends))
    HOST.write(HOST.convert(model), tmp_path, "float64")
    task = enumerated_task(model.d_vocab, model.n_ctx)
    found = HOST.run(tmp_path, task, "float64")
    assert {PLAIN_FILE, NATIVE_FILE} == set(found)
    for logits in found.values():
        assert np.allclose(logits, enclose_logits(model, task.contexts).midpoint, rtol=1e-12, atol=1e-12)
