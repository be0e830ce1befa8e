"""From a Program to the launch plan that `native/graph/compiled_graph.c` executes.

In:  a `Program` (buffers and steps) and the address of each kernel's machine code.
Out: a `LaunchPlan`: int64 words and a table of objects.

    mm(x, w) -> t;  k0: t -> y     ->     WORKSPACE t; GEMM x w t; NEW y; KERNEL k0 t y

Each buffer becomes a slot. The workspace holds a buffer that only kernels and native products touch. Buffers
of the workspace reuse a place after its last reader. A buffer becomes a tensor if an operator takes it or the
caller gets it. The plan drops the tensor after its last use. If that tensor is a view of a whole buffer that
is no tensor itself, the plan makes the tensor in the view's shape, and the buffer uses its memory.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import _capture
import torch

from capture_records import dataclass
from codegen.kernel.errors import UnplannableError
from codegen.kernel.grain import elements_of, grain_of, grain_of_rows, work_of
from codegen.kernel.ir import Binary, Const, Expr, Sym, extent_of
from codegen.kernel.open_numbers import OpenNumber, closed, open_places
from codegen.kernel.program import BufferInfo, ExternStep, KernelStep, Program, Ref, Step, ViewStep
from codegen.kernel.traffic import buffers_moved, flops_of
from codegen.launch.direct_calls import callable_of
from codegen.launch.own_product import may_take
from codegen.launch.workspace import places

if TYPE_CHECKING:
    from codegen.launch.matmul_launch import MatmulLaunch

SCALAR_TYPES: dict[torch.dtype, int] = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4,
    torch.float16: 5, torch.float32: 6, torch.float64: 7,
    torch.complex32: 8, torch.complex64: 9, torch.complex128: 10,
    torch.bool: 11, torch.bfloat16: 15, torch.uint16: 27, torch.uint32: 28, torch.uint64: 29,
    torch.float8_e5m2: 23, torch.float8_e4m3fn: 24, torch.float8_e5m2fnuz: 25,
    torch.float8_e4m3fnuz: 26, torch.float8_e8m0fnu: 44,
}  # fmt: skip


SIZES = (Const, Sym, Binary)

SEPARATE = False  # tests set it: then each buffer is a tensor, so that a guarding allocator sees its ends


@dataclass(frozen=True, slots=True)
class Work:
    """The work of an instruction: the bytes that it moves and its operations on floats (None: not known)."""

    name: str
    bytes_moved: int
    flops: int | None


@dataclass(slots=True)
class LaunchPlan:
    """The arguments of `_capture.CompiledGraph`, and facts about them.

    `native`: the products that run without the operator; `own`: the generated function may compute one of
    them. `work`: by position of the instruction. `open_words` and `open_objects`: the positions that depend
    on other sizes, if the plan was made from open numbers.
    """

    words: bytes
    objects: tuple[Any, ...]
    workspace_size: int
    extern_calls: list[str]
    native: list[str]
    own: bool
    work: dict[int, Work]
    open_words: list[tuple[int, OpenNumber]]
    open_objects: list[tuple[int, OpenNumber]]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How to make a plan. `integers` and `sizes` may be open numbers: the planner takes them as ints.

    conform_inputs: copy arguments with another layout into the expected one (gradients may have any layout).
                    Without it another layout is an error.
    changes:        by written input: how often the plan raises its version (default: once).
    integers:       the values of the inputs that are numbers. The graph refuses other values.
    sizes:          the values of the symbols in the program's sizes.
    """

    conform_inputs: bool = False
    changes: Mapping[str, int] = field(default_factory=dict)
    integers: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """A buffer with its sizes as numbers."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def numel(self) -> int:
        total = 1
        for size in self.shape:
            total *= size
        return total

    @property
    def nbytes(self) -> int:
        if not self.numel:
            return 0
        return (
            1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides))
        ) * self.dtype.itemsize

    def at_present(self) -> Layout:
        """With ints in place of open numbers: what is computed of them is no part of the plan."""
        return Layout(self.dtype, tuple(map(closed, self.shape)), tuple(map(closed, self.strides)))


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod,
    "min": min, "max": max,
}  # fmt: skip


def number(expr: Expr, sizes: Mapping[str, Any]) -> Any:
    """The value of a size."""
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Sym) and expr.name in sizes:
        return sizes[expr.name]
    if isinstance(expr, Binary):
        return ARITHMETIC[expr.op](number(expr.left, sizes), number(expr.right, sizes))
    raise UnplannableError(f"a size is known only at run time: {expr}")


def refs_in(value: Any) -> list[str]:
    """The names of the buffers in the arguments of an operator, at any depth."""
    if isinstance(value, Ref):
        return [value.name]
    if isinstance(value, (list, tuple)):
        return [name for item in value for name in refs_in(item)]
    return refs_in(list(value.values())) if isinstance(value, dict) else []


def reads_of(step: Step) -> list[str]:
    if isinstance(step, KernelStep):
        return list(step.buffers)
    if isinstance(step, ViewStep):
        return [step.base]
    return refs_in(step.args) + refs_in(step.kwargs)


def written_of(step: Step) -> list[str]:
    if isinstance(step, KernelStep):
        return step.written()
    return [] if isinstance(step, ViewStep) else list(step.mutates)


def made_by(step: Step) -> list[str]:
    """The buffers that the step makes, if they do not exist yet."""
    if isinstance(step, KernelStep):
        return written_of(step)
    if isinstance(step, ViewStep):
        return [step.output]
    return [name for name in step.outputs if name is not None]


@dataclass(slots=True)
class Planner:
    """The state while one plan is made."""

    program: Program
    addresses: Mapping[str, int]
    options: PlanOptions = field(default_factory=PlanOptions)
    layouts: dict[str, Layout] = field(default_factory=dict)
    matmuls: dict[int, MatmulLaunch] = field(default_factory=dict)  # by position of the step
    tensors: set[str] = field(default_factory=set)  # buffers that must be tensor objects
    roots: dict[str, str] = field(default_factory=dict)  # by view: the buffer that owns the memory
    #: by root: the tensors that the plan makes on its memory
    own_tensors: dict[str, list[str]] = field(default_factory=dict)
    shaped: dict[str, str] = field(default_factory=dict)  # by buffer: the view in its place
    last_use: dict[str, int] = field(default_factory=dict)  # by root: the last step that uses its memory
    #: Kernels, products and views compute addresses from the strides of these. (The plan does not check the
    #: layout of other results of operators.)
    read_by_layout: set[str] = field(default_factory=set)
    offsets: dict[str, int] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)
    raised: set[str] = field(default_factory=set)  # inputs whose version the plan has raised
    specs: dict[tuple[Layout, int], int] = field(default_factory=dict)
    objects: list[Any] = field(default_factory=list)
    object_places: dict[int, int] = field(default_factory=dict)  # by id
    code: list[int] = field(default_factory=list)
    instructions: int = 0
    work: dict[int, Work] = field(default_factory=dict)
    workspace_size: int = 0
    uses_torch: bool = False

    # --- analysis

    def analyse(self) -> None:
        self.layouts = {name: self.layout_of(info) for name, info in self.program.buffers.items()}
        calls = [(i, step) for i, step in enumerate(self.program.steps) if isinstance(step, ExternStep)]
        if calls:
            from codegen.launch.matmul_launch import native_matmul  # lazy: import time

            launches = ((i, native_matmul(step, self.layouts)) for i, step in calls)
            self.matmuls = {i: launch for i, launch in launches if launch is not None}
        self.find_roots()
        self.find_tensors()
        self.find_last_uses()
        self.find_read_by_layout()
        self.place_in_workspace()
        names = [
            *self.program.inputs,
            *(name for name in self.program.buffers if name not in self.program.inputs),
        ]
        self.slots = {name: slot for slot, name in enumerate(names)}

    def number(self, expr: Expr) -> int:
        return number(expr, self.options.sizes)

    def layout_of(self, info: BufferInfo) -> Layout:
        return Layout(info.dtype, tuple(map(self.number, info.shape)), tuple(map(self.number, info.strides)))

    def is_call(self, position: int) -> bool:
        return isinstance(self.program.steps[position], ExternStep) and position not in self.matmuls

    def find_roots(self) -> None:
        for step in self.program.steps:
            if isinstance(step, ViewStep):
                self.roots[step.output] = self.root(step.base)

    def root(self, name: str) -> str:
        return self.roots.get(name, name)

    def find_tensors(self) -> None:
        self.tensors.update(item for item in self.program.outputs if isinstance(item, str))
        self.tensors.update(
            name for name, info in self.program.buffers.items() if info.kind in ("input", "constant")
        )
        for position, step in enumerate(self.program.steps):
            if self.is_call(position):
                self.tensors.update((*reads_of(step), *made_by(step)))
        plain = self.made_by_pointer()
        if SEPARATE:
            self.tensors |= plain
            plain.clear()
        for step in reversed(self.program.steps):
            if not isinstance(step, ViewStep) or step.output not in self.tensors:
                continue
            if step.base in plain and step.base not in self.shaped and self.is_whole(step):
                self.shaped[step.base] = step.output
            else:
                self.shaped.pop(step.base, None)
                plain.discard(step.base)
                self.tensors.add(step.base)

        for name, info in self.program.buffers.items():
            is_own = info.kind not in ("input", "constant") or name in self.roots
            if is_own and name in self.tensors:
                self.own_tensors.setdefault(self.root(name), []).append(name)

    def made_by_pointer(self) -> set[str]:
        """The buffers that kernels and native products make and that need no tensor."""
        made = {
            name for i, step in enumerate(self.program.steps) if not self.is_call(i) for name in made_by(step)
        }
        return made - self.tensors - self.roots.keys()

    def is_whole(self, step: ViewStep) -> bool:
        """Whether the view is its base in another shape."""
        view, base = self.layouts[step.output], self.layouts[step.base]
        same = view.dtype == base.dtype and view.nbytes == base.nbytes
        return same and self.number(step.offset) == 0

    def find_last_uses(self) -> None:
        for position, step in enumerate(self.program.steps):
            for name in (*reads_of(step), *made_by(step)):
                self.last_use[self.root(name)] = position
        for item in self.program.outputs:
            if isinstance(item, str):
                self.last_use[self.root(item)] = len(self.program.steps)

    def place_in_workspace(self) -> None:
        lives: dict[str, tuple[int, int]] = {}
        for position, step in enumerate(self.program.steps):
            for name in made_by(step):
                if name not in self.tensors and name not in self.roots and name not in self.shaped:
                    lives.setdefault(name, (position, self.last_use[name]))
        needed = {name: self.layouts[name].nbytes for name in lives}
        self.offsets, self.workspace_size = places(needed, lives)

    # --- words

    def emit(self, name: str, *operands: int) -> None:
        """Append an instruction. `native/graph/compiled_graph.h` has the table."""
        number, _ = _capture.plan_instructions[name]
        self.code.extend((number, len(operands), *operands))
        self.instructions += 1

    def note_work(self, name: str, buffers: Iterable[str], flops: int | None) -> None:
        """Note the work of the last instruction. A buffer counts as often as `buffers` names it."""
        moved = sum(self.layouts[buffer].at_present().nbytes for buffer in buffers)
        self.work[self.instructions - 1] = Work(name, moved, flops)

    def spec(self, layout: Layout, offset: int = 0) -> int:
        return self.specs.setdefault((layout, offset), len(self.specs))

    def object(self, value: Any) -> int:
        index = self.object_places.setdefault(id(value), len(self.objects))
        if index == len(self.objects):
            self.objects.append(value)
        return index

    def define(self, name: str) -> None:
        """Give memory to a buffer before its first write."""
        if name in self.defined:
            return
        self.defined.add(name)
        if name in self.offsets:
            self.emit("WORKSPACE", self.slots[name], self.offsets[name])
        elif name in self.shaped:
            self.define(self.shaped[name])
            self.emit("POINTER", self.slots[name], self.slots[self.shaped[name]], 0)
        else:
            self.emit("NEW", self.slots[name], self.spec(self.layouts[name]))

    def write_steps(self) -> None:
        self.defined.update(self.program.inputs)
        for name, info in self.program.buffers.items():
            if info.kind == "constant":
                self.emit("CONSTANT", self.slots[name], self.object(info.value))
                self.defined.add(name)
        for position, step in enumerate(self.program.steps):
            for name in reads_of(step):
                self.define(name)  # an empty tensor that no kernel writes
            if position in self.matmuls:
                self.write_matmul(self.matmuls[position])
            else:
                WRITERS[type(step)](self, step)
            self.drop_dead(position)
        for item in self.program.outputs:
            if isinstance(item, str):
                self.define(item)

    def drop_dead(self, position: int) -> None:
        step = self.program.steps[position]
        dead = {self.root(name) for name in (*reads_of(step), *made_by(step))}
        dead = {root for root in dead if self.last_use[root] == position}
        names = [name for root in dead for name in self.own_tensors.get(root, ()) if name in self.defined]
        for slot in sorted(self.slots[name] for name in names):
            self.emit("DROP", slot)

    def bump(self, names: Iterable[str]) -> None:
        for name in dict.fromkeys(self.root(name) for name in names):
            if name in self.program.inputs and name not in self.raised:
                self.raised.add(name)
                for _ in range(self.options.changes.get(name, 1)):
                    self.emit("BUMP", self.slots[name])

    def write_kernel(self, step: KernelStep) -> None:
        for name in made_by(step):
            self.define(name)
        work = max((self.layouts[name].numel for name in step.buffers), default=0) * step.rows
        kernel = step.kernel
        head = (self.addresses[kernel.name], *self.division(step), work, self.object(kernel.name), step.rows)
        slots = [self.slots[name] for name in step.buffers]
        counts = len(kernel.buffers), len(kernel.sizes)
        self.emit("KERNEL", *head, *counts, *slots, *map(self.number, step.sizes))
        self.note_kernel_work(step)
        self.bump(step.written())

    def note_kernel_work(self, step: KernelStep) -> None:
        moved: list[str] = []
        flops: int | None = 0
        local = buffers_moved(step.kernel)
        for row in range(step.rows):
            buffers, sizes = step.row(row)
            moved += [buffers[name] for name in local]
            own = flops_of(step.kernel.body, sizes)
            flops = None if own is None or flops is None else flops + own
        name = step.kernel.name if step.rows == 1 else f"{step.kernel.name}, {step.rows} rows"
        self.note_work(name, moved, flops)

    def division(self, step: KernelStep) -> tuple[int, int]:
        """The range [0, n) that threads divide, and the least part for one thread; else zeros.

        The range of a table is its rows.
        """
        kernel = step.kernel
        if step.rows > 1:
            numbers = [self.row_number(step, row) for row in range(step.rows)]
            work = [work_of(kernel, number) for number in numbers]
            return step.rows, grain_of_rows(work, max(elements_of(kernel, number) for number in numbers))
        if kernel.split is None:
            return 0, 0
        number = self.row_number(step, 0)
        extent = number(extent_of(kernel.body, kernel.split))
        return extent, grain_of(kernel, extent, number)

    def row_number(self, step: KernelStep, row: int) -> Callable[[Expr], Any]:
        """A function that gives the value of a size of the kernel, in that row."""
        sizes = {name: self.number(size) for name, size in step.row(row)[1].items()}
        return lambda expr: number(expr, sizes)

    def write_view(self, step: ViewStep) -> None:
        if self.shaped.get(step.base) == step.output:
            return
        layout, offset = self.layouts[step.output], self.number(step.offset)
        self.defined.add(step.output)
        if step.output in self.tensors:
            self.uses_torch = True
            self.emit("VIEW", self.slots[step.output], self.slots[step.base], self.spec(layout, offset))
        else:
            self.emit(
                "POINTER", self.slots[step.output], self.slots[step.base], offset * layout.dtype.itemsize
            )

    def write_matmul(self, launch: MatmulLaunch) -> None:
        self.define(launch.output)
        left, right = launch.left, launch.right
        words = (
            SCALAR_TYPES[launch.dtype], right.transposed, left.transposed,
            launch.columns, launch.rows, launch.inner, right.leading, left.leading, launch.columns,
            self.slots[right.name], self.slots[left.name], self.slots[launch.output],
            double_bits(launch.alpha), double_bits(launch.beta),
            launch.batch, right.step, left.step, launch.rows * launch.columns,
            -1 if launch.bias is None else self.slots[launch.bias], *launch.bias_strides,
        )  # fmt: skip
        self.emit("GEMM", *words)
        flops = 2 * launch.batch * launch.rows * launch.columns * launch.inner
        self.note_work("gemm", (left.name, right.name, launch.output), flops)

    def write_call(self, step: ExternStep) -> None:
        self.uses_torch = True
        program: list[int] = []
        depth = 0
        for value in (*step.args, *step.kwargs.values()):
            self.argument(value, program)
        depth = len(program)  # an upper bound
        targets: list[int] = []
        for name in step.outputs:
            checked = name in self.read_by_layout
            targets += (
                -1 if name is None else self.slots[name],
                self.spec(self.layouts[name]) if name and checked else -1,
            )
        keywords = self.object(tuple(step.kwargs)) if step.kwargs else -1
        head = (
            self.object(callable_of(step.op)),
            keywords,
            len(step.args),
            depth,
            len(program),
            len(step.outputs),
        )
        self.emit("CALL", *head, *program, *targets)
        self.note_work(
            step.name, [*reads_of(step), *(name for name in step.outputs if name is not None)], None
        )
        self.defined.update(name for name in step.outputs if name is not None)

    def find_read_by_layout(self) -> None:
        for position, step in enumerate(self.program.steps):
            if not self.is_call(position):
                self.read_by_layout.update(reads_of(step))

    def argument(self, value: Any, program: list[int]) -> None:
        if isinstance(value, Ref):
            program += (_capture.plan_arguments["SLOT"], self.slots[value.name])
        elif isinstance(value, SIZES):
            program += (_capture.plan_arguments["OBJECT"], self.object(self.number(value)))
        elif isinstance(value, (list, tuple)) and (
            refs_in(value) or any(isinstance(item, SIZES) for item in value)
        ):
            for item in value:
                self.argument(item, program)
            program += (_capture.plan_arguments["LIST" if isinstance(value, list) else "TUPLE"], len(value))
        else:
            program += (_capture.plan_arguments["OBJECT"], self.object(value))

    # --- the whole

    def input_words(self) -> list[int]:
        words: list[int] = []
        kinds = _capture.plan_inputs
        used = {name for step in self.program.steps for name in reads_of(step)}
        used.update(item for item in self.program.outputs if isinstance(item, str))
        for name in self.program.inputs:
            if name in self.layouts:
                kind = kinds["CONFORM" if self.options.conform_inputs else "TENSOR"]
                words += (kind, self.spec(self.layouts[name])) if name in used else (kinds["UNUSED"], 0)
            elif name in self.options.integers:
                words += (kinds["INTEGER"], self.options.integers[name])
            else:
                words += (kinds["UNUSED"], 0)
        return words

    def output_words(self) -> list[int]:
        words: list[int] = []
        for item in self.program.outputs:
            if isinstance(item, str):
                words += (0, self.slots[item])
            else:
                words += (1, self.object(self.number(item) if isinstance(item, SIZES) else item))
        return words

    def finish(self) -> LaunchPlan:
        self.analyse()
        self.write_steps()
        inputs, outputs = self.input_words(), self.output_words()
        specs: list[int] = []
        for layout, offset in self.specs:
            specs += (
                SCALAR_TYPES[layout.dtype],
                len(layout.shape),
                layout.numel,
                offset,
                *layout.shape,
                *layout.strides,
            )
        head = (
            _capture.plan_version,
            len(self.program.inputs),
            len(self.slots),
            len(self.program.outputs),
            self.workspace_size,
        )
        words = [*head, len(self.specs), int(self.uses_torch), *inputs, *outputs, *specs, *self.code]
        calls = [
            step.name
            for i, step in enumerate(self.program.steps)
            if isinstance(step, ExternStep) and self.is_call(i)
        ]
        native = [
            step.name
            for i, step in enumerate(self.program.steps)
            if i in self.matmuls and isinstance(step, ExternStep)
        ]
        return LaunchPlan(
            struct.pack(f"{len(words)}q", *map(closed, words)),
            tuple(map(closed, self.objects)),
            closed(self.workspace_size),
            calls,
            native,
            any(map(may_take, self.matmuls.values())),
            self.work,
            open_places(words),
            open_places(self.objects),
        )


WRITERS: dict[type, Callable[[Planner, Any], None]] = {
    KernelStep: Planner.write_kernel,
    ExternStep: Planner.write_call,
    ViewStep: Planner.write_view,
}


def double_bits(value: float) -> int:
    return int(struct.unpack("q", struct.pack("d", value))[0])


def build_plan(
    program: Program, addresses: Mapping[str, int], options: PlanOptions | None = None
) -> LaunchPlan:
    """The launch plan of a program. `addresses`: machine code by kernel name. Raises UnplannableError."""
    return Planner(program, addresses, options or PlanOptions()).finish()
