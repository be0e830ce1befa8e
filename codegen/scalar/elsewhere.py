"""Assembly of a scalar function for another machine.

In:  LLVM text after optimisation; a triple.
Out: assembly text. ValueError: LLVM does not know the triple.

    assembly(text, "aarch64-linux-gnu")   ->   "...  add w0, w0, #103  ret ..."
"""

from __future__ import annotations

import llvmlite.binding as llvm


def assembly(text: str, triple: str) -> str:
    """The text must be free of instructions of one architecture: LLVM ends the process at them."""
    if "@llvm.x86." in text or "@llvm.aarch64." in text:
        raise ValueError(f"the function uses instructions of this machine that {triple} may not have")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        machine = llvm.Target.from_triple(triple).create_target_machine(opt=2)
    except RuntimeError as error:
        raise ValueError(f"LLVM has no target {triple!r}: {error}") from None
    module = llvm.parse_assembly(text)
    module.triple = triple
    return str(machine.emit_assembly(module))
