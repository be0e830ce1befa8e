"""Pieces of C that the header and the example share.

In:  names, dtypes, sizes.
Out: identifiers, types and expressions of C.

    c_number(Binary("mul", Sym("n"), Const(4)))   ->   "(n * 4)"
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import torch

from codegen.export.interface import Interface, Tensor
from codegen.export.layout import bytes_of
from codegen.kernel.ir import Binary, Const, Expr, Sym
from codegen.kernel.program import BufferInfo

#: by dtype: the type of C. Half precision is its encoding.
C_TYPES: dict[torch.dtype, str] = {
    torch.float32: "float", torch.float64: "double", torch.float16: "uint16_t", torch.bfloat16: "uint16_t",
    torch.int64: "int64_t", torch.int32: "int32_t", torch.int16: "int16_t", torch.int8: "int8_t",
    torch.uint8: "uint8_t", torch.bool: "bool",
}  # fmt: skip

#: names that mean something in C, in its library, or in the examples in C and JavaScript
KEYWORDS = frozenset((
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return",
    "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void",
    "volatile", "while", "class", "new", "delete", "this", "template", "namespace", "public", "private",
    "protected", "operator", "workspace", "true", "false", "main", "abs", "acos", "acosh", "asin", "asinh",
    "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs",
    "floor", "fma", "fmax", "fmin", "fmod", "free", "frexp", "hypot", "ldexp", "lgamma", "log", "log10",
    "log1p", "log2", "malloc", "memcpy", "memset", "modf", "move", "nan", "nextafter", "pow", "printf",
    "rand", "read", "remainder", "remove", "rint", "round", "roundeven", "sin", "sinh", "sqrt", "tan",
    "tanh", "tgamma", "time", "trunc", "write", "exit", "argc", "args", "argv", "await", "begin", "best",
    "bytes", "count", "end", "env", "export", "function", "import", "in", "instance", "kind", "let", "null",
    "of", "place", "results", "var", "view", "written", "yield", "file", "files", "found", "heap", "i",
    "memory", "path", "seconds", "size", "status", "timed",
))  # fmt: skip
OPERATORS = {"add": "+", "mul": "*", "mod": "%"}


def identifier(text: str, taken: Iterable[str] = ()) -> str:
    """A name in C like `text` that is not taken."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "arg"
    if name[0].isdigit():
        name = f"_{name}"
    used = {*taken, *KEYWORDS}
    found, number = name, 1
    while found in used:
        found, number = f"{name}_{number}", number + 1
    return found


def c_number(expr: Expr, quotient: str = "({} / {})") -> str:
    """`quotient`: how a division that rounds down is written; no number is negative."""
    if isinstance(expr, Const):
        return str(expr.value)
    if isinstance(expr, Sym):
        return expr.name
    assert isinstance(expr, Binary), "sizes have no axes"
    left, right = c_number(expr.left, quotient), c_number(expr.right, quotient)
    if expr.op == "floordiv":
        return quotient.format(left, right)
    if expr.op in OPERATORS:
        return f"({left} {OPERATORS[expr.op]} {right})"
    sign = "<" if expr.op == "min" else ">"
    return f"({left} {sign} {right} ? {left} : {right})"


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def tensor_bytes(tensor: Tensor) -> Expr:
    return bytes_of(BufferInfo(tensor.name, "", tensor.dtype, tensor.shape, tensor.strides, Const(0)))


def sized(tensor: Tensor) -> str:
    """`float32 [4, 8], strides (8, 1)`, for comments."""
    shape = ", ".join(map(c_number, tensor.shape))
    strides = ", ".join(map(c_number, tensor.strides))
    return f"{dtype_name(tensor.dtype)} [{shape}], strides ({strides})"


def parameters(interface: Interface) -> list[str]:
    """The parameters of the function, in their order."""
    return [
        *(
            f"{'' if tensor.written else 'const '}{C_TYPES[tensor.dtype]} *{tensor.name}"
            for tensor in interface.arguments
        ),
        *(f"int64_t {size.name}" for size in interface.sizes),
        *(f"{C_TYPES[tensor.dtype]} *{tensor.name}" for tensor in interface.memories),
        "void *workspace",
    ]


def size_parameters(interface: Interface) -> str:
    return ", ".join(f"int64_t {size.name}" for size in interface.sizes) or "void"


def size_arguments(interface: Interface) -> str:
    return ", ".join(size.name for size in interface.sizes)
