"""A frozen graph of TensorFlow as a GraphModule: run, compiled, printed. TensorFlow is not needed."""

from __future__ import annotations

import torch

import capture


def node(name, op, *inputs, **attributes):
    """A node in protobuf's text form."""
    read = "".join(f' input: "{source}"' for source in inputs)
    kinds = "".join(f' attr {{ key: "{key}" value {{ {value} }} }}' for key, value in attributes.items())
    return f'node {{ name: "{name}" op: "{op}"{read}{kinds} }}\n'


def const(name, number):
    tensor = f"tensor {{ dtype: DT_INT32 tensor_shape {{ }} int_val: {number} }}"
    return node(name, "Const", dtype="type: DT_INT32", value=tensor)


GRAPH = (
    node("input", "Placeholder", dtype="type: DT_INT32")
    + const("two", 2)
    + const("five", 5)
    + const("hundred", 100)
    + node("less", "Sub", "input", "two")
    + node("more", "Add", "less", "five")
    + node("result", "Add", "more", "hundred")
)


def main() -> None:
    graph = capture.import_graphdef(GRAPH.encode())  # or the path of a .pb or .pbtxt file
    print(graph.code)
    x = torch.arange(4, dtype=torch.int32)
    print("as torch:", graph(x))
    print("compiled:", capture.compile(graph)(x))
    native = capture.jit_scalar(graph, dtype=torch.int32)
    print("on one number:", native(7))
    print(native.optimized_ir)
    lines = native.asm_for("aarch64-linux-gnu").splitlines()
    print("on ARM:", *(line.strip() for line in lines if "w0" in line or line.strip() == "ret"), sep="\n    ")
    try:
        capture.import_graphdef(GRAPH.replace('"Sub"', '"Subtract"').encode())
    except capture.GraphDefError as error:
        print("what it does not know:", error)


if __name__ == "__main__":
    main()
