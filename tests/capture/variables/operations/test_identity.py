"""Identity of values: `is`, `in`, keys of dicts and items of sets.

In:  two objects that are one at the first call, two equal ones at the second, and so on.
Out: the answer of eager at each call; a value that passes through is the same object behind the frame.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import capture

X = torch.ones(2, 3)


class Thing:
    value: Any = None

    def method(self) -> int:
        return 1


def new_float(text: str) -> float:
    return float(text)


MAKERS: dict[str, Callable[[], Any]] = {
    "str": lambda: "".join(["hello", " ", "world"]),
    "int": lambda: int("1" + "0" * 20),
    "int_300": lambda: int("300"),
    "int_5": lambda: int("5"),
    "float": lambda: new_float("2.5"),
    "nan": lambda: new_float("nan"),
    "complex_nan": lambda: complex(new_float("nan"), 1),
    "bytes": lambda: bytes([65, 66, 67]),
    "tuple": lambda: tuple([1, "a b", 2.5]),
    "tuple_of_nan": lambda: (new_float("nan"),),
    "tuple_of_thing": lambda: (Thing(), 1),
    "frozenset": lambda: frozenset([1, 2]),
    "slice": lambda: slice(1, 1000),
    "size": lambda: torch.Size([2, 3]),
    "thing": Thing,
    "list": lambda: [1],
    "tensor": lambda: torch.ones(2, 3),
    "module": lambda: torch.nn.Linear(2, 2),
    "function": lambda: lambda: 3,
    "method": lambda: Thing().method,
    "append": lambda: [].append,
    "partial": lambda: functools.partial(max, 1),
}
QUESTIONS = """
a is b
a is not b
id(a) == id(b)
held[0] is b
thing.value is b
[a].count(a)
(lambda q: q)(a) is a
any(a is q for q in (1, b))
max(a, a) is a
(a,) == (a,)
"""
EQUALITIES = """
a in [b]
[a] == [b]
(1, a) in [(1, b)]
held.index(a)
[b].count(a)
"""
HASHES = """
a in {b: 1}
a in {b}
len({a, b})
{a: 1}.get(b)
len({a: 1, b: 2})
{a: 1} == {b: 1}
len({id(a): 1, id(b): 2})
b in table
b in {(1, k): 2 for k in [a]}
"""
UNHASHABLE = ("list", "slice")
OWN_ORDER = ("str", "int", "int_300", "int_5", "float", "nan", "bytes", "tuple", "tuple_of_nan", "size")
OWN_EQUALITY = {"tensor"}  # `==` of tensors is another tensor


def questions() -> list[tuple[str, str]]:
    every = [(kind, question) for kind in MAKERS for question in QUESTIONS.split("\n")[1:-1]]
    every += [(k, q) for k in MAKERS if k not in OWN_EQUALITY for q in EQUALITIES.split("\n")[1:-1]]
    every += [(k, q) for k in MAKERS if k not in UNHASHABLE for q in HASHES.split("\n")[1:-1]]
    return [(k, q) for k, q in every if "max" not in q or k in OWN_ORDER]


def program(question: str) -> Any:
    source = f"def ask(x, a, b, held, thing, table):\n    x = x + 1\n    return ({question}), x * 2\n"
    namespace: dict[str, Any] = {}
    exec(compile(source, f"<{question}>", "exec"), namespace)
    return namespace["ask"]


def arguments(kind: str, same: bool) -> list[Any]:
    a = MAKERS[kind]()
    b = a if same else MAKERS[kind]()
    thing = Thing()
    thing.value = a
    return [X, a, b, [a], thing, {} if kind in UNHASHABLE else {a: 1}]


@pytest.mark.parametrize(("kind", "question"), questions())
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_answers(kind: str, question: str) -> None:
    eager = program(question)
    captured = capture.compile(program(question), backend="eager")
    for same in (True, False, True, False):
        given = arguments(kind, same)
        expected, found = eager(*given)[0], captured(*given)[0]
        assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(
    ("kind", "question"), [(k, q) for k, q in questions() if k in ("int_300", "int_5", "float")]
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_answers_for_symbols(kind: str, question: str) -> None:
    eager = program(question)
    captured = capture.compile(program(question), backend="eager", dynamic=True)
    for same in (True, False, True):
        given = arguments(kind, same)
        assert captured(*given)[0] == eager(*given)[0]


@pytest.mark.parametrize("rows", [3, 300])
def test_a_size_is_a_new_object_at_each_read(rows: int) -> None:
    def sizes(x):
        first, second, more = x.shape[0], x.size(0), x.shape[0] + 1
        return first is second, first is first, more is x.shape[0] + 1, x + first

    x = torch.ones(rows)
    assert capture.compile(sizes, backend="eager", dynamic=True)(x)[:3] == sizes(x)[:3]


@pytest.mark.filterwarnings("error::capture.report.errors.CaptureWarning")
@pytest.mark.parametrize("kind", ["str", "float", "tuple", "thing"])
def test_two_places_of_one_object_are_captured(kind: str) -> None:
    def count(x, a, b):
        return len({id(a): 1, id(b): 2}), x + 1

    captured = capture.compile(count, backend="eager")
    a, b = MAKERS[kind](), MAKERS[kind]()
    assert [captured(X, *pair)[0] for pair in ((a, a), (a, b), (b, b), (b, a))] == [1, 2, 1, 2]


def passed(x, value):
    return x + 1, value, [value]


def passed_after_a_look(x, value):
    if value == "q":
        return x, value
    return x + 1, value, {"k": (value,)}["k"][0]


def passed_over_a_break(x, value):
    other = value
    x = x + (1 if value else 2)
    capture.graph_break()
    return x, value, other


def attributes(x, value):
    thing = Thing()
    thing.value = value
    held = [thing.value]
    x = x + (1 if value else 2)
    return x, thing.value, held[0]


@pytest.mark.parametrize("eager", [passed, passed_after_a_look, passed_over_a_break, attributes])
@pytest.mark.parametrize("kind", ["str", "int", "float", "nan", "bytes", "tuple", "complex_nan", "thing"])
def test_a_value_that_passes_through_is_the_same_object(eager: Any, kind: str) -> None:
    captured = capture.compile(eager, backend="eager")
    for _ in range(3):
        value = MAKERS[kind]()
        expected, found = eager(X, value)[1:], captured(X, value)[1:]
        unpacked = [item[0] if type(item) is list else item for item in (*expected, *found)]
        assert all(item is value for item in unpacked)


@pytest.mark.parametrize("make", [lambda k: {k: 1}, lambda k: {k}, lambda k: [k], lambda k: (k,)])
@pytest.mark.parametrize("kind", ["thing", "nan", "tuple_of_nan", "module", "tuple_of_thing"])
def test_look_up_in_an_existing_container(make: Any, kind: str) -> None:
    def look_up(x, held, key):
        return x + 1 if key in held else x - 1

    captured = capture.compile(look_up, backend="eager")
    a, b = MAKERS[kind](), MAKERS[kind]()
    for held, key in [(a, b), (a, a), (b, a), (b, b), (a, b)]:
        assert torch.equal(captured(X, make(held), key), look_up(X, make(held), key))


def test_a_computed_nan_is_new_at_each_call() -> None:
    def nan(x):
        value = float("nan")
        return x + 1, value, value

    captured = capture.compile(nan, backend="eager")
    _, first, again = captured(X)
    assert first is again
    assert captured(X)[1] not in [first]


def test_a_device_is_a_new_object() -> None:
    def device(x):
        return x + 1 if x.device is x.device else x - 1

    assert torch.equal(capture.compile(device, backend="eager")(X), device(X))
