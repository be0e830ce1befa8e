"""Random worlds that change between calls: a program reads many places, and changes from outside hit them.

    world = RandomWorld(7)
    world.source   ->  "def f(x): ..."
    world.changes  ->  ["C.level = 5", "del things['a']", ...]

Two worlds are built from the same text, one for eager and one for the captured program; each change is made
to both. The value of each place is folded into a number, whatever its type, so that a change of type shows
too.
"""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

#: the contents of every world; ${n} are small random ints
WORLD = """
import collections, dataclasses, enum, functools, math, types
import torch

class Meta(type):
    tag = 3
    @property
    def from_meta(cls): return cls.tag + 1

class Base(metaclass=Meta):
    level = ${a}
    shared = [1, 2]
    def value(self): return self.level + 1
    @property
    def prop(self): return self.level * 2
    @classmethod
    def of_class(cls): return cls.level
    @staticmethod
    def plain(k): return k + 1

class Derived(Base):
    def __init__(self, k):
        self.k = k
        self.items = [k, 2.5, "s"]
        self.table = {"a": k, "b": [k], 3: None}
        self.t = torch.full((3,), float(k))
        self.inner = None
    def value(self): return super().value() + self.k
    def __len__(self): return len(self.items)
    def __contains__(self, v): return v in self.items
    def __call__(self, v): return v + self.k
    def __getitem__(self, i): return self.items[i]

class Lazy:
    def __init__(self): self.known = {"p": 1}
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return self.known.get(name, len(name))

class Slotted:
    __slots__ = ("a", "b")
    def __init__(self): self.a, self.b = 1, 2.0

@dataclasses.dataclass
class Data:
    n: int = 1
    f: float = 0.5
    items: list = dataclasses.field(default_factory=list)

Point = collections.namedtuple("Point", "x y")

class Color(enum.Enum):
    RED = 1
    BLUE = 2

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(3.0))
        self.register_buffer("b", torch.ones(3))
        self.sub = torch.nn.Linear(3, 3)
        self.layers = torch.nn.ModuleList([torch.nn.Tanh(), torch.nn.ReLU()])
        self.scale = 2
        with torch.no_grad():
            self.sub.weight.copy_(torch.eye(3)); self.sub.bias.zero_()
    def forward(self, v):
        v = self.sub(v) * self.scale + self.w
        for layer in self.layers: v = layer(v)
        return v + self.b if self.training else v - self.b

def helper(k=${b}, *, extra=1): return k + extra
def make_counter():
    count = ${c}
    def read(): return count
    def write(v):
        nonlocal count
        count = v
    return read, write
read, write = make_counter()
partial = functools.partial(helper, extra=4)
number, ratio, flag, text, nothing = ${a}, 1.5, True, "abc", None
things = [1, 2.0, "x", (3, 4), None, [5]]
table = {"a": 1, "b": 2.0, "c": [1], "t": torch.ones(3)}
ordered = collections.OrderedDict(u=1, v=2)
counts = collections.defaultdict(int, q=3)
queue = collections.deque([1, 2, 3])
members = {1, 2, "m"}
o, p, lazy, slotted = Derived(${b}), Derived(3), Lazy(), Slotted()
data, point, color, net = Data(), Point(1, 2.0), Color.RED, Net()
o.inner = p
tensor = torch.arange(3.0)
tensors = [torch.ones(3), torch.zeros(2, 3)]
space = types.SimpleNamespace(a=1, deep=types.SimpleNamespace(z=2))
library = types.ModuleType("library"); library.factor = 2; library.scaled = lambda v: v * library.factor

def fold(v):
    if isinstance(v, torch.Tensor):
        return v.sum() + v.dim() + (0.5 if v.requires_grad else 0) + (v.dtype == torch.float64)
    if v is None: return 0.25
    if isinstance(v, bool): return 7 if v else 9
    if isinstance(v, (int, float)): return v + (0.125 if type(v) is float else 0)
    if isinstance(v, str): return len(v) * 11
    if isinstance(v, (list, tuple, set, dict, frozenset, collections.deque)):
        return len(v) * 13 + (1 if type(v) is list else 2)
    if callable(v): return 17
    return 19
"""

READS = [
    "number", "ratio", "flag", "text", "nothing", "things", "things[0]", "things[-1]", "things[1:3]",
    "len(things)", "things[0] in things",
    "table", "table['a']", "table.get('zz')", "table.get('b', 5)", "'c' in table", "list(table)",
    "list(table.values())[0]", "table['t']", "sorted(map(str, table))",
    "next(iter(ordered.items()))[1]", "list(ordered)[-1]", "counts['q']", "len(counts)", "queue[0]", "queue",
    "len(queue)", "1 in members", "members", "len(members | {9})",
    "o.k", "o.level", "o.value()", "o.prop", "o.of_class()", "o.plain(2)", "o(3)", "o[0]", "len(o)",
    "2.5 in o", "bool(o)", "o.items", "o.items[0]", "o.table['a']", "o.table.get('b')",
    "o.t", "o.t.dtype is torch.float32", "o.t.requires_grad", "o.t.shape[0]", "o.inner",
    "o.inner.k if o.inner is not None else 0", "o.inner is p", "getattr(o, 'missing', 3)",
    "hasattr(o, 'extra')",
    "type(o) is Derived", "isinstance(o, Base)", "issubclass(Derived, Base)", "Derived.level", "Base.shared",
    "Base.shared[0]", "Base.from_meta", "Derived.tag", "type(p).__name__",
    "lazy.p", "lazy.unknown", "hasattr(lazy, 'zzz')", "slotted.a", "slotted.b", "data.n", "data.f",
    "data == Data()", "len(data.items)", "point.x", "point.y", "point", "point == (1, 2.0)",
    "color is Color.RED", "color.value", "color.name", "color in (Color.BLUE,)", "net(x)", "net.scale",
    "net.training", "net.w", "net.b", "net.sub.weight", "len(net.layers)", "net.layers[0](x)",
    "sum(1 for _ in net.parameters())", "list(net.state_dict())", "len(list(net.modules()))",
    "net.w.requires_grad", "net.sub.bias is None",
    "helper()", "helper(2)", "helper(extra=3)", "partial()", "partial(7)", "read()", "tensor", "tensor * 2",
    "tensor.sum()", "tensor.dtype", "str(tensor.dtype)", "tensor.requires_grad", "tensor.shape[0]",
    "tensor.is_contiguous()", "tensor.data_ptr() == tensors[0].data_ptr()", "tensors[0]", "tensors",
    "len(tensors)", "tensors[0] is tensor", "tensors[-1].shape[0]", "space.a", "space.deep.z", "vars(space)",
    "library.factor",
    "library.scaled(3)", "math.floor(ratio)", "fold(number)", "torch.is_grad_enabled()",
    "torch.get_default_dtype() is torch.float32", "torch.ones(2).dtype is torch.float32",
    "[v for v in things if isinstance(v, int)]",
    "max(table['a'], number)", "number if flag else ratio", "text.upper()", "text + 'z'", "f'{text}{number}'",
    "{**table}", "[*things]", "dict(ordered)", "tuple(queue)",
    "functools.reduce(lambda a, b: a + b, range(3))",
    "x * number", "x + ratio", "x.view(-1) if flag else x", "torch.stack(list(tensors[:1]))", "x[: o.k]",
    "int(ratio)", "number ** 2", "number % 3", "-number", "number > 2", "ratio < 2", "number == things[0]",
    "callable(o)",
    "o.__dict__.get('k')", "Derived.__mro__", "o.__class__ is Derived", "helper.__defaults__",
    "read.__closure__[0].cell_contents", "getattr(space, text, 4)", "o.value.__self__ is o",
    "operator.add(number, 1)", "id(o) == id(o.inner)",
]  # fmt: skip

CHANGES = [
    "number = ${n}", "number = ${f}", "number = True", "ratio = ${f}", "ratio = ${n}", "flag = not flag",
    "text = text + 'q'", "text = 'abc'", "nothing = 0", "nothing = None", "things.append(${n})",
    "things.pop()", "things[0] = ${f}", "things[0] = ${n}",
    "things = list(things)", "things = tuple(things)", "things.insert(0, ${n})", "things.reverse()",
    "table['a'] = ${n}", "table['a'] = 'str'", "table['new'] = ${n}", "table.pop('c', None)",
    "table['c'] = [1]", "table = dict(reversed(list(table.items())))",
    "table['t'] = torch.ones(${m}, 3)", "table['t'] = table['t'].double()",
    "table['t'] = torch.ones(3, requires_grad=True)", "ordered.move_to_end('u', last=False)",
    "ordered.move_to_end('u')", "ordered['u'] = ${n}", "counts['q'] += 1", "counts['z'] = 1",
    "counts.pop('z', None)",
    "queue.rotate(1)", "queue.append(${n})", "queue.popleft() if len(queue) > 1 else None",
    "members.add(${n})", "members.discard(1)", "members = set(members)", "o.k = ${n}", "o.k = ${f}",
    "o.level = ${n}", "vars(o).pop('level', None)", "Base.level = ${n}", "Derived.level = ${n}",
    "Derived.__dict__.get('level') is None or delattr(Derived, 'level')", "Base.value = lambda self: ${n}",
    "Derived.value = lambda self: self.k", "Base.prop = property(lambda self: ${n})",
    "Base.of_class = classmethod(lambda cls: ${n})", "Base.plain = staticmethod(lambda k: k * ${n})",
    "Derived.__call__ = lambda self, v: v - ${n}", "Derived.__len__ = lambda self: ${n}",
    "Derived.__bool__ = lambda self: False", "Derived.__bool__ = lambda self: True",
    "Derived.__getitem__ = lambda self, i: ${n}", "Derived.__contains__ = lambda self, v: False",
    "o.items.append(1)", "o.items = [${n}]", "o.items[0] = ${f}", "o.table['a'] = ${n}",
    "o.table = {'a': 1, 'b': None}",
    "o.t = torch.full((${m},), 2.0)", "o.t = o.t.double()", "o.t = o.t.detach().requires_grad_()",
    "o.t.add_(1) if not o.t.requires_grad else None", "o.t = o.t.detach()", "o.inner = None", "o.inner = p",
    "o.inner = o", "o.inner = Derived(${n})", "o.missing = ${n}", "vars(o).pop('missing', None)",
    "o.extra = 1", "vars(o).pop('extra', None)",
    "o.__class__ = Base", "o.__class__ = Derived", "o = Derived(${n})", "o = p", "p = Derived(${n})",
    "Base.shared = [${n}]", "Base.shared.append(1)", "Base.shared[0] = ${n}", "Meta.tag = ${n}",
    "Meta.from_meta = property(lambda cls: ${n})", "Derived.tag = ${n}", "lazy.known['p'] = ${n}",
    "lazy.unknown = ${n}", "vars(lazy).pop('unknown', None)",
    "Lazy.zzz = 1", "Lazy.__getattr__ = lambda self, name: ${n}", "slotted.a = ${n}", "slotted.b = None",
    "slotted = Slotted()", "data.n = ${n}", "data.items.append(1)", "data = Data(${n})", "data = Data()",
    "point = Point(${n}, 2.0)", "point = (1, 2.0)", "point = point._replace(y=${f})", "color = Color.BLUE",
    "color = Color.RED", "net.eval()", "net.train()", "net.scale = ${n}",
    "net.scale = ${f}", "net.b = torch.full((3,), ${f})", "net.b.mul_(2)",
    "net.w = torch.nn.Parameter(torch.full((3,), ${f}))", "net.w.requires_grad_(False)",
    "net.w.requires_grad_(True)", "net.sub = torch.nn.Identity()",
    "net.sub = torch.nn.Linear(3, 3, bias=False); net.sub.weight.data.fill_(0.5)",
    "net.layers.append(torch.nn.Sigmoid())", "net.layers[0] = torch.nn.Identity()",
    "net.layers = net.layers[:1]",
    "net.forward = lambda v: v * ${n}", "vars(net).pop('forward', None)",
    "Net.forward = lambda self, v: v + ${n}", "net.register_forward_hook(lambda m, a, out: out + ${n})",
    "net.register_forward_pre_hook(lambda m, a: (a[0] * 2,))", "net._forward_hooks.clear()",
    "net.sub.bias = None if hasattr(net.sub, 'bias') else 1", "net.double(); net.float()",
    "net.w.data.add_(${n})", "net.extra = torch.nn.Parameter(torch.ones(1))",
    "torch.nn.Module.__delattr__(net, 'extra') if hasattr(net, 'extra') else None",
    "helper.__defaults__ = (${n},)", "helper.__kwdefaults__ = {'extra': ${n}}",
    "helper = lambda k=1, extra=2: k * extra",
    "helper.__code__ = (lambda k=1, *, extra=1: k - extra).__code__",
    "partial = functools.partial(helper, extra=${n})", "partial = lambda k=0: ${n}", "write(${n})",
    "write(${f})", "write('s')", "write(None)", "read, write = make_counter()",
    "read.__closure__[0].cell_contents = ${n}",
    "tensor = torch.arange(${m}.0)", "tensor = torch.arange(3)", "tensor = tensor.double()",
    "tensor = tensor.float()", "tensor = torch.ones(3, 2).t()[0]",
    "tensor = tensor.clone().float().requires_grad_()", "tensor = tensor.detach()",
    "tensor.add_(1) if not tensor.requires_grad else None", "tensor = torch.ones(6)[::2]",
    "tensors[0] = tensor", "tensors.append(tensor)", "tensors.pop() if len(tensors) > 1 else None",
    "tensors[0] = torch.full((3,), ${f})", "tensors = tuple(tensors)",
    "tensors.reverse() if type(tensors) is list else None",
    "space.a = ${n}", "space.deep = types.SimpleNamespace(z=${n})", "space.deep.z = ${f}", "space.abc = 8",
    "vars(space).pop('abc', None)", "library.factor = ${n}", "library.scaled = lambda v: v + ${n}",
    "library = types.SimpleNamespace(factor=${n}, scaled=lambda v: ${n})",
    "fold = (lambda old: lambda v: old(v) + ${n})(fold)", "del number", "number = 1", "max = min",
    "globals().pop('max', None)", "len = lambda v: ${n}", "globals().pop('len', None)",
    "isinstance = lambda v, t: False", "globals().pop('isinstance', None)",
    "x_shape = ${m}", "x_shape = 3", "x_grad = True", "x_grad = False", "x_dtype = torch.float64",
    "x_dtype = torch.float32", "grad = False", "grad = True",
]  # fmt: skip

#: places that are read and changed; a world uses about three of them
NAMES = [
    "number", "ratio", "flag", "text", "things", "table", "ordered", "counts", "queue", "members", "o", "p",
    "Derived", "Base", "Meta", "lazy", "slotted", "data", "point", "color",
    "net", "helper", "partial", "read", "tensor", "tensors", "space", "library", "len", "max", "isinstance",
]  # fmt: skip


def words(text: str) -> set[str]:
    """The names in a text; `Net` changes what `net` is, and so on."""
    found = set(re.findall(r"\b[A-Za-z_]+\b", text))
    also = {"Net": "net", "Lazy": "lazy", "write": "read", "Derived": "o", "Base": "o", "Meta": "o"}
    return found | {also[name] for name in found & {*also}}


PIECES = ["{}", "{}", "{}", "[{}, 1][0]", "({} or 0)", "(lambda: {})()", "[{} for _ in range(2)][1]"]


class RandomWorld:
    """`definitions`, `source` and `changes` are texts; `changes` come in rounds of one to three."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.definitions = self.filled(WORLD)
        names = self.random.sample(NAMES, 3)
        self.reads = [text for text in READS if words(text) & {*names}]
        changes = [text for text in CHANGES if words(text) & {*names, "x_shape", "x_grad", "x_dtype", "grad"}]
        self.source = self.program()
        self.changes = [
            [self.filled(self.random.choice(changes)) for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
            for _ in range(8)
        ]

    def filled(self, text: str) -> str:
        while "${" in text:
            before, after = text.split("${", 1)
            kind, after = after.split("}", 1)
            value = {
                "f": lambda: self.random.choice((0.5, 1.5, -2.0, 3.0)),
                "m": lambda: self.random.choice((1, 2, 3, 4, 5)),
            }.get(kind, lambda: self.random.randrange(0, 6))()
            text = f"{before}{value}{after}"
        return text

    def program(self) -> str:
        """Reads in the frame, in a called function, after a break, in a method of an object."""
        reads = iter([self.random.choice(self.reads) for _ in range(10)])
        lines = ["def inner(x):", "    total = x.sum()"]
        lines += [self.fold(read, "    ") for read in itertools.islice(reads, 3)]
        lines += ["    return total", "def f(x):", "    total = x.sum() * 2"]
        lines += [self.fold(read, "    ") for read in itertools.islice(reads, 3)]
        if self.random.random() < 0.4:
            lines.append("    torch_break()")
        lines += [self.fold(read, "    ") for read in itertools.islice(reads, 3)]
        lines.append("    total = total + inner(x)")
        if self.random.random() < 0.3:
            lines += ["    if total.item() > 40:", self.fold(next(reads), "        ")]
        return "\n".join([*lines, "    return total"])

    def fold(self, read: str, indent: str) -> str:
        piece = self.random.choice(PIECES).format(read)
        if self.random.random() < 0.2:
            return (
                f"{indent}try:\n{indent}    total = total + fold({piece})\n"
                f"{indent}except Exception as e:\n{indent}    total = total + len(type(e).__name__)"
            )
        return f"{indent}total = total * 0.5 + fold({piece})"

    def namespace(self, torch_break: Any) -> dict[str, Any]:
        import operator

        made: dict[str, Any] = {
            "torch_break": torch_break,
            "operator": operator,
            "x_shape": 3,
            "x_grad": False,
            "grad": True,
        }
        exec(compile(self.definitions, "<random world>", "exec"), made)
        made["x_dtype"] = made["torch"].float32
        exec(compile(self.source, "<random world>", "exec"), made)
        return made
