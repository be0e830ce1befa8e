"""import_graphdef: names, outputs, both forms of files, constants, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from google.protobuf import text_format

import capture
from capture.graphdef import schema
from codegen.compile_fx import compile_fx
from tests.capture.graphdef.writer import TYPES, Writer, bits, numbered

TEXT = """
# ((input - 2) + 5) + 100, as a person writes it
node { name: "input" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
node { name: "two" op: "Const"
  attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 2 } } } }
node { name: "five" op: "Const"
  attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 5 } } } }
node { name: "hundred" op: "Const"
  attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 100 } } } }
node { name: "less" op: "Sub" input: "input" input: "two" attr { key: "T" value { type: DT_INT32 } } }
node { name: "more" op: "Add" input: "less:0" input: "five" attr { key: "T" value { type: DT_INT32 } } }
node { name: "result" op: "Add" input: "more" input: "hundred" input: "^less" }
versions { producer: 1987 }
"""


def test_one_addition_is_left_of_three():
    module = capture.import_graphdef(TEXT.encode())
    assert [node.target for node in module.graph.nodes if node.op == "call_function"] == [
        torch.sub,
        torch.add,
        torch.add,
    ]
    native = capture.jit_scalar(module, dtype=torch.int32)
    assert native(1) == 104
    body = [line for line in native.optimized_ir.splitlines() if " = " in line and line.startswith(" ")]
    assert len(body) == 1 and "= add i32 %p0_input" in body[0] and body[0].endswith(", 103")
    assert "w0, w0, #103" in native.asm_for("aarch64-linux-gnu")
    assert "r0, r0, #103" in native.asm_for("armv7-linux-gnueabihf")
    with pytest.raises(ValueError, match="LLVM has no target 'abacus'"):
        native.asm_for("abacus")
    x = torch.arange(4, dtype=torch.int32)
    assert torch.equal(module(x), x + 103) and torch.equal(module(input=x), x + 103)
    assert torch.equal(capture.compile(module)(x), x + 103)
    assert torch.equal(compile_fx(module, [x])(x)[0], x + 103)


def test_text_and_binary_and_files_are_the_same(tmp_path):
    graph = text_format.Parse(TEXT, schema.message("GraphDef")())
    binary, text = tmp_path / "graph.pb", tmp_path / "graph.pbtxt"
    binary.write_bytes(graph.SerializeToString())
    text.write_text(TEXT)
    x = torch.tensor([7], dtype=torch.int32)
    for source in (binary, str(text), graph.SerializeToString(), TEXT.encode()):
        assert capture.import_graphdef(source)(x).item() == 110


def test_names_become_arguments_and_buffers():
    writer = Writer()
    writer.placeholder("scope/x.in")
    writer.placeholder("unused")
    writer.const("dense/kernel", np.eye(3, dtype="float32"))
    writer.node("1st", "MatMul", "scope/x.in", "dense/kernel")
    module = capture.import_graphdef(writer.bytes())
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    assert [place.name for place in places] == ["scope_x_in"]
    assert places[0].meta["graphdef"] == {"name": "scope/x.in", "dtype": torch.float32, "shape": None}
    assert list(dict(module.named_buffers())) == ["dense_kernel"]
    x = torch.randn(2, 3)
    assert torch.equal(module(scope_x_in=x), x)


def test_outputs():
    writer = Writer()
    writer.placeholder("x")
    writer.const("axis", 1)
    writer.node("parts", "Split", "axis", "x", num_split=2)
    writer.node("a", "Neg", "parts")
    writer.node("b", "Exp", "parts:1")
    x = torch.randn(2, 4)
    first, second = x.split(2, 1)
    both = capture.import_graphdef(writer.bytes())(x)
    assert torch.equal(both[0], -first) and torch.equal(both[1], second.exp())
    assert torch.equal(capture.import_graphdef(writer.bytes(), "parts:1")(x), second)
    (alone,) = capture.import_graphdef(writer.bytes(), ["a:0"])(x)
    assert torch.equal(alone, -first)


def test_default_of_a_placeholder():
    writer = Writer()
    writer.const("half", 0.5)
    writer.node("scale", "PlaceholderWithDefault", "half", dtype=np.dtype("float32"))
    writer.placeholder("x")
    writer.node("y", "Mul", "x", "scale")
    module = capture.import_graphdef(writer.bytes())
    x = torch.randn(3)
    for run in (module, capture.compile(module)):
        assert torch.equal(run(x), x * 0.5)
        assert torch.equal(run(x, torch.tensor(3.0)), x * 3)


def test_sizes_of_the_input_stay_symbols():
    """A reshape by sizes of the input: one graph for all batches."""
    writer = Writer()
    writer.placeholder("x")
    writer.node("shape", "Shape", "x", T=np.dtype("float32"))
    for name, value in (("zero", [0]), ("one", [1]), ("six", 6), ("last", -1)):
        writer.const(name, value)
    writer.node("batch", "StridedSlice", "shape", "zero", "one", "one", shrink_axis_mask=1)
    writer.node("sizes", "Pack", "batch", "six", "last")
    writer.node("y", "Reshape", "x", "sizes")
    module = capture.import_graphdef(writer.bytes())
    before = capture.counters["graphs"]["compiled"]
    fast = capture.compile(module, dynamic=True, fullgraph=True)
    for batch in (2, 5, 9):
        x = torch.randn(batch, 12)
        assert torch.equal(fast(x), x.reshape(batch, 6, 2))
    assert capture.counters["graphs"]["compiled"] == before + 1


def test_gradients_flow_through_an_imported_graph():
    writer = Writer()
    writer.placeholder("x")
    writer.const("kernel", np.random.default_rng(0).standard_normal((3, 3, 2, 4)).astype("float32"))
    writer.node("conv", "Conv2D", "x", "kernel", strides=[1, 2, 2, 1], padding="SAME")
    writer.node("y", "Relu", "conv")
    module = capture.import_graphdef(writer.bytes())
    x = torch.randn(2, 6, 6, 2, requires_grad=True)
    (wanted,) = torch.autograd.grad(module(x).sum(), x)
    (found,) = torch.autograd.grad(capture.compile(module)(x).sum(), x)
    torch.testing.assert_close(found, wanted)


def test_a_deep_graph():
    writer = Writer()
    writer.placeholder("x")
    for number in range(3000):
        writer.node(f"n{number}", "Neg", f"n{number - 1}" if number else "x")
    assert capture.import_graphdef(writer.bytes())(torch.tensor(2.0)).item() == 2.0


@pytest.mark.parametrize("op, padding", [("MaxPool", "SAME"), ("AvgPool", "SAME"), ("AvgPool", "VALID")])
def test_windows_of_other_sizes(op, padding):
    """The padding of SAME depends on the sizes of the images."""
    writer = Writer()
    writer.placeholder("x")
    writer.node("y", op, "x", ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding=padding)
    module = capture.import_graphdef(writer.bytes())
    fast = capture.compile(module)
    for height, width in ((8, 8), (7, 8), (9, 5), (6, 7), (3, 3)):
        x = torch.randn(2, height, width, 3)
        torch.testing.assert_close(fast(x), module(x))


def test_positions_out_of_range():
    writer = Writer()
    writer.placeholder("x")
    writer.placeholder("i", "int32")
    writer.const("axis", 0)
    writer.node("y", "GatherV2", "x", "i", "axis")
    module = capture.import_graphdef(writer.bytes())
    for index in (-1, 3):
        with pytest.raises(IndexError):
            module(torch.randn(3), torch.tensor([index], dtype=torch.int32))


def test_parts_that_do_not_fit():
    writer = Writer()
    writer.placeholder("x")
    writer.const("axis", 0)
    writer.node("y", "Split", "axis", "x", num_split=2)
    with pytest.raises(ValueError, match="Split: 3 elements can't be split into 2 equal parts"):
        capture.import_graphdef(writer.bytes())(torch.randn(3))


# --- constants --------------------------------------------------------------------------------------------

ENCODED = {
    "float": (numbered(1, (2,), float_val=[1.5, -2]), torch.tensor([1.5, -2])),
    "double": (numbered(2, (1, 2), double_val=[0.1, 2]), torch.tensor([[0.1, 2]], dtype=torch.float64)),
    "int32": (numbered(3, (2,), int_val=[-1, 2]), torch.tensor([-1, 2], dtype=torch.int32)),
    "uint8": (numbered(4, (2,), int_val=[255, 2]), torch.tensor([255, 2], dtype=torch.uint8)),
    "int16": (numbered(5, (), int_val=[-300]), torch.tensor(-300, dtype=torch.int16)),
    "int8": (numbered(6, (2,), int_val=[-128, 127]), torch.tensor([-128, 127], dtype=torch.int8)),
    "complex64": (numbered(8, (2,), scomplex_val=[1, 2, 3, 4]), torch.tensor([1 + 2j, 3 + 4j])),
    "int64": (numbered(9, (1,), int64_val=[-(2**62)]), torch.tensor([-(2**62)])),
    "bool": (numbered(10, (2,), bool_val=[True, False]), torch.tensor([True, False])),
    "bfloat16": (
        numbered(14, (2,), half_val=bits(torch.tensor([1.5, -3], dtype=torch.bfloat16))),
        torch.tensor([1.5, -3], dtype=torch.bfloat16),
    ),
    "uint16": (numbered(17, (1,), int_val=[65535]), torch.tensor([65535], dtype=torch.uint16)),
    "complex128": (
        numbered(18, (1,), dcomplex_val=[1, -2]),
        torch.tensor([1 - 2j], dtype=torch.complex128),
    ),
    "half": (
        numbered(19, (2,), half_val=bits(torch.tensor([0.5, -7]).half())),
        torch.tensor([0.5, -7]).half(),
    ),
    "uint32": (numbered(22, (1,), uint32_val=[2**32 - 1]), torch.tensor([2**32 - 1], dtype=torch.uint32)),
    "uint64": (numbered(23, (1,), uint64_val=[2**63]), torch.tensor([2**63], dtype=torch.uint64)),
    "one for all": (numbered(1, (2, 3), float_val=[4]), torch.full((2, 3), 4.0)),
    "last for the rest": (numbered(3, (4,), int_val=[1, 2]), torch.tensor([1, 2, 2, 2], dtype=torch.int32)),
    "none": (numbered(9, (2,)), torch.tensor([0, 0])),
    "empty": (numbered(1, (0, 3)), torch.empty(0, 3)),
    "bytes": (
        numbered(3, (2,), tensor_content=np.array([5, -6], "<i4").tobytes()),
        torch.tensor([5, -6], dtype=torch.int32),
    ),
}


def _constant(proto) -> Writer:
    writer = Writer()
    made = writer.node("c", "Const", value=proto)
    made.attr["dtype"].type = proto.dtype
    return writer


@pytest.mark.parametrize("name", ENCODED)
def test_encoding(name):
    proto, wanted = ENCODED[name]
    found = capture.import_graphdef(_constant(proto).bytes(), "c")()
    assert found.dtype == wanted.dtype and found.shape == wanted.shape and torch.equal(found, wanted)


@pytest.mark.parametrize("dtype", TYPES)
def test_tensor_content(dtype):
    values = np.array([[0, 1, 1], [1, 0, 1]], dtype)
    writer = Writer()
    writer.const("c", values, dtype)
    found = capture.import_graphdef(writer.bytes(), "c")()
    assert np.array_equal(found.numpy(), values) and found.numpy().dtype == values.dtype


@pytest.mark.parametrize(
    "proto, text",
    [
        (numbered(1, (2,), tensor_content=b"abc"), "tensor_content has 3 bytes, 2 elements"),
        (numbered(1, (2,), float_val=[1, 2, 3]), "float_val has 3 elements, the tensor has 2"),
        (numbered(6, (1,), int_val=[300]), "a number of the tensor is out of the range of int8"),
        (numbered(1, (-1,), float_val=[1]), "the shape of the tensor is open"),
        (numbered(1, (2**20, 2**20), float_val=[1]), "too large for a GraphDef"),
        (numbered(7, (1,), string_val=[b"a"]), "the dtype DT_STRING has no form in torch"),
        (numbered(77, ()), "the dtype number 77 has no form in torch"),
    ],
)
def test_bad_constant(proto, text):
    with pytest.raises(capture.GraphDefError, match=r"node 'c' \(Const\): .*" + text):
        capture.import_graphdef(_constant(proto).bytes(), "c")


# --- what is refused --------------------------------------------------------------------------------------


def _small(**changes) -> Writer:
    writer = Writer()
    writer.placeholder("x")
    writer.node("y", "Relu", "x")
    made = writer.node("z", **{"op": "Neg", **changes})
    made.input.extend(["y"])
    return writer


def _refused(source, text, outputs=None):
    with pytest.raises(capture.GraphDefError) as error:
        capture.import_graphdef(source.bytes() if isinstance(source, Writer) else source, outputs)
    assert text in str(error.value)


def test_unknown_operator():
    text = "node 'z' (Reluu): the operator is unknown: the nearest that is known is Relu"
    _refused(_small(op="Reluu"), text)


def test_missing_inputs():
    writer = _small()
    writer.graph.node[1].input[0] = "gone"
    _refused(writer, "node 'y' (Relu): its input 'gone' is missing")
    writer.graph.node[1].input[0] = "x"
    writer.graph.node[2].input[0] = "y:1"
    _refused(writer, "node 'z' (Neg): its input 'y:1' is missing: 'y' (Relu) has 1 results")
    writer.graph.node[2].input[:] = ["y", "^gone"]
    _refused(writer, "node 'z' (Neg): its input '^gone' is missing")
    writer.graph.node[2].input[:] = ["y", "x"]
    _refused(writer, "node 'z' (Neg): it has 2 inputs, the operator takes 1")
    writer.graph.node[2].input[:] = ["y:first"]
    _refused(writer, "node 'z' (Neg): the input 'y:first' is no name")


def test_cycle():
    writer = _small()
    writer.graph.node[1].input[0] = "z"
    _refused(writer, "node 'z': a cycle: z <- y <- z", "z")


def test_names():
    writer = _small()
    writer.node("z", "Neg", "x")
    _refused(writer, "two nodes have the name 'z'")
    writer.graph.node[-1].name = ""
    _refused(writer, "node 3 (Neg) has no name")


def test_unknown_outputs():
    _refused(_small(), "the graph has no output 'zz': did you mean 'z'?", "zz")
    _refused(_small(), "node 'z' (Neg): the output 'z:1' is missing: the node has 1 results", "z:1")
    writer = Writer()
    writer.placeholder("x")
    _refused(writer, "no node is a result: name the outputs")


def test_attributes():
    writer = _small(op="Cast")
    _refused(writer, "node 'z' (Cast): the attribute 'DstT' is missing")
    writer.graph.node[2].attr["DstT"].i = 1
    _refused(writer, "node 'z' (Cast): the attribute 'DstT' is of the kind i, not type")
    writer.graph.node[2].attr["DstT"].type = 7
    _refused(writer, "node 'z' (Cast): the dtype DT_STRING has no form in torch")
    writer = _small(op="MaxPool", ksize=[1, 2, 2, 1], strides=[1, 2, 2, 2], padding="SAME")
    _refused(writer, "node 'z' (MaxPool): strides [1, 2, 2, 2]: only rows and columns")
    writer = _small(op="MaxPool", ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="HALF")
    _refused(writer, "node 'z' (MaxPool): the padding 'HALF' is not known")
    writer = _small(op="MaxPool", ksize=[2, 2], strides=[1, 2, 2, 1], padding="SAME")
    _refused(writer, "node 'z' (MaxPool): ksize has 2 numbers, not 4")


def test_truncated_files():
    whole = _small().bytes()
    for length in range(2, len(whole)):
        try:
            capture.import_graphdef(whole[:length])
        except capture.GraphDefError as error:
            text = str(error)
            assert "truncated" in text or "no node is a result" in text, (length, text)
            continue
        assert length == whole.index(b"\n\x01z") - 2  # two whole nodes are left
    _refused(whole[:-1], "in node 'z': the file is truncated")
    _refused(whole + b"\n", "after node 'z': the file is truncated")


def test_damaged_files():
    whole = _small().bytes()
    _refused(whole + b"\x0f\x01", "after node 'z': byte")
    _refused(b"", "the GraphDef has no nodes")
    _refused(b"\x12\xff\x00", "begins no node: the file is damaged, or no GraphDef")
    _refused(b"\x89PNG\r\n\x1a\n" * 3, "no GraphDef")
    for place in range(len(whole)):  # no other exception, whatever is damaged
        for byte in (0x00, 0x7F, 0xFF):
            damaged = whole[:place] + bytes([byte]) + whole[place + 1 :]
            try:
                capture.import_graphdef(damaged)
            except capture.GraphDefError:
                pass


def test_wrong_wire_type():
    name, op_as_number = b"\x0a\x01z", b"\x10\x05"
    node = name + op_as_number
    _refused(b"\x0a" + bytes([len(node)]) + node, "node 'z': the field 'op' of NodeDef is a varint")


def test_bad_text():
    _refused(TEXT.replace('op: "Sub"', 'opp: "Sub"').encode(), "node 'less': the text is no GraphDef: ")
    _refused(TEXT.replace("DT_INT32", "DT_INT31", 1).encode(), "node 'input': the text is no GraphDef: ")
    _refused(TEXT[: TEXT.index("versions") - 3].encode(), "node 'result': the text is no GraphDef: ")
    _refused(b"hello", "the text is no GraphDef: ")
    _refused(TEXT.replace("DT_INT32", "9" * 20, 1).encode(), "the text is no GraphDef: Value out of range")


def test_wrong_arguments():
    for source in (3, None, [b""]):
        with pytest.raises(capture.UsageError, match="import_graphdef takes a path or bytes"):
            capture.import_graphdef(source)
    for outputs in ([], [3], 3):
        with pytest.raises(capture.UsageError, match="outputs must be a name or a list of names"):
            capture.import_graphdef(TEXT.encode(), outputs)
    with pytest.raises(FileNotFoundError):
        capture.import_graphdef("/nowhere/graph.pb")


PROGRAM = """
import sys, capture
assert "google.protobuf" not in sys.modules and "capture.graphdef.build" not in sys.modules
sys.modules["google.protobuf"] = None
try:
    capture.import_graphdef(b"")
except capture.UsageError as error:
    print(error)
"""


def test_protobuf_is_imported_by_this_function_alone():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout.strip() == "import_graphdef needs protobuf: pip install capture-runtime[graphdef]"
