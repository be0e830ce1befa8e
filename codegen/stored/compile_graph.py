"""compile_fx with a memory.

In:  a captured graph, its inputs, a store.
Out: the callable of `compile_fx`, from the store where it has the graph.

    compile_graph(gm, [x, y], store=store)   ->   a hit: from data;  a miss: compile_fx, then put
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from torch import fx

from codegen.kernel import events
from codegen.launch.compiled import TEXTS
from codegen.stored.captured import Captured, captured
from codegen.stored.floats import ForFloats
from codegen.stored.graphs import add_backward, captured_of, from_data, to_data
from codegen.stored.modules import module_of
from codegen.stored.names import Malformed, NotStored
from codegen.stored.sizes import KeptSizes
from codegen.stored.state import state, versions
from codegen.trace.autocast import SizedWithoutAutocast

log = logging.getLogger("capture.cache")

KIND = "graph"
#: logs that show how a graph is compiled. While one is on, every graph is compiled.
SHOWN = (*TEXTS, "kernels", "passes")
enabled = True  # False: every graph is compiled (tests look at loops)


class Store(Protocol):
    """`cache.store.KernelStore`."""

    def get(self, parts: tuple[str, ...], kind: str = ...) -> bytes | None: ...

    def put(self, parts: tuple[str, ...], data: bytes, kind: str = ...) -> None: ...


def compile_graph(
    gm: fx.GraphModule,
    inputs: Sequence[Any],
    *,
    store: Store | None = None,
    kernels: bool = True,
    frozen: frozenset[int] = frozenset(),
) -> Any:
    """As `codegen.compile_fx.compile_fx`, for a caller that runs the program where the graph refuses to.

    `store`: of compiled graphs, and of their kernels' object files.
    """
    known = captured(gm, inputs, kernels=kernels, frozen=frozen) if store is not None and is_used() else None
    if known is None or store is None:
        return compile_anew(gm, inputs, store, kernels, frozen)
    versions(store)
    key = known.key
    found = read(key, store, lambda _: gm)
    if found is None:
        found = compile_anew(gm, inputs, store, kernels, frozen)
        keep(found, known, key, store)
    return found


def compile_sizes(gm: fx.GraphModule, inputs: Sequence[Any], *, store: Store | None = None) -> Any:
    """As `codegen.compile_fx.compile_for_sizes`. What the store has of it is a `StoredSizes`."""
    known = captured(gm, inputs, for_sizes=True) if store is not None and is_used() else None
    if known is None or store is None:
        return compile_sizes_anew(gm, inputs, store)
    versions(store)
    key = known.key
    found = read(key, store, lambda _: gm)
    if found is not None:
        return found
    symbolic = compile_sizes_anew(gm, inputs, store)
    if isinstance(symbolic, SizedWithoutAutocast):
        symbolic.graph = KeptSizes(symbolic.graph, lambda _: keep(symbolic, known, key, store))
        return symbolic
    return KeptSizes(symbolic, lambda kept: keep(kept, known, key, store))


def keep_floats(floats: ForFloats, inputs: Sequence[Any], store: Store | None) -> None:
    """Put a graph for each value of some floats into the store, if it can be there."""
    module = floats.module()
    known = captured(module, inputs) if store is not None and is_used() else None
    if known is not None and store is not None:
        versions(store)
        keep(floats, known, f"floats {known.key}", store)


def compile_sizes_anew(gm: fx.GraphModule, inputs: Sequence[Any], store: Any) -> Any:
    from codegen.compile_fx import compile_for_sizes  # lazy: a graph from the store needs no compiler

    return compile_for_sizes(gm, inputs, store=store, refuses=True)


def compile_anew(
    gm: fx.GraphModule, inputs: Sequence[Any], store: Any, kernels: bool, frozen: frozenset[int]
) -> Any:
    from codegen.compile_fx import compile_fx  # lazy: a graph from the store needs no compiler

    return compile_fx(gm, inputs, store=store, kernels=kernels, frozen=frozen, refuses=True)


def is_used() -> bool:
    """Whether graphs may come from the store."""
    return (
        enabled
        and not events.compiles_all
        and not any(logging.getLogger(f"capture.{name}").isEnabledFor(logging.DEBUG) for name in SHOWN)
    )


def key_of(compiled: Any) -> str | None:
    """The key under which the store has this graph; None if it has not."""
    key: str | None = getattr(compiled, "stored_key", None)
    return key


def restore(key: str, store: Store, module: Callable[[Any], fx.GraphModule] = module_of) -> Any:
    """The graph of that key. None: it is gone, or it was compiled in another state of the process.

    `module` makes the captured graph of its data, where a rare request needs it.
    """
    return read(key, store, module, check_state=True) if is_used() else None


def captured_data(key: str, store: Store) -> Any:
    """The captured graph of that key, for `modules.module_of`. None: it is gone. Raises Malformed."""
    data = store.get(parts_of(key), KIND)
    return None if data is None else captured_of(data)["module"]


def read(key: str, store: Store, module: Callable[[Any], fx.GraphModule], check_state: bool = False) -> Any:
    versions(store)
    data = store.get(parts_of(key), KIND)
    if data is None:
        return None
    try:
        found = from_data(
            data,
            module,
            store,
            lambda other, known: keep(other, known, key, store),
            state() if check_state else None,
        )
    except NotStored:
        return None
    except Malformed as damage:
        log.warning("the compiled graph %s is not used: %s; it is compiled again", key[:16], damage)
        return None
    if found is None:
        return None
    remember(found, key, store)
    return found


def keep(compiled: Any, known: Captured, key: str, store: Store) -> None:
    data = to_data(compiled, known, store)
    if data is not None:
        store.put(parts_of(key), data, KIND)
        remember(compiled, key, store)


def remember(compiled: Any, key: str, store: Store) -> None:
    """The graph is in the store. What is compiled of it later is added there."""
    compiled.stored_key = key
    for number, segment in enumerate(getattr(compiled, "segments", ())):
        segment.tell_compiled(functools.partial(keep_backward, key, store, number))


def keep_backward(key: str, store: Store, number: int, segment: Any) -> None:
    try:
        data = store.get(parts_of(key), KIND)
        data = None if data is None else add_backward(data, number, segment, store)
    except Malformed as damage:
        log.warning("no backward is added to the compiled graph %s: %s", key[:16], damage)
        return
    if data is not None:
        store.put(parts_of(key), data, KIND)


def parts_of(key: str) -> tuple[str, ...]:
    return ("graph", key, versions())
