"""Expressions over sizes become arguments of the kernel, computed before the launch."""

from __future__ import annotations

from codegen.kernel import ir
from codegen.kernel.form import KernelForm
from codegen.kernel.program import KernelStep
from codegen.kernel.verifier import verify
from codegen.launch.plan import number
from codegen.passes.steps.size_arguments import with_size_arguments

S0, S1 = ir.Sym("s0"), ir.Sym("s1")


def halved(size: ir.Expr) -> ir.Expr:
    return ir.add(ir.floordiv(ir.add(size, ir.Const(-1)), ir.Const(2)), ir.Const(1))


def step(extent: ir.Expr, stride: ir.Expr, offset: ir.Expr) -> KernelStep:
    """`out[i * stride + offset] = 1` for i in extent."""
    index = ir.add(ir.mul(ir.AxisVar("i"), stride), offset)
    body: list[ir.Stmt] = [ir.ConstOp(0, 1.0, "f32"), ir.Store("out", index, 0)]
    kernel = ir.Kernel(
        "k0", (ir.Buffer("out", "f32", True),), ("s0", "s1"), [ir.Loop("i", extent, body, parallel=True)]
    )
    return KernelStep(kernel, ("out",), (S0, S1))


def values(found: KernelStep, **sizes: int) -> list[int]:
    return [number(size, sizes) for size in found.sizes]


def test_each_expression_is_one_argument() -> None:
    found = with_size_arguments(step(halved(S0), halved(S0), ir.mul(S1, ir.Const(4))))
    verify(found.kernel)
    [loop] = found.kernel.body
    assert isinstance(loop, ir.Loop) and loop.extent == ir.Sym("z0")
    store = loop.body[1]
    assert isinstance(store, ir.Store)
    assert store.index == ir.add(ir.mul(ir.AxisVar("i"), ir.Sym("z0")), ir.Sym("z1"))
    assert found.kernel.sizes == ("z0", "z1")
    assert values(found, s0=9, s1=3) == [5, 12]
    assert values(found, s0=2, s1=0) == [1, 0]


def test_what_may_be_negative_is_known_to_be() -> None:
    found = with_size_arguments(step(S0, ir.Const(1), ir.add(S1, ir.Const(-3))))
    [loop] = found.kernel.body
    assert isinstance(loop, ir.Loop)
    store = loop.body[1]
    assert isinstance(store, ir.Store) and isinstance(store.index, ir.Binary)
    assert store.index.right == ir.Sym("z0", signed=True)
    assert not ir.is_nonnegative(store.index)
    assert values(found, s0=4, s1=1) == [4, -2]


def test_a_part_that_may_be_negative_makes_the_whole_so() -> None:
    less = ir.add(S1, ir.Const(-3))
    for offset in (ir.mul(less, ir.Const(4)), ir.add(ir.Binary("min", S0, less), ir.Const(1))):
        found = with_size_arguments(step(S0, ir.Const(1), offset))
        assert not ir.is_nonnegative(_index_of(found))
    quotient = ir.add(ir.mul(ir.floordiv(less, ir.Const(2)), S0), ir.Const(1))
    assert ir.is_nonnegative(_index_of(with_size_arguments(step(S0, ir.Const(1), quotient))))


def _index_of(found: KernelStep) -> ir.Expr:
    [loop] = found.kernel.body
    assert isinstance(loop, ir.Loop)
    store = loop.body[1]
    assert isinstance(store, ir.Store)
    return store.index


def test_bounds_stay() -> None:
    """The emitter looks for the numbers of a loop over blocks."""
    found = with_size_arguments(step(ir.Binary("min", ir.Const(8), halved(S0)), ir.Const(1), ir.Const(0)))
    [loop] = found.kernel.body
    assert isinstance(loop, ir.Loop)
    assert loop.extent == ir.Binary("min", ir.Const(8), ir.Sym("z0"))
    assert found.kernel.sizes == ("z0",)


def test_layers_of_other_sizes_have_one_kernel() -> None:
    first = with_size_arguments(step(halved(S0), S1, ir.Const(0)))
    second = with_size_arguments(step(halved(halved(S1)), ir.mul(S0, ir.Const(8)), ir.Const(0)))
    assert KernelForm(first.kernel).whole == KernelForm(second.kernel).whole
    assert values(second, s0=2, s1=17) == [5, 16]


def test_each_row_has_its_values() -> None:
    one = step(halved(S0), S1, ir.Const(0))
    table = KernelStep(one.kernel, ("a", "b"), (S0, S1, ir.mul(S0, ir.Const(2)), ir.Const(7)))
    found = with_size_arguments(table)
    assert found.rows == 2
    assert values(found, s0=10, s1=3) == [5, 3, 10, 7]
