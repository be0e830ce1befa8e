"""Random programs that are differentiated twice or three times, in whole or in part, with hooks on the way.

In:  a seed.
Out: `RandomDerivatives`: the source of `f(x, w)`, which returns several results and puts hooks on its own
     values; a way to differentiate these.

    observed(f, program)   ->   gradients of each order, what hooks saw, the `grad` of all tensors
"""

from __future__ import annotations

import random
from typing import Any

import torch

STEPS = [
    "{a} * {b}", "{a} + {b}", "{a}.sin()", "{a} ** 2", "{a} * 3", "({a} * {b}).tanh()", "{a}.exp() * 0.1",
    "{a} - {b}.cos()", "{a}.relu()", "{a}.detach() * {b}", "{a} / ({b} ** 2 + 1)", "{a}.sum() * {b}",
    "{a} @ {b}", "{a}.clone()", "torch.where({a} > 0, {a}, {b})",
]  # fmt: skip
HOOKS = [
    "{a}.register_hook(lambda g: g * 2)", "{a}.register_hook(lambda g: g * {b})",
    "{a}.register_hook(lambda g: g + {b}.detach())", "{a}.register_hook(lambda g: g * g)",
    "{a}.register_hook(lambda g: g.clamp(-0.5, 0.5))", "{a}.register_hook(lambda g: -g / 2)",
]  # fmt: skip


class RandomDerivatives:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        names, lines = ["x", "w"], []
        for i in range(self.random.randint(2, 6)):
            step = self.random.choice(STEPS)
            lines.append(f"v{i} = " + step.format(a=self._value(names), b=self._value(names)))
            names.append(f"v{i}")
            if self.random.random() < 0.3:
                hook = self.random.choice(HOOKS)
                lines.append(f"if v{i}.requires_grad: " + hook.format(a=f"v{i}", b=self._value(names)))
        made = names[2:]
        results = self.random.sample(made, min(len(made), self.random.randint(1, 3)))
        body = "\n".join(f"    {line}" for line in lines)
        self.source = f"def f(x, w):\n{body}\n    return {', '.join(results)},\n"
        self.leaves = self.random.random() < 0.4
        self.requires = self.random.choice([(True, True), (True, True), (True, False), (False, True)])
        self.hooked = [self.random.random() < 0.5 for _ in range(2)]
        self.first = self._chosen(len(results))
        self.second = [self._chosen(2) for _ in range(2)]
        self.backward = self.random.random() < 0.5
        self.square = self.random.random() < 0.5

    def _value(self, names: list[str]) -> str:
        return self.random.choice(names[-3:] if self.random.random() < 0.6 else names)

    def _chosen(self, count: int) -> list[int]:
        return sorted(self.random.sample(range(count), self.random.randint(1, count)))

    def function(self) -> Any:
        namespace: dict[str, Any] = {"torch": torch}
        exec(compile(self.source, "<random derivatives>", "exec"), namespace)
        return namespace["f"]


def observed(function: Any, program: RandomDerivatives) -> list[Any]:
    starts = [torch.linspace(0.3, 1.1, 4).view(2, 2), torch.linspace(-0.8, 0.9, 4).view(2, 2)]
    leaves = [start.requires_grad_(has) for start, has in zip(starts, program.requires)]
    inputs = leaves if program.leaves else [leaf * 1.0 for leaf in leaves]
    seen: list[Any] = []
    orders: list[Any] = []
    for number, (tensor, hooked) in enumerate(zip(inputs, program.hooked)):
        if tensor.requires_grad and hooked:
            tensor.register_hook(lambda grad, number=number: seen.append((number, grad.detach().clone())))
            tensor.retain_grad()
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    try:
        results = function(*inputs)
        current = [results[i].sum() for i in program.first if results[i].requires_grad]
        for chosen in program.second:
            if not current:
                break
            options = {"create_graph": True, "allow_unused": True}
            grads = torch.autograd.grad(current, wanted, **options)
            orders.append([None if grad is None else grad.detach() for grad in grads])
            used = [grads[i] for i in chosen if i < len(grads)]
            used = [grad for grad in used if grad is not None and grad.requires_grad]
            current = [(grad**2 if program.square else grad).sum() for grad in used]
            if len(orders) == 1 and current and program.backward:
                torch.autograd.backward(current)
                break
    except RuntimeError as error:
        orders.append((type(error).__name__, str(error)))
    by_tensor = [[grad for place, grad in seen if place == number] for number in range(2)]
    kept = [tensor.grad for tensor in (*leaves, *inputs) if tensor.is_leaf or tensor.retains_grad]
    return [orders, by_tensor, [None if grad is None else grad.detach() for grad in kept]]
