"""Bytecode that loads or rebuilds values.

In:  variables, after translation.
Out: instructions that leave the objects on the stack. An object comes from an argument of the frame, from a
     slot that the guard program filled, from the outputs of the graph, or it is built. An object that is
     loaded twice is built once.

    ListVariable([x + 1, 3])  ->  LOAD_FAST ___out_0; LOAD_CONST 3; BUILD_LIST 2; COPY 1; STORE_FAST ___tmp_0
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import torch

from capture.bytecode.dialects import Assembler
from capture.graph.converted_inputs import plain_tensor
from capture.report.break_reasons import GraphBreak
from capture.variables.core.constant import ConstantVariable
from guards.sources import ConstantSource, LocalSource, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import torch.fx

    from capture.interpret.output_graph import OutputGraph
    from capture.variables.core.base import Variable


NO_KEYWORDS: Mapping[str, Variable] = {}


class SourceAssembler(Assembler):
    """An assembler that loads sources. `slots` has the sources that the guard program loads, in order of
    first use.
    """

    def __init__(self, slots: Iterable[Source] = ()) -> None:
        super().__init__()
        self.slots = {source: index for index, source in enumerate(slots)}

    def load_source(self, source: Source) -> None:
        if isinstance(source, LocalSource):
            self.load_local(source.name)
        elif isinstance(source, ConstantSource):
            self.load_constant(source.value)
        else:
            index = self.slots.setdefault(source, len(self.slots))
            self.load_local(f"___slot_{index}")

    def load_own_globals(self) -> None:
        """The globals of the running frame. They are no constant: they may hold the frame's function, whose
        code owns this code, and the garbage collector does not look into code objects.
        """
        self.load_callable(builtins.globals)
        self.call(0)


class PythonCode(SourceAssembler):
    """A growing list of instructions. `outputs` has the results of the graph that they need, in order of
    first use.
    """

    def __init__(self, output: OutputGraph) -> None:
        super().__init__()
        self.output = output
        self.outputs: dict[torch.fx.Node, int] = {}
        self.stored: dict[int, str] = {}
        self._building: set[int] = set()
        self._kept: list[Variable] = []  # keeps the ids in `stored` valid
        self._temporaries = 0
        self.changes_made: int | None = None  # changes of modes; None as long as the code leaves all alone
        #: iterators that wait for their positions; None as soon as the lists of the program have their items
        self._moves: list[tuple[Variable, int]] | None = []

    def load_globals(self, namespace: dict[str, Any]) -> None:
        """The globals that a function sees: the captured one, or one that is inlined."""
        frame = self.output.translator
        while frame is not None and frame.parent is not None:
            frame = frame.parent
        if frame is not None and namespace is frame.scope.globals:
            self.load_own_globals()
        else:
            self.load_constant(namespace)

    def temporary(self, hint: str = "tmp") -> str:
        self._temporaries += 1
        return f"___{hint}_{self._temporaries}"

    def call_object(
        self, function: Any, args: list[Variable], kwargs: Mapping[str, Variable] = NO_KEYWORDS
    ) -> None:
        """Leave `function(*args, **kwargs)` on the stack. `function` is an existing object."""
        self.load_callable(function)
        for arg in (*args, *kwargs.values()):
            self.load(arg)
        self.call(len(args) + len(kwargs), tuple(kwargs))

    # --- the modes of the thread ---

    def change_modes(self, until: Variable | None = None) -> None:
        """Make the changes of the frame that the code has not made yet, in their order.

        `until`: only those from before the frame made this manager, whose making is itself a change.
        """
        modes = self.output.modes
        places = (i for i, (_, args) in enumerate(modes.changes) if args and args[0] is until)
        end = len(modes.changes) if until is None else next(places)
        if self.changes_made is None:
            self.changes_made = 0
            for _ in modes.around:  # these modes must not see the calls below
                self.call_object(torch._C._pop_torch_function_stack, [])
                self.pop()
        while self.changes_made < end:
            function, args = modes.changes[self.changes_made]
            self.changes_made += 1  # first: the arguments may have changes in front of them
            self.call_object(function, [a if hasattr(a, "source") else ConstantVariable(a) for a in args])
            self.pop()

    # --- values ---

    def load(self, variable: Variable) -> None:
        """Leave the object on the stack."""
        variable = self.output.objects.resolve_place(variable)
        name = self.stored.get(id(variable))
        if name is not None:
            self.load_local(name)
        elif variable.source is not None:
            self.load_source(variable.source)
        else:
            self._build(variable)

    def load_swapped(self, variable: Variable) -> None:
        """An object is on the stack. Leave the value below it, as STORE_ATTR needs it."""
        self.load(variable)
        self.swap()

    def build(self, variable: Variable) -> None:
        """Build a new object here, so that a later `load` finds it ready."""
        variable = self.output.objects.resolve_place(variable)
        if variable.source is None and variable.built_once:
            self.load(variable)
            self.pop()

    def load_output(self, node: torch.fx.Node) -> None:
        if node._erased:
            raise GraphBreak("reconstruct", value="a value that the body of a function transform keeps")
        self.load_local(f"___out_{self.output_index(node)}")

    def load_memory(self, node: torch.fx.Node) -> None:
        """A tensor on the memory of the node's value. For an argument this is the argument itself: there may
        be no graph.
        """
        held = next((i for i in self.output.inputs.tensors() if i.node is node), None)
        if held is not None and held.convert in (None, plain_tensor):
            self.load_source(held.source)
        else:
            self.load_output(node)

    def output_index(self, node: torch.fx.Node) -> int:
        return self.outputs.setdefault(node, len(self.outputs))

    def _build(self, variable: Variable) -> None:
        key = id(variable)
        if key in self._building:
            raise GraphBreak("reconstruct", value=f"{variable.describe()}, which contains itself,")
        self._building.add(key)
        try:
            variable.reconstruct(self)
        except GraphBreak as signal:
            signal.born = signal.born if signal.born is not None else variable.born
            raise
        self._building.discard(key)
        if variable.built_once:
            self.store_as(variable)

    def move_iterator(self, iterator: Variable, position: int) -> None:
        """Give an iterator over a sequence its position, when the sequence has its items.

        `__setstate__` does not go past the end of the present items.
        """
        if self._moves is None:
            if not self.has_built(iterator) and iterator.source is None:
                self.store_as(iterator)  # it is new and on the stack
            self.load(iterator)
            self.load_method("__setstate__")
            self.load_constant(position)
            self.call(1)
            self.pop()
        else:
            self._moves.append((iterator, position))

    def lists_are_changed(self) -> None:
        moves, self._moves = self._moves or (), None
        for iterator, position in moves:
            self.move_iterator(iterator, position)

    def built(self, start: int = 0) -> list[tuple[str, Variable]]:
        """All objects built so far, without the first `start`: the name of the local, and the variable."""
        return [(self.stored[id(v)], v) for v in self._kept[start:]]

    def has_built(self, variable: Variable) -> bool:
        return id(self.output.objects.resolve_place(variable)) in self.stored

    def store_as(self, variable: Variable) -> None:
        """Store the object on top of the stack for later loads of `variable`. The object stays there."""
        name = self.temporary()
        self.copy()
        self.store_local(name)
        self.stored[id(variable)] = name
        self._kept.append(variable)
