"""The standard library: operator, math, text, typing, contextlib, heapq, bisect, numbers; torch's dtypes."""

from __future__ import annotations

import bisect
import collections.abc
import contextlib
import csv
import fractions
import heapq
import math
import numbers
import operator
import queue
import re
import string
import textwrap
import types
import typing
import zlib
from operator import itemgetter

import torch

from tests.capture.cases.callables.functools import PM, addk
from tests.capture.cases.registry import case


@case(ops=5)
def plain_operator(x):
    return (
        operator.add(x, 1),
        operator.mul(2, x),
        operator.itemgetter(1)([1, 2]),
        operator.itemgetter(0, 2)("abc"),
        operator.attrgetter("shape")(x),
        operator.methodcaller("sum", dim=0)(x),
        operator.neg(x),
        operator.getitem(x, 0),
        operator.truth([]),
        operator.not_(1),
        operator.is_(x, x),
        operator.contains([1], 1),
        operator.index(3),
        operator.concat([1], [2]),
    )


@case(ops=2)
def operator2(x):
    l = [1, 2]
    operator.setitem(l, 0, 5)
    operator.delitem(l, 1)
    operator.iadd(l, [7])
    return (
        l,
        operator.countOf([1, 1, 2], 1),
        operator.indexOf([1, 2], 2),
        operator.length_hint([1, 2]),
        operator.pow(2, 3),
        operator.xor(1, 3),
        operator.lt(1, 2),
        operator.matmul(x, x.T),
        operator.attrgetter("a.b", "c")(types.SimpleNamespace(a=types.SimpleNamespace(b=1), c=2)),
    )


@case(ops=1)
def sorted_itemgetter(x):
    return (
        sorted([(1, "b"), (0, "a")], key=itemgetter(1)),
        sorted([{"k": 2}, {"k": 1}], key=itemgetter("k")),
        max([[1, 5], [2, 3]], key=itemgetter(1)),
        x + 1,
    )


@case(ops=1)
def plain_math(x):
    return (
        math.sqrt(4),
        math.pi * x,
        math.floor(1.5),
        math.ceil(1.2),
        math.gcd(4, 6),
        math.log(2),
        math.isclose(1, 1.0000000001),
        math.inf > 1,
        math.isnan(math.nan),
        math.prod([1, 2, 3]),
        math.comb(4, 2),
        math.factorial(4),
        math.fsum([0.1] * 3),
        math.hypot(3, 4),
        math.copysign(1, -0.0),
        math.trunc(2.7),
        math.log2(8),
        math.exp(0),
        math.dist([0], [1]),
        math.perm(3, 2),
        math.isqrt(10),
        math.lcm(4, 6),
    )


@case(ops=1)
def math_err(x):
    r = []
    for f in (
        lambda: math.sqrt(-1),
        lambda: math.log(0),
        lambda: 1 / 0,
        lambda: 1 % 0,
        lambda: int("a"),
        lambda: "a" + 1,
        lambda: [] + 1,
        lambda: 2 ** "a",
        lambda: float("q"),
    ):
        try:
            f()
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r, x + 1


@case(ops=1)
def plain_round(x):
    return (
        round(2.5),
        round(2.567, 2),
        round(-1.5),
        round(1234, -2),
        abs(-3),
        divmod(7, 2),
        pow(2, 3, 5),
        pow(2, -1),
        bin(5),
        hex(255),
        oct(8),
        chr(65),
        ord("a"),
        int("12", 16),
        int(3.9),
        float("1.5"),
        complex("1+2j"),
        bool([]),
        x + 1,
    )


@case(ops=1)
def str1(x):
    s = "Hello World"
    return (
        s.lower(),
        s.split(),
        s.replace("o", "0"),
        s.find("W"),
        s.startswith("He"),
        s.endswith(("d", "x")),
        s.partition(" "),
        s.center(15, "*"),
        s.zfill(13),
        ",".join(["a", "b"]),
        s.title(),
        s.count("l"),
        s.swapcase(),
        s.isalpha(),
        "a-b_c".translate(str.maketrans("-_", "  ")),
        s.encode(),
        "%s=%d" % ("a", 3),
        "{:>5}|{:<5}|{:^5}".format(1, 2, 3),
        f"{3.14159:.2f} {10:05d} {255:#x} {1e6:,}",
        x + 1,
    )


@case(graphs=0, ops=0)
def str2(x):
    n = "w"
    v = 3
    return (
        f"{v=}",
        f"{n!r:>6}",
        f"{x.shape}",
        f"{x.dtype} {x.ndim}",
        "{}",
        f"{v:{n if False else 5}}",
        "abc"[1],
        "abc"[-2:],
        "a" in "abc",
        "a" < "b",
        "a" * 3,
        "x".join(str(i) for i in range(3)),
        str(1.0),
        repr("q"),
        str(None),
        str(x.shape),
        "{0[1]} {a.real}".format([1, 2], a=3),
        "a\tb".expandtabs(4),
        "a,b".rsplit(",", 1),
        " s ".strip(),
        "abc".removeprefix("a"),
    )


@case(ops=1)
def str_class(x):
    return string.ascii_lowercase, string.Template("$a b").substitute(a=1), textwrap.dedent("  a"), x + 1


@case(ops=1)
def plain_re(x):
    return re.match(r"(\d+)", "12ab").group(1), re.sub("a", "b", "aa"), x + 1


@case(ops=1)
def plain_typing(x):
    y = typing.cast(int, 3)
    if typing.TYPE_CHECKING:
        return None
    return y, typing.Optional[int] is not None, x + 1


@case(ops=1)
def callable_attrs(x):
    return (
        addk.__name__,
        addk.__defaults__,
        addk.__code__.co_argcount,
        addk.__module__ == __name__,
        (lambda: 0).__name__,
        PM.m.__qualname__,
        len.__name__,
        torch.add.__name__,
        x + 1,
    )


@case(ops=1)
def simple_namespace(x):
    n = types.SimpleNamespace(a=x, b=1)
    n.c = 2
    return n.a + n.b, vars(n)["c"], n == types.SimpleNamespace(a=1), hasattr(n, "q")


@case(ops=1)
def suppress(x):
    with contextlib.suppress(KeyError):
        {}["a"]
    return x + 1


@case(ops=1)
def exitstack(x):
    r = []
    with contextlib.ExitStack() as s:
        s.callback(r.append, 1)
        s.callback(lambda: r.append(2))
    return r, x + 1


@case(ops=1)
def nullcontext(x):
    with contextlib.nullcontext(x) as y:
        return y + 1


@case(ops=1)
def plain_heapq(x):
    h = []
    heapq.heappush(h, 3)
    heapq.heappush(h, 1)
    heapq.heappush(h, 2)
    return heapq.heappop(h), h, heapq.nlargest(2, [1, 5, 3]), heapq.nsmallest(1, [4, 2]), x + 1


@case(ops=1)
def plain_bisect(x):
    return bisect.bisect([1, 3, 5], 3), bisect.bisect_left([1, 3], 3), x + 1


@case(ops=1)
def plain_fractions(x):
    return fractions.Fraction(1, 2) + 1 == fractions.Fraction(3, 2), x + 1


@case(ops=1)
def plain_numbers(x):
    return (
        isinstance(1, numbers.Number),
        isinstance(1.5, numbers.Integral),
        isinstance(True, numbers.Real),
        x + 1,
    )


@case(ops=1)
def finfo(x):
    return (
        torch.finfo(x.dtype).eps,
        torch.finfo(torch.float16).max,
        torch.iinfo(torch.int8).min,
        torch.finfo(x.dtype).bits,
        x + torch.finfo(x.dtype).tiny,
    )


@case(ops=2)
def dtype(x):
    return (
        x.dtype == torch.float32,
        x.dtype.is_floating_point,
        x.dtype.itemsize,
        str(x.dtype),
        x.dtype in (torch.float16, torch.float32),
        x.to(torch.float64).dtype,
        torch.float32.to_complex(),
        x.dtype.is_complex,
        torch.promote_types(torch.int8, torch.float32),
        x + 1,
    )


@case(ops=2)
def device(x):
    return (
        x.device.type,
        x.device.index,
        x.device == torch.device("cpu"),
        str(x.device),
        torch.device("cpu", 0).index,
        x.device.type in ("cpu", "cuda"),
        torch.ones(2, device=x.device) + 1,
    )


NUMBER, NAMES, MAYBE_BOTH = int | None, list[str], dict[str, list[int]] | float


@case(ops=2)
def unions_and_aliases_of_the_program(x):
    if isinstance(x.dim(), NUMBER) and not isinstance(x, MAYBE_BOTH.__args__[1]):
        x = x + len(typing.get_args(MAYBE_BOTH))
    return (
        x * 2, typing.get_origin(NUMBER), typing.get_args(NUMBER), typing.get_origin(NAMES), NAMES,
        typing.get_args(MAYBE_BOTH) is typing.get_args(MAYBE_BOTH), MAYBE_BOTH, hasattr(NUMBER, "__origin__"),
        NAMES("a"), NAMES.__parameters__, NUMBER.__parameters__, NUMBER is NUMBER,
    )  # fmt: skip


@case(ops=1)
def forms_of_typing(x):
    def annotated(a: typing.Optional[int], b: typing.Callable[[typing.Any], int]) -> typing.Union[int, str]:
        return a

    return (
        annotated(1, 2), annotated.__annotations__, typing.Optional[int], typing.Union[int, str],
        typing.Callable[[int], str],
        collections.abc.Callable[[int], int], typing.Literal["a", 1], typing.Dict[str, torch.Tensor],
        typing.Tuple[int, ...],
        collections.abc.Sequence[int], typing.Type[int], typing.List[typing.Optional[int]], x + 1,
    )  # fmt: skip


@case(graphs=None, args=lambda: (torch.ones(3), csv.reader(["a,b", "c,d"])), fresh=True)
def fields_of_objects_written_in_c(x, reader):
    y = x + 1
    first = reader.line_num, reader.dialect.strict
    next(reader)
    return y * 2, first, reader.line_num


def filled_queue():
    items = queue.SimpleQueue()
    for number in range(4):
        items.put(number)
    return items


@case(graphs=None, args=lambda: (torch.ones(3), filled_queue(), re.compile("a").scanner("xa")), fresh=True)
def methods_that_are_given_their_class(x, items, scanner):
    y = x + 1
    taken = items.get(), items.get(block=False)
    z = y * 2
    get = items.get
    packed = zlib.compressobj().compress(b"a")
    return z + 1, taken, get(), items.qsize(), scanner.search().span(), packed
