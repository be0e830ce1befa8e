"""Random programs about what tensors and objects are, not only about the numbers in them.

In:  a seed.
Out: `RandomObjects`: the source of `f(x, w, see, keep)`. It makes views, reads and branches on their
     metadata, writes through them, puts hooks on tensors, differentiates a part inside, packs what autograd
     saves, compares identities, and drops objects that others watch. `see(value)` notes what it sees.

    observed(f, world)   ->   what it saw, results, gradients, inputs afterwards, the error

A world says which inputs require grad, how they lie in memory, whether they are one tensor, whether gradients
are on, and who follows what the thread runs.
"""

from __future__ import annotations

import contextlib
import gc
import math
import random
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

Shape = tuple[int, ...]
Seen = list[tuple[str, Any]]

SQUARE, FLAT, ROW, COLUMN = (3, 3), (9,), (3,), (3, 1)
#: by shape: what makes a tensor from {a} (and {b}, of the same shape), and its shape
VIEWS: dict[Shape, list[tuple[str, Shape]]] = {
    SQUARE: [
        ("{a}.t()", SQUARE), ("{a}.view_as({a})", SQUARE), ("{a}[0]", ROW), ("{a}[:, 1]", ROW),
        ("{a}.detach()", SQUARE), ("{a}.diagonal()", ROW), ("{a}.unbind(1)[2]", ROW), ("{a}[:]", SQUARE),
        ("{a}.split(1, 1)[0]", COLUMN), ("{a}.flatten()", FLAT), ("{a}.expand(3, 3)", SQUARE),
        ("{a}.contiguous()", SQUARE), ("{a}.reshape(9)", FLAT), ("{a}.flip(0)", SQUARE),
        ("{a}.unsqueeze(0)[0]", SQUARE), ("{a}.transpose(0, 1)", SQUARE), ("{a}.movedim(0, 1)", SQUARE),
    ],
    FLAT: [
        ("{a}.view(3, 3)", SQUARE), ("{a}[::3]", ROW), ("{a}[3:6]", ROW),
        ("{a}.unflatten(0, (3, 3))", SQUARE), ("{a}.narrow(0, 0, 3)", ROW), ("{a}.detach()", FLAT),
        ("{a}.chunk(3)[1]", ROW),
    ],
    ROW: [
        ("{a}.expand(3, 3)", SQUARE), ("{a}.unsqueeze(1)", COLUMN), ("{a}.view(3, 1)", COLUMN),
        ("{a}.detach()", ROW), ("{a}.repeat(3)", FLAT), ("{a}.to(torch.float64)", ROW),
        ("{a}.squeeze()", ROW),
    ],
    COLUMN: [("{a}.squeeze(1)", ROW), ("{a}.expand(3, 3)", SQUARE), ("{a}[:, 0]", ROW), ("{a}.mT[0]", ROW)],
}  # fmt: skip
ELEMENTWISE = [
    "{a} * 2",
    "{a} + {b}",
    "{a}.sin()",
    "{a} * {b}",
    "{a}.exp() * 0.1",
    "{a}.relu()",
    "{a}.clone()",
]
WRITES = [
    "{a}.mul_(0.5)",
    "{a}.add_({b})",
    "{a}[0] = 0.25",
    "{a}.copy_({b} * 2)",
    "{a}.sigmoid_()",
    "{a} += 1",
]
METADATA = [
    "{a}._base is None", "{a}._base is {b}", "{a}._is_view()", "{a}.is_leaf", "{a}.requires_grad",
    "{a}.grad_fn is None", "{a}._version", "{a}.data_ptr() == {b}.data_ptr()", "{a}.storage_offset()",
    "{a}.stride()", "{a}.is_contiguous()", "{a}.output_nr", "{a}.retains_grad",
    "{a}.untyped_storage().nbytes()",
    "{a}.untyped_storage().data_ptr() == {b}.untyped_storage().data_ptr()", "{a}.grad is None",
    "{a}.is_set_to({b})", "{a}._version == {b}._version",
]  # fmt: skip
IDENTITY = [
    "{a} is {b}", "{a} is x", "{a}.contiguous() is {a}", "{a}.to(torch.float64) is {a}", "{a}.data is {a}",
    "{a}.requires_grad_({a}.requires_grad) is {a}", "{a}.reshape({a}.shape) is {a}",
    "any(t is {a} for t in [{b}])", "id({a}) == id({b})", "[{a}][0] is {a}", "({a},) == ({a},)",
    "nan in [nan]", "text is TEXT", "(text + '') is text", "Box({a}).value is {a}",
    "dict(k={a})['k'] is {b}", "{a}.expand_as({a}) is {a}",
    "{{{a}: 1}}.get({b}, 0)", "[{a}, {b}].index({a})", "{a}.grad is {b}.grad", "float is type(nan)",
]  # fmt: skip
#: statements on objects that die
DELETION = [
    "box = Box({a}); see('alive', weakref.ref(box)() is box); del box",
    "box = Box({a}); ref = weakref.ref(box); box = None; see('dead', ref() is None)",
    "keep.box = Box({a}); ref = weakref.ref(keep.box); keep.box = Box({b}); see('replaced', ref() is None)",
    "last = Last(see, 1); see('made', last.number); del last; see('after', 1)",
    "last = Last(see, 2); last = Last(see, 3); see('rebound', last.number); del last",
    "keep.last = Last(see, 4); keep.last = None; see('let go', 4)",
    "held = [Last(see, 5), {a}]; held.pop(0); see('popped', len(held))",
    "watched = Box({a}); weakref.finalize(watched, see, 'finalized', 6); del watched; see('after', 6)",
    "once = {a} * 3; ref = weakref.ref(once); see('tensor', ref() is once); del once",
    "made = {{'k': Box({a})}}; ref = weakref.ref(made['k']); made.clear(); see('cleared', ref() is None)",
]
#: hooks that note what they see, and gradients of a part
HOOKS = [
    "{a}.register_hook(lambda g: see('hook', g))", "{a}.register_hook(lambda g: g * 2)", "{a}.retain_grad()",
    "handle = {a}.register_hook(lambda g: g * 5); handle.remove()", "keep.watched.append({a})",
    "{a}.register_hook(lambda g, k={c}: g * k)",
]  # fmt: skip
PARTS = [
    "see('grad', torch.autograd.grad({a}.sum(), {b}, retain_graph=True, allow_unused=True))",
    "see('grad', torch.autograd.grad({a}.square().sum(), [x, w], retain_graph=True, allow_unused=True))",
    "{a}.sum().backward(retain_graph=True); see('x.grad', x.grad)",
    "g, = torch.autograd.grad({a}.sin().sum(), x, create_graph=True, allow_unused=True)\n"
    "    see('second', None if g is None else g.square().sum())",
]
SAVED = [
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):",
    "with torch.autograd.graph.saved_tensors_hooks(keep.pack, keep.unpack):",
    "with torch.autograd.graph.save_on_cpu():",
    "with torch.no_grad():", "with torch.enable_grad():", "with torch.inference_mode(False):",
    "with torch.set_grad_enabled({c} > 1):", "with torch.autograd.graph.disable_saved_tensors_hooks('no'):",
]  # fmt: skip
LOST_VIEW = "A view was created in no_grad mode"  # its base has another version: docs/limits.md


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value


class Last:
    """It says when it dies."""

    def __init__(self, see: Callable[[str, Any], None], number: int) -> None:
        self.see, self.number = see, number

    def __del__(self) -> None:
        self.see("died", self.number)


class Keep:
    """What outlives a call."""

    def __init__(self) -> None:
        self.watched: list[torch.Tensor] = []
        self.box = self.last = None
        self.packed = 0

    def pack(self, value: torch.Tensor) -> torch.Tensor:
        self.packed += 1
        return value

    def unpack(self, value: torch.Tensor) -> torch.Tensor:
        return value


class RandomObjects:
    """Hooks and gradients of a part are for results that are no views, and nothing is written to behind a
    hook: views are made outside of the graph, where hooks do not see its other results (docs/limits.md).
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: list[tuple[str, Shape]] = [("x", SQUARE), ("w", SQUARE)]
        self.fresh: list[tuple[str, Shape]] = []  # results of operations, which are no views
        self.count, self.is_hooked = 0, False
        lines: list[str] = []
        kinds = self.random.choices([METADATA, IDENTITY, DELETION, HOOKS, PARTS, SAVED], k=3)
        for _ in range(self.random.randrange(5, 14)):
            lines += self.statement(kinds)
        results = ", ".join(
            name for name, _ in self.random.sample(self.names[2:] or self.names, 1) + self.names[-2:]
        )
        self.source = "\n    ".join(["def f(x, w, see, keep, text=TEXT):", *lines, f"return [{results}]"])
        self.worlds = [self.world() for _ in range(3)]

    def statement(self, kinds: list[list[str]]) -> list[str]:
        draw = self.random.random()
        if draw < 0.3:
            return [self.define(*self.view())]
        if draw < 0.5:
            name, shape = self.pick()
            made = self.define(self.fill(self.random.choice(ELEMENTWISE), name, shape), shape)
            self.fresh.append(self.names[-1])
            return [made]
        if draw < 0.6:
            name, shape = self.pick()
            self.fresh = []  # it may be memory of one of them
            if self.is_hooked:
                return []
            return [self.fill(self.random.choice(WRITES), name, shape)]
        if draw < 0.63:
            return ["capture.graph_break()"]
        kind = self.random.choice(kinds)
        if kind in (HOOKS, PARTS) and not self.fresh:
            return []
        on = self.random.choice(self.fresh) if kind in (HOOKS, PARTS) else self.pick()
        self.is_hooked = self.is_hooked or kind is HOOKS
        text = self.fill(self.random.choice(kind), *on, self.fresh if kind is PARTS else self.names)
        if kind is METADATA or kind is IDENTITY:
            return self.look(text)
        return [text, "    " + self.define(*self.view())] if kind is SAVED else [text]

    def look(self, text: str) -> list[str]:
        if self.random.random() < 0.6:
            return [f"see({text!r}, {text})"]
        name, shape = self.pick()
        branch = self.define(f"{name} * 1.5 if ({text}) else {name} - 0.5", shape)
        return [branch]

    def view(self) -> tuple[str, Shape]:
        name, shape = self.pick()
        text, made = self.random.choice(VIEWS[shape])
        return self.fill(text, name, shape), made

    def pick(self) -> tuple[str, Shape]:
        return self.random.choice(self.names[-5:])

    def define(self, text: str, shape: Shape) -> str:
        self.count += 1
        self.names.append((f"t{self.count}", shape))
        return f"t{self.count} = {text}"

    def fill(self, text: str, name: str, shape: Shape, names: list[tuple[str, Shape]] | None = None) -> str:
        others = [other for other, size in names or self.names if size == shape]
        return text.format(a=name, b=self.random.choice(others), c=self.random.randrange(1, 4))

    def world(self) -> dict[str, Any]:
        choose = self.random.choice
        return {
            "grads": choose([(True, True), (True, True), (True, False), (False, False)]),
            "layout": choose(["dense", "dense", "transposed", "part", "row of a view"]),
            "same": self.random.random() < 0.15,
            "enabled": self.random.random() < 0.85,
            "follower": choose(["", "", "", "", "settrace", "setprofile"]),
            "starts": self.random.randrange(1, 8),
        }

    def function(self) -> Callable[..., Any]:
        import capture

        space: dict[str, Any] = {
            "torch": torch, "capture": capture, "weakref": weakref, "Box": Box, "Last": Last, "gc": gc,
            "nan": math.nan, "TEXT": "a text",
        }  # fmt: skip
        exec(compile(self.source, "<random objects>", "exec"), space)
        made: Callable[..., Any] = space["f"]
        return made


def inputs(world: dict[str, Any]) -> list[torch.Tensor]:
    torch.manual_seed(0)
    made = []
    for needs_grad in world["grads"]:
        base = torch.randn(6, 6, dtype=torch.float64)
        parts = {
            "transposed": base[:3, :3].clone().t(),
            "part": base[::2, 1:4],
            "row of a view": base.view(4, 9)[1].view(3, 3),
        }
        made.append(parts.get(world["layout"], base[:3, :3].clone()).detach().requires_grad_(needs_grad))
    return [made[0], made[0]] if world["same"] else made


@contextlib.contextmanager
def followed(follower: str) -> Iterator[None]:
    """A function of the program follows the thread."""
    if not follower:
        yield
        return
    before = sys.gettrace() if follower == "settrace" else sys.getprofile()
    getattr(sys, follower)(lambda *args: None)
    try:
        yield
    finally:
        getattr(sys, follower)(before)


def observed(function: Callable[..., Any], world: dict[str, Any]) -> Seen:
    seen: Seen = []

    def see(what: str, value: Any) -> None:
        seen.append((what, plain(value)))

    keep, (x, w) = Keep(), inputs(world)
    try:
        with torch.set_grad_enabled(world["enabled"]), followed(world["follower"]):
            results = function(x, w, see, keep)
        differentiate(results, world["starts"], see)
    except (RuntimeError, ValueError) as error:
        see("lost view" if LOST_VIEW in str(error) else "error", type(error))
        return seen
    see("results", results)
    see("same results", [[one is other for one in results] for other in results])
    see("flags", [(result.requires_grad, result.is_leaf) for result in results])
    see("inputs", [x, w, x.grad, w.grad])
    see("watched", [watched.grad for watched in keep.watched if watched.retains_grad])
    return seen


def differentiate(results: list[torch.Tensor], starts: int, see: Callable[[str, Any], None]) -> None:
    """Backward from some of the results (the bits of `starts`), and then from all."""
    chosen = [result for i, result in enumerate(results) if starts >> i & 1 and result.requires_grad]
    if chosen:
        torch.autograd.backward([result.sum() for result in chosen], retain_graph=True)
        see("from some", [result.grad for result in results if result.retains_grad or result.is_leaf])
    rest = [result for result in results if result.requires_grad]
    if rest:
        torch.autograd.backward([result.square().sum() for result in rest])


def plain(value: Any) -> Any:
    """The value now: tensors change."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
