"""In:  kernels in loop IR (`codegen.kernel.ir.Kernel`), a `target.Target`.
Out: `emit.emit(kernel, target)`: LLVM text.
"""
