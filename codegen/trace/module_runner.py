"""Calls the nodes of a module's graph one by one on fake tensors, while a recorder is active.

In:  `fx.GraphModule` at the level of torch calls, a `Recorder`, the fake twins of its inputs.
Out: the module's outputs; tensors that the module itself holds have become placeholders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import torch
from torch import fx

from capture_records import dataclass
from codegen.fake.twins import to_fake
from codegen.kernel.errors import UntraceableError
from codegen.rewrite.table import FUNCTIONS
from codegen.trace import autocast
from codegen.trace.gradients import traced_grad
from codegen.trace.recorder import Recorder
from codegen.trace.silent_operations import heard_before

#: functions that do not write to `out` where it is a tensor subclass, such as a fake tensor
LEAVE_OUT_ALONE = (torch.linalg.matrix_rank,)


@dataclass(slots=True)
class ModuleRunner:
    """Calls the nodes of the module's graph one by one."""

    module: fx.GraphModule
    recorder: Recorder
    values: dict[fx.Node, Any] = field(default_factory=dict)
    lifted: list[torch.Tensor] = field(default_factory=list)
    #: called module -> its parameters and buffers, as fakes
    states: dict[fx.Node, dict[str, Any]] = field(default_factory=dict)

    def place(self, fakes: Sequence[Any]) -> None:
        """Placeholders for the module's inputs, and for the tensors that it holds itself."""
        nodes = [node for node in self.module.graph.nodes if node.op == "placeholder"]
        if len(nodes) != len(fakes):
            raise TypeError(f"the graph has {len(nodes)} placeholders and was given {len(fakes)} inputs")
        for node, fake in zip(nodes, fakes):
            self.recorder.placeholder(node.name, fake)
            self.values[node] = fake
        for node in self.module.graph.nodes:
            if node.op == "get_attr":
                self.values[node] = self.lift(fetch(self.module, str(node.target)))
            elif node.op == "call_module":
                self.states[node] = self.lift_state(fetch(self.module, str(node.target)))

    def lift(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        fake = to_fake(self.recorder.mode, value)
        if id(fake) not in self.recorder.tracked:
            self.recorder.placeholder(f"lifted_{len(self.lifted)}", fake)
            self.lifted.append(value)
        return fake

    def lift_state(self, module: torch.nn.Module) -> dict[str, Any]:
        tensors = (
            *module.named_parameters(remove_duplicate=False),
            *module.named_buffers(remove_duplicate=False),
        )
        return {name: self.lift(tensor) for name, tensor in tensors}

    def call(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if node.target is torch.autograd.grad:
            return traced_grad(self.recorder, *args, **kwargs)
        if node.target is torch._C._set_default_dtype and args[0] != torch.get_default_dtype():
            # calls of ATen don't name the dtype: `aten.rand([2])` would run under the one before the graph
            raise UntraceableError("a change of the default dtype")
        replacement = FUNCTIONS.get(node.target) if node.op != "call_module" else None
        if replacement is not None:
            result = replacement(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if node.op == "call_function":
            function: Any = self.form_of(node) or node.target
            with heard_before(node):
                value = function(*args, **kwargs)
            if node.target is getattr and args[1] == "data":
                self.recorder.find(value).is_data = True
            return value
        if node.op == "call_method":
            with heard_before(node):
                form = self.form_of(node)
                if form is not None:
                    return form(*args, **kwargs)
                return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        return torch.func.functional_call(
            fetch(self.module, str(node.target)), self.states[node], args, kwargs
        )

    def form_of(self, node: fx.Node) -> Any:
        """What is called in place of a function or method where numbers may be symbols; None: itself."""
        if self.recorder.mode.shape_env is None:
            return None
        from codegen.rewrite.symbolic_functions import TRACED_FORMS  # lazy: imports sympy

        return TRACED_FORMS.get(node.target)

    def versions(self, out: Any) -> int | None:
        """How often `out` has been written.

        Some of torch's operators do not write to `out` where it is a tensor subclass, such as a fake tensor.
        """
        written = isinstance(out, torch.Tensor) and out.numel()
        return self.recorder.find(out).memory.version if written else None

    def write_out(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
        """Where the operator did not write to `out`: the result without `out` is copied into it."""
        out = kwargs["out"]
        if node.target in LEAVE_OUT_ALONE:
            made = self.call(node, args, {name: value for name, value in kwargs.items() if name != "out"})
            if (made.dtype, made.shape) == (out.dtype, out.shape):
                return out.copy_(made)
        name = node._pretty_print_target(node.target)
        raise UntraceableError(f"a call of {name} that did not write to the tensor given as `out`")

    def run(self) -> list[Any]:
        values = self.values
        for node in self.module.graph.nodes:
            if "checked_outside" in node.meta:  # an assertion whose condition is a result of the graph
                values[node] = None
            elif node.op in ("call_function", "call_method", "call_module"):
                self.recorder.origins.begin(node.name)
                args, kwargs = fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
                self.recorder.under_autocast, self.recorder.caller = autocast.is_on(), node
                versions = self.versions(kwargs.get("out"))
                values[node] = self.call(node, args, kwargs)
                self.recorder.drop_origin(values[node], node)
                if versions is not None and versions == self.versions(kwargs["out"]):
                    values[node] = self.write_out(node, args, kwargs)
                check_dtype(node, values[node])
            elif node.op == "output":
                self.recorder.origins.end()
                outputs = fx.node.map_arg(node.args[0], values.__getitem__)
                return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        raise TypeError("the graph has no output node")


def check_dtype(node: fx.Node, value: Any) -> None:
    """Rules of torch that stand for an operator promote floats of several dtypes; not each kernel does."""
    known = node.meta.get("example_value")
    if isinstance(value, torch.Tensor) and isinstance(known, torch.Tensor) and value.dtype != known.dtype:
        name = node._pretty_print_target(node.target)
        raise UntraceableError(f"a call of {name} whose rule gives {value.dtype} in place of {known.dtype}")


def fetch(module: torch.nn.Module, path: str) -> Any:
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part)
    return value
