"""A program is edited between two runs: whatever the edit changes, no stored entry may answer for it.

Each case is a program with `@` in one place, and two texts for that place. The first version fills the store.
Then the second one runs, and the first one again, each as in a new process.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import capture
from capture.report.config import config
from capture.report.counters import counters

X = torch.arange(1.0, 7.0).reshape(2, 3)

#: name -> (program, two texts for its `@`)
CASES: dict[str, tuple[str, str, str]] = {
    "default": ("def g(x, k=@): return x * k\ndef f(x): return g(x)", "2", "3"),
    "keyword default": ("def g(x, *, k=@): return x * k\ndef f(x): return g(x)", "2", "3"),
    "own default": ("def f(x, k=@): return x * k", "2", "3"),
    "closure": ("def make(k):\n  return lambda x: x * k\ng = make(@)\ndef f(x): return g(x)", "2", "3"),
    "own closure": ("def make(k):\n  def f(x): return x * k\n  return f\nf = make(@)", "2", "3"),
    "function in a closure": (
        "def a(x): return x + 1\ndef b(x): return x - 1\ndef make(h):\n  return lambda x: h(x) * 2\n"
        "g = make(@)\ndef f(x): return g(x)",
        "a",
        "b",
    ),
    "global number": ("K = @\ndef f(x): return x * K", "2", "3"),
    "type of a global": ("K = @\ndef f(x): return x.long() * K", "2", "2.0"),
    "sign of a zero": ("K = @\ndef f(x): return x * K", "0.0", "-0.0"),
    "global text": ("K = '@'\ndef f(x): return x * len(K) + ord(K[0])", "ab", "cd"),
    "global list": ("K = [1, @]\ndef f(x): return x * K[1] + len(K)", "2", "2, 3"),
    "global dict": (
        "K = {'a': @}\ndef f(x):\n  for v in K.values(): x = x * v\n  return x",
        "2",
        "2, 'b': 3",
    ),
    "order of a dict": (
        "K = {@}\ndef f(x):\n  for v in K: x = x * v + 1\n  return x",
        "2: 0, 3: 0",
        "3: 0, 2: 0",
    ),
    "global set": ("K = {@}\ndef f(x): return x * (2 if 3 in K else 4)", "3", "5"),
    "nested object": (
        "class C: pass\nc = C(); c.d = C(); c.d.k = @\ndef f(x): return x * c.d.k",
        "2",
        "3",
    ),
    "global tensor": ("K = torch.tensor(@)\ndef f(x): return x * K", "2.0", "3.0"),
    "dtype of a global tensor": (
        "K = torch.ones(3, dtype=torch.@)\ndef f(x): return x * K",
        "float32",
        "float64",
    ),
    "helper": ("def g(x): return x @ 1\ndef f(x): return g(x)", "+", "-"),
    "helper of a helper": ("def h(x): return x @ 1\ndef g(x): return h(x)\ndef f(x): return g(x)", "+", "-"),
    "which helper": (
        "def a(x): return x + 1\ndef b(x): return x - 1\ng = @\ndef f(x): return g(x)",
        "a",
        "b",
    ),
    "wrapped helper": (
        "import functools\ndef deco(fn):\n  @functools.wraps(fn)\n  def inner(x): return fn(x) * @\n"
        "  return inner\n"
        "@deco\ndef g(x): return x + 1\ndef f(x): return g(x)".replace("@functools", "\0functools").replace(
            "@deco", "\0deco"
        ),
        "2",
        "3",
    ),
    "partial": (
        "import functools\ng = functools.partial(torch.add, other=@)\ndef f(x): return g(x)",
        "2",
        "3",
    ),
    "partial of a helper": (
        "import functools\ndef h(x, k): return x * k\ng = functools.partial(h, k=@)\ndef f(x): return g(x)",
        "2",
        "3",
    ),
    "functions in a list": ("G = [lambda x: x @ 2]\ndef f(x):\n  for g in G: x = g(x)\n  return x", "*", "+"),
    "functions in a dict": ("G = {'a': lambda x: x @ 2}\ndef f(x): return G['a'](x)", "*", "+"),
    "attribute of a function": ("def g(x): return x * g.k\ng.k = @\ndef f(x): return g(x)", "2", "3"),
    "name of a function": (
        "def a(x): return x\ndef bcd(x): return x\ng = @\ndef f(x): return x * len(g.__name__)",
        "a",
        "bcd",
    ),
    "class attribute": (
        "class A:\n  k = @\n  def m(self, x): return x * self.k\ndef f(x): return A().m(x)",
        "2",
        "3",
    ),
    "class attribute of an instance": ("class A: k = @\na = A()\ndef f(x): return x * a.k", "2", "3"),
    "class attribute by the class": ("class A: k = @\ndef f(x): return x * A.k", "2", "3"),
    "base class": ("class B: k = @\nclass A(B): pass\na = A()\ndef f(x): return x * a.k", "2", "3"),
    "which base": (
        "class B: k = 2\nclass C: k = 3\nclass A(@): pass\na = A()\ndef f(x): return x * a.k",
        "B, C",
        "C, B",
    ),
    "object in a class": (
        "class C:\n  def __init__(self, k): self.k = k\nclass A: c = C(@)\na = A()\n"
        "def f(x): return x * a.c.k + A.c.k",
        "2",
        "3",
    ),
    "list in a class": ("class A: k = [@]\na = A()\ndef f(x): return x * a.k[0] + len(A.k)", "2", "3, 4"),
    "deep list in a class": (
        "class A: k = [[[[[[[[@]]]]]]]]\na = A()\ndef f(x): return x * a.k[0][0][0][0][0][0][0][0]",
        "2",
        "3",
    ),
    "method": ("class A:\n  def m(self, x): return x @ 1\na = A()\ndef f(x): return a.m(x)", "+", "-"),
    "default of a method": (
        "class A:\n  def m(self, x, k=@): return x * k\na = A()\ndef f(x): return a.m(x)",
        "2",
        "3",
    ),
    "keyword default of a method": (
        "class A:\n  def m(self, x, *, k=@): return x * k\na = A()\ndef f(x): return a.m(x)",
        "2",
        "3",
    ),
    "closure of a method": (
        "def make(k):\n  class A:\n    def m(self, x): return x * k\n  return A()\na = make(@)\n"
        "def f(x): return a.m(x)",
        "2",
        "3",
    ),
    "property": (
        "class A:\n  def g(self): return @\n  k = property(g)\na = A()\ndef f(x): return x * a.k",
        "2",
        "3",
    ),
    "descriptor": (
        "class D:\n  def __init__(self, k): self.k = k\n  def __get__(self, o, t): return self.k\n"
        "class A: k = D(@)\na = A()\ndef f(x): return x * a.k",
        "2",
        "3",
    ),
    "getattr": (
        "class A:\n  def __getattr__(self, n): return @\na = A()\ndef f(x): return x * a.k",
        "2",
        "3",
    ),
    "instance attribute": ("class A: pass\na = A(); a.k = @\ndef f(x): return x * a.k", "2", "3"),
    "slot": ("class A:\n  __slots__ = ('k',)\na = A(); a.k = @\ndef f(x): return x * a.k", "2", "3"),
    "truth": (
        "class A:\n  def __bool__(self): return @\na = A()\ndef f(x): return x if a else -x",
        "True",
        "False",
    ),
    "length": ("class A:\n  def __len__(self): return @\na = A()\ndef f(x): return x if a else -x", "1", "0"),
    "equality": (
        "class A:\n  def __eq__(self, o): return @\n  __hash__ = object.__hash__\na, b = A(), A()\n"
        "def f(x): return x if a == b else -x",
        "True",
        "False",
    ),
    "operator": (
        "class A:\n  def __radd__(self, o): return o * @\na = A()\ndef f(x): return x + a",
        "2",
        "3",
    ),
    "metaclass": (
        "class M(type):\n  @property\n  def k(cls): return @\nclass A(metaclass=M): pass\n"
        "def f(x): return x * A.k".replace("@property", "\0property"),
        "2",
        "3",
    ),
    "class method": (
        "class A:\n  def m(cls, x): return x @ 1\n  m = classmethod(m)\ndef f(x): return A.m(x)",
        "+",
        "-",
    ),
    "static method": ("class A:\n  m = staticmethod(lambda x: x @ 1)\ndef f(x): return A.m(x)", "+", "-"),
    "new instance": ("class A:\n  def __init__(self): self.k = @\ndef f(x): return x * A().k", "2", "3"),
    "dataclass": (
        "import dataclasses\nclass A:\n  k: int = @\nA = dataclasses.dataclass(A)\n"
        "def f(x): return x * A().k",
        "2",
        "3",
    ),
    "named tuple": (
        "import collections\nN = collections.namedtuple('N', 'a b', defaults=[@])\n"
        "def f(x): return x * N(1).b",
        "2",
        "3",
    ),
    "enumeration": ("import enum\nclass E(enum.Enum): A = @\ndef f(x): return x * E.A.value", "2", "3"),
    "subclass": (
        "class B: pass\nclass C: pass\nclass A(@): pass\na = A()\n"
        "def f(x): return x if isinstance(a, B) else -x",
        "B",
        "C",
    ),
    "registration": (
        "import abc\nclass B(abc.ABC): pass\nclass A: pass\nB.register(@)\na = A()\n"
        "def f(x): return x if isinstance(a, B) else -x",
        "A",
        "int",
    ),
    "registered sequence": (
        "import collections.abc\nclass A: pass\n@\na = A()\n"
        "def f(x):\n  match a:\n    case [*_]: return x\n    case _: return -x",
        "collections.abc.Sequence.register(A)",
        "",
    ),
    "subclass hook": (
        "import abc\nclass B(abc.ABC):\n  def __subclasshook__(cls, C): return @\n"
        "  __subclasshook__ = classmethod(__subclasshook__)\nclass A: pass\na = A()\n"
        "def f(x): return x if isinstance(a, B) else -x",
        "True",
        "False",
    ),
    "context manager": (
        "class C:\n  def __enter__(self): return @\n  def __exit__(self, *e): return False\n"
        "def f(x):\n  with C() as k: return x * k",
        "2",
        "3",
    ),
    "generator": ("def g(x):\n  yield x\n  yield x @ 2\ndef f(x): return sum(g(x))", "*", "+"),
    "environment": (
        "import os\nos.environ['K_OF_TEST'] = '@'\ndef f(x): return x * int(os.environ['K_OF_TEST'])",
        "2",
        "3",
    ),
    "name of the module": ("__name__ = '@'\ndef f(x): return x * len(__name__)", "program", "programs"),
    "instance in a global": (
        "class A: pass\nclass B(A): pass\na = @()\n"
        "def f(x): return x * len(type(a).__name__ * (2 if type(a) is A else 3))",
        "A",
        "B",
    ),
    "backward": (
        "class F(torch.autograd.Function):\n  def forward(ctx, x): return x * 2\n"
        "  def backward(ctx, g): return g * @\n"
        "  forward, backward = staticmethod(forward), staticmethod(backward)\n"
        "def f(x):\n  y = x.clone().requires_grad_()\n  F.apply(y).sum().backward()\n  return y.grad",
        "2",
        "3",
    ),
    "backward outside": (
        "class F(torch.autograd.Function):\n  def forward(ctx, x): return x * 2\n"
        "  def backward(ctx, g): return g * @\n"
        "  forward, backward = staticmethod(forward), staticmethod(backward)\n"
        "def h(x): return F.apply(x) + 1\n"
        "def f(x):\n  y = x.clone().requires_grad_()\n  h(y).sum().backward()\n  return y.grad",
        "2",
        "3",
    ),
    "hook": (
        "m = torch.nn.ReLU()\n@\ndef f(x): return m(x)",
        "",
        "m.register_forward_hook(lambda m, a, r: r * 2)",
    ),
    "module attribute": ("m = torch.nn.LeakyReLU(@)\ndef f(x): return m(-x)", "0.1", "0.2"),
    "children of a module": (
        "m = torch.nn.Sequential(@)\ndef f(x): return m(-x)",
        "torch.nn.ReLU()",
        "torch.nn.Tanh()",
    ),
    "flag of a module": ("m = torch.nn.Dropout(1.0)\nm.train(@)\ndef f(x): return m(x)", "True", "False"),
    "buffer": ("m = torch.nn.BatchNorm1d(3, eps=@).eval()\ndef f(x): return m(x)", "1e-5", "0.5"),
    "module class": (
        "class M(torch.nn.Module):\n  k = @\n  def forward(self, x): return x * self.k\nm = M()\n"
        "def f(x): return m(x)",
        "2",
        "3",
    ),
    "a function of a library": (
        "import statistics\nstatistics.fmean = lambda x: @\ndef f(x): return x * statistics.fmean([1])",
        "2",
        "3",
    ),
    "a class of torch": (
        "class L(torch.nn.Linear): pass\ntorch.nn.Linear.k = @\nm = L(3, 3)\n"
        "def f(x): return x * m.k + torch.nn.Linear.k",
        "2",
        "3",
    ),
    "a method of torch": (
        "m = torch.nn.Hardtanh()\ntorch.nn.Hardtanh.forward = lambda self, x: x @ 2\ndef f(x): return m(x)",
        "*",
        "+",
    ),
    "a default of torch": (
        "torch.nn.functional.normalize.__defaults__ = (@, 1, 1e-12, None)\n"
        "def f(x): return torch.nn.functional.normalize(x)",
        "2.0",
        "1.0",
    ),
    "a constant of torch": (
        "torch.nn.functional.K_OF_TEST = @\ndef f(x): return x * torch.nn.functional.K_OF_TEST",
        "2",
        "3",
    ),
    "a patched helper": (
        "def g(x): return x + 1\ndef h(x): return x - 1\n@\ndef f(x): return g(x)",
        "",
        "g.__code__ = h.__code__",
    ),
    "a helper of the same text elsewhere": (
        "import types\nother = types.ModuleType('other'); other.K = @\n"
        "def g(x): return x * K\ng = types.FunctionType(g.__code__, vars(other))\ndef f(x): return g(x)",
        "2",
        "3",
    ),
    "state of a program": (
        "torch.set_default_dtype(torch.@)\ndef f(x): return x + torch.ones(3)",
        "float32",
        "float64",
    ),
    "dimension": ("K = @\ndef f(x): return x.sum(K)", "0", "1"),
    "shape": ("K = torch.ones(@)\ndef f(x): return x + K.sum()", "2", "3"),
    "text of a class": ("class A:\n  __doc__ = '@'\ndef f(x): return x * len(A.__doc__)", "a", "abc"),
    "annotation": ("class A:\n  k: '@'\ndef f(x): return x * len(A.__annotations__['k'])", "a", "abc"),
    "qualified name": (
        "class A: pass\nA.__qualname__ = '@'\ndef f(x): return x * len(A.__qualname__)",
        "A",
        "B.C",
    ),
    "a changing method table": (
        "class A:\n  def m(self, x): return x + 1\na = A()\n@\ndef f(x): return a.m(x)",
        "",
        "a.m = lambda x: x - 1",
    ),
    "exception": (
        "class E(Exception):\n  k = @\ndef f(x):\n  try: raise E\n  except E as e: return x * e.k",
        "2",
        "3",
    ),
    "module of a module": (
        "import types\nns = types.SimpleNamespace(k=@)\ndef f(x): return x * ns.k",
        "2",
        "3",
    ),
    "cached function": (
        "import functools\ndef g(): return @\ng = functools.lru_cache(g)\ndef f(x): return x * g()",
        "2",
        "3",
    ),
    "sort key": (
        "key = lambda v: @ v\ndef f(x):\n  a, b = sorted([1, 2], key=key)\n  return x * a + b",
        "",
        "-",
    ),
    "format": (
        "class A:\n  def __str__(self): return '@'\na = A()\ndef f(x): return x * len(str(a))",
        "a",
        "abc",
    ),
    "iterator": (
        "class A:\n  def __iter__(self): return iter([1, @])\na = A()\n"
        "def f(x):\n  for v in a: x = x * v\n  return x",
        "2",
        "3",
    ),
    "key of a dict": (
        "class A: pass\na, b = A(), A()\nD = {a: 2, b: 3}\nk = @\ndef f(x): return x * D[k]",
        "a",
        "b",
    ),
    "tensor as a key": (
        "a, b = torch.ones(3), torch.ones(3)\nD = {a: 2, b: 3}\nP = [@]\n"
        "def f(x):\n  for p in P: x = x * D[p] + p\n  return x",
        "a, b",
        "b, a",
    ),
    "identity of tensors": (
        "a, b = torch.ones(3), torch.ones(3)\nD = {a: 2}\nP = [a, @]\n"
        "def f(x): return x * (2 if P[1] in D else 3) + P[0] + P[1]",
        "a",
        "b",
    ),
}


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("codegen.stored.compile_graph.enabled", True)
    settings = {"cache_dir": str(tmp_path), "store_entries": True, "raise_on_error": True, "when": "first"}
    with config.patch(settings):
        yield
    capture.reset()


def program(text: str, name: str = "program") -> Any:
    """The function `f` of the program, as another process would read it from its file."""
    module = types.ModuleType(name)
    vars(module)["torch"] = torch
    sys.modules[name] = module
    exec(compile(text, f"/{name}.py", "exec"), vars(module))
    return vars(module)["f"]


@pytest.fixture
def torch_as_it_was() -> Iterator[None]:
    """Some programs change torch."""
    places = (torch.nn.Linear, torch.nn.Hardtanh, torch.nn.functional)
    before = [dict(vars(place)) for place in places]
    defaults = torch.nn.functional.normalize.__defaults__
    dtype = torch.get_default_dtype()
    import statistics

    fmean = statistics.fmean
    yield
    statistics.fmean = fmean
    torch.set_default_dtype(dtype)
    torch.nn.functional.normalize.__defaults__ = defaults
    for place, names in zip(places, before):
        for name in set(vars(place)) - set(names):
            delattr(place, name)
        for name, value in names.items():
            if vars(place)[name] is not value:
                setattr(place, name, value)


@pytest.mark.usefixtures("torch_as_it_was")
@pytest.mark.parametrize("name", CASES)
def test_an_edited_program_is_right(name: str) -> None:
    text, *versions = CASES[name]
    for place in (0, 0, 1, 0, 1, 1):
        written = text.replace("@", versions[place]).replace("\0", "@")
        expected = program(written)(X)
        capture.reset()
        f = program(written)
        with capture.enable():
            found = [f(X) for _ in range(2)]
        for value in found:
            assert value.dtype == expected.dtype
            assert torch.equal(value, expected), (place, dict(counters["entries"]))
            assert torch.equal(torch.signbit(value), torch.signbit(expected))
