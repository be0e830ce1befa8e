"""An example for Node that calls an exported function in a WebAssembly module.

In:  the interface, the functions of libm that the module imports.
Out: the text of example.mjs.

    node example.mjs                    # arguments made by a formula; prints the results
    node example.mjs x.bin out.bin      # a file of raw numbers for each argument and for each result
    node example.mjs batch=8 ...        # sizes that the caller chooses come first
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import torch

from codegen.export.c_text import c_number, tensor_bytes
from codegen.export.example import usual_size
from codegen.export.interface import WORKSPACE_ALIGNMENT, Interface, Tensor
from codegen.kernel.ir import Expr

#: by dtype: the array of JavaScript. Half precision is its encoding.
ARRAYS: dict[torch.dtype, str] = {
    torch.float32: "Float32Array", torch.float64: "Float64Array", torch.float16: "Uint16Array",
    torch.bfloat16: "Uint16Array", torch.int64: "BigInt64Array", torch.int32: "Int32Array",
    torch.int16: "Int16Array", torch.int8: "Int8Array", torch.uint8: "Uint8Array", torch.bool: "Uint8Array",
}  # fmt: skip
#: functions of libm that JavaScript has under another name, or as an operator
FORMS = {"fmod": "(x, y) => x % y", "exp2": "(x) => 2 ** x"}
OF_MATH = frozenset(
    ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh", "exp",
     "expm1", "floor", "hypot", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh", "trunc")
)  # fmt: skip

EXAMPLE = """\
// Calls %(name)s. Run it with `make run`.
import { readFileSync, writeFileSync } from "node:fs";

// what the module needs of libm; a function that JavaScript does not have has to be written here
const env = {
%(functions)s};
const bytes = readFileSync(new URL("%(name)s.wasm", import.meta.url));
const { instance } = await WebAssembly.instantiate(bytes, { env });
const { memory, heap, %(name)s } = instance.exports;

let free = heap.value;
function place(bytes) {
    const found = free;
    free += Math.ceil(Math.max(bytes, 1) / %(alignment)d) * %(alignment)d;
    const missing = free - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65536));
    return found;
}

const files = process.argv.slice(2);
%(sizes)sconst args = %(arguments)s;
const results = %(results)s;
const workspace = place(%(workspace)s);
for (const tensor of [...args, ...results]) tensor.at = place(tensor.bytes);
const count = (tensor) => tensor.bytes / tensor.kind.BYTES_PER_ELEMENT;
const view = (tensor) => new tensor.kind(memory.buffer, tensor.at, count(tensor));
const written = [...args.filter((tensor) => tensor.written), ...results];

args.forEach((tensor, n) => {
    const values = view(tensor);
    if (files.length) new Uint8Array(memory.buffer, tensor.at, tensor.bytes).set(readFileSync(files[n]));
    else if (values instanceof Float32Array || values instanceof Float64Array)
        values.forEach((_, i) => { values[i] = ((i * 37 + 11) %% 101) / 50 - 1; });
});
const status = %(name)s(%(call)s);
if (status !== 0) throw new Error(`%(name)s failed: ${status}`);
written.forEach((tensor, n) => {
    if (files.length)
        writeFileSync(files[args.length + n], new Uint8Array(memory.buffer, tensor.at, tensor.bytes));
    else console.log(`${tensor.name}: ${Array.from(view(tensor).slice(0, 8)).join(" ")}`);
});
"""

MAKEFILE = """\
run:
\tnode example.mjs

.PHONY: run
"""


def example_mjs(interface: Interface, imports: Sequence[str]) -> str:
    call = [
        *(f"args[{place}].at" for place in range(len(interface.arguments))),
        *(f"BigInt({size.name})" for size in interface.sizes),
        *(f"results[{place}].at" for place in range(len(interface.memories))),
        "workspace",
    ]
    return EXAMPLE % {
        "name": interface.name,
        "alignment": WORKSPACE_ALIGNMENT,
        "functions": "".join(f"    {name}: {_in_javascript(name)},\n" for name in sorted(imports)),
        "sizes": "".join(
            f"const {size.name} = files[0]?.startsWith('{size.name}=') "
            f"? parseInt(files.shift().slice({len(size.name) + 1})) : {usual_size(size)};\n"
            for size in interface.sizes
        ),
        "arguments": _list(interface.arguments),
        "results": _list(interface.memories),
        "workspace": _number(interface.workspace),
        "call": ", ".join(call),
    }


def _list(tensors: Sequence[Tensor]) -> str:
    rows = "".join(
        f"    {{ name: {json.dumps(tensor.name)}, kind: {ARRAYS[tensor.dtype]}, "
        f"bytes: {_number(tensor_bytes(tensor))}, written: {json.dumps(tensor.written)} }},\n"
        for tensor in tensors
    )
    return f"[\n{rows}]"


def _number(expr: Expr) -> str:
    return c_number(expr, "Math.floor({} / {})")


def _in_javascript(name: str) -> str:
    """A function of libm; those of floats round to a float."""
    short = name.removesuffix("f") if name not in OF_MATH else name
    if name in OF_MATH or name in FORMS:
        return FORMS.get(name, f"Math.{name}")
    if short in OF_MATH or short in FORMS:
        function = FORMS.get(short, f"Math.{short}")
        return f"(x, y) => Math.fround(({function})(x, y))"
    return f'() => {{ throw new Error("JavaScript has no {name}"); }}'
