"""Random Python around a few tensor operators.

The programs have branches on numbers and on data, loops, handlers, contexts, generators, closures,
containers, side effects on objects, printing, and graph breaks at any depth.

    Flow(7).source   ->   "def f(x, y, n, o):\n    ..."; `o` is an `Obj` whose state the program changes

The same seed gives the same program. Some programs raise: then the error is compared.
"""

from __future__ import annotations

import contextlib
import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

import capture

# --- what the programs use ---------------------------------------------------------------------------------


class Obj:
    def __init__(self) -> None:
        self.n, self.items, self.t, self.d = 0, [], torch.ones(3), {}  # type: ignore[var-annotated]

    def bump(self, k: int = 1) -> int:
        self.n += k
        return self.n

    @property
    def double(self) -> int:
        return self.n * 2

    def __len__(self) -> int:
        return len(self.items)

    def __call__(self, x: Any) -> Any:
        return x + self.n


@contextlib.contextmanager
def noted(o: Obj, k: int) -> Iterator[int]:
    o.items.append(("in", k))
    try:
        yield k
    finally:
        o.items.append(("out", k))


class Swallowing:
    def __init__(self, o: Obj, swallow: bool) -> None:
        self.o, self.swallow = o, swallow

    def __enter__(self) -> Obj:
        self.o.items.append("enter")
        return self.o

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> bool:
        self.o.items.append(("exit", kind.__name__ if kind else None))
        return self.swallow and kind is not None and issubclass(kind, ValueError)


class OwnError(ValueError):
    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(text)
        self.code = code


def scaled(x: Any, k: int = 1, *rest: int, **named: int) -> Any:
    return x * k + len(rest) + sum(named.values())


def steps(n: int, x: Any) -> Iterator[Any]:
    for i in range(n):
        factor = yield x + i
        if factor:
            x = x * factor


def recursive(n: int, x: Any) -> Any:
    return x if n <= 0 else recursive(n - 1, x + n)


def branching(x: Any) -> Any:
    return x - 1 if x.sum() > 0 else x + 1


WORLD = {
    "torch": torch, "capture": capture, "noted": noted, "Swallowing": Swallowing, "OwnError": OwnError,
    "scaled": scaled, "steps": steps,
    "recursive": recursive, "branching": branching,
}  # fmt: skip

# --- what they are made of: {t} a tensor, {i} a number, {c} a small constant -------------------------------

TENSORS = """{t} + {t} | {t} * 0.5 | torch.sin({t}) | {t} - {i} | torch.relu({t}) | scaled({t}, 2)
    | scaled({t}, {i}, 1, k2=3) | o({t}) | ({t} + 1).abs() | torch.stack([{t}, {t}]).mean(0)
    | recursive(2, {t}) | branching({t}) | (lambda q: q * 2)({t}) | torch.where({t} > 0, {t}, {t})
    | {t}.clone() | torch.cat([{t}, {t}])[:3] | sum([{t}, {t}]) | max({t}.sum(), {t}.sum()) * {t}
    | sum(steps({c}, {t})) | sum([{t} * q for q in range({c})]) + {t}""".split("|")
NUMBERS = """{i} + {i} | {i} * 2 | {i} % 3 | {i} // 2 | o.bump() | o.double | len(str({i})) | min({i}, {i})
    | ({i} if {i} > {i} else {i}) | {t}.shape[0] | abs({i}) | int(f'{{{i}}}') | counts[0] | {i} & 3
    | int({t}.sum().item() > 0)""".split("|")
CONDITIONS = """{i} > {i} | {i} % 2 == 0 | {t}.sum() > 0 | {t}.shape[0] == 3 | isinstance({i}, int) | not {i}
    | {i} < {i} <= 5 | {t}.mean().item() > 0.1 | {i} in (1, 2, 3) | o.items | {i} and {i} | {t} is {t}
""".split("|")
EFFECTS = """print('p', {i}, {t}.shape) | o.items.append({i}) | o.items.append({t}) | o.t = {t} * 2
    | o.d[{i}] = {i} | counts[0] += 1 | x.add_(0.25) | y = y * 0.5 | capture.graph_break()""".split("|")
ERRORS = """raise ValueError('v', {i}) | raise OwnError('m') | [][{i}] | {{}}['k']
    | torch.ones(2) + torch.ones(3) | int('z') | o.missing""".split("|")
HANDLERS = ["ValueError", "(IndexError, KeyError)", "Exception", "OwnError"]
CONTEXTS = ["torch.no_grad()", "noted(o, {i})", "Swallowing(o, True)", "Swallowing(o, False)",
            "torch.enable_grad()", "noted(o, 1), Swallowing(o, True)"]  # fmt: skip
DEEPEST = 4


class Flow:
    """`source` defines f."""

    def __init__(self, seed: int) -> None:
        self.seed, self.choose = seed, random.Random(seed)
        self.lines: list[str] = []
        self.tensors, self.numbers = ["x", "y"], ["n"]
        self.depth = self.names = 0
        self.budget = self.choose.randrange(6, 26)
        while self.budget > 0:
            self.statement()
        results = self.some(self.tensors, 3) + self.some(self.numbers, 2)
        self.line(f"return ({', '.join(results)},)")
        self.source = "\n".join(["counts = [0]", "def f(x, y, n, o):", *self.lines, ""])

    def function(self) -> tuple[Callable[..., Any], list[int]]:
        """f, and the list in which it counts."""
        name = f"<random flow {self.seed}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(keepends=True), name)
        namespace = dict(WORLD)
        exec(compile(self.source, name, "exec"), namespace)
        return namespace["f"], namespace["counts"]  # type: ignore[return-value]

    # --- pieces

    def some(self, names: list[str], count: int) -> list[str]:
        return self.choose.sample(names, min(count, len(names)))

    def fill(self, templates: list[str]) -> str:
        text = self.choose.choice(templates).strip().replace("{{", "\0").replace("}}", "\1")
        for mark, values in (
            ("{t}", self.tensors),
            ("{i}", [*self.numbers, "1", "2", "len(o)", "o.n"]),
            ("{c}", ["1", "2", "3"]),
        ):
            while mark in text:
                text = text.replace(mark, self.choose.choice(values), 1)
        return text.replace("\0", "{").replace("\1", "}")

    def new(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def line(self, text: str, deeper: int = 0) -> None:
        self.lines.append("    " * (self.depth + 1 + deeper) + text)

    def block(self, count: int | None = None) -> None:
        """Names bound inside are not used after the block: it may not have run."""
        names = list(self.tensors), list(self.numbers)
        self.depth += 1
        for _ in range(count or self.choose.randrange(1, 4)):
            self.statement()
        self.depth -= 1
        self.tensors, self.numbers = names

    def statement(self) -> None:
        self.budget -= 1
        simple = self.budget < 0 or self.depth >= DEEPEST
        kinds = (
            [tensor, number, effect]
            if simple
            else [tensor, number, effect, effect, branch, loop, attempt, context, closure]
        )
        self.choose.choice(kinds)(self)


# --- statements -------------------------------------------------------------------------------------------


def tensor(flow: Flow) -> None:
    text, name = flow.fill(TENSORS), flow.new("t")
    flow.line(f"{name} = {text}")
    flow.tensors.append(name)


def number(flow: Flow) -> None:
    text, name = flow.fill(NUMBERS), flow.new("i")
    flow.line(f"{name} = {text}")
    flow.numbers.append(name)


def effect(flow: Flow) -> None:
    flow.line(flow.fill(EFFECTS))


def branch(flow: Flow) -> None:
    flow.line(f"if {flow.fill(CONDITIONS)}:")
    flow.block()
    if flow.choose.random() < 0.4:
        flow.line(f"elif {flow.fill(CONDITIONS)}:")
        flow.block()
    if flow.choose.random() < 0.5:
        flow.line("else:")
        flow.block()


def loop(flow: Flow) -> None:
    index, item = flow.new("i"), flow.new("t")
    names = list(flow.tensors), list(flow.numbers)
    head, bound = flow.choose.choice(
        [
            (f"for {index} in range({{c}}):", (index,)),
            (f"for {index}, {item} in enumerate([{{t}}, {{t}}]):", (index, item)),
            (f"for {item} in steps({{c}}, {{t}}):", (item,)),
            (f"for {index}, {item} in zip([1, 2, 3], {{t}}):", (index,)),
            (f"while ({index} := {index} + 1) < {{c}}:", (index,)),
        ]
    )
    if head.startswith("while"):
        flow.line(f"{index} = 0")
    flow.line(flow.fill([head]))
    for name in bound:
        (flow.tensors if name is item else flow.numbers).append(name)
    flow.block()
    if flow.choose.random() < 0.35:
        flow.line(f"if {flow.fill(CONDITIONS)}: {flow.choose.choice(('break', 'continue'))}", deeper=1)
    flow.tensors, flow.numbers = names
    if flow.choose.random() < 0.2:
        flow.line("else:")
        flow.block(1)


def attempt(flow: Flow) -> None:
    flow.line("try:")
    flow.block()
    if flow.choose.random() < 0.6:
        flow.line(flow.fill(ERRORS), deeper=1)
    kind = flow.choose.choice(("except", "finally", "both"))
    if kind != "finally":
        flow.line(f"except {flow.choose.choice(HANDLERS)} as e:")
        flow.line("o.items.append((type(e).__name__, str(e)[:40]))", deeper=1)
        flow.block(1)
        if flow.choose.random() < 0.15:
            flow.line(flow.choose.choice(("raise", "raise RuntimeError('again') from e")), deeper=1)
    if kind != "except":
        flow.line("finally:")
        flow.block(1)


def context(flow: Flow) -> None:
    flow.line(f"with {flow.fill(CONTEXTS)}:")
    flow.block()
    if flow.choose.random() < 0.25:
        flow.line(f"if {flow.fill(CONDITIONS)}: raise ValueError('w')", deeper=1)


def closure(flow: Flow) -> None:
    cell, function = flow.new("c"), flow.new("f")
    flow.line(flow.fill([f"{cell} = {{i}}"]))
    flow.line(flow.fill([f"def {function}(z, k={{i}}):"]))
    if flow.choose.random() < 0.5:
        flow.line(f"nonlocal {cell}", deeper=1)
        flow.line(f"{cell} += 1", deeper=1)
    if flow.choose.random() < 0.4:
        flow.line("if z.sum() > 0: return z * k", deeper=1)
    flow.line(flow.fill([f"return z + {{t}} + k + {cell}"]), deeper=1)
    name = flow.new("t")
    flow.line(flow.fill([f"{name} = {function}({{t}})"]))
    flow.tensors.append(name)
