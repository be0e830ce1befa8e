"""Function transforms: `torch.func.vmap`, `grad`, `jacrev` and similar functions, also nested.

In:  `vmap(f, in_dims)(x)` and similar calls.
Out: one node. It applies the transform to a body, which has the operations of `f` in a separate graph
     (`capture.variables.tensors.subgraph`).

    vmap(grad(lambda row: row.sin().sum()))(x)    ->    vmap(x), on a body that calls grad, on a body that
                                                        calls sin and sum

At translation time the transform itself runs on fake tensors, and calls the interpreter in place of `f`. So
torch's own rules decide about levels, structures and errors.
"""

from __future__ import annotations

import functools
import itertools
import threading
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch._functorch import eager_transforms
from torch._functorch.vmap import vmap_impl

from capture.report.break_reasons import GraphBreak, SkipFrame
from capture.report.retry import Retry
from capture.variables.containers.mapping import pairs_of
from capture.variables.containers.sequence import TupleVariable
from capture.variables.core.base import ObservedException, Variable
from capture.variables.core.rules import BY_CODE, inner_code, rule
from capture.variables.tensors import subgraph
from capture.variables.tensors.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.output.python_code import PythonCode
    from capture.variables.callables.function import UserFunctionVariable
    from capture.variables.core.protocols import Interpreter


def _grad(func: Any, argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """`torch.func.grad` without its wrapper for torch.compile, which would import torch.compile."""
    return lambda *args, **kwargs: eager_transforms.grad_impl(func, argnums, has_aux, args, kwargs)


def _grad_and_value(func: Any, argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    return lambda *args, **kwargs: eager_transforms.grad_and_value_impl(func, argnums, has_aux, args, kwargs)


#: Transforms, and the functions that a node runs for them.
TRANSFORMS: dict[Any, Callable[..., Any]] = {
    torch.func.vmap: torch.func.vmap,
    torch.vmap: torch.vmap,
    torch.func.grad: _grad,
    torch.func.grad_and_value: _grad_and_value,
    torch.func.jacrev: torch.func.jacrev,
    torch.func.jacfwd: torch.func.jacfwd,
    torch.func.hessian: torch.func.hessian,
    torch.func.functionalize: torch.func.functionalize,
}


class TransformVariable(Variable):
    """`transform(function, *args, **options)`."""

    def __init__(
        self, transform: Any, function: Variable, args: list[Variable], options: dict[str, Variable]
    ) -> None:
        super().__init__(None)
        self.transform = transform
        self.function = function
        self.args = args
        self.options = options

    def python_type(self) -> type:
        return types.FunctionType

    def describe(self) -> str:
        return f"{self.transform.__name__}({self.function.describe()})"

    def truth(self, tx: Interpreter) -> bool:
        return True

    def call(self, tx: Interpreter, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        positional = [subgraph.plain(tx, a, no_tensor) for a in self.args]
        options = {name: subgraph.plain(tx, v, no_tensor) for name, v in self.options.items()}
        apply = functools.partial(_call_transformed, self.transform, positional, options)
        return transformed(tx, self.transform.__name__, apply, self.function, TupleVariable(args), kwargs)

    def reconstruct(self, code: PythonCode) -> None:
        code.load_callable(self.transform)
        for value in (self.function, *self.args, *self.options.values()):
            code.load(value)
        code.call(1 + len(self.args) + len(self.options), tuple(self.options))

    def children(self) -> list[Variable]:
        return [self.function, *self.args, *self.options.values()]


def _call_transformed(
    transform: Any,
    positional: list[Any],
    options: dict[str, Any],
    function: Callable[..., Any],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A call of what the transform makes of the function."""
    return TRANSFORMS[transform](function, *positional, **options)(*args, **kwargs)


def no_tensor(value: TensorVariable) -> Any:
    raise GraphBreak("not_a_graph_argument", value=value)


#: The most bodies of one node.
MAX_CALLS = 32

#: `apply(function, *args, **kwargs)`
Apply = Callable[..., Any]


def transformed(
    tx: Interpreter,
    name: str,
    apply: Apply,
    function: Variable,
    args: Variable,
    kwargs: dict[str, Variable],
    keep: list[subgraph.Body] | None = None,
) -> Variable:
    """A node for `apply(function, *args, **kwargs)`.

    A transform may call the function again, for each chunk of a batch. Each call has its own body, because
    the function may do something else each time. The bodies are added to `keep`.
    """
    bodies = keep if keep is not None else []
    given, nodes = given_values(tx, args, kwargs)

    def interpreted(*args: Any, **kwargs: Any) -> Any:
        if len(bodies) == MAX_CALLS:
            raise GraphBreak("call", value=f"{name}, which calls {function.describe()} many times")
        bodies.append(subgraph.outline(tx, function, args, kwargs))
        return bodies[-1].example

    example = on_fakes(tx, name, functools.partial(apply, interpreted, *given[0], **given[1]))
    if not bodies:
        raise GraphBreak("call", value=f"{name}, which does not call {function.describe()}")
    return transform_node(tx, name, apply, bodies, given, nodes, example)


def given_values(
    tx: Interpreter, args: Variable, kwargs: dict[str, Variable]
) -> tuple[tuple[Any, Any], list[torch.fx.Node]]:
    """The arguments with fake tensors, and the nodes of the tensors."""
    nodes: list[torch.fx.Node] = []

    def take(tensor: TensorVariable) -> torch.Tensor:
        if tensor.cls is not torch.Tensor:  # the results would have that class too
            raise GraphBreak("subclass", value=tensor.cls.__name__)
        nodes.append(tensor.node)
        return tensor.fake

    return (
        subgraph.plain(tx, args, take),
        {k: subgraph.plain(tx, v, take) for k, v in kwargs.items()},
    ), nodes


def transform_node(
    tx: Interpreter,
    name: str,
    apply: Apply,
    bodies: list[subgraph.Body],
    given: tuple[Any, Any],
    nodes: list[torch.fx.Node],
    example: Any,
    returned: Iterable[TensorVariable] = (),
) -> Variable:
    """A node that applies a transform to bodies. `returned`: arguments that may be among the results."""
    run = functools.partial(run_bodies, apply, bodies_to_run(bodies), subgraph.Structure(given), len(nodes))
    taken = [*nodes, *(n for body in bodies for n in body.lifted)]
    return subgraph.call_node(tx, name, run, taken, example, returned)


def check_results(function: Variable, body: subgraph.Body) -> None:
    """Breaks if a result is a tensor that the body reads from outside: the node would give another object."""
    lifted = [node.meta["example_value"] for node in body.lifted]
    if any(result is tensor for result in subgraph.tensors_of(body.example) for tensor in lifted):
        raise GraphBreak("aliasing", what=f"{function.describe()} returns a tensor from outside of it")


def on_fakes(tx: Interpreter, name: str, call: Callable[[], Any]) -> Any:
    mode = tx.output.fake_mode
    before = mode.allow_meta
    mode.allow_meta = True  # forward mode multiplies its zeros on the meta device
    try:
        with mode:
            return call()
    except (Retry, SkipFrame, ObservedException, MemoryError, RecursionError, KeyboardInterrupt):
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise GraphBreak("torch_op_failed", name=name, error=text) from None
    finally:
        mode.allow_meta = before


_state = threading.local()  # `.lays_out`: whether a loop's results on fake tensors are asked for


def layout_of(tx: Interpreter, name: str, run: Callable[..., Any], symbolic: bool) -> Any:
    """The results of a loop on fake tensors. `symbolic`: the number of its steps is a symbol.

    A loop in the body of another one is asked for the layout of its results too.
    """
    before = getattr(_state, "lays_out", False)
    _state.lays_out = True
    try:
        return on_fakes(tx, name, functools.partial(run, symbolic=symbolic))
    finally:
        _state.lays_out = before


def asks_for_layout(size: Any) -> bool:
    """Whether a loop of `size` steps runs for the layout of its results, which needs one step."""
    return not isinstance(size, int) and getattr(_state, "lays_out", False)


#: A body, the form of its result, and the number of tensors that it takes after its arguments.
RunBody = tuple[torch.fx.GraphModule, subgraph.Structure, int]


def bodies_to_run(bodies: list[subgraph.Body]) -> list[RunBody]:
    return [(body.module, body.structure, len(body.lifted)) for body in bodies]


def run_bodies(
    apply: Apply, bodies: list[RunBody], given: subgraph.Structure, count: int, *tensors: torch.Tensor
) -> Any:
    """The function of the node. Each call of the transform takes the next body."""
    args, kwargs = given.fill(tensors[:count])
    rest = iter(tensors[count:])
    parts = [(body, results, tuple(itertools.islice(rest, lifted))) for body, results, lifted in bodies]
    following = itertools.cycle(parts)

    def function(*args: Any, **kwargs: Any) -> Any:
        body, results, lifted = next(following)
        return results.fill(body(*subgraph.tensors_of((args, kwargs)), *lifted))

    return apply(function, *args, **kwargs)


# --- rules ------------------------------------------------------------------------------------------------


def _make_rule(transform: Any) -> None:
    @rule(transform)
    def make(tx: Interpreter, func: Variable, *args: Variable, **options: Variable) -> Variable:
        return TransformVariable(transform, func, list(args), options)


for _transform in TRANSFORMS:
    _make_rule(_transform)


@rule(torch.func.jvp)
def _jvp(
    tx: Interpreter, func: Variable, primals: Variable, tangents: Variable, **options: Variable
) -> Variable:
    fixed = {name: subgraph.plain(tx, v, no_tensor) for name, v in options.items()}

    apply = functools.partial(_call_jvp, fixed)
    return transformed(tx, "jvp", apply, func, TupleVariable([primals, tangents]), {})


def _call_jvp(options: dict[str, Any], function: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    return torch.func.jvp(function, primals, tangents, **options)


# --- transforms that code outside of the frame applied ----------------------------------------------------

#: A transform, the name of the function inside of it, and the names of the variables that hold its options.
MAKERS: list[tuple[Any, str, tuple[str, ...]]] = [
    (torch.vmap, "wrapped", ("in_dims", "out_dims", "randomness", "chunk_size")),
    (torch.func.grad, "wrapper", ("argnums", "has_aux")),
    (torch.func.grad_and_value, "wrapper", ("argnums", "has_aux")),
    (torch.func.jacrev, "wrapper_fn", ("argnums", "has_aux", "chunk_size")),
    (torch.func.jacfwd, "wrapper_fn", ("argnums", "has_aux", "randomness")),
]


def call_made(
    transform: Any,
    names: tuple[str, ...],
    tx: Interpreter,
    function: UserFunctionVariable,
    args: list[Variable],
    kwargs: dict[str, Variable],
) -> Variable:
    """A call of a function that a transform made outside of the captured code."""
    options = {name: function.closure_value(tx, name) for name in names}
    made = TransformVariable(transform, function.closure_value(tx, "func"), [], options)
    return made.call(tx, args, kwargs)


@rule(vmap_impl)
def _vmap_impl(
    tx: Interpreter,
    func: Variable,
    in_dims: Variable,
    out_dims: Variable,
    randomness: Variable,
    chunk_size: Variable,
    *args: Variable,
    **kwargs: Variable,
) -> Variable:
    """In the frame of a function that `vmap` made."""
    made = TransformVariable(torch.vmap, func, [in_dims, out_dims, randomness], {"chunk_size": chunk_size})
    return made.call(tx, list(args), kwargs)


def _make_impl_rule(impl: Any, transform: Any) -> None:
    @rule(impl)
    def call(
        tx: Interpreter,
        func: Variable,
        argnums: Variable,
        has_aux: Variable,
        args: Variable,
        kwargs: Variable,
    ) -> Variable:
        """In the frame of a function that `transform` made."""
        made = TransformVariable(transform, func, [argnums, has_aux], {})
        named = {key.as_constant(): value for key, value in pairs_of(tx, kwargs)}
        return made.call(tx, args.iterate(tx).unpack(tx), named)


_make_impl_rule(eager_transforms.grad_impl, torch.func.grad)
_make_impl_rule(eager_transforms.grad_and_value_impl, torch.func.grad_and_value)

for _transform, _name, _options in MAKERS:
    BY_CODE[inner_code(_transform, _name)] = functools.partial(call_made, _transform, _options)
