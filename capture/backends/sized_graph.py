"""A graph with symbolic sizes: it chooses a launch plan, whose sizes are numbers.

In:  an fx graph with int placeholders, and two compilers: one for all sizes at once, one for given sizes.
Out: `SizedGraph`: at the first call with a combination of those ints it makes a plan for it, and keeps it.

    graph(2, x[2, 4])   ->   compiles, and makes a plan for 2
    graph(3, y[3, 4])   ->   makes a plan for 3, without a compilation
    graph(2, z[2, 4])   ->   runs the first plan again

The ints decide the layout of every tensor input. The guards have tested that its sizes and strides are
numbers or expressions of the ints. If the graph has a form for all sizes (`codegen.dynamic.symbolic_graph`),
its kernels take the sizes at run time, and native code fills new ints into the plan. A form assumes what the
ints of its example decided (that a part has more than one row); ints for which that does not hold get a form
of their own, up to `FORMS`. Else each combination needs its own compilation. That is too expensive for sizes
that come only once:

- The first `PROMPT` combinations are compiled at their first call.
- Another combination runs operator by operator at first, and is compiled at call number `AGAIN`.
- After `LIMIT` compilations, new combinations always run operator by operator.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import _capture

from capture.hooks.switch import OFF, switch
from codegen.kernel import events

if TYPE_CHECKING:
    import torch.fx


FORMS = 4  # for all sizes
LIMIT = 64  # compilations, and graphs that are kept
PROMPT = 4  # combinations that are compiled at their first call
AGAIN = 8  # calls after which another combination is compiled

log = logging.getLogger("capture.codegen")


class ForSizes(Protocol):
    """`codegen.dynamic.symbolic_graph.SymbolicGraph` and the like."""

    def graph_for(
        self, key: tuple[int, ...], add_template: Callable[[Any], None]
    ) -> Callable[..., Any] | None:
        """The graph for these ints; None if it must be compiled for them.

        It may add a template, which makes graphs for other ints.
        """


class SizedGraph:
    """A callable for all combinations of the ints.

    direct_call: native code that finds the graph for the ints and calls it.
    ready: the graph for the example, until its first call.
    compiled: the graphs that were compiled for one combination of ints.
    """

    def __init__(
        self,
        module: Callable[[], torch.fx.GraphModule],
        example_inputs: Sequence[Any],
        compile_graph: Callable[[Any, Sequence[Any]], Any],
        symbolic: ForSizes | None = None,
        ready: bool = True,
        another: Callable[[Sequence[Any]], ForSizes | None] | None = None,
    ) -> None:
        """`ready`: the graph for the example is made now. `another` makes a form whose example are these
        inputs.
        """
        self._module = module
        self.compile_graph = compile_graph
        self.symbolic = symbolic
        self.forms = [symbolic]  # None: what `another` gave
        self.another = another
        self.has_form = symbolic is not None and getattr(symbolic, "has_form", True)
        self.subject = events.subject()
        self.positions = tuple(i for i, value in enumerate(example_inputs) if type(value) is int)
        self.compiled: dict[tuple[int, ...], Callable[..., Any]] = {}
        self.direct_call: Any = _capture.SizedGraph(self.positions, LIMIT, self.prepare)
        self.ready: dict[tuple[int, ...], Callable[..., Any]] = {}
        if ready:
            self.ready = {self.key(example_inputs): self.prepare(*example_inputs)}

    @functools.cached_property
    def module(self) -> torch.fx.GraphModule:
        return self._module()

    @property
    def stored_key(self) -> str | None:
        """The key under which the store has the graph."""
        return getattr(self.symbolic, "stored_key", None)

    @property
    def fails_unchanged(self) -> bool:
        """Whether the usual call leaves the inputs as they were if it raises."""
        return self.symbolic is not None

    def __call__(self, *args: Any) -> Any:
        return self.direct_call(*args)

    def key(self, args: Sequence[Any]) -> tuple[int, ...]:
        return tuple(args[i] for i in self.positions)

    def prepare(self, *args: Any) -> Callable[..., Any]:
        """The graph for the ints among the arguments. The hook is off: the compiler must not be captured."""
        key = self.key(args)
        if key in self.ready:
            return self.ready.pop(key)
        if not self.has_form and self.is_for_later(key):
            return self.by_operators(key)
        before = switch(OFF)
        try:
            with events.about(self.subject):
                made = self.in_a_form(key, args)
                return self.in_numbers(key, args) if made is None else made
        finally:
            switch(before)

    def in_a_form(self, key: tuple[int, ...], args: Sequence[Any]) -> Callable[..., Any] | None:
        """The graph for these ints, of a form for all ints. The next ints will probably fit the same form."""
        add_template = self.direct_call.add_template
        for form in self.forms:
            made = None if form is None else form.graph_for(key, add_template)
            if made is not None:
                self.forms = [form, *(other for other in self.forms if other is not form)]
                return made
        if self.another is None or not self.has_form or len(self.forms) >= FORMS:
            return None
        log.info("a graph for all sizes is compiled again: %s do not fit its %d forms", key, len(self.forms))
        form = self.another(args)
        self.forms = [*self.forms, form]
        return None if form is None else form.graph_for(key, add_template)

    def is_for_later(self, key: tuple[int, ...]) -> bool:
        """Whether a graph for these ints alone is compiled only where they come again."""
        return key not in self.compiled and len(self.compiled) >= min(PROMPT, LIMIT)

    def in_numbers(self, key: tuple[int, ...], args: Sequence[Any]) -> Callable[..., Any]:
        """The graph for these ints alone, if the graph has no form for all ints."""
        if not self.is_for_later(key):
            return self.compile(key, args)
        return self.by_operators(key)

    def by_operators(self, key: tuple[int, ...]) -> Uncompiled:
        log.info(
            "a graph runs operator by operator for the sizes %s, for now: it was compiled for %d others",
            key,
            len(self.compiled),
        )
        return Uncompiled(self, key)

    def compile(self, key: tuple[int, ...], args: Sequence[Any]) -> Callable[..., Any]:
        if key not in self.compiled:
            log.info("a graph is compiled for the sizes %s, as it was for %d others", key, len(self.compiled))
            self.compiled[key] = self.compile_graph(self.module, args)
        return self.compiled[key]


class Uncompiled:
    """A graph for one combination of ints that runs operator by operator until it is called often."""

    def __init__(self, owner: SizedGraph, key: tuple[int, ...]) -> None:
        self.owner = owner
        self.key = key
        self.calls = 0
        self.compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        if self.calls == AGAIN and len(self.owner.compiled) < LIMIT:
            before = switch(OFF)
            try:
                self.compiled = self.owner.compile(self.key, args)
            finally:
                switch(before)
        return (self.compiled or self.owner.module.forward)(*args)
