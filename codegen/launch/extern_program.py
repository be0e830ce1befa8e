"""A Program without kernels: it calls every ATen operator.

In:  a functional ATen graph.
Out: a `Program` of ExternSteps. It is slow but correct, for graphs or machines that lowering cannot serve.

    y = relu(x @ w)   ->   ExternStep(aten.mm.default, (x, w) -> mm)
                           ExternStep(aten.relu.default, (mm,) -> y)
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx

from codegen.kernel.ir import Const
from codegen.kernel.program import BufferInfo, ExternStep, Program, Ref
from codegen.trace.module_runner import fetch


def extern_program(graph: fx.Graph) -> Program:
    """One ExternStep for each call of the graph, in order."""
    program = Program()
    for node in graph.nodes:
        BUILDERS[node.op](program, node)
    return program


def add_buffer(program: Program, name: str, kind: str, value: torch.Tensor) -> None:
    shape, strides = (
        tuple(Const(size) for size in value.shape),
        tuple(Const(stride) for stride in value.stride()),
    )
    program.buffers[name] = BufferInfo(name, kind, value.dtype, shape, strides, Const(0))


def add_placeholder(program: Program, node: fx.Node) -> None:
    program.inputs.append(node.name)
    if isinstance(node.meta["val"], torch.Tensor):
        add_buffer(program, node.name, "input", node.meta["val"])


def add_constant(program: Program, node: fx.Node) -> None:
    root = node.graph.owning_module
    assert root is not None, "a graph with constants has a module that holds them"
    value = fetch(root, str(node.target))
    add_buffer(program, node.name, "constant", value)
    program.buffers[node.name].value = value


def to_ref(node: fx.Node) -> Any:
    value = node.meta.get("val")
    return Ref(node.name) if isinstance(value, torch.Tensor) else value


def add_call(program: Program, node: fx.Node) -> None:
    if node.target is operator.getitem:
        return  # its tensor is an output of the call that gives the tuple
    value = node.meta.get("val")
    if isinstance(value, (list, tuple)):
        items = {user.args[1]: user.name for user in node.users}
        outputs = tuple(items.get(i) for i in range(len(value)))
        values = list(value)
    else:
        outputs = (node.name,) if isinstance(value, torch.Tensor) else ()
        values = [value]
    for name, item in zip(outputs, values):
        if name is not None:
            add_buffer(program, name, "temp", item)
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), to_ref)
    program.steps.append(ExternStep(node.target, tuple(args), dict(kwargs), outputs))


def add_output(program: Program, node: fx.Node) -> None:
    outputs = node.args[0]
    assert isinstance(outputs, (tuple, list))
    for item in outputs:
        program.outputs.append(item.name if isinstance(item, fx.Node) else item)


BUILDERS = {
    "placeholder": add_placeholder,
    "get_attr": add_constant,
    "call_function": add_call,
    "output": add_output,
}
