"""Loop IR and programs as text."""

from __future__ import annotations

import pytest
import torch

from codegen.kernel import ir
from codegen.kernel.ir import AxisVar, Binary, Const, Sym
from codegen.kernel.printer import print_expr, print_kernel, print_program
from tests.codegen.lowering_check import lowered

i, j = AxisVar("i"), AxisVar("j")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Binary("add", Binary("mul", i, Const(8)), j), "i*8 + j"),
        (Binary("mul", Binary("add", i, j), Const(8)), "(i + j)*8"),
        (Binary("floordiv", i, Binary("mul", j, Const(2))), "i // (j*2)"),
        (Binary("mod", Binary("floordiv", i, Const(4)), Const(2)), "i // 4 % 2"),
        (Binary("min", i, Sym("n")), "min(i, n)"),
        (ir.Indirect(3), "%3"),
    ],
)
def test_expressions(expr, text):
    assert print_expr(expr) == text


def test_every_statement():
    body = [
        ir.Accumulator("a", "argmax", "f32"),
        ir.Loop(
            "i",
            Sym("n"),
            [
                ir.IndexOp(0, i),
                ir.ConstOp(1, True, "b8"),
                ir.Load(2, "x", i, "f32", mask=1, other=0.5),
                ir.Op(3, "neg", (2,), "f32"),
                ir.Update("a", 3, 0),
                ir.Check(1, 4),
                ir.Store("out", i, 3, mask=1, combine="sum"),
            ],
            vector=True,
            unroll=2,
        ),
        ir.ReadAccumulator(4, "a", "i64"),
        ir.ScanStep(5, "s", 3, "f32"),
    ]
    assert print_kernel(
        ir.Kernel("k", (ir.Buffer("x", "f32"), ir.Buffer("out", "f32", True)), ("n",), body)
    ) == (
        "kernel k(x: f32, out: f32 writable, n)\n"
        "  a = argmax of f32\n"
        "  for i in n vector unroll 2:\n"
        "    %0 = index i\n"
        "    %1 = const True : b8\n"
        "    %2 = load x[i] if %1 else 0.5\n"
        "    %3 = neg %2 : f32\n"
        "    update a, %3 at %0\n"
        "    check %1 else 4\n"
        "    sum into out[i], %3 if %1\n"
        "  %4 = read a : i64\n"
        "  %5 = scan s, %3 : f32\n"
    )


GRAPHS = {
    "chain": (lambda x, y: torch.exp(x * 2 + 1) * y, (4, 8), (4, 8)),
    "bias_relu": (lambda x, y: torch.relu(x + y), (4, 8), (8,)),
    "row_vector": (lambda x, y: x * y, (4, 8), (4, 1)),
    "transposed": (lambda x, y: x.t() + y, (32, 24), (24, 32)),
    "softmax": (lambda x, y: torch.softmax(x, 1), (4, 16), (1,)),
    "layer_norm": (lambda x, y: torch.layer_norm(x, (16,), y, y), (4, 16), (16,)),
    "group_norm": (lambda x, y: torch.nn.functional.group_norm(x, 2, y, y), (2, 4, 3, 3), (4,)),
    "column_sum": (lambda x, y: (x * y).sum(0), (16, 32), (16, 32)),
    "long_sum": (lambda x, y: x.sum(), (30000,), (1,)),
    "long_sum_with_rest": (lambda x, y: x.sum(), (20011,), (1,)),
    "batch_statistics": (lambda x, y: torch.var_mean(x, (0, 2)), (3, 16, 20), (1,)),
    "max_with_indices": (lambda x, y: x.max(1), (4, 16), (1,)),
    "matmul_epilogue": (lambda x, y: torch.relu(x @ y) * 2, (4, 8), (8, 4)),
    "join": (lambda x, y: torch.cat([x + 1, y], 1), (4, 8), (4, 3)),
    "pad": (lambda x, y: torch.nn.functional.pad(x, (1, 2)) * 2, (4, 8), (1,)),
    "view_outputs": (lambda x, y: (x.t(), (x + 1).view(-1), x), (4, 8), (1,)),
    "in_place": (lambda x, y: x.copy_(x - y * 0.1), (4, 8), (4, 8)),
    "half": (lambda x, y: x.bfloat16() * y.bfloat16() + 1, (16,), (16,)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_programs(name, golden):
    function, *shapes = GRAPHS[name]
    program, _ = lowered(function, *(torch.ones(shape) for shape in shapes))
    golden(f"{name}.loops", print_program(program))


def test_gather_program(golden):
    program, _ = lowered(lambda w, ids: w[ids] * 2, torch.ones(10, 16), torch.tensor([3, -1]))
    golden("gather.loops", print_program(program))
