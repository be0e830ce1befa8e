"""Reads the marks of `torch.compiler` on functions: they are valid for this compiler too.

In:  a function that a program marked with `torch.compiler.disable`, `allow_in_graph`,
     `assume_constant_result` or `substitute_in_graph`, or the return value of one of these.
Out: `disabled_original(fn)`, `disables_what_it_calls(fn)`, `is_allowed_in_graph(fn)`,
     `has_constant_result(fn)`, `substitute_of(fn)`, `substituted()`.

torch.compile keeps some marks in its own modules. They are read if the program has imported them, and are
never imported here.
"""

from __future__ import annotations

import os
import sys
import types
from typing import Any

import torch

_FILES = os.path.join(os.path.dirname(torch.__file__), "_dynamo") + os.sep


def disabled_original(function: Any) -> Any:
    """The original, if `function` is the wrapper that `torch.compiler.disable` returned for it; else None.

    functools.wraps copies the marks to functions that no one disabled, so the wrapper's code is tested.
    torch disables some of its own functions when torch.compile is imported. The program did not disable
    these, so they do not count. The method of a module counts: the program has disabled the module.
    """
    if not is_wrapper(function):
        return None
    marks = function.__dict__
    original = marks.get("_torchdynamo_orig_callable") if marks.get("_torchdynamo_disable") is True else None
    of_torch = isinstance(original, types.FunctionType) and (original.__module__ or "").startswith("torch.")
    return None if of_torch else original


def is_wrapper(function: Any) -> bool:
    """Whether it is one of the wrappers of torch.compile.

    They share one code object, so a mark on the code would be a mark on all of them.
    """
    if not isinstance(function, types.FunctionType):
        return False
    code = function.__code__
    return "<locals>" in code.co_qualname and code.co_filename.startswith(_FILES)


def disables_what_it_calls(wrapper: types.FunctionType) -> bool:
    return wrapper.__dict__["_torchdynamo_disable_recursive"] is True


def is_allowed_in_graph(function: types.FunctionType) -> bool:
    rules = sys.modules.get("torch._dynamo.trace_rules")
    allowed = getattr(rules, "_allowed_callable_ids", ())  # the import of the module may be running
    return id(function) in allowed and id(function) not in getattr(rules, "_nonstrict_trace_callable_ids", ())


def has_constant_result(function: types.FunctionType) -> bool:
    return function.__dict__.get("_dynamo_marked_constant") is True


def substitute_of(function: Any) -> types.FunctionType | None:
    """The Python function that the program wants inlined in place of a function in C."""
    return _written_by_the_program(_substitutes().get(function))


def substituted() -> list[str]:
    """The functions in C for which the program has substitutes, by name."""
    return sorted(
        repr(function) for function, handler in _substitutes().items() if _written_by_the_program(handler)
    )


def _substitutes() -> dict[Any, Any]:
    """By function in C: what torch.compile inlines in its place."""
    module = sys.modules.get("torch._dynamo.variables.functions")
    polyfilled = getattr(
        module, "PolyfilledFunctionVariable", None
    )  # the import of the module may be running
    found: dict[Any, Any] = {} if polyfilled is None else polyfilled._get_polyfill_handlers()
    return found


def _written_by_the_program(handler: Any) -> types.FunctionType | None:
    """The substitute; None where it is one of torch.compile's own."""
    written = getattr(handler, "__torch_dynamo_polyfill__", None)
    if not isinstance(written, types.FunctionType) or written.__code__.co_filename.startswith(_FILES):
        return None
    return written
