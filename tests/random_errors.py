"""Random programs in which an operation may raise between writes to inputs and changes of Python objects.

In:  a seed.
Out: `RandomErrors`: the source of `f(x, w, i, note)`. It writes to `x` and `w`, appends, stores items,
     attributes, globals and nonlocals, and looks up what the index `i` says. `worlds` has fitting indices and
     others.

    observed(f, world)   ->   the result or the error with its line, all objects, the inputs
"""

from __future__ import annotations

import random
import traceback
import types
from typing import Any

import torch

CHANGES = [
    "note.log.append({n})", "note.log.append({a})", "note.items['k{k}'] = {n}", "note.items[{k}] = {a}",
    "note.count += {n}", "note.last = {a}", "note.inner.depth = {n}", "note.items.pop('first', None)",
    "TOTAL = TOTAL + {n}", "seen = seen + {n}", "note.log.insert(0, {n})", "note.names.add('n{k}')",
    "note.log.extend([{n}, {k}])", "note.inner.last, note.count = {a}, {n}", "note.grow({n})",
]  # fmt: skip
WRITES = [
    "x.add_({n})", "x[{k}] = {n}", "w.mul_(0.5)", "x.sub_(w)", "w[1:] = x[1:]", "x.copy_(w)", "w.zero_()",
    "x.clamp_(max={n})", "torch.mul(x, 2.0, out=x)", "x.t_()", "w.relu_()", "x.data.add_(1)",
]  # fmt: skip
MAY_RAISE = [
    "y = {a}[i] + y", "y = {a}.gather(0, i.expand(4, 4)) + y", "y = F.embedding(i, {a}) * y",
    "y = F.nll_loss({a}.log_softmax(1), i.expand(4)) + y", "y = F.one_hot(i, 4) + y",
    "y = {a}.index_select(1, i) + y", "x.index_add_(0, i, w[:1])", "y = y.index_fill(0, i, 1.0)",
    "y = torch.linalg.cholesky(w * (2 - i.float()) + torch.eye(4)) * y",
    "y = y.scatter(0, i.expand(1, 4), w)",
    "y = y.masked_scatter({a} > -i, torch.ones(8))", "y = (7 // (3 - i)) + y", "x[i] = w[0]",
    "y = torch.bernoulli(i / 4 * torch.ones(4, 4)) + y", "y = checked({a}, i) + y", "y = w.take(i * 5) + y",
    "y = F.binary_cross_entropy(torch.full((4,), 0.5), i.float().expand(4) / 4) + y",
    "w.index_copy_(0, i, x[:1])",
]  # fmt: skip
SAFE = [
    "y = y + {a} * 2", "y = {a}.sin() + y * w", "y = y.sum() + x", "y = y.softmax(0)", "y = y @ w",
    "y = torch.cat([x[:2], w])[2:6] * y", "y = y + helper({a}, note)",
]  # fmt: skip

HEADER = """
TOTAL = 0
def checked(a, i):
    note_depth = a.shape[0]
    return a.index_select(0, i) * note_depth
def helper(a, note):
    note.log.append('helped')
    a = a + 1
    note.count += 1
    return a
def make(seen):
    def f(x, w, i, note):
        global TOTAL
        nonlocal seen
        y = x * 1.0
"""
FOOTER = """
        note.seen = seen
        return y
    return f
"""


class Note:
    """What the program changes."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.items: dict[Any, Any] = {"first": 0}
        self.names: set[str] = set()
        self.count = 0
        self.last: Any = None
        self.seen = 0
        self.inner = types.SimpleNamespace(depth=0, last=None)

    def grow(self, by: int) -> None:
        self.log += [by] * 2

    def state(self) -> list[Any]:
        inner = [self.inner.depth, self.inner.last]
        return [self.log, self.items, self.names, self.count, self.last, self.seen, inner]


class RandomErrors:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        kinds = [CHANGES, WRITES, SAFE, CHANGES, MAY_RAISE]
        lines = [self._line(self.random.choice(kinds)) for _ in range(self.random.randint(4, 9))]
        lines.insert(self.random.randint(2, len(lines)), self._line(MAY_RAISE))
        if self.random.random() < 0.2:
            place = self.random.randrange(len(lines))
            caught = ["except (IndexError, RuntimeError):", "    note.log.append('caught')"]
            lines[place:] = ["try:", *(f"    {line}" for line in lines[place:]), *caught]
        body = "\n".join(f"        {line}" for line in lines)
        self.source = f"{HEADER}{body}{FOOTER}"
        self.grad = self.random.random() < 0.3
        self.worlds = [1, self.random.choice([9, 4, -9, 3]), 2]

    def _line(self, kind: list[str]) -> str:
        line = self.random.choice(kind)
        return line.format(
            a=self.random.choice("xyw"), n=self.random.randint(1, 9), k=self.random.randint(0, 3)
        )

    def function(self, seed: int) -> Any:
        namespace: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
        exec(compile(self.source, f"<random errors {seed}>", "exec"), namespace)
        return namespace["make"](0)


def observed(function: Any, index: int, grad: bool) -> list[Any]:
    """What a call does to everything that it can reach. `grad`: the inputs are results of operations."""
    torch.manual_seed(0)
    start = torch.linspace(0.1, 1.7, 16).reshape(4, 4).requires_grad_(grad)
    x, w, note = start * 1.0, start.detach().cos() * 1.0, Note()
    try:
        value = function(x, w, torch.tensor([index]), note)
        end = ["value", value]
    except Exception as error:
        lines = [
            entry.lineno for entry in traceback.extract_tb(error.__traceback__) if "<random" in entry.filename
        ]
        end = ["error", type(error).__name__, str(error), lines]
    return [*end, note.state(), x, w, x.requires_grad]
