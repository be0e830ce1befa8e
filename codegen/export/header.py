"""The C header of an exported function.

In:  its interface and its machine.
Out: the text of NAME.h: the function, the bytes of its workspace, and `NAME_info`, which describes its
     arguments and results.

    int32_t mlp(const float *x, float *out0, void *workspace);
"""

from __future__ import annotations

from codegen.export.c_text import (
    C_TYPES,
    c_number,
    dtype_name,
    parameters,
    size_parameters,
    sized,
    tensor_bytes,
)
from codegen.export.interface import WORKSPACE_ALIGNMENT, Interface, Result, Tensor
from codegen.export.machine import Machine
from codegen.kernel.ir import Const, Expr

MOST_DIMS = 8

INFO_TYPES = f"""\
#ifndef CAPTURE_INFO_TYPES
#define CAPTURE_INFO_TYPES
/* Sizes and strides count elements. An open size, and what depends on one, is -1. */
typedef struct {{
    const char *name;
    const char *dtype;
    int32_t rank;
    int64_t shape[{MOST_DIMS}];
    int64_t strides[{MOST_DIMS}];
    size_t alignment; /* of the pointer, in bytes */
    int64_t bytes;
    bool written; /* the function writes to it */
}} capture_tensor_info;

typedef struct {{
    const char *name;
    int32_t argument_count;
    const capture_tensor_info *arguments;
    int32_t result_count;
    const capture_tensor_info *results;
    int64_t workspace_bytes;
    size_t workspace_alignment;
}} capture_function_info;
#endif
"""


def header(interface: Interface, machine: Machine) -> str:
    name = interface.name
    guard = f"CAPTURE_{name.upper()}_H"
    return f"""\
/* {name}, for {machine.triple} ({machine.cpu}).
 *
{_comment(interface)}
 *
 * Arguments, results and the workspace do not overlap. The function keeps nothing: threads may call it at the
 * same time, each with a workspace of its own.{_about_failures(interface)}{_about_cblas(interface)}
 */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

int32_t {name}({", ".join(parameters(interface))});

/* The bytes of the workspace, which begins at a multiple of {WORKSPACE_ALIGNMENT}. */
static inline int64_t {name}_workspace_bytes({size_parameters(interface)}) {{
    return {c_number(interface.workspace)};
}}

{INFO_TYPES}
static const capture_tensor_info {name}_arguments[] = {{
{_rows(interface.arguments)}}};
static const capture_tensor_info {name}_results[] = {{
{_rows(interface.memories)}}};
static const capture_function_info {name}_info = {{
    "{name}", {len(interface.arguments)}, {name}_arguments, {len(interface.memories)}, {name}_results,
    {_fixed(interface.workspace)}, {WORKSPACE_ALIGNMENT}}};

#ifdef __cplusplus
}}
#endif

#endif
"""


def _comment(interface: Interface) -> str:
    lines = []
    for tensor in interface.arguments:
        what = "read and written" if tensor.written else "read"
        path = f" ({tensor.path})" if tensor.path not in ("", tensor.name) else ""
        lines.append(f" *   {tensor.name}{path}: {sized(tensor)}; {what}")
    for size in interface.sizes:
        argument = interface.arguments[size.argument].name
        lines.append(f" *   {size.name}: dim {size.dim} of {argument}, from {size.least} to {size.most}")
    for place, tensor in enumerate(interface.memories):
        lines.append(f" *   {tensor.name}: {sized(tensor)}; written{_about_results(interface, place)}")
    return "\n".join(lines)


def _about_results(interface: Interface, memory: int) -> str:
    """Which results lie in the memory, where that is not plain."""
    places = [
        f"{position} ({_layout(result)})"
        for position, result in enumerate(interface.results)
        if result.source == "memory" and result.place == memory
    ]
    return f"; result {', '.join(places)}"


def _layout(result: Result) -> str:
    shape = ", ".join(map(c_number, result.shape))
    start = "" if result.offset == Const(0) else f" from element {c_number(result.offset)}"
    return f"[{shape}]{start}"


def _about_failures(interface: Interface) -> str:
    if not interface.may_fail:
        return " It returns 0."
    return "\n * It returns 0, or another number where a check failed: an index out of range, an assertion."


def _about_cblas(interface: Interface) -> str:
    return "\n * Link it with a library that has cblas, whose ints have 32 bits." if interface.cblas else ""


def _rows(tensors: list[Tensor]) -> str:
    rows = "".join(
        f'    {{"{tensor.name}", "{dtype_name(tensor.dtype)}", {len(tensor.shape)}, {_list(tensor.shape)}, '
        f"{_list(tensor.strides)}, sizeof({C_TYPES[tensor.dtype]}), {_fixed(tensor_bytes(tensor))}, "
        f"{'true' if tensor.written else 'false'}}},\n"
        for tensor in tensors
    )
    return rows or "    {0}\n"


def _list(numbers: tuple[Expr, ...]) -> str:
    return "{" + (", ".join(map(_fixed, numbers)) or "0") + "}"


def _fixed(expr: Expr) -> str:
    return str(expr.value) if isinstance(expr, Const) else "-1"
