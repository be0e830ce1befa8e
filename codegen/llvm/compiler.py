"""LLVM: from the text of a module to an object file, or to assembly.

In:  LLVM text, and the machine that the code is for.
Out: the bytes of an object file; texts for readers and for other processes.

    compiler_of(Target.host()).object_file("define i32 @k_1f0a(..", is_scheduled=False)   ->   b"..ELF.."

It needs nothing of torch: the build of the extension uses it, too. One thread at a time may be in here;
in processes of programs that is who holds the lock of `codegen.launch.jit`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, Protocol

from codegen.kernel.errors import CompilationFailed
from codegen.llvm.target import Target

#: Each run of the passes adds a callback to the builder, and later runs call all of them. A new builder costs
#: 1.5 KB that are never freed.
_MODULES_A_BUILDER = 64


class Compiler:
    """LLVM's objects for one machine.

    The emitter writes explicit vectors, so it needs few passes. They take a fifth of the time of the usual
    pipeline, and the code is as fast.
    """

    def __init__(self, machine: Any) -> None:
        binding = llvm()
        self.machine = machine
        self._tuning = binding.create_pipeline_tuning_options(speed_level=2)
        self._modules = 0
        self._passes = binding.create_new_module_pass_manager()
        self._passes.add_sroa_pass()
        self._passes.add_instruction_combine_pass()
        self._passes.add_simplify_cfg_pass()

    def optimised(self, text: str) -> Any:
        """The module of `text` after the passes. Its constants and types are its own: they go with it."""
        try:
            module = llvm().parse_assembly(text, llvm().create_context())
            module.verify()
        except RuntimeError as error:
            raise CompilationFailed(f"LLVM does not accept the emitted text: {error}", text) from error
        if self._modules % _MODULES_A_BUILDER == 0:
            self._builder = llvm().create_pass_builder(self.machine, self._tuning)
        self._modules += 1
        self._passes.run(module, self._builder)
        return module

    def shared(self, text: str) -> str:
        module = self.optimised(text)
        passes = llvm().create_new_module_pass_manager()
        passes.add_new_gvn_pass()
        passes.add_instruction_combine_pass()
        passes.add_aggressive_dce_pass()
        passes.run(module, self._builder)
        return str(module)

    def written(self, text: str, data: str) -> WrittenCode:
        module = self.optimised(text)
        optimised = str(module)
        with _fewer_passes(is_scheduled=True):
            assembly = str(self.machine.emit_assembly(module))
            module = llvm().parse_assembly(optimised, llvm().create_context())  # the last one is used up
            if data:
                module.link_in(llvm().parse_assembly(data, module._context))
            return WrittenCode(text, optimised, assembly, bytes(self.machine.emit_object(module)))

    def object_file(self, text: str, is_scheduled: bool) -> bytes:
        module = self.optimised(text)
        with _fewer_passes(is_scheduled):
            return bytes(self.machine.emit_object(module))

    def assembly(self, text: str, is_scheduled: bool) -> str:
        module = self.optimised(text)
        with _fewer_passes(is_scheduled):
            return str(self.machine.emit_assembly(module))


#: options of LLVM: while it writes code, and afterwards
_NO_STRENGTH_REDUCTION = "-disable-lsr=true", "-disable-lsr=false"
_NO_SCHEDULER = "-enable-misched=false", "-enable-misched=true"


@contextmanager
def _fewer_passes(is_scheduled: bool) -> Iterator[None]:
    """LLVM writes code without its pass over the induction variables of loops.

    That pass takes half of the time for wide loops, and the kernels are no faster: the emitter counts each
    loop once. To put instructions in another order takes a sixth; the processor does so itself, so only
    products of matrices need it, and code for other machines. The options are those of the process, so others
    who use LLVM here get them back.
    """
    options = (_NO_STRENGTH_REDUCTION,) if is_scheduled else (_NO_STRENGTH_REDUCTION, _NO_SCHEDULER)
    for meanwhile, _ in options:
        llvm().set_option("capture", meanwhile)
    try:
        yield
    finally:
        for _, afterwards in options:
            llvm().set_option("capture", afterwards)


@cache
def llvm() -> Any:
    """llvmlite's binding. Before the first kernel it gets this machine's target, and no other."""
    from llvmlite import binding  # lazy: it loads LLVM, which a graph from the store does not need

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def _llvm_target(target: Target) -> Any:
    """LLVM's target for the architecture.

    A target of another machine serves only to read the code: this process cannot link it.
    """
    binding = llvm()
    if binding.get_default_triple().split("-")[0] == target.architecture:
        return binding.Target.from_default_triple()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(f"{target.architecture}-unknown-linux-gnu")


@cache
def compiler_of(target: Target) -> Compiler:
    return Compiler(
        _llvm_target(target).create_target_machine(
            cpu=target.cpu, features="", opt=2, reloc="pic", codemodel="small", jit=True
        )
    )


# --- other machines ----------------------------------------------------------------------------------------


class WrittenCode(NamedTuple):
    """What leaves the process. The texts are without the data of the object file."""

    llvm: str
    optimised: str
    assembly: str
    object: bytes


class OtherMachine(Protocol):
    """What LLVM has to know of a machine."""

    @property
    def triple(self) -> str: ...
    @property
    def cpu(self) -> str: ...
    @property
    def features(self) -> str: ...
    @property
    def abi(self) -> str: ...
    @property
    def is_wasm(self) -> bool: ...


def for_machine(machine: OtherMachine, text: str) -> tuple[Compiler, str]:
    """The compiler for another process, and what begins each of its modules: the passes have to know the size
    of pointers. CompilationFailed: LLVM has no such target; `text` is the module.
    """
    binding = llvm()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        found = binding.Target.from_triple(machine.triple)
    except RuntimeError as error:
        raise CompilationFailed(f"LLVM has no target {machine.triple}: {error}", text) from None
    made = (
        found.create_target_machine(
            cpu=machine.cpu, features=machine.features, opt=2, codemodel="default",
            reloc="static" if machine.is_wasm else "pic", abiname=machine.abi,
        )
    )  # fmt: skip
    return Compiler(made), f'target datalayout = "{made.target_data}"\ntarget triple = "{machine.triple}"\n'
