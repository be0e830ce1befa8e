"""export: native code that leaves the process.

In:  a function or module, arguments like those of later calls, a machine.
Out: `Exported`: LLVM text, assembly, object file, C header; `save` writes them with an example in C.

    exported = capture.export(model, (torch.randn(1, 64),))
    exported.save("build/model")                     # a C program links build/model/Model.o
    loaded = capture.load("build/model")             # in a later process, without the model's code
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from capture.hooks.compiled_module import original_of
from capture.report.arguments import checked_arguments, shown
from capture.report.errors import ExportError, UsageError

if TYPE_CHECKING:  # what writes code is imported with the first export: `import capture` does without
    from capture.exporting.structure import Form
    from capture.exporting.whole_graph import WholeGraph
    from codegen.export.machine import Machine
    from codegen.export.module import Native

PARAMETERS = ("inside", "arguments")
BLAS = ("generated", "cblas")


class Exported:
    """The native code of one function.

    name: of the function in C. machine: its triple, processor and features.
    llvm, optimized_llvm, asm: texts, without the bytes of the constants. object: the object file.
    header: the C header.
    """

    def __init__(self, native: Native, whole: WholeGraph, order: list[int]) -> None:
        self.native = native
        self.name = native.interface.name
        self.form: Form = whole.form
        self.result: Form = whole.result
        self.order = order
        self.tensor_count = len(whole.arguments)
        #: what the function does not read: a fixed size of it may have been read all the same
        self.unread = {
            place: (path, tensor)
            for place, (path, tensor) in enumerate(whole.arguments)
            if place not in order
        }

    @property
    def machine(self) -> Machine:
        return self.native.machine

    @property
    def llvm(self) -> str:
        return self.native.llvm

    @property
    def optimized_llvm(self) -> str:
        return self.native.optimised

    @property
    def asm(self) -> str:
        return self.native.assembly

    @property
    def object(self) -> bytes:
        return self.native.object

    @property
    def header(self) -> str:
        from codegen.export.header import header

        return header(self.native.interface, self.machine)

    def files(self) -> dict[str, bytes]:
        """The files of text and code by name; those that need a linker are not among them."""
        from codegen.export import example_mjs, wasm
        from codegen.export.example import example_c, makefile

        interface, code = self.native.interface, {f"{self.name}.o": self.object}
        texts = {
            f"{self.name}.s": self.asm,
            f"{self.name}.ll": self.llvm,
            f"{self.name}.optimized.ll": self.optimized_llvm,
            f"{self.name}.h": self.header,
        }
        if self.machine.is_wasm:
            code[f"{self.name}.wasm"] = wasm.linked(self.object, self.name)
            texts["example.mjs"] = example_mjs.example_mjs(interface, wasm.imports_of(self.object))
            texts["Makefile"] = example_mjs.MAKEFILE
        else:
            texts["example.c"] = example_c(interface)
            texts["Makefile"] = makefile(interface, self.machine)
        return {**code, **{name: text.encode() for name, text in texts.items()}}

    def save(self, folder: str) -> None:
        """Write all files into a new folder. Where a C compiler is there, also the library and the archive.

        Errors: ExportError if the folder exists or can't be written; nothing half-written is left behind.
        """
        from capture.exporting.folder import write_folder

        write_folder(folder, self)

    def __repr__(self) -> str:
        return (
            f"<exported {self.name} for {self.machine.triple} ({self.machine.cpu}), {len(self.object)} bytes>"
        )


@checked_arguments
def export(
    fn_or_module: Callable[..., Any],
    args: Sequence[Any],
    *,
    name: str | None = None,
    target: str | None = None,
    cpu: str | None = None,
    features: str | Sequence[str] = (),
    parameters: str = "inside",
    dynamic_sizes: Mapping[str, Mapping[int, Any]] | None = None,
    blas: str = "generated",
) -> Exported:
    """Native code of one call, for inference.

    The function runs once with copies of `args`, and has to be one graph. Numbers and texts in the arguments
    are fixed, and so are sizes without a name in `dynamic_sizes`; effects other than writes to argument
    tensors are not exported.

    args: a tuple of the arguments: tensors on the CPU, numbers and texts, in tuples, lists and dicts.
    name: of the function in C; else that of the function or class.
    target: "x86-64", "aarch64", "armv7", "riscv64", "wasm32", or a triple of LLVM; else this machine.
    cpu: a processor of the target: "x86-64" to "x86-64-v4", or a name of LLVM.
    features: of the processor, as LLVM writes them: "+neon,+vfp4".
    parameters: "inside" the object file, as read-only data, or "arguments" of the C function.
    dynamic_sizes: sizes that the caller chooses, by argument and dim: {"x": {0: "batch"}}, or with bounds
    {"x": {0: ("batch", 2, 512)}}. Dims with one name have one size.
    blas: "generated" products, or "cblas": those of float32 and float64 matrices of fixed sizes call it.

    Errors: ExportError names what has no native form, with its line; UsageError for wrong arguments.
    """
    from capture.exporting.native_graph import native_graph
    from capture.exporting.whole_graph import whole_graph
    from codegen.export.machine import UnknownMachine, machine_of

    if not callable(fn_or_module):
        raise UsageError(f"export takes a function or a module, not {shown(fn_or_module)}")
    if not isinstance(args, (tuple, list)):
        raise UsageError(f"export takes the arguments as a tuple: export(f, (x,)), not {shown(args)}")
    if parameters not in PARAMETERS:
        raise UsageError(f"parameters is {parameters!r}: write one of {', '.join(map(repr, PARAMETERS))}")
    if blas not in BLAS:
        raise UsageError(f"blas is {blas!r}: write one of {', '.join(map(repr, BLAS))}")
    try:
        machine = machine_of(target, cpu, features)
    except UnknownMachine as error:
        raise UsageError(f"export: {error}") from None
    if machine.is_wasm and blas == "cblas":
        raise UsageError("blas='cblas': a module of WebAssembly has no cblas to call")
    whole = whole_graph(fn_or_module, tuple(args), _name(fn_or_module, name), dynamic_sizes)
    named, inside = _named_tensors(fn_or_module), parameters == "inside"
    native, order = native_graph(whole, machine, named, inside, blas == "cblas")
    return Exported(native, whole, order)


def _name(fn: Any, name: str | None) -> str:
    from codegen.export.c_text import identifier

    if name is None:
        return identifier(str(getattr(fn, "__name__", type(fn).__name__)))
    if identifier(name) != name:
        raise UsageError(f"name is {name!r}: it has to be an identifier of C")
    return name


def _named_tensors(fn: Any) -> dict[int, str]:
    """By id of a tensor: its name among the parameters and buffers of the module."""
    if not isinstance(fn, torch.nn.Module):
        return {}
    module = original_of(fn)
    tensors = [
        *module.named_buffers(remove_duplicate=False),
        *module.named_parameters(remove_duplicate=False),
    ]
    return {id(tensor): name for name, tensor in reversed(tensors)}


__all__ = ["ExportError", "Exported", "export"]
