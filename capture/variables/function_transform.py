"""Function transforms: `torch.func.vmap`, `grad`, `jacrev` and their kin, nested too.

In:  `vmap(f, in_dims)(x)` and the like.
Out: one node, which carries out the transform on a body: what `f` does, in a graph of its own (`capture.outline`).

    vmap(grad(lambda row: row.sin().sum()))(x)    ->    vmap(x), on a body that calls grad, on a body that calls sin and sum

At translation time the transform itself runs, on fake tensors, with the interpreter in place of `f`: so torch's own rules decide about levels,
structures and errors.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch._functorch import eager_transforms

from capture import outline
from capture.break_reasons import GraphBreak
from capture.rules import rule
from capture.variables.base import Variable
from capture.variables.constant import FALSE
from capture.variables.sequence import TupleVariable
from capture.variables.tensor import TensorVariable

if TYPE_CHECKING:
    from capture.reconstruct import PythonCode
    from capture.translator import Translator
    from capture.variables.function import UserFunctionVariable


def _grad(func: Any, argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """`torch.func.grad`, but for its wrapper for torch.compile (which imports that)."""
    return lambda *args, **kwargs: eager_transforms.grad_impl(func, argnums, has_aux, args, kwargs)


def _grad_and_value(func: Any, argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    return lambda *args, **kwargs: eager_transforms.grad_and_value_impl(func, argnums, has_aux, args, kwargs)


#: what makes a function of a function -> what a node runs for it
TRANSFORMS: dict[Any, Callable[..., Any]] = {
    torch.func.vmap: torch.func.vmap,
    torch.vmap: torch.vmap,
    torch.func.grad: _grad,
    torch.func.grad_and_value: _grad_and_value,
    torch.func.jacrev: torch.func.jacrev,
    torch.func.jacfwd: torch.func.jacfwd,
    torch.func.hessian: torch.func.hessian,
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

    def truth(self, tx: Translator) -> bool:
        return True

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        positional = [outline.plain(tx, a, _no_tensor) for a in self.args]
        options = {name: outline.plain(tx, v, _no_tensor) for name, v in self.options.items()}
        run = TRANSFORMS[self.transform]
        name = self.transform.__name__
        return transformed(
            tx, name, lambda f: run(f, *positional, **options), self.function, TupleVariable(args), kwargs
        )

    def reconstruct(self, code: PythonCode) -> None:
        code.emit("PUSH_NULL")
        code.load_constant(self.transform)
        for value in (self.function, *self.args, *self.options.values()):
            code.load(value)
        if self.options:
            code.emit("KW_NAMES", tuple(self.options))
        code.call(1 + len(self.args) + len(self.options))

    def children(self) -> list[Variable]:
        return [self.function, *self.args, *self.options.values()]


def _no_tensor(value: TensorVariable) -> Any:
    raise GraphBreak("not_a_graph_argument", value=value)


Apply = Callable[[Callable[..., Any]], Callable[..., Any]]


def transformed(
    tx: Translator,
    name: str,
    apply: Apply,
    function: Variable,
    args: Variable,
    kwargs: dict[str, Variable],
    keep: list[outline.Body] | None = None,
) -> Variable:
    """A node for `apply(function)(*args, **kwargs)`. `keep`: where to leave the body."""
    bodies = keep if keep is not None else []
    given, nodes = given_values(tx, args, kwargs)

    def interpreted(*args: Any, **kwargs: Any) -> Any:
        if bodies:
            raise GraphBreak("call", value=f"{name}, which calls {function.describe()} more than once")
        bodies.append(outline.outline(tx, function, args, kwargs))
        return bodies[0].example

    example = on_fakes(tx, name, functools.partial(apply(interpreted), *given[0], **given[1]))
    if not bodies:
        raise GraphBreak("call", value=f"{name}, which does not call {function.describe()}")
    return transform_node(tx, name, apply, bodies[0], given, nodes, example)


def given_values(
    tx: Translator, args: Variable, kwargs: dict[str, Variable]
) -> tuple[tuple[Any, Any], list[torch.fx.Node]]:
    """The arguments with fake tensors, and the nodes of those."""
    nodes: list[torch.fx.Node] = []

    def take(tensor: TensorVariable) -> torch.Tensor:
        nodes.append(tensor.node)
        return tensor.fake

    return (outline.plain(tx, args, take), {k: outline.plain(tx, v, take) for k, v in kwargs.items()}), nodes


def transform_node(
    tx: Translator,
    name: str,
    apply: Apply,
    body: outline.Body,
    given: tuple[Any, Any],
    nodes: list[torch.fx.Node],
    example: Any,
) -> Variable:
    structure = outline.Structure(given)
    run = functools.partial(_run, apply, body.module, body.structure, structure, len(nodes))
    return outline.call_node(tx, name, run, [*nodes, *body.lifted], example)


def on_fakes(tx: Translator, name: str, call: Callable[[], Any]) -> Any:
    from capture.break_reasons import TranslationSignal
    from capture.variables.base import ObservedException

    try:
        with tx.output.fake_mode:
            return call()
    except (TranslationSignal, ObservedException, MemoryError, RecursionError, KeyboardInterrupt):
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise GraphBreak("torch_op_failed", name=name, error=text) from None


def _run(
    apply: Apply,
    body: torch.fx.GraphModule,
    results: outline.Structure,
    given: outline.Structure,
    count: int,
    *tensors: torch.Tensor,
) -> Any:
    """What the node does."""
    args, kwargs = given.fill(tensors[:count])
    lifted = tensors[count:]

    def function(*args: Any, **kwargs: Any) -> Any:
        return results.fill(body(*outline.tensors_of((args, kwargs)), *lifted))

    return apply(function)(*args, **kwargs)


# --- rules -----------------------------------------------------------------------------------------------------------------------


def _make_rule(transform: Any) -> None:
    @rule(transform)
    def make(tx: Translator, func: Variable, *args: Variable, **options: Variable) -> Variable:
        return TransformVariable(transform, func, list(args), options)


for _transform in TRANSFORMS:
    _make_rule(_transform)


@rule(torch.func.jvp)
def _jvp(
    tx: Translator, func: Variable, primals: Variable, tangents: Variable, **options: Variable
) -> Variable:
    fixed = {name: outline.plain(tx, v, _no_tensor) for name, v in options.items()}

    def apply(function: Any) -> Any:
        return lambda primals, tangents: torch.func.jvp(function, primals, tangents, **fixed)

    return transformed(tx, "jvp", apply, func, TupleVariable([primals, tangents]), {})


@rule(torch.func.vjp)
def _vjp(tx: Translator, func: Variable, *primals: Variable, has_aux: Variable = FALSE) -> Variable:
    """The results, and a function for the gradients, a call of which runs the body once more."""
    aux = has_aux.truth(tx)

    def results(function: Any) -> Any:
        def run(*primals: Any) -> Any:
            out: Any = torch.func.vjp(function, *primals, has_aux=aux)
            return (out[0], out[2]) if aux else out[0]

        return run

    seen: list[outline.Body] = []
    made = transformed(tx, "vjp", results, func, TupleVariable(list(primals)), {}, keep=seen)
    gradients = VjpVariable(func, list(primals), aux, seen[0])
    if not aux:
        return TupleVariable([made, gradients])
    out, extra = made.unpack(tx)
    return TupleVariable([out, gradients, extra])


class VjpVariable(Variable):
    """The function that `vjp` returns."""

    def __init__(
        self, function: Variable, primals: list[Variable], has_aux: bool, body: outline.Body
    ) -> None:
        super().__init__(None)
        self.function = function
        self.primals = primals
        self.has_aux = has_aux
        self.body = body

    def python_type(self) -> type:
        return types.FunctionType

    def describe(self) -> str:
        return f"vjp of {self.function.describe()}"

    def truth(self, tx: Translator) -> bool:
        return True

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        if len(args) != 1 or kwargs:
            raise GraphBreak("call", value=self)

        def apply(function: Any) -> Any:
            def run(primals: Any, cotangents: Any) -> Any:
                return torch.func.vjp(function, *primals, has_aux=self.has_aux)[1](cotangents)

            return run

        given, nodes = given_values(tx, TupleVariable([TupleVariable(self.primals), args[0]]), {})
        run = functools.partial(
            _run, apply, self.body.module, self.body.structure, outline.Structure(given), len(nodes)
        )
        lifted = [node.meta["example_value"] for node in self.body.lifted]
        example = on_fakes(tx, "vjp", functools.partial(run, *outline.tensors_of(given), *lifted))
        return transform_node(tx, "vjp_gradients", apply, self.body, given, nodes, example)

    def children(self) -> list[Variable]:
        return [self.function, *self.primals]


#: wrappers that `vmap` makes: the code of one, and the names by which it holds the function and the options
def made_by_vmap(
    tx: Translator, function: UserFunctionVariable, args: list[Variable], kwargs: dict[str, Variable]
) -> Variable:
    """A call of a function that `torch.vmap` made outside."""
    from capture.variables.torch_wrappers import closure_value

    names = ("in_dims", "out_dims", "randomness", "chunk_size")
    options = {name: closure_value(tx, function, name) for name in names}
    return TransformVariable(torch.vmap, closure_value(tx, function, "func"), [], options).call(
        tx, args, kwargs
    )
