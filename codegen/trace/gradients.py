"""`torch.autograd.grad` among the operations of a graph.

In:  the arguments of the call, whose tensors are fakes.
Out: the gradients. Autograd itself runs on the fakes, so what records their operations sees those of the
     backward. With `create_graph` the gradients have derivatives.

    (g,) = torch.autograd.grad(y.sum(), x)     ->     sum, ones_like, expand, mul: nodes of the forward

The fakes' part of autograd's graph begins at the inputs of the graph. What eager does with the part in front
of them is not known here: `ways_outside` says where gradients could go there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import get_gradient_edge

from codegen.fake.twins import NON_LEAF, step_name
from codegen.kernel.errors import UntraceableError

if TYPE_CHECKING:
    from codegen.trace.recorder import Recorder

Step = Any  # a node of autograd's graph, as Python shows it


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[torch.Tensor | None, ...]:
    """`torch.autograd.grad` without the check of sizes that imports sympy (0.3 s).

    The program's anomaly mode would warn of what is only traced. Raises what autograd raises.
    """
    if not only_inputs or is_grads_batched:
        raise UntraceableError("torch.autograd.grad with is_grads_batched or without only_inputs")
    if materialize_grads and allow_unused is False:
        raise ValueError("materialize_grads=True and allow_unused=False")
    targets, wanted = as_tuple(outputs), as_tuple(inputs)
    tangents = (None,) * len(targets) if grad_outputs is None else as_tuple(grad_outputs)
    if not wanted or len(tangents) != len(targets):
        raise RuntimeError(f"{len(wanted)} inputs, {len(targets)} outputs, {len(tangents)} gradients")
    if not all(isinstance(value, torch.Tensor) for value in (*targets, *wanted)):
        raise UntraceableError("torch.autograd.grad of values that are no tensors")
    run = torch.autograd.graph._engine_run_backward
    with torch.autograd.set_detect_anomaly(False):
        found = run(
            targets,
            tuple(map(tangent_of, targets, tangents)),
            create_graph if retain_graph is None else retain_graph,
            create_graph,
            wanted,
            materialize_grads if allow_unused is None else allow_unused,
            accumulate_grad=False,
        )
    if not materialize_grads:
        return tuple(found)
    return tuple(
        torch.zeros_like(owner, requires_grad=create_graph) if value is None else value
        for owner, value in zip(wanted, found)
    )


def as_tuple(values: Any) -> tuple[Any, ...]:
    return (values,) if isinstance(values, torch.Tensor) else tuple(values)


def tangent_of(output: torch.Tensor, given: torch.Tensor | None) -> torch.Tensor | None:
    """The gradient that the backward begins with at an output."""
    if given is None:
        if not output.requires_grad:
            return None
        if output.numel() != 1 or not output.dtype.is_floating_point:
            raise RuntimeError("grad can be implicitly created only for real scalar outputs")
        return torch.ones_like(output, memory_format=torch.preserve_format)
    if len(given.shape) != len(output.shape) or any(a != b for a, b in zip(given.shape, output.shape)):
        raise RuntimeError(f"a gradient of size {tuple(given.shape)} for an output of {tuple(output.shape)}")
    if given.dtype.is_complex != output.dtype.is_complex:
        raise RuntimeError(f"a gradient of {given.dtype} for an output of {output.dtype}")
    return given


# --- the part of autograd's graph that a call runs ---------------------------------------------------------


def step_of(tensor: torch.Tensor) -> Step:
    return get_gradient_edge(tensor).node


def steps_behind(outputs: Iterable[torch.Tensor]) -> dict[Step, list[Step]]:
    """The steps that these tensors lead to, each behind those that it leads to itself."""
    following: dict[Step, list[Step]] = {}
    finished: dict[Step, list[Step]] = {}
    pending = [(step_of(tensor), False) for tensor in outputs if tensor.requires_grad]
    while pending:
        step, is_done = pending.pop()
        if is_done:
            finished[step] = following[step]
        elif step not in following:
            is_end = step_name(step) == NON_LEAF
            following[step] = [] if is_end else [to for to, _ in step.next_functions if to is not None]
            pending.append((step, True))
            pending += [(to, False) for to in following[step] if to not in following]
    return finished


def steps_run(steps: dict[Step, list[Step]], inputs: Sequence[torch.Tensor]) -> list[Step]:
    """Those of the steps that autograd runs for gradients of `inputs`."""
    ends = {step_of(tensor) for tensor in inputs if tensor.requires_grad}
    running: set[Step] = set()
    for step, following in steps.items():
        if any(to in ends or to in running for to in following):
            running.add(step)
    return [step for step in steps if step in running]


def ways_outside(steps: Iterable[Step], given: Iterable[torch.Tensor]) -> dict[Step, set[Step]]:
    """The ends of the graph from which a way outside of it may lead to one of the `inputs` of the call, each
    with the steps of these inputs.

    `given`: those that are inputs of the graph, too. Such a way begins at another input of the graph, one
    that is no leaf.
    """
    wanted = {step_of(tensor) for tensor in given}
    found = {step: wanted - {step} for step in steps if step_name(step) == NON_LEAF}
    return {step: others for step, others in found.items() if others}


# --- in a trace --------------------------------------------------------------------------------------------


def traced_grad(recorder: Recorder, *args: Any, **kwargs: Any) -> tuple[torch.Tensor | None, ...]:
    """The call, as nodes of the graph. `recorder.asked` then has the inputs that it asks for a gradient, and
    `recorder.apart` the inputs whose histories may not lead to these.
    """
    if recorder.mode.has_hooks:
        raise UntraceableError("torch.autograd.grad in a graph with hooks on gradients")
    outputs, inputs = (as_tuple(value) for value in operands(*args, **kwargs))
    given = {value: recorder.find(value).node for value in inputs if is_given(recorder, value)}
    ways = ways_outside(steps_behind(outputs), given)
    if ways:
        note_apart(recorder, ways)
    recorder.asked.update(node for node in given.values() if node.op == "placeholder")
    with reading_saved(recorder):
        return grad(*args, **kwargs)


def operands(outputs: Any, inputs: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
    return outputs, inputs


def note_apart(recorder: Recorder, ways: dict[Step, set[Step]]) -> None:
    nodes = {
        step_of(tracked.tensor): tracked.memory.placeholder
        for tracked in recorder.tracked.values()
        if tracked.memory.placeholder is not None and tracked.parent is None and tracked.tensor.requires_grad
    }
    for begin, wanted in ways.items():
        if not {begin, *wanted} <= nodes.keys():
            raise UntraceableError("gradients may come to a tensor that the module holds")
        recorder.apart.setdefault(nodes[begin], set()).update(nodes[step] for step in wanted)


def is_given(recorder: Recorder, tensor: torch.Tensor) -> bool:
    """Whether autograd's graph outside of this one may lead to the tensor."""
    tracked = recorder.find(tensor)
    return tracked.memory.placeholder is not None and tracked.parent is None


@contextmanager
def reading_saved(recorder: Recorder) -> Iterator[None]:
    """While the block runs, autograd reads what it has saved."""
    outside, recorder.memories.in_backward = recorder.memories.in_backward, True
    try:
        yield
    finally:
        recorder.memories.in_backward = outside
