"""What each output of a training graph is: an input, a result of its compiled forward, or a view of one.

In:  the tracked tensors of a traced forward.
Out: `Joint.results`, `Joint.views` and `Joint.outputs`. A view is made outside of the compiled code: autograd
     sees it there.

    y = x * 2; return y, y[0], x, 3
        ->   ("result", 0), ("view", 0): select on result 0, ("input", 0), ("constant", 3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from codegen.autograd.replay import Replay
from codegen.kernel.errors import UntraceableError
from codegen.trace.functionalise import Tracked
from codegen.trace.view_call import ViewCall

if TYPE_CHECKING:
    from codegen.autograd.joint_graph import Joint
    from codegen.trace.trace import Trace


def lifted_fakes(traced: Trace) -> list[torch.Tensor]:
    return [traced.recorder.mode.memo[tensor] for tensor in traced.lifted]


def classify_outputs(joint: Joint) -> Callable[[torch.Tensor], int]:
    """Fills `results`, `views` and `outputs`.

    Returns a function that gives the number of a tensor among the results, and makes the tensor a result if
    needed.
    """
    traced = joint.trace
    places = {
        id(value): i
        for i, value in enumerate((*traced.inputs, *lifted_fakes(traced)))
        if isinstance(value, torch.Tensor)
    }
    nodes = {node: i for i, node in enumerate(n for n in traced.graph.nodes if n.op == "placeholder")}
    tracked = [traced.recorder.find(v) if isinstance(v, torch.Tensor) else None for v in traced.outputs]
    sharing: dict[int, set[int]] = {}  # memory -> the different tensors on it
    for item in tracked:
        if item is not None:
            sharing.setdefault(id(item.memory), set()).add(id(item.tensor))
    check_detached_families(tracked)

    def is_view(item: Tracked) -> bool:
        if item.memory.placeholder is not None:
            return id(item.tensor) not in places
        has_others = len(sharing[id(item.memory)]) > 1 or is_one_of_several(item)
        return has_others and item is not root_of(item)

    viewed = {id(item.tensor): item for item in tracked if item is not None and is_view(item)}
    numbers: dict[int, int] = {}
    view_numbers: dict[int, int] = {}
    calls: dict[Any, int] = {}  # step of autograd's graph -> its number

    def result(tensor: torch.Tensor) -> int:
        if id(tensor) not in numbers:
            numbers[id(tensor)] = len(joint.results)
            joint.results.append(tensor)
        return numbers[id(tensor)]

    def view(item: Tracked) -> int:
        if id(item.tensor) not in view_numbers:
            root = root_of(item)
            base = next((each for each in between(item, root) if id(each.tensor) in viewed), None)
            if base is not None:
                replay = replay_of(item, base, "view", view(base))
            elif item.memory.placeholder is not None:
                replay = replay_of(item, root, "input", nodes[item.memory.placeholder])
            else:
                replay = replay_of(item, root, "result", result(root.tensor))
            if is_of_several(replay) and item.tensor.grad_fn is not None:
                replay.call = calls.setdefault(item.tensor.grad_fn, len(calls))
            view_numbers[id(item.tensor)] = len(joint.views)
            joint.views.append(replay)
            joint.viewed.append(item.tensor)
        return view_numbers[id(item.tensor)]

    for value, item in zip(traced.outputs, tracked):
        if item is None:
            joint.outputs.append(("constant", value))
        elif id(value) in places:
            joint.outputs.append(("input", places[id(value)]))
        elif id(value) in viewed:
            joint.outputs.append(("view", view(item)))
        elif len(sharing[id(item.memory)]) > 1 and item.parent is not None and item.memory.version:
            raise UntraceableError(
                "outputs that share memory without being views for autograd, and a write to that memory"
            )
        else:
            joint.outputs.append(("result", result(value)))
    return result


def check_detached_families(outputs: Sequence[Tracked | None]) -> None:
    """Raises where a detached tensor and a view of it are outputs.

    Each is made from the tensor that was detached: for autograd, the view would be none of the other one.
    """
    members: dict[int, set[int]] = {}  # base -> the different outputs that are views of it, or itself
    for tracked in outputs:
        if tracked is not None and tracked.base.parent is not None:
            members.setdefault(id(tracked.base), set()).add(id(tracked.tensor))
    if any(len(tensors) > 1 for tensors in members.values()):
        raise UntraceableError("a detached tensor and a view of it, among operations that autograd records")


def is_one_of_several(tracked: Tracked) -> bool:
    """Whether autograd refuses writes to the tensor, because one call made it and other views."""
    while tracked.parent is not None and not own_for_autograd(tracked.tensor):
        if tracked.with_grad and tracked.view is not None and tracked.view.index is not None:
            return tracked.tensor.requires_grad
        tracked = tracked.parent
    return False


def is_of_several(replay: Replay) -> bool:
    """Whether the last call that makes the view has several results."""
    last = replay.views[-1] if replay.views else None
    return last is not None and last.index is not None


def own_for_autograd(tensor: torch.Tensor) -> bool:
    """Whether autograd takes the tensor for one with its own memory.

    Some operators are rewritten into others that end with a view. Results of `unsafe_split` are in fact
    views.
    """
    return tensor.requires_grad and not tensor._is_view()


def root_of(tracked: Tracked) -> Tracked:
    """The base of the view `tracked`: the graph's input, or the tensor that autograd takes for the base."""
    from_input = tracked.memory.placeholder is not None
    while tracked.parent is not None and (from_input or not own_for_autograd(tracked.tensor)):
        tracked = tracked.parent
    return tracked


def check_views(value: torch.Tensor, root: torch.Tensor) -> None:
    """Raises where a custom function made the view: a view that is made outside would lose its gradient."""
    step = value.grad_fn
    while step is not None and step is not root.grad_fn:
        if isinstance(step, torch.autograd.function.BackwardCFunction):
            raise UntraceableError(f"{type(step).__name__} of a view")
        step = step.next_functions[0][0] if step.next_functions else None


def between(tracked: Tracked, root: Tracked) -> Iterator[Tracked]:
    """The tensors that `tracked` is a view of, up to the root, as long as all require grad."""
    while tracked is not root and tracked.parent is not None and tracked.tensor.requires_grad:
        tracked = tracked.parent
        if tracked is not root and tracked.tensor.requires_grad:
            yield tracked


def replay_of(tracked: Tracked, root: Tracked, source: str, base: int) -> Replay:
    views: list[ViewCall | None] = []
    modes: set[bool] = set()
    current = tracked
    while current is not root:
        assert current.parent is not None
        if current.tensor._backward_hooks:
            raise UntraceableError("a hook on the gradient of a view that is made outside of the graph")
        if own_for_autograd(current.tensor) and current.memory.written_with_grad:
            raise UntraceableError("a write to a view that autograd does not take for a view")
        views.append(current.view)
        modes.add(current.with_grad)
        current = current.parent
    check_views(tracked.tensor, current.tensor)
    detach = current.tensor.requires_grad and not tracked.tensor.requires_grad
    if torch.is_inference_mode_enabled() and None not in views:
        detach = False  # in inference mode some views require grad although their fakes do not
    return Replay(source, base, views[::-1], detach, frozenset(modes))
