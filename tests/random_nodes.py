"""Random programs with several results, and random uses of their nodes in autograd's graph.

In:  a seed.
Out: `RandomNodes`: the source of a program `f(x, w, c)`, which writes in place and reads numbers between its
     operations, and steps to be done with its results: hooks, `retain_grad`, writes, backwards from some of
     them, gradients of one by another, second derivatives.

    play(f, steps)     ->     what the program sees: gradients, calls of hooks, errors
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

OPERATIONS = [
    "{a} * {b}", "{a} + {b}", "{a} - 0.5 * {b}", "{a}.sin()", "{a}.exp() * 0.1", "{a}.tanh()", "{a} * 0.3",
    "{a}.abs()", "{a}.relu()", "{a} @ {b}", "torch.softmax({a}, 1)", "{a}.detach() * {b}", "{a}.clone()",
    "torch.where({a} > 0, {a}, {b})", "torch.stack([{a}, {b}]).amax(0)", "{a}.sum(0, keepdim=True) + {b}",
    "F.layer_norm({a}, (3,))", "torch.cat([{a}, {b}])[1:4] * 1.0", "{a}.sigmoid()", "{a}.square()",
    "{a} / ({b}.abs() + 1)", "torch.cumsum({a}, 0)", "{a}.max() * {b}", "{a}[:, [2, 0, 1]]",
]  # fmt: skip
WRITES = ["{a}.mul_(0.5)", "{a}.add_({b})", "{a}.sigmoid_()", "{a}[0] = {b}[1]"]
STARTS = ["backward", "backward", "inputs", "grad", "second"]

Step = tuple[Any, ...]
Log = list[tuple[Any, ...]]


class RandomNodes:
    """Tensors from before a break get no write that makes them require grad.

    Such a write is made outside of the graph, and hooks on the tensor do not see the graph's other results.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names, self.own = ["x", "w", "c"], list[str]()
        self.before = 0  # how many tensors were made before the last break of the graph
        lines = [self.line(i) for i in range(self.random.randrange(3, 9))]
        lines = [line for line in lines if line]
        results = self.random.sample(self.own, min(len(self.own), self.random.randrange(1, 5)))
        texts = [f"{name}.sum()" if self.random.random() < 0.3 else name for name in results]
        self.source = "\n    ".join(["def f(x, w, c):", *lines, f"return [{', '.join(texts)}]"])
        self.scenarios = [self.steps(len(results)) for _ in range(2)]

    def line(self, number: int) -> str:
        choice = self.random
        draw, b = choice.random(), choice.choice(self.names)
        if self.own and draw < 0.2:
            a = choice.choice(self.own)
            writes = WRITES if a in self.own[self.before :] else WRITES[:1]
            return "" if a == b else choice.choice(writes).format(a=a, b=b)
        if self.own and draw < 0.3:
            self.before = len(self.own)
            return f"number = {choice.choice(self.own)}.abs().max().item()"
        text = choice.choice(OPERATIONS).format(a=choice.choice(self.names[-4:]), b=b)
        self.names.append(f"t{number}")
        self.own.append(f"t{number}")
        return f"t{number} = {text}"

    def steps(self, count: int) -> list[Step]:
        choice = self.random
        found: list[Step] = []
        for i in range(count):
            likely = {"hook": 0.5, "scale": 0.15, "retain": 0.3}
            found += [(name, i) for name, chance in likely.items() if choice.random() < chance]
        choice.shuffle(found)
        for _ in range(choice.randrange(1, 4)):
            used = choice.sample(range(count), choice.randrange(1, count + 1))
            kind, retain = choice.choice(STARTS), choice.random() < 0.5
            found.append((kind, used, retain, choice.randrange(count)))
            if choice.random() < 0.2:
                found.append(("write", choice.randrange(count)))
        return found

    def function(self) -> Callable[..., list[torch.Tensor]]:
        space: dict[str, Any] = {"torch": torch, "F": F}
        exec(compile(self.source, "<random>", "exec"), space)
        made: Callable[..., list[torch.Tensor]] = space["f"]
        return made


def play(function: Callable[..., list[torch.Tensor]], steps: list[Step]) -> Log:
    """The log ends at the first step that fails. The hooks before its error are not in the log: a graph says
    at its first node that it was freed, eager at the first operation that kept something.
    """
    torch.manual_seed(0)
    leaves = [torch.randn(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    log: Log = []
    whole = 0  # entries of the steps that are done
    try:
        results = function(*leaves, torch.randn(3, 3, dtype=torch.float64))
        for step in steps:
            do(step, results, leaves, log)
            log.append(("state", *(leaf.grad for leaf in leaves), *map(retained, results)))
            log[:] = [(name, *map(kept, values)) for name, *values in log]
            whole = len(log)
    except RuntimeError as error:
        del log[whole:]
        log.append(("error", type(error)))
    return log


def retained(result: torch.Tensor) -> torch.Tensor | None:
    return result.grad if not result.is_leaf and result.retains_grad else None


def kept(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def do(step: Step, results: list[torch.Tensor], leaves: list[torch.Tensor], log: Log) -> None:
    if len(step) == 2:
        watch(step, results[step[1]], log)
        return
    kind, used, retain, one = step
    starts = [results[i] for i in used if results[i].requires_grad]
    seeds = [torch.full_like(start, 0.5 + i) for i, start in enumerate(starts)]
    if not starts:
        return
    if kind == "backward":
        torch.autograd.backward(starts, seeds, retain_graph=retain)
    elif kind == "inputs":
        torch.autograd.backward(starts, seeds, retain_graph=retain, inputs=[leaves[one % 2]])
    elif kind == "grad" and results[one].requires_grad:
        by = [results[one], leaves[one % 2]]
        log.append(("grad", *torch.autograd.grad(starts, by, seeds, retain_graph=retain, allow_unused=True)))
    elif kind == "second":
        grads = torch.autograd.grad(starts, leaves, seeds, create_graph=True, allow_unused=True)
        again = [grad for grad in grads if grad is not None and grad.requires_grad]
        log.append(("grad", *grads))
        if again:
            sums = sum(grad.square().sum() for grad in again)
            log.append(("grad", *torch.autograd.grad(sums, leaves, retain_graph=True, allow_unused=True)))


def watch(step: Step, result: torch.Tensor, log: Log) -> None:
    kind, number = step
    if kind == "write":
        with torch.no_grad():
            result.mul_(1.5)
    elif result.requires_grad and not result.is_leaf:
        if kind == "hook":
            result.register_hook(lambda grad: log.append((f"hook {number}", kept(grad))))
        elif kind == "scale":
            result.register_hook(lambda grad: None if grad is None else grad * 2)
        else:
            result.retain_grad()
