"""`torch.nn.Parameter(x)` of an argument, in captured code.

In:  the call, with a tensor that existed before the frame and that the frame has not written to.
Out: a tensor that the graph takes. The frame's code makes it before it calls the graph. The program can't see
     when it is made, because it shares the memory of `x`.

    w = nn.Parameter(x); return w * 2, w   ->   made_0 = nn.Parameter(x, True)
                                                return graph_0(made_0)[0], made_0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from capture.graph.inputs import GraphInput, version_of
from capture.report.break_reasons import GraphBreak
from capture.variables.core.base import NotConstant, Variable
from capture.variables.core.constant import ConstantVariable
from capture.variables.core.rules import rule
from capture.variables.tensors.tensor import TensorVariable
from capture_records import dataclass
from guards.lookup import Unresolved
from guards.sources import Source

if TYPE_CHECKING:
    import torch.fx

    from capture.bytecode.dialects import Assembler
    from capture.output.python_code import PythonCode
    from capture.variables.core.protocols import Interpreter, Output
    from guards.namespace import FrameNamespace


@dataclass(frozen=True, eq=False)
class MadeSource(Source):
    """A local of the frame's new code, which holds the parameter made of `data`."""

    index: int
    data: Source
    requires_grad: bool

    @property
    def text(self) -> str:
        return f"made_{self.index}"

    @property
    def local(self) -> str:
        return f"___made_{self.index}"

    def resolve(self, frame: FrameNamespace) -> Any:
        raise Unresolved("a parameter that the frame's code makes; no guard reads it")


class MadeParameter(TensorVariable):
    def __init__(self, node: torch.fx.Node, fake: torch.Tensor, made: MadeSource) -> None:
        super().__init__(node, fake)
        self.made = made

    def python_type(self) -> type:
        return torch.nn.Parameter

    def real_value(self) -> Any:
        raise NotConstant(self)

    def get_attr(self, tx: Interpreter, name: str) -> Variable:
        if name == "grad":  # a backward inside of the frame would store it there
            raise GraphBreak("get_attr", value=self, name=name)
        return super().get_attr(tx, name)

    def reconstruct(self, code: PythonCode) -> None:
        if self.attributes:
            raise GraphBreak("reconstruct", value=self)
        code.load_local(self.made.local)


@rule(torch.nn.Parameter)
def _parameter(
    tx: Interpreter,
    data: Variable = ConstantVariable(None),
    requires_grad: Variable = ConstantVariable(True),
) -> Variable:
    output = tx.output
    held = next(
        (i for i in output.inputs.tensors() if isinstance(data, TensorVariable) and i.node is data.node), None
    )
    if (
        held is None
        or not _is_plain(data)
        or not _is_untouched(output, held)
        or not requires_grad.is_constant()
    ):
        raise GraphBreak("call", value="class Parameter")
    wanted = bool(requires_grad.as_constant())
    if wanted and not (held.value.is_floating_point() or held.value.is_complex()):
        raise GraphBreak("call", value="class Parameter")
    return add_parameter(output, held, wanted)


def _is_plain(data: Any) -> bool:
    return (
        data.cls is torch.Tensor
        and data.source is not None
        and type(data.value) in (torch.Tensor, torch.nn.Parameter)
    )


def _is_untouched(output: Output, held: GraphInput) -> bool:
    """Whether the frame has not written to the input, and no mode sees the new parameter."""
    inside = torch._C._functorch.peek_interpreter_stack() is not None or bool(output.modes.function_modes)
    known = held.version is not None and version_of(held.node.meta["example_value"]) == held.version
    return known and not inside and not torch.is_inference_mode_enabled()


def add_parameter(output: Output, held: GraphInput, requires_grad: bool) -> Variable:
    source = MadeSource(len(output.inputs.new_parameters), held.source, requires_grad)
    with output.fake_mode:
        fake = held.node.meta["example_value"].detach()
        fake.requires_grad_(requires_grad)
    node = output.inputs.add_made(source, fake, torch.nn.Parameter(held.value.detach(), requires_grad))
    return MadeParameter(node, fake, source)


# --- the frame's code -------------------------------------------------------------------------------------


def make_parameters(code: Assembler, made: list[MadeSource], load: Callable[[Source], None]) -> None:
    """Emits the calls that make the parameters. `load` pushes an existing object on the stack."""
    for source in made:
        code.load_callable(torch.nn.Parameter)
        load(source.data)
        code.load_constant(source.requires_grad)
        code.call(2)
        code.store_local(source.local)
