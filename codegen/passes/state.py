"""The state of the passes, from the stores of a lowering to the steps of its Program.

In:  a `Lowering` after the walk over the graph.
Out: each pass fills or changes some fields. Later fields are made from earlier ones.
"""

from __future__ import annotations

from dataclasses import field

from capture_records import dataclass
from codegen.kernel.program import KernelStep, OpenKernel, Program
from codegen.lower.graph import Lowering
from codegen.lower.tensor_expr import TensorExpr
from codegen.passes.draft.draft import Draft
from codegen.passes.group.fuse import Dependencies
from codegen.passes.group.group import Group
from codegen.passes.group.roots import Root
from codegen.passes.steps.origins import Origins


@dataclass(slots=True)
class State:
    """`lowering` has the stores and the Program that gets the steps.

    `groups`, `drafts`, `open` and `kernels` have one item for each kernel, in the same order.
    """

    lowering: Lowering
    roots: dict[TensorExpr, Root] = field(default_factory=dict)  # by definition
    groups: list[Group] = field(default_factory=list)
    dependencies: Dependencies = field(init=False)  # of roots and operator calls, after the fusion
    early_drafts: dict[int, Draft] = field(default_factory=dict)  # by group number: made to check the writes
    drafts: list[Draft] = field(default_factory=list)
    open: list[OpenKernel | None] = field(default_factory=list)
    kernels: list[KernelStep] = field(default_factory=list)
    origins: Origins = field(init=False)  # of the kernels

    @property
    def program(self) -> Program:
        return self.lowering.program

    def __str__(self) -> str:
        """The number of items of each kind, for the log."""
        kinds = {
            "stores": self.lowering.stores,
            "roots": self.roots,
            "groups": self.groups,
            "drafts": self.drafts,
            "kernels": self.kernels,
            "steps": self.program.steps,
        }
        return ", ".join(f"{len(items)} {name}" for name, items in kinds.items() if items)
