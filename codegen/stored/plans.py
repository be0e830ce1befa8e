"""A compiled graph without a backward as plain data: its launch plan and its machine code.

In:  a `CompiledGraph`, a store of object files.
Out: plain data, and a `StoredGraph` made of them.

    {"words": bytes, "objects": [...], "code": [object files], "kernels": [[word, file, symbol], ...], ...}

The plan has the addresses of kernels: `kernels` says where they go. Its operators are stored by name, its
constants with their contents.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

import _capture
import torch

from codegen.launch import object_code, own_product
from codegen.launch.compiled import CompiledGraph, Counts, calibrate
from codegen.launch.direct_calls import callable_of
from codegen.launch.levels import host_level
from codegen.launch.symbols import address_of
from codegen.stored.names import Malformed, NotStored
from codegen.stored.values import Reader, Writer, items_of

HEAD = 7  # words of a plan before its inputs (native/graph/compiled_graph_type.c)
WORD = 8
LARGEST_CONSTANT = 1 << 20  # bytes of a constant that is stored
FROM_STORE = "the graph came from the store of compiled graphs: CAPTURE_DISK_CACHE=0 compiles it and shows it"


class StoredGraph(CompiledGraph):
    """A compiled graph that was not compiled in this process. It has no loops and no LLVM text."""

    counts: Counts
    codes: list[object_code.ObjectCode]

    loops = llvm_ir = asm = FROM_STORE
    may_fail = True  # the data may say otherwise

    @property
    def kernels(self) -> list[Any]:
        return []


# --- to data ----------------------------------------------------------------------------------------------


def plan_data(graph: CompiledGraph, writer: Writer, store: Any) -> dict[str, Any]:
    """Raises NotStored."""
    if graph.is_stopgap:
        raise NotStored("its kernels could not be compiled")
    by_address = {kernel.address: kernel for kernel in graph.compiled}
    files: dict[int, int] = {}  # by id of the machine code
    code: list[int] = []
    kernels: list[Any] = []
    for place, address in kernel_addresses(graph.plan):
        kernel = by_address[address]
        if kernel.code.target.cpu != host_level():
            raise NotStored("machine code of a level that is not this processor's")
        if id(kernel.code) not in files:
            file = kernel.code.object_file(store)
            if object_code.load(file, address_of) is None:
                raise NotStored("machine code that only LLVM can link")
            files[id(kernel.code)] = len(code)
            code.append(writer.blob(file))
        kernels.append([place, files[id(kernel.code)], kernel.symbol])
    operators = {id(callable_of(s.op)): s.op for s in graph.program.extern_steps}
    return {
        "words": writer.blob(graph.plan),
        "objects": [object_data(item, operators, writer) for item in graph.objects],
        "code": code,
        "kernels": kernels,
        "views": writer.write(graph.views),
        "extern_calls": graph.extern_calls,
        "native_calls": graph.native_calls,
        "own_products": graph.own_products,
        "counts": list(graph.counts),
        "may_fail": graph.may_fail,
    }


def object_data(value: Any, operators: dict[int, Any], writer: Writer) -> Any:
    if id(value) in operators:
        return {"call": writer.write(operators[id(value)])}
    if isinstance(value, torch.Tensor):
        return {"constant": tensor_data(value, writer)}
    return {"value": writer.write(value)}


def tensor_data(value: torch.Tensor, writer: Writer) -> Any:
    plain = type(value) is torch.Tensor and value.device.type == "cpu" and value.layout is torch.strided
    if not plain or value.requires_grad or value.nbytes > LARGEST_CONSTANT:
        raise NotStored("a constant tensor")
    if value.is_conj() or value.is_neg() or not value.is_contiguous():
        raise NotStored("a constant tensor with a layout of its own")
    data = value.detach().reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
    return [writer.write(value.dtype), list(value.shape), writer.blob(data), value.is_inference()]


def kernel_addresses(words: bytes) -> Iterator[tuple[int, int]]:
    """(position, address) of each kernel in a launch plan."""
    plan = struct.unpack(f"{len(words) // WORD}q", words)
    _, inputs, _, outputs, _, specs, _ = plan[:HEAD]
    place = HEAD + 2 * inputs + 2 * outputs
    for _ in range(specs):
        place += 4 + 2 * plan[place + 1]
    kernel, _ = _capture.plan_instructions["KERNEL"]
    while place < len(plan):
        if plan[place] == kernel:
            yield place + 2, plan[place + 2]
        place += 2 + plan[place + 1]


# --- from data --------------------------------------------------------------------------------------------


def plan_of(data: dict[str, Any], reader: Reader, fallback: Callable[..., Any] | None) -> StoredGraph:
    """Raises Malformed."""
    codes = [code_at(place, reader) for place in data["code"]]
    words = bytearray(reader.read({"bytes": data["words"]}))
    for place, number, symbol in data["kernels"]:
        struct.pack_into("q", words, WORD * place, codes[number][symbol])
    calibrate()
    objects = tuple(object_of(item, reader) for item in items_of(data["objects"]))
    graph = StoredGraph(bytes(words), objects, fallback)
    graph.codes = codes
    graph.views = reader.read(data["views"])
    graph.extern_calls, graph.native_calls = data["extern_calls"], data["native_calls"]
    graph.own_products = data["own_products"]
    if graph.own_products:
        own_product.want()
    graph.counts = Counts(*data["counts"])
    graph.may_fail = data["may_fail"]
    return graph


def code_at(place: int, reader: Reader) -> object_code.ObjectCode:
    """Plans of one file share their machine code."""
    if place not in reader.made:
        reader.made[place] = code_of(reader.read({"bytes": place}))
    code: object_code.ObjectCode = reader.made[place]
    return code


def code_of(file: bytes) -> object_code.ObjectCode:
    code = object_code.load(file, address_of)
    if code is None:
        raise Malformed("machine code in a form that is not known")
    return code


def object_of(data: Any, reader: Reader) -> Any:
    ((kind, content),) = data.items()
    return OBJECTS[kind](content, reader)


def tensor_of(content: Any, reader: Reader) -> torch.Tensor:
    dtype, shape, place, inference = content
    data, kind = bytearray(reader.read({"bytes": place})), reader.read(dtype)
    with torch.inference_mode(bool(inference)):
        flat = torch.frombuffer(data, dtype=kind) if data else torch.empty(0, dtype=kind)
        return flat.reshape(shape)


OBJECTS: dict[str, Callable[[Any, Reader], Any]] = {
    "call": lambda content, reader: callable_of(reader.read(content)),
    "constant": tensor_of,
    "value": lambda content, reader: reader.read(content),
}
