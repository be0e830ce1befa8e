"""Loop IR -> LLVM text.

In:  `codegen.kernel.ir.Kernel`.
Out: `emit(kernel, target) -> str`; `Target` says for which processors.
"""

from codegen.llvm.emit import EmitError, emit, emit_function, module_of
from codegen.llvm.target import LEVELS, Target

__all__ = ["LEVELS", "EmitError", "Target", "emit", "emit_function", "module_of"]
