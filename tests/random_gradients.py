"""Random programs that take gradients in the middle, make leaves, and use both.

In:  a seed.
Out: the source of a function of three tensors, and what it does and what is seen of its results afterwards.

    def f(x, w, h):
        a = (x * w).detach().requires_grad_()
        b = torch.sin(a) * w
        g = grad(b.sum(), [a, w], create_graph=True)
        return b, g[0]
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import Variable, grad

UNARY = (
    "{a}.sin()", "{a}.exp()", "{a}.sinh()", "{a}.square()", "{a} + 1", "{a}.tanh()",
    "-{a}", "{a}.cumsum(0)", "{a}.softmax(1)", "{a}[[1, 0]]", "{a}.relu()",
)  # fmt: skip
BINARY = (
    "{a} * {b}", "{a} + {b}", "torch.where({a} > 0, {a}, {b})", "{a} @ {b}.t() @ {a}", "{a} - {b}.sum()",
    "torch.cat([{a}, {b}])[:2]",
)  # fmt: skip
LEAVES = (
    "{a}.detach().requires_grad_()", "({a} + 1).requires_grad_()", "torch.rand(2, 3).requires_grad_()",
    "Variable({a}.data, requires_grad=True)", "{a}.detach().clone().requires_grad_(True)",
)  # fmt: skip
WRITES = ("{a}.sub_(2)", "{a}[0] = 1", "{a}.add_({b})")
OPTIONS = (
    "create_graph=True", "retain_graph=True", "create_graph=True", "",
    "create_graph=True, retain_graph=False", "materialize_grads=True, retain_graph=True",
)  # fmt: skip


class RandomGradients:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.names = ["x", "w", "h"]
        self.leaves = [self.random.random() < 0.7 for _ in range(2)]
        #: by name of a tensor that requires grad: the tensors that gradients may come to from it
        self.behind = {name: {name} for name, needs in zip("xwh", (*self.leaves, self.leaves[0])) if needs}
        self.lines: list[str] = []
        for _ in range(self.random.randint(3, 9)):
            self.lines.append(self.statement())
        count = self.random.randint(1, 4)
        self.results = self.random.sample(self.names, min(count, len(self.names)))

    def pick(self) -> str:
        recent = self.names[-4:] if self.random.random() < 0.6 else self.names
        return self.random.choice(recent)

    def new(self, *of: str) -> str:
        """The name of a tensor that is computed from these."""
        name = f"v{len(self.names)}"
        self.names.append(name)
        behind = set().union(*(self.behind.get(each, ()) for each in of))
        if behind:
            self.behind[name] = {name, *behind}
        return name

    def statement(self) -> str:
        kind = self.random.random()
        a, b = self.pick(), self.pick()
        if kind < 0.3:
            return f"{self.new(a)} = {self.random.choice(UNARY)}".format(a=a)
        if kind < 0.5:
            return f"{self.new(a, b)} = {self.random.choice(BINARY)}".format(a=a, b=b)
        if kind < 0.65:
            name = self.new()
            self.behind[name] = {name}
            return f"{name} = {self.random.choice(LEAVES)}".format(a=a, b=b)
        if kind < 0.7:
            return self.random.choice(WRITES).format(a=a, b=b)
        return self.gradient(self.random.choice(list(self.behind)) if self.behind else a)

    def gradient(self, a: str) -> str:
        likely = sorted(self.behind.get(a, ())) if self.random.random() < 0.9 else self.names
        likely = likely or self.names
        wanted = self.random.sample(likely, min(self.random.randint(1, 2), len(likely)))
        options = self.random.choice(OPTIONS)
        unused = "" if "materialize" in options else ", allow_unused=True"
        names = [self.new(*(wanted if "create" in options else ())) for _ in wanted]
        call = f"grad({a}.{self.random.choice(('sum()', 'exp().sum()'))}, [{', '.join(wanted)}]"
        made = f"{call}{', ' if options else ''}{options}{unused})"
        return f"{', '.join(names)}, = [torch.zeros(2, 3) if g is None else g for g in {made}]"

    @property
    def source(self) -> str:
        body = "\n    ".join(self.lines)
        return f"def f(x, w, h):\n    {body}\n    return {', '.join(self.results)},\n"

    def function(self) -> Callable[..., Any]:
        namespace: dict[str, Any] = {"torch": torch, "grad": grad, "Variable": Variable}
        exec(compile(self.source, f"<gradients {self.seed}>", "exec"), namespace)
        found: Callable[..., Any] = namespace["f"]
        return found


def observed(program: RandomGradients, function: Callable[..., Any]) -> list[Any]:
    """What a call and backwards through its results do, up to the first error."""
    torch.manual_seed(program.seed)
    x, w = (torch.rand(2, 3).requires_grad_(leaf) for leaf in program.leaves)
    h = x * 1.5
    inputs = [tensor for tensor in (x, w) if tensor.requires_grad]
    log: list[Any] = []

    def attempt(what: str, action: Callable[[], Any]) -> Any:
        try:
            value = action()
        except (RuntimeError, TypeError) as error:
            log.append((what, type(error).__name__, str(error).split(".")[0][:60]))
            return None
        log.append((what, value))
        return value

    def gradients(tensor: torch.Tensor, **options: bool) -> Any:
        return grad(tensor.sum(), inputs, allow_unused=True, **options)

    results = attempt("results", lambda: function(x, w, h)) or ()
    recorded = [result for result in results if result.requires_grad]
    for i, result in enumerate(results):
        log.append(("is", i, result.requires_grad, result.is_leaf))
        if result.requires_grad:
            attempt(f"grad {i}", lambda result=result: gradients(result, retain_graph=True))
    if recorded:
        attempt("backward", lambda: torch.autograd.backward([result.sum() for result in recorded]))
        log.append(("grads", [tensor.grad for tensor in (*inputs, *results) if tensor.is_leaf]))
        attempt("again", lambda: [gradients(result) for result in recorded])
    return [tuple(map(copied, entry)) for entry in log]


def copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return [copied(part) for part in value] if isinstance(value, (list, tuple)) else value
