"""From LLVM text to machine code in this process.

In:  kernels of loop IR, a target, optionally a store of object files.
Out: `CompiledKernel`s. Each has an address to call, the LLVM text and the assembly.

    compile_kernels([k0, k1]) -> [CompiledKernel(address=0x7f.., name="k0"), ...]

All new kernels of a call go into one LLVM module. Kernels of one form (`codegen.kernel.form`), such as those
of repeated layers, have one text. The text without the name identifies a kernel. So equal kernels of a
process share one piece of machine code, which lives as long as one of their CompiledKernels. The store keeps
the object file of a whole module under the module's text, because the same program asks for the same modules
again.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import re
import threading
import weakref
from functools import cache, cached_property
from typing import Any, Protocol

import llvmlite

from capture_records import dataclass
from codegen.kernel import forks
from codegen.kernel.form import KernelForm
from codegen.kernel.ir import Kernel
from codegen.launch import object_code
from codegen.launch.symbols import address_of, vector_function
from codegen.llvm.compiler import OtherMachine, WrittenCode, compiler_of, for_machine, llvm
from codegen.llvm.emit import emit_function
from codegen.llvm.function_text import module_of
from codegen.llvm.target import Target

log = logging.getLogger("capture.codegen.jit")

_PLACEHOLDER = "kernel"
#: one thread at a time uses LLVM's passes, the table of known kernels and the linker
_lock = forks.held_by_forks(threading.RLock(), forks.COMPILATION)
_library_numbers = itertools.count()


class ObjectStore(Protocol):
    """Keeps object files between processes. `parts` identify one: text, target, versions."""

    def get(self, parts: tuple[str, ...]) -> bytes | None: ...

    def put(self, parts: tuple[str, ...], data: bytes) -> None: ...


class MachineCode:
    """The linked code of one module. It is unloaded with its last reference."""

    def __init__(self, linked: Any, text: str, target: Target, is_scheduled: bool = False) -> None:
        self._linked = linked
        self.text = text
        self.target = target
        self.is_scheduled = is_scheduled

    def address(self, symbol: str) -> int:
        return int(self._linked[symbol])

    def size(self, symbol: str) -> int:
        """How long the code of a symbol is at most; 0 if that is not known."""
        return self._linked.size(symbol) if isinstance(self._linked, object_code.ObjectCode) else 0

    def object_file(self, store: ObjectStore | None) -> bytes:
        """The object file. It is compiled again where the store does not have it."""
        with _lock:
            return _object_file(self.text, self.target, store, self.is_scheduled)

    @cached_property
    def asm(self) -> str:
        """The assembly of the whole module, compiled again from its text."""
        with _lock:
            return compiler_of(self.target).assembly(self.text, self.is_scheduled)


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel as `i32 f(ptr buffers, ptr sizes, i64 begin, i64 end)` at `address`.

    The address is valid as long as this object lives.
    """

    name: str
    address: int
    symbol: str
    llvm_ir: str
    code: MachineCode

    @property
    def asm(self) -> str:
        """The assembly of this kernel."""
        body = re.search(rf"^{self.symbol}:$.*?^\.Lfunc_end\d+:", self.code.asm, re.MULTILINE | re.DOTALL)
        return body.group(0).replace(self.symbol, self.name) if body else self.code.asm


@dataclass(frozen=True, slots=True)
class _Source:
    """The text of a kernel. Its symbol is made from a hash of the text."""

    symbol: str
    declarations: dict[str, str]
    definition: str

    @classmethod
    def of(cls, kernel: Kernel, target: Target) -> _Source:
        declarations, definition = emit_function(kernel, target, _PLACEHOLDER)
        digest = hashlib.sha256(definition.encode()).hexdigest()[:24]
        symbol = f"k_{digest}"
        return cls(symbol, declarations, definition.replace(f"@{_PLACEHOLDER}(", f"@{symbol}(", 1))


# Machine code by (CPU, symbol). The references are weak, so code without a CompiledKernel is unloaded.
_known: weakref.WeakValueDictionary[tuple[str, str], MachineCode] = weakref.WeakValueDictionary()


def compile_kernels(
    kernels: list[Kernel], *, target: Target | None = None, store: ObjectStore | None = None
) -> list[CompiledKernel]:
    """Machine code for each kernel, in order. It is thread-safe. Raises EmitError, CompilationFailed."""
    target = target or Target.host()
    sources = _sources(kernels, target)
    with _lock:
        codes = _machine_code({source.symbol: source for source in sources}, target, store)
        return [
            CompiledKernel(
                name=kernel.name,
                address=codes[source.symbol].address(source.symbol),
                symbol=source.symbol,
                llvm_ir=module_of(
                    [(source.declarations, source.definition.replace(source.symbol, kernel.name, 1))]
                ),
                code=codes[source.symbol],
            )
            for kernel, source in zip(kernels, sources, strict=True)
        ]


def _sources(kernels: list[Kernel], target: Target) -> list[_Source]:
    """The text of each kernel. Kernels of one form (repeated layers) share one text."""
    known: dict[Any, _Source] = {}
    sources: list[_Source] = []
    for kernel in kernels:
        form = KernelForm(kernel).whole
        if form not in known:
            known[form] = _Source.of(kernel, target)
        sources.append(known[form])
    return sources


def _machine_code(
    sources: dict[str, _Source], target: Target, store: ObjectStore | None
) -> dict[str, MachineCode]:
    """Machine code by symbol: known code of this process, and one new module for the rest."""
    found = {symbol: code for symbol in sources if (code := _known.get((target.cpu, symbol))) is not None}
    missing = [source for symbol, source in sorted(sources.items()) if symbol not in found]
    if missing:
        text = module_of([(source.declarations, source.definition) for source in missing])
        linked = _link(_object_file(text, target, store), text, [source.symbol for source in missing])
        code = MachineCode(linked, text, target)
        for source in missing:
            found[source.symbol] = _known[target.cpu, source.symbol] = code
    return found


def compile_text(text: str, symbols: list[str], target: Target) -> MachineCode:
    """The linked code of a module of LLVM text, scheduled. Raises CompilationFailed."""
    with _lock:
        linked = _link(compiler_of(target).object_file(text, is_scheduled=True), text, symbols)
        return MachineCode(linked, text, target, is_scheduled=True)


def code_for(text: str, data: str, machine: OtherMachine) -> WrittenCode:
    """Code for another process: a module of LLVM text, with the constants of the module `data`.

    Raises CompilationFailed.
    """
    with _lock:
        compiler, head = for_machine(machine, text)
        return compiler.written(head + text, head + data if data else "")


def optimised_text(text: str, target: Target) -> str:
    """The module after passes that also share repeated expressions, which kernels do not have."""
    with _lock:
        return compiler_of(target).shared(text)


# --- compiling --------------------------------------------------------------------------------------------


@cache
def _versions() -> tuple[str, ...]:
    return (f"llvmlite {llvmlite.__version__}", f"llvm {'.'.join(map(str, llvm().llvm_version_info))}")


def _object_file(text: str, target: Target, store: ObjectStore | None, is_scheduled: bool = False) -> bytes:
    if store is None:
        return compiler_of(target).object_file(text, is_scheduled)
    parts = (text, target.cpu, *_versions())
    data = store.get(parts)
    if data is None:
        data = compiler_of(target).object_file(text, is_scheduled)
        store.put(parts, data)
    return data


# --- linking ----------------------------------------------------------------------------------------------


@cache
def _linker() -> Any:
    """LLVM's linker, one for the process. It only links, so its own target does not matter."""
    machine = llvm().Target.from_default_triple().create_target_machine(opt=2, jit=True)
    return llvm().create_lljit_compiler(machine)


def _link(object_file: bytes, text: str, symbols: list[str]) -> Any:
    """The linked code. It keeps the memory alive and knows the addresses of `symbols`."""
    return object_code.load(object_file, address_of) or _link_by_llvm(object_file, text, symbols)


def _link_by_llvm(object_file: bytes, text: str, symbols: list[str]) -> Any:
    """The same for other processors, and for files with more than code and constants."""
    library = llvm().JITLibraryBuilder().add_object_img(object_file).add_current_process()
    for symbol in symbols:
        library.export_symbol(symbol)
    for name in external_names(text):
        address = vector_function(name)
        if address is not None:
            library.import_symbol(name, address)
    return library.link(_linker(), f"capture{next(_library_numbers)}")


def external_names(text: str) -> list[str]:
    """The functions of Sleef and libm that a module calls. LLVM does not provide them."""
    return re.findall(r"^declare [^@\n]*@(?!llvm\.)(\w+)\(", text, re.MULTILINE)
