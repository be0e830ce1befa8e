"""_capture.CompiledGraph: launch plans by hand and by the planner, references, errors, several threads."""

from __future__ import annotations

import ctypes
import gc
import re
import struct
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import fx

from codegen.compile_fx import compile_fx
from codegen.kernel.ir import Buffer, Const, Kernel
from codegen.kernel.program import BufferInfo, ExternStep, KernelStep, Program, Ref, ViewStep
from codegen.launch.plan import Planner, PlanOptions, build_plan

_capture = pytest.importorskip("_capture")
PLANNER = Path(__file__).parents[2] / "codegen/launch/plan.py"
NEW, VIEW, CALL, DROP = (_capture.plan_instructions[name][0] for name in ("NEW", "VIEW", "CALL", "DROP"))
INPUT_TENSOR, INPUT_INTEGER, INPUT_CONFORM = map(_capture.plan_inputs.get, ("TENSOR", "INTEGER", "CONFORM"))
ARG_SLOT, ARG_OBJECT, ARG_LIST = map(_capture.plan_arguments.get, ("SLOT", "OBJECT", "LIST"))
aten = torch.ops.aten


@pytest.fixture(autouse=True, scope="module")
def calibrated() -> None:
    _capture.calibrate()


def make(
    inputs: list[tuple[int, int]],
    outputs: list[tuple[int, int]],
    code: list[int],
    objects: tuple[Any, ...] = (),
    specs: list[list[int]] | None = None,
    slots: int = 4,
    fallback: Any = None,
) -> Any:
    specs = [[6, 1, 3, 0, 3, 1]] if specs is None else specs
    head = [_capture.plan_version, len(inputs), slots, len(outputs), 0, len(specs), 1]
    flat = [word for pair in (*inputs, *outputs) for word in pair]
    words = [*head, *flat, *(word for spec in specs for word in spec), *code]
    return _capture.CompiledGraph(struct.pack(f"{len(words)}q", *words), objects, fallback)


def instruction(opcode: int, *operands: int) -> list[int]:
    return [opcode, len(operands), *operands]


def call(
    function_index: int, program: list[int], targets: list[tuple[int, int]], positional: int
) -> list[int]:
    flat = [word for pair in targets for word in pair]
    return instruction(
        CALL, function_index, -1, positional, len(program), len(program), len(targets), *program, *flat
    )


def test_the_planner_writes_each_instruction() -> None:
    numbers = [number for number, _ in _capture.plan_instructions.values()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert set(re.findall(r'emit\(\s*"(\w+)"', PLANNER.read_text())) == set(_capture.plan_instructions)


def test_instructions_have_the_operands_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many words as the table has names; a list may follow."""
    seen = {}

    def emit(self: Any, name: str, *operands: int) -> None:
        seen[name] = len(operands)
        original(self, name, *operands)

    original = Planner.emit
    monkeypatch.setattr(Planner, "emit", emit)
    weight, bias = torch.ones(4, 4), torch.ones(4)
    compile_fx(
        fx.symbolic_trace(lambda x: (x.add_(1) @ weight + bias).relu().sort()[0].t()), [torch.ones(4, 4)]
    )
    for name, count in seen.items():
        words = _capture.plan_instructions[name][1].split()
        assert count == len(words) or (words[-1] == "..." and count >= len(words) - 1), name
    assert len(seen) > 4, seen


def identity() -> Any:
    return make([(INPUT_TENSOR, 0)], [(0, 0)], [], slots=1)


def test_the_input_itself_comes_back() -> None:
    x = torch.randn(3)
    (out,) = identity()(x)
    assert out is x


def test_new_tensors_constants_and_objects() -> None:
    graph = make([(INPUT_TENSOR, 0)], [(0, 1), (1, 0)], instruction(NEW, 1, 0), objects=("text",))
    x = torch.randn(3)
    made, constant = graph(x)
    assert (
        made.shape == (3,) and made.dtype is torch.float32 and constant == "text" and made is not graph(x)[0]
    )


def test_calls_build_their_arguments() -> None:
    program = [ARG_SLOT, 0, ARG_SLOT, 0, ARG_LIST, 2, ARG_OBJECT, 1]
    graph = make([(INPUT_TENSOR, 0)], [(0, 1)], call(0, program, [(1, -1)], 2), objects=(torch.cat, 0))
    x = torch.randn(3)
    assert torch.equal(graph(x)[0], torch.cat([x, x]))


def test_results_in_another_layout_are_copied_into_the_planned_one() -> None:
    spec = [6, 2, 6, 0, 2, 3, 3, 1]
    graph = make(
        [(INPUT_TENSOR, 0)],
        [(0, 1)],
        call(0, [ARG_SLOT, 0], [(1, 0)], 1),
        (lambda x: x.t().contiguous().t(),),
        [spec],
    )
    x = torch.randn(2, 3)
    (out,) = graph(x)
    assert out.stride() == (3, 1) and torch.equal(out, x)


@pytest.mark.parametrize(
    "result", [torch.zeros(4), torch.zeros(3, dtype=torch.float64), None, (torch.zeros(3),) * 2]
)
def test_other_results_are_errors(result: Any) -> None:
    graph = make([(INPUT_TENSOR, 0)], [(0, 1)], call(0, [ARG_SLOT, 0], [(1, 0)], 1), (lambda x: result,))
    with pytest.raises(TypeError):
        graph(torch.zeros(3))


def test_arguments_are_checked() -> None:
    graph = identity()
    for bad in (
        torch.zeros(4),
        torch.zeros(3, 1),
        torch.zeros(3).double(),
        torch.zeros(6)[::2],
        None,
        3,
        torch.zeros(3).to_sparse(),
    ):
        with pytest.raises(TypeError, match="argument 0"):
            graph(bad)
    with pytest.raises(TypeError, match="takes 1 arguments, got 2"):
        graph(torch.zeros(3), torch.zeros(3))
    integer = make([(INPUT_INTEGER, 7)], [], [], slots=1)
    assert integer(7) == ()
    for bad in (8, 7.0, True, 2**80, "7"):
        with pytest.raises(TypeError, match="compiled for 7"):
            integer(bad)


def test_the_stride_of_a_dim_of_size_one_does_not_matter() -> None:
    graph = make([(INPUT_TENSOR, 0)], [(0, 0)], [], specs=[[6, 2, 3, 0, 3, 1, 1, 1]], slots=1)
    x = torch.randn(3).as_strided((3, 1), (1, 17))
    assert graph(x)[0] is x


def test_conforming_inputs_are_copied() -> None:
    graph = make([(INPUT_CONFORM, 0)], [(0, 0)], [], slots=1)
    expanded = torch.ones(()).expand(3)
    (out,) = graph(expanded)
    assert out.stride() == (1,) and torch.equal(out, expanded)
    x = torch.randn(3)
    assert graph(x)[0] is x


@pytest.mark.parametrize(
    "code, dtype",
    [(6, torch.float32), (7, torch.float64), (5, torch.float16), (11, torch.bool), (4, torch.int64)],
)
@pytest.mark.parametrize("rows", [1, 4, 900])  # few elements are copied here, more by torch
def test_copies_have_the_elements_at_their_places(code: int, dtype: torch.dtype, rows: int) -> None:
    spec = [code, 3, 6 * rows, 0, rows, 2, 3, 6, 1, 2]
    graph = make([(INPUT_CONFORM, 0)], [(0, 0)], [], specs=[spec], slots=1)
    base = torch.randint(0, 2, (3, rows, 2)).to(dtype)
    for x in (
        base.permute(1, 2, 0),
        base[:1].permute(1, 2, 0).expand(rows, 2, 3),
        base.flip(0).permute(1, 2, 0)[:, :, :3],
    ):
        (out,) = graph(x)
        assert out.stride() == (6, 1, 2) or rows == 1
        assert torch.equal(out, x)


def test_views_share_memory() -> None:
    graph = make(
        [(INPUT_TENSOR, 0)],
        [(0, 1)],
        instruction(VIEW, 1, 0, 1),
        specs=[[6, 1, 3, 0, 3, 1], [6, 1, 2, 1, 2, 1]],
    )
    base = torch.arange(5.0)
    (view,) = graph(base[2:])
    assert view.tolist() == [3, 4] and view.data_ptr() == base[3:].data_ptr() and view.storage_offset() == 3


def test_dropped_tensors_are_freed_at_once() -> None:
    seen: list[Any] = []

    def look(x: torch.Tensor) -> torch.Tensor:
        seen.append(weakref.ref(x))
        return x + 1

    def is_gone(x: torch.Tensor) -> torch.Tensor:
        seen.append(seen[0]())
        return x

    code = [
        *call(0, [ARG_SLOT, 0], [(1, -1)], 1),
        *call(0, [ARG_SLOT, 1], [(2, -1)], 1),
        *instruction(DROP, 1),
        *call(1, [ARG_SLOT, 2], [(3, -1)], 1),
    ]
    graph = make([(INPUT_TENSOR, 0)], [(0, 3)], code, (look, is_gone))
    graph(torch.zeros(3))
    assert seen[1]() is None and len(seen) == 3


def raising(x: Any) -> Any:
    raise KeyError("inside")


@pytest.mark.parametrize("fails", [False, True])
def test_references_are_balanced(fails: bool) -> None:
    objects = (torch.neg, raising if fails else torch.abs)
    code = [
        *instruction(NEW, 1, 0),
        *call(0, [ARG_SLOT, 0], [(2, 0)], 1),
        *call(1, [ARG_SLOT, 2], [(3, 0)], 1),
    ]
    graph = make([(INPUT_TENSOR, 0)], [(0, 3), (0, 0)], code, objects)
    x = torch.randn(3)

    def run() -> None:
        if fails:
            with pytest.raises(KeyError, match="inside"):
                graph(x)
        else:
            graph(x)

    run()
    gc.collect()
    counts = [sys.getrefcount(item) for item in (x, graph, objects, *objects)]
    tensors = sum(type(item) is torch.Tensor for item in gc.get_objects())
    for _ in range(100):
        run()
    gc.collect()
    assert [sys.getrefcount(item) for item in (x, graph, objects, *objects)] == counts
    assert sum(type(item) is torch.Tensor for item in gc.get_objects()) == tensors


def test_grad_mode_is_off_inside_and_restored() -> None:
    states: list[bool] = []

    def look(x: torch.Tensor) -> torch.Tensor:
        states.append(torch.is_grad_enabled())
        return x * 2

    graph = make([(INPUT_TENSOR, 0)], [(0, 1)], call(0, [ARG_SLOT, 0], [(1, -1)], 1), (look,))
    (out,) = graph(torch.zeros(3, requires_grad=True))
    assert states == [False] and torch.is_grad_enabled() and not out.requires_grad
    failing = make([(INPUT_TENSOR, 0)], [(0, 1)], call(0, [ARG_SLOT, 0], [(1, -1)], 1), (raising,))
    with pytest.raises(KeyError):
        failing(torch.zeros(3))
    assert torch.is_grad_enabled()


def test_a_graph_may_be_dropped_by_what_it_calls() -> None:
    holder: list[Any] = []

    def drop(x: torch.Tensor) -> torch.Tensor:
        holder.clear()
        gc.collect()
        return x

    holder.append(make([(INPUT_TENSOR, 0)], [(0, 1)], call(0, [ARG_SLOT, 0], [(1, -1)], 1), (drop,)))
    x = torch.zeros(3)
    assert holder[0](x)[0] is x


def test_graphs_in_cycles_are_collected() -> None:
    graph = identity()
    graph.me = graph
    alive = weakref.ref(graph)
    del graph
    gc.collect()
    assert alive() is None


def test_bad_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="version"):
        _capture.CompiledGraph(struct.pack("7q", 99, 0, 0, 0, 0, 0, 0), ())
    with pytest.raises(ValueError, match="instruction"):
        make([], [], [99, 0])
    with pytest.raises(ValueError, match="instruction"):
        make([], [], [NEW, 500, 0])


# --- programs through the planner, with kernels written here ------------------------------------------------

KERNEL_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)


def floats(address: int, count: int) -> Any:
    return (ctypes.c_float * count).from_address(address)


def python_kernel(body: Any) -> tuple[Any, int]:
    """A kernel in Python: `body(buffers)` gives the return code."""
    function = KERNEL_TYPE(lambda buffers, sizes, begin, end: body(buffers))
    return function, ctypes.cast(function, ctypes.c_void_p).value or 0


def buffer(name: str, kind: str, *shape: int, strides: tuple[int, ...] | None = None) -> BufferInfo:
    steps = torch.empty(shape).stride() if strides is None else strides
    return BufferInfo(name, kind, torch.float32, tuple(map(Const, shape)), tuple(map(Const, steps)), Const(0))


def kernel_step(name: str, reads: list[str], writes: list[str]) -> KernelStep:
    names = [*reads, *writes]
    arguments = tuple(Buffer(n, "f32", writable=n in writes) for n in names)
    return KernelStep(Kernel(name, arguments), tuple(names))


def program(inputs: list[str], outputs: list[Any], buffers: list[BufferInfo], steps: list[Any]) -> Program:
    return Program({info.name: info for info in buffers}, inputs, steps, outputs)


def run_program(
    made: Program,
    bodies: dict[str, Any],
    *args: Any,
    options: PlanOptions | None = None,
    fallback: Any = None,
) -> Any:
    kernels = {name: python_kernel(body) for name, body in bodies.items()}
    plan = build_plan(made, {name: address for name, (_, address) in kernels.items()}, options)
    graph = _capture.CompiledGraph(plan.words, plan.objects, fallback)
    graph.keep = kernels
    return graph, plan


def double(buffers: Any) -> int:
    source, target = floats(buffers[0], 3), floats(buffers[1], 3)
    for i in range(3):
        target[i] = source[i] * 2
    return 0


def chain(length: int) -> Program:
    names = [f"t{i}" for i in range(length)]
    buffers = [
        buffer("x", "input", 3),
        *(buffer(name, "temp", 3) for name in names[:-1]),
        buffer(names[-1], "output", 3),
    ]
    steps = [kernel_step(f"k{i}", [("x", *names)[i]], [names[i]]) for i in range(length)]
    return program(["x"], [names[-1]], buffers, steps)


def test_kernels_get_pointers_and_temporaries_share_the_workspace() -> None:
    graph, plan = run_program(chain(6), {f"k{i}": double for i in range(6)})
    x = torch.tensor([1.0, 2.0, 3.0])
    assert graph(x)[0].tolist() == [64, 128, 192]
    assert plan.workspace_size == 128, "two places of 64 bytes serve five temporaries"
    assert x.tolist() == [1, 2, 3] and x._version == 0


def test_a_written_input_has_its_version_raised() -> None:
    made = program(["x"], ["x"], [buffer("x", "input", 3)], [kernel_step("k", [], ["x"])])

    def negate(buffers: Any) -> int:
        data = floats(buffers[0], 3)
        for i in range(3):
            data[i] = -data[i]
        return 0

    x = torch.tensor([1.0, 2.0, 3.0])
    graph, _ = run_program(made, {"k": negate})
    assert graph(x)[0] is x and x.tolist() == [-1, -2, -3] and x._version == 1
    graph, _ = run_program(made, {"k": negate}, options=PlanOptions(changes={"x": 0}))
    graph(x)
    assert x._version == 1


def test_a_failed_check_raises_or_runs_the_fallback() -> None:
    made = chain(1)
    graph, _ = run_program(made, {"k0": lambda buffers: 5})
    with pytest.raises(_capture.CheckFailed, match="check 5 failed in the compiled kernel k0"):
        graph(torch.zeros(3))
    graph, _ = run_program(made, {"k0": lambda buffers: 5}, fallback=lambda x: (x + 1,))
    assert graph(torch.zeros(3))[0].tolist() == [1, 1, 1]
    graph, _ = run_program(made, {"k0": lambda buffers: 5}, fallback=lambda x: x)
    with pytest.raises(TypeError, match="fallback"):
        graph(torch.zeros(3))


def test_a_fallback_may_be_given_later() -> None:
    """The fallback knows the graph: the two are collected together."""

    class Owner:
        def __init__(self, graph: Any) -> None:
            self.graph = graph

        def run(self, x: torch.Tensor) -> tuple[torch.Tensor]:
            return (x + 1,)

    graph, _ = run_program(chain(1), {"k0": lambda buffers: 5})
    owner = Owner(graph)
    graph.fallback = owner.run
    assert graph(torch.zeros(3))[0].tolist() == [1, 1, 1]
    dead = weakref.ref(owner)
    del owner, graph
    gc.collect()
    assert dead() is None


def test_a_pointer_into_a_temporary() -> None:
    buffers = [
        buffer("x", "input", 3),
        buffer("big", "temp", 6),
        buffer("part", "temp", 3),
        buffer("y", "output", 3),
    ]

    def fill(pointers: Any) -> int:
        floats(pointers[1], 6)[:] = [*floats(pointers[0], 3)] * 2
        return 0

    steps = [
        kernel_step("fill", ["x"], ["big"]),
        ViewStep("part", "big", (Const(3),), (Const(1),), Const(2)),
        kernel_step("double", ["part"], ["y"]),
    ]
    graph, _ = run_program(program(["x"], ["y"], buffers, steps), {"fill": fill, "double": double})
    assert graph(torch.tensor([1.0, 2.0, 3.0]))[0].tolist() == [6, 2, 4]


@pytest.mark.parametrize("left", [(4, 1), (1, 3)])
@pytest.mark.parametrize("right", [(5, 1), (1, 4)])
@pytest.mark.parametrize("bias", [None, (5,), (3, 1)])
def test_products_run_natively(left: tuple[int, int], right: tuple[int, int], bias: Any) -> None:
    buffers = [
        buffer("a", "input", 3, 4, strides=left),
        buffer("b", "input", 4, 5, strides=right),
        buffer("y", "output", 3, 5),
    ]
    inputs = ["a", "b"]
    step = ExternStep(aten.mm.default, (Ref("a"), Ref("b")), {}, ("y",))
    if bias is not None:
        buffers.append(buffer("c", "input", *bias))
        inputs.append("c")
        step = ExternStep(
            aten.addmm.default, (Ref("c"), Ref("a"), Ref("b")), {"alpha": 2, "beta": 0.5}, ("y",)
        )
    graph, plan = run_program(program(inputs, ["y"], buffers, [step]), {})
    assert plan.extern_calls == [] and len(plan.native) == 1
    a, b = torch.randn(12).as_strided((3, 4), left), torch.randn(20).as_strided((4, 5), right)
    args, expected = [a, b], a @ b
    if bias is not None:
        args.append(torch.randn(bias))
        expected = torch.addmm(args[2], a, b, alpha=2, beta=0.5)
    torch.testing.assert_close(graph(*args)[0], expected)


def test_products_that_blas_can_not_read_are_called() -> None:
    buffers = [
        buffer("a", "input", 3, 4, strides=(8, 2)),
        buffer("b", "input", 4, 5),
        buffer("y", "output", 3, 5),
    ]
    step = ExternStep(aten.mm.default, (Ref("a"), Ref("b")), {}, ("y",))
    graph, plan = run_program(program(["a", "b"], ["y"], buffers, [step]), {})
    a, b = torch.randn(6, 8)[::2, ::2].as_strided((3, 4), (8, 2)), torch.randn(4, 5)
    assert plan.native == [] and torch.equal(graph(a, b)[0], a @ b)


def test_a_program_of_python_operators_may_call_the_graph_again() -> None:
    holder: list[Any] = []

    def again(x: torch.Tensor) -> torch.Tensor:
        return holder[0](x - 1)[0] if x[0] > 0 else x

    buffers = [
        buffer("x", "input", 3),
        buffer("t", "temp", 3),
        buffer("u", "temp", 3),
        buffer("y", "output", 3),
    ]
    steps = [
        kernel_step("k", ["x"], ["t"]),
        ExternStep(again, (Ref("x"),), {}, ("u",)),
        kernel_step("copy", ["t"], ["y"]),
    ]
    graph, _ = run_program(program(["x"], ["y"], buffers, steps), {"k": double, "copy": double})
    holder.append(graph)
    assert graph(torch.tensor([3.0, 1.0, 1.0]))[0].tolist() == [12, 4, 4], (
        "the inner runs have a workspace of their own"
    )
