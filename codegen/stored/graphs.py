"""Compiled graphs of all kinds as plain data.

In:  what `compile_fx` gives, and the `Captured` graph that it was made from.
Out: `to_data(...)`: bytes, or None where the graph is not stored; `from_data(bytes)`: the callable.

    from_data(to_data(compile_fx(gm, [x]), captured(gm, [x]), store))(x)   ->   as compile_fx(gm, [x])(x)

One table has the kinds: how each is written and read.
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from torch import fx

from codegen.autograd.asked_inputs import AsksForGradients
from codegen.autograd.training import TrainingGraph, UnderGradMode, ViewsGraph
from codegen.launch.compiled import CompiledGraph, EagerGraph, InInferenceMode, refuse
from codegen.stored import container
from codegen.stored.captured import Captured
from codegen.stored.floats import ForFloats, floats_data, floats_of
from codegen.stored.inputs import stand_ins
from codegen.stored.layouts import with_examples
from codegen.stored.modules import module_of
from codegen.stored.names import DAMAGES, Malformed, NotStored
from codegen.stored.plans import plan_data, plan_of
from codegen.stored.sizes import KeptSizes, StoredSizes, sizes_data
from codegen.stored.state import restored
from codegen.stored.training import added_data, training_data, training_of, views_data, views_of
from codegen.stored.values import Reader, Writer
from codegen.trace import autocast

if TYPE_CHECKING:
    from codegen.autograd.segment_backward import SegmentBackward

log = logging.getLogger("capture.codegen")


class Origin:
    """The captured graph of stored data. It is read, and its module is made, when it is first needed."""

    def __init__(
        self,
        text: str,
        module: Callable[[Any], fx.GraphModule],
        store: Any,
        keep: Callable[[Any, Captured], None],
    ) -> None:
        self.text = text
        self.store = store
        self.keep = keep
        self._module = module

    @functools.cached_property
    def data(self) -> dict[str, Any]:
        return captured_data(self.text)

    @property
    def inputs(self) -> list[Any]:
        inputs: list[Any] = self.data["inputs"]
        return inputs

    @functools.cached_property
    def module(self) -> fx.GraphModule:
        return self._module(self.data["module"])

    def module_for(self, inputs: Sequence[Any]) -> fx.GraphModule:
        """A new module, with examples of the sizes of these inputs."""
        return with_examples(module_of(self.data["module"]), self.data["layouts"], inputs)

    def sizes_again(self, keys: Sequence[tuple[int, ...]]) -> KeptSizes | None:
        """The graph, compiled for all sizes, with plans for these ints."""
        from codegen.compile_fx import compile_for_sizes  # lazy: a graph from the store needs no compiler

        inputs = stand_ins(self.inputs)
        with restored(self.data["state"]):
            symbolic = compile_for_sizes(self.module_for(inputs), inputs, store=self.store, refuses=True)
        if isinstance(symbolic, autocast.SizedWithoutAutocast):  # the caller has its own
            symbolic = symbolic.graph
        return None if symbolic is None else KeptSizes(symbolic, self._keep_sizes, keys)

    def _keep_sizes(self, kept: KeptSizes) -> None:
        whole = autocast.SizedWithoutAutocast(kept) if self.data["state"]["autocast"][0] else kept
        self.keep(whole, Captured(**self.data))

    def backward_again(self) -> list[SegmentBackward]:
        """The segments of the backward, from the module."""
        from codegen.compile_fx import backward_again  # lazy: a graph from the store needs no compiler

        inputs = stand_ins(self.inputs)
        with restored(self.data["state"]):
            return backward_again(self.module, inputs, store=self.store, kernels=self.data["kernels"])


# --- to data ----------------------------------------------------------------------------------------------


def to_data(compiled: Any, captured: Captured, store: Any) -> bytes | None:
    """`store` has the object files of the kernels."""
    writer = Writer()
    try:
        graph = graph_data(compiled, writer, store)
    except NotStored as reason:
        log.debug("a compiled graph is not kept for the next process: %s", reason)
        return None
    text = json.dumps(captured.data, separators=(",", ":"), allow_nan=False)
    return container.pack({"state": captured.state, "captured": text, "graph": graph}, writer.blobs)


def graph_data(compiled: Any, writer: Writer, store: Any) -> list[Any]:
    """[kind, content]. Raises NotStored."""
    for kind, (cls, write, _) in KINDS.items():
        if type(compiled) is cls:
            return [kind, write(compiled, writer, store)]
    raise NotStored(f"a {type(compiled).__name__}")


def around_data(compiled: Any, writer: Writer, store: Any) -> list[Any]:
    return graph_data(compiled.graph, writer, store)


def asking_data(compiled: AsksForGradients, writer: Writer, store: Any) -> dict[str, Any]:
    apart = [[place, list(others)] for place, others in compiled.apart]
    graph = graph_data(compiled.graph, writer, store)
    return {"places": list(compiled.places), "apart": apart, "graph": graph}


def eager_data(compiled: EagerGraph, _: Writer, __: Any) -> str:
    return compiled.reason


# --- from data --------------------------------------------------------------------------------------------


def from_data(
    data: bytes,
    module: Callable[[Any], fx.GraphModule] = module_of,
    store: Any = None,
    keep: Callable[[Any, Captured], None] = lambda compiled, captured: None,
    state: Any = None,
) -> Any:
    """The callable. `module` makes the captured graph of its data, or has it already.

    `store`: for machine code that is compiled later. `keep` stores the graph again when there is more of it.
    None: it was compiled in another state of the process than `state`. Raises Malformed.
    """
    content, blobs = container.unpack(data)
    try:
        if state is not None and content["state"] != state:
            return None
        origin = Origin(content["captured"], module, store, keep)
        return graph_of(content["graph"], Reader(blobs), origin)
    except DAMAGES as error:
        raise Malformed(f"the graph is damaged: {type(error).__name__}: {error}") from error


def graph_of(data: list[Any], reader: Reader, origin: Origin) -> Any:
    kind, content = data
    return KINDS[kind][2](content, reader, origin)


def native_of(content: Any, reader: Reader, origin: Origin) -> Any:
    return plan_of(content, reader, refuse)


def around(cls: Callable[[Any], Any]) -> Callable[[Any, Reader, Origin], Any]:
    return lambda content, reader, origin: cls(graph_of(content, reader, origin))


def asking_of(content: Any, reader: Reader, origin: Origin) -> AsksForGradients:
    apart = [(place, tuple(others)) for place, others in content["apart"]]
    return AsksForGradients(graph_of(content["graph"], reader, origin), content["places"], apart, refuse)


def eager_of(content: Any, _: Reader, origin: Origin) -> EagerGraph:
    return EagerGraph(origin.module, content)


def training_graph_of(content: Any, reader: Reader, origin: Origin) -> TrainingGraph:
    return training_of(content, reader, origin.backward_again)


def views_graph_of(content: Any, reader: Reader, origin: Origin) -> ViewsGraph:
    return views_of(content, reader)


def stored_sizes_of(content: Any, reader: Reader, origin: Origin) -> StoredSizes:
    return StoredSizes(content, reader, origin)


def stored_floats_of(content: Any, _: Reader, origin: Origin) -> ForFloats:
    return floats_of(content, lambda: origin.module)


#: by kind: the class of the callable, how it is written and read
KINDS: dict[str, tuple[type, Callable[..., Any], Callable[..., Any]]] = {
    "native": (CompiledGraph, plan_data, native_of),
    "eager": (EagerGraph, eager_data, eager_of),
    "training": (TrainingGraph, training_data, training_graph_of),
    "views": (ViewsGraph, views_data, views_graph_of),
    "under_grad_mode": (UnderGradMode, around_data, around(UnderGradMode)),
    "without_autocast": (autocast.WithoutAutocast, around_data, around(autocast.WithoutAutocast)),
    "floats": (ForFloats, floats_data, stored_floats_of),
    "sizes": (KeptSizes, sizes_data, stored_sizes_of),
    "sizes_without_autocast": (
        autocast.SizedWithoutAutocast,
        around_data,
        around(autocast.SizedWithoutAutocast),
    ),
    "asks_for_gradients": (AsksForGradients, asking_data, asking_of),
    "in_inference_mode": (InInferenceMode, around_data, around(InInferenceMode)),
}


def add_backward(data: bytes, number: int, segment: SegmentBackward, store: Any) -> bytes | None:
    """The data with what a segment has compiled of its backward meanwhile.

    None where that is nothing new, or not stored. Raises Malformed.
    """
    content, blobs = container.unpack(data)
    writer = Writer()
    writer.blobs = blobs
    try:
        kind, graph = content["graph"]
        while kind != "training":
            kind, graph = graph["graph"] if kind == "asks_for_gradients" else graph
        known = graph["segments"][number]
        added = added_data(known, segment, writer, store)
        known.update(added)
    except DAMAGES as error:
        raise Malformed(f"the graph is damaged: {type(error).__name__}: {error}") from error
    except NotStored as reason:
        log.debug("a compiled backward is not kept for the next process: %s", reason)
        return None
    return container.pack(content, writer.blobs) if added else None


def captured_of(data: bytes) -> Any:
    """The captured graph as plain data: module, inputs, state. Raises Malformed."""
    content, _ = container.unpack(data)
    return captured_data(content.get("captured"))


def captured_data(text: str) -> dict[str, Any]:
    """Raises Malformed."""
    try:
        captured = json.loads(text)
        return {name: captured[name] for name in ("module", "inputs", "state", "kernels", "layouts")}
    except (*DAMAGES, RecursionError) as error:
        raise Malformed("the graph is damaged") from error


__all__ = ["Origin", "captured_of", "from_data", "graph_of", "to_data"]
