"""Values: containers, classes, modules, tensors' attributes, functions of the library."""

from __future__ import annotations

import collections
import dataclasses
import enum
import math
import typing

import torch
import torch.nn.functional as F

from tests.capture.cases.registry import case


def with_containers():
    torch.manual_seed(0)
    return torch.randn(3, 4), [1, 2], {"a": 1, "b": torch.ones(4)}


@case(1, 2, with_containers)
def reads_containers(x, items, mapping):
    return x * items[0] + mapping["b"]


@case(1, 1, with_containers)
def mutates_containers(x, items, mapping):
    y = x + 1
    items.append(y)
    items[0] = "changed"
    mapping["new"] = y
    mapping["a"] += 1
    del mapping["b"]
    return y


@case(1, 1, with_containers)
def list_methods(x, items, mapping):
    items.extend([5, 3])
    items.insert(0, 9)
    items.sort()
    items.reverse()
    last = items.pop()
    items.remove(9)
    return x * last, items, items.index(3), items.count(5)


@case(1, 1, with_containers)
def dict_methods(x, items, mapping):
    keys = list(mapping.keys())
    value = mapping.pop("a")
    mapping.setdefault("z", 7)
    mapping.update(c=3)
    return x + value, keys, list(mapping.values())[1:], "z" in mapping, mapping.get("q", 5)


@case(1, 1)
def same_list_twice(x):
    items = [x + 1]
    return items, items, (items,)


@case(1, 1)
def sets(x):
    s = {1, 2, 3}
    s.add(4)
    t = s & {2, 4, 6} | {9}
    return x + len(t), sorted(t), 2 in s, frozenset([1]) <= s


@case(1, 1)
def deques(x):
    d = collections.deque([1, 2, 3], maxlen=3)
    d.append(4)
    d.appendleft(0)
    d.rotate(1)
    return x + d[0], list(d), d.popleft()


@case(1, 1)
def ordered_and_default(x):
    o = collections.OrderedDict(a=1, b=2)
    o.move_to_end("a")
    d = collections.defaultdict(list)
    d["k"].append(3)
    return x + d["k"][0], list(o), dict(d)


Point = collections.namedtuple("Point", ["x", "y"])


class Pair(typing.NamedTuple):
    a: int
    b: int = 4


@case(1, 1)
def named_tuples(x):
    p = Point(1, y=2)
    q = p._replace(x=5)
    r = Pair(7)
    return x + (p.y + q.x + r.b), p, q, r, p._asdict()


@dataclasses.dataclass
class Config:
    scale: float
    names: list = dataclasses.field(default_factory=list)

    def apply(self, t):
        return t * self.scale


@case(1, 3, lambda: (torch.ones(2), Config(2.0)))
def dataclass_argument(x, config):
    config.names.append("seen")
    config.scale += 1
    return config.apply(x), config.names


@case(1, 1)
def dataclass_made_inside(x):
    c = Config(3.0, ["a"])
    return c.apply(x), c.scale, c.names


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@case(1, 1, lambda: (torch.ones(2), Color.RED))
def enums(x, color):
    if color is Color.RED and color == Color.RED and color.name == "RED":
        return x + color.value, Color(2), Color["BLUE"]
    return x


class Vector:
    """Dunder methods of all kinds."""

    kind = "vector"
    __slots__ = ("data", "n")

    def __init__(self, data):
        self.data = data
        self.n = 0

    def __add__(self, other):
        return Vector(self.data + (other.data if isinstance(other, Vector) else other))

    def __radd__(self, other):
        return Vector(self.data + other)

    def __mul__(self, k):
        return Vector(self.data * k)

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.data[i]

    def __call__(self, k):
        return self.data + k

    def __eq__(self, other):
        return isinstance(other, Vector)

    def __bool__(self):
        return True

    def __contains__(self, item):
        return item == 1

    def __iter__(self):
        return iter([1, 2])

    @property
    def doubled(self):
        return self.data * 2

    @staticmethod
    def make(t):
        return Vector(t)

    @classmethod
    def build(cls, t):
        return cls(t)


@case(1, None)
def dunders(x):
    v = Vector(x)
    w = v + v + 1
    w = 2 + w
    return (
        (w * 2).data,
        len(w),
        w[0],
        w(3),
        w == v,
        1 in w,
        list(w),
        w.doubled,
        Vector.make(x).data,
        Vector.build(x).kind,
    )


class Base:
    def __init__(self, k):
        self.k = k

    def f(self, x):
        return x + self.k


class Derived(Base):
    def __init__(self, k):
        super().__init__(k)
        self.extra = {"e": 1}

    def f(self, x):
        return super().f(x) * 2

    def __getattr__(self, name):
        if name.startswith("dyn_"):
            return len(name)
        raise AttributeError(name)


@case(1, 2)
def inheritance(x):
    d = Derived(3)
    return d.f(x), d.dyn_ab, hasattr(d, "nothing"), getattr(d, "nothing", 9)


@case(1, 3, lambda: (torch.ones(2), Derived(4)))
def existing_object(x, d):
    d.k = d.k + 1
    d.extra["f"] = x
    d.new = [1]
    return d.f(x)


@case(1, 1)
def object_made_inside(x):
    d = Derived(1)
    d.other = d.extra
    return d.extra, d.other, d.k, x + 1


class Desc:
    def __get__(self, obj, cls):
        return 7 if obj is None else obj.base * 2

    def __set__(self, obj, value):
        obj.base = value


class HasDesc:
    d = Desc()

    def __init__(self):
        self.base = 1


@case(1, 1)
def descriptors(x):
    h = HasDesc()
    h.d = 5
    return x + h.d


@case(1, 1)
def builtins_on_constants(x):
    a = max(1, 2, 3) + min([4, 5]) + sum([1, 2]) + abs(-3) + round(2.6) + divmod(7, 2)[0] + pow(2, 3)
    b = all([1, 2]) and any([0, 1]) and callable(len) and issubclass(bool, int)
    c = (
        sorted([3, 1, 2], key=lambda v: -v),
        list(reversed([1, 2])),
        int("3"),
        float("2.5"),
        str(4),
        ord("a"),
        chr(98),
    )
    return x * a, b, c, type(x) is torch.Tensor, isinstance(x, torch.Tensor), math.floor(2.5)


@case(1, 1)
def tensor_attributes(x):
    info = (
        x.shape,
        x.ndim,
        x.dtype,
        x.device,
        x.requires_grad,
        x.is_leaf,
        x.size(0),
        x.size(),
        x.dim(),
        x.numel(),
    )
    more = (x.stride(), x.is_contiguous(), x.is_floating_point(), x.element_size(), len(x), x.layout)
    return x + info[6], info, more


@case(1, 4)
def tensor_views(x):
    return x.T, x.mT, x[0], x[:, 1:3]


@case(1, None)
def tensor_unpack(x):
    a, b, c = x
    return a + b * c, [row.sum() for row in x]


@case(1, 3, lambda: (torch.ones(3),))
def in_place_input(x):
    x.add_(1)
    x += 2
    y = x.mul_(3)
    return y is x, y


@case(1, 2, lambda: (torch.zeros(4),))
def set_items(x):
    x[0] = 1
    x[1:3] = torch.tensor([2.0, 3.0]) if False else 5.0
    return x


@case(1, 4)
def factories(x):
    return x + torch.zeros(3, 4) + torch.arange(4)


@case(1, 3)
def multi_output(x):
    values, indices = torch.max(x, dim=1)
    return values, indices


@case(1, 2)
def return_types(x):
    r = torch.topk(x, 2)
    return r.values


@case(1, 3)
def functional(x):
    return F.gelu(F.relu(x) * 2)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)])
        self.table = torch.nn.ModuleDict({"act": torch.nn.ReLU(), "drop": torch.nn.Dropout(0.0)})
        self.norm = torch.nn.LayerNorm(4)
        self.scale = torch.nn.Parameter(torch.tensor(2.0))
        self.register_buffer("steps", torch.zeros(1))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        for i, layer in enumerate(self.layers):
            x = self.table["act"](layer(x)) + i
        self.steps += 1
        return self.norm(x) * self.scale


@case(1, 9, lambda: (torch.ones(3, 4), Net()))
def module(x, net):
    return net(x), net.calls, net.steps


@case(1, None, lambda: (torch.ones(3, 4), Net()))
def module_iteration(x, net):
    total = sum(p.sum() for p in net.parameters())
    names = [n for n, _ in net.named_parameters()]
    return total + x, names, len(list(net.children()))


@case(
    1,
    2,
    lambda: (torch.ones(3, 4), torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Tanh())),
)
def sequential_slice(x, net):
    return net[:2](x), len(net)


@case(1, 2, lambda: (torch.ones(3, 4), torch.nn.Linear(4, 2)))
def module_hooked(x, net):
    return net(x) + 1


@case(1, 1)
def type_checks(x):
    if isinstance(x, (list, tuple)) or not torch.is_tensor(x):
        return x
    return x + 1, type([]) is list, isinstance({}, collections.abc.Mapping)


@case(1, 1)
def default_dtype_and_modes(x):
    return x.to(torch.get_default_dtype()) if not torch.is_grad_enabled() else x * 2


@case(1, None)
def dtype_methods(x):
    return x.double(), x.to(torch.int64), x.type(torch.float16), x.float()


@case(1, 2)
def str_methods(x):
    name = "a.b.c".split(".")[-1].upper().replace("C", "cc")
    return x + len(name), ",".join(["x", "y"]), "%d-%s" % (3, "z"), "{}{a}".format(1, a=2), x * 2


@case(1, 1)
def conditional_expression_none(x, y=None):
    y = x if y is None else y
    return y + 1


@case(1, 2)
def slicing_lists(x):
    items = [x + 1, x + 2, 3, 4]
    return items[:2], items[::-1][0], items[-1], items * 1, items + [5]


@case(1, 1)
def operators_module(x):
    import operator as op

    return op.add(x, op.mul(2, 3)), op.itemgetter, op.attrgetter


class Number(int):
    pass


class Name(str):
    pass


class Share(float):
    pass


@case(graphs=1, ops=2, args=lambda: (torch.ones(3, 4), Number(3), Name("ab"), Share(2.5)))
def instances_on_top_of_literals(x, number, name, share):
    """The second call has other objects with the same values."""
    return x * share + (number if name == "ab" else len(name)), type(number), name + "c"


HUGE = 10**5000  # Python refuses to write it out


@case(graphs=1, ops=2, args=lambda: (torch.ones(3, 4), {HUGE: 3}, HUGE))
def numbers_of_many_digits(x, by_number, number):
    return x * by_number[HUGE] + (number % 7), number > 2**70


@case(graphs=0, args=lambda: (torch.ones(3, 4), HUGE))
def slices_by_numbers_of_many_digits(x, number):
    return x[:number]
