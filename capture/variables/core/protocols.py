"""Protocols: what a value may ask of the interpreter, and of the graph under construction.

In:  `tx`, the frame whose instruction runs, and `tx.output`, the graph.
Out: the methods and attributes that the code of variables uses. `Translator` and `OutputGraph` have them.

    tx.compare("<", a, b)   ->   the variable of `a < b`, for values of any two families
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType, FunctionType

    import torch
    import torch.fx

    from capture.bytecode.instructions import Handler, Instruction
    from capture.interpret.budget import Budget
    from capture.interpret.existing_objects import ExistingObjects
    from capture.interpret.guarding import Guarding
    from capture.interpret.modes import Modes
    from capture.interpret.operations import Operations
    from capture.interpret.placeholders import Placeholders
    from capture.interpret.scope import Scope
    from capture.interpret.side_effects import SideEffects
    from capture.sizes.symbols import Symbols
    from capture.sizes.unbacked import Unbacked
    from capture.variables.callables.function import CellVariable, FunctionVariable
    from capture.variables.containers.mapping import DictVariable
    from capture.variables.core.base import ObservedException, Variable
    from capture.variables.core.exception import ExceptionVariable
    from capture.variables.iterators.generator import GeneratorVariable
    from capture.variables.objects.new_class import NewClassVariable
    from capture.variables.tensors.tensor import TensorVariable
    from codegen.fake.fake import FakeMode
    from guards.guard_set import GuardSet
    from guards.sources import Source

    Arguments = list[Variable]
    Keywords = dict[str, Variable]


class Output(Protocol):
    """The graph under construction. Each part knows one thing."""

    graph: torch.fx.Graph
    root_step: int
    printed: list[Variable]
    generators: list[GeneratorVariable]
    new_classes: list[NewClassVariable]

    @property
    def fake_mode(self) -> FakeMode: ...

    @property
    def seen_lazy_modules(self) -> set[int]: ...
    @property
    def guards(self) -> GuardSet: ...
    @property
    def guarding(self) -> Guarding: ...
    @property
    def modes(self) -> Modes: ...
    @property
    def inputs(self) -> Placeholders: ...
    @property
    def operations(self) -> Operations: ...
    @property
    def objects(self) -> ExistingObjects: ...
    @property
    def side_effects(self) -> SideEffects: ...
    @property
    def symbols(self) -> Symbols: ...
    @property
    def unbacked(self) -> Unbacked: ...
    @property
    def budget(self) -> Budget: ...

    def call_function(
        self, tx: Interpreter, function: Any, args: Arguments, kwargs: Keywords
    ) -> Variable: ...
    def call_method(self, tx: Interpreter, name: str, args: Arguments, kwargs: Keywords) -> Variable: ...
    def drop_nodes_after(self, last: torch.fx.Node | None) -> None: ...


class Interpreter(Protocol):
    """The frame whose instruction runs."""

    # --- state of the frame ---

    code: CodeType
    scope: Scope
    index: int
    depth: int
    locals: dict[str, Variable]
    cells: dict[str, CellVariable]
    namespace: DictVariable | None
    handled: list[ExceptionVariable]
    entry_values: set[int]

    @property
    def output(self) -> Output: ...
    @property
    def instructions(self) -> Sequence[Instruction]: ...
    def chain(self) -> Iterator[Interpreter]: ...
    def stack_text(self) -> str: ...
    def load_local(self, name: str) -> Variable: ...
    def read_cell(self, cell: CellVariable, name: str) -> Variable: ...

    # --- calls ---

    def callee(self, function: FunctionVariable, args: Arguments, kwargs: Keywords) -> CalleeFrame: ...
    def inline(self, function: FunctionVariable, args: Arguments, kwargs: Keywords) -> Variable: ...
    def call_function(self, function: FunctionVariable, args: Arguments, kwargs: Keywords) -> Variable: ...
    def call_pure(self, function: Any, args: Arguments, kwargs: Keywords) -> Variable: ...
    def call_override(self, function: Any, args: Arguments, kwargs: Keywords) -> Variable | None: ...

    # --- operations of any two values ---

    def compare(self, symbol: str, left: Variable, right: Variable) -> Variable: ...
    def operate(self, symbol: str, left: Variable, right: Variable) -> Variable: ...
    def operate_in_place(self, symbol: str, left: Variable, right: Variable) -> Variable: ...
    def get_item(self, value: Variable, key: Variable) -> Variable: ...
    def next_item(self, iterator: Variable) -> Variable | None: ...
    def to_text(self, value: Variable) -> str: ...
    def to_repr(self, value: Variable) -> str: ...
    def read_number(self, method: str, tensor: TensorVariable, args: Arguments) -> Variable | None: ...

    # --- wrapping ---

    def wrap(self, value: Any, source: Source | None) -> Variable: ...
    def wrap_constant(self, value: Any) -> Variable: ...
    def wrap_function(self, function: FunctionType | Any) -> FunctionVariable: ...


class CalleeFrame(Interpreter, Protocol):
    """A frame that a value runs: the frame of a generator or of a class body."""

    current: Instruction
    stack: list[Variable]
    returned: Variable | None

    @property
    def handlers(self) -> Sequence[Handler | None]: ...
    def resume_from(self, caller: Interpreter) -> None: ...
    def run(self) -> Variable: ...
    def run_to_yield(self) -> Variable | None: ...
    def unwind(self, raised: ObservedException, handler: Handler | None) -> None: ...
    def push(self, variable: Variable) -> None: ...
    def pop(self) -> Variable: ...
    def top(self) -> Variable: ...
    def jump(self, target: int | None) -> None: ...
