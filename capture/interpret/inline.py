"""Calls of Python functions: bind the arguments, then interpret the callee as part of the same graph.

In:  a FunctionVariable and its arguments.
Out: the variable that the call returns.

The graph breaks at the call of a disabled function, of a coroutine, and of a function that `frame_filter`
does not inline.

    def g(a): return a + 1
    g(x) * 2                  ->    add = x + 1; mul = add * 2
"""

from __future__ import annotations

import operator
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import torch

from capture.interpret.scope import Scope
from capture.policy import frame_filter, marks, torch_compile_marks
from capture.report.break_reasons import GraphBreak, at_once
from capture.report.config import config
from capture.variables.callables import debuggers
from capture.variables.callables.constant_result import constant_result, is_assumed_constant
from capture.variables.callables.function import (
    FunctionVariable,
    NestedFunctionVariable,
    UserFunctionVariable,
)
from capture.variables.callables.library import (
    dispatch,
    is_dispatch,
    is_recursive_repr,
    recursive_repr,
)
from capture.variables.containers.mapping import DictVariable
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import LazyVariable, ObservedException, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.exception import raise_new
from capture.variables.core.granted import granted
from capture.variables.core.rules import BY_CODE, lookup
from capture.variables.numbers.arithmetic import compute
from capture.variables.numbers.symbolic import SymbolicVariable, is_unbacked
from capture.variables.tensors.tensor import TensorVariable
from capture.variables.torch.compiled_callable import (
    call_original,
    compile_in_frame,
    is_compiled,
    is_torch_compiled,
)
from capture.variables.torch.nn_module import MODULE_METHODS, ModuleVariable
from capture.variables.torch.torch_compile_functions import OF_TORCH_COMPILE
from guards.kinds.containers import DictContainsGuard, LengthGuard
from guards.kinds.identity import IdentityGuard, SameObjectGuard
from guards.sources import (
    ConstantSource,
    DictItemSource,
    FunctionFieldSource,
    GlobalsSource,
    ItemSource,
    Source,
)

if TYPE_CHECKING:
    from capture.interpret.translator import Translator

CO_VARARGS, CO_VARKEYWORDS, CO_GENERATOR = 0x04, 0x08, 0x20
CO_COROUTINE, CO_ASYNC_GENERATOR = 0x80, 0x200


def call_function(
    tx: Translator, function: FunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    if isinstance(function, UserFunctionVariable):
        handler = special_call(tx, function, args)
        if handler is not None:
            return handler(tx, function, args, kwargs)
    code = function.code_object()
    if code.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
        raise GraphBreak("call_skipped", name=code.co_qualname, why="it is a coroutine")
    if tx.output.budget.refuses(code):
        raise GraphBreak("call_skipped", name=code.co_qualname, why="it takes too many instructions")
    if tx.depth >= config.inline_depth:
        raise GraphBreak("inline_depth", limit=str(config.inline_depth))
    callee = make_translator(tx, function, args, kwargs)
    if code.co_flags & CO_GENERATOR:
        from capture.variables.iterators.generator import GeneratorVariable  # lazy: import time

        return GeneratorVariable(callee)
    return run_callee(tx, callee)


def run_callee(tx: Translator, callee: Translator) -> Variable:
    try:
        return callee.run()
    except ObservedException as raised:
        raise raised from None


def special_call(tx: Translator, function: UserFunctionVariable, args: list[Variable]) -> Any:
    """The handler of a function that is not inlined, from the first rule that applies; else None."""
    value = function.function
    known = known_function(value, args)
    if known is not None:
        if value.__closure__:  # the guards on a function compare its code, which such functions share
            tx.output.guarding.identity(function, value)
        return known
    if value is torch._check_is_size and args and is_unbacked(args[0]):
        return _check_size
    by_code = BY_CODE.get(value.__code__)
    if by_code is not None:
        return by_code
    for is_marked, marked_call in (*OF_TORCH_COMPILE, *MARKED):
        if is_marked(value):
            return marked_call
    why = frame_filter.why_not_inlined(value)
    if why == frame_filter.PART_OF_CAPTURE:
        raise at_once(GraphBreak("call_of_capture", name=value.__qualname__))
    if why is not None:
        raise at_once(GraphBreak("call_skipped", name=value.__qualname__, why=why))
    return None


def known_function(value: FunctionType, args: list[Variable]) -> Any:
    """The handler of just that function, or None."""
    handler = lookup(value)
    if handler is not None:
        return lambda tx, f, args, kwargs: handler(tx, *args, **kwargs)
    method: Any = MODULE_METHODS.get(value)  # type: ignore[call-overload]
    if method is not None and args and isinstance(args[0], ModuleVariable):
        return lambda tx, f, args, kwargs: method(tx, *args, **kwargs)
    method_name = TENSOR_METHOD_NAMES.get(value)
    if method_name is not None and args and isinstance(args[0], TensorVariable):
        return lambda tx, f, args, kwargs: TensorVariable.call_method(
            args[0], tx, method_name, args[1:], kwargs
        )
    return None


#: tensor methods written in Python; a program calls them through the class: `torch.Tensor.__rsub__(x, 2)`
TENSOR_METHOD_NAMES = {
    value: name for name, value in vars(torch.Tensor).items() if isinstance(value, FunctionType)
}


# --- marked functions -------------------------------------------------------------------------------------


def _disabled(tx: Translator, function: UserFunctionVariable, args: Any, kwargs: Any) -> Variable:
    raise GraphBreak("call_disabled", name=function.function.__qualname__)


def _in_graph(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return tx.output.call_function(tx, function.function, args, kwargs)


def _explicit_break(tx: Translator, function: UserFunctionVariable, args: Any, kwargs: Any) -> Variable:
    given = next((given for given in (*args, *kwargs.values()) if given.python_type() is str), None)
    message = "" if given is None else str(given.as_constant())
    signal = GraphBreak("explicit", message=repr(message) if message else "")
    signal.message = message or None
    raise signal


def _constant_result(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    return constant_result(tx, function.function, args, kwargs)


def _is_capturing(tx: Translator, function: UserFunctionVariable, args: Any, kwargs: Any) -> Variable:
    return ConstantVariable(True)


def _is_compiling(tx: Translator, function: UserFunctionVariable, args: Any, kwargs: Any) -> Variable:
    return ConstantVariable(not frame_filter.gives_compilers_other_values(tx.code))


def _expect_true(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`torch._check` calls this. Guards say what is known of sizes here."""
    condition = args[0]
    if isinstance(condition, SymbolicVariable) and condition.is_unbacked:
        tx.output.unbacked.assert_true(condition)
        return ConstantVariable(True)
    return ConstantVariable(condition.truth(tx))


def _check_size(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`torch._check_is_size` of an unbacked symbol: the graph makes the same call."""
    limits = [compute(operator.ge, [args[0], ConstantVariable(0)])]
    limits += [compute(operator.le, [args[0], kwargs["max"]])] if "max" in kwargs else []
    for limit in limits:
        if limit is not None:
            tx.output.unbacked.expect(limit)
    given = {"max": kwargs["max"].as_proxy_for(function.function)} if "max" in kwargs else {}
    tx.output.graph.call_function(torch._check_is_size, (args[0].as_proxy(),), given)
    return ConstantVariable(None)


def _init_of_module(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """`nn.Module.__init__`. After any use of torch.compile in the process, torch has it wrapped in its own
    bookkeeping.
    """
    return function.closure_value(tx, "init").call(tx, args, kwargs)


def _is_function(module: str, name: str) -> Any:
    return lambda function: function.__name__ == name and function.__module__ == module


# Pairs: whether the function has the mark, and its handler. The first pair that applies counts.
MARKED: tuple[tuple[Any, Any], ...] = (
    (is_dispatch, dispatch),
    (is_recursive_repr, recursive_repr),
    (debuggers.is_stop, debuggers.stop),
    (marks.is_disabled, _disabled),
    (is_compiled, call_original("_capture_original")),
    (is_torch_compiled, call_original("_torchdynamo_orig_callable")),
    (_is_function("torch._dynamo.mutation_guard", "patched_init"), _init_of_module),
    (marks.is_allowed_in_graph, _in_graph),
    (torch_compile_marks.is_allowed_in_graph, _in_graph),
    (is_assumed_constant, _constant_result),
    (_is_function("torch.fx.experimental.symbolic_shapes", "expect_true"), _expect_true),
    (_is_function("capture.api", "graph_break"), _explicit_break),
    (_is_function("torch._dynamo.decorators", "graph_break"), _explicit_break),
    (_is_function("capture.api", "compile"), compile_in_frame),
    (_is_function("capture.api", "is_capturing"), _is_capturing),
    (_is_function("capture.api", "is_compiling"), _is_capturing),
    (_is_function("torch.compiler", "is_compiling"), _is_compiling),
    (_is_function("torch.compiler", "is_dynamo_compiling"), _is_capturing),
)


# --- arguments --------------------------------------------------------------------------------------------


def make_translator(
    tx: Translator, function: FunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Translator:
    code = function.code_object()
    if isinstance(function, UserFunctionVariable):
        granted().inlined[id(function.function)] = function.function
        signature = existing_signature(tx, function)
        same_module = function.function.__globals__ is root_of(tx).scope.globals
        _guard_globals(tx, function, same_module)
        scope = root_of(tx).scope if same_module else Scope(function.function.__globals__, root_of(tx).scope)
        closure = function.cells(tx.output)
        guard_defaults(tx, function, len(args), kwargs)
    else:
        assert isinstance(function, NestedFunctionVariable)
        signature = function.defaults, function.keyword_defaults
        scope, closure = function.scope, list(function.closure)
    bound = bind_arguments(_named(code, function), signature[0], signature[1], args, kwargs)
    callee = tx.frame(code, scope, bound, dict(zip(code.co_freevars, closure)))
    callee.function_source = function.source
    return callee


def _guard_globals(tx: Translator, function: UserFunctionVariable, same_module: bool) -> None:
    """Guard the globals of the function. A module that runs twice makes functions with one code object and
    different globals.
    """
    if function.source is None or isinstance(function.source, ConstantSource):
        return
    own = FunctionFieldSource(function.source, "__globals__")
    if same_module:
        tx.output.guards.add(SameObjectGuard.of(own, GlobalsSource()))
    else:
        tx.output.guards.add(IdentityGuard.of(own, function.function.__globals__))


def _named(code: CodeType, function: FunctionVariable) -> CodeType:
    """The code with the name that the texts of errors show: the function's own name."""
    name = function.function.__qualname__ if isinstance(function, UserFunctionVariable) else code.co_qualname
    return code if name == code.co_qualname else code.replace(co_qualname=name)


def root_of(tx: Translator) -> Translator:
    while tx.parent is not None:
        tx = tx.parent
    return tx


def existing_signature(
    tx: Translator, function: UserFunctionVariable
) -> tuple[list[Variable], dict[str, Variable]]:
    value, source = function.function, function.source
    defaults: list[Variable] = []
    for index, item in enumerate(value.__defaults__ or ()):
        defaults.append(lazy(tx, item, ItemSource(_field(source, "__defaults__"), index) if source else None))
    keyword: dict[str, Variable] = {}
    changed = tx.output.objects.changed_dict(value.__kwdefaults__)
    if changed is not None:
        return defaults, {key: item for key, (_, item) in changed.entries.items()}
    for name, item in (value.__kwdefaults__ or {}).items():
        keyword[name] = lazy(
            tx, item, DictItemSource(_field(source, "__kwdefaults__"), name) if source else None
        )
    return defaults, keyword


def guard_defaults(
    tx: Translator, function: UserFunctionVariable, given: int, kwargs: dict[str, Variable]
) -> None:
    """Guard the number of defaults and the names without a default, if arguments are missing or too many.

    A read of a default adds the guard on its value.
    """
    source, code = function.source, function.code_object()
    if source is None:
        return
    defaults, keyword_defaults = function.function.__defaults__, function.function.__kwdefaults__
    if given != code.co_argcount:
        place = FunctionFieldSource(source, "__defaults__")
        is_none = defaults is None
        tx.output.guards.add(IdentityGuard.of(place, None) if is_none else LengthGuard.of(place, defaults))
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    missing = [name for name in keyword_only if name not in kwargs and name not in (keyword_defaults or ())]
    if not missing:
        return
    place = FunctionFieldSource(source, "__kwdefaults__")
    if keyword_defaults is None:
        tx.output.guards.add(IdentityGuard.of(place, None))
        return
    for name in missing:
        tx.output.guards.add(DictContainsGuard.of(place, name, False))


def _field(source: Source | None, name: str) -> Source:
    assert source is not None
    return FunctionFieldSource(source, name)


def lazy(tx: Translator, value: Any, source: Source | None) -> Variable:
    return LazyVariable(tx.output, value, source) if source is not None else tx.wrap(value, None)


def bind_arguments(
    code: CodeType,
    defaults: list[Variable],
    keyword_defaults: dict[str, Variable],
    args: list[Variable],
    kwargs: dict[str, Variable],
) -> dict[str, Variable]:
    """Bind the arguments by Python's rules. Raises the program's TypeError with Python's text."""
    positional = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    bound: dict[str, Variable] = dict(zip(positional, args))
    rest = args[len(positional) :]
    extra: dict[str, Variable] = {}
    for name, value in kwargs.items():
        takes = name in keyword_only or name in positional[code.co_posonlyargcount :]
        if takes and name in bound:
            raise raise_new(TypeError, f"{code.co_qualname}() got multiple values for argument '{name}'")
        (bound if takes else extra)[name] = value
    if extra and not code.co_flags & CO_VARKEYWORDS:
        raise raise_new(TypeError, _unexpected(code, positional, extra))
    if rest and not code.co_flags & CO_VARARGS:
        raise raise_new(
            TypeError, _too_many(code, len(defaults), len(args), sum(name in bound for name in keyword_only))
        )
    _fill_defaults(code, positional, keyword_only, defaults, keyword_defaults, bound)
    position = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & CO_VARARGS:
        bound[code.co_varnames[position]] = TupleVariable(rest)
        position += 1
    if code.co_flags & CO_VARKEYWORDS:
        bound[code.co_varnames[position]] = DictVariable.from_strings(extra)
    return bound


def _unexpected(code: CodeType, positional: tuple[str, ...], extra: dict[str, Variable]) -> str:
    only_positional = [name for name in positional[: code.co_posonlyargcount] if name in extra]
    if only_positional:
        listed = ", ".join(only_positional)
        return (
            f"{code.co_qualname}() got some positional-only arguments passed as keyword arguments: '{listed}'"
        )
    return f"{code.co_qualname}() got an unexpected keyword argument '{next(iter(extra))}'"


def _too_many(code: CodeType, default_count: int, given: int, keyword_only: int) -> str:
    count = code.co_argcount
    takes = f"from {count - default_count} to {count}" if default_count else str(count)
    plural = "" if count == 1 and not default_count else "s"
    verb = "was" if given == 1 and not keyword_only else "were"
    also = ""
    if keyword_only:
        also = f" positional argument{'' if given == 1 else 's'}"
        also += f" (and {keyword_only} keyword-only argument{'' if keyword_only == 1 else 's'})"
    takes = f"{code.co_qualname}() takes {takes} positional argument{plural}"
    return f"{takes} but {given}{also} {verb} given"


def _fill_defaults(
    code: CodeType,
    positional: tuple[str, ...],
    keyword_only: tuple[str, ...],
    defaults: list[Variable],
    keyword_defaults: dict[str, Variable],
    bound: dict[str, Variable],
) -> None:
    by_name = dict(zip(reversed(positional), reversed(defaults)))  # a replaced __code__ may take fewer
    for names, source, kind in (
        (positional, by_name, "positional"),
        (keyword_only, keyword_defaults, "keyword-only"),
    ):
        missing = [n for n in names if n not in bound and n not in source]
        if missing:
            raise raise_new(TypeError, _missing_text(code, missing, kind))
        for name in names:
            if name not in bound:
                bound[name] = source[name]


def _missing_text(code: CodeType, missing: list[str], kind: str) -> str:
    names = [f"'{n}'" for n in missing]
    if len(names) == 1:
        listed = names[0]
    elif len(names) == 2:
        listed = f"{names[0]} and {names[1]}"
    else:
        listed = ", ".join(names[:-1]) + f", and {names[-1]}"
    plural = "" if len(names) == 1 else "s"
    return f"{code.co_qualname}() missing {len(names)} required {kind} argument{plural}: {listed}"
